from dataclasses import replace
from datetime import timedelta

import pytest
from connection_samples import ID, NOW, Clock, make_connection, make_subscription
from fake_connection_store import FakeConnectionStore
from fake_consents import FakeGrantStore

from mailroom_common.events import Access, ClientState, DocSource, Relist, SourceFilter, SyncReason
from subscription_manager.domain.connection import (
    Connection,
    ConnectionState,
    PendingReason,
    SubscriptionStatus,
    build_doc_source_event,
)
from subscription_manager.handlers.republish_doc_sources import ReconciledVersions, RepublishDocSources

LATER = ClientState(sha256="later", valid_until=NOW + timedelta(days=7))


class Topic:
    """Connections as they were published; a version alone is a tombstone. `outdated`: versions that were written last
    though newer ones stand before them."""

    def __init__(
        self, *published: Connection, tombstones: dict[str, int] | None = None, outdated: dict[str, int] | None = None
    ) -> None:
        self._outdated = outdated or {}
        self._sources = {one.id: build_doc_source_event(one, NOW) for one in published}
        self._versions = {one.id: one.published_version for one in published} | (tombstones or {})

    def get_source(self, doc_source_id: str) -> DocSource | None:
        return self._sources.get(doc_source_id)

    def list_versions(self) -> dict[str, int]:
        return self._versions

    def list_outdated(self) -> dict[str, int]:
        return self._outdated


async def _reconcile(
    connections: FakeConnectionStore, topic: Topic, grants: FakeGrantStore | None = None
) -> ReconciledVersions:
    return await RepublishDocSources(connections, grants or FakeGrantStore(), topic, Clock()).reconcile_with_topic()


@pytest.mark.parametrize(
    ("state", "shown", "is_repeated"),
    [
        (ConnectionState.ACTIVE, 6, True),  # an older version was written late
        (ConnectionState.ACTIVE, 7, False),
        (ConnectionState.ACTIVE, None, True),  # the topic lost it
        (ConnectionState.DELETED, 6, True),  # a deleted one came back
        (ConnectionState.DELETED, None, False),
    ],
)
async def test_doc_source_that_is_outdated_in_the_topic_is_published_again(
    state: ConnectionState, shown: int | None, is_repeated: bool
) -> None:
    connections = FakeConnectionStore(make_connection(state=state, published_version=7))
    topic = Topic() if shown is None else Topic(make_connection(published_version=shown))
    assert await _reconcile(connections, topic) == ReconciledVersions(republished=int(is_repeated))
    assert connections.republished == ([ID] if is_repeated else [])


@pytest.mark.parametrize(
    ("state", "topic"),
    [
        (ConnectionState.ACTIVE, Topic(make_connection(published_version=7), outdated={ID: 6})),
        (ConnectionState.DELETED, Topic(tombstones={ID: 7}, outdated={ID: 6})),  # it would come back
    ],
)
async def test_newest_version_is_published_again_when_an_older_one_was_written_behind_it(
    state: ConnectionState, topic: Topic
) -> None:
    connections = FakeConnectionStore(make_connection(state=state, published_version=7))
    assert await _reconcile(connections, topic) == ReconciledVersions(republished=1)
    assert connections.republished == [ID]


async def test_restored_version_is_raised_above_that_of_the_topic() -> None:
    connections = FakeConnectionStore(make_connection(published_version=5))
    found = await _reconcile(connections, Topic(make_connection(published_version=8)))
    assert found == ReconciledVersions(lifted=1)
    assert [(key, version) for key, version, _ in connections.published] == [(ID, 9)]
    assert connections.sync_requests == [(ID, SyncReason.RESUME)]
    assert connections.only_row().next_check_at == NOW
    assert await _reconcile(connections, Topic(connections.only_row())) == ReconciledVersions()


@pytest.mark.parametrize(
    ("restored", "published", "adopted"),
    [
        (ConnectionState.ACTIVE, ConnectionState.PAUSED, ConnectionState.PAUSED),
        (ConnectionState.PAUSED, ConnectionState.ACTIVE, ConnectionState.ACTIVE),
        (ConnectionState.ACTIVE, ConnectionState.DELETING, ConnectionState.DELETING),
        (ConnectionState.PENDING, ConnectionState.ACTIVE, ConnectionState.PENDING),  # the grant of its consent is lost
    ],
)
async def test_last_word_of_the_operator_holds(
    restored: ConnectionState, published: ConnectionState, adopted: ConnectionState
) -> None:
    connections = FakeConnectionStore(make_connection(state=restored, published_version=5))
    await _reconcile(connections, Topic(make_connection(state=published, published_version=8, folders=("Inbox",))))
    assert connections.only_row().state is adopted
    assert bool(connections.sync_requests) is (adopted is ConnectionState.ACTIVE)


async def test_doc_source_deleted_since_the_backup_is_deleted_again() -> None:
    connections = FakeConnectionStore(make_connection(published_version=5))
    assert await _reconcile(connections, Topic(tombstones={ID: 8})) == ReconciledVersions(lifted=1)
    row = connections.only_row()
    assert (row.state, row.published_version, row.next_check_at) == (ConnectionState.DELETING, 9, NOW)
    assert row.version_before_deletion == 8, "what sync-engine said of the first deletion is no answer to this one"


async def test_deletion_that_the_backup_has_begun_is_answered_anew() -> None:
    begun = make_connection(state=ConnectionState.DELETING, published_version=5, version_before_deletion=4)
    connections = FakeConnectionStore(begun)
    await _reconcile(connections, Topic(tombstones={ID: 8}))
    assert connections.only_row().version_before_deletion == 8


async def test_subscription_made_since_the_backup_is_made_anew_and_pushes_of_both_are_genuine() -> None:
    known = ClientState(sha256="old", valid_until=NOW + timedelta(days=6))
    restored = make_connection(published_version=5, subscription=make_subscription(), client_states=(known,))
    newer = replace(
        restored,
        published_version=8,
        subscription=make_subscription(subscription_id="sub-new"),
        client_states=(known, LATER),
    )
    connections = FakeConnectionStore(restored)
    await _reconcile(connections, Topic(newer))
    row = connections.only_row()
    assert row.subscription is not None
    assert row.subscription.status is SubscriptionStatus.REMOVED
    assert row.client_states == (known, LATER)


async def test_re_list_that_was_asked_for_since_the_backup_is_still_to_be_done() -> None:
    asked = make_connection(
        published_version=8,
        relist_number=3,
        relist_from=NOW,
        earlier_relists=(Relist(number=2, relist_from=NOW - timedelta(days=2)),),
    )
    for restored in ([make_connection(published_version=5, relist_number=1)], []):
        connections = FakeConnectionStore(*restored)
        await _reconcile(connections, Topic(asked))
        row = connections.only_row()
        assert (row.relist_number, row.relist_from, row.earlier_relists) == (3, NOW, asked.earlier_relists)


async def test_filter_that_was_set_since_the_backup_holds() -> None:
    rules = SourceFilter(sender_deny=["news.example"], strictness="strict")
    for restored in ([make_connection(published_version=5)], []):
        connections = FakeConnectionStore(*restored)
        await _reconcile(connections, Topic(make_connection(published_version=8, filter=rules)))
        assert connections.only_row().filter == rules


async def test_restored_grant_is_of_a_later_generation_than_one_that_was_given_since_the_backup() -> None:
    grants = FakeGrantStore()
    await grants.add_tokens(ID)
    connections = FakeConnectionStore(make_connection(published_version=5, grant_generation=1))
    await _reconcile(connections, Topic(make_connection(published_version=8, grant_generation=3)), grants)
    assert connections.only_row().grant_generation == grants.stored[ID].grant_generation == 4


async def test_grant_that_is_the_newest_stays_of_its_generation() -> None:
    grants = FakeGrantStore()
    await grants.add_tokens(ID)
    connections = FakeConnectionStore(make_connection(published_version=5, grant_generation=1))
    await _reconcile(connections, Topic(make_connection(published_version=8, grant_generation=1)), grants)
    assert connections.only_row().grant_generation == grants.stored[ID].grant_generation == 1


async def test_consent_after_a_restore_is_of_a_later_generation_than_the_lost_one() -> None:
    connections = FakeConnectionStore(make_connection(state=ConnectionState.PENDING, published_version=1))
    await _reconcile(connections, Topic(make_connection(published_version=8, grant_generation=3)))
    assert connections.only_row().grant_generation == 3, "which the next consent exceeds"


@pytest.mark.parametrize("published", [ConnectionState.ACTIVE, ConnectionState.PAUSED])
async def test_pending_one_that_was_consented_to_since_the_backup_has_lost_its_consent(
    published: ConnectionState,
) -> None:
    connections = FakeConnectionStore(make_connection(state=ConnectionState.PENDING, published_version=1))
    await _reconcile(connections, Topic(make_connection(state=published, published_version=8)))
    row = connections.only_row()
    assert (row.state, row.connection_reason) == (ConnectionState.PENDING, PendingReason.CONSENT_LOST)


async def test_subscription_that_is_the_same_stays() -> None:
    restored = make_connection(published_version=5, subscription=make_subscription())
    connections = FakeConnectionStore(restored)
    await _reconcile(connections, Topic(replace(restored, published_version=8)))
    assert connections.only_row().subscription == restored.subscription


async def test_mailbox_connected_since_the_backup_waits_for_its_consent_again() -> None:
    connections = FakeConnectionStore()
    made = make_connection(published_version=4, client_states=(LATER,), folders=("Invoices",))
    assert await _reconcile(connections, Topic(made)) == ReconciledVersions(rebuilt=1)
    row = connections.only_row()
    assert (row.state, row.connection_reason) == (ConnectionState.PENDING, PendingReason.CONSENT_LOST)
    assert (row.address, row.folders, row.client_states) == (made.address, made.folders, made.client_states)
    assert (row.published_version, row.provider_user_id) == (5, None)
    assert connections.sync_requests == []


async def test_application_access_given_since_the_backup_goes_on() -> None:
    connections = FakeConnectionStore()
    made = make_connection(access=Access.APPLICATION, published_version=4, provider_user_id="ada@contoso.example")
    await _reconcile(connections, Topic(made))
    row = connections.only_row()
    assert (row.state, row.provider_user_id, row.next_check_at) == (ConnectionState.ACTIVE, made.provider_user_id, NOW)
    assert connections.sync_requests == [(ID, SyncReason.CONNECT)]


async def test_one_that_is_made_and_deleted_since_the_backup_is_only_a_tombstone() -> None:
    connections = FakeConnectionStore()
    await _reconcile(connections, Topic(make_connection(state=ConnectionState.DELETING, published_version=4)))
    assert connections.only_row().state is ConnectionState.DELETED
    assert connections.published == [(ID, 5, None)]
    assert await _reconcile(FakeConnectionStore(), Topic(tombstones={ID: 5})) == ReconciledVersions()


async def test_mailbox_that_another_doc_source_still_has_is_not_rebuilt() -> None:
    held = make_connection(id="00000000-0000-4000-8000-000000000001", provider_user_id="ada@contoso.example")
    connections = FakeConnectionStore(held)
    made = make_connection(access=Access.APPLICATION, published_version=4, provider_user_id="ada@contoso.example")
    assert await _reconcile(connections, Topic(held, made)) == ReconciledVersions()


async def test_version_that_another_instance_raised_meanwhile_is_left() -> None:
    connections = FakeConnectionStore(make_connection(published_version=5))

    async def raise_first() -> None:
        connections.rows[ID] = make_connection(published_version=9)

    connections.before_lock = raise_first
    assert await _reconcile(connections, Topic(make_connection(published_version=8))) == ReconciledVersions()
