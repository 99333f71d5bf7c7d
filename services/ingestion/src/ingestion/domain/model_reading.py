"""What a local reading and a model's answer make: the model fills what is missing, and settles nothing by itself."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ingestion.domain import routing
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.invoice import Invoice
from ingestion.domain.model_answer import ModelAnswer, PageEvidence
from ingestion.domain.model_question import INVOICE_FIELDS
from ingestion.domain.reasons import Reason, ReviewReason
from ingestion.domain.routing import Extraction
from mailroom_common.events import ResultStatus

# What a model can help with. Every other reason of the local reader stays: a page that contradicts its XML, say.
CURABLE = frozenset({ReviewReason.FIELDS_MISSING, ReviewReason.TOTALS_DO_NOT_ADD_UP})
# Of a value that only a model read and the sum of the others confirms, and of one that nothing confirms.
CONFIRMED, PRINTED, DOUBTED = 0.9, 0.8, 0.5
_MAX_READER = 100


def combine_outcome(
    local: DocumentOutcome,
    answer: ModelAnswer,
    evidence: PageEvidence,
    *,
    unread: Sequence[ReviewReason],
    model: str,
) -> DocumentOutcome:
    """The outcome of both readings.

    A field that the local reader left open takes the model's value if that stands on the page. Where both have one and
    they differ, the local one stays, the model's is shown beside it (`model_values`), and a person decides. A model
    skips no document and takes no field away.
    """
    if local.extraction is None:
        return _route_skipped(local, answer, evidence, unread, model)
    fields, added, disputed = _merge_fields(local.extraction, answer, evidence)
    kind = local.document_type or "invoice"
    if answer.document_type != kind:
        disputed["document_type"] = answer.document_type
    if disputed:
        fields["model_values"] = disputed
    if not added and not disputed and not evidence.unprinted:
        return local  # nothing new, and nothing to doubt
    doubt = _find_doubt(fields, added, disputed, evidence)
    routed = routing.route_extraction(
        Extraction(kind, fields, _estimate_confidence(local, fields, added, doubt), name_reader(local.reader, model)),
        unread,
    )
    kept = local.reason if local.reason not in CURABLE and local.reason not in unread else None
    return put_to_review(routed, kept or doubt)


def _route_skipped(
    local: DocumentOutcome,
    answer: ModelAnswer,
    evidence: PageEvidence,
    unread: Sequence[ReviewReason],
    model: str,
) -> DocumentOutcome:
    """What the rules skip and a model takes for an invoice: one is wrong, and skipping it is the worse mistake."""
    if answer.document_type is None:
        return local
    fields, _, _ = _merge_fields(Invoice().to_json(), answer, evidence)
    extraction = Extraction(answer.document_type, fields, DOUBTED, name_reader(local.reader, model))
    return put_to_review(routing.route_extraction(extraction, unread), ReviewReason.READERS_DISAGREE)


def _merge_fields(
    local: Any, answer: ModelAnswer, evidence: PageEvidence
) -> tuple[dict[str, Any], set[str], dict[str, Any]]:
    """The fields of both, the names of those that only the model has, and its values that differ."""
    fields, theirs = dict(local), answer.invoice.to_json()
    added: set[str] = set()
    disputed: dict[str, Any] = {}
    usable = [name for name in INVOICE_FIELDS if theirs[name] and name not in evidence.unprinted]
    for name in usable:
        if fields[name] is None:
            if name not in evidence.ambiguous:
                fields[name] = theirs[name]
                added.add(name)
        elif not _is_same(fields[name], theirs[name]):
            disputed[name] = theirs[name]
    if theirs["lines"] and not fields["lines"] and "lines" not in evidence.unprinted:
        fields |= {"lines": theirs["lines"], "line_amounts": theirs["line_amounts"]}
        added.add("lines")
    return fields, added, disputed


def _is_same(ours: str, theirs: str) -> bool:
    """Whether two readings are one value: `Acme GmbH` is `ACME GmbH`, and so is it without its legal form."""
    one, other = (_fold(text) for text in (ours, theirs))
    return one == other or (one.isalpha() and other.isalpha() and (one.startswith(other) or other.startswith(one)))


def _fold(text: str) -> str:
    return "".join(sign for sign in text.casefold() if sign.isalnum())


def _find_doubt(
    fields: dict[str, Any], added: set[str], disputed: dict[str, Any], evidence: PageEvidence
) -> ReviewReason | None:
    if disputed:
        return ReviewReason.READERS_DISAGREE
    if evidence.unprinted:
        # It made one value up: who knows what else.
        return ReviewReason.MODEL_UNCONFIRMED
    if "total_gross" in added and Invoice.from_json(fields).totals_add_up() is not True:
        # A sum of money that one model alone read off an untrusted page.
        return ReviewReason.MODEL_UNCONFIRMED
    return None


def _estimate_confidence(
    local: DocumentOutcome, fields: dict[str, Any], added: set[str], doubt: ReviewReason | None
) -> float:
    if doubt is not None:
        return min(local.confidence or 0.0, DOUBTED)
    if not added:
        return local.confidence or 0.0
    return max(local.confidence or 0.0, CONFIRMED if Invoice.from_json(fields).totals_add_up() else PRINTED)


def name_reader(local: str | None, model: str) -> str:
    return (f"{local}+{model}" if local else model)[:_MAX_READER]


def put_to_review(outcome: DocumentOutcome, reason: Reason | None) -> DocumentOutcome:
    if reason is None or outcome.reason is ReviewReason.EXTRACTION_TOO_LARGE:
        return outcome
    return replace(outcome, status=ResultStatus.NEEDS_REVIEW, reason=reason)
