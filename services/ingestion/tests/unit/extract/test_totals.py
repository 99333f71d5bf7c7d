from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.totals import InvoiceTotals, _add_sums_of_pairs, find_totals


def read(text: str) -> InvoiceTotals:
    return find_totals(Transcript.from_rows(text.strip("\n").splitlines()).lines)


def totals(gross: str | None, net: str | None = None, tax: str | None = None, due: str | None = None) -> InvoiceTotals:
    return InvoiceTotals(*(None if amount is None else Decimal(amount) for amount in (gross, net, tax, due)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # behind the label, to its right, and to its right with a sign of its own between
        ("Nettobetrag: 100,00 €\nMwSt: 19,00 €\nGesamtbetrag: 119,00 €", totals("119.00", "100.00", "19.00")),
        ("Subtotal   $100.00\nTax   $8.00\nTotal   $108.00", totals("108.00", "100.00", "8.00")),
        ("Subtotal   100.00   EUR\nVAT   20.00   EUR\nTotal   EUR   120.00", totals("120.00", "100.00", "20.00")),
        # a label that has a percentage and a base of its own
        ("Subtotal   $262.90\nTax 15% on $ 112.90   $16.94\nTotal   $279.84", totals("279.84", "262.90", "16.94")),
        # columns: the bottom row is the total
        (
            """
Netto        MwSt-Betrag     Gesamtbetrag
100,00       19,00           119,00
50,00        3,50            53,50
150,00       22,50           172,50
""",
            totals("172.50", "150.00", "22.50"),
        ),
        # a row that adds up, named once
        ("Razem   257,59   59,24   316,83\nNależność ogółem: 316,83 PLN", totals("316.83", "257.59", "59.24")),
        # two rates that nobody added up
        (
            "Net total   100.00\nVAT 7%   3.50\nVAT 19%   9.50\nTotal   113.00",
            totals("113.00", "100.00", "13.00"),
        ),
        # no tax
        ("Tax   $0.00\nTotal   $4.11", totals("4.11", "4.11", "0.00")),
        # a total alone, a total said twice among others, and totals that contradict each other
        ("Total   $4.11", totals("4.11")),
        ("Total   $4.00\nTotal   $9.00\nPaid by card   $9.00", totals("9.00")),
        ("Total   $4.00\nTotal   $9.00", totals(None)),
        # what is due after a payment in advance
        (
            "Net total   100.00\nTax Total   20.00\nTotal   120.00\nBalance due   70.00",
            totals("120.00", "100.00", "20.00", "70.00"),
        ),
        # a credit note with a minus
        ("Total HT   -218,48 €\nTotal taxes   -14,99 €\nTotal TTC   -233,47 €", totals("-233.47", "-218.48", "-14.99")),
        # numbers that are no money
        ("Total   3 pages\nTax ID   123", totals(None)),
    ],
)
def test_totals_are_read_at_their_labels_and_accepted_when_they_add_up(text: str, expected: InvoiceTotals) -> None:
    assert read(text) == expected


def test_a_net_that_is_not_named_is_found_by_the_sum() -> None:
    assert read("Goods   100.00\nVAT 20%   20.00\nTotal   120.00") == totals("120.00", "100.00", "20.00")


def test_the_sums_of_two_taxes_are_those_of_a_bounded_number_of_them() -> None:
    """Of the thousands that a page may name, each with each, memory had no room."""
    assert len(_add_sums_of_pairs([Decimal(number) for number in range(2000)])) == 12 + 12 * 11 // 2
