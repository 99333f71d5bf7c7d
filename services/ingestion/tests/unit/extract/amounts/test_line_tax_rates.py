"""Which percentage of a row is the rate of its tax."""

from decimal import Decimal

import pytest
from invoice_rows import write_rows

from ingestion.extract.amounts.invoice_lines import find_invoice_lines
from ingestion.extract.amounts.totals import InvoiceTotals

NET = InvoiceTotals(net=Decimal("1000.00"))


def list_rates(head: str, *rows: str) -> list[str]:
    lines, _ = find_invoice_lines(write_rows("\n".join((head, *rows))), NET)
    return [str(line.tax_rate) for line in lines]


@pytest.mark.parametrize(
    ("head", "rows", "expected"),
    [
        ("Artikel   Menge   Preis    Rabatt   Betrag", ("Tür       2       400,00   25 %     600,00",), ["None"]),
        ("Artikel   Menge   Preis    Rab.     Betrag", ("Tür       2       400,00   25 %     600,00",), ["None"]),
        ("Artikel   Rabatt  MwSt     Menge    Betrag", ("Tür       25 %    19 %     2        600,00",), ["19"]),
        ("Artikel   MwSt    Rabatt   Menge    Betrag", ("Tür       7 %     19 %     2        600,00",), ["7"]),
        ("Artikel   Menge   Preis    Satz     Betrag", ("Tür       2       300,00   19 %     600,00",), ["19"]),
        ("Artikel        Menge   Preis    Betrag", ("5 % Essigsäure 2       300,00   600,00",), ["None"]),
    ],
)
def test_a_rate_stands_below_a_head_that_says_so_or_is_one_of_the_pages(
    head: str, rows: tuple[str, ...], expected: list[str]
) -> None:
    assert list_rates(head, *rows, "Griff                      400,00", "USt 19 %   190,00")[:1] == expected


def test_of_two_percentages_that_may_both_be_the_taxes_none_is() -> None:
    head, row = "Artikel   A       B        Menge    Betrag", "Tür       7 %     19 %     2        600,00"
    assert list_rates(head, row, "Griff                      400,00", "USt 7 %  1,00", "USt 19 %  1,00")[:1] == ["None"]
