"""The HTTP API over the worker's tables."""

import asyncio
from collections.abc import AsyncIterator
from hashlib import sha256
from typing import cast
from uuid import uuid4

import httpx
import pytest
from migrated_databases import migrate_once
from reports_bench import Bench, known

from mailroom_common.auth import APIKeys
from mailroom_common.kafka.codec import Codec
from mailroom_common.postgres import open_pool
from mailroom_common.process import Process
from mailroom_common.web import build_service_app
from sync_engine.adapters.api_queries import PgMessageQueries
from sync_engine.api.routes import build_router

pytestmark = pytest.mark.stack


@pytest.fixture
async def bench(postgres_url: str) -> AsyncIterator[Bench]:
    await migrate_once(postgres_url, "sync_engine")
    async with open_pool(postgres_url, application_name="test", max_size=4) as pool:
        yield Bench(pool, Codec())


@pytest.fixture
async def client(bench: Bench) -> AsyncIterator[httpx.AsyncClient]:
    keys = ",".join(
        f"{tenant}:{role}:{sha256(f'key-{tenant}'.encode()).hexdigest()}"
        for tenant, role in (("t1", "viewer"), ("t2", "viewer"), ("o1", "operator"), ("o2", "operator"))
    )
    app = build_service_app(Process("test"), title="test")
    app.include_router(build_router(PgMessageQueries(bench.pool), APIKeys.parse_keys(keys)))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://test") as http:
        yield http


def key(tenant: str) -> dict[str, str]:
    return {"Authorization": f"Bearer key-{tenant}"}


async def test_messages_show_every_part_collected_or_left_and_why(bench: Bench, client: httpx.AsyncClient) -> None:
    s = await known(bench, tenant_id="t1")
    a = str(uuid4())
    await bench.message(s, "m", a, skipped=1)
    await bench.result(a)
    answer = await client.get("/messages", params={"doc_source_id": s.doc_source_id}, headers=key("t1"))
    (message,) = answer.json()["items"]
    assert (message["state"], message["outcome"], message["reason"]) == ("closed", "filed", None)
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
        "document_id": a,
        "result_status": "completed",
        "result_reason": None,
        "via": [],
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


async def test_a_page_ends_before_the_message_that_has_too_many_parts_for_it(bench: Bench) -> None:
    s = await known(bench, tenant_id=f"t-{uuid4()}")
    for message_id, parts in (("m0", 9), ("m1", 0), ("m2", 2), ("m3", 3), ("m4", 1)):
        await bench.message(s, message_id, skipped=parts)
    queries = PgMessageQueries(bench.pool, max_page_parts=5)
    pages: list[list[tuple[object, int]]] = []
    before, has_more = 2**62, True
    while has_more:
        rows, has_more = await queries.list_messages(
            s.tenant_id, before=before, doc_source_id=None, state=None, limit=200
        )
        pages.append([(row["message_id"], len(cast("list[object]", row["parts"]))) for row in rows])
        before = cast("int", rows[-1]["seq"])
    # The last one has more than any page: it is shown with the first of them.
    assert pages == [[("m4", 1), ("m3", 3)], [("m2", 2), ("m1", 0)], [("m0", 5)]]


async def test_messages_are_filtered_by_state(bench: Bench, client: httpx.AsyncClient) -> None:
    s = await known(bench, tenant_id="t1")
    await bench.message(s, "open", str(uuid4()))
    await bench.message(s, "closed")
    params = {"doc_source_id": s.doc_source_id, "state": "open"}
    items = (await client.get("/messages", params=params, headers=key("t1"))).json()["items"]
    assert [message["message_id"] for message in items] == ["open"]


@pytest.mark.parametrize("path", ["/messages", "/sync-runs", "/parked-items", "/sync-states"])
async def test_a_tenant_sees_its_own_and_nothing_else(bench: Bench, client: httpx.AsyncClient, path: str) -> None:
    s = await known(bench, tenant_id="t1")
    await bench.message(s, "m")
    await bench.pool.execute(
        "insert into sync_engine.sync_run (run_id, doc_source_id, tenant_id, kind, reasons, started_at) "
        "values ($1, $2, 't1', 'all_cursors', '{connect}', now())",
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


async def test_one_message_says_why_it_was_not_filed(bench: Bench, client: httpx.AsyncClient) -> None:
    s = await known(bench, tenant_id="t1")
    await bench.message(s, "logo-only", skipped=2)
    answer = await client.get("/messages/logo-only", params={"doc_source_id": s.doc_source_id}, headers=key("t1"))
    body = answer.json()
    assert (body["state"], body["outcome"], body["reason"]) == ("closed", "not_filed", "inline_picture")
    assert len(body["parts"]) == 2
    named = [(one["part_path"], one["filename"], one["reason"]) for one in body["part_reasons"]]
    assert named == [(part["part_path"], part["filename"], "inline_picture") for part in body["parts"]]
    assert (await client.get("/messages/logo-only", headers=key("t2"))).status_code == 404


async def test_message_that_was_never_fetched_is_parked_with_its_reason(
    bench: Bench, client: httpx.AsyncClient
) -> None:
    s = await known(bench, tenant_id="t1")
    await bench.pool.execute(
        "insert into sync_engine.parked_item (doc_source_id, message_id, tenant_id, reason, first_failed_at, "
        "last_failed_at) values ($1, 'unfetched', 't1', 'rejected', now(), now())",
        s.doc_source_id,
    )
    body = (await client.get("/messages/unfetched", headers=key("t1"))).json()
    assert (body["outcome"], body["reason"], body["parts"]) == ("parked", "rejected", [])


async def test_message_of_two_doc_sources_is_asked_for_by_one(bench: Bench, client: httpx.AsyncClient) -> None:
    sources = [await known(bench, tenant_id="t1") for _ in range(2)]
    for s in sources:
        await bench.message(s, "shared")
    answer = await client.get("/messages/shared", headers=key("t1"))
    assert answer.status_code == 409
    assert answer.json()["doc_source_ids"] == sorted(s.doc_source_id for s in sources)
    one = await client.get("/messages/shared", params={"doc_source_id": sources[0].doc_source_id}, headers=key("t1"))
    assert one.json()["doc_source_id"] == sources[0].doc_source_id


async def test_sync_state_says_what_is_open_parked_and_when_it_goes_on(bench: Bench, client: httpx.AsyncClient) -> None:
    s = await known(bench, tenant_id="t1")
    await bench.message(s, "m", str(uuid4()))
    await bench.pool.execute(
        "update sync_engine.sync_state set failed_attempts = 3, not_before = '2026-03-02T12:05:00Z', "
        "last_completed_full_ended_at = '2026-03-02T11:00:00Z' where doc_source_id = $1",
        s.doc_source_id,
    )
    answer = await client.get("/sync-states", params={"doc_source_id": s.doc_source_id}, headers=key("t1"))
    (state,) = answer.json()["items"]
    assert (state["open_messages"], state["parked_items"], state["failed_attempts"]) == (1, 0, 3)
    assert (state["not_before"], state["is_grant_refused"]) == ("2026-03-02T12:05:00Z", False)
    assert state["last_full_run_ended_at"] == "2026-03-02T11:00:00Z"


async def test_sync_states_are_paged(bench: Bench, client: httpx.AsyncClient) -> None:
    ids = sorted([(await known(bench, tenant_id="t1")).doc_source_id for _ in range(3)])
    seen: list[str] = []
    cursor: str | None = None
    while True:
        params = {"limit": "2", **({"cursor": cursor} if cursor else {})}
        page = (await client.get("/sync-states", params=params, headers=key("t1"))).json()
        seen += [state["doc_source_id"] for state in page["items"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert seen == sorted(seen)
    assert set(ids) <= set(seen)


@pytest.mark.parametrize("params", [{"doc_source_id": "nonsense"}, {"docsource": "x"}])
async def test_malformed_id_and_unknown_parameter_are_400(client: httpx.AsyncClient, params: dict[str, str]) -> None:
    answer = await client.get("/messages", params=params, headers=key("t1"))
    assert (answer.status_code, answer.headers["content-type"]) == (400, "application/problem+json")


async def test_a_deleted_source_shows_nothing_while_its_rows_are_still_being_deleted(
    bench: Bench, client: httpx.AsyncClient
) -> None:
    deleted, other = await known(bench, tenant_id="t1"), await known(bench, tenant_id="t1")
    for source in (deleted, other):
        await bench.message(source, "shared-id", str(uuid4()))
        await bench.pool.execute(
            "insert into sync_engine.sync_run (run_id, doc_source_id, tenant_id, kind, reasons, started_at) "
            "values ($1 || '-run', $1, 't1', 'all_cursors', '{}', now())",
            source.doc_source_id,
        )
        await bench.pool.execute(
            "insert into sync_engine.parked_item "
            "(doc_source_id, message_id, tenant_id, reason, first_failed_at, last_failed_at) "
            "values ($1, 'parked-id', 't1', 'gone', now(), now())",
            source.doc_source_id,
        )
    await bench.pool.execute(
        "update sync_engine.sync_state set forgotten_at = now() where doc_source_id = $1", deleted.doc_source_id
    )
    both = {deleted.doc_source_id, other.doc_source_id}
    for path in ("/messages", "/messages/shared-id", "/messages/parked-id", "/sync-runs", "/parked-items"):
        answer = await client.get(path, headers=key("t1"))
        shown = answer.json()
        items = shown.get("items", [shown])
        assert both & {item["doc_source_id"] for item in items} == {other.doc_source_id}, path


async def _park(bench: Bench, tenant_id: str, reason: str) -> str:
    source = await known(bench, tenant_id=tenant_id)
    await bench.pool.execute(
        "insert into sync_engine.parked_item (doc_source_id, message_id, tenant_id, reason, first_failed_at,"
        " last_failed_at, next_attempt_at) values ($1, 'whole', $2, $3, now(), now(), now() + interval '1 day')",
        source.doc_source_id,
        tenant_id,
        reason,
    )
    await bench.pool.execute(
        "insert into sync_engine.message (doc_source_id, message_id, tenant_id, state) values ($1, 'm', $2, 'open')",
        source.doc_source_id,
        tenant_id,
    )
    await bench.pool.execute(
        "insert into sync_engine.message_part (doc_source_id, message_id, part_path, position, stored, parked_reason,"
        " parked_seq, first_failed_at, last_failed_at, next_attempt_at) values ($1, 'm', '2', 1, false, $2,"
        " nextval(pg_get_serial_sequence('sync_engine.parked_item', 'seq')), now(), now(), now() + interval '1 day')",
        source.doc_source_id,
        reason,
    )
    return source.doc_source_id


async def test_what_is_parked_for_a_reason_is_due_at_once_over_all_sources_of_the_tenant(
    bench: Bench, client: httpx.AsyncClient
) -> None:
    mine = {await _park(bench, "o1", "crashed"), await _park(bench, "o1", "crashed")}
    other_reason, other_tenant = await _park(bench, "o1", "rejected"), await _park(bench, "o2", "crashed")
    answer = await client.post("/parked-items/retry", json={"reason": "crashed"}, headers=key("o1"))
    assert answer.json() == {"messages": 2, "parts": 2}
    due = await bench.pool.fetch(
        "select doc_source_id from sync_engine.parked_item where next_attempt_at <= now() and doc_source_id = any($1)"
        " union all select doc_source_id from sync_engine.message_part where next_attempt_at <= now()"
        " and doc_source_id = any($1)",
        [*mine, other_reason, other_tenant],
    )
    assert sorted(row["doc_source_id"] for row in due) == sorted([*mine, *mine])


async def test_what_rests_without_a_time_is_due_at_once_too(bench: Bench, client: httpx.AsyncClient) -> None:
    """As workers of an older version write it."""
    source = await _park(bench, "o1", "gone")
    await bench.pool.execute(
        "update sync_engine.parked_item set next_attempt_at = null where doc_source_id = $1", source
    )
    answer = await client.post(
        "/parked-items/retry", json={"reason": "gone", "doc_source_id": source}, headers=key("o1")
    )
    assert answer.json() == {"messages": 1, "parts": 1}


async def test_what_a_worker_tries_just_now_holds_up_no_other_that_is_made_due(
    bench: Bench, client: httpx.AsyncClient
) -> None:
    tried, *others = [await _park(bench, "o2", "download_failed") for _ in range(3)]
    async with bench.pool.acquire() as worker, worker.transaction():
        for table in ("message", "message_part", "parked_item"):
            await worker.execute(f"select from sync_engine.{table} where doc_source_id = $1 for update", tried)
        async with asyncio.timeout(10):
            queries = PgMessageQueries(bench.pool, retry_batch_size=1)
            assert await queries.retry_parked("o2", "download_failed", doc_source_id=None) == (2, 2)
    due = await bench.pool.fetch(
        "select doc_source_id from sync_engine.message_part where next_attempt_at <= now() and doc_source_id = any($1)",
        [tried, *others],
    )
    assert {row["doc_source_id"] for row in due} == set(others)


async def test_parked_items_are_messages_and_parts_and_pages_show_each_once(
    bench: Bench, client: httpx.AsyncClient
) -> None:
    parked = {await _park(bench, "o2", "gone") for _ in range(2)}
    shown: list[tuple[str, str | None]] = []
    cursor: str | None = None
    while True:
        params = {"limit": "1"} | ({} if cursor is None else {"cursor": cursor})
        page = (await client.get("/parked-items", params=params, headers=key("o2"))).json()
        shown += [(item["doc_source_id"], item["part_path"]) for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    ours = [item for item in shown if item[0] in parked]
    assert sorted(ours, key=str) == sorted([(source, path) for source in parked for path in (None, "2")], key=str)


async def test_only_an_operator_has_parked_items_tried_again(client: httpx.AsyncClient) -> None:
    answer = await client.post("/parked-items/retry", json={"reason": "crashed"}, headers=key("t1"))
    assert answer.status_code == 403
    answer = await client.post("/parked-items/retry", json={"reason": "nonsense"}, headers=key("o1"))
    assert answer.status_code == 422
