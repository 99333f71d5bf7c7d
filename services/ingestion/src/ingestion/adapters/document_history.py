"""The versions of a document in Postgres: what stood before, and what was read beside a person's decision."""

from dataclasses import replace
from typing import Any

from ingestion.adapters.document_rows import read_outcome
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.reasons import read_stored_reason
from ingestion.domain.review import Decision, HistoryKind, Review
from ingestion.domain.supplier_accounts import is_same_reading
from mailroom_common.events import ResultStatus
from mailroom_common.postgres import DatabaseSession

# A version that has no entry was read: a decision writes its own, and stands also where a later version only says that
# there is a copy in the archive by now.
_KEEP_CURRENT = """
    insert into ingestion.document_history (document_id, tenant_id, version, kind, status, reason, document_type,
                                            extraction, confidence, reader, recorded_at)
    select document_id, tenant_id, result_number, 'read', status, coalesce(skip_reason, review_reason), document_type,
           extraction, confidence, reader, updated_at
    from ingestion.document current
    where document_id = $1 and review_decision is null and not exists (
        select from ingestion.document_history entry
        where entry.document_id = current.document_id and entry.version = current.result_number
          and entry.kind <> 'proposed')
"""
_INSERT = """
    insert into ingestion.document_history (document_id, tenant_id, version, kind, status, reason, document_type,
                                            extraction, confidence, reader, changes, comment, reviewer, api_key_id)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
"""
_NEWEST_READING = """
    select * from ingestion.document_history
    where document_id = $1 and kind in ('read', 'proposed') order by entry_id desc limit 1
"""


async def keep_current_version(conn: DatabaseSession, document_id: str) -> None:
    """Before another version takes its place, under the lock of the document's row."""
    await conn.execute(_KEEP_CURRENT, document_id)


async def keep_proposal(conn: DatabaseSession, document: Any, reading: DocumentOutcome) -> bool:
    """Keep a reading beside the decision that stands. False where it says what the newest one did, or nothing. Under
    the lock of the document's row."""
    newest = await find_newest_reading(conn, document["document_id"])
    reading_alone = replace(reading, archive_path=None)
    is_new = reading.is_reading and (newest is None or not is_same_reading(reading_alone, newest))
    if is_new:
        await _insert_entry(conn, document, HistoryKind.PROPOSED, reading)
    return is_new


async def insert_decision(conn: DatabaseSession, document: Any, decision: Decision, review: Review) -> None:
    """`document` is the row as the decision made it."""
    await _insert_entry(conn, document, decision.kind, read_outcome(document), decision, review)


async def find_newest_reading(conn: DatabaseSession, document_id: str) -> DocumentOutcome | None:
    row = await conn.fetchrow(_NEWEST_READING, document_id)
    if row is None:
        return None
    status, reason = ResultStatus(row["status"]), row["reason"]
    is_skipped = status is ResultStatus.SKIPPED
    return DocumentOutcome(
        status=status,
        reason=None if reason is None else read_stored_reason(reason, is_skipped=is_skipped),
        document_type=row["document_type"],
        extraction=row["extraction"],
        confidence=row["confidence"],
        reader=row["reader"],
    )


async def _insert_entry(
    conn: DatabaseSession,
    document: Any,
    kind: HistoryKind,
    outcome: DocumentOutcome,
    decision: Decision | None = None,
    review: Review | None = None,
) -> None:
    await conn.execute(
        _INSERT,
        document["document_id"],
        document["tenant_id"],
        document["result_number"],
        kind.value,
        outcome.status.value,
        outcome.reason,
        outcome.document_type,
        None if outcome.extraction is None else dict(outcome.extraction),
        outcome.confidence,
        outcome.reader,
        None if decision is None else [change.to_json() for change in decision.changes],
        None if review is None else review.comment,
        None if review is None else review.reviewer,
        None if review is None else review.api_key_id,
    )
