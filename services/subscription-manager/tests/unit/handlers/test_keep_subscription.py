import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256

import pytest
from connection_fakes import NOW, URLS, Clock, FakeConnections, FakeGrants, FakeLocks, FakeProvider, a_connection

from mailroom_common.errors import AccessDenied, MailboxGone, ProviderUnavailable, Throttled, TokenRefused, Unavailable
from mailroom_common.events import Provider, SyncReason
from mailroom_common.providers.types import Subscription
from mailroom_common.tokens.store import StoredTokens
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import (
    Connection,
    CurrentSubscription,
    State,
    Status,
    SubscriptionStatus,
)
from subscription_manager.handlers.end_connection import EndConnection
from subscription_manager.handlers.keep_subscription import KeepSubscription

ID = a_connection().id
OTHER = "22222222-2222-4222-8222-222222222222"


class FakeAnnouncer:
    """Notes into the provider's own list, so that the order of both can be seen."""

    def __init__(self, notes: list[str]) -> None:
        self._notes = notes
        self.announced: list[Connection] = []
        self.error: Exception | None = None

    async def announce(self, connection: Connection) -> None:
        if self.error is not None:
            raise self.error
        self.announced.append(connection)
        self._notes.append("announce")


class World:
    def __init__(self, *connections: Connection, provider: Provider = Provider.OUTLOOK) -> None:
        self.clock = Clock()
        self.connections = FakeConnections(*connections, clock=self.clock)
        self.locks = FakeLocks()
        self.provider = FakeProvider(provider, clock=self.clock)
        self.grants = FakeGrants()
        self.announcer = FakeAnnouncer(self.provider.notes)
        end = EndConnection(
            self.connections,
            self.locks,
            {provider: self.provider},
            {provider: self.provider},
            self.grants,
            self.clock,
        )
        self.handler = KeepSubscription(
            self.connections,
            self.locks,
            {provider: self.provider},
            self.announcer,
            end,
            URLS,
            self.clock,
        )

    async def keep(self, doc_source_id: str = ID) -> Connection:
        await self.handler.keep(doc_source_id)
        return self.connections.rows[doc_source_id]

    async def happens(self, change: Callable[[Connection], Connection]) -> None:
        """Another instance, or the API, changes the row."""
        self.connections.rows[ID] = change(self.connections.rows[ID])

    async def delete(self) -> None:
        await self.happens(lambda row: transitions.deleting(row, NOW))

    async def consent(self) -> None:
        await self.happens(
            lambda row: transitions.consented(
                row,
                self.provider.account,
                generation=row.grant_generation + 1,
                now=NOW,
                start_at=NOW,
                backstop_at=NOW,
            )
        )


def due_for_renewal() -> World:
    soon = a_subscription(touched_at=NOW - timedelta(days=6), expires_at=NOW + timedelta(hours=20))
    world = World(a_connection(subscription=soon))
    world.provider.living["sub-old"] = living(soon)
    return world


def a_subscription(**changed: object) -> CurrentSubscription:
    made = CurrentSubscription(
        subscription_id="sub-old",
        resource="me/messages",
        expires_at=NOW + timedelta(days=6),
        touched_at=NOW - timedelta(hours=12),
        notification_url=URLS.notification,
        lifecycle_url=URLS.lifecycle,
        client_state_sha256="old",
    )
    return replace(made, **changed)  # type: ignore[arg-type]  # a test names fields freely


def living(current: CurrentSubscription, owner: str | None = ID) -> Subscription:
    return Subscription(
        current.subscription_id,
        current.resource,
        current.expires_at,
        current.notification_url,
        current.lifecycle_url,
        doc_source_id=owner,
    )


async def test_creation_removes_strays_then_announces_then_creates_then_stores() -> None:
    world = World(a_connection())
    world.provider.living["stray"] = living(a_subscription(subscription_id="stray"))
    kept = await world.keep()
    assert world.provider.notes == ["list ada@contoso.example", "end stray", "announce", f"create {ID}"]
    assert kept.subscription is not None
    assert kept.subscription.subscription_id in world.provider.living
    assert world.connections.asked == [(ID, SyncReason.CONNECT)]


async def test_what_is_announced_is_the_hash_of_the_client_state_that_is_sent() -> None:
    world = World(a_connection())
    kept = await world.keep()
    (announced,) = world.announcer.announced
    (client_state,) = world.provider.client_states.values()
    assert client_state.startswith(f"{ID}:")
    assert len(client_state) <= 128
    assert [known.sha256 for known in announced.client_states] == [sha256(client_state.encode()).hexdigest()]
    assert announced.client_states[0].valid_until > NOW + timedelta(minutes=10_080)
    # The client state itself is nowhere: neither stored nor told.
    assert client_state not in repr(kept)
    assert client_state not in repr(world.connections.told)


async def test_stored_subscription_is_a_newer_version_with_the_id() -> None:
    world = World(a_connection(version=4))
    await world.keep()
    told = [(version, event.subscription_id) for _, version, event in world.connections.told if event is not None]
    assert told == [(5, None), (6, "sub-3")]


async def test_expiry_that_the_provider_grants_is_what_counts() -> None:
    world = World(a_connection())
    world.provider.life = timedelta(hours=1)
    kept = await world.keep()
    assert kept.subscription is not None
    assert kept.subscription.expires_at == NOW + timedelta(hours=1)
    assert kept.attention_at is not None
    assert NOW + timedelta(minutes=20) < kept.attention_at <= NOW + timedelta(minutes=30)


async def test_nothing_is_created_before_kafka_has_acknowledged_the_hash() -> None:
    world = World(a_connection())
    world.announcer.error = Unavailable("Kafka is away")
    kept = await world.keep()
    assert not [note for note in world.provider.notes if note.startswith("create")]
    assert (kept.attempts, kept.attention_at) == (1, NOW + timedelta(seconds=5))


async def test_two_instances_create_one_subscription() -> None:
    world = World(a_connection())
    await asyncio.gather(world.keep(), world.keep())
    assert len([note for note in world.provider.notes if note.startswith("create")]) == 1


async def test_holder_that_lost_its_lock_does_not_create() -> None:
    world = World(a_connection())
    world.locks.held.is_lost = True
    await world.keep()
    assert not [note for note in world.provider.notes if note.startswith("create")]


async def test_subscription_that_came_too_late_is_ended_and_the_other_one_stays() -> None:
    world = World(a_connection())

    async def another_instance_was_first() -> None:
        row = world.connections.rows[ID]
        world.connections.rows[ID] = replace(row, subscription=a_subscription(subscription_id="sub-first"))

    world.provider.before["create"] = another_instance_was_first
    kept = await world.keep()
    assert kept.subscription is not None
    assert kept.subscription.subscription_id == "sub-first"
    assert world.provider.living == {}


async def test_delete_during_create_stores_the_id_for_the_end_and_asks_for_no_sync() -> None:
    world = World(a_connection())

    async def delete() -> None:
        world.connections.rows[ID] = transitions.deleting(world.connections.rows[ID], NOW)

    world.provider.before["create"] = delete
    kept = await world.keep()
    assert kept.state is State.DELETING
    assert kept.subscription is not None
    assert kept.attention_at == NOW
    assert world.connections.asked == []
    ended = await world.keep()
    assert world.provider.living == {}
    assert ended.ended_at == NOW


async def test_delete_before_the_hash_is_announced_creates_nothing() -> None:
    world = World(a_connection())

    async def delete() -> None:
        world.connections.rows[ID] = transitions.deleting(world.connections.rows[ID], NOW)

    world.provider.before["list"] = delete
    await world.keep()
    assert not [note for note in world.provider.notes if note.startswith("create")]


async def test_strays_of_others_are_left_alone() -> None:
    world = World(a_connection(), a_connection(id=OTHER, profile="observation", subscription=a_subscription()))
    world.provider.living = {
        "sub-old": living(a_subscription(), owner=None),  # the other doc source's, and known
        "named": living(a_subscription(subscription_id="named"), owner=OTHER),
        "elsewhere": living(
            a_subscription(subscription_id="elsewhere", notification_url="https://staging.example/webhooks/outlook"),
            owner=None,
        ),
        "nobody's": living(a_subscription(subscription_id="nobody's"), owner=None),
    }
    await world.keep()
    assert [note for note in world.provider.notes if note.startswith("end")] == ["end nobody's"]


async def test_account_is_locked_while_one_of_its_doc_sources_creates() -> None:
    world = World(a_connection())
    await world.keep()
    assert world.locks.order == [f"creator:{ID}", "account:outlook:ada@contoso.example"]


async def test_subscription_that_expires_within_a_day_is_renewed_with_its_hash() -> None:
    soon = a_subscription(touched_at=NOW - timedelta(days=6), expires_at=NOW + timedelta(hours=20))
    world = World(transitions.announced(a_connection(subscription=soon), "old", NOW - timedelta(days=6)))
    world.provider.living["sub-old"] = living(soon)
    kept = await world.keep()
    assert world.provider.notes == ["renew sub-old"]
    assert kept.subscription is not None
    assert kept.subscription.expires_at == NOW + timedelta(minutes=10_000)
    assert kept.subscription.renewals == 1
    assert [known.valid_until for known in kept.client_states] == [NOW + transitions.LONGEST_LIFE]
    assert kept.attention_at is not None
    assert kept.attention_at < kept.subscription.expires_at - timedelta(hours=23)


async def test_subscription_that_lives_long_is_left_alone() -> None:
    world = World(a_connection(subscription=a_subscription()))
    kept = await world.keep()
    assert world.provider.notes == []
    assert kept.attention_at is not None
    assert kept.attention_at > NOW


async def test_renewal_of_one_that_is_gone_creates_another() -> None:
    soon = a_subscription(touched_at=NOW - timedelta(days=6), expires_at=NOW + timedelta(hours=20))
    world = World(a_connection(subscription=soon))
    kept = await world.keep()
    assert [note.split()[0] for note in world.provider.notes] == ["renew", "list", "announce", "create"]
    assert kept.subscription is not None
    assert kept.subscription.subscription_id != "sub-old"
    assert world.connections.asked == [(ID, SyncReason.LIFECYCLE)]


async def test_removed_one_is_replaced_and_the_gap_is_synced() -> None:
    world = World(a_connection(subscription=a_subscription(status=SubscriptionStatus.REMOVED)))
    kept = await world.keep()
    assert [note.split()[0] for note in world.provider.notes] == ["list", "announce", "create"]
    assert kept.subscription is not None
    assert kept.subscription.status is SubscriptionStatus.ACTIVE
    assert world.connections.asked == [(ID, SyncReason.LIFECYCLE)]


async def test_hash_of_the_replaced_one_stays_valid_until_it_would_have_expired() -> None:
    begun = transitions.announced(a_connection(subscription=a_subscription()), "old", NOW - timedelta(hours=12))
    world = World(transitions.removed_at_provider(begun, NOW))
    kept = await world.keep()
    assert "old" in [known.sha256 for known in kept.client_states]
    assert len(kept.client_states) == 2


async def test_subscription_that_calls_another_address_is_recreated() -> None:
    elsewhere = a_subscription(notification_url="https://old.example/webhooks/outlook")
    world = World(a_connection(subscription=elsewhere))
    world.provider.living["sub-old"] = living(elsewhere)
    kept = await world.keep()
    assert world.provider.notes[:2] == ["list ada@contoso.example", "end sub-old"]
    assert kept.subscription is not None
    assert kept.subscription.notification_url == URLS.notification


async def test_renewal_that_the_provider_asked_for_is_made_now() -> None:
    world = World(a_connection(subscription=a_subscription(renew_asked_at=NOW)))
    world.provider.living["sub-old"] = living(a_subscription())
    kept = await world.keep()
    assert world.provider.notes == ["renew sub-old"]
    assert kept.subscription is not None
    assert kept.subscription.renew_asked_at is None


async def test_no_subscription_is_touched_twice_within_ten_minutes() -> None:
    touched = a_subscription(touched_at=NOW - timedelta(minutes=3), renew_asked_at=NOW - timedelta(minutes=1))
    world = World(a_connection(subscription=touched))
    world.provider.living["sub-old"] = living(touched)
    kept = await world.keep()
    assert world.provider.notes == []
    assert kept.attention_at == NOW + timedelta(minutes=7)
    world.clock.advance(timedelta(minutes=7))
    await world.keep()
    assert world.provider.notes == ["renew sub-old"]


async def test_removal_that_is_told_during_a_renewal_wins() -> None:
    soon = a_subscription(touched_at=NOW - timedelta(days=6), expires_at=NOW + timedelta(hours=20))
    world = World(a_connection(subscription=soon))
    world.provider.living["sub-old"] = living(soon)

    async def removed() -> None:
        world.connections.rows[ID] = transitions.removed_at_provider(world.connections.rows[ID], NOW)

    world.provider.before["renew"] = removed
    kept = await world.keep()
    assert kept.subscription is not None
    assert kept.subscription.status is SubscriptionStatus.REMOVED
    assert kept.attention_at == NOW


async def test_delete_during_a_renewal_is_acted_on_when_the_renewal_ends() -> None:
    world = due_for_renewal()
    world.provider.before["renew"] = world.delete
    kept = await world.keep()
    assert (kept.state, kept.attention_at) == (State.DELETING, NOW)
    assert world.connections.asked == []
    ended = await world.keep()
    assert (ended.ended_at, world.provider.living) == (NOW, {})
    assert world.grants.forgotten == [ID]


@pytest.mark.parametrize("error", [ProviderUnavailable("503"), Throttled("no", retry_after_s=900), AccessDenied("no")])
async def test_delete_during_a_step_that_fails_does_not_wait_for_what_failed(error: Exception) -> None:
    world = due_for_renewal()
    world.provider.before["renew"] = world.delete
    world.provider.fail["renew"] = error
    kept = await world.keep()
    assert (kept.state, kept.attention_at) == (State.DELETING, NOW)
    assert (await world.keep()).ended_at == NOW


@pytest.mark.parametrize("change", [transitions.deleting, transitions.removed_at_provider])
async def test_what_is_told_between_our_look_and_our_leaving_is_looked_at_now(
    change: Callable[[Connection, datetime], Connection],
) -> None:
    world = World(a_connection(subscription=a_subscription()))
    world.connections.before_change = lambda: world.happens(lambda row: change(row, NOW))
    assert (await world.keep()).attention_at == NOW
    assert world.provider.notes == []
    await world.keep()
    assert world.provider.notes


async def test_consent_between_our_look_and_our_leaving_is_looked_at_now() -> None:
    world = World(a_connection(state=State.PENDING, address=None, provider_user_id=None, attention_at=None))
    world.connections.before_change = world.consent
    assert (await world.keep()).attention_at == NOW


async def test_pause_and_resume_during_a_renewal_change_nothing_of_it() -> None:
    world = due_for_renewal()
    world.provider.before["renew"] = lambda: world.happens(transitions.paused)
    kept = await world.keep()
    assert kept.subscription is not None
    assert (kept.state, kept.subscription.renewals) == (State.PAUSED, 1)
    assert kept.attention_at is not None
    assert kept.attention_at > NOW


async def test_denial_of_an_older_grant_does_not_hold_up_the_consent_that_came_meanwhile() -> None:
    world = due_for_renewal()
    world.provider.before["renew"] = world.consent
    world.provider.fail["renew"] = AccessDenied("of the older grant")
    kept = await world.keep()
    assert (kept.status, kept.grant_generation) == (Status.ACTIVE, 2)
    assert kept.attention_at == NOW + timedelta(seconds=5)


async def test_failures_are_retried_later_and_later_from_what_the_row_remembers() -> None:
    world = World(a_connection())
    world.provider.fail["create"] = ProviderUnavailable("503")
    waits = []
    for _ in range(12):
        kept = await world.keep()
        assert kept.attention_at is not None
        waits.append(kept.attention_at - world.clock())
        world.clock.advance(waits[-1])
    assert waits[:3] == [timedelta(seconds=5), timedelta(seconds=10), timedelta(seconds=20)]
    assert waits[-1] == timedelta(hours=1)
    assert world.connections.only().status is Status.ACTIVE
    world.provider.fail.clear()
    kept = await world.keep()
    assert (kept.attempts, kept.last_error) == (0, None)


async def test_providers_own_word_on_when_to_come_again_is_kept() -> None:
    world = World(a_connection())
    world.provider.fail["create"] = Throttled("slow down", retry_after_s=77)
    assert (await world.keep()).attention_at == NOW + timedelta(seconds=77)


async def test_attempts_do_not_pile_up_hashes() -> None:
    world = World(a_connection())
    world.provider.fail["create"] = ProviderUnavailable("503")
    for _ in range(40):
        await world.keep()
    assert len(world.connections.only().client_states) == 16


@pytest.mark.parametrize(
    ("error", "status", "reason"),
    [
        (TokenRefused("no", grant_generation=1), Status.TOKEN_REFRESH_FAILED, "token_refused"),
        (AccessDenied("no"), Status.PROVIDER_ERROR, "access_denied"),
        (MailboxGone("no"), Status.PROVIDER_ERROR, "mailbox_gone"),
    ],
)
async def test_what_people_must_mend_is_the_status(error: Exception, status: Status, reason: str) -> None:
    world = World(a_connection())
    world.provider.fail["list"] = error
    kept = await world.keep()
    assert (kept.status, kept.reason) == (status, reason)
    assert kept.attention_at is not None
    assert kept.attention_at > NOW + timedelta(hours=1)


async def test_refusal_of_an_older_grant_does_not_condemn_the_newer() -> None:
    world = World(a_connection(grant_generation=2))
    world.provider.fail["list"] = TokenRefused("late", grant_generation=1)
    kept = await world.keep()
    assert kept.status is Status.ACTIVE
    assert kept.attention_at == NOW + timedelta(seconds=5)


async def test_subscription_that_ran_out_shows_as_expired() -> None:
    over = a_subscription(touched_at=NOW - timedelta(days=7), expires_at=NOW - timedelta(minutes=1))
    world = World(a_connection(subscription=over))
    world.provider.fail["create"] = ProviderUnavailable("503")
    kept = await world.keep()
    assert kept.status is Status.SUBSCRIPTION_EXPIRED
    world.provider.fail.clear()
    assert (await world.keep()).status is Status.ACTIVE


async def test_refused_grant_stays_shown_though_an_access_token_still_served() -> None:
    refused = a_connection(status=Status.TOKEN_REFRESH_FAILED, reason="token_refused")
    kept = await World(refused).keep()
    assert kept.subscription is not None
    assert (kept.status, kept.reason) == (Status.TOKEN_REFRESH_FAILED, "token_refused")


async def test_paused_one_keeps_its_subscription_alive() -> None:
    soon = a_subscription(touched_at=NOW - timedelta(days=6), expires_at=NOW + timedelta(hours=20))
    world = World(a_connection(state=State.PAUSED, subscription=soon))
    world.provider.living["sub-old"] = living(soon)
    await world.keep()
    assert world.provider.notes == ["renew sub-old"]


async def test_pending_and_unknown_ones_need_nothing() -> None:
    world = World(a_connection(state=State.PENDING, address=None, provider_user_id=None))
    await world.keep()
    await world.handler.keep(OTHER)
    assert world.provider.notes == []


class TestGmail:
    def world(self, *connections: Connection) -> World:
        return World(*connections, provider=Provider.GMAIL)

    def gmail(self, **changed: object) -> Connection:
        return a_connection(**{"provider": Provider.GMAIL, "address": "Ada@gmail.example", **changed})

    async def test_watch_is_made_without_a_hash(self) -> None:
        world = self.world(self.gmail())
        kept = await world.keep()
        assert world.provider.notes == [f"create {ID}"]
        assert kept.client_states == ()
        assert kept.subscription is not None
        assert kept.subscription.subscription_id == "projects/p/topics/t"

    async def test_one_watch_serves_all_doc_sources_of_the_account(self) -> None:
        other = self.gmail(id=OTHER, tenant_id="other", address="ada@gmail.example")
        world = self.world(self.gmail(), other)
        first, second = await asyncio.gather(world.keep(ID), world.keep(OTHER))
        assert len(world.provider.notes) == 1
        assert first.subscription is not None
        assert second.subscription is not None
        assert first.subscription.expires_at == second.subscription.expires_at

    async def test_watch_is_repeated_daily_and_asks_for_no_sync(self) -> None:
        world = self.world(self.gmail())
        kept = await world.keep()
        assert kept.attention_at is not None
        assert NOW + timedelta(hours=19) < kept.attention_at <= NOW + timedelta(days=1)
        world.connections.asked.clear()
        world.clock.advance(timedelta(hours=24))
        again = await world.keep()
        assert world.provider.notes == [f"create {ID}"] * 2
        assert again.subscription is not None
        assert again.subscription.expires_at == world.clock() + timedelta(days=7)
        assert world.connections.asked == []

    async def test_doc_sources_that_take_a_watch_over_from_each_other_still_repeat_it(self) -> None:
        world = self.world(self.gmail(), self.gmail(id=OTHER, tenant_id="other"))
        for _ in range(10):
            for one in (ID, OTHER):
                await world.keep(one)
                world.clock.advance(timedelta(hours=15))
        current = world.connections.rows[ID].subscription
        assert current is not None
        assert current.expires_at > world.clock() + timedelta(days=5)

    async def test_watch_ends_with_the_last_doc_source_over_all_tenants(self) -> None:
        gone = {"state": State.DELETING}
        other = self.gmail(id=OTHER, tenant_id="other", address="ada@gmail.example")
        world = self.world(self.gmail(), other)
        for one in (ID, OTHER):
            await world.keep(one)
            await world.grants.put_grant(one, Provider.GMAIL, "user-1", _tokens(one), frozenset())
        world.provider.notes.clear()
        world.connections.rows[ID] = replace(world.connections.rows[ID], **gone)  # type: ignore[arg-type]
        await world.keep(ID)
        assert world.provider.notes == []
        assert world.grants.forgotten == [ID]
        world.connections.rows[OTHER] = replace(world.connections.rows[OTHER], **gone)  # type: ignore[arg-type]
        await world.keep(OTHER)
        assert world.provider.notes == ["end projects/p/topics/t", f"revoke refresh-{OTHER}"]

    async def test_of_two_that_are_deleted_at_once_the_second_ends_the_watch(self) -> None:
        one = self.gmail(state=State.DELETING, subscription=a_subscription())
        other = self.gmail(id=OTHER, tenant_id="other", state=State.DELETING, subscription=a_subscription())
        world = self.world(one, other)
        await asyncio.gather(world.keep(ID), world.keep(OTHER))
        assert [note for note in world.provider.notes if note.startswith("end")] == ["end sub-old"]


def _tokens(name: str) -> StoredTokens:
    return StoredTokens(f"access-{name}", f"refresh-{name}", NOW + timedelta(hours=1))


class TestEnd:
    def deleting(self, **changed: object) -> Connection:
        return a_connection(state=State.DELETING, subscription=a_subscription(), **changed)

    async def test_ends_current_and_strays_tolerating_that_they_are_gone(self) -> None:
        world = World(self.deleting())
        world.provider.living["stray"] = living(a_subscription(subscription_id="stray"))
        kept = await world.keep()
        assert [note for note in world.provider.notes if note.startswith("end")] == ["end sub-old", "end stray"]
        assert (kept.state, kept.ended_at, kept.subscription) == (State.DELETING, NOW, None)
        assert world.grants.forgotten == [ID]

    async def test_waits_for_sync_engine_to_forget(self) -> None:
        world = World(self.deleting())
        assert (await world.keep()).state is State.DELETING
        assert world.connections.told[-1][2] is not None

    async def test_leaves_a_grave_and_a_tombstone_when_sync_engine_has_forgotten_before(self) -> None:
        world = World(self.deleting(forgotten_at=NOW, version=7))
        kept = await world.keep()
        assert kept.state is State.GONE
        assert world.connections.told[-1] == (ID, 8, None)
        assert (kept.address, kept.provider_user_id, kept.client_states) == (None, None, ())

    async def test_provider_that_is_away_is_asked_again(self) -> None:
        world = World(self.deleting())
        world.provider.fail["end"] = ProviderUnavailable("503")
        kept = await world.keep()
        assert (kept.state, kept.ended_at, kept.attempts) == (State.DELETING, None, 1)
        assert world.grants.forgotten == []

    async def test_refused_token_waits_for_the_expiry_and_ends_then(self) -> None:
        world = World(self.deleting())
        world.provider.fail["end"] = TokenRefused("no", grant_generation=1)
        kept = await world.keep()
        assert kept.subscription is not None
        assert (kept.state, kept.ended_at) == (State.DELETING, None)
        assert kept.attention_at == kept.subscription.expires_at
        world.clock.now = kept.subscription.expires_at
        ended = await world.keep()
        assert ended.ended_at == world.clock()
        assert world.grants.forgotten == [ID]
