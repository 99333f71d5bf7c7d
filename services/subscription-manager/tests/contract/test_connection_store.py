"""One suite for the fake and the real `ConnectionStore`: what the handlers' tests believe is what Postgres does."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from hashlib import sha256

import asyncpg
import pytest
from connection_samples import NOW, TOKEN_TROUBLE, URLS, Clock, make_connection, make_trouble
from fake_connection_store import FakeConnectionStore
from migrated_databases import migrate_once

from mailroom_common.events import ClientState, DocSource, Profile, Relist, SourceFilter, SyncReason, SyncRequest
from mailroom_common.kafka.codec import Codec
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import open_pool
from mailroom_common.topics import DOC_SOURCES, SYNC_REQUESTS
from subscription_manager.adapters.connection_store import _OTHERS_OF_ACCOUNT, SCHEMA, PgConnectionStore
from subscription_manager.domain import transitions
from subscription_manager.domain.connection import (
    Connection,
    ConnectionState,
    ConnectionStatus,
    CurrentSubscription,
    PendingReason,
    SubscriptionStatus,
    TroubleReason,
)
from subscription_manager.ports import ConnectionStore, MailboxAlreadyConnected, PublishedVersion

pytestmark = pytest.mark.stack

ONE = make_connection()
TWO = make_connection(id="22222222-2222-4222-8222-222222222222", tenant_id="other", created_at=NOW)
FULL = replace(
    ONE,
    aliases=("a@contoso.example",),
    folders=("inbox", "Archive/2026"),
    start_at=NOW - timedelta(days=30),
    sync_trouble=make_trouble(ConnectionStatus.PROVIDER_ERROR, TroubleReason.PROVIDER_FAILING, "no progress"),
    subscription_trouble=make_trouble(
        ConnectionStatus.SUBSCRIPTION_EXPIRED, TroubleReason.SUBSCRIPTION_REFUSED, "AccessDenied: no"
    ),
    last_successful_sync_at=NOW,
    client_states=(ClientState(sha256="a" * 64, valid_until=NOW + timedelta(days=7)),),
    subscription=CurrentSubscription(
        subscription_id="sub-1",
        resource="me/messages",
        expires_at=NOW + timedelta(days=6),
        created_or_renewed_at=NOW,
        notification_url=URLS.notification,
        lifecycle_url=URLS.lifecycle,
        client_state_sha256="a" * 64,
        renewal_requested_at=NOW,
        renewal_count=3,
    ),
    filter=SourceFilter(sender_allow=["acme.example"], sender_deny=["news@acme.example"], strictness="strict"),
    failed_attempts=2,
    relist_from=NOW,
    relist_number=2,
    version_before_deletion=3,
    earlier_relists=(Relist(number=1, relist_from=NOW - timedelta(days=3)),),
)

_VERY_MANY = """
    with added as (
        insert into subscription_manager.doc_source (id, tenant_id, provider, profile, access, state, published_version,
                                                     provider_user_id, created_at)
        select md5('d' || n)::uuid, 'acme', 'gmail', 'invoice', 'delegated', 'active', 1, 'u' || n, now()
        from generate_series(1, 4000) n
        returning id, provider_user_id
    )
    insert into subscription_manager.doc_source_email (doc_source_id, provider, address, provider_user_id)
    select id, 'gmail', 'user' || substr(provider_user_id, 2) || '@gmail.example', provider_user_id from added
"""


@dataclass
class StoreUnderTest:
    """What the outbox holds, in order."""

    connections: ConnectionStore
    pool: asyncpg.Pool | None = None

    async def add_link(self, doc_source_id: str, *, expires_at: datetime) -> None:
        """A consent link that nobody has followed."""
        if isinstance(self.connections, FakeConnectionStore):
            self.connections.link_ends[doc_source_id] = expires_at
        elif self.pool is not None:
            await self.pool.execute(
                "insert into subscription_manager.oauth_request (id, doc_source_id, ticket_sha256, expires_at) "
                "values (gen_random_uuid(), $1, $2, $3)",
                doc_source_id,
                sha256(doc_source_id.encode()).digest(),
                expires_at,
            )

    async def read_published(self) -> list[tuple[str, int | None]]:
        if isinstance(self.connections, FakeConnectionStore):
            return [(one, None if event is None else version) for one, version, event in self.connections.published]
        events = await self._read_outbox(DOC_SOURCES.name)
        return [(key, event.version if isinstance(event, DocSource) else None) for key, event in events]

    async def read_sync_requests(self) -> list[tuple[str, SyncReason]]:
        if isinstance(self.connections, FakeConnectionStore):
            return self.connections.sync_requests
        events = await self._read_outbox(SYNC_REQUESTS.name)
        return [(key, event.reasons[0]) for key, event in events if isinstance(event, SyncRequest)]

    async def _read_outbox(self, topic: str) -> list[tuple[str, object]]:
        assert self.pool is not None
        rows = await self.pool.fetch(
            "select key, value from subscription_manager.outbox where topic = $1 order by id", topic
        )
        which = DOC_SOURCES if topic == DOC_SOURCES.name else SYNC_REQUESTS
        codec = Codec()
        return [(row["key"], None if row["value"] is None else codec.decode(which, row["value"])) for row in rows]


@pytest.fixture(params=["fake", "postgres"])
async def store(request: pytest.FixtureRequest) -> AsyncIterator[StoreUnderTest]:
    if request.param == "fake":
        yield StoreUnderTest(FakeConnectionStore())
        return
    url: str = request.getfixturevalue("postgres_url")
    await migrate_once(url, SCHEMA)
    async with open_pool(url, application_name="test", max_size=6) as pool:
        for table in ("subscription_state", "doc_source_email", "oauth_request", "doc_source", "outbox"):
            await pool.execute(f"delete from subscription_manager.{table}")  # noqa: S608  # ours
        yield StoreUnderTest(PgConnectionStore(pool, Outbox(SCHEMA, Codec()), Clock()), pool)


async def save_connection(
    store: StoreUnderTest, after: Connection, request_sync: SyncReason | None = None
) -> Connection:
    async with store.connections.lock_connection(after.id) as locked:
        assert locked is not None
        return await locked.save_connection(after, request_sync=request_sync)


async def test_what_is_added_is_found_as_it_was_and_published(store: StoreUnderTest) -> None:
    await store.connections.add_connection(FULL, request_sync=SyncReason.CONNECT)
    assert await store.connections.find_connection(FULL.id) == FULL
    assert await store.read_published() == [(FULL.id, 1)]
    assert await store.read_sync_requests() == [(FULL.id, SyncReason.CONNECT)]


async def test_find_is_by_tenant_and_finds_no_soft_deleted_row_and_no_invalid_id(store: StoreUnderTest) -> None:
    await store.connections.add_connection(ONE)
    assert await store.connections.find_connection(ONE.id, tenant_id="acme") == ONE
    assert await store.connections.find_connection(ONE.id, tenant_id="other") is None
    assert await store.connections.find_connection("nonsense") is None
    async with store.connections.lock_connection(ONE.id, tenant_id="other") as locked:
        assert locked is None
    await save_connection(store, transitions.erase_to_tombstone(ONE, NOW))
    assert await store.connections.find_connection(ONE.id) is None
    async with store.connections.lock_connection(ONE.id) as locked:
        assert locked is None


async def test_change_of_what_is_shown_is_a_new_version_and_other_changes_are_not(store: StoreUnderTest) -> None:
    await store.connections.add_connection(ONE)
    paused = await save_connection(store, transitions.pause_connection(ONE))
    assert paused.published_version == 2
    troubled = await save_connection(
        store,
        replace(paused, sync_trouble=TOKEN_TROUBLE, failed_attempts=4),
    )
    assert troubled.published_version == 2
    assert await store.connections.find_connection(ONE.id) == troubled
    assert await store.read_published() == [(ONE.id, 1), (ONE.id, 2)]


async def test_grave_is_a_tombstone_of_its_own_version(store: StoreUnderTest) -> None:
    await store.connections.add_connection(FULL)
    deleted = await save_connection(store, transitions.erase_to_tombstone(FULL, NOW))
    assert deleted.published_version == 2
    assert await store.read_published() == [(FULL.id, 1), (FULL.id, None)]


async def test_change_whose_block_fails_leaves_nothing(store: StoreUnderTest) -> None:
    await store.connections.add_connection(ONE)

    async def save_and_fail() -> None:
        async with store.connections.lock_connection(ONE.id) as locked:
            assert locked is not None
            await locked.save_connection(transitions.pause_connection(ONE), request_sync=SyncReason.MANUAL)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        await save_and_fail()
    assert await store.connections.find_connection(ONE.id) == ONE
    assert (await store.read_published(), await store.read_sync_requests()) == ([(ONE.id, 1)], [])


async def test_changes_of_one_connection_come_one_after_the_other(store: StoreUnderTest) -> None:
    await store.connections.add_connection(ONE)

    async def count_up() -> None:
        async with store.connections.lock_connection(ONE.id) as locked:
            assert locked is not None
            await asyncio.sleep(0)
            await locked.save_connection(
                replace(locked.connection, failed_attempts=locked.connection.failed_attempts + 1)
            )

    await asyncio.gather(*(count_up() for _ in range(12)))
    found = await store.connections.find_connection(ONE.id)
    assert found is not None
    assert found.failed_attempts == 12


async def test_one_user_is_connected_once_per_tenant_provider_and_profile(store: StoreUnderTest) -> None:
    await store.connections.add_connection(ONE)
    same = replace(ONE, id=TWO.id)
    with pytest.raises(MailboxAlreadyConnected):
        await store.connections.add_connection(same)
    await store.connections.add_connection(replace(same, tenant_id="other"))
    await store.connections.add_connection(
        replace(same, id="33333333-3333-4333-8333-333333333333", profile=Profile.OBSERVATION)
    )
    pending = replace(
        same, id="44444444-4444-4444-8444-444444444444", provider_user_id=None, state=ConnectionState.PENDING
    )
    await store.connections.add_connection(pending)
    with pytest.raises(MailboxAlreadyConnected):
        await save_connection(store, replace(pending, provider_user_id="user-1"))
    await save_connection(store, transitions.erase_to_tombstone(ONE, NOW))
    await save_connection(store, replace(pending, provider_user_id="user-1"))


async def test_page_is_the_tenants_in_order_from_behind_the_cursor(store: StoreUnderTest) -> None:
    ours = [
        make_connection(id=f"{n}" * 8 + "-1111-4111-8111-111111111111", provider_user_id=f"u{n}", created_at=NOW)
        for n in range(1, 5)
    ]
    for one in [*reversed(ours), TWO]:
        await store.connections.add_connection(one)
    assert await store.connections.list_connections("acme", after=None, limit=2) == ours[:2]
    assert await store.connections.list_connections("acme", after=(NOW, ours[1].id), limit=5) == ours[2:]
    assert await store.connections.list_connections("other", after=None, limit=5) == [TWO]


async def test_those_of_an_address_are_the_tenants_whatever_its_case_and_come_in_pages(store: StoreUnderTest) -> None:
    ours = [
        make_connection(
            id=f"{n}" * 8 + "-1111-4111-8111-111111111111",
            provider_user_id=f"u{n}",
            created_at=NOW,
            address=("INFO@company.example", "info@Company.example", "info@other.example")[n - 1],
        )
        for n in range(1, 4)
    ]
    for one in [*ours, replace(TWO, tenant_id="other", address="info@company.example")]:
        await store.connections.add_connection(one)
    listed = partial(store.connections.list_connections, "acme", address="Info@company.example")
    assert await listed(after=None, limit=5) == ours[:2]
    assert await listed(after=(NOW, ours[0].id), limit=5) == ours[1:2]


async def test_what_is_due_is_claimed_once_until_the_lease_is_over(store: StoreUnderTest) -> None:
    await store.connections.add_connection(ONE)
    await store.connections.add_connection(replace(TWO, next_check_at=NOW + timedelta(minutes=1)))
    lease = timedelta(minutes=3)
    claims = [store.connections.claim_due_checks(NOW, lease=lease, limit=5) for _ in range(3)]
    assert sorted(one for claimed in await asyncio.gather(*claims) for one in claimed) == [ONE.id]
    later = await store.connections.claim_due_checks(NOW + lease, lease=lease, limit=5)
    assert sorted(later) == [ONE.id, TWO.id]
    assert await store.connections.claim_due_checks(NOW + lease, lease=lease, limit=5) == []


async def test_backstop_is_asked_once_per_interval_for_the_active(store: StoreUnderTest) -> None:
    await store.connections.add_connection(replace(ONE, next_backstop_at=NOW))
    await store.connections.add_connection(replace(TWO, next_backstop_at=NOW, state=ConnectionState.PAUSED))
    interval = timedelta(minutes=15)
    asks = [store.connections.request_backstop_syncs(NOW, interval=interval, limit=10) for _ in range(3)]
    assert sum(await asyncio.gather(*asks)) == 1
    assert await store.read_sync_requests() == [(ONE.id, SyncReason.BACKSTOP)]
    found = await store.connections.find_connection(ONE.id)
    assert found is not None
    assert found.next_backstop_at is not None
    assert interval * 0.9 < found.next_backstop_at - NOW <= interval
    assert await store.connections.request_backstop_syncs(NOW + interval, interval=interval, limit=10) == 1


async def test_others_of_an_account_are_those_that_the_provider_still_serves(store: StoreUnderTest) -> None:
    watched = make_connection(provider="gmail", address="Ada@gmail.example", provider_user_id="g-1")
    others = {
        "same address": replace(watched, provider_user_id=None, address="ada@GMAIL.example"),
        "same user": replace(watched, address="renamed@gmail.example", state=ConnectionState.DELETING),
        "ended": replace(watched, state=ConnectionState.DELETING, provider_ended_at=NOW),
        "pending": replace(watched, state=ConnectionState.PENDING, provider_user_id=None),
        "of outlook": replace(watched, provider="outlook"),
        "another": replace(watched, address="eve@gmail.example", provider_user_id="g-2"),
    }
    ids = {}
    await store.connections.add_connection(watched)
    for number, (name, other) in enumerate(others.items(), 2):
        ids[name] = f"{number}" * 8 + "-1111-4111-8111-111111111111"
        await store.connections.add_connection(replace(other, id=ids[name], tenant_id=f"tenant-{number}"))
    found = {one.id for one in await store.connections.list_others_of_account(watched)}
    assert found == {ids["same address"], ids["same user"]}
    by_user = replace(watched, id=ids["pending"], address=None)
    assert {one.id for one in await store.connections.list_others_of_account(by_user)} == {watched.id, ids["same user"]}


@pytest.mark.parametrize("store", ["postgres"], indirect=True)
async def test_others_of_an_account_are_found_by_indexes_among_very_many(store: StoreUnderTest) -> None:
    """It is asked for at each renewal of a shared watch: each went through all doc sources."""
    assert store.pool is not None
    async with store.pool.acquire() as conn:
        filling = conn.transaction()
        await filling.start()
        await conn.execute(_VERY_MANY)
        await conn.execute("analyze subscription_manager.doc_source, subscription_manager.doc_source_email")
        rows = await conn.fetch(f"explain {_OTHERS_OF_ACCOUNT}", "gmail", ONE.id, "user7@gmail.example", "u9")
        await filling.rollback()
    plan = "\n".join(row[0] for row in rows)
    assert {"doc_source_email_by_folded_address", "doc_source_by_provider_user"} <= set(re.findall(r"\w+", plan)), plan
    assert "Seq Scan on doc_source" not in plan, plan


async def test_pending_one_with_a_grant_to_give_back_is_deleting_until_it_is_soft_deleted(
    store: StoreUnderTest,
) -> None:
    pending = replace(
        ONE,
        state=ConnectionState.PENDING,
        provider_user_id=None,
        next_check_at=None,
        next_backstop_at=None,
    )
    await store.connections.add_connection(pending)
    deleting = await save_connection(store, transitions.begin_deletion(pending, NOW, has_grant=True))
    assert (deleting.state, deleting.address, deleting.provider_user_id) == (ConnectionState.DELETING, None, None)
    assert await store.connections.claim_due_checks(NOW, lease=timedelta(minutes=3), limit=5) == [ONE.id]
    await save_connection(
        store, transitions.erase_to_tombstone_if_finished(transitions.record_provider_end(deleting, NOW), NOW)
    )
    assert await store.connections.find_connection(ONE.id) is None
    assert await store.read_published() == [(ONE.id, 1), (ONE.id, 2), (ONE.id, None)]


async def test_current_subscriptions_are_known_and_replaced_ones_are_not(store: StoreUnderTest) -> None:
    await store.connections.add_connection(FULL)
    assert await store.connections.filter_current_subscriptions(["sub-1", "sub-0"]) == {"sub-1"}
    await save_connection(store, replace(FULL, subscription=None))
    assert await store.connections.filter_current_subscriptions(["sub-1"]) == frozenset()
    assert await store.connections.filter_current_subscriptions([]) == frozenset()


async def test_only_what_calls_other_urls_is_checked(store: StoreUnderTest) -> None:
    later = NOW + timedelta(days=5)
    await store.connections.add_connection(replace(FULL, next_check_at=later))
    moved = replace(URLS, lifecycle="https://new.example/l")
    await store.connections.schedule_checks_of_misdirected("outlook", URLS, NOW)
    await store.connections.schedule_checks_of_misdirected("gmail", moved, NOW)
    assert await store.connections.find_next_check_time() == later
    await store.connections.schedule_checks_of_misdirected("outlook", moved, NOW)
    assert await store.connections.find_next_check_time() == NOW


async def test_next_check_is_the_earliest_that_is_scheduled(store: StoreUnderTest) -> None:
    assert await store.connections.find_next_check_time() is None
    await store.connections.add_connection(replace(ONE, next_check_at=NOW + timedelta(hours=2)))
    await store.connections.add_connection(replace(TWO, next_check_at=None))
    assert await store.connections.find_next_check_time() == NOW + timedelta(hours=2)


async def test_earliest_end_of_a_subscription_is_of_an_active_doc_source_whether_it_has_come_or_not(
    store: StoreUnderTest,
) -> None:
    assert await store.connections.find_earliest_expiries() == {}
    ends = {ONE.id: NOW - timedelta(hours=1), TWO.id: NOW - timedelta(hours=2)}
    for connection in (ONE, TWO):
        subscription = CurrentSubscription(
            subscription_id=connection.id,
            resource="r",
            expires_at=ends[connection.id],
            created_or_renewed_at=NOW,
            status=SubscriptionStatus.EXPIRED,
        )
        await store.connections.add_connection(replace(connection, subscription=subscription))
    found = await store.connections.find_earliest_expiries()
    assert found == {ONE.provider: ends[TWO.id]}
    two = await store.connections.find_connection(TWO.id)
    assert two is not None
    await save_connection(store, transitions.pause_connection(two))
    assert await store.connections.find_earliest_expiries() == {ONE.provider: ends[ONE.id]}


async def test_version_above_another_is_published_though_nothing_changed(store: StoreUnderTest) -> None:
    await store.connections.add_connection(ONE)
    async with store.connections.lock_connection(ONE.id) as locked:
        assert locked is not None
        lifted = await locked.save_connection(locked.connection, above_version=7)
    assert lifted.published_version == 8
    assert (await store.read_published())[-1] == (ONE.id, 8)


async def test_pending_ones_that_are_old_and_have_no_recent_link_are_listed(store: StoreUnderTest) -> None:
    month_ago = NOW - timedelta(days=30)
    days = {ONE.id: 32, TWO.id: 31, "33333333-3333-4333-8333-333333333333": 29}
    for number, (one, age) in enumerate(days.items()):
        created_at = NOW - timedelta(days=age)
        row = replace(ONE, id=one, state=ConnectionState.PENDING, created_at=created_at, provider_user_id=None)
        await store.connections.add_connection(replace(row, tenant_id=f"tenant-{number}"))
    active = replace(ONE, id="44444444-4444-4444-8444-444444444444", created_at=NOW - timedelta(days=40))
    await store.connections.add_connection(active)
    assert await store.connections.list_expired_pending(month_ago, NOW, 10) == [ONE.id, TWO.id]
    assert await store.connections.list_expired_pending(month_ago, NOW, 1) == [ONE.id]
    await store.add_link(ONE.id, expires_at=NOW - timedelta(days=3))
    await store.add_link(TWO.id, expires_at=NOW - timedelta(days=1))
    assert await store.connections.list_expired_pending(month_ago, NOW, 10) == [ONE.id]


async def test_only_the_pending_ones_of_a_tenant_are_counted_and_no_further_than_asked(store: StoreUnderTest) -> None:
    pending = replace(ONE, state=ConnectionState.PENDING, provider_user_id=None)
    await store.connections.add_connection(ONE)
    for number, tenant_id in enumerate(("acme", "acme", "other")):
        one = replace(pending, id=f"{number}0000000-0000-4000-8000-000000000000", tenant_id=tenant_id)
        await store.connections.add_connection(one)
    assert await store.connections.count_pending("acme", up_to=10) == 2
    assert await store.connections.count_pending("acme", up_to=1) == 1
    assert await store.connections.count_pending("nobody", up_to=10) == 0


async def test_pending_one_whose_consent_a_restore_has_lost_never_expires(store: StoreUnderTest) -> None:
    restored = replace(
        ONE,
        state=ConnectionState.PENDING,
        pending_reason=PendingReason.CONSENT_LOST,
        pending_error="consent_declined",
        created_at=NOW - timedelta(days=99),
    )
    await store.connections.add_connection(restored)
    assert await store.connections.list_expired_pending(NOW - timedelta(days=30), NOW, 10) == []


async def test_key_of_a_filter_that_a_newer_version_wrote_is_ignored(store: StoreUnderTest) -> None:
    await store.connections.add_connection(ONE)
    if store.pool is not None:
        await store.pool.execute(
            "update subscription_manager.doc_source set filter = $1",
            {"strictness": "strict", "languages": ["de"]},
        )
        read = await store.connections.find_connection(ONE.id)
        assert read is not None
        assert read.filter == SourceFilter(strictness="strict")


async def test_version_that_waits_in_the_outbox_is_told_from_a_published_one(store: StoreUnderTest) -> None:
    await store.connections.add_connection(ONE)
    if store.pool is not None:
        (waiting,) = await store.connections.list_published_versions()
        assert waiting.is_waiting
        await store.pool.execute("delete from subscription_manager.outbox")
    assert await store.connections.list_published_versions() == [PublishedVersion(ONE.id, 1, is_deleted=False)]
    assert await store.connections.find_published_version(ONE.id) == PublishedVersion(ONE.id, 1, is_deleted=False)
    assert await store.connections.find_published_version(TWO.id) is None
    assert await store.connections.find_published_version("no id of ours") is None
    await store.connections.republish_doc_source(ONE.id)
    if store.pool is not None:
        assert await store.read_published() == [(ONE.id, 1)]
