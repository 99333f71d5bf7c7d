"""The keys of documents that may be one invoice, and which of them several documents have: few of all."""

from typing import Any

from mailroom_common.postgres import DatabaseSession

# One after the other for each key: of two documents that get it at one moment the later one sees the other.
_LOCK_KEY = "select pg_advisory_xact_lock(hashtextextended($1 || $2, 0))"
_WRITE_KEY = "update ingestion.document set duplicate_key = $2 where document_id = $1"
# In order: of a key that many documents have Postgres would look for any two through the whole table, and those of one
# day may be its last.
_COUNT = """
    select count(*) from (
        select from ingestion.document where tenant_id = $1 and duplicate_key = $2 order by seq limit 2) of_key
"""
_ADD_KEY = """
    insert into ingestion.shared_key (tenant_id, duplicate_key) values ($1, $2) on conflict do nothing
    returning duplicate_key
"""
_ADD_DOCUMENT = """
    insert into ingestion.shared_document (tenant_id, seq) values ($1, $2) on conflict do nothing
"""
_ADD_DOCUMENTS = """
    insert into ingestion.shared_document (tenant_id, seq)
    select tenant_id, seq from ingestion.document where tenant_id = $1 and duplicate_key = $2
    on conflict do nothing
"""
_REMOVE_DOCUMENT = "delete from ingestion.shared_document where tenant_id = $1 and seq = $2"
_REMOVE_KEY = "delete from ingestion.shared_key where tenant_id = $1 and duplicate_key = $2"
_REMOVE_DOCUMENTS = """
    delete from ingestion.shared_document where tenant_id = $1 and seq in (
        select seq from ingestion.document where tenant_id = $1 and duplicate_key = $2)
"""


async def write_duplicate_key(conn: DatabaseSession, document: Any, key: str | None) -> None:
    """`document` is the row as it is; in the transaction that changed it."""
    former, tenant_id, seq = document["duplicate_key"], document["tenant_id"], document["seq"]
    if key == former:
        return
    keys = sorted({former, key} - {None})  # in one order, so that no two transactions wait for each other
    for locked in keys:
        await conn.execute(_LOCK_KEY, tenant_id, locked)
    await conn.execute(_WRITE_KEY, document["document_id"], key)
    await conn.execute(_REMOVE_DOCUMENT, tenant_id, seq)
    if former is not None and not await _is_shared(conn, tenant_id, former):
        await conn.execute(_REMOVE_KEY, tenant_id, former)
        await conn.execute(_REMOVE_DOCUMENTS, tenant_id, former)
    if key is not None and await _is_shared(conn, tenant_id, key):
        # The other one is written with the second; the hundredth is written alone.
        if await conn.fetchval(_ADD_KEY, tenant_id, key) is not None:
            await conn.execute(_ADD_DOCUMENTS, tenant_id, key)
        else:
            await conn.execute(_ADD_DOCUMENT, tenant_id, seq)


async def list_sharing_documents(conn: DatabaseSession, document: Any) -> None:
    """Have the documents that share this one's key listed, or it not where none does. `document` is the row as it
    is, under its lock: a worker of an earlier release may have written its key, and knows of no list."""
    key, tenant_id, seq = document["duplicate_key"], document["tenant_id"], document["seq"]
    if key is not None:
        await conn.execute(_LOCK_KEY, tenant_id, key)
        if await _is_shared(conn, tenant_id, key):
            # All of them, whether the key is known or not: an earlier release knows keys, and no list of documents.
            await conn.execute(_ADD_KEY, tenant_id, key)
            await conn.execute(_ADD_DOCUMENTS, tenant_id, key)
            return
        await conn.execute(_REMOVE_KEY, tenant_id, key)
    await conn.execute(_REMOVE_DOCUMENT, tenant_id, seq)


async def _is_shared(conn: DatabaseSession, tenant_id: str, key: str) -> bool:
    """Whether several documents have it."""
    return bool(await conn.fetchval(_COUNT, tenant_id, key) > 1)
