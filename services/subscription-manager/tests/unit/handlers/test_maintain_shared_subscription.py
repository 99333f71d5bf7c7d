"""One subscription serves all doc sources of an account."""

import asyncio
from dataclasses import replace
from datetime import timedelta

from connection_samples import GMAIL, ID, NOW, OTHER_ID, make_connection, make_subscription
from subscription_setup import SubscriptionSetup

from subscription_manager.domain.connection import Connection, ConnectionState


def make_shared_setup(*connections: Connection) -> SubscriptionSetup:
    return SubscriptionSetup(*connections, traits=GMAIL)


def make_shared(**changed: object) -> Connection:
    return make_connection(**{"provider": "gmail", "address": "Ada@gmail.example", **changed})


async def test_watch_is_made_without_a_hash() -> None:
    setup = make_shared_setup(make_shared())
    after = await setup.advance_subscription()
    assert setup.provider.calls == [f"create {ID}"]
    assert after.client_states == ()
    assert after.subscription is not None
    assert after.subscription.subscription_id == "projects/p/topics/t"


async def test_one_watch_serves_all_doc_sources_of_the_account() -> None:
    other = make_shared(id=OTHER_ID, tenant_id="other", address="ada@gmail.example")
    setup = make_shared_setup(make_shared(), other)

    async def let_the_other_come() -> None:
        for _ in range(20):
            await asyncio.sleep(0)

    setup.provider.during["create"] = let_the_other_come
    first, second = await asyncio.gather(setup.advance_subscription(ID), setup.advance_subscription(OTHER_ID))
    assert len(setup.provider.calls) == 1
    assert first.subscription is not None
    assert second.subscription is not None
    assert first.subscription.expires_at == second.subscription.expires_at


async def test_watch_is_repeated_daily_and_asks_for_no_sync() -> None:
    setup = make_shared_setup(make_shared())
    after = await setup.advance_subscription()
    assert after.next_check_at is not None
    assert NOW + timedelta(hours=19) < after.next_check_at <= NOW + timedelta(days=1)
    setup.connections.sync_requests.clear()
    setup.clock.advance(timedelta(hours=24))
    again = await setup.advance_subscription()
    assert setup.provider.calls == [f"create {ID}"] * 2
    assert again.subscription is not None
    assert again.subscription.expires_at == setup.clock() + timedelta(days=7)
    assert setup.connections.sync_requests == []


async def test_doc_sources_that_take_a_watch_over_from_each_other_still_repeat_it() -> None:
    setup = make_shared_setup(make_shared(), make_shared(id=OTHER_ID, tenant_id="other"))
    for _ in range(10):
        for one in (ID, OTHER_ID):
            await setup.advance_subscription(one)
            setup.clock.advance(timedelta(hours=15))
    current = setup.connections.rows[ID].subscription
    assert current is not None
    assert current.expires_at > setup.clock() + timedelta(days=5)


async def test_watch_ends_with_the_last_doc_source_over_all_tenants() -> None:
    deleting = {"state": ConnectionState.DELETING}
    other = make_shared(id=OTHER_ID, tenant_id="other", address="ada@gmail.example")
    setup = make_shared_setup(make_shared(), other)
    for one in (ID, OTHER_ID):
        await setup.advance_subscription(one)
        await setup.grants.add_tokens(one, "gmail")
    setup.provider.calls.clear()
    setup.connections.rows[ID] = replace(setup.connections.rows[ID], **deleting)  # type: ignore[arg-type]
    await setup.advance_subscription(ID)
    assert setup.provider.calls == []
    assert setup.grants.forgotten == [ID]
    setup.connections.rows[OTHER_ID] = replace(setup.connections.rows[OTHER_ID], **deleting)  # type: ignore[arg-type]
    await setup.advance_subscription(OTHER_ID)
    assert setup.provider.calls == ["end projects/p/topics/t", f"revoke refresh-{OTHER_ID}"]


async def test_of_two_that_are_deleted_at_once_the_second_ends_the_watch() -> None:
    one = make_shared(state=ConnectionState.DELETING, subscription=make_subscription())
    other = make_shared(
        id=OTHER_ID, tenant_id="other", state=ConnectionState.DELETING, subscription=make_subscription()
    )
    setup = make_shared_setup(one, other)
    await asyncio.gather(setup.advance_subscription(ID), setup.advance_subscription(OTHER_ID))
    assert setup.provider.find_calls("end") == ["end sub-old"]


async def test_account_that_another_doc_source_is_just_renewing_is_renewed_once() -> None:
    due = make_subscription(
        subscription_id="projects/p/topics/t",
        created_or_renewed_at=NOW - timedelta(days=1),
        expires_at=NOW + timedelta(days=6),
    )
    setup = make_shared_setup(make_shared(subscription=due), make_shared(id=OTHER_ID, tenant_id="other"))
    async with setup.locks.lock_account("gmail", "ada@gmail.example"):
        waiting = asyncio.ensure_future(setup.advance_subscription(ID))
        for _ in range(20):
            await asyncio.sleep(0)
        fresh = make_subscription(subscription_id="projects/p/topics/t", expires_at=NOW + timedelta(days=7))
        setup.connections.rows[OTHER_ID] = make_shared(id=OTHER_ID, tenant_id="other", subscription=fresh)
    after = await waiting
    assert setup.provider.calls == []
    assert after.subscription is not None
    assert after.subscription.expires_at == NOW + timedelta(days=7)


async def test_holder_that_lost_its_lock_creates_nothing() -> None:
    setup = make_shared_setup(make_shared())
    setup.locks.handle.is_lost = True
    after = await setup.advance_subscription()
    assert setup.provider.calls == []
    assert after.failed_attempts == 1


async def test_deleted_one_without_a_subscription_ends_nothing() -> None:
    setup = make_shared_setup(make_shared(state=ConnectionState.DELETING))
    after = await setup.advance_subscription()
    assert setup.provider.find_calls("end") == []
    assert after.provider_ended_at == NOW
