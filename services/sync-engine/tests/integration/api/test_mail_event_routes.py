"""`GET /mail-events`: the events of a tenant by source, kind, mail and time, in either order."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from uuid import uuid4

import asyncpg
import httpx
import pytest
from migrated_databases import migrate_once

from mailroom_common.auth import APIKeys
from mailroom_common.events import MailEvent, MailKind
from mailroom_common.postgres import INVALID_VALUE_ERRORS, open_pool, open_transaction
from mailroom_common.process import Process
from mailroom_common.web import build_service_app
from sync_engine.adapters.recorded_mail_events import PgMailEventQueries, record_mail_events
from sync_engine.api.mail_event_routes import build_mail_event_router

NOON = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    await migrate_once(postgres_url, "sync_engine")
    async with open_pool(postgres_url, application_name="test", max_size=2) as pool:
        yield pool


@pytest.fixture
async def client(pool: asyncpg.Pool) -> AsyncIterator[httpx.AsyncClient]:
    keys = APIKeys.parse_keys(",".join(f"{tenant}:viewer:{sha256(tenant.encode()).hexdigest()}" for tenant in "ab"))
    app = build_service_app(Process("test"), title="test", invalid_value_errors=INVALID_VALUE_ERRORS)
    app.include_router(build_mail_event_router(PgMailEventQueries(pool), keys))
    headers = {"Authorization": "Bearer a"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test", headers=headers) as http:
        yield http


async def record(pool: asyncpg.Pool, doc_source_id: str, *kinds: MailKind, tenant_id: str = "a") -> list[MailEvent]:
    """An event of a mail of its own for each kind, recorded a minute after the one before it."""
    events = [
        MailEvent(
            event_id=str(uuid4()),
            occurred_at=NOON,
            tenant_id=tenant_id,
            doc_source_id=doc_source_id,
            kind=kind,
            message_id=f"m{number}",
        )
        for number, kind in enumerate(kinds)
    ]
    async with open_transaction(pool) as conn:
        await record_mail_events(conn, events)
        for number, event in enumerate(events):
            await conn.execute(
                "update sync_engine.mail_event set recorded_at = $2 where event_id = $1",
                event.event_id,
                NOON + timedelta(minutes=number),
            )
    return events


async def list_mails(client: httpx.AsyncClient, **parameters: str) -> list[str]:
    answer = await client.get("/mail-events", params=parameters)
    assert answer.status_code == 200, answer.text
    return [item["message_id"] for item in answer.json()["items"]]


async def test_an_event_is_shown_as_its_topic_has_it(pool: asyncpg.Pool, client: httpx.AsyncClient) -> None:
    event = MailEvent(
        event_id=str(uuid4()),
        occurred_at=NOON,
        tenant_id="a",
        doc_source_id=str(uuid4()),
        kind=MailKind.MOVED,
        message_id="m",
        subject="Rechnung \u20ac",
        from_name="Ada",
        flag="flagged",
        folder="Archive",
        previous_folder="Inbox",
        received_at=NOON,
        is_read=False,
        categories=["red"],
    )
    async with open_transaction(pool) as conn:
        await record_mail_events(conn, [event])
    (shown,) = (await client.get("/mail-events", params={"doc_source_id": event.doc_source_id})).json()["items"]
    del shown["recorded_at"]
    times = {"occurred_at": "2026-03-02T12:00:00Z", "received_at": "2026-03-02T12:00:00Z"}
    assert shown == {name: getattr(event, name) for name in MailEvent.__dataclass_fields__} | times


async def test_events_are_filtered_by_source_kind_mail_and_time(pool: asyncpg.Pool, client: httpx.AsyncClient) -> None:
    source = str(uuid4())
    await record(pool, source, MailKind.RECEIVED, MailKind.CHANGED, MailKind.RECEIVED, MailKind.REMOVED)
    await record(pool, str(uuid4()), MailKind.RECEIVED)
    assert await list_mails(client, doc_source_id=source) == ["m3", "m2", "m1", "m0"]
    assert await list_mails(client, doc_source_id=source, kind="received") == ["m2", "m0"]
    assert await list_mails(client, doc_source_id=source, message_id="m3") == ["m3"]
    since, until = "2026-03-02T12:01:00Z", "2026-03-02T13:03:00+01:00"
    assert await list_mails(client, doc_source_id=source, since=since, until=until) == ["m2", "m1"]


@pytest.mark.parametrize("order", ["newest", "oldest"])
async def test_pages_show_each_event_once_though_they_were_recorded_in_one_moment(
    pool: asyncpg.Pool, client: httpx.AsyncClient, order: str
) -> None:
    source = str(uuid4())
    await record(pool, source, *[MailKind.RECEIVED] * 7)
    await pool.execute(
        "update sync_engine.mail_event set recorded_at = $2 where doc_source_id = $1 and message_id <= 'm4'",
        source,
        NOON,
    )
    parameters = {"doc_source_id": source, "order": order, "limit": "2"}
    seen: list[str] = []
    while True:
        page = (await client.get("/mail-events", params=parameters)).json()
        seen += [item["message_id"] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        parameters["cursor"] = page["next_cursor"]
    expected = [f"m{number}" for number in range(7)]
    assert seen == (expected if order == "oldest" else expected[::-1])


async def test_a_tenant_sees_its_own_and_nothing_of_a_deleted_source(
    pool: asyncpg.Pool, client: httpx.AsyncClient
) -> None:
    own, others, deleted = (str(uuid4()) for _ in range(3))
    await record(pool, own, MailKind.RECEIVED)
    await record(pool, others, MailKind.RECEIVED, tenant_id="b")
    await record(pool, deleted, MailKind.RECEIVED)
    await pool.execute(
        "insert into sync_engine.sync_state (doc_source_id, tenant_id, forgotten_at) values ($1, 'a', now())", deleted
    )
    items = (await client.get("/mail-events", params={"limit": "200"})).json()["items"]
    shown = {item["doc_source_id"] for item in items}
    assert own in shown
    assert shown.isdisjoint({others, deleted})
    assert await list_mails(client, doc_source_id=others) == []
    assert (await client.get("/mail-events", headers={"Authorization": "Bearer c"})).status_code == 401


async def test_a_range_that_ends_before_it_begins_is_refused(client: httpx.AsyncClient) -> None:
    times = {"since": "2026-03-02T12:00:00Z", "until": "2026-03-02T11:00:00Z"}
    answer = await client.get("/mail-events", params=times)
    assert (answer.status_code, answer.json()["errors"][0]["loc"]) == (422, ["query", "since"])


@pytest.mark.parametrize(
    ("parameter", "value", "status"),
    [
        ("cursor", "x", 422),
        ("cursor", "f" * 22, 422),
        ("since", "2026-03-02T12:00:00", 422),
        ("kind", "unknown", 422),
        ("order", "best", 422),
        ("limit", "201", 422),
        ("sender", "x", 400),
    ],
)
async def test_what_cannot_be_asked_is_refused(
    client: httpx.AsyncClient, parameter: str, value: str, status: int
) -> None:
    assert (await client.get("/mail-events", params={parameter: value})).status_code == status
