"""One suite for the fake and the real `Connections`: what the handlers' tests believe is what Postgres does."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import timedelta

import asyncpg
import pytest
from connection_fakes import NOW, URLS, Clock, FakeConnections, a_connection

from mailroom_common.events import ClientState, DocSource, Profile, Provider, SyncReason, SyncRequest
from mailroom_common.kafka.codec import Codec
from mailroom_common.migrations import apply_migrations
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import open_pool
from mailroom_common.topics import DOC_SOURCES, SYNC_REQUESTS
from subscription_manager.adapters.postgres import SCHEMA, PgConnections
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import Connection, CurrentSubscription, State, Status
from subscription_manager.ports import AlreadyConnected, Connections, Published

pytestmark = pytest.mark.stack

ONE = a_connection()
TWO = a_connection(id="22222222-2222-4222-8222-222222222222", tenant_id="other", created_at=NOW)
FULL = replace(
    ONE,
    aliases=("a@contoso.example",),
    folders=("inbox", "Archive/2026"),
    start_at=NOW - timedelta(days=30),
    status=Status.PROVIDER_ERROR,
    reason="access_denied",
    last_error="AccessDenied: no",
    last_successful_sync_at=NOW,
    client_states=(ClientState(sha256="a" * 64, valid_until=NOW + timedelta(days=7)),),
    subscription=CurrentSubscription(
        subscription_id="sub-1",
        resource="me/messages",
        expires_at=NOW + timedelta(days=6),
        touched_at=NOW,
        notification_url=URLS.notification,
        lifecycle_url=URLS.lifecycle,
        client_state_sha256="a" * 64,
        renew_asked_at=NOW,
        renewals=3,
    ),
    attempts=2,
)


@dataclass
class Store:
    """`told` and `asked` are what the outbox holds, in order."""

    connections: Connections
    pool: asyncpg.Pool | None = None

    async def told(self) -> list[tuple[str, int | None]]:
        if isinstance(self.connections, FakeConnections):
            return [(one, None if event is None else version) for one, version, event in self.connections.told]
        events = await self._outbox(DOC_SOURCES.name)
        return [(key, event.version if isinstance(event, DocSource) else None) for key, event in events]

    async def asked(self) -> list[tuple[str, SyncReason]]:
        if isinstance(self.connections, FakeConnections):
            return self.connections.asked
        events = await self._outbox(SYNC_REQUESTS.name)
        return [(key, event.reasons[0]) for key, event in events if isinstance(event, SyncRequest)]

    async def _outbox(self, topic: str) -> list[tuple[str, object]]:
        assert self.pool is not None
        rows = await self.pool.fetch(
            "select key, value from subscription_manager.outbox where topic = $1 order by id", topic
        )
        which = DOC_SOURCES if topic == DOC_SOURCES.name else SYNC_REQUESTS
        codec = Codec()
        return [(row["key"], None if row["value"] is None else codec.decode(which, row["value"])) for row in rows]


@pytest.fixture(params=["fake", "postgres"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    if request.param == "fake":
        yield Store(FakeConnections())
        return
    url: str = request.getfixturevalue("postgres_url")
    await apply_migrations(url, {SCHEMA})
    async with open_pool(url, application_name="test", max_size=6) as pool:
        await pool.execute(
            "truncate subscription_manager.doc_source, subscription_manager.doc_source_email, "
            "subscription_manager.subscription_state, subscription_manager.oauth_request, subscription_manager.outbox"
        )
        yield Store(PgConnections(pool, Outbox(SCHEMA, Codec()), Clock()), pool)


async def save(store: Store, after: Connection, ask: SyncReason | None = None) -> Connection:
    async with store.connections.change(after.id) as change:
        assert change is not None
        return await change.save(after, ask=ask)


async def test_what_is_added_is_found_as_it_was_and_published(store: Store) -> None:
    await store.connections.add(FULL, ask=SyncReason.CONNECT)
    assert await store.connections.find(FULL.id) == FULL
    assert await store.told() == [(FULL.id, 1)]
    assert await store.asked() == [(FULL.id, SyncReason.CONNECT)]


async def test_find_is_by_tenant_and_shows_no_graves_and_no_nonsense(store: Store) -> None:
    await store.connections.add(ONE)
    assert await store.connections.find(ONE.id, tenant_id="acme") == ONE
    assert await store.connections.find(ONE.id, tenant_id="other") is None
    assert await store.connections.find("nonsense") is None
    async with store.connections.change(ONE.id, tenant_id="other") as change:
        assert change is None
    await save(store, transitions.gone(ONE, NOW))
    assert await store.connections.find(ONE.id) is None
    async with store.connections.change(ONE.id) as change:
        assert change is None


async def test_change_of_what_is_shown_is_a_new_version_and_other_changes_are_not(store: Store) -> None:
    await store.connections.add(ONE)
    paused = await save(store, transitions.paused(ONE))
    assert paused.version == 2
    troubled = await save(store, replace(paused, status=Status.PROVIDER_ERROR, reason="x", attempts=4))
    assert troubled.version == 2
    assert await store.connections.find(ONE.id) == troubled
    assert await store.told() == [(ONE.id, 1), (ONE.id, 2)]


async def test_grave_is_a_tombstone_of_its_own_version(store: Store) -> None:
    await store.connections.add(FULL)
    grave = await save(store, transitions.gone(FULL, NOW))
    assert grave.version == 2
    assert await store.told() == [(FULL.id, 1), (FULL.id, None)]


async def test_change_whose_block_fails_leaves_nothing(store: Store) -> None:
    await store.connections.add(ONE)

    async def fail() -> None:
        async with store.connections.change(ONE.id) as change:
            assert change is not None
            await change.save(transitions.paused(ONE), ask=SyncReason.MANUAL)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await fail()
    assert await store.connections.find(ONE.id) == ONE
    assert (await store.told(), await store.asked()) == ([(ONE.id, 1)], [])


async def test_changes_of_one_connection_come_one_after_the_other(store: Store) -> None:
    await store.connections.add(ONE)

    async def count() -> None:
        async with store.connections.change(ONE.id) as change:
            assert change is not None
            await asyncio.sleep(0)
            await change.save(replace(change.connection, attempts=change.connection.attempts + 1))

    await asyncio.gather(*(count() for _ in range(12)))
    found = await store.connections.find(ONE.id)
    assert found is not None
    assert found.attempts == 12


async def test_one_user_is_connected_once_per_tenant_provider_and_profile(store: Store) -> None:
    await store.connections.add(ONE)
    same = replace(ONE, id=TWO.id)
    with pytest.raises(AlreadyConnected):
        await store.connections.add(same)
    await store.connections.add(replace(same, tenant_id="other"))
    await store.connections.add(replace(same, id="33333333-3333-4333-8333-333333333333", profile=Profile.OBSERVATION))
    pending = replace(same, id="44444444-4444-4444-8444-444444444444", provider_user_id=None, state=State.PENDING)
    await store.connections.add(pending)
    with pytest.raises(AlreadyConnected):
        await save(store, replace(pending, provider_user_id="user-1"))
    await save(store, transitions.gone(ONE, NOW))
    await save(store, replace(pending, provider_user_id="user-1"))


async def test_page_is_the_tenants_in_order_from_behind_the_cursor(store: Store) -> None:
    ours = [
        a_connection(id=f"{n}" * 8 + "-1111-4111-8111-111111111111", provider_user_id=f"u{n}", created_at=NOW)
        for n in range(1, 5)
    ]
    for one in [*reversed(ours), TWO]:
        await store.connections.add(one)
    assert await store.connections.page("acme", after=None, limit=2) == ours[:2]
    assert await store.connections.page("acme", after=(NOW, ours[1].id), limit=5) == ours[2:]
    assert await store.connections.page("other", after=None, limit=5) == [TWO]


async def test_what_is_due_is_claimed_once_until_the_lease_is_over(store: Store) -> None:
    await store.connections.add(ONE)
    await store.connections.add(replace(TWO, attention_at=NOW + timedelta(minutes=1)))
    lease = timedelta(minutes=3)
    claims = [store.connections.claim_attention(NOW, lease=lease, limit=5) for _ in range(3)]
    assert sorted(one for claimed in await asyncio.gather(*claims) for one in claimed) == [ONE.id]
    later = await store.connections.claim_attention(NOW + lease, lease=lease, limit=5)
    assert sorted(later) == [ONE.id, TWO.id]
    assert await store.connections.claim_attention(NOW + lease, lease=lease, limit=5) == []


async def test_backstop_is_asked_once_per_interval_for_the_active(store: Store) -> None:
    await store.connections.add(replace(ONE, backstop_at=NOW))
    await store.connections.add(replace(TWO, backstop_at=NOW, state=State.PAUSED))
    interval = timedelta(minutes=15)
    asks = [store.connections.ask_for_backstops(NOW, interval=interval, limit=10) for _ in range(3)]
    assert sum(await asyncio.gather(*asks)) == 1
    assert await store.asked() == [(ONE.id, SyncReason.BACKSTOP)]
    found = await store.connections.find(ONE.id)
    assert found is not None
    assert found.backstop_at is not None
    assert interval * 0.9 < found.backstop_at - NOW <= interval
    assert await store.connections.ask_for_backstops(NOW + interval, interval=interval, limit=10) == 1


async def test_others_of_an_account_are_those_that_the_provider_still_serves(store: Store) -> None:
    watched = a_connection(provider=Provider.GMAIL, address="Ada@gmail.example", provider_user_id="g-1")
    others = {
        "same address": replace(watched, provider_user_id=None, address="ada@GMAIL.example"),
        "same user": replace(watched, address="renamed@gmail.example", state=State.DELETING),
        "ended": replace(watched, state=State.DELETING, ended_at=NOW),
        "pending": replace(watched, state=State.PENDING, provider_user_id=None),
        "of outlook": replace(watched, provider=Provider.OUTLOOK),
        "another": replace(watched, address="eve@gmail.example", provider_user_id="g-2"),
    }
    ids = {}
    await store.connections.add(watched)
    for number, (name, other) in enumerate(others.items(), 2):
        ids[name] = f"{number}" * 8 + "-1111-4111-8111-111111111111"
        await store.connections.add(replace(other, id=ids[name], tenant_id=f"tenant-{number}"))
    found = {one.id for one in await store.connections.others_of_account(watched)}
    assert found == {ids["same address"], ids["same user"]}
    by_user = replace(watched, id=ids["pending"], address=None)
    assert {one.id for one in await store.connections.others_of_account(by_user)} == {watched.id, ids["same user"]}


async def test_pending_one_with_a_grant_to_give_back_is_shown_as_deleting_until_it_is_gone(store: Store) -> None:
    pending = replace(ONE, state=State.PENDING, status=None, provider_user_id=None, attention_at=None, backstop_at=None)
    await store.connections.add(pending)
    deleting = await save(store, transitions.deleting(pending, NOW, has_grant=True))
    assert (deleting.state, deleting.address, deleting.provider_user_id) == (State.DELETING, None, None)
    assert await store.connections.claim_attention(NOW, lease=timedelta(minutes=3), limit=5) == [ONE.id]
    await save(store, transitions.gone_if_finished(transitions.ended(deleting, NOW), NOW))
    assert await store.connections.find(ONE.id) is None
    assert await store.told() == [(ONE.id, 1), (ONE.id, 2), (ONE.id, None)]


async def test_current_subscriptions_are_known_and_replaced_ones_are_not(store: Store) -> None:
    await store.connections.add(FULL)
    assert await store.connections.known_subscriptions(["sub-1", "sub-0"]) == {"sub-1"}
    await save(store, replace(FULL, subscription=None))
    assert await store.connections.known_subscriptions(["sub-1"]) == frozenset()
    assert await store.connections.known_subscriptions([]) == frozenset()


async def test_only_what_calls_another_address_is_looked_at(store: Store) -> None:
    later = NOW + timedelta(days=5)
    await store.connections.add(replace(FULL, attention_at=later))
    right = {"notification_url": URLS.notification, "lifecycle_url": URLS.lifecycle}
    await store.connections.look_at_misdirected(NOW, **right)
    assert await store.connections.claim_attention(NOW, lease=timedelta(0), limit=5) == []
    await store.connections.look_at_misdirected(NOW, **right | {"lifecycle_url": "https://new.example/l"})
    assert await store.connections.claim_attention(NOW, lease=timedelta(0), limit=5) == [FULL.id]


async def test_published_counts_what_is_not_waiting_in_the_outbox(store: Store) -> None:
    await store.connections.add(ONE)
    if store.pool is not None:
        assert await store.connections.published() == []
        await store.pool.execute("delete from subscription_manager.outbox")
    assert await store.connections.published() == [Published(ONE.id, 1, is_gone=False)]
    await store.connections.publish_again(ONE.id)
    if store.pool is not None:
        assert await store.told() == [(ONE.id, 1)]
