"""What the end of a connection does at the provider, and what it leaves alone while the account serves another one."""

import asyncio
from collections.abc import Coroutine
from dataclasses import replace

from connection_samples import GMAIL, ID, NOW, OTHER_ID, make_connection, make_provider_subscription, make_subscription
from subscription_setup import SubscriptionSetup

from mailroom_common.errors import ProviderUnavailable, TokenRefused
from mailroom_common.events import Access
from mailroom_common.providers.types import Subscription
from subscription_manager.domain.connection import Connection, ConnectionState, build_user_key

WATCH = make_subscription(subscription_id="projects/p/topics/t", notification_url=None, lifecycle_url=None)


def make_deleting(**changed: object) -> Connection:
    return make_connection(**{"state": ConnectionState.DELETING, "subscription": make_subscription(), **changed})


def make_shared(**changed: object) -> Connection:
    return make_deleting(**{"provider": "gmail", "address": "Ada@gmail.example", "subscription": WATCH, **changed})


def make_shared_setup(**changed: object) -> SubscriptionSetup:
    return SubscriptionSetup(make_shared(**changed), traits=GMAIL)


async def start_task(coroutine: Coroutine[None, None, object]) -> asyncio.Task[object]:
    """Run it as far as it comes by itself."""
    task = asyncio.ensure_future(coroutine)
    for _ in range(20):
        await asyncio.sleep(0)
    return task


async def test_account_that_somebody_connects_meanwhile_keeps_its_watch_and_its_grants() -> None:
    setup = make_shared_setup()
    await setup.grants.add_tokens(ID, "gmail")
    async with setup.locks.lock_account("gmail", "ada@gmail.example"):  # a consent for the same account is being stored
        task = await start_task(setup.advance_subscription())
        assert setup.provider.find_calls("end", "revoke") == []
        setup.connections.rows[OTHER_ID] = make_shared(id=OTHER_ID, tenant_id="other", state=ConnectionState.ACTIVE)
    await task
    assert setup.provider.find_calls("end", "revoke") == []
    assert setup.connections.rows[ID].provider_ended_at == NOW


async def test_user_who_connects_meanwhile_keeps_the_grant_though_an_unfinished_one_ends() -> None:
    setup = make_shared_setup(address=None, provider_user_id=None, subscription=None)
    await setup.grants.add_tokens(ID, "gmail")
    async with setup.locks.lock_account("gmail", build_user_key("user-1")):
        task = await start_task(setup.advance_subscription())
        setup.connections.rows[OTHER_ID] = make_shared(id=OTHER_ID, tenant_id="other", state=ConnectionState.ACTIVE)
    await task
    assert setup.provider.find_calls("end", "revoke") == []
    assert setup.grants.forgotten == [ID]


async def test_last_one_of_its_account_ends_the_watch_and_revokes() -> None:
    setup = make_shared_setup()
    await setup.grants.add_tokens(ID, "gmail")
    ended = await setup.advance_subscription()
    assert setup.provider.find_calls("end", "revoke") == ["end projects/p/topics/t", f"revoke refresh-{ID}"]
    assert (ended.provider_ended_at, setup.grants.forgotten) == (NOW, [ID])


async def test_application_access_has_no_grant_to_revoke() -> None:
    setup = make_shared_setup(access=Access.APPLICATION)
    await setup.grants.add_tokens(ID, "gmail")
    await setup.advance_subscription()
    assert setup.provider.find_calls("end", "revoke") == ["end projects/p/topics/t"]


async def test_subscriptions_of_other_doc_sources_of_the_mailbox_stay() -> None:
    setup = SubscriptionSetup(make_deleting())
    setup.provider.subscriptions["named"] = Subscription("named", "me", NOW, doc_source_id=OTHER_ID)
    setup.provider.subscriptions["unnamed"] = Subscription("unnamed", "me", NOW)
    await setup.advance_subscription()
    assert setup.provider.find_calls("end") == ["end sub-old"]


async def test_row_that_is_not_deleting_any_more_is_left_as_it_is() -> None:
    setup = make_shared_setup()
    before = setup.connections.rows[ID]
    setup.connections.rows[ID] = make_connection(provider="gmail")
    await setup.end.end_connection(before)
    assert setup.connections.rows[ID].provider_ended_at is None


async def test_ends_current_and_strays_tolerating_that_they_are_gone() -> None:
    setup = SubscriptionSetup(make_deleting())
    setup.provider.subscriptions["stray"] = make_provider_subscription(make_subscription(subscription_id="stray"))
    after = await setup.advance_subscription()
    assert setup.provider.find_calls("end") == ["end sub-old", "end stray"]
    assert (after.state, after.provider_ended_at, after.subscription) == (ConnectionState.DELETING, NOW, None)
    assert setup.grants.forgotten == [ID]


async def test_waits_for_sync_engine_to_forget() -> None:
    setup = SubscriptionSetup(make_deleting())
    assert (await setup.advance_subscription()).state is ConnectionState.DELETING
    assert setup.connections.published[-1][2] is not None


async def test_leaves_a_soft_deleted_row_and_a_tombstone_when_sync_engine_has_forgotten_before() -> None:
    setup = SubscriptionSetup(make_deleting(sync_rows_deleted_at=NOW, published_version=7))
    after = await setup.advance_subscription()
    assert after.state is ConnectionState.DELETED
    assert setup.connections.published[-1] == (ID, 8, None)
    assert (after.address, after.provider_user_id, after.client_states) == (None, None, ())


async def test_provider_that_is_away_is_asked_again() -> None:
    setup = SubscriptionSetup(make_deleting())
    setup.provider.errors["end"] = ProviderUnavailable("503")
    after = await setup.advance_subscription()
    assert (after.state, after.provider_ended_at, after.failed_attempts) == (ConnectionState.DELETING, None, 1)
    assert setup.grants.forgotten == []


async def test_refused_token_waits_for_the_expiry_and_ends_then() -> None:
    setup = SubscriptionSetup(make_deleting())
    setup.provider.errors["end"] = TokenRefused("no", grant_generation=1)
    after = await setup.advance_subscription()
    assert after.subscription is not None
    assert (after.state, after.provider_ended_at) == (ConnectionState.DELETING, None)
    assert after.next_check_at == after.subscription.expires_at
    setup.clock.now = after.subscription.expires_at
    ended = await setup.advance_subscription()
    assert ended.provider_ended_at == setup.clock()
    assert setup.grants.forgotten == [ID]


async def test_grant_whose_sealing_key_is_retired_ends_as_a_refused_one_does() -> None:
    setup = SubscriptionSetup(make_deleting())
    setup.grants.sealed_with_retired_key.add(ID)
    waiting = await setup.advance_subscription()
    assert waiting.subscription is not None
    assert (waiting.provider_ended_at, waiting.next_check_at) == (None, waiting.subscription.expires_at)
    setup.clock.now = waiting.subscription.expires_at
    ended = await setup.advance_subscription()
    assert (ended.provider_ended_at, setup.grants.forgotten) == (setup.clock(), [ID])
    assert setup.provider.find_calls("revoke") == []


async def test_unfinished_consent_whose_sealing_key_is_retired_ends_at_once() -> None:
    setup = make_shared_setup(address=None, provider_user_id=None, subscription=None)
    setup.grants.sealed_with_retired_key.add(ID)
    ended = await setup.advance_subscription()
    assert (ended.provider_ended_at, setup.grants.forgotten) == (NOW, [ID])
    assert setup.provider.find_calls("revoke") == []


async def test_what_belongs_to_one_doc_source_does_not_wait_for_the_last_one_of_the_account() -> None:
    setup = SubscriptionSetup(make_deleting(), make_connection(id=OTHER_ID, tenant_id="other"))
    await setup.grants.add_tokens(ID)
    await setup.advance_subscription()
    assert setup.provider.find_calls("end", "revoke") == ["end sub-old", f"revoke refresh-{ID}"]


async def test_connection_of_a_provider_without_push_ends_by_its_grant_alone() -> None:
    polled = replace(GMAIL, push=None)
    setup = SubscriptionSetup(make_shared(subscription=None), traits=polled)
    await setup.grants.add_tokens(ID, "gmail")
    after = await setup.advance_subscription()
    assert setup.provider.calls == [f"revoke refresh-{ID}"]
    assert after.provider_ended_at == NOW
