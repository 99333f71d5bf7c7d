"""What the worker tells subscription-manager, what it records of results, and what the API shows of it, on Postgres."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import uuid4

import asyncpg
import httpx
import pytest

from mailroom_common.auth import APIKeys
from mailroom_common.events import (
    Access,
    ConnectionEvent,
    ConnectionKind,
    DocSource,
    DocSourceState,
    IngestionResult,
    Profile,
    ResultStatus,
)
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.migrations import apply_migrations
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import open_pool
from mailroom_common.process import Process
from mailroom_common.topics import CONNECTION_EVENTS, INGESTION_RESULTS
from mailroom_common.web import build_service_app
from sync_engine.adapters.api_queries import PgMessageQueries
from sync_engine.adapters.connection_events import PgConnectionEvents
from sync_engine.adapters.messages import PgMessages
from sync_engine.adapters.sync_states import PgSyncStates
from sync_engine.api.routes import build_router
from sync_engine.domain.run_outcomes import RunCompleted
from sync_engine.handlers.record_results import RecordResults

pytestmark = pytest.mark.stack

START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@dataclass
class Bench:
    pool: asyncpg.Pool
    codec: Codec
    now: datetime = START

    def __post_init__(self) -> None:
        outbox = Outbox("sync_engine", self.codec)
        self.states = PgSyncStates(self.pool, outbox, lambda: self.now)
        self.connections = PgConnectionEvents(self.pool, outbox, lambda: self.now)
        self.recorder = RecordResults(PgMessages(self.pool))

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    async def read_outbox(self, source: DocSource) -> list[ConnectionEvent]:
        rows = await self.pool.fetch(
            "select value from sync_engine.outbox where key = $1 order by id", source.doc_source_id
        )
        events = [self.codec.decode(CONNECTION_EVENTS, row["value"]) for row in rows]
        return [event for event in events if isinstance(event, ConnectionEvent)]

    async def kinds(self, source: DocSource) -> list[ConnectionKind]:
        return [event.kind for event in await self.read_outbox(source)]

    async def message(self, source: DocSource, message_id: str, *taken: str, left: int = 0) -> None:
        """A message of whose parts those named are taken."""
        await self.pool.execute(
            "insert into sync_engine.message (doc_source_id, message_id, tenant_id, state, subject, sender_address) "
            "values ($1, $2, $3, $4, 'Invoice 7', 'billing@supplier.example')",
            source.doc_source_id,
            message_id,
            source.tenant_id,
            "open" if taken else "closed",
        )
        rows = [(attachment_id, None) for attachment_id in taken] + [(None, "inline_picture")] * left
        for position, (attachment_id, reason) in enumerate(rows):
            await self.pool.execute(
                "insert into sync_engine.message_part (doc_source_id, message_id, part_path, position, stored, "
                "skip_reason, attachment_id, filename, content_type, size_bytes, content_sha256) "
                "values ($1, $2, $3, $4, $5, $6, $7, 'a.pdf', 'application/pdf', 10, 'ab')",
                source.doc_source_id,
                message_id,
                str(position),
                position,
                attachment_id is not None,
                reason,
                attachment_id,
            )

    async def result(
        self, attachment_id: str, status: ResultStatus = ResultStatus.COMPLETED, at: datetime = START
    ) -> None:
        event = IngestionResult(
            event_id=str(uuid4()),
            occurred_at=at,
            tenant_id="acme",
            doc_source_id="s",
            attachment_id=attachment_id,
            document_id=f"doc-{attachment_id}",
            status=status,
        )
        await self.recorder.handle_record(
            IncomingRecord(INGESTION_RESULTS, 0, 0, START, event.document_id, b"", {}, event),
        )

    async def state(self, source: DocSource, message_id: str) -> str | None:
        state: str | None = await self.pool.fetchval(
            "select state from sync_engine.message where doc_source_id = $1 and message_id = $2",
            source.doc_source_id,
            message_id,
        )
        return state


@pytest.fixture
async def bench(postgres_url: str) -> AsyncIterator[Bench]:
    await apply_migrations(postgres_url, only=["sync_engine"])
    async with open_pool(postgres_url, application_name="test", max_size=4) as pool:
        yield Bench(pool, Codec())


def source(tenant_id: str = "acme", state: DocSourceState = DocSourceState.ACTIVE, version: int = 1) -> DocSource:
    return DocSource(
        event_id=str(uuid4()),
        occurred_at=START,
        tenant_id=tenant_id,
        doc_source_id=str(uuid4()),
        version=version,
        provider="outlook",
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        state=state,
        grant_generation=3,
    )


async def known(bench: Bench, *, tenant_id: str = "acme", state: DocSourceState = DocSourceState.ACTIVE) -> DocSource:
    found = source(tenant_id, state)
    await bench.states.read_state(found)
    return found


# connection-events


async def test_synced_is_told_at_most_once_a_minute_and_sums_up_what_nobody_announced(bench: Bench) -> None:
    s = await known(bench)
    await bench.connections.report_synced(s, RunCompleted(new_messages=1, unannounced_messages=1))
    bench.pass_by(30)
    await bench.connections.report_synced(s, RunCompleted(new_messages=2, unannounced_messages=2))
    bench.pass_by(20)
    await bench.connections.report_synced(s, RunCompleted(new_messages=3, unannounced_messages=3))
    assert await bench.kinds(s) == [ConnectionKind.SYNCED]
    bench.pass_by(10)
    await bench.connections.report_synced(s, RunCompleted())
    told = await bench.read_outbox(s)
    assert [(event.kind, event.unannounced) for event in told] == [
        (ConnectionKind.SYNCED, 1),
        (ConnectionKind.SYNCED, 5),
    ]
    assert len({event.event_id for event in told}) == 2
    assert {event.grant_generation for event in told} == {3}


async def test_a_provider_that_keeps_failing_is_told_once_and_its_recovery_too(bench: Bench) -> None:
    s = await known(bench)
    for _ in range(5):
        await bench.states.back_off(s)
        await bench.connections.report_failing(s, "503")
    assert await bench.kinds(s) == [ConnectionKind.PROVIDER_FAILING]
    await bench.connections.report_synced(s, RunCompleted())
    await bench.connections.report_synced(s, RunCompleted())
    assert await bench.kinds(s) == [ConnectionKind.PROVIDER_FAILING, ConnectionKind.RECOVERED, ConnectionKind.SYNCED]


async def test_a_single_failure_is_not_worth_a_word(bench: Bench) -> None:
    s = await known(bench)
    await bench.states.back_off(s)
    await bench.connections.report_failing(s, "503")
    assert await bench.kinds(s) == []


async def test_a_refusal_found_twice_is_one_event_until_a_sync_has_worked_in_between(bench: Bench) -> None:
    s = await known(bench)
    for _ in range(2):
        await bench.connections.report_not_syncable(s, ConnectionKind.ACCESS_DENIED, "403")
        bench.pass_by(900)
    assert len({event.event_id for event in await bench.read_outbox(s)}) == 1
    await bench.connections.report_synced(s, RunCompleted())
    await bench.connections.report_not_syncable(s, ConnectionKind.ACCESS_DENIED, "403")
    denied = [event for event in await bench.read_outbox(s) if event.kind is ConnectionKind.ACCESS_DENIED]
    assert len(denied) == 3
    assert len({event.event_id for event in denied}) == 2


async def test_of_a_forgotten_source_nothing_is_told_any_more(bench: Bench) -> None:
    s = await known(bench, state=DocSourceState.DELETING)
    await bench.states.forget_source(s)
    await bench.states.forget_source(s)
    await bench.connections.report_synced(s, RunCompleted(new_messages=1))
    await bench.connections.report_failing(s, "503")
    await bench.connections.report_not_syncable(s, ConnectionKind.MAILBOX_GONE, "404")
    assert await bench.kinds(s) == [ConnectionKind.FORGOTTEN]


# Results


async def test_a_message_is_closed_when_each_taken_part_has_a_result(bench: Bench) -> None:
    s = await known(bench)
    a, b = str(uuid4()), str(uuid4())
    await bench.message(s, "m", a, b, left=1)
    await bench.result(a)
    assert await bench.state(s, "m") == "open"
    await bench.result(b, ResultStatus.FAILED)
    assert await bench.state(s, "m") == "closed"


@pytest.mark.parametrize("status", [ResultStatus.PENDING, ResultStatus.PROCESSING])
async def test_what_is_not_final_closes_nothing(bench: Bench, status: ResultStatus) -> None:
    s = await known(bench)
    a = str(uuid4())
    await bench.message(s, "m", a)
    await bench.result(a, status)
    assert await bench.state(s, "m") == "open"


async def test_a_repeated_result_changes_nothing_and_an_older_one_does_not_overwrite(bench: Bench) -> None:
    s = await known(bench)
    a = str(uuid4())
    await bench.message(s, "m", a)
    await bench.result(a, ResultStatus.NEEDS_REVIEW, START)
    closed_at = await bench.pool.fetchval(
        "select closed_at from sync_engine.message where message_id = 'm' and doc_source_id = $1", s.doc_source_id
    )
    await bench.result(a, ResultStatus.COMPLETED, START + timedelta(hours=1))
    await bench.result(a, ResultStatus.NEEDS_REVIEW, START)
    row = await bench.pool.fetchrow(
        "select p.result_status, m.closed_at from sync_engine.message_part p "
        "join sync_engine.message m using (doc_source_id, message_id) where attachment_id = $1",
        a,
    )
    assert row
    assert (row["result_status"], row["closed_at"]) == ("completed", closed_at)


async def test_a_result_of_no_mail_is_passed_over(bench: Bench) -> None:
    await bench.result(str(uuid4()))
    assert await bench.pool.fetchval("select count(*) from sync_engine.message where closed_at > now()") == 0


# API


@pytest.fixture
async def client(bench: Bench) -> AsyncIterator[httpx.AsyncClient]:
    keys = ",".join(f"{tenant}:viewer:{sha256(f'key-{tenant}'.encode()).hexdigest()}" for tenant in ("t1", "t2"))
    app = build_service_app(Process("test"), title="test")
    app.include_router(build_router(PgMessageQueries(bench.pool), APIKeys.parse_keys(keys)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as http:
        yield http


def key(tenant: str) -> dict[str, str]:
    return {"Authorization": f"Bearer key-{tenant}"}


async def test_messages_show_every_part_taken_or_left_and_why(bench: Bench, client: httpx.AsyncClient) -> None:
    s = await known(bench, tenant_id="t1")
    a = str(uuid4())
    await bench.message(s, "m", a, left=1)
    await bench.result(a)
    answer = await client.get("/messages", params={"doc_source_id": s.doc_source_id}, headers=key("t1"))
    (message,) = answer.json()["items"]
    assert message["state"] == "closed"
    assert message["from"] == "billing@supplier.example"
    taken, left = message["parts"]
    assert taken == {
        "part_path": "0",
        "filename": "a.pdf",
        "content_type": "application/pdf",
        "size_bytes": 10,
        "content_sha256": "ab",
        "stored": True,
        "skip_reason": None,
        "parked_reason": None,
        "attachment_id": a,
        "document_id": f"doc-{a}",
        "result_status": "completed",
        "result_reason": None,
    }
    assert (left["stored"], left["skip_reason"], left["attachment_id"]) == (False, "inline_picture", None)


async def test_pages_show_each_message_once_newest_first_though_new_ones_come(
    bench: Bench, client: httpx.AsyncClient
) -> None:
    s = await known(bench, tenant_id="t1")
    for number in range(5):
        await bench.message(s, f"m{number}")
    seen: list[str] = []
    cursor: str | None = None
    while True:
        params = {"doc_source_id": s.doc_source_id, "limit": "2", **({"cursor": cursor} if cursor else {})}
        page = (await client.get("/messages", params=params, headers=key("t1"))).json()
        seen += [message["message_id"] for message in page["items"]]
        await bench.message(s, f"new{len(seen)}")
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == ["m4", "m3", "m2", "m1", "m0"]


async def test_messages_are_filtered_by_state(bench: Bench, client: httpx.AsyncClient) -> None:
    s = await known(bench, tenant_id="t1")
    await bench.message(s, "open", str(uuid4()))
    await bench.message(s, "closed")
    params = {"doc_source_id": s.doc_source_id, "state": "open"}
    items = (await client.get("/messages", params=params, headers=key("t1"))).json()["items"]
    assert [message["message_id"] for message in items] == ["open"]


@pytest.mark.parametrize("path", ["/messages", "/sync-runs", "/parked-items"])
async def test_a_tenant_sees_its_own_and_nothing_else(bench: Bench, client: httpx.AsyncClient, path: str) -> None:
    s = await known(bench, tenant_id="t1")
    await bench.message(s, "m")
    await bench.pool.execute(
        "insert into sync_engine.sync_run (run_id, doc_source_id, tenant_id, kind, reasons, started_at) "
        "values ($1, $2, 't1', 'full', '{connect}', now())",
        str(uuid4()),
        s.doc_source_id,
    )
    await bench.pool.execute(
        "insert into sync_engine.parked_item (doc_source_id, message_id, tenant_id, reason, first_failed_at, "
        "last_failed_at) values ($1, 'm', 't1', 'unavailable', now(), now())",
        s.doc_source_id,
    )
    own = await client.get(path, params={"doc_source_id": s.doc_source_id}, headers=key("t1"))
    others = await client.get(path, params={"doc_source_id": s.doc_source_id}, headers=key("t2"))
    assert [item["doc_source_id"] for item in own.json()["items"]] == [s.doc_source_id]
    assert others.json() == {"items": [], "next_cursor": None}
    assert (await client.get(path)).status_code == 401


@pytest.mark.parametrize(
    "params", [{"cursor": "nonsense"}, {"cursor": "AAAA"}, {"limit": "0"}, {"limit": "201"}, {"state": "lost"}]
)
async def test_what_is_asked_for_wrongly_is_a_problem_document(
    client: httpx.AsyncClient, params: dict[str, str]
) -> None:
    answer = await client.get("/messages", params=params, headers=key("t1"))
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
