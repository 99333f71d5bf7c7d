"""From what was read, and how sure its reader is, to completed, a person, or skipped."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ingestion.domain import routing
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.routing import Classification, Extraction
from ingestion.domain.trade import TRADE_DOCUMENT_TYPES
from ingestion.domain.transcript import Transcript
from mailroom_common.events import Profile, ResultStatus

# A trade of which one step could not be checked, its date say, is below it.
DEFAULT_TRADE_CONFIDENCE = 0.9


@dataclass(frozen=True, slots=True)
class ExtractionRouter:
    """`trade_confidence` is the least with which trades are confirmed without a person. `by_doc_source` are doc sources
    with a least confidence of their own, for whatever is read from them."""

    trade_confidence: float = DEFAULT_TRADE_CONFIDENCE
    by_doc_source: Mapping[str, float] = field(default_factory=dict)

    def route_unwanted(
        self, profile: Profile, classification: Classification, transcript: Transcript
    ) -> DocumentOutcome:
        """A document that is nothing for its doc source, as far as it was read."""
        return routing.route_unwanted(profile, classification, transcript)

    def route_extraction(
        self, extraction: Extraction, unread: Sequence[ReviewReason], doc_source_id: str | None
    ) -> DocumentOutcome:
        outcome = routing.route_extraction(extraction, unread)
        if outcome.status is ResultStatus.COMPLETED and extraction.confidence < self._find_least(
            extraction.document_type, doc_source_id
        ):
            return replace(outcome, status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.CONFIDENCE_LOW)
        return outcome

    def require_confidence(self, outcome: DocumentOutcome, doc_source_id: str) -> DocumentOutcome:
        """The same for what another reader than the first one completed."""
        least = self._find_least(outcome.document_type, doc_source_id)
        if outcome.status is ResultStatus.COMPLETED and (outcome.confidence or 0.0) < least:
            return replace(outcome, status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.CONFIDENCE_LOW)
        return outcome

    def _find_least(self, document_type: str | None, doc_source_id: str | None) -> float:
        usual = self.trade_confidence if document_type in TRADE_DOCUMENT_TYPES else 0.0
        return usual if doc_source_id is None else self.by_doc_source.get(doc_source_id, usual)
