"""The boxes of a document in Postgres, and the pages that were left, in a table of their own: lists of documents and
events do not carry them."""

from typing import Any

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.evidence import build_evidence_view
from mailroom_common.postgres import DatabaseSession

_WRITE = """
    insert into ingestion.document_evidence (document_id, boxes, pages_not_read) values ($1, $2, $3)
    on conflict (document_id) do update set boxes = excluded.boxes, pages_not_read = excluded.pages_not_read
"""
_DELETE = "delete from ingestion.document_evidence where document_id = $1"
_FIND = "select boxes, pages_not_read from ingestion.document_evidence where document_id = $1"


async def write_evidence(
    conn: DatabaseSession, document_id: str, outcome: DocumentOutcome, *, is_changed: bool
) -> None:
    """In the transaction that makes the outcome the document's. An outcome that stands keeps its boxes where the
    reading has none."""
    if outcome.boxes or (is_changed and outcome.pages_not_read):
        boxes = [box.to_json() for box in outcome.boxes]
        await conn.execute(_WRITE, document_id, boxes, [page + 1 for page in outcome.pages_not_read])
    elif is_changed:
        await conn.execute(_DELETE, document_id)


async def find_evidence(conn: DatabaseSession, document_id: str) -> dict[str, Any] | None:
    row = await conn.fetchrow(_FIND, document_id)
    return None if row is None else build_evidence_view(row["boxes"], row["pages_not_read"])


async def find_pages_not_read(conn: DatabaseSession, document_id: str) -> tuple[int, ...]:
    """The pages (from 0) that the reading left whose outcome the document has."""
    pages = await conn.fetchval(
        "select pages_not_read from ingestion.document_evidence where document_id = $1", document_id
    )
    return tuple(page - 1 for page in pages or ())
