from io import BytesIO
from typing import Any

import orjson
import pytest

from ingestion.domain.evidence import EvidenceBox
from ingestion.domain.page_orientation import PageOrientation
from ingestion.domain.transcript import TextCell, TextLine, Transcript
from ingestion.extract import evidence_boxes
from ingestion.extract.evidence_boxes import find_boxes

PAGE = """
Northwind Ltd
Invoice Number: NP-12
Invoice Date: 2026-03-04
Subtotal  £70.00
VAT 20%  £14.00
Total  £84.00
"""


def lines(text: str) -> Any:
    return Transcript.from_rows(text.splitlines()).lines


def places(extraction: dict[str, Any], text: str = PAGE) -> list[tuple[str, str]]:
    """Each field with the text of the line that its box is at."""
    page = lines(text)
    found = find_boxes(extraction, page)
    return [(box.field, next(line.text for line in page if line.top == box.y)) for box in found]


def test_a_box_is_the_cell_that_has_the_value() -> None:
    line = TextLine(2, 700.0, 11.0, (TextCell("Total", 40, 65), TextCell("£84.00", 480, 520)))
    assert find_boxes({"total_gross": "84.00"}, [line]) == [EvidenceBox("total_gross", 2, 480, 700.0, 40, 11.0)]


def test_values_are_found_as_they_are_written() -> None:
    extraction = {"supplier_name": "Northwind Ltd", "invoice_number": "NP-12", "issue_date": "2026-03-04"}
    assert places(extraction) == [
        ("supplier_name", "Northwind Ltd"),
        ("invoice_number", "Invoice Number: NP-12"),
        ("issue_date", "Invoice Date: 2026-03-04"),
    ]
    assert places({"total_gross": "1234.50"}, "Summe  1.234,50 EUR") == [("total_gross", "Summe 1.234,50 EUR")]
    assert places({"due_date": "2026-04-30"}, "Zahlbar bis  30.04.2026") == [("due_date", "Zahlbar bis 30.04.2026")]


def test_totals_that_the_page_speaks_against_have_their_places_too() -> None:
    transcript = Transcript.from_rows(PAGE.replace("84.00", "85.00").splitlines())
    answer: Any = evidence_boxes.extract_invoice(BytesIO(orjson.dumps(transcript.to_json())), {})
    assert "total_gross" in {box[0] for box in answer["boxes"]}


def test_what_is_written_with_wide_gaps_has_one_box_over_its_cells() -> None:
    groups = ["IBAN", "DE88", "2008", "0000", "0970", "3757", "00"]
    cells = tuple(TextCell(text, 40 + 50 * number, 70 + 50 * number) for number, text in enumerate(groups))
    (box,) = find_boxes({"iban": "DE88200800000970375700"}, [TextLine(0, 10, 10, cells)])
    assert (box.x, box.x + box.width) == (90, 370)


def test_a_short_number_is_a_word_of_its_own_and_no_amount() -> None:
    text = "Total  84.00\nYour order 8417\nInvoice No. 84"
    assert places({"invoice_number": "84"}, text) == [("invoice_number", "Invoice No. 84")]


def test_zero_stands_nowhere_in_particular() -> None:
    assert places({"total_tax": "0.00"}, "VAT  0.00") == []


def test_of_a_value_that_stands_everywhere_the_first_places_are_shown() -> None:
    assert len(places({"total_gross": "5.00"}, "\n".join(["5.00"] * 9))) == 3


def test_what_stands_nowhere_has_no_box() -> None:
    assert places({"supplier_name": "Southwind", "currency": "GBP", "vat_id": None, "lines": []}) == []


def test_the_fields_of_trades_are_named_by_their_number() -> None:
    trades = [{"isin": "DE0008404005", "quantity": "10", "direction": "buy"}, {"isin": "US0378331005"}]
    text = "ISIN  DE0008404005\nStueck  10\nISIN  US0378331005"
    assert [field for field, _ in places({"trades": trades}, text)] == [
        "trades[0].isin",
        "trades[0].quantity",
        "trades[1].isin",
    ]


def test_the_reader_answers_with_the_boxes_beside_the_fields() -> None:
    transcript = Transcript.from_rows(PAGE.splitlines())
    answer: Any = evidence_boxes.extract_invoice(BytesIO(orjson.dumps(transcript.to_json())), {})
    assert answer["extraction"]["total_gross"] == "84.00"
    assert "total_gross" in {EvidenceBox.from_list(box).field for box in answer["boxes"]}


def test_a_box_of_a_page_that_was_turned_to_be_read_stands_where_the_page_shows_it() -> None:
    line = TextLine(0, 30.0, 10.0, (TextCell("Invoice Number: NP-1234567", 20.0, 90.0, 0.99),))
    transcript = Transcript("image/jpeg", 1, (line,), orientations={0: PageOrientation(2, 0.0, 500.0, 300.0)})
    answer: Any = evidence_boxes.extract_invoice(BytesIO(orjson.dumps(transcript.to_json())), {})
    (box,) = [EvidenceBox.from_list(box) for box in answer["boxes"]]
    assert (box.field, box.x, box.y, box.width, box.height) == ("invoice_number", 410.0, 260.0, 70.0, 10.0)


@pytest.mark.parametrize(
    "values", [[], ["a", -1, 0, 0, 0, 0], ["a", 0, 0, 0, 0, "nan"], [7, 0, 0, 0, 0, 0], ["a" * 101, 0, 0, 0, 0, 0]]
)
def test_what_no_reader_of_ours_answers_is_refused(values: list[Any]) -> None:
    with pytest.raises((ValueError, TypeError)):
        EvidenceBox.from_list(values)
