"""A Postgres with the tables of ingestion and as many documents as are asked for, filled by SQL."""

import secrets
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import asyncpg

from mailroom_common.migrations import apply_migrations
from mailroom_sandbox.site.stack.ports import free_port
from mailroom_sandbox.site.stack.postgres import Postgres

BIG_TENANT = "bench"
ROWS_PER_SMALL = 11
SMALL_TENANTS = 5000
_ROWS_AT_ONCE = 250_000
_SERVER_SETTINGS = {
    "shared_buffers": "4GB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "30min",
    "wal_level": "minimal",  # so that filling writes no log
    "max_wal_senders": "0",
}

# Spread by what the number leaves when divided: no random, so each run is alike. Each eleventh is of a small tenant.
_IS_SMALL = f"n % {ROWS_PER_SMALL} = 0"
_TENANT = f"case when {_IS_SMALL} then 'tenant-' || n / {ROWS_PER_SMALL} % {SMALL_TENANTS} else '{BIG_TENANT}' end"
_ID = "md5('document' || n)::uuid::text"
FIND_ID = f"select {_ID} from (values (123457)) numbered (n)"  # noqa: S608  # ours
INSERT_DOCUMENTS = f"""
insert into ingestion.document (
    document_id, seq, tenant_id, doc_source_id, profile, content_sha256, content_type, size_bytes, blob_key,
    source_metadata, status, skip_reason, review_reason, document_type, extraction, confidence, reader,
    duplicate_key, supplier_name_key, supplier_look_key, supplier_vat_key, supplier_iban, next_attempt_at)
overriding system value
select {_ID}, n, {_TENANT}, {_TENANT} || '/source-' || n % 50,
       case when n % 4 = 0 then 'contract_note' else 'invoice' end, md5(n::text) || md5(n::text), 'application/pdf',
       80000, 'documents/' || n || '.pdf',
       jsonb_build_object('provider', 'outlook', 'subject', 'Invoice ' || n, 'from', 'billing@supplier.example'),
       case when n % 20 = 1 then 'needs_review' when n % 7 = 2 then 'skipped' else 'completed' end,
       case when n % 20 <> 1 and n % 7 = 2 then 'not_an_invoice' end,
       case when n % 20 = 1 then case when n % 100000 = 1 then 'password_required' else 'fields_missing' end end,
       case when n % 5000 = 3 then 'credit_note' else 'invoice' end,
       jsonb_build_object('supplier_name', 'Supplier ' || n % 20000, 'invoice_number', 'RE-' || n, 'currency', 'EUR',
                          'issue_date', (date '2016-01-01' + (n % 3650)::int)::text,
                          'iban', 'DE' || 10000000000000000000 + n % 20000,
                          'total_gross', (n % 1000000 / 100.0)::numeric(12, 2)::text),
       0.9, 'layout-rules/2',
       -- Pairs, and one key that many documents have: an invoice that was sent again and again.
       md5('key' || case when n % 10000 = 9 then 9 when n % 1000 = 507 then n - 500 else n end),
       case when n % 20 <> 1 and n % 7 <> 2 then 'supplier ' || n % 20000 end,
       case when n % 20 <> 1 and n % 7 <> 2 then 'supplier ' || n % 20000 end,
       case when n % 20 <> 1 and n % 7 <> 2 then 'DE' || 100000000 + n % 20000 end,
       case when n % 20 <> 1 and n % 7 <> 2 then 'DE' || 10000000000000000000 + n % 20000 end, null
from generate_series($1::bigint, $2::bigint) n
"""  # noqa: S608  # ours
# Words of all, of one in ten to one in 30,000, of one document; and of a supplier that sent many and none for years.
INSERT_WORDS = f"""
insert into ingestion.document_words (document_id, seq, words)
select {_ID}, n, array_to_tsvector(array[
           's:' || tenant || '/supplier', 's:' || tenant || '/' || n % 20000,
           'a:' || tenant || '/supplier', 'a:' || tenant || '/' || n % 20000,
           'a:' || tenant || '/invoice', 'a:' || tenant || '/n' || n, 'a:' || tenant || '/re',
           'a:' || tenant || '/billing', 'a:' || tenant || '/example', 'a:' || tenant || '/half' || n % 2,
           'a:' || tenant || '/third' || n % 3, 'a:' || tenant || '/tenth' || n % 10,
           'a:' || tenant || '/hundredth' || n % 100, 'a:' || tenant || '/thousandth' || n % 1000,
           'a:' || tenant || '/day' || n % 3650, 'a:' || tenant || '/line' || n % 30000,
           's:' || tenant || case when n * 50 < $3::bigint then '/former' else '/present' end])
from (select n, {_TENANT} as tenant from generate_series($1::bigint, $2::bigint) n) numbered
"""  # noqa: S608  # ours
_INSERT_SHARED = """
with shared as (
    insert into ingestion.shared_key (tenant_id, duplicate_key)
    select tenant_id, duplicate_key from ingestion.document group by tenant_id, duplicate_key having count(*) > 1
    returning tenant_id, duplicate_key)
insert into ingestion.shared_document (tenant_id, seq)
select tenant_id, document.seq from shared join ingestion.document using (tenant_id, duplicate_key)
"""
# One in twenty was corrected by a person: two versions.
_INSERT_HISTORY = """
insert into ingestion.document_history (document_id, tenant_id, version, kind, status, extraction)
select document_id, tenant_id, version, case when version = 1 then 'read' else 'corrected' end, 'completed', extraction
from ingestion.document, generate_series(1, 2) version where seq % 20 = 4
"""
_INDEXES = """
select indexrelid::regclass::text as name, pg_get_indexdef(indexrelid) as definition from pg_index
where indrelid in ('ingestion.document'::regclass, 'ingestion.document_words'::regclass) and not indisunique
"""
# All that are unique but the one that other tables refer to.
_CONSTRAINTS = """
select conrelid::regclass::text as of_table, conname as name, pg_get_constraintdef(oid) as definition from pg_constraint
where conrelid in ('ingestion.document'::regclass, 'ingestion.document_words'::regclass)
  and contype in ('u', 'p') and conname <> 'document_pkey'
"""


@asynccontextmanager
async def open_database(folder: Path, *, is_durable: bool) -> AsyncIterator[tuple[str, asyncpg.Connection]]:
    postgres = Postgres(
        folder / "postgres",
        port=free_port(),
        password=_read_password(folder / "password"),
        log=folder / "postgres.log",
        durable=is_durable,
    )
    postgres.start()
    try:
        await postgres.wait_until_ready()
        await apply_migrations(postgres.server_url, only=["ingestion"])
        # No pool of ours: what fills the tables takes longer than a statement of a service may.
        conn = await asyncpg.connect(postgres.server_url)
        try:
            yield postgres.server_url, conn
        finally:
            await conn.close()
    finally:
        await postgres.stop(grace_s=300)


def _read_password(path: Path) -> str:
    """The one that the cluster was made with."""
    if not path.exists():
        path.write_text(secrets.token_urlsafe(16))
    return path.read_text()


async def configure_server(folder: Path) -> None:
    """Memory of a server for so many documents; taken at the next start."""
    async with open_database(folder, is_durable=False) as (_, conn):
        for name, value in _SERVER_SETTINGS.items():
            await conn.execute(f"alter system set {name} = '{value}'")


async def fill_tables(conn: asyncpg.Connection, documents: int) -> None:
    """With the indexes built afterwards, as they would be after years: entry by entry they take hours."""
    rows = documents * ROWS_PER_SMALL // (ROWS_PER_SMALL - 1)
    await conn.execute("set maintenance_work_mem = '1GB'")
    await conn.execute("set session_replication_role = replica")  # no check of references row by row
    async with conn.transaction():
        # In the transaction that empties a table nothing of it is written to the log.
        await conn.execute("truncate ingestion.document cascade")
        indexes, constraints = await conn.fetch(_INDEXES), await conn.fetch(_CONSTRAINTS)
        for index in indexes:
            await conn.execute(f"drop index {index['name']}")
        for constraint in constraints:
            await conn.execute(f"alter table {constraint['of_table']} drop constraint {constraint['name']}")
        for first in range(1, rows + 1, _ROWS_AT_ONCE):
            last = min(first + _ROWS_AT_ONCE - 1, rows)
            await conn.execute(INSERT_DOCUMENTS, first, last)
            await conn.execute(INSERT_WORDS, first, last, rows)
            _log_progress(f"{last:,} rows")
        for table, name, definition in constraints:
            await conn.execute(f"alter table {table} add constraint {name} {definition}")
            _log_progress(name)
        for name, definition in indexes:
            await conn.execute(definition)
            _log_progress(name)
        await conn.execute(_INSERT_SHARED)
        await conn.execute(_INSERT_HISTORY)
        await conn.execute("select setval(pg_get_serial_sequence('ingestion.document', 'seq'), $1)", rows)
    for table in ("document", "document_words", "shared_key", "shared_document", "document_history"):
        await conn.execute(f"vacuum analyze ingestion.{table}")
    await conn.execute("set session_replication_role = origin")
    _log_progress("filled")


def _log_progress(text: str) -> None:
    print(f"{datetime.now(UTC):%H:%M:%S} {text}", file=sys.stderr, flush=True)
