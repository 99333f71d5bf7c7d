"""Totals that add up and are another one's: which is the invoice's, nobody can tell."""

from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.amounts.totals import find_totals
from ingestion.extract.layout_rules import read_invoice

TOTALS = ("Net total    1,000.00", "VAT 20%    200.00", "Total    1,200.00")


SITES = (
    *("Site A", "Net    400.00", "VAT 20%    80.00", "Total    480.00"),
    *("Site B", "Net    600.00", "VAT 20%    120.00", "Total    720.00"),
)


def read(*rows: str) -> tuple[str, str]:
    """The total, and the one that is shown though it is none."""
    printed = read_invoice(Transcript.from_rows(("Example Ltd", "Invoice no. 17", *rows)))
    return str(printed.invoice.total_gross), str(printed.doubtful_totals.get("total_gross"))


@pytest.mark.parametrize(
    "rows",
    [
        ("Net total    1,000.00    11,000.00", "VAT 20%    200.00    2,200.00", "Total    1,200.00    13,200.00"),
        (*TOTALS, "Year to date:", "Net total    11,000.00", "VAT 20%    2,200.00", "Total    13,200.00"),
        ("Last invoice", "Net total    1,500.00", "VAT 20%    300.00", "Total    1,800.00", *TOTALS),
        (*SITES[:4], *TOTALS),
        SITES,
        (*TOTALS, "This stage 30%    360.00"),
        (*TOTALS, "Invoiced now (30%)    360.00", "To be invoiced later    840.00"),
        (*TOTALS, "Deposit 30%    360.00"),
        (
            "Corrected invoice",
            *TOTALS,
            "Corrected:",
            "Net    900.00",
            "VAT 20%    180.00",
            "Total    1,080.00",
            "120.00",
        ),
    ],
)
def test_where_more_than_one_total_adds_up_none_is_believed(rows: tuple[str, ...]) -> None:
    gross, doubtful = read(*rows)
    assert gross == "None"
    assert doubtful != "None"


@pytest.mark.parametrize(
    "rows",
    [
        (*SITES, *TOTALS),
        (*TOTALS, "Deposit paid    360.00", "Amount due    840.00"),
        (*TOTALS, "2% discount if paid by 17 November    24.00"),
        ("Doors    1,000.00    200.00    1,200.00", *TOTALS),
    ],
)
def test_parts_of_a_total_and_what_is_taken_off_it_are_no_rivals(rows: tuple[str, ...]) -> None:
    assert read(*rows) == ("1200.00", "None")


def test_of_a_correction_neither_what_was_nor_what_is_is_the_total() -> None:
    before, after = TOTALS, ("Net total    900.00", "VAT 20%    180.00", "Total    1,080.00")
    difference = ("Net total    100.00", "VAT 20%    20.00", "Total    120.00")
    assert read("Credit note", "Was:", *before, "Now:", *after, "Difference:", *difference)[0] == "None"


def test_an_invoice_of_an_advance_is_not_of_the_whole_order() -> None:
    rows = ("Anzahlungsrechnung", "Nettobetrag    1.000,00", "USt 19 %    190,00", "Gesamtbetrag    1.190,00")
    assert read(*rows)[0] == "1190.00"
    assert read(*rows, "Anzahlung    357,00")[0] == "None"


@pytest.mark.parametrize("row", ["Deres andel (1/8)    150.00", "Termijn 1 van 4    300.00", "Etap 3 z 4    900.00"])
def test_a_fraction_of_the_total_below_it_may_be_what_is_invoiced(row: str) -> None:
    assert read(*TOTALS, row) == ("None", "1200.00")


def test_a_plan_of_all_fractions_leaves_the_total() -> None:
    plan = (f"Instalment {number}/4    300.00" for number in range(1, 5))
    assert read(*TOTALS, *plan)[0] == "1200.00"


@pytest.mark.parametrize(
    "asked",
    [
        "Zu zahlender Betrag   220,75",
        "Beitrag bis 28.02.2027   220,75",
        "Rate   73,58",
        "Ratenbeitrag mit Zuschlag   231,79",
    ],
)
def test_a_part_of_the_year_below_the_premium_of_the_year_leaves_both_to_a_person(asked: str) -> None:
    rows = ["Nettobeitrag   742,00", "Versicherungsteuer 19 %   140,98", "Gesamtbeitrag   882,98"]
    found = find_totals(Transcript.from_rows([*rows, "Zahlungsweise: vierteljährlich oder monatlich", asked]).lines)
    assert found.gross is None
    assert find_totals(Transcript.from_rows([*rows, "Anteil Haftpflicht   220,75"]).lines).gross == Decimal("882.98")
