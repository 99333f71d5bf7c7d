"""The order of a creation, and what happens between its steps, where each doc source has a subscription of its own."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256

import pytest
from connection_samples import (
    ID,
    NOW,
    OTHER_ID,
    OUTLOOK,
    URLS,
    make_connection,
    make_provider_subscription,
    make_subscription,
)
from subscription_setup import SubscriptionSetup, make_setup_due_for_renewal

from mailroom_common.errors import (
    AccessDenied,
    MailroomError,
    ProviderUnavailable,
    Throttled,
    TokenRefused,
    Unavailable,
)
from mailroom_common.events import SyncReason
from mailroom_common.providers.types import Mailbox, Subscription, SubscriptionRequest
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import ConnectionState, SubscriptionStatus


async def test_creation_removes_strays_then_announces_then_creates_then_stores() -> None:
    setup = SubscriptionSetup(make_connection())
    setup.provider.subscriptions["stray"] = make_provider_subscription(make_subscription(subscription_id="stray"))
    after = await setup.advance_subscription()
    assert setup.provider.calls == ["list ada@contoso.example", "end stray", "publish", f"create {ID}"]
    assert after.subscription is not None
    assert after.subscription.subscription_id in setup.provider.subscriptions
    assert setup.connections.sync_requests == [(ID, SyncReason.CONNECT)]


async def test_what_is_announced_is_the_hash_of_the_client_state_that_is_sent() -> None:
    setup = SubscriptionSetup(make_connection())
    after = await setup.advance_subscription()
    (published,) = setup.publisher.published
    (client_state,) = setup.provider.client_states.values()
    assert client_state.startswith(f"{ID}:")
    assert len(client_state) <= 128
    assert [known.sha256 for known in published.client_states] == [sha256(client_state.encode()).hexdigest()]
    assert published.client_states[0].valid_until > NOW + timedelta(minutes=10_080)
    # The client state itself is nowhere: neither stored nor published.
    assert client_state not in repr(after)
    assert client_state not in repr(setup.connections.published)


async def test_stored_subscription_is_a_newer_version_with_the_id() -> None:
    setup = SubscriptionSetup(make_connection(published_version=4))
    await setup.advance_subscription()
    published = [
        (version, event.subscription_id) for _, version, event in setup.connections.published if event is not None
    ]
    assert published == [(5, None), (6, "sub-3")]


async def test_expiry_that_the_provider_grants_is_what_counts() -> None:
    setup = SubscriptionSetup(make_connection())
    setup.provider.granted_lifetime = timedelta(hours=1)
    after = await setup.advance_subscription()
    assert after.subscription is not None
    assert after.subscription.expires_at == NOW + timedelta(hours=1)
    assert after.next_check_at is not None
    assert NOW + timedelta(minutes=20) < after.next_check_at <= NOW + timedelta(minutes=30)


async def test_nothing_is_created_before_kafka_has_acknowledged_the_hash() -> None:
    setup = SubscriptionSetup(make_connection())
    setup.publisher.error = Unavailable("Kafka is away")
    after = await setup.advance_subscription()
    assert setup.provider.find_calls("create") == []
    assert (after.failed_attempts, after.next_check_at) == (1, NOW + timedelta(seconds=5))


async def test_two_instances_create_one_subscription() -> None:
    setup = SubscriptionSetup(make_connection())
    await asyncio.gather(setup.advance_subscription(), setup.advance_subscription())
    assert len(setup.provider.find_calls("create")) == 1


async def test_holder_that_lost_its_lock_does_not_create() -> None:
    setup = SubscriptionSetup(make_connection())
    setup.locks.handle.is_lost = True
    await setup.advance_subscription()
    assert setup.provider.find_calls("create") == []


async def test_subscription_that_came_too_late_is_ended_and_the_other_one_stays() -> None:
    setup = SubscriptionSetup(make_connection())

    async def another_instance_was_first() -> None:
        row = setup.connections.rows[ID]
        setup.connections.rows[ID] = replace(row, subscription=make_subscription(subscription_id="sub-first"))

    setup.provider.during["create"] = another_instance_was_first
    after = await setup.advance_subscription()
    assert after.subscription is not None
    assert after.subscription.subscription_id == "sub-first"
    assert setup.provider.subscriptions == {}


async def test_delete_during_create_stores_the_id_for_the_end_and_asks_for_no_sync() -> None:
    setup = SubscriptionSetup(make_connection())

    async def delete_row() -> None:
        setup.connections.rows[ID] = transitions.begin_deletion(setup.connections.rows[ID], NOW)

    setup.provider.during["create"] = delete_row
    after = await setup.advance_subscription()
    assert after.state is ConnectionState.DELETING
    assert after.subscription is not None
    assert after.next_check_at == NOW
    assert setup.connections.sync_requests == []
    ended = await setup.advance_subscription()
    assert setup.provider.subscriptions == {}
    assert ended.provider_ended_at == NOW


async def test_delete_before_the_hash_is_announced_creates_nothing() -> None:
    setup = SubscriptionSetup(make_connection())

    async def delete_row() -> None:
        setup.connections.rows[ID] = transitions.begin_deletion(setup.connections.rows[ID], NOW)

    setup.provider.during["list"] = delete_row
    await setup.advance_subscription()
    assert setup.provider.find_calls("create") == []


async def test_first_creation_takes_a_listing_of_the_last_minutes() -> None:
    setup = SubscriptionSetup(make_connection())
    await setup.advance_subscription()
    assert setup.provider.asked_after == NOW - timedelta(minutes=10)


async def test_what_a_lost_answer_may_have_left_is_looked_for_in_a_later_listing() -> None:
    setup = SubscriptionSetup(make_connection())
    setup.provider.errors["create"] = ProviderUnavailable("504")
    setup.clock.advance(timedelta(minutes=3))
    await setup.advance_subscription()
    setup.clock.advance(timedelta(minutes=2))
    await setup.advance_subscription()
    assert setup.provider.asked_after == NOW + timedelta(minutes=3, seconds=5)


async def test_end_looks_for_what_the_last_creation_left_also_where_the_provider_took_its_time() -> None:
    setup = SubscriptionSetup(make_connection())
    await setup.advance_subscription()
    await setup.delete_row()
    await setup.advance_subscription()
    assert setup.provider.asked_after == NOW + timedelta(minutes=3)


async def test_strays_of_others_are_left_alone() -> None:
    setup = SubscriptionSetup(
        make_connection(), make_connection(id=OTHER_ID, profile="observation", subscription=make_subscription())
    )
    setup.provider.subscriptions = {
        "sub-old": make_provider_subscription(make_subscription(), owner=None),  # the other doc source's, and known
        "named": make_provider_subscription(make_subscription(subscription_id="named"), owner=OTHER_ID),
        "elsewhere": make_provider_subscription(
            make_subscription(subscription_id="elsewhere", notification_url="https://staging.example/webhooks/outlook"),
            owner=None,
        ),
        "nobody's": make_provider_subscription(make_subscription(subscription_id="nobody's"), owner=None),
    }
    await setup.advance_subscription()
    assert setup.provider.find_calls("end") == ["end nobody's"]


async def test_account_is_locked_while_one_of_its_doc_sources_creates() -> None:
    setup = SubscriptionSetup(make_connection())
    await setup.advance_subscription()
    assert setup.locks.order == [f"doc_source:{ID}", "account:outlook:ada@contoso.example"]


async def test_renewal_of_one_that_is_gone_creates_another() -> None:
    soon = make_subscription(created_or_renewed_at=NOW - timedelta(days=6), expires_at=NOW + timedelta(hours=20))
    setup = SubscriptionSetup(make_connection(subscription=soon))
    after = await setup.advance_subscription()
    assert [call.split()[0] for call in setup.provider.calls] == ["renew", "list", "publish", "create"]
    assert after.subscription is not None
    assert after.subscription.subscription_id != "sub-old"
    assert setup.connections.sync_requests == [(ID, SyncReason.LIFECYCLE)]


async def test_removed_one_is_replaced_and_the_gap_is_synced() -> None:
    setup = SubscriptionSetup(make_connection(subscription=make_subscription(status=SubscriptionStatus.REMOVED)))
    after = await setup.advance_subscription()
    assert [call.split()[0] for call in setup.provider.calls] == ["list", "publish", "create"]
    assert after.subscription is not None
    assert after.subscription.status is SubscriptionStatus.ACTIVE
    assert setup.connections.sync_requests == [(ID, SyncReason.LIFECYCLE)]


async def test_hash_of_the_replaced_one_stays_valid_until_it_would_have_expired() -> None:
    begun = transitions.add_client_state(
        make_connection(subscription=make_subscription()), "old", expires_at=NOW + timedelta(days=6), now=NOW
    )
    setup = SubscriptionSetup(transitions.mark_subscription_removed(begun, NOW))
    after = await setup.advance_subscription()
    assert "old" in [known.sha256 for known in after.client_states]
    assert len(after.client_states) == 2


async def test_subscription_that_calls_another_address_is_recreated() -> None:
    elsewhere = make_subscription(notification_url="https://old.example/webhooks/outlook")
    setup = SubscriptionSetup(make_connection(subscription=elsewhere))
    setup.provider.subscriptions["sub-old"] = make_provider_subscription(elsewhere)
    after = await setup.advance_subscription()
    assert setup.provider.calls[:2] == ["list ada@contoso.example", "end sub-old"]
    assert after.subscription is not None
    assert after.subscription.notification_url == URLS.notification


async def test_number_of_hashes_is_limited() -> None:
    setup = SubscriptionSetup(make_connection())
    setup.provider.errors["create"] = ProviderUnavailable("503")
    for _ in range(40):
        await setup.advance_subscription()
    assert len(setup.connections.only_row().client_states) == 16


async def test_holder_that_lost_its_lock_does_not_renew() -> None:
    setup = make_setup_due_for_renewal()
    setup.locks.handle.is_lost = True
    await setup.advance_subscription()
    assert setup.provider.calls == []


async def test_provider_that_leaves_the_urls_out_of_its_answer_has_accepted_ours() -> None:
    setup = SubscriptionSetup(make_connection())
    create = setup.provider.create_subscription

    async def create_without_urls(mailbox: Mailbox, request: SubscriptionRequest) -> Subscription:
        return replace(await create(mailbox, request), notification_url=None, lifecycle_url=None)

    setup.provider.create_subscription = create_without_urls  # type: ignore[method-assign]  # one answer differs
    after = await setup.advance_subscription()
    assert after.subscription is not None
    assert (after.subscription.notification_url, after.subscription.lifecycle_url) == (
        URLS.notification,
        URLS.lifecycle,
    )
    assert (await setup.advance_subscription()).subscription == after.subscription


async def test_one_that_is_replaced_is_removed_though_the_provider_does_not_name_its_doc_source() -> None:
    elsewhere = make_subscription(notification_url="https://old.example/webhooks/outlook")
    setup = SubscriptionSetup(make_connection(subscription=elsewhere))
    setup.provider.subscriptions["sub-old"] = make_provider_subscription(elsewhere, owner=None)
    await setup.advance_subscription()
    assert "sub-old" not in setup.provider.subscriptions


class TestRenewalWhoseAnswerWasLost:
    def lose_answer(self, *, is_renewed: bool = False, is_gone: bool = False) -> SubscriptionSetup:
        setup = make_setup_due_for_renewal()
        setup.provider.errors["renew"] = ProviderUnavailable("504")

        async def answer_never_comes() -> None:
            if is_gone:
                setup.provider.subscriptions.clear()
            elif is_renewed:
                old = setup.provider.subscriptions["sub-old"]
                setup.provider.subscriptions["sub-old"] = replace(old, expires_at=NOW + timedelta(minutes=9_999))

        setup.provider.during["renew"] = answer_never_comes
        return setup

    async def test_is_recorded_when_it_was_made_and_not_made_again(self) -> None:
        setup = self.lose_answer(is_renewed=True)
        after = await setup.advance_subscription()
        assert setup.provider.calls == ["renew sub-old", "get sub-old"]
        assert after.subscription is not None
        assert (after.subscription.expires_at, after.failed_attempts) == (NOW + timedelta(minutes=9_999), 0)
        await setup.advance_subscription()
        assert setup.provider.find_calls("renew") == ["renew sub-old"]

    async def test_creates_another_at_once_when_the_subscription_is_gone(self) -> None:
        setup = self.lose_answer(is_gone=True)
        after = await setup.advance_subscription()
        assert [call.split()[0] for call in setup.provider.calls] == ["renew", "get", "list", "publish", "create"]
        assert after.subscription_id != "sub-old"

    async def test_is_tried_again_later_when_it_was_not_made(self) -> None:
        setup = self.lose_answer()
        after = await setup.advance_subscription()
        assert (after.failed_attempts, after.current_error) == (1, "ProviderUnavailable: 504")
        assert after.next_check_at == NOW + timedelta(seconds=5)

    @pytest.mark.parametrize("refusal", [AccessDenied("403"), TokenRefused("no", grant_generation=1), Throttled("429")])
    async def test_is_tried_again_soon_when_the_look_up_fails_too(self, refusal: MailroomError) -> None:
        setup = self.lose_answer()
        setup.provider.errors["get"] = refusal
        after = await setup.advance_subscription()
        assert (after.state, after.current_error) == (ConnectionState.ACTIVE, "ProviderUnavailable: 504")
        assert after.next_check_at == NOW + timedelta(seconds=5)

    async def test_is_not_looked_up_where_the_provider_refused_to_work(self) -> None:
        setup = make_setup_due_for_renewal()
        setup.provider.errors["renew"] = Throttled("slow down", retry_after_s=60)
        await setup.advance_subscription()
        assert setup.provider.find_calls("get") == []

    async def test_is_not_looked_up_where_the_provider_cannot_tell(self) -> None:
        assert OUTLOOK.push is not None
        traits = replace(OUTLOOK, push=replace(OUTLOOK.push, can_look_up=False))
        due = make_setup_due_for_renewal()
        setup = SubscriptionSetup(due.connections.only_row(), traits=traits)
        setup.provider.subscriptions = due.provider.subscriptions
        setup.provider.errors["renew"] = ProviderUnavailable("504")
        await setup.advance_subscription()
        assert setup.provider.calls == ["renew sub-old"]
