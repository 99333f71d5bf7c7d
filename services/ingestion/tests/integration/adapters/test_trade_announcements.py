"""New results of documents whose trades changed: in turns by tenant, and none held up by another."""

import re
from datetime import datetime
from typing import Any

import pytest
from ingestion_site import SCHEMA, Ingestion, utc_now
from stated_trades import NOTE, finish, outcome_of

from ingestion.adapters import document_results, trade_announcements
from ingestion.adapters.document_results import append_results
from ingestion.adapters.trade_announcements import PgTradeAnnouncements
from mailroom_common.errors import Unavailable
from mailroom_common.outbox import Outbox

pytestmark = pytest.mark.stack


async def test_one_tenants_many_announcements_hold_up_no_other_tenants(site: Ingestion) -> None:
    names = [("first", "acme"), ("second", "acme"), ("third", "globex")]
    documents = [await finish(site, name, outcome_of(NOTE), tenant=tenant, source=tenant) for name, tenant in names]
    await site.pool.execute("delete from ingestion.trade_announcement")
    await site.pool.executemany(
        "insert into ingestion.trade_announcement (document_id, tenant_id) values ($1, $2)",
        [(document, tenant) for document, (_, tenant) in zip(documents, names, strict=True)],
    )
    await site.pool.execute("delete from ingestion.outbox")
    announcements = PgTradeAnnouncements(site.pool, Outbox(SCHEMA, site.codec), utc_now)
    assert [await announcements.announce_next() for _ in range(4)] == [True, True, True, False]
    announced = [result.document_id for result in await site.results()]
    assert announced == [documents[0], documents[2], documents[1]]


async def test_announcements_of_an_earlier_release_which_name_no_tenant_take_turns_too(site: Ingestion) -> None:
    await finish(site, "note", outcome_of(NOTE))
    await site.pool.execute(
        "insert into ingestion.trade_announcement (document_id) select document_id from ingestion.document"
    )
    announcements = PgTradeAnnouncements(site.pool, Outbox(SCHEMA, site.codec), utc_now)
    assert [await announcements.announce_next() for _ in range(2)] == [True, False]


async def test_a_document_that_cannot_be_announced_holds_up_no_other(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, sound = [await finish(site, name, outcome_of(NOTE)) for name in ("broken", "sound")]
    await site.pool.execute("insert into ingestion.trade_announcement (document_id) values ($1), ($2)", broken, sound)
    append = append_results

    async def append_sound(conn: Any, outbox: Outbox, document: Any, occurred_at: datetime) -> None:
        if document["document_id"] == broken:
            raise ValueError("a bug of ours")
        await append(conn, outbox, document, occurred_at)

    monkeypatch.setattr(trade_announcements, "append_results", append_sound)
    announcements = PgTradeAnnouncements(site.pool, Outbox(SCHEMA, site.codec), utc_now)
    assert [await announcements.announce_next() for _ in range(3)] == [True, True, False]
    assert await site.pool.fetchval("select document_id from ingestion.trade_announcement") == broken
    assert (await site.document(broken))["result_number"] == 1, "nothing of it was kept"


async def test_an_announcement_that_takes_too_long_each_time_leaves_the_tenants_others_their_turn(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [await finish(site, name, outcome_of(NOTE)) for name in ("slow", "quick")]
    await site.pool.executemany(
        "insert into ingestion.trade_announcement (document_id, tenant_id) values ($1, 'acme')",
        [(document,) for document in documents],
    )

    async def give_up(*_: object) -> None:
        raise Unavailable("a statement took too long")

    announcements = PgTradeAnnouncements(site.pool, Outbox(SCHEMA, site.codec), utc_now)
    with monkeypatch.context() as patch:
        patch.setattr(trade_announcements, "append_results", give_up)
        with pytest.raises(Unavailable):
            await announcements.announce_next()
    assert [await announcements.announce_next() for _ in range(2)] == [True, False]


@pytest.mark.parametrize(
    ("row", "parameters", "statement", "arguments"),
    [
        (
            "trade_announcement (document_id, tenant_id) select n::text, 'tenant-' || n % 9",
            "text",
            trade_announcements._FIND_NEXT,
            "'tenant-5'",
        ),
        (
            "result_backlog (document_id, tenant_id, after_seq) select n::text, 'tenant-' || n % 9, 0",
            "text[], text",
            document_results._FIND_NEXT,
            "'{}', 'tenant-5'",
        ),
    ],
)
async def test_a_turn_is_found_without_a_look_at_the_rows_of_the_tenants_before(
    site: Ingestion, row: str, parameters: str, statement: str, arguments: str
) -> None:
    async with site.pool.acquire() as conn:
        filling = conn.transaction()
        await filling.start()
        await conn.execute("set local session_replication_role = replica")  # rows of no document
        await conn.execute(f"insert into ingestion.{row} from generate_series(1, 5000) n")
        await conn.execute("analyze ingestion.trade_announcement, ingestion.result_backlog")
        await conn.execute("set local plan_cache_mode = force_generic_plan")  # as after the fifth execution
        await conn.execute(f"prepare find_next({parameters}) as {statement}")
        rows = await conn.fetch(f"explain execute find_next({arguments})")
        await conn.execute("deallocate find_next")
        await filling.rollback()
    plan = "\n".join(line[0] for line in rows)
    assert re.search(r"Index Cond: \(\(?tenant_id > \$\d\)", plan), plan
