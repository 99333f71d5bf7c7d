"""How long a page of `GET /documents` takes with ten million documents, by filter.

    python bench/search [--documents 10000000] [--rounds 5]

A Postgres of its own with the tables of ingestion, filled by SQL: nine in ten documents are of one tenant. For each
filter the statement of the API is run for a page of 100, with what a person may well ask for: few that match, many, and
none. Beside each time and number of blocks stand their ratio to those of one document by its id, in the same run, and
the indexes of the plan. Ends with 1 where a plan goes through the whole table, or a page takes more than a second.
"""

import argparse
import asyncio
import json
import os
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import date
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

import asyncpg

from ingestion.adapters.document_search import build_search
from ingestion.adapters.documents import _FIND
from ingestion.ports.documents import DocumentFilter
from mailroom_common.migrations import apply_migrations
from mailroom_sandbox.site.stack.ports import free_port
from mailroom_sandbox.site.stack.postgres import Postgres

ROWS_AT_ONCE = 250_000
PAGE = 101  # the API asks for one more than it shows
LONGEST_MS = 1000.0

# Suppliers, reasons and amounts are spread by what the number leaves when divided: no random, so each run is alike.
_INSERT = """
insert into ingestion.document (
    document_id, tenant_id, doc_source_id, profile, content_sha256, content_type, size_bytes, blob_key,
    source_metadata, status, skip_reason, review_reason, document_type, extraction, confidence, reader,
    duplicate_key, next_attempt_at)
select n::text, case when n % 10 = 0 then 'other' else 'bench' end, 'source-' || n % 50,
       case when n % 4 = 0 then 'contract_note' else 'invoice' end, md5(n::text) || md5(n::text), 'application/pdf',
       80000, 'documents/' || n || '.pdf', '{"provider": "outlook", "subject": "Invoice"}',
       case when n % 20 = 1 then 'needs_review' when n % 7 = 2 then 'skipped' else 'completed' end,
       case when n % 20 <> 1 and n % 7 = 2 then 'not_an_invoice' end,
       case when n % 20 = 1 then case when n % 100000 = 1 then 'password_required' else 'fields_missing' end end,
       case when n % 5000 = 3 then 'credit_note' else 'invoice' end,
       jsonb_build_object('supplier_name', 'Supplier ' || n % 20000, 'invoice_number', 'RE-' || n, 'currency', 'EUR',
                          'issue_date', (date '2016-01-01' + (n % 3650)::int)::text,
                          'total_gross', (n % 1000000 / 100.0)::numeric(12, 2)::text),
       0.9, 'layout-rules/1', md5('key' || case when n % 1000 = 7 then n - n % 1000000 else n end), null
from generate_series($1::bigint, $2::bigint) n
"""
_INSERT_WORDS = """
insert into ingestion.document_words (document_id, words)
select document_id, array_to_tsvector(array[
           's:' || tenant_id || '/supplier', 's:' || tenant_id || '/' || document_id::bigint % 20000,
           'a:' || tenant_id || '/supplier', 'a:' || tenant_id || '/' || document_id::bigint % 20000,
           'a:' || tenant_id || '/invoice', 'a:' || tenant_id || '/n' || document_id])
from ingestion.document where seq between $1 and $2
"""
_INSERT_SHARED_KEYS = """
insert into ingestion.shared_key (tenant_id, duplicate_key)
select tenant_id, duplicate_key from ingestion.document group by tenant_id, duplicate_key having count(*) > 1
"""
_OTHER_INDEXES = """
select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
where indrelid in ('ingestion.document'::regclass, 'ingestion.document_words'::regclass) and not indisunique
"""


def list_filters(documents: int) -> Iterator[tuple[str, DocumentFilter, int | None]]:
    """A name, what is asked for, and the position that the page begins before."""
    yield "no filter", DocumentFilter(), None
    yield "no filter, from the middle", DocumentFilter(), documents // 2
    yield "doc source", DocumentFilter(doc_source_id="source-7"), None
    yield "status of most", DocumentFilter(status="completed"), None
    yield "status of none", DocumentFilter(status="pending"), None
    yield "reason of many", DocumentFilter(reason="fields_missing"), None
    yield "reason of few", DocumentFilter(reason="password_required"), None
    yield "profile", DocumentFilter(profile="contract_note"), None
    yield "document type of few", DocumentFilter(document_type="credit_note"), None
    yield "document type of none", DocumentFilter(document_type="activity_statement"), None
    yield "content", DocumentFilter(content_sha256="0" * 64), None
    yield "number", DocumentFilter(number="re-123457"), None
    yield "amount, one", DocumentFilter(amount_from=Decimal("77.77"), amount_to=Decimal("77.77")), None
    yield "amount, most", DocumentFilter(amount_from=Decimal(1), currency="EUR"), None
    yield "amount, none", DocumentFilter(amount_from=Decimal(1_000_000)), None
    yield "issued on a day", DocumentFilter(issued_from=date(2020, 2, 2), issued_to=date(2020, 2, 2)), None
    yield "issued in ten years", DocumentFilter(issued_from=date(2016, 1, 1)), None
    yield "supplier of few", DocumentFilter(supplier="supplier 777"), None
    yield "supplier of all", DocumentFilter(supplier="supplier"), None
    yield "text of all", DocumentFilter(text="invoice"), None
    yield "text of one", DocumentFilter(text="n123457"), None
    yield "text of none", DocumentFilter(text="nowhere"), None
    yield "possible duplicates", DocumentFilter(possible_duplicate=True), None
    yield "no possible duplicates", DocumentFilter(possible_duplicate=False), None
    yield "status and reason and amount", DocumentFilter(reason="fields_missing", amount_from=Decimal(9999)), None


@asynccontextmanager
async def open_database(folder: Path) -> AsyncIterator[asyncpg.Connection]:
    postgres = Postgres(
        folder / "postgres",
        port=free_port(),
        password=secrets.token_urlsafe(16),
        log=folder / "postgres.log",
        durable=False,  # reading is measured, and ten million rows are to be written first
    )
    postgres.start()
    try:
        await postgres.wait_until_ready()
        await apply_migrations(postgres.server_url, only=["ingestion"])
        # No pool of ours: what fills the tables takes longer than a statement of a service may.
        conn = await asyncpg.connect(postgres.server_url)
        try:
            yield conn
        finally:
            await conn.close()
    finally:
        await postgres.stop()


async def fill_tables(conn: asyncpg.Connection, documents: int) -> None:
    """With the indexes built afterwards, as they would be after years: entry by entry they take hours."""
    await conn.execute("set maintenance_work_mem = '1GB'")
    indexes = await conn.fetch(_OTHER_INDEXES)
    for index in indexes:
        await conn.execute(f"drop index {index['name']}")
    for first in range(1, documents + 1, ROWS_AT_ONCE):
        last = min(first + ROWS_AT_ONCE - 1, documents)
        await conn.execute(_INSERT, first, last)
        await conn.execute(_INSERT_WORDS, first, last)
    for index in indexes:
        await conn.execute(index["definition"])
    await conn.execute(_INSERT_SHARED_KEYS)
    for table in ("document", "document_words", "shared_key"):
        await conn.execute(f"vacuum analyze ingestion.{table}")


async def time_statement(conn: asyncpg.Connection, statement: str, values: list[Any], rounds: int) -> float:
    """Milliseconds in the database, the median; what is in memory after the first round stays there."""
    plans = [await explain(conn, statement, values) for _ in range(rounds + 1)]
    return median(float(plan["Execution Time"] + plan["Planning Time"]) for plan in plans[1:])


async def explain(conn: asyncpg.Connection, statement: str, values: list[Any]) -> dict[str, Any]:
    text = await conn.fetchval(f"explain (analyze, buffers, format json) {statement}", *values)
    (plan,) = json.loads(text) if isinstance(text, str) else text
    found: dict[str, Any] = plan
    return found


def list_nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield plan
    for inner in plan.get("Plans", []):
        yield from list_nodes(inner)


def count_blocks(plan: dict[str, Any]) -> int:
    """Blocks of 8 KB that were looked at, in memory or not: the same on a busy machine as on an idle one."""
    return int(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"])


async def measure(conn: asyncpg.Connection, documents: int, rounds: int) -> bool:
    """False where a plan is none that may stay."""
    is_good = True
    one_ms = await time_statement(conn, _FIND, ["123457", "bench"], rounds)
    one_blocks = count_blocks((await explain(conn, _FIND, ["123457", "bench"]))["Plan"])
    print(f"one document by its id: {one_ms:.2f} ms, {one_blocks} blocks")
    print(f"{'filter':32} {'rows':>5} {'ms':>9} {'ratio':>8} {'blocks':>8} {'ratio':>8}  indexes")
    for name, wanted, before in list_filters(documents):
        statement, values = build_search("bench", wanted, before=before, limit=PAGE)
        plan = (await explain(conn, statement, values))["Plan"]
        took_ms = await time_statement(conn, statement, values, rounds)
        nodes = list(list_nodes(plan))
        indexes = sorted({node["Index Name"] for node in nodes if "Index Name" in node})
        scans = [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"]
        is_good = is_good and "document" not in scans and took_ms <= LONGEST_MS
        said = ", ".join([*indexes, *(f"ALL OF {table}" for table in scans)])
        blocks = count_blocks(plan)
        times = f"{took_ms:9.2f} {took_ms / one_ms:8.1f} {blocks:8} {blocks / one_blocks:8.1f}"
        print(f"{name:32} {plan['Actual Rows']:5.0f} {times}  {said}", flush=True)
    return is_good


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mailroom-search-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # noqa: ASYNC240  # Postgres may have to run as nobody, who must be able to come here
        async with open_database(folder) as conn:
            await fill_tables(conn, options.documents)
            print(f"{options.documents:,} documents, nine in ten of the tenant")
            is_good = await measure(conn, options.documents, options.rounds)
            print(f"load average {os.getloadavg()[0]:.1f}")
            return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
