"""Each kind of difference between a reading and its truth is seen, and no difference is made up."""

from typing import Any

import pytest
from reading_quality.judging import (
    Judgement,
    Verdict,
    choose_values_of_page,
    judge_field,
    judge_reading,
    list_reliability,
)


@pytest.mark.parametrize(
    ("field", "expected", "read", "verdict"),
    [
        ("supplier_name", "Muster GmbH", "MUSTER", Verdict.RIGHT),
        ("supplier_name", "Coolblue B.V.", "Coolblue", Verdict.RIGHT),
        ("supplier_name", "Muster GmbH", "Muster Bau GmbH", Verdict.WRONG),
        ("supplier_name", "AG", "AG", Verdict.RIGHT),
        ("invoice_number", "RE-2026-1", "RE-2026-1", Verdict.RIGHT),
        ("invoice_number", "RE-2026-1", "RE", Verdict.WRONG),
        ("invoice_number", "RE-2026-1", None, Verdict.MISSING),
        ("issue_date", "2026-03-04", "2026-04-03", Verdict.WRONG),
        ("total_gross", "119.00", "119.0", Verdict.RIGHT),
        ("total_gross", "119.00", "-119.00", Verdict.WRONG),
        ("total_gross", "119.00", "no amount", Verdict.WRONG),
        ("currency", "EUR", "USD", Verdict.WRONG),
        ("iban", "DE88200800000970375700", "DE88 2008 0000 0970 3757 00", Verdict.RIGHT),
        ("vat_id", "DE136695976", "DE136695977", Verdict.WRONG),
        ("lines", [{"amount": "1.00"}, {"amount": "2.00"}], [{"amount": "1"}, {"amount": "2"}], Verdict.RIGHT),
        ("lines", [{"amount": "1.00"}, {"amount": "2.00"}], [{"amount": "1"}], Verdict.WRONG),
        ("lines", [{"amount": "1.00"}, {"amount": "2.00"}], [{"amount": "2"}, {"amount": "1"}], Verdict.WRONG),
        ("lines", [{"amount": "1.00"}], [], Verdict.MISSING),
    ],
)
def test_a_field_is_right_wrong_or_missing(field: str, expected: Any, read: Any, verdict: Verdict) -> None:
    assert judge_field(field, expected, read) is verdict


def test_a_field_whose_value_is_not_known_is_not_counted() -> None:
    reading = {"status": "completed", "extraction": {"iban": "DE88200800000970375700", "currency": "EUR"}}
    assert judge_reading({"iban": None, "lines": [], "currency": "EUR"}, reading).verdicts == {
        "currency": Verdict.RIGHT
    }


def test_a_document_without_extraction_misses_every_field() -> None:
    judgement = judge_reading({"currency": "EUR", "iban": "X1"}, {"status": "skipped", "reason": "not_an_invoice"})
    assert set(judgement.verdicts.values()) == {Verdict.MISSING}


def test_only_what_is_completed_is_wrong_with_confidence() -> None:
    wrong = {"extraction": {"currency": "USD"}}
    assert judge_reading({"currency": "EUR"}, {"status": "completed", **wrong}).is_wrong_but_completed
    assert not judge_reading({"currency": "EUR"}, {"status": "needs_review", **wrong}).is_wrong_but_completed
    right = {"status": "completed", "extraction": {"currency": "EUR"}}
    assert not judge_reading({"currency": "EUR", "iban": "X1"}, right).is_wrong_but_completed


def test_another_type_of_document_is_seen() -> None:
    reading = {"status": "completed", "document_type": "invoice"}
    assert judge_reading({}, reading, document_type="credit_note").document_type_is_right is False
    assert judge_reading({}, reading, document_type="invoice").document_type_is_right
    assert judge_reading({}, reading).document_type_is_right is None


def test_a_page_is_asked_for_what_it_prints_and_as_it_prints_it() -> None:
    truth = {
        "currency": "EUR",
        "total_gross": "119.00",
        "vat_id": "DE1",
        "in_text_layer": ["currency", "total_gross"],
        "differs_on_page": {"total_gross": "120.00"},
        "only_on_page": {"due_date": "2026-04-01"},
    }
    assert choose_values_of_page(truth) == {"currency": "EUR", "total_gross": "120.00", "due_date": "2026-04-01"}


def test_reliability_counts_the_fields_that_were_read_by_confidence() -> None:
    def judgement(confidence: float | None, *verdicts: Verdict) -> Judgement:
        return Judgement(dict(zip("abc", verdicts, strict=False)), "completed", None, confidence, None)

    assert list(
        list_reliability(
            [
                judgement(1.0, Verdict.RIGHT, Verdict.RIGHT),
                judgement(0.96, Verdict.RIGHT, Verdict.WRONG, Verdict.MISSING),
                judgement(0.3, Verdict.MISSING),
                judgement(None, Verdict.WRONG),
            ]
        )
    ) == [("0 to 0.5", 1, 0, 0), ("0.95 to 1", 1, 2, 1), ("1.0", 1, 2, 2)]
