from dataclasses import replace
from datetime import date
from decimal import Decimal

from ingestion.domain.invoice import Invoice
from ingestion.domain.transcript import Transcript
from ingestion.extract.ocr_certainty import find_uncertain_fields, was_read_by_ocr

INVOICE = Invoice(
    supplier_name="Harbour Books Ltd",
    invoice_number="34-32054",
    issue_date=date(2026, 11, 10),
    currency="GBP",
    total_gross=Decimal("116.85"),
    total_net=Decimal("97.38"),
    total_tax=Decimal("19.47"),
)
ROWS = [
    "Harbour Books Ltd",
    "Receipt No 34-32054",
    "Date: 10/11/2026",
    "Subtotal  97.38",
    "VAT 20 %  19.47",
    "TOTAL  £ 116.85",
]


def build_transcript(*doubtful: str, rows: list[str] = ROWS) -> Transcript:
    """Read with certainty, but for the cells that hold one of `doubtful`."""
    page = Transcript.from_rows(rows)
    return replace(
        page,
        lines=tuple(
            replace(
                line,
                cells=tuple(
                    replace(cell, confidence=0.6 if any(part in cell.text for part in doubtful) else 0.98)
                    for cell in line.cells
                ),
            )
            for line in page.lines
        ),
    )


def test_what_was_read_clearly_and_adds_up_is_certain() -> None:
    assert find_uncertain_fields(INVOICE, build_transcript()) == []


def test_each_field_is_as_uncertain_as_the_words_it_was_read_from() -> None:
    assert find_uncertain_fields(INVOICE, build_transcript("34-32054")) == ["invoice_number"]
    assert find_uncertain_fields(INVOICE, build_transcript("10/11/2026")) == ["issue_date"]
    assert find_uncertain_fields(INVOICE, build_transcript("Harbour")) == ["supplier_name"]


def test_a_value_that_is_read_clearly_at_another_place_is_certain() -> None:
    assert find_uncertain_fields(INVOICE, build_transcript("Receipt", rows=[*ROWS, "Your reference: 34-32054"])) == []


def test_a_total_that_nothing_confirms_is_uncertain_however_clear_it_is() -> None:
    alone = replace(INVOICE, total_net=None, total_tax=None)
    rows = [row for row in ROWS if not row.startswith(("Subtotal", "VAT"))]
    assert find_uncertain_fields(alone, build_transcript(rows=rows)) == ["total_gross"]
    assert find_uncertain_fields(alone, build_transcript(rows=[*rows, "Card  116.85"])) == []


def test_a_text_layer_was_not_read_by_ocr() -> None:
    assert not was_read_by_ocr(Transcript.from_rows(ROWS))
    assert was_read_by_ocr(build_transcript())
