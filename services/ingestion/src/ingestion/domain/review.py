"""What a person decides about a document that was read, and what the document is from then on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum
from typing import Any

from ingestion.domain.currencies import LAST_YEARS, was_replaced_before
from ingestion.domain.document import FINAL_STATUSES, DocumentOutcome
from ingestion.domain.invoice import INVOICE, PAGE_TOTALS, Invoice
from ingestion.domain.layout_template import TEMPLATE_EVIDENCE
from ingestion.domain.page_marks import PAGE_MARKS
from ingestion.domain.reasons import DocumentSkipReason, Reason, ReviewReason
from ingestion.domain.routing import Extraction, route_extraction
from ingestion.domain.supplier_accounts import KNOWN_IBANS
from ingestion.domain.trade import CONTRACT_NOTE, TRADE_DOCUMENT_TYPES
from ingestion.domain.trade_correction import find_contradiction, has_slip_of_hand, list_trade_changes, write_trades
from mailroom_common.events import Profile, ResultStatus

_USUAL_TYPES = {Profile.INVOICE: INVOICE, Profile.CONTRACT_NOTE: CONTRACT_NOTE}
# The reader of fields that nothing was read of.
_NO_READER = "review"
# What the page says beside the XML, a language model beside the rules, earlier documents beside the account, marks on
# the page: settled by a decision.
_NOT_FIELDS = frozenset(
    {"page_values", "model_values", "template_values", TEMPLATE_EVIDENCE, KNOWN_IBANS, PAGE_TOTALS, PAGE_MARKS}
)

# Nobody gives more time to pay; a due date beyond it has a wrong digit in its year.
_LONGEST_TERM = timedelta(days=5 * 366)

# The account may be another one than a person sees who looks at the page.
_DOUBTS_OF_ACCOUNT = frozenset({ReviewReason.IBAN_NOT_ON_PAGE, ReviewReason.TEXT_NOT_VISIBLE})


class ReviewAction(StrEnum):
    CONFIRM = "confirm"  # what the document says is right
    CORRECT = "correct"  # it says this instead
    REJECT = "reject"  # it is nothing for this doc source


class HistoryKind(StrEnum):
    """How a version of a document came about."""

    READ = "read"  # a reader read it
    PROPOSED = "proposed"  # a reader read it otherwise than a person decided, whose decision stands
    CONFIRMED = "confirmed"  # a person confirmed it
    CORRECTED = "corrected"  # a person corrected it
    REJECTED = "rejected"  # a person rejected it


class ReviewRefused(Exception):
    """The decision makes no sense for this document; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Review:
    """`version` is the one that the reviewer saw. `fields` are those that are corrected, named as in `extraction`."""

    action: ReviewAction
    version: int
    fields: Mapping[str, Any]
    document_type: str | None = None
    comment: str | None = None
    reviewer: str | None = None
    api_key_id: str


@dataclass(frozen=True, slots=True)
class FieldChange:
    """The evidence of a correction: `read` is what a reader read, `former` what stood until then."""

    field: str
    read: Any
    former: Any
    given: Any

    def to_json(self) -> dict[str, Any]:
        return {"field": self.field, "read": self.read, "former": self.former, "given": self.given}


@dataclass(frozen=True, slots=True)
class Decision:
    """The outcome that a review makes the document's, and what it changed."""

    kind: HistoryKind
    outcome: DocumentOutcome
    changes: tuple[FieldChange, ...] = ()


def decide(review: Review, current: DocumentOutcome, *, profile: Profile, read: Mapping[str, Any] | None) -> Decision:
    """`current` is the outcome that the document has; `read` what the newest reading says: the fields of its
    `extraction`, and beside them its `document_type` and `review_reason`.

    Raises:
        ReviewRefused
    """
    match review.action:
        case ReviewAction.CONFIRM:
            return Decision(HistoryKind.CONFIRMED, _confirm(current))
        case ReviewAction.REJECT:
            rejected = replace(current, status=ResultStatus.SKIPPED, reason=DocumentSkipReason.REJECTED)
            return Decision(HistoryKind.REJECTED, rejected)
        case ReviewAction.CORRECT:
            return _correct(review, current, profile, read or {})


def is_reviewable(status: ResultStatus) -> bool:
    return status in FINAL_STATUSES


def is_repeated_decision(review: Review, current: DocumentOutcome, decided: HistoryKind | None) -> bool:
    """Whether what was rejected is rejected again, or what was confirmed and says the same since is confirmed again,
    without a comment: no new version is made of it. `decided` is the newest decision."""
    if review.comment is not None:
        return False
    if review.action is ReviewAction.REJECT:
        return current.reason is DocumentSkipReason.REJECTED
    is_confirmed = review.action is ReviewAction.CONFIRM and decided is HistoryKind.CONFIRMED
    return is_confirmed and _confirm(current) == current


def _confirm(current: DocumentOutcome) -> DocumentOutcome:
    """A person may say that a document is complete which lacks a field; not what is in one that nobody read."""
    if current.reason is DocumentSkipReason.REJECTED:
        raise ReviewRefused(
            "It was rejected: correct it where it is right after all, with the value that a field has if none is wrong."
        )
    if current.status is ResultStatus.SKIPPED:
        return current
    if current.extraction is None:
        raise ReviewRefused("Nothing was read of this document: correct it with the fields that it has, or reject it.")
    fields = {name: value for name, value in current.extraction.items() if name not in _NOT_FIELDS}
    # Shown as what the page calls its totals: who says that it is right means these too.
    on_page = current.extraction.get(PAGE_TOTALS) or {}
    fields |= {name: value for name, value in on_page.items() if fields.get(name) is None}
    return replace(current, status=ResultStatus.COMPLETED, reason=None, extraction=fields)


def _correct(review: Review, current: DocumentOutcome, profile: Profile, read: Mapping[str, Any]) -> Decision:
    """The rules of routing judge the corrected fields too: a slip of the hand does not complete a document."""
    document_type = _choose_document_type(review, current, profile)
    former = {name: value for name, value in (current.extraction or {}).items() if name not in _NOT_FIELDS}
    # What a former correction left in review nobody has accepted: the next one, of another field, does not either.
    accepted = [read, former] if current.status is ResultStatus.COMPLETED else [read]
    if profile is Profile.CONTRACT_NOTE:
        given, changes = _correct_trades(review, former, read)
        has_slip = has_slip_of_hand(given["trades"], [trade for fields in accepted for trade in _list_trades(fields)])
    else:
        given, changes = _correct_invoice(review, former, read, (current.extraction or {}).get(PAGE_TOTALS))
        types = [read.get("document_type"), current.document_type][: len(accepted)]
        totals = [_list_totals(fields, kind) for fields, kind in zip(accepted, types, strict=True)]
        has_slip = _has_slip_in_amount_due(given, accepted) or _has_slip_in_sign(given, document_type, totals)
    if document_type != current.document_type:
        changes.append(FieldChange("document_type", read.get("document_type"), current.document_type, document_type))
    # Who corrects what was rejected takes it up again, if only with a value that it has.
    is_rejected = current.reason is DocumentSkipReason.REJECTED
    if not changes and not is_rejected:
        raise ReviewRefused("The document says this already: confirm it where that is what you mean.")
    reader = current.reader or _NO_READER
    slip = ReviewReason.TOTALS_DO_NOT_ADD_UP if has_slip else None
    extraction = Extraction(document_type, given, current.confidence or 0.0, reader, review_reason=slip)
    # Rejecting put its own reason in place of the reader's.
    doubt = read.get("review_reason") if is_rejected else current.reason
    routed = route_extraction(_keep_account_doubt(extraction, review, current, doubt))
    outcome = replace(routed, confidence=current.confidence, archive_path=current.archive_path)
    return Decision(HistoryKind.CORRECTED, outcome, tuple(changes))


def _keep_account_doubt(
    extraction: Extraction, review: Review, current: DocumentOutcome, doubt: Reason | None
) -> Extraction:
    """Who corrects another field has not said that the account is right, which somebody may have put where no person
    sees it: that is said by naming it, or by confirming."""
    if "iban" in review.fields or extraction.fields.get("iban") is None:
        return extraction
    on_page = (current.extraction or {}).get("page_values") or {}
    if doubt is ReviewReason.PAGE_AND_XML_DISAGREE and "iban" in on_page:
        fields = {**extraction.fields, "page_values": {"iban": on_page["iban"]}}
        return replace(extraction, fields=fields, doubts=("iban",))
    if isinstance(doubt, ReviewReason) and doubt in _DOUBTS_OF_ACCOUNT:
        return replace(extraction, review_reason=doubt)
    return extraction


def _choose_document_type(review: Review, current: DocumentOutcome, profile: Profile) -> str:
    """
    Raises:
        ReviewRefused: documents of the profile have no fields to be corrected, or other ones.
    """
    if profile not in _USUAL_TYPES:
        raise ReviewRefused(f"The fields of a document of the profile {profile.value} are confirmed or rejected.")
    has_trades = profile is Profile.CONTRACT_NOTE
    chosen = review.document_type or current.document_type or _USUAL_TYPES[profile]
    if any((name == "trades") != has_trades for name in review.fields) or (
        review.document_type is not None and (chosen in TRADE_DOCUMENT_TYPES) != has_trades
    ):
        kind = "trades" if has_trades else "the fields of an invoice"
        raise ReviewRefused(f"A document of the profile {profile.value} has {kind}, and none of the others.")
    # What was read may be that of no trade, or of no invoice: it is corrected since it is one.
    return chosen if (chosen in TRADE_DOCUMENT_TYPES) == has_trades else _USUAL_TYPES[profile]


def _correct_invoice(
    review: Review, former: Mapping[str, Any], read: Mapping[str, Any], on_page: Mapping[str, Any] | None
) -> tuple[dict[str, Any], list[FieldChange]]:
    invoice = Invoice.from_json({**Invoice().to_json(), **former, **review.fields})
    _require_order_of_days(invoice, review)
    _require_currency_of_its_day(invoice, review)
    given = invoice.to_json()
    if on_page and given["total_gross"] is None and "total_gross" not in review.fields:
        given[PAGE_TOTALS] = on_page  # the total is as doubtful as before
    changes = [
        FieldChange(name, read.get(name), former.get(name), given[name])
        for name in sorted(review.fields)
        if given[name] != former.get(name)
    ]
    return given, changes


def _require_order_of_days(invoice: Invoice, review: Review) -> None:
    """
    Raises:
        ReviewRefused: a day was given, and the two are in the wrong order or years apart: a digit is wrong.
    """
    issued, due = invoice.issue_date, invoice.due_date
    if issued is None or due is None or not {"issue_date", "due_date"} & review.fields.keys():
        return
    if not timedelta(0) <= due - issued <= _LONGEST_TERM:
        raise ReviewRefused(
            f"The due date {due} is before the issue date {issued}, or over five years after it: give the one that is"
            " wrong, or an empty due_date where the paper says so."
        )


def _require_currency_of_its_day(invoice: Invoice, review: Review) -> None:
    """
    Raises:
        ReviewRefused: a currency or a day was given, and nobody was paid in that currency any more.
    """
    currency, issued = invoice.currency, invoice.issue_date
    if {"issue_date", "currency"} & review.fields.keys() and currency and was_replaced_before(currency, issued):
        raise ReviewRefused(
            f"{currency} was replaced by {LAST_YEARS[currency]}, and the issue date is {issued}: give the one that is"
            " wrong."
        )


def _has_slip_in_sign(given: Mapping[str, Any], document_type: str, accepted: Sequence[tuple[Any, ...]]) -> bool:
    """Whether an invoice asks for nothing or for less, or its net total for the contrary of its gross total, by amounts
    that were neither read nor completed so."""
    invoice = Invoice.from_json(given)
    if invoice.total_gross is None or _list_totals(given, document_type) in accepted:
        return False
    asks_for_nothing = document_type == INVOICE and invoice.total_gross <= 0
    return asks_for_nothing or (invoice.total_net is not None and invoice.total_net * invoice.total_gross < 0)


def _list_totals(fields: Mapping[str, Any], document_type: str | None) -> tuple[Any, ...]:
    return document_type, fields.get("total_gross"), fields.get("total_net")


def _has_slip_in_amount_due(given: Mapping[str, Any], accepted: Sequence[Mapping[str, Any]]) -> bool:
    """Whether more is due than the total, by amounts that were neither read nor completed so."""
    invoice = Invoice.from_json(given)
    total, due = invoice.total_gross, invoice.amount_due
    if total is None or due is None or any(_list_payable(given) == _list_payable(fields) for fields in accepted):
        return False
    return not min(total, Decimal(0)) <= due <= max(total, Decimal(0))


def _list_payable(fields: Mapping[str, Any]) -> tuple[Any, ...]:
    return fields.get("total_gross"), fields.get("amount_due")


def _list_trades(fields: Mapping[str, Any]) -> list[dict[str, Any]]:
    return write_trades(fields.get("trades") or [])


def _correct_trades(
    review: Review, former: Mapping[str, Any], read: Mapping[str, Any]
) -> tuple[dict[str, Any], list[FieldChange]]:
    """
    Raises:
        ReviewRefused: what is given contradicts itself.
    """
    trades = write_trades(review.fields.get("trades", former.get("trades") or []))
    if (contradiction := find_contradiction(trades, [*_list_trades(former), *_list_trades(read)])) is not None:
        raise ReviewRefused(contradiction)
    return {"trades": trades}, [FieldChange(*change) for change in list_trade_changes(trades, former, read)]
