"""The symbol of what was traded, and words in brackets and columns that are none."""

import pytest
from note_texts import ENGLISH, read, read_only

WITHOUT_ISIN = ENGLISH.replace("ISIN: DE0008404005\n", "")


@pytest.mark.parametrize(
    "line",
    [
        "*Industry fee: SEC fee $1.05, FINRA trading activity fee (TAF) $0.04",
        "FINRA trading activity (XAF)  €0.00",
        "Options regulatory charge (OCC)",
        "Financial transaction tax (FIT)  €0.00",
        "Taxe sur opérations (TXB)  0,12 %  0.00",
        "Markets in Financial Instruments Directive (MIFD)",
        "The shares are held in an individual account (IVA) for you",
        "Individual Savings Account (SVA)",
        "Execution venue: London off book (XOFF)",
        "Held at the central depository (CREST)",
    ],
)
def test_an_abbreviation_of_a_fee_a_tax_a_law_or_a_sentence_is_no_symbol(line: str) -> None:
    (found,) = read(WITHOUT_ISIN + line).trades
    assert (found.trade.ticker, found.confidence < 0.9) == (None, True)


@pytest.mark.parametrize(
    "line",
    [
        "Security  ROYAL XYLOPHONE OF CANADA (RYX) - TSX",
        "Instrument: RYTEX SA (RYX)",
        "Rythm-Xcoin (RYX)  10 units  €20.50  €205.00",
        "You bought 10 RoyalYards Xa (RYX) at €20.50",
        "You bought\nRoyal Yachts of Xativa (RYX)",
        "Company Name (Symbol) ROYAL BANK, Balance 0.00\nN.V.(RYX) Shares purchased 10",
    ],
)
def test_a_word_in_brackets_behind_the_name_of_what_was_traded_is_its_symbol(line: str) -> None:
    text = WITHOUT_ISIN.replace("Investment name: Allianz SE", line).replace("You have PURCHASED\n", "")
    assert read_only(text)["ticker"] == "RYX"


@pytest.mark.parametrize(
    "line",
    [
        "Security  Vodafone Group PLC (ORD)",
        "Security  Vodafone Group PLC (XLON)",
        "Security  Royal Bank of Canada (TSX)",
        "Security  World Index (UCITS)",
        "Security  Realty Income Trust (REIT)",
        "Security  Alibaba Group (ADS)",
        "Bought for stocks and shares (ISA) 10 €20.50",
        "Ticker NONE",
        "Ticker N/A",
    ],
)
def test_an_exchange_and_a_kind_of_share_or_account_is_no_symbol(line: str) -> None:
    assert read_only(WITHOUT_ISIN.replace("Investment name: Allianz SE", line))["ticker"] is None


@pytest.mark.parametrize(
    ("line", "symbol"),
    [
        ("Ticker LSE: VOD", "VOD"),
        ("Symbol NASDAQ:AAPL", "AAPL"),
        ("Ticker XLON:VOD", "VOD"),
        ("Ticker BRK.B", "BRK.B"),
        ("Symbol ALV:xetr", "ALV"),
        ("Symbol ARN.LN", "ARN"),
    ],
)
def test_a_symbol_stands_beside_its_exchange_and_has_the_letter_of_its_class(line: str, symbol: str) -> None:
    assert read_only(WITHOUT_ISIN + line)["ticker"] == symbol


SOLD = """
Trade Confirmation
Sold
Security Description       {head}            Trade Date  Settlement Date  Type of Account
APPLE INC                  {symbol}          05/17/2024  05/21/2024       Cash
COMMON STOCK               037833100
Quantity  Price      Principal   Commission  Total Amount
220       $172.1850  $37,880.70  $1.09       $37,879.61
"""


@pytest.mark.parametrize(
    ("head", "symbol"), [("Symbol/CUSIP", "AAPL"), ("Ticker", "AAPL"), ("Symbol", "BRK.B"), ("Stock Code", "00700")]
)
def test_a_symbol_stands_in_the_column_of_its_head(head: str, symbol: str) -> None:
    assert read_only(SOLD.format(head=head, symbol=symbol))["ticker"] == symbol


def test_digits_are_a_symbol_only_where_their_head_is_a_code() -> None:
    assert read_only(SOLD.format(head="Symbol/CUSIP", symbol="00700"))["ticker"] is None
    assert read_only(f"{WITHOUT_ISIN}Stock code: 00700")["ticker"] == "00700"
    assert read_only(f"{WITHOUT_ISIN}Symbol: 00700")["ticker"] is None


@pytest.mark.parametrize("words", ["Instrument: ETF", "Security: STOCK", "Security: EUR", "Investment: FUND\nSOLD"])
def test_the_kind_of_a_security_is_no_symbol(words: str) -> None:
    assert read_only(WITHOUT_ISIN.replace("Investment name: Allianz SE", words))["ticker"] is None


def test_a_word_of_the_note_behind_the_side_is_no_symbol_whatever_head_there_is() -> None:
    text = WITHOUT_ISIN.replace("You have PURCHASED", "Symbol\nBought FOR YOUR ACCOUNT\nPurchase PRICE €20.50")
    assert read_only(text)["ticker"] is None


@pytest.mark.parametrize("label", ["Market symbol:", "Client symbol:", "Exchange symbol:"])
def test_the_symbol_of_something_else_is_no_ticker(label: str) -> None:
    assert read_only(f"{ENGLISH}{label} RFX\n")["ticker"] is None
    assert read_only(f"{ENGLISH}{label} RFX\nStock symbol: ALV\n")["ticker"] == "ALV"


@pytest.mark.parametrize(
    ("line", "ticker"),
    [
        ("Security: APPLE INC (AAPL)\nCUSIP: 037833100", "AAPL"),
        ("Security  Prairie Growth Fund Class A (PRGAX)\nCUSIP  739612105", "PRGAX"),
        ("Security: APPLE INC (AAPL)", None),  # without the number that America gives
        ("Security: BANK HOLDING INC (DEL)\nCUSIP: 037833100", None),  # of Delaware
        ("Security: APPLE INC (AAPL) held in custody\nCUSIP: 037833100", None),
    ],
)
def test_beside_an_american_number_a_word_in_brackets_that_ends_a_name_is_its_symbol(
    line: str, ticker: str | None
) -> None:
    text = "\n".join(row for row in WITHOUT_ISIN.splitlines() if "Allianz" not in row)
    assert read(f"{text}\n{line}").trades[0].trade.ticker == ticker


def test_what_a_name_says_in_brackets_is_no_symbol_where_another_number_names_the_security() -> None:
    note = ENGLISH.replace("ISIN: DE0008404005", "WKN: 840400\nSecurity: Royal Xylophone Bank (RXB)")
    assert read_only(note)["ticker"] is None


@pytest.mark.parametrize("line", ["Symbol: XLON", "Instrument code: EQTY", "Symbol: CREST"])
def test_a_market_or_a_kind_behind_the_label_of_a_symbol_is_none(line: str) -> None:
    assert read_only(f"{ENGLISH.strip()}\n{line}")["ticker"] is None
