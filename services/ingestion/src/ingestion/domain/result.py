"""The result of one attachment: the record of `ingestion-results`."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

import orjson

from ingestion.domain.document import AttachmentId, DocumentId, DocumentOutcome
from mailroom_common.events import IngestionResult, derive_event_id

LedgerStates = Mapping[int, Mapping[str, Any]]
"""By the place of a trade in its document: its id and its state in the ledger."""

# Of a document of which the ledger has nothing yet.
_NO_STATE = {"trade_id": None, "state": None, "duplicate_of": None, "cancelled_by": None}


def build_result(
    *,
    attachment_id: AttachmentId,
    document_id: DocumentId,
    message_id: str,
    tenant_id: str,
    doc_source_id: str,
    outcome: DocumentOutcome,
    number: int,
    attempt: int,
    occurred_at: datetime,
    ledger_states: LedgerStates | None = None,
) -> IngestionResult:
    """`number` counts the results of a document. A repeat of one has the same `event_id`, which follows from the
    attachment and that number."""
    return IngestionResult(
        event_id=derive_event_id("ingestion-results", attachment_id, number),
        occurred_at=occurred_at,
        tenant_id=tenant_id,
        doc_source_id=doc_source_id,
        attachment_id=attachment_id,
        document_id=document_id,
        duplicate_of=None if str(attachment_id) == str(document_id) else document_id,
        message_id=message_id,
        status=outcome.status,
        reason=outcome.reason,
        document_type=outcome.document_type,
        confidence=outcome.confidence,
        extraction=_encode_json(outcome.extraction),
        trades=[orjson.dumps(trade).decode() for trade in _add_ledger_states(outcome, ledger_states or {})],
        archive_path=outcome.archive_path,
        reader=outcome.reader,
        attempt=attempt,
    )


def _add_ledger_states(outcome: DocumentOutcome, states: LedgerStates) -> Iterator[dict[str, Any]]:
    """Each trade with its state in the ledger, so that a consumer books a trade of two documents once."""
    for place, trade in outcome.list_placed_trades():
        yield {**trade, **states.get(place, _NO_STATE)}


def _encode_json(value: Mapping[str, Any] | None) -> str | None:
    return None if value is None else orjson.dumps(value).decode()
