"""Totals that the rows above them make: of premiums with their tax and the broker's fee."""

from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.amounts.totals import InvoiceTotals, find_totals


def total(*rows: str) -> InvoiceTotals:
    return find_totals(Transcript.from_rows(rows).lines)


@pytest.mark.parametrize(
    "rows",
    [
        ("Premium   1,840.00", "Insurance Premium Tax at 12%   220.80", "Broker fee   35.00", "Total due   2,095.80"),
        (
            "Premie   1.840,00",
            "Assurantiebelasting 12%   220,80",
            "Poliskosten   35,00",
            "Te voldoen   2.095,80",
        ),
    ],
)
def test_a_premium_its_tax_and_a_fee_make_the_total(rows: tuple[str, ...]) -> None:
    found = total(*rows)
    assert (found.gross, found.net, found.tax) == (Decimal("2095.80"), Decimal("1875.00"), Decimal("220.80"))


def test_a_levy_behind_the_tax_leaves_open_what_the_tax_is() -> None:
    found = total("Prime   1 250,00", "Taxe d'assurance   112,50", "Contribution   6,50", "Total TTC   1 369,00")
    assert (found.gross, found.net, found.tax) == (Decimal("1369.00"), None, None)


@pytest.mark.parametrize("row", ["Previous balance   35.00", "Late payment fee   35.00", "Something   35.00"])
def test_a_row_that_is_no_fee_is_no_part_of_the_total(row: str) -> None:
    found = total("Premium   1,840.00", "Insurance Premium Tax at 12%   220.80", row, "Total due   2,095.80")
    assert found.gross is None


def test_a_tax_that_is_no_rate_of_what_stands_above_it_makes_no_total() -> None:
    found = total("Premium   1,840.00", "Insurance Premium Tax at 9%   220.80", "Fee   35.00", "Total due   2,095.80")
    assert found.gross is None


def test_a_premium_and_its_tax_make_the_sum_of_both() -> None:
    found = total("Nettobeitrag   742,00 EUR", "Versicherungsteuer 19 %   140,98 EUR", "Gesamtbeitrag   882,98 EUR")
    assert (found.gross, found.net, found.tax) == (Decimal("882.98"), Decimal("742.00"), Decimal("140.98"))


def test_a_charge_below_another_tax_may_be_a_tip() -> None:
    assert total("Net   100.00", "VAT 20%   20.00", "Service charge   10.00", "Total due   130.00").gross is None
