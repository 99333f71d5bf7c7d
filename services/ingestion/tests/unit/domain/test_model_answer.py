from datetime import date
from decimal import Decimal
from typing import Any

import orjson
import pytest
from model_answers import ANSWER, change_answer

from ingestion.domain.invoice import Invoice
from ingestion.domain.model_answer import ModelFailure, ModelUnusable, classify_status, count_tokens, parse_answer

BROKEN_FIELDS: list[dict[str, Any]] = [
    {"total_gross": "1e999999999"},
    {"total_gross": "NaN"},
    {"total_gross": "Infinity"},
    {"total_gross": "1.234,56"},
    {"total_gross": "٣"},
    {"total_gross": 119.0},
    {"total_gross": "9" * 13},
    {"issue_date": "01.04.2026"},
    {"supplier_name": "x" * 501},
    {"supplier_name": {"name": "Shop"}},
    {"lines": [{}] * 501},
    {"lines": None},
    {"line_amounts": "both"},
]


def test_an_answer_is_an_invoice_of_values() -> None:
    answer = parse_answer(orjson.dumps(ANSWER).decode(), with_fields=True)
    assert answer.document_type == "invoice"
    assert answer.invoice.issue_date == date(2026, 4, 1)
    assert answer.invoice.total_gross == Decimal("119.00")
    assert answer.invoice.lines[0].quantity == 2


def test_other_is_no_type_of_document() -> None:
    assert parse_answer('{"document_type": "other"}', with_fields=False).document_type is None


def test_where_no_fields_were_asked_none_are_taken() -> None:
    assert parse_answer(orjson.dumps(ANSWER).decode(), with_fields=False).invoice == Invoice()


@pytest.mark.parametrize(
    "broken",
    [
        "",
        "I cannot answer",
        "[]",
        "null",
        '"invoice"',
        "{}",
        '{"document_type": "skip it"}',
        "[" * 100_000,
        " " * 200_001,
        *(change_answer(**changed) for changed in BROKEN_FIELDS),
    ],
)
def test_an_answer_of_another_form_is_broken(broken: str) -> None:
    with pytest.raises(ModelUnusable) as raised:
        parse_answer(broken, with_fields=True)
    assert raised.value.failure is ModelFailure.BROKEN


@pytest.mark.parametrize("missing", sorted(ANSWER))
def test_an_answer_without_a_field_is_broken(missing: str) -> None:
    answer: dict[str, Any] = {name: value for name, value in ANSWER.items() if name != missing}
    with pytest.raises(ModelUnusable):
        parse_answer(orjson.dumps(answer).decode(), with_fields=True)


@pytest.mark.parametrize(
    ("status", "failure"),
    [
        (401, "denied"),
        (403, "denied"),
        (400, "rejected"),
        (413, "rejected"),
        (429, "unavailable"),
        (529, "unavailable"),
    ],
)
def test_a_status_says_whether_the_key_the_request_or_the_endpoint_is_at_fault(status: int, failure: str) -> None:
    assert classify_status(status) == failure


@pytest.mark.parametrize(("said", "counted"), [(7, 7), (10**40, 10**9), (-1, 0), (1.5, 0), ("7", 0), (None, 0)])
def test_tokens_are_counted_as_a_database_can_add_them_up(said: object, counted: int) -> None:
    """One answer that names more than it can hold would end its document as failed, each time it is paid for."""
    assert count_tokens(said) == counted
