"""The trades of a document, and what the document is."""

from dataclasses import replace
from decimal import Decimal
from io import BytesIO
from typing import Any

import orjson
import pytest
from note_texts import (
    ENGLISH,
    EXPECTED,
    FRENCH,
    GERMAN,
    LANGUAGES,
    read,
    read_only,
)

from ingestion.domain.page_marks import PageMarks, Stamp
from ingestion.domain.transcript import Transcript
from ingestion.extract.trades import note

"""Notes of made-up banks in seven languages, with labels beside, above and below their values."""


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_note_is_read_in_each_language(language: str) -> None:
    trade = read_only(LANGUAGES[language])
    assert {name: trade[name] for name in EXPECTED} == EXPECTED


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_holds_together_is_certain(language: str) -> None:
    assert read(LANGUAGES[language]).confidence >= 0.9


def test_an_amount_that_the_costs_do_not_explain_is_not_certain() -> None:
    assert read(GERMAN.replace("209,95", "219,95")).confidence < 0.9


def test_a_sale_takes_the_costs_off() -> None:
    text = GERMAN.replace("Kauf am", "Verkauf am").replace("zulasten", "zugunsten").replace("209,95", "200,05")
    assert (read_only(text)["direction"], read_only(text)["settled_amount"]) == ("sell", "200.05")
    assert read(text).confidence >= 0.9


STATEMENT = """
Kontoauszug vom 16.12.2026
Alter Saldo per 04.12.2026 200,00
Datum Buchungstext Wert Betrag
16.12 Kauf aus Dauerauftrag  Depot 7800000000/20261216-45514943  18.12  99,68-
ISIN LU0378449770 ETF EINS  1,22000 STK
Kurs  80,340000  KURSWERT  -98,01 EUR
Handelsspesen  -1,67 EUR
16.12 Verkauf  Depot 7800000000/20261216-45589045  18.12  96,95
ISIN LU0392494562 ETF ZWEI  1,68000 STK
Kurs  58,700000  KURSWERT  98,62 EUR
Handelsspesen  -1,67 EUR
Neuer Saldo zu Ihren Gunsten 0,03
"""


def test_a_statement_has_the_trades_that_are_booked_in_it() -> None:
    reading = read(STATEMENT)
    assert reading.document_type == "activity_statement"
    trades = [found.trade for found in reading.trades]
    assert [(trade.direction, trade.isin, trade.settled_amount) for trade in trades] == [
        ("buy", "LU0378449770", Decimal("99.68")),
        ("sell", "LU0392494562", Decimal("96.95")),
    ]
    assert {str(trade.trade_date) for trade in trades} == {"2026-12-16"}


def test_a_statement_without_a_trade_has_none() -> None:
    rows = ["Kontoauszug", "Alter Saldo 10,00", "16.12.2026 Gehalt 100,00", "Neuer Saldo 110,00"]
    assert not read("\n".join(rows)).has_trades


@pytest.mark.parametrize(
    "text",
    [
        "Dividendengutschrift\nISIN DE0008404005\nBestand 43 Stück\nSchlusstag 20.08.2026\nNetto zugunsten 16,36 EUR",
        "Tax voucher\nOrdinary shares held 5,000\nDividend payable 100.50 GBP",
        "Portfolio valuation\nVodafone GB00BH4HKS39 2,500 0.70 1,750.00",
        "Depotübertrag\nISIN DE0008404005\nStück 30",
        "Order rejected\nISIN DE0008404005\nBuy 10 shares at 20.50 EUR",
        "Order Status\nYour order has been cancelled\nBuy 10 shares (DE0008404005)\nLimit price EUR 20.50",
        "Orderbestätigung\nIhr Auftrag wurde erfasst\nKauf Stück 10 DE0008404005\nLimit 250,00 EUR",
    ],
)
def test_what_says_that_it_is_something_else_has_no_trade(text: str) -> None:
    assert not read(text).has_trades


def test_what_names_a_security_and_says_of_nothing_else_is_not_thrown_away() -> None:
    assert read("Facture\nMouvement sur titres\nISIN DE0008404005\nQuantité 10\nMontant 205,00 EUR").has_trades


def test_a_trade_that_was_made_before_the_rest_of_its_order_ended_is_kept() -> None:
    assert read(GERMAN.replace("Valuta", "Restlicher Auftrag wurde gestrichen\nValuta")).has_trades


def test_a_statement_whose_rows_tell_of_income_has_no_trade() -> None:
    text = STATEMENT.partition("16.12 Kauf")[0] + "10.03.2026 Dividende DE0008404005 10 Stk 13,80 138,00"
    assert not read(text).has_trades
    assert read(text.replace("Dividende ", "")).has_trades


def test_what_cannot_be_told_is_not_thrown_away() -> None:
    assert read("Some words that nobody knows\n12,00 EUR").has_trades


def test_a_cancellation_marks_the_trade_that_it_takes_back() -> None:
    assert (
        read_only(GERMAN.replace("Wertpapierabrechnung", "Storno der Wertpapierabrechnung"))["is_cancellation"] is True
    )
    assert read_only(GERMAN)["is_cancellation"] is False


def test_a_security_that_no_trade_is_in_is_a_doubt() -> None:
    assert read(GERMAN + "\nUmtausch in IE00B4L5YC18").doubts == ("trades",)


def test_more_lines_than_are_read_are_a_doubt() -> None:
    assert read(GERMAN + "\n".join(["x"] * 1600)).doubts == ("lines",)


@pytest.mark.parametrize("sign", ["AUD", "CAD"])
def test_a_dollar_is_that_which_the_document_names(sign: str) -> None:
    assert read_only(ENGLISH.replace("€", "$") + f"\nAll amounts in {sign}")["currency"] == sign


def test_numbers_in_another_currency_are_converted() -> None:
    text = (
        GERMAN.replace("20,500000 EUR", "20,500000 USD")
        .replace(
            "Kurswert 205,00 EUR", "Kurswert 205,00 USD\nDevisenkurs 1,025000 EUR / USD\nKurswert in EUR 200,00 EUR"
        )
        .replace("209,95", "204,95")
    )
    trade = read_only(text)
    assert (trade["gross_amount"], trade["settled_amount"], trade["currency"]) == ("200.00", "204.95", "EUR")
    assert (trade["foreign_currency"], trade["foreign_gross_amount"]) == ("USD", "205.00")


@pytest.mark.parametrize("other", ["", "Valeur de votre portefeuille 12.345,60 EUR\n"])
def test_a_blank_parts_thousands_where_quantity_and_price_prove_it(other: str) -> None:
    text = FRENCH.replace("Quantité : 10", "Quantité : 150").replace("20,50 EUR", "53,82 EUR")
    text = text.replace("205,00", "8 073,00").replace("209,95", "8 077,95") + other
    trade = read_only(text)
    assert (trade["gross_amount"], trade["settled_amount"]) == ("8073.00", "8077.95")
    assert read(text).confidence >= 0.9


def given(text: str) -> BytesIO:
    return BytesIO(orjson.dumps(Transcript.from_rows(text.strip("\n").splitlines()).to_json()))


def classified(text: str) -> Any:
    answer: Any = note.classify_note(given(text), {})
    return answer["document_type"]


def test_the_reader_answers_with_type_trades_and_confidence() -> None:
    assert classified(GERMAN) == "contract_note"
    answer: Any = note.extract_trades(given(GERMAN), {})
    assert len(answer["extraction"]["trades"]) == 1
    assert (answer["reader"], answer["doubts"]) == ("trade-rules/8", [])
    assert classified("Dividendengutschrift\nISIN DE0008404005\nAktie") is None


@pytest.mark.parametrize(
    "row",
    [
        "Kauf 10 20,50 " * 30,
        "Betrag Kurs Stück " * 20 + "1 2 3 " * 40,
        "1 000 " * 60,
        "DE12 " * 70,
        "16.12 Kauf 1,00 2,00 2,00 Provision 1,00 Spesen 2,00 Steuer 3,00",
    ],
)
@pytest.mark.timeout(60)  # it takes a second; a rule with unbounded steps would not end
def test_hostile_rows_take_bounded_time(row: str) -> None:
    assert read("\n".join([row] * 100)) is not None


def test_a_trade_that_was_read_off_a_picture_with_doubt_is_for_a_person() -> None:
    page = Transcript.from_rows(GERMAN.splitlines())
    blurred = replace(
        page,
        lines=tuple(
            replace(
                line, cells=tuple(replace(cell, confidence=0.95 if "ISIN" in cell.text else 0.7) for cell in line.cells)
            )
            for line in page.lines
        ),
    )
    answers: list[Any] = [note.extract_trades(BytesIO(orjson.dumps(text.to_json())), {}) for text in (page, blurred)]
    assert [(answer["review_reason"], answer["reader"]) for answer in answers] == [
        (None, "trade-rules/8"),
        ("ocr_uncertain", "ocr+trade-rules/8"),
    ]


@pytest.mark.parametrize(
    ("marks", "reason", "shown"),
    [
        (PageMarks(struck_out=("50",)), "struck_out", {"struck_out": ["50"]}),
        (PageMarks(stamps=(Stamp("STORNO", is_large=True),)), "stamped", {"stamps": ["STORNO"]}),
        (PageMarks(stamps=(Stamp("DUPLIKAT", is_large=True),)), None, None),  # the ledger knows it
    ],
)
def test_a_note_that_somebody_marked_is_for_a_person_who_is_shown_how(
    marks: PageMarks, reason: str | None, shown: Any
) -> None:
    page = replace(Transcript.from_json(orjson.loads(given(GERMAN).read())), marks=marks)
    answer: Any = note.extract_trades(BytesIO(orjson.dumps(page.to_json())), {})
    assert (answer["review_reason"], answer["extraction"].get("page_marks")) == (reason, shown)


FUND_PURCHASES = """
Käufe von Fonds
Auszug vom 18.05.2026
Bezeichnung: Musterfonds Umwelt
ISIN: DE0008404005  Auftragsnummer: 8103-1017
Abrechnungstag: 18.05.2026
=Abrechnungsbetrag EUR 400,00 EUR 20,500000 Anteilumsatz: 19,512
Bezeichnung: Musterfonds Technik
ISIN: LU0378449770  Auftragsnummer: 8103-3945
Abrechnungstag: 18.05.2026
=Abrechnungsbetrag EUR 600,00 EUR 494,260000 Anteilumsatz: 1,214
Der Betrag wird am 20.05.2026 eingezogen.
"""


def test_a_document_that_says_once_what_was_done_has_a_trade_for_each_security() -> None:
    trades = [found.trade.to_json() for found in read(FUND_PURCHASES).trades]
    assert [(trade["direction"], trade["isin"], trade["quantity"], trade["settled_amount"]) for trade in trades] == [
        ("buy", "DE0008404005", "19.512", "400.00"),
        ("buy", "LU0378449770", "1.214", "600.00"),
    ]


@pytest.mark.parametrize(("second", "is_one"), [("QRST 5 $400.00 $2,000.00", False), ("ARCA 5 $181.00 $905.00", True)])
def test_rows_of_several_securities_are_no_parts_of_one_order(second: str, is_one: bool) -> None:
    quantity, amount = 15, 1800 + int(second.rpartition("$")[2].replace(",", "").removesuffix(".00"))
    text = f"""
Trade Confirmation
We confirm that you BOUGHT on 01/13/2026, settlement date 01/14/2026:
Symbol  Quantity  Price  Amount
LMNO 10 $180.00 $1,800.00
{second}
Total {quantity} ${amount:,}.00
Commission $5.00
Net Amount ${amount + 5:,}.00
"""
    assert read(text).trades[0].is_product_proven is is_one
