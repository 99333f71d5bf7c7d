"""The keys of documents that may be one invoice, and which of them several documents have: few of all."""

from typing import Any

from mailroom_common.postgres import DatabaseSession

# One after the other for each key: of two documents that get it at one moment the later one sees the other.
_LOCK_KEY = "select pg_advisory_xact_lock(hashtextextended($1 || $2, 0))"
_WRITE_KEY = "update ingestion.document set duplicate_key = $2 where document_id = $1"
_COUNT = """
    select count(*) from (select from ingestion.document where tenant_id = $1 and duplicate_key = $2 limit 2) of_key
"""
_ADD = """
    insert into ingestion.shared_key (tenant_id, duplicate_key) values ($1, $2) on conflict do nothing
"""
_REMOVE = "delete from ingestion.shared_key where tenant_id = $1 and duplicate_key = $2"


async def write_duplicate_key(conn: DatabaseSession, document: Any, key: str | None) -> None:
    """`document` is the row as it is; in the transaction that changed it."""
    former = document["duplicate_key"]
    if key == former:
        return
    keys = sorted({former, key} - {None})  # in one order, so that no two transactions wait for each other
    for locked in keys:
        await conn.execute(_LOCK_KEY, document["tenant_id"], locked)
    await conn.execute(_WRITE_KEY, document["document_id"], key)
    for changed in keys:
        is_shared = await conn.fetchval(_COUNT, document["tenant_id"], changed) > 1
        await conn.execute(_ADD if is_shared else _REMOVE, document["tenant_id"], changed)
