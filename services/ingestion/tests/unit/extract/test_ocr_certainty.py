from dataclasses import replace
from datetime import date
from decimal import Decimal

from ingestion.domain.invoice import Invoice
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.trade import Direction, Trade
from ingestion.domain.transcript import TextCell, Transcript
from ingestion.extract.ocr_certainty import find_uncertain_fields, find_uncertain_trade_values, was_read_by_ocr

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


def test_a_doubtful_word_beside_a_value_takes_nothing_from_it() -> None:
    page = build_transcript()
    number = TextCell("Receipt No 34-32054 *", 0.0, 100.0, 0.3, (0.5, 0.6, 0.98, 0.3))
    lines = tuple(replace(line, cells=(number,)) if "34-32054" in line.text else line for line in page.lines)
    assert find_uncertain_fields(INVOICE, replace(page, lines=lines)) == []


def test_a_value_that_is_read_clearly_at_another_place_is_certain() -> None:
    assert find_uncertain_fields(INVOICE, build_transcript("Receipt", rows=[*ROWS, "Your reference: 34-32054"])) == []


def test_a_total_that_nothing_confirms_is_uncertain_however_clear_it_is() -> None:
    alone = replace(INVOICE, total_net=None, total_tax=None)
    rows = [row for row in ROWS if not row.startswith(("Subtotal", "VAT"))]
    assert find_uncertain_fields(alone, build_transcript(rows=rows)) == ["total_gross"]
    assert find_uncertain_fields(alone, build_transcript(rows=[*rows, "Card  116.85"])) == []


def test_a_name_on_an_unclear_page_is_uncertain_however_clear_it_seems() -> None:
    unclear = replace(build_transcript(), unread=(ReviewReason.OCR_UNCERTAIN,))
    assert find_uncertain_fields(INVOICE, unclear) == ["supplier_name"]


def test_a_text_layer_was_not_read_by_ocr() -> None:
    assert not was_read_by_ocr(Transcript.from_rows(ROWS))
    assert was_read_by_ocr(build_transcript())


TRADE = Trade(
    direction=Direction.BUY,
    trade_date=date(2026, 1, 15),
    quantity=Decimal(10),
    isin="DE0008404005",
    settled_amount=Decimal("1209.95"),
)
NOTE = ["Kauf am 15.01.2026", "ISIN  DE0008404005", "Stück  10,00000", "zulasten Konto  1.209,95 EUR"]


def test_a_trade_that_was_read_clearly_is_certain() -> None:
    assert find_uncertain_trade_values(TRADE, build_transcript(rows=NOTE)) == []


def test_each_value_of_a_trade_is_as_uncertain_as_the_words_it_was_read_from() -> None:
    doubtful = build_transcript("DE000", "15.01", "10,00", rows=NOTE)
    assert find_uncertain_trade_values(TRADE, doubtful) == ["isin", "trade_date", "quantity"]
