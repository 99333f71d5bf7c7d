"""A note that names two currencies for what is one, and no exchange rate."""

import pytest
from note_texts import GERMAN, LANGUAGES, read, read_only

from ingestion.extract.trades.currency_names import list_named

TABLE = """
Contract note
We have bought for you
Security: Allianz SE
ISIN: DE0008404005
Trade date: 15 Jan 2026
{head}
10  20.50  205.00
Commission: EUR 4.95
Total amount payable: EUR 209.95
"""
FIELDS = """
Wertpapierabrechnung
Kauf am 15.01.2026 um 08:13:35
ALLIANZ SE ISIN DE0008404005
Stück 10
{price}
{gross}
Provision 4,95
{settled}
Valuta 19.01.2026
"""


@pytest.mark.parametrize(
    ("head", "is_certain"),
    [
        ("Quantity  Price EUR  Amount EUR", True),
        ("Quantity  Price  Amount EUR", True),
        ("Quantity  Price (EUR)  Amount in euro", True),
        ("Quantity  Price USD  Amount EUR", False),
        ("Quantity  Price (USD)  Amount (EUR)", False),
        ("Quantity  Price in US dollars  Amount in euro", False),
        ("Quantity  Price $  Amount €", False),
        ("Quantity  Price USD  Amount", False),
    ],
)
def test_heads_in_two_currencies_without_a_rate_are_not_certain(head: str, is_certain: bool) -> None:
    assert (read(TABLE.format(head=head)).confidence >= 0.9) is is_certain


@pytest.mark.parametrize(
    ("price", "gross", "settled", "is_certain"),
    [
        ("Kurs (EUR) 20,50", "Betrag (EUR) 205,00", "zulasten Konto 209,95", True),
        ("Kurs 20,50 Euro", "Betrag 205,00 Euro", "zulasten Ihres EUR-Kontos 209,95 EUR", True),
        ("Kurs 20,50", "Kurswert 205,00 EUR", "zulasten Konto in Euro 209,95", True),
        ("Kurs (USD) 20,50", "Betrag (EUR) 205,00", "zulasten Konto 209,95", False),
        ("Kurs in US-Dollar 20,50", "Kurswert in EUR 205,00", "zulasten Konto 209,95", False),
        ("Kurs 20,50 EUR", "Kurswert 205,00 USD", "zulasten Konto 209,95 EUR", False),
        ("Kurs 20,50 Schweizer Franken", "Kurswert 205,00", "zulasten Konto 209,95 EUR", False),
        ("Kurs 20,50", "Kurswert 205,00 EUR", "zulasten Ihres US-Dollar-Kontos 209,95", False),
        ("Kurs 20,50 EUR", "Kurswert 205,00 EUR", "zulasten Konto in Schweizer Franken 209,95", False),
        ("Kurs 20,50 EUR", "Kurswert 205,00 EUR\nKontowährung: Pfund Sterling", "zulasten Konto 209,95", False),
        ("Kurs 20,50 EUR", "Kurswert 205,00 EUR\nAlle Beträge in USD", "zulasten Konto 209,95", False),
    ],
)
def test_price_amount_and_account_are_in_one_currency(price: str, gross: str, settled: str, is_certain: bool) -> None:
    assert (read(FIELDS.format(price=price, gross=gross, settled=settled)).confidence >= 0.9) is is_certain


@pytest.mark.parametrize(
    ("language", "words"),
    [
        ("de", "US-Dollar"),
        ("fr", "dollars américains"),
        ("es", "dólares"),
        ("it", "franchi svizzeri"),
        ("nl", "Amerikaanse dollar"),
        ("pt", "libras esterlinas"),
    ],
)
def test_a_price_whose_currency_stands_in_words_is_no_price_in_euros(language: str, words: str) -> None:
    price = "20,500000" if language == "de" else "20,50"
    assert read(LANGUAGES[language].replace(f"{price} EUR", f"{price} {words}")).confidence < 0.9
    assert read(LANGUAGES[language].replace(f"{price} EUR", f"{price} euro")).confidence >= 0.9


@pytest.mark.parametrize(
    ("lines", "is_certain"),
    [("Consideration (AUD): $205.00", True), ("Consideration (AUD): $205.00\nUSD account", False)],
)
def test_a_dollar_is_that_which_a_label_names(lines: str, is_certain: bool) -> None:
    text = LANGUAGES["en"].replace("€", "$").replace("Consideration: $205.00", lines)
    assert (read(text).confidence >= 0.9) is is_certain


def test_a_conversion_names_both_currencies_and_is_certain() -> None:
    text = GERMAN.replace("20,500000 EUR", "24,600000 USD").replace("Kurswert 205,00 EUR", "Kurswert 246,00 USD")
    text = text.replace("Provision", "Devisenkurs EUR/USD 1,2000\nKurswert 205,00 EUR\nProvision")
    trade = read_only(text)
    assert (trade["currency"], trade["foreign_currency"], trade["settled_amount"]) == ("EUR", "USD", "209.95")
    assert read(text).confidence >= 0.9
    assert read(f"{text}Verrechnungskonto in US-Dollar").confidence < 0.9


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("swiss francs", {"CHF"}),
        ("svenska kronor", {"SEK"}),
        ("dolarów amerykańskich", {"USD"}),
        ("amerikanske dollar", {"USD"}),
        ("US$", {"USD"}),
        ("GBX", {"GBP"}),
    ],
)
def test_words_and_signs_name_a_currency(text: str, codes: set[str]) -> None:
    assert list(list_named(f"Price in {text}")) == [codes]


def test_a_dollar_may_be_one_of_several() -> None:
    ((codes),) = list_named("12.50 dollars")
    assert {"USD", "CAD", "AUD"} <= codes
    assert list(list_named("Eurobond, Dollarama")) == []


BARE = """
Contract note
We have bought for you
Security: Apple Inc
ISIN: {isin}
Trade date: 15 Jan 2026
Quantity: 10
Price: 20.50
Consideration: 205.00
Commission: 4.95
Total amount payable: 209.95
{line}
"""


@pytest.mark.parametrize(
    ("isin", "line", "currency"),
    [
        ("US0378331005", "Base currency: GBP", None),
        ("US0378331005", "Moneda base: EUR", None),
        ("US0378331005", "Custody fee EUR 12.00", None),
        ("US0378331005", "Depotgebühr EUR 12.00", None),
        ("US0378331005", "We charge at least EUR 5.00 for each order.", None),
        ("US0378331005", "Currency: GBP", "GBP"),
        ("US0378331005", "Handelswährung: EUR", "EUR"),
        ("US0378331005", "Abrechnungswährung EUR", "EUR"),
        ("US0378331005", "Ccy  CHF", "CHF"),
        ("DE0008404005", "We charge at least EUR 5.00 for each order.", "EUR"),
    ],
)
def test_a_currency_that_is_named_in_passing_is_not_that_of_a_security_of_another_country(
    isin: str, line: str, currency: str | None
) -> None:
    assert read_only(BARE.format(isin=isin, line=line))["currency"] == currency


def test_the_currency_of_a_heading_is_not_that_of_the_rows_above_it() -> None:
    head = "Trade date  Side  Security  ISIN  Quantity  Price  Amount"
    rows = (
        "03/11/2026  Buy  Vodafone Group  GB00BH4HKS39  1,000  0.7200  720.00",
        "13/11/2026  Sell  Apple Inc  US0378331005  10  228.00  2,280.00",
    )
    text = "\n".join(["Transaction statement", "UK shares", head, rows[0], "US shares (in USD)", head, rows[1]])
    assert read(text).trades[0].trade.currency is None


@pytest.mark.parametrize("line", ["Currency GBP", "GBP"])
def test_the_currency_beside_the_number_of_a_security_is_the_trades(line: str) -> None:
    text = BARE.format(isin=f"US0378331005  {line}", line="")
    assert read_only(text)["currency"] == "GBP"
