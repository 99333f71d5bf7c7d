from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.amounts.totals import InvoiceTotals, find_totals


def read(text: str) -> InvoiceTotals:
    return find_totals(Transcript.from_rows(text.strip("\n").splitlines()).lines)


def totals(gross: str, net: str, tax: str, due: str | None = None) -> InvoiceTotals:
    return InvoiceTotals(*(None if amount is None else Decimal(amount) for amount in (gross, net, tax, due)))


@pytest.mark.parametrize(
    "text",
    [
        "Net total   1,000.00\nLess deposit invoiced   400.00\nVAT 20%   120.00\nTotal   720.00",
        "Net total   1,000.00\nLess deposit invoiced   -400.00\nVAT 20%   120.00\nTotal   720.00",
        # below the tax as well: it was reckoned of what is left
        "Net total   1,000.00\nVAT 20%   120.00\nLess deposit   -400.00\nTotal   720.00",
    ],
)
def test_what_lessens_the_net_that_the_tax_is_a_rate_of_lessens_the_total(text: str) -> None:
    assert read(text) == totals("720.00", "600.00", "120.00")


def test_what_is_added_to_the_net_that_the_tax_is_a_rate_of_is_in_the_total() -> None:
    text = "Nettobetrag   1.000,00\nMahngebühr   50,00\nUSt 20 %   210,00\nRechnungsbetrag   1.260,00"
    assert read(text) == totals("1260.00", "1050.00", "210.00")


def test_a_total_that_the_page_does_not_print_is_none_where_something_stands_before_the_tax() -> None:
    text = "Net total   1,000.00\nLess deposit invoiced   -400.00\nVAT   120.00\nTotal   720.00"
    assert read(text).gross is None


@pytest.mark.parametrize(
    "text",
    [
        "Base imponible   1.000,00\nIVA   210,00\nRetención IRPF   -150,00\nTotal   1.060,00",
        # the rate says that the tax is of the whole net, wherever the row stands
        "Base imponible   1.000,00\nRetención IRPF 15%   -150,00\nIVA 21%   210,00\nTotal   1.060,00",
    ],
)
def test_what_is_withheld_of_a_total_with_its_tax_lessens_what_is_due_alone(text: str) -> None:
    assert read(text) == totals("1210.00", "1000.00", "210.00", "1060.00")
