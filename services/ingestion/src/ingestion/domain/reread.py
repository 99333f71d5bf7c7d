"""Another reading of a document that changed nothing: what its history says of that."""

from enum import StrEnum
from typing import Any

from ingestion.domain.document import DocumentOutcome


class RereadEnding(StrEnum):
    """`kind` of the entry in the history, beside those of `HistoryKind`."""

    UNCHANGED = "reread_unchanged"  # it says what the document says
    NOT_TAKEN = "reread_not_taken"  # it says something else than a person decided, as a reading before it did
    FAILED = "reread_failed"  # nothing was read, or less than before for want of a reader; `reason`, `comment` say why


def describe_reread(ending: RereadEnding, outcome: DocumentOutcome, *, version: int) -> dict[str, Any]:
    """`outcome` is what was read then; `version` is that of the document, which stands."""
    return {
        "kind": ending.value,
        "version": version,
        "status": outcome.status.value,
        "reason": outcome.reason,
        "document_type": outcome.document_type,
        "confidence": outcome.confidence,
        "reader": outcome.reader,
        "comment": outcome.missing_readers.describe() if ending is RereadEnding.FAILED else None,
    }
