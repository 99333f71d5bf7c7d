"""Notes of made-up banks in seven languages, with labels beside, above and below their values."""

from dataclasses import replace
from decimal import Decimal
from io import BytesIO
from typing import Any

import orjson
import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.trades import note
from ingestion.extract.trades.note import NoteReading, read_note

GERMAN = """
Wertpapierabrechnung
Kauf am 15.01.2026 um 08:13:35
Bezeichnung WKN ISIN
ALLIANZ SE NA O.N. 840400 DE0008404005
Einheit Umsatz
ST 10,00000
Preis pro Anteil 20,500000 EUR
Kurswert 205,00 EUR
Provision 4,95 EUR
zulasten Konto-Nr. 12345678 209,95 EUR
Valuta 19.01.2026
"""
ENGLISH = """
Contract note
You have PURCHASED
Investment name: Allianz SE
ISIN: DE0008404005
Execution date/time: 15 Jan 2026 08:13:35
Settlement date: 19/01/2026
Number of units: 10
Price: €20.50
Consideration: €205.00
Commission: €4.95
Total amount payable: €209.95
"""
FRENCH = """
Avis d'opéré
Sens : Achat
Valeur : ALLIANZ SE   Code ISIN : DE0008404005
Date d'exécution : 15/01/2026   Date de règlement : 19/01/2026
Quantité : 10   Cours : 20,50 EUR
Montant brut : 205,00 EUR
Courtage : 4,95 EUR
Montant net au débit : 209,95 EUR
"""
SPANISH = """
Confirmación de compra
Tipo de operación: Compra
Valor: ALLIANZ SE
ISIN: DE0008404005
Fecha de ejecución: 15/01/2026
Fecha valor: 19/01/2026
Títulos  Precio  Importe bruto
10  20,50 EUR  205,00 EUR
Comisión: 4,95 EUR
Importe neto: 209,95 EUR
"""
ITALIAN = """
Nota informativa
Operazione: Acquisto
Titolo: ALLIANZ SE
Codice ISIN: DE0008404005
Data esecuzione: 15/01/2026
Data valuta: 19/01/2026
Quantità: 10
Prezzo: 20,50 EUR
Controvalore: 205,00 EUR
Commissioni: 4,95 EUR
Importo netto: 209,95 EUR
"""
DUTCH = """
Transactienota
Soort transactie: Aankoop
Fonds: ALLIANZ SE
ISIN: DE0008404005
Transactiedatum: 15-01-2026
Valutadatum: 19-01-2026
Aantal: 10
Koers: 20,50 EUR
Effectenwaarde: 205,00 EUR
Transactiekosten: 4,95 EUR
Te betalen: 209,95 EUR
"""
PORTUGUESE = """
Nota de execução
Operação: Compra
Ativo: ALLIANZ SE
ISIN: DE0008404005
Data da operação: 15/01/2026
Data valor: 19/01/2026
Quantidade: 10
Preço unitário: 20,50 EUR
Valor bruto: 205,00 EUR
Comissão: 4,95 EUR
Valor líquido: 209,95 EUR
"""
LANGUAGES = {
    "de": GERMAN,
    "en": ENGLISH,
    "fr": FRENCH,
    "es": SPANISH,
    "it": ITALIAN,
    "nl": DUTCH,
    "pt": PORTUGUESE,
}
EXPECTED = {
    "direction": "buy",
    "isin": "DE0008404005",
    "trade_date": "2026-01-15",
    "settlement_date": "2026-01-19",
    "quantity": "10",
    "price": "20.5",
    "currency": "EUR",
    "gross_amount": "205.00",
    "fees": "4.95",
    "settled_amount": "209.95",
}


def read(text: str) -> NoteReading:
    return read_note(Transcript.from_rows(text.strip("\n").splitlines()).lines)


def read_only(text: str) -> dict[str, Any]:
    (reading,) = read(text).trades
    return reading.trade.to_json()


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_note_is_read_in_each_language(language: str) -> None:
    trade = read_only(LANGUAGES[language])
    assert {name: trade[name] for name in EXPECTED} == EXPECTED


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_holds_together_is_certain(language: str) -> None:
    assert read(LANGUAGES[language]).confidence >= 0.9


def test_a_wrong_check_digit_is_no_security() -> None:
    assert read_only(GERMAN.replace("DE0008404005", "DE0008404006"))["isin"] is None


def test_an_amount_that_the_costs_do_not_explain_is_not_certain() -> None:
    assert read(GERMAN.replace("209,95", "219,95")).confidence < 0.9


def test_the_title_of_a_note_is_no_name_of_a_security() -> None:
    text = GERMAN.replace("Wertpapierabrechnung", "Wertpapier Abrechnung Kauf")
    assert read_only(text)["security_name"] == "ALLIANZ SE NA O.N."


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


def test_the_label_of_a_line_says_what_its_amount_is_and_none_above_it() -> None:
    text = GERMAN.replace("20,500000 EUR", "20,500000 EUR FRANCO COURTAGE").replace(
        "Provision 4,95 EUR", "Finanztransaktionssteuer 0,20% 0,45 EUR\nProvision 4,50 EUR"
    )
    trade = read_only(text)
    assert (trade["fees"], trade["taxes"]) == ("4.50", "0.45")


def test_heads_of_a_table_do_not_name_what_the_labels_of_a_row_below_name() -> None:
    text = GERMAN.replace("Provision 4,95 EUR", "Kommission               Spesen\nFinanztransaktionssteuer 4,95 EUR")
    trade = read_only(text)
    assert (trade["fees"], trade["taxes"]) == ("0.00", "4.95")


def test_two_factors_that_nothing_tells_apart_are_not_certain() -> None:
    text = GERMAN.replace("Einheit Umsatz\nST 10,00000\nPreis pro Anteil 20,500000 EUR", "{}")
    assert read(text.format("10  20,50  205,00")).confidence >= 0.9
    assert read(text.format("2,5  82,0  205,00")).confidence < 0.9
    assert read(text.format("2,5  82,0 EUR  205,00 EUR")).confidence >= 0.9


def test_what_a_field_is_called_says_no_side() -> None:
    assert read_only(DUTCH.replace("Soort transactie: Aankoop", "Koop/Verkoop  Verkoop"))["direction"] == "sell"


def test_accrued_interest_goes_to_the_seller_of_a_bond() -> None:
    text = """
Wertpapierabrechnung Verkauf
Handelstag 12.05.2026
Nominal EUR 5.000,00 Anleihe DE0001102580
Kurs 98,00 %
Kurswert 4.900,00 EUR
Stückzinsen 12,33 EUR
Provision 5,00 EUR
Ausmachender Betrag 4.907,33 EUR
"""
    (found,) = read(text).trades
    assert (found.trade.gross_amount, found.trade.accrued_interest) == (Decimal("4900.00"), Decimal("12.33"))
    assert found.trade.adds_up() is True
    assert found.confidence >= 0.9


@pytest.mark.parametrize(("row", "is_certain"), [("15.01.2026 09:31", True), ("15.01.2026", False)])
def test_the_only_day_of_a_document_is_that_of_the_trade_if_a_time_of_day_stands_beside_it(
    row: str, is_certain: bool
) -> None:
    text = ITALIAN.replace("Data esecuzione: 15/01/2026\nData valuta: 19/01/2026", row)
    assert read_only(text)["trade_date"] == "2026-01-15"
    assert (read(text).confidence >= 0.9) is is_certain


def test_a_tax_that_a_fee_includes_is_none() -> None:
    trade = read_only(ENGLISH.replace("Commission: €4.95", "Brokerage & costs incl GST: €4.95"))
    assert (trade["fees"], trade["taxes"]) == ("4.95", "0.00")


def test_the_national_number_stands_in_a_german_isin_or_is_another_ones() -> None:
    assert read_only(GERMAN)["wkn"] == "840400"
    assert read_only(GERMAN.replace("O.N. 840400 ", "O.N. ") + "aus WKN 723610")["wkn"] is None


def test_an_explained_abbreviation_is_no_symbol() -> None:
    text = ENGLISH.replace("ISIN: DE0008404005", "Symbol") + "\nDeferred sales charge (DSC): a fee"
    assert read_only(text)["ticker"] is None


def test_what_was_settled_before_it_was_traded_is_not_certain() -> None:
    assert read(ENGLISH.replace("Settlement date: 19/01/2026", "Settlement date: 12/01/2026")).confidence < 0.9


def test_the_day_of_the_order_is_not_that_of_the_trade() -> None:
    text = GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", "Kauf Ihr Auftrag vom 14.01.2026\nHandelstag 15.01.2026")
    assert read_only(text)["trade_date"] == "2026-01-15"
    assert read_only(text.replace("\nHandelstag 15.01.2026", ""))["trade_date"] != "2026-01-14"


def test_what_was_paid_says_which_way_a_trade_went_where_no_word_does() -> None:
    text = GERMAN.replace("Kauf am", "Abrechnung am")
    assert read_only(text)["direction"] == "buy"
    assert read(text).confidence < 0.9


PARTS = """
Wertpapierabrechnung
Kauf am 15.01.2026
ALLIANZ SE  DE0008404005
Stück  Kurs  Kurswert
4  20,50  82,00
6  20,60  123,60
10  205,60
Provision 4,95 EUR
Endbetrag 210,55 EUR
"""


@pytest.mark.parametrize("price", ["241.80p", "241.80 GBX", "GBX 241.80", "241.80 pence", "£2.418"])
def test_a_price_in_pence_is_one_in_the_pounds_of_its_amount(price: str) -> None:
    note = f"""
Contract note
We have BOUGHT for your account
Security: LEGAL & GENERAL GROUP PLC
ISIN: GB0005603997
Trade date: 14/10/2026
Quantity: 1,250
Price: {price}
Consideration: £3,022.50
Commission: £11.95
Total amount due: £3,034.45
"""
    trade = read_only(note)
    assert (trade["quantity"], trade["price"], trade["gross_amount"]) == ("1250", "2.418", "3022.50")


def test_the_price_of_a_bond_stays_a_percentage_where_pounds_and_pence_are_paid() -> None:
    trade = read_only(
        """
Contract note
We have BOUGHT for your account
Security: 4 1/4% Treasury Stock 2036
ISIN: GB0032452392
Trade date: 14/10/2026
Nominal: 10,000
Price: 98.50
Consideration: £9,850.00
Total amount due: £9,850.00
"""
    )
    assert (trade["quantity"], trade["price"]) == ("10000", "98.5")


@pytest.mark.parametrize(
    ("line", "account"),
    [
        ("Depotnummer: 4471 0029 18", "4471002918"),
        ("Depotnummer  4471002918", "4471002918"),
        ("Compte titres n° 00041 778 203 55  Lyon, le 03/11/2026", "0004177820355"),
        ("Conta n.º  900-44128-7", "900-44128-7"),
        ("Client Reference  AM-7740921", "AM-7740921"),
        ("Depotnummer 12 345 678  15.01.2026", "12345678"),
    ],
)
def test_an_account_is_the_same_however_its_digits_are_grouped(line: str, account: str) -> None:
    assert read_only(f"{line}\n{GERMAN.strip()}")["account"] == account


@pytest.mark.parametrize(
    ("lines", "reference"),
    [
        ("Client Reference  AM-7740921\nContract Note No.  B 26/0048113", "B 26/0048113"),
        ("Nota n.º  NE 2026/10554", "NE 2026/10554"),
        ("Numero ordine  26-1110-004417", "26-1110-004417"),
    ],
)
def test_the_reference_is_the_number_of_the_note_or_the_order_and_not_that_of_the_client(
    lines: str, reference: str
) -> None:
    assert read_only(f"{lines}\n{GERMAN.strip()}")["reference"] == reference


def test_the_parts_of_an_order_are_one_trade() -> None:
    trade = read_only(PARTS)
    assert (trade["quantity"], trade["gross_amount"], trade["settled_amount"]) == ("10", "205.60", "210.55")
    assert read(PARTS).confidence >= 0.9


def test_rows_that_nothing_sums_up_are_not_certain() -> None:
    without_total = PARTS.replace("10  205,60\n", "")
    assert read(without_total.replace("210,55", "86,95")).confidence < 0.9  # as if the first one were all


PLAN = """
Sparplan Kauf  ISIN DE0008404005
Handelstag  Anteile  Preis  Betrag
05.01.2026  2,125  20,50  43,56 EUR
05.02.2026  2,075  21,00  43,58 EUR
"""


def test_each_row_with_a_day_of_its_own_is_a_trade() -> None:
    found = [reading.trade for reading in read(PLAN).trades]
    assert [(str(trade.trade_date), trade.quantity, trade.settled_amount) for trade in found] == [
        ("2026-01-05", Decimal("2.125"), Decimal("43.56")),
        ("2026-02-05", Decimal("2.075"), Decimal("43.58")),
    ]


SIGNED = """
Activity Statement
Symbol  Date  Quantity  Price  Proceeds
Stocks EUR
SAP  2026-01-06  50  240.15  -12,007.50
Stocks USD
NVDA  2026-01-06  -10  149.20  1,492.00
"""


def test_signs_say_which_way_where_no_word_does_and_a_person_looks_at_it() -> None:
    found = [reading.trade for reading in read(SIGNED).trades]
    assert [(trade.direction, trade.ticker, trade.currency) for trade in found] == [
        ("buy", "SAP", "EUR"),
        ("sell", "NVDA", "USD"),
    ]
    assert read(SIGNED).confidence < 0.9


def test_a_note_that_goes_on_to_the_currency_of_the_account_was_settled_there() -> None:
    text = ENGLISH.replace("€", "EUR ") + "\nExchange rate EUR/GBP: 0.8600\nSettlement amount: GBP 180.56"
    trade = read_only(text)
    assert (trade["settled_amount"], trade["currency"], trade["gross_amount"]) == ("180.56", "GBP", "176.30")


def test_two_numbers_without_labels_are_quantity_and_price_if_they_make_the_gross_amount() -> None:
    text = DUTCH.replace("Aantal: 10\nKoers: 20,50 EUR", "10 ALLIANZ SE\ntegen EUR 20,50")
    trade = read_only(text)
    assert (trade["quantity"], trade["price"]) == ("10", "20.5")


def test_a_blank_parts_thousands_only_if_that_holds_together() -> None:
    text = FRENCH.replace("Quantité : 10   Cours : 20,50 EUR", "Quantité Cours Devise\n10 120,50 EUR").replace(
        "Montant brut : 205,00", "Montant brut : 1 205,00"
    )
    trade = read_only(text.replace("209,95", "1 209,95"))
    assert (trade["quantity"], trade["gross_amount"]) == ("10", "1205.00")


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


def given(text: str) -> BytesIO:
    return BytesIO(orjson.dumps(Transcript.from_rows(text.strip("\n").splitlines()).to_json()))


def classified(text: str) -> Any:
    answer: Any = note.classify_note(given(text), {})
    return answer["document_type"]


def test_the_reader_answers_with_type_trades_and_confidence() -> None:
    assert classified(GERMAN) == "contract_note"
    answer: Any = note.extract_trades(given(GERMAN), {})
    assert len(answer["extraction"]["trades"]) == 1
    assert (answer["reader"], answer["doubts"]) == ("trade-rules/2", [])
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
    assert read("\n".join([row] * 300)) is not None


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
        (None, "trade-rules/2"),
        ("ocr_uncertain", "ocr+trade-rules/2"),
    ]


NET_ROWS = """
Monthly Account Statement
Opening cash balance 18,904.11 USD
Trade date  Settle date  Buy/Sell  Symbol  Quantity  Price  Comm.  Net amount
07/06/2026  07/07/2026  Buy  MSFT  30  412.10  1.00  -12,364.00
07/14/2026  07/15/2026  Sell  KO  120  61.25  1.20  7,348.80
Closing cash balance 13,888.91 USD
"""


def test_a_row_with_its_cost_and_a_net_amount_has_the_gross_amount_that_multiplies() -> None:
    found = [reading.trade for reading in read(NET_ROWS).trades]
    assert [(trade.gross_amount, trade.fees, trade.settled_amount) for trade in found] == [
        (Decimal("12363.00"), Decimal("1.00"), Decimal("12364.00")),
        (Decimal("7350.00"), Decimal("1.20"), Decimal("7348.80")),
    ]


def test_a_row_with_two_days_was_settled_on_the_second() -> None:
    found = [reading.trade for reading in read(NET_ROWS).trades]
    assert [str(trade.settlement_date) for trade in found] == ["2026-07-07", "2026-07-15"]


def test_a_sentence_may_say_when_a_trade_is_settled() -> None:
    sentence = (
        "Den Betrag buchen wir mit Wertstellung 19.01.2026 zu Lasten des Kontos 4401889701"
        " bei der Musterbank, Filiale Musterstadt."
    )
    assert read_only(GERMAN.replace("Valuta 19.01.2026", sentence))["settlement_date"] == "2026-01-19"


def test_costs_that_do_not_explain_what_was_settled_are_not_stated() -> None:
    trade = read_only(GERMAN.replace("209,95", "219,95"))
    assert (trade["gross_amount"], trade["settled_amount"]) == ("205.00", "219.95")
    assert (trade["fees"], trade["taxes"]) == (None, None)


def test_a_cost_that_no_label_names_stands_below_the_amount_that_multiplies() -> None:
    text = GERMAN.replace("Kurswert 205,00 EUR", "205,00 EUR").replace("Provision", "Hausbankanteil")
    assert read_only(text)["fees"] == "4.95"
    assert read(text).confidence < 0.9


def test_a_cost_of_a_cent_is_one() -> None:
    trade = read_only(GERMAN.replace("4,95", "0,01").replace("209,95", "205,01"))
    assert (trade["fees"], trade["settled_amount"]) == ("0.01", "205.01")


WITHOUT_PRODUCT = GERMAN.replace("Preis pro Anteil 20,500000 EUR", "Zwischensumme 198,00 EUR")


def test_where_nothing_multiplies_the_gross_amount_is_the_one_that_costs_lead_from() -> None:
    assert read_only(WITHOUT_PRODUCT)["gross_amount"] == "205.00"
    assert read_only(WITHOUT_PRODUCT.replace("209,95", "219,95"))["gross_amount"] is None


def test_a_booking_is_nearer_to_a_trade_than_the_day_of_its_letter() -> None:
    text = GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", "Kauf\nBuchungsdatum: 15.01.2026")
    text = f"Datum: 20.01.2026\n{text}\nMusterbank 20.01.2026"
    assert read_only(text)["trade_date"] == "2026-01-15"
    assert read(text).confidence < 0.9


def test_a_long_row_of_a_table_may_say_the_side_and_a_long_sentence_may_not() -> None:
    words = ["Sehr geehrte Damen und Herren, " * 2, "in Ihrem Auftrag geschah das Folgende " * 2, "Kauf", "sofort"]
    text = GERMAN.replace("Kauf am 15.01.2026 um 08:13:35", "Handelstag 15.01.2026\n{}").replace("zulasten", "Betrag")
    text = text.replace("4,95", "0,00").replace("209,95", "205,00")  # or the costs would say it
    assert read_only(text.format("    ".join(words)))["direction"] == "buy"
    assert read_only(text.format(" ".join(words)))["direction"] is None


STOCK_PLAN = """
Purchase Confirmation
ISIN: DE0008404005
Purchase date: 15 Jan 2026
Shares purchased: 5.2350
Market value per share 215.590000 USD
Purchase price 183.250000 USD
Total value 1,128.61 USD
Net amount 959.31 USD
Total price 959.31375 USD
"""


def test_of_the_prices_of_a_plan_that_was_paid_which_leads_to_the_amount() -> None:
    text = STOCK_PLAN.replace("Total value 1,128.61 USD\n", "Value of shares 1,128.61 USD\n")
    trade = read_only(text)
    assert (trade["price"], trade["gross_amount"], trade["settled_amount"]) == ("183.25", "959.31", "959.31")


def test_of_totals_that_nothing_tells_apart_none_is_the_gross_amount() -> None:
    trade = read_only(STOCK_PLAN.replace("Purchase price 183.250000 USD\n", ""))
    assert (trade["gross_amount"], trade["settled_amount"]) == (None, None)
