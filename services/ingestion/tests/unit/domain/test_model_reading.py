from typing import Any

import pytest
from model_answers import change_answer

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.invoice import Invoice
from ingestion.domain.model_answer import PageEvidence, parse_answer
from ingestion.domain.model_reading import combine_outcome
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from mailroom_common.events import ResultStatus

LOCAL = {
    **Invoice().to_json(),
    "supplier_name": "SHOP GmbH",
    "invoice_number": "RE-2026/17",
    "issue_date": "2026-04-01",
    "currency": "EUR",
    "total_gross": "119.00",
}
SKIPPED = DocumentOutcome(status=ResultStatus.SKIPPED, reason=DocumentSkipReason.NOT_AN_INVOICE, confidence=0.8)


def build_local(reason: ReviewReason | None = ReviewReason.FIELDS_MISSING, **changed: Any) -> DocumentOutcome:
    return DocumentOutcome(
        status=ResultStatus.COMPLETED if reason is None else ResultStatus.NEEDS_REVIEW,
        reason=reason,
        document_type="invoice",
        extraction={**LOCAL, **changed},
        confidence=0.6,
        reader="layout-rules/2",
    )


def combine(local: DocumentOutcome, *, unprinted: set[str] = frozenset(), **answered: Any) -> DocumentOutcome:  # type: ignore[assignment]
    answer = parse_answer(change_answer(**answered), with_fields=True)
    return combine_outcome(local, answer, PageEvidence(frozenset(unprinted)), unread=(), model="scripted:model")


def test_what_the_rules_left_open_is_filled_and_completes_the_invoice() -> None:
    outcome = combine(build_local(invoice_number=None, issue_date=None))
    assert outcome.status is ResultStatus.COMPLETED
    assert outcome.extraction is not None
    assert (outcome.extraction["invoice_number"], outcome.extraction["issue_date"]) == ("RE-2026/17", "2026-04-01")
    assert outcome.reader == "layout-rules/2+scripted:model"
    assert outcome.confidence == 0.9


def test_where_both_read_a_value_and_differ_the_local_one_stays_and_a_person_decides() -> None:
    outcome = combine(build_local(None, iban="DE02120300000000202051"))
    assert (outcome.status, outcome.reason) == (ResultStatus.NEEDS_REVIEW, ReviewReason.READERS_DISAGREE)
    assert outcome.extraction is not None
    assert outcome.extraction["iban"] == "DE02120300000000202051"
    assert outcome.extraction["model_values"] == {"iban": "DE89370400440532013000"}
    assert outcome.confidence is not None
    assert outcome.confidence <= 0.5


def test_a_name_with_its_legal_form_or_without_is_one_name() -> None:
    assert combine(build_local(None, supplier_name="Shop")).reason is None


def test_a_value_that_is_not_on_the_page_is_neither_taken_nor_forgiven() -> None:
    outcome = combine(build_local(invoice_number=None), unprinted={"invoice_number"})
    assert outcome.reason is ReviewReason.MODEL_UNCONFIRMED
    assert outcome.extraction is not None
    assert outcome.extraction["invoice_number"] is None


def test_a_total_that_only_a_model_read_needs_a_sum_that_confirms_it() -> None:
    assert combine(build_local(total_gross=None)).reason is None
    unconfirmed = combine(build_local(total_gross=None), total_net=None)
    assert unconfirmed.reason is ReviewReason.MODEL_UNCONFIRMED


def test_an_account_of_which_the_page_has_several_is_not_chosen_by_a_model() -> None:
    answer = parse_answer(change_answer(), with_fields=True)
    evidence = PageEvidence(ambiguous=frozenset({"iban"}))
    outcome = combine_outcome(build_local(None), answer, evidence, unread=(), model="scripted:model")
    assert outcome.extraction is not None
    assert outcome.extraction["iban"] is None


@pytest.mark.parametrize("kind", ["other", "credit_note"])
def test_a_model_that_names_another_kind_of_document_skips_nothing(kind: str) -> None:
    outcome = combine(build_local(None), document_type=kind)
    assert (outcome.status, outcome.reason) == (ResultStatus.NEEDS_REVIEW, ReviewReason.READERS_DISAGREE)
    assert outcome.document_type == "invoice"


def test_what_the_rules_skip_and_a_model_takes_for_an_invoice_is_shown_to_a_person() -> None:
    outcome = combine(SKIPPED)
    assert (outcome.status, outcome.reason) == (ResultStatus.NEEDS_REVIEW, ReviewReason.READERS_DISAGREE)
    assert outcome.extraction is not None
    assert outcome.extraction["total_gross"] == "119.00"


def test_what_both_take_for_no_invoice_is_skipped_as_before() -> None:
    assert combine(SKIPPED, document_type="other") == SKIPPED


def test_a_doubt_that_no_model_can_settle_stays() -> None:
    outcome = combine(build_local(ReviewReason.PAGE_AND_XML_DISAGREE, invoice_number=None))
    assert outcome.reason is ReviewReason.PAGE_AND_XML_DISAGREE


def test_an_answer_that_says_the_same_changes_nothing() -> None:
    local = build_local(None)
    same: dict[str, Any] = dict.fromkeys(("total_net", "total_tax", "iban")) | {"lines": []}
    assert combine(local, **same) == local
