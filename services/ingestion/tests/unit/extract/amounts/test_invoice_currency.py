"""Which currency an invoice is in, where its page names several."""

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract import values
from ingestion.extract.amounts.invoice_currency import find_currency


def currency(*rows: str) -> str | None:
    return find_currency(Transcript.from_rows(rows).lines)


def test_a_rate_of_exchange_says_nothing_of_the_currency() -> None:
    rows = ["Gross total   2 540.00 EUR", "Exchange rate: 395.20 HUF", "VAT total in HUF   213 408 HUF"]
    assert currency(*rows[:1], "1 EUR = 395.20 HUF", "2 USD = 790 HUF", "HUF = forint") == "EUR"
    assert currency(*rows) == "EUR"
    rates = [f"Exchange rate of {day} May: {day}95.20 HUF" for day in range(2, 7)]
    assert currency("Net   100.00 EUR", "VAT   19.00 EUR", *rates) == "EUR"


def test_a_label_names_the_currency_if_an_amount_is_in_it() -> None:
    rows = ["Net   790 400 HUF", "Gross   1 003 808 HUF", "Gross total   2 540.00 EUR"]
    rows[2] = "Worth   2 540.00 EUR"
    assert currency(*rows) == "HUF"
    assert currency("Payment   Currency", "transfer  EUR", *rows) == "EUR"
    assert currency("Currency: CHF", *rows[:2]) == "HUF"


def test_of_two_that_are_named_as_often_the_totals_counts() -> None:
    assert currency("Net   100.00 EUR", "Net   40 000 HUF") is None
    assert currency("Net   100.00 GBP", "Invoice total   120.00 EUR") == "EUR"


@pytest.mark.parametrize(
    ("word", "expected"),
    [("CVR 26668514", "DKK"), ("Bankgiro 5051-6822", "SEK"), ("923 456 783 MVA", "NOK"), ("Tlf.", None)],
)
def test_crowns_are_those_of_the_country_whose_registers_are_named(word: str, expected: str | None) -> None:
    assert currency("I alt kr.   1.125,00", word) == expected


def test_a_bare_dollar_is_the_documents() -> None:
    assert not values.is_foreign("$ 12.00", "AUD")
    assert values.is_foreign("€ 12.00", "AUD")
    assert not values.is_foreign("€ 12.00", None)


SWISS = ["Alpsteig AG   Rechnung 7", "Nettobetrag   1'000.00", "MWST 8.1 %   81.00", "Rechnungsbetrag   1'081.00"]
BRITISH = ["Harbour Ltd   Invoice 7", "Net   1,000.00", "VAT 20%   200.00", "Total   1,200.00"]


@pytest.mark.parametrize(
    ("rows", "line", "expected"),
    [
        (SWISS, "Zahlbar auch in EUR: 1'150.00 EUR", None),
        (SWISS, "Gegenwert EUR 1'150.00", None),
        (SWISS, "Mahngebühr ab der 2. Mahnung EUR 20.00", None),
        (SWISS, "Gesellschaftskapital EUR 100'000.00", None),
        (BRITISH, "Bank charges of EUR 15.00 apply to other payments.", None),
        (BRITISH, "Order value: USD 1,530.00", None),
        (BRITISH, "Please pay in euro: € 1,411.00", None),
        (SWISS, "Alle Beträge in CHF", "CHF"),
        (SWISS, "Bitte überweisen Sie CHF 1'081.00 binnen 30 Tagen.", "CHF"),
        (BRITISH, "Description   Amount (GBP)", "GBP"),
    ],
)
def test_a_currency_of_other_amounts_than_the_pages_totals_is_not_that_of_the_invoice(
    rows: list[str], line: str, expected: str | None
) -> None:
    assert currency(*rows, line) == expected
