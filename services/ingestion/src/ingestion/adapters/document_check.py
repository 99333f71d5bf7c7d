"""What a worker of an earlier release left out of a document that it changed: goes through the log of changes, once for
each change, and writes what is missing.

During a rollout, and after one that is taken back, documents are finished by workers that do not know what this release
finds documents by. How far the log was gone through is in Postgres, under the name of what is checked. So what was
written while no worker of this release ran is checked when one runs again.
"""

from typing import Any

import asyncpg

from ingestion.adapters.duplicate_keys import list_sharing_documents, write_duplicate_key
from ingestion.adapters.supplier_accounts import has_current_supplier_keys, write_supplier_keys
from ingestion.domain.search_words import build_duplicate_key
from mailroom_common.logs import get_logger
from mailroom_common.postgres import DatabaseSession, open_transaction

log = get_logger()

CHECK_NAME = "index-1"
"""Another one where documents are found by more than before: a worker of a release that does not know of it may have
gone on in the log meanwhile."""

# The others have nothing to do meanwhile.
_LOCK_POSITION = "select checked_seq from ingestion.document_check where name = $1 for update skip locked"
_MOVE_POSITION = "update ingestion.document_check set checked_seq = $2 where name = $1"
_LIST_CHANGES = "select seq, document_id from ingestion.document_event where seq > $1 order by seq limit $2"
# Without what makes an extraction long.
_LIST_DOCUMENTS = """
    select document_id, tenant_id, seq, status, document_type, extraction - array['lines', 'trades'] as extraction,
           duplicate_key, supplier_vat_key, supplier_name_key, supplier_look_key, supplier_iban,
           exists (select from ingestion.shared_document shared
                   where shared.tenant_id = document.tenant_id and shared.seq = document.seq) as is_listed,
           (select count(*) from (
               select from ingestion.document other
               where other.tenant_id = document.tenant_id and other.duplicate_key = document.duplicate_key
               order by other.seq limit 2) of_key) > 1 as is_shared
    from ingestion.document where document_id = any($1)
"""
_LOCK_DOCUMENT = "select * from ingestion.document where document_id = $1 for no key update"

_BATCH = 100
# What rules raise on a stored value that they cannot take.
_RULE_ERRORS = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


class PgDocumentCheck:
    """`DocumentCheck` of ports/housekeeping.py."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def check_changes(self) -> bool:
        async with open_transaction(self._pool) as conn:
            checked = await conn.fetchval(_LOCK_POSITION, CHECK_NAME)
            if checked is None:
                return False
            changes = await conn.fetch(_LIST_CHANGES, checked, _BATCH)
            if not changes:
                return False
            last = {row["document_id"]: row["seq"] for row in changes}  # of several changes of a document the last one
            checked = await _check_documents(conn, last)
            await conn.execute(_MOVE_POSITION, CHECK_NAME, checked)
            return True


async def _check_documents(conn: DatabaseSession, last_changes: dict[str, int]) -> int:
    """Up to which change they are checked: as far as the first that is written. A transaction that held two documents
    and the locks of their keys would wait for one that finishes the second, which may wait for a key of the first."""
    rows = {row["document_id"]: row for row in await conn.fetch(_LIST_DOCUMENTS, list(last_changes))}
    for document_id, seq in sorted(last_changes.items(), key=lambda change: change[1]):
        try:
            if document_id not in rows or _is_complete(rows[document_id]):
                continue
            await _complete_document(conn, document_id)
        except _RULE_ERRORS:  # the edge of one document: others are checked, and read
            # A bug of ours; the document is not found by all that it could be found by until it changes again.
            log.exception("document_check_failed", document_id=document_id)
        return seq
    return max(last_changes.values())


async def _complete_document(conn: DatabaseSession, document_id: str) -> None:
    document = await conn.fetchrow(_LOCK_DOCUMENT, document_id)
    if document is None:
        return
    await write_duplicate_key(conn, document, _find_duplicate_key(document))
    await list_sharing_documents(conn, await conn.fetchrow(_LOCK_DOCUMENT, document_id))
    await write_supplier_keys(conn, document)
    # A worker of an earlier release had left out what the document is found by.
    log.info("document_index_completed", document_id=document_id)


def _is_complete(document: Any) -> bool:
    return (
        document["duplicate_key"] == _find_duplicate_key(document)
        and document["is_listed"] == document["is_shared"]
        and has_current_supplier_keys(document)
    )


def _find_duplicate_key(document: Any) -> str | None:
    if document["status"] == "skipped":
        return None
    return build_duplicate_key(document["document_type"], document["extraction"])
