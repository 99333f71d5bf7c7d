from dataclasses import replace

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.pages_left_out import may_hold_another_invoice

READ = Transcript.from_rows(["Invoice no. 2026-0441", "Total  600.00"])
CALLS = "Calls of October\n01.10. 0113 496 0000 0.20\n02.10. 0113 496 0001 0.40"


def may_hold(*pages: str, number: str | None = "2026-0441") -> bool:
    looked_over = {40 + place: text for place, text in enumerate(pages)}
    return may_hold_another_invoice(replace(READ, pages=60 + len(pages), looked_over=looked_over), number)


def test_a_page_that_was_not_read_and_has_an_invoices_title_may_be_another_one() -> None:
    assert may_hold(CALLS, "Harbour Tools Ltd\nInvoice no. 2026-0442\nTotal 12.00")


def test_pages_that_carry_the_invoice_on_are_none() -> None:
    assert not may_hold(CALLS, "Harbour Tools Ltd\nInvoice no. 2026-0441, page 42\n" + CALLS)
    assert not may_hold()


@pytest.mark.parametrize("text", ["", " \n 7 \n"])
def test_nobody_knows_what_a_page_without_letters_is(text: str) -> None:
    assert may_hold(CALLS, text)


def test_without_a_number_nothing_tells_another_invoice_apart() -> None:
    assert not may_hold("Invoice no. 2026-0442, of Harbour Tools", number=None)


def test_an_invoice_behind_as_many_lines_as_rules_read_is_seen_by_its_title() -> None:
    calls = Transcript.from_rows(["Invoice no. 2026-0441", "Total  600.00", *["Call  0.20"] * 1600]).lines
    other = Transcript.from_rows(["Harbour Tools Ltd", "Invoice no. 2026-0442", "Total  12.00"]).lines
    lines = tuple(replace(line, page=place // 60) for place, line in enumerate(calls))
    behind = tuple(replace(line, page=30) for line in other)
    assert may_hold_another_invoice(Transcript("application/pdf", 31, (*lines, *behind)), "2026-0441")
    assert not may_hold_another_invoice(Transcript("application/pdf", 31, (*lines, *behind)), "2026-0442")
    assert not may_hold_another_invoice(Transcript("application/pdf", 27, lines), "2026-0441")
