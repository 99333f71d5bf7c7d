"""How big the indexes of documents are, and what a document costs to insert with all of them."""

import json
from typing import Any

import asyncpg
from bench.search.filled_tables import INSERT_DOCUMENTS, INSERT_WORDS

_ROWS = 2_000
_TABLES = ("document", "document_words")
_SIZES = """
    select relation.relname as name, pg_relation_size(relation.oid) / 1048576.0 as megabytes
    from pg_index join pg_class relation on relation.oid = indexrelid
    where indrelid = $1::regclass order by megabytes desc
"""
_NEWEST = "select max(seq) from ingestion.document"


async def print_sizes(conn: asyncpg.Connection) -> None:
    for table in _TABLES:
        heap = await conn.fetchval("select pg_table_size($1::regclass) / 1048576.0", f"ingestion.{table}")
        indexes = await conn.fetch(_SIZES, f"ingestion.{table}")
        total = sum(index["megabytes"] for index in indexes)
        print(f"{table}: {heap:,.0f} MB, its indexes {total:,.0f} MB")
        for index in indexes:
            print(f"  {index['name']:44} {index['megabytes']:8,.0f} MB")


async def print_insert_costs(conn: asyncpg.Connection, documents: int) -> None:
    """Rows in the tables with all indexes, and the same in such that have only the primary key. Rolled back."""
    await conn.execute("set session_replication_role = replica")  # no check of references: neither way has one
    await conn.execute("create schema bare")
    for table in _TABLES:
        await conn.execute(f"create table bare.{table} (like ingestion.{table} including defaults)")
        await conn.execute(f"alter table bare.{table} add primary key (document_id)")
    first = 1 + await conn.fetchval(_NEWEST)
    last = first + _ROWS - 1
    for name, statement, values in (
        ("document", INSERT_DOCUMENTS, (first, last)),
        ("its words", INSERT_WORDS, (first, last, documents)),
    ):
        bare, full = [
            min([await _insert(conn, text, values) for _ in range(5)], key=lambda cost: cost["ms"])
            for text in (statement.replace("insert into ingestion.", "insert into bare."), statement)
        ]
        print(f"{name}: {full['ms'] / _ROWS * 1000:.0f} µs a row, {full['ms'] / bare['ms']:.1f} of a bare insert")
        for measure in ("blocks", "log"):
            print(f"  {measure}: {full[measure] / _ROWS:,.0f} a row, {full[measure] / bare[measure]:.1f}")
    await conn.execute("drop schema bare cascade")
    for table in _TABLES:
        await conn.execute(f"vacuum (index_cleanup on) ingestion.{table}")  # of what was rolled back


async def _insert(conn: asyncpg.Connection, statement: str, values: tuple[int, ...]) -> dict[str, float]:
    transaction = conn.transaction()
    await transaction.start()
    try:
        text = await conn.fetchval(f"explain (analyze, buffers, wal, format json) {statement}", *values)
    finally:
        await transaction.rollback()
    (plan,) = json.loads(text) if isinstance(text, str) else text
    found: dict[str, Any] = plan["Plan"]
    blocks = found["Shared Hit Blocks"] + found["Shared Read Blocks"]
    return {"ms": plan["Execution Time"], "blocks": blocks, "log": found["WAL Bytes"]}
