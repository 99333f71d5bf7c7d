"""What was traded: by numbers, symbol and name."""

import pytest
from note_texts import ENGLISH, GERMAN, read, read_only


def test_a_wrong_check_digit_is_no_security() -> None:
    assert read_only(GERMAN.replace("DE0008404005", "DE0008404006"))["isin"] is None


def test_the_title_of_a_note_is_no_name_of_a_security() -> None:
    text = GERMAN.replace("Wertpapierabrechnung", "Wertpapier Abrechnung Kauf")
    assert read_only(text)["security_name"] == "ALLIANZ SE NA O.N."


def test_the_national_number_stands_in_a_german_isin_or_is_another_ones() -> None:
    assert read_only(GERMAN)["wkn"] == "840400"
    assert read_only(GERMAN.replace("O.N. 840400 ", "O.N. ") + "aus WKN 723610")["wkn"] is None


def test_an_explained_abbreviation_is_no_symbol() -> None:
    text = ENGLISH.replace("ISIN: DE0008404005", "Symbol") + "\nDeferred sales charge (DSC): a fee"
    assert read_only(text)["ticker"] is None


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


def test_a_word_with_a_number_behind_it_is_no_security_whatever_it_checks() -> None:
    found = read(f"ADRESSZEILE4=Musterweg 1\n{GERMAN.strip()}")
    assert ([trade.trade.isin for trade in found.trades], found.doubts) == (["DE0008404005"], ())


@pytest.mark.parametrize(
    "rows",
    [
        "Bezeichnung\nALLIANZ SE NA O.N. (FR0000120578/920657)",
        "Bezeichnung  Wertpapierkennnummer/ISIN\nSANTE S.A. 920657\nACTIONS FR0000120578",
    ],
)
def test_the_national_number_stands_in_a_pair_or_at_the_end_of_a_row_below_its_head(rows: str) -> None:
    text = GERMAN.replace("Bezeichnung WKN ISIN\nALLIANZ SE NA O.N. 840400 DE0008404005", rows)
    assert read_only(text)["wkn"] == "920657"


def test_the_country_of_a_tax_is_no_symbol() -> None:
    text = ENGLISH.replace("ISIN: DE0008404005", "Withholding tax 15.00% (US) 0.00")
    assert read_only(text)["ticker"] is None


SYMBOLS = """
Trade confirmation
WE HAVE SOLD ON YOUR ACCOUNT
Trade date: 24 May 2026  Settlement date: 26 May 2026
Quantity Security Code Security Description Price +1 Consideration Currency
40 HBRD HARBOUR DREDGING 21.88 $875.20 AUD
Brokerage $9.50 AUD
Net value $865.70 AUD
"""


def test_a_symbol_stands_below_its_head_where_one_word_stands_below_each_in_front_of_it() -> None:
    assert read_only(SYMBOLS)["ticker"] == "HBRD"


def test_the_mark_of_a_footnote_is_no_price() -> None:
    assert read_only(SYMBOLS.replace("875.20", "880.00"))["price"] == "21.88"


def test_a_symbol_behind_its_label_comes_before_another_word_in_brackets() -> None:
    text = ENGLISH.replace("ISIN: DE0008404005", "ISIN: DE0008404005\nSymbol ALV:xetr\nExchange MIDWAY LINK (MWLK)")
    assert read_only(text)["ticker"] == "ALV"


@pytest.mark.parametrize("words", ["ARNO (LUX) GLOBAL FUND", "Regulated by the authority (FCA)", "ARNO FUND (B)"])
def test_a_place_an_authority_or_a_class_of_shares_in_brackets_is_no_symbol(words: str) -> None:
    assert read_only(ENGLISH.replace("ISIN: DE0008404005", words))["ticker"] is None


def test_a_symbol_may_stand_alone_below_the_name_of_a_company() -> None:
    text = ENGLISH.replace("Investment name: Allianz SE\nISIN: DE0008404005", "COMPANY: HARBOUR DREDGING LTD\nHBRD")
    assert (read_only(text)["ticker"], read_only(text)["security_name"]) == ("HBRD", "HARBOUR DREDGING LTD")


WITH_A_TAX = """
Relevé d'opérations
05/08/2026  ACHAT COMPTANT  FR0000120271  HOULE SA  363,59
QUANTITE : 7
COURS : 51,80  BRUT : 362,60
COURTAGE : 0,99
05/08/2026  ACHAT COMPTANT  NL0000395903  VAART NV  265,79
QUANTITE : 2
COURS : 132,40  BRUT : 264,80
COURTAGE : 0,99
05/08/2026  TAXE TRANSACTIONS  FR0000120271  HOULE SA  1,45
"""


def test_what_follows_a_trade_in_a_statement_does_not_hide_its_security() -> None:
    assert [found.trade.isin for found in read(WITH_A_TAX).trades] == ["FR0000120271", "NL0000395903"]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("This stock is not listed on an exchange", None),
        ("HARBOUR STOCK PLAN SERVICES, LLC", None),
        ("Type of instrument: Shares", None),
        ("Stock-Exchange order", None),
        ("Security Exchange", None),
        ("Security  Debit Credit", None),
        ("Waardecode LU0378449770", None),
        ("Bought 10 Arno Global Fund (LU) at EUR 20.50", "Arno Global Fund"),
        ("Position Quantity Price Amount\nArno Global Fund 10 20.50 EUR 205.00 EUR", "Arno Global Fund"),
        ("Registered: no. Security: Arno Global Fund", "Arno Global Fund"),
    ],
)
def test_a_name_is_a_field_and_no_word_of_a_sentence(line: str, name: str | None) -> None:
    text = ENGLISH.replace("Investment name: Allianz SE\nISIN: DE0008404005", line).replace("You have PURCHASED\n", "")
    assert read_only(text)["security_name"] == name


def test_a_head_that_names_both_sides_is_no_symbol() -> None:
    row = "BUY/SELL QTY CURRENCY PRICE\nbuy 10 USD 20.50"
    text = ENGLISH.replace("Investment name: Allianz SE\nISIN: DE0008404005", f"SYMBOL: ARNO\n{row}")
    assert read_only(text)["ticker"] == "ARNO"


def test_the_national_number_of_a_german_isin_may_stand_anywhere() -> None:
    text = GERMAN.replace(
        "Bezeichnung WKN ISIN\nALLIANZ SE NA O.N. 840400", "ALLIANZ SE 840400 NAMENS-AKTIEN O.N. ISIN"
    )
    assert read_only(text)["wkn"] == "840400"
    assert read_only(text.replace("840400 NAMENS", "NAMENS"))["wkn"] is None


def test_the_other_numbers_of_a_security_in_front_of_its_isin_are_no_other_trade() -> None:
    text = GERMAN.replace("ALLIANZ SE NA O.N. 840400 DE0008404005", "Valor 1987674, FR0000120578, ISIN DE0008404005")
    assert read(text).doubts == ()
    assert read(text.replace(", ISIN DE", " und DE")).doubts == ("trades",)


@pytest.mark.parametrize(
    ("line", "account"),
    [
        ("Client account 4471-082-B", "4471-082-B"),
        ("Depot 600188273", "600188273"),
        ("Compte-titres ordinaire n° 20417 0088312 Y", "204170088312Y"),
        ("Depot 7800000000/20261216-45514943", None),  # that of a booking
    ],
)
def test_the_number_of_an_account_is_whole(line: str, account: str | None) -> None:
    rest = "\n".join(row for row in GERMAN.splitlines() if "Konto" not in row)
    assert read_only(f"{rest}\n{line}\nEndbetrag 209,95 EUR")["account"] == account


@pytest.mark.parametrize("label", ["Rif. ordine", "Réf. de l'opération", "Ref. orden"])
def test_a_shortened_label_of_a_reference_is_one(label: str) -> None:
    assert read_only(f"{GERMAN}{label} 26-1118-000914")["reference"] == "26-1118-000914"


@pytest.mark.parametrize("front", ["VENTE  ", "02.09.2026 Kauf "])
def test_the_day_and_the_side_in_front_of_a_name_are_none_of_it(front: str) -> None:
    text = GERMAN.replace("Bezeichnung WKN ISIN\nALLIANZ SE NA O.N. 840400", f"{front}KERGUEN MARITIME 4,20% 2031")
    assert read_only(text)["security_name"] == "KERGUEN MARITIME 4,20% 2031"


def test_the_number_of_another_country_is_none_of_a_security_that_has_its_own() -> None:
    text = GERMAN.replace("Bezeichnung WKN ISIN\nALLIANZ SE NA O.N. 840400 DE", "ISIN DE")
    text += "Valorennummer 23159222\n{}"
    assert read_only(text.format("Wertpapierkennnummer 840400"))["wkn"] == "840400"
    text = text.replace("DE0008404005", "DK0060534915")
    assert read_only(text.format("Wertpapierkennnummer A1XA8R"))["wkn"] == "A1XA8R"
    assert read_only(text.format(""))["wkn"] == "23159222"


@pytest.mark.parametrize("line", ["Transaktion 61327806-0002", "Handelsreferenz: 61327806-0002"])
def test_the_number_of_a_transaction_is_its_reference(line: str) -> None:
    assert read_only(f"{GERMAN}{line}")["reference"] == "61327806-0002"


def test_a_uuid_below_the_label_of_a_reference_is_one() -> None:
    number = "47ca082b-7818-45d4-9dda-8cb2d1174086"
    assert read_only(f"Abrechnungsnummer\nErika Muster {number}\n{GERMAN}")["reference"] == number
    assert read_only(f"Dokument\nErika Muster {number}\n{GERMAN}")["reference"] is None


@pytest.mark.parametrize(
    "row",
    [
        "02 Sep 2026  Buy  SAP SE  DE0007164600",
        "02 Sep 2026  04 Sep 2026  Buy  SAP SE  DE0007164600",
        "02.09.2026  10:15:00  Kauf  SAP SE  DE0007164600",
        "SAP SE  Achat  02/09/2026  DE0007164600",
        "02.09.2026  Kauf Storno  SAP SE  DE0007164600",
        "02 Sep 2026 Buy SAP SE DE0007164600",
        "Wertpapier: 02.09.2026  SAP SE",
        "Instrument  Buy  SAP SE DE0007164600",
        "Fonds  SAP SE  Compra",
        "Wertpapier  DE0007164600  SAP SE",
    ],
)
def test_columns_beside_a_name_are_none_of_it(row: str) -> None:
    text = f"Wertpapierabrechnung Kauf\n{row}\nStück: 20\nKurs: 214,60 EUR\nEndbetrag: 4.292,00 EUR"
    assert read_only(text)["security_name"] == "SAP SE"


def test_cells_of_a_name_are_joined_by_a_blank_and_a_side_inside_it_stays() -> None:
    text = "Kauf am 15.01.2026\nBEST BUY CO INC  DL-,01  US0865161014\nStück: 20\nKurs: 214,60 EUR"
    assert read_only(text)["security_name"] == "BEST BUY CO INC DL-,01"


def test_the_number_of_an_order_behind_a_side_is_no_name() -> None:
    text = "Wertpapier Kauf, Ref.: 403747782 05.10.2023 09.10.2023 -45,77 EUR\nLU1931974692, ST 1,6866"
    assert read_only(text)["security_name"] is None


@pytest.mark.parametrize(
    ("line", "reference"),
    [
        ("Orderreferentie: 395001", "395001"),
        ("Tipo LIMIT ID ordine kwPaRmuster7LeQ", "kwPaRmuster7LeQ"),
        ("Order ID: kwPaRmusterLeQb", "kwPaRmusterLeQb"),
        ("Order ID: WILLBENAMED", None),
        ("Status REF. ISIN Name\nBuy AB1234567 DE0008404005 ALLIANZ", "AB1234567"),
        ("Status REF. ISIN Name\nBuy DE0008404005 ALLIANZ", None),
    ],
)
def test_the_number_of_an_order_stands_behind_its_name_or_in_front_of_the_isin(
    line: str, reference: str | None
) -> None:
    assert read_only(f"{ENGLISH}{line}\n")["reference"] == reference


@pytest.mark.parametrize(
    ("lines", "reference"),
    [
        ("Geschäfts-Nr. 000-123456", "000-123456"),
        ("Geschäfts-Nr. 000-123456\nAuftrags-Nr. ONBA-42", "ONBA-42"),
        ("Geschäfts-Nr. 000-123456\nPortfolio-Nr. 000123456", None),
        ("Kunden-Nr.: 000-123456\nGeschäfts-Nr. 000-123456", None),
        ("Kundenauftrag Nr. 000-123456\nGeschäfts-Nr. 000-123456", "000-123456"),
    ],
)
def test_a_number_of_business_that_may_be_the_customers_is_no_reference(lines: str, reference: str | None) -> None:
    assert read_only(GERMAN + lines)["reference"] == reference


@pytest.mark.parametrize(
    ("number", "isin", "wkn"),
    [("978954", "ISIN ES0125220311", None), ("122593168", "ISIN LU2498533301", "122593168"), ("978954", "", "978954")],
)
def test_a_swiss_number_of_six_digits_is_none_of_germany_where_another_number_is_known(
    number: str, isin: str, wkn: str | None
) -> None:
    text = GERMAN.replace("ALLIANZ SE NA O.N. 840400 DE0008404005", f"Valorennummer {number}\n{isin}")
    assert read_only(text.replace("Bezeichnung WKN ISIN\n", ""))["wkn"] == wkn


@pytest.mark.parametrize(
    "line",
    [
        "Authorised and regulated by the Financial Conduct Authority, reference 114097.",
        "Firm Reference Number 114097.",
        "Tax reference: 1234567890",
        "Cours de référence : 172,00 EUR",
        "Immatriculée à l'ORIAS sous le numéro 07 008 441.",
        "Iscritta all'Albo delle banche al numero 5034.",
        "Entidad inscrita en el registro de la CNMV con el número 182.",
        "Registada na CMVM com o número 131.",
    ],
)
def test_a_number_of_something_else_is_no_reference(line: str) -> None:
    assert read_only(f"{ENGLISH}{line}\n")["reference"] is None


@pytest.mark.parametrize("label", ["Reference:", "Our reference:", "Référence :", "Numero", "Referencia:", "Kenmerk"])
def test_a_label_that_stands_alone_or_says_whose_it_is_has_the_reference_behind_it(label: str) -> None:
    assert read_only(f"{ENGLISH}{label} 88120\n")["reference"] == "88120"


@pytest.mark.parametrize(
    "lines",
    [
        "Please pay to: Harcourt client money account, sort code 20-44-11, account number 55118822.",
        "Sort code: 20-44-11\nAccount number: 55118822",
        "Paid from your nominated bank account number 11884422",
    ],
)
def test_an_account_that_money_is_paid_to_is_not_the_one_of_the_securities(lines: str) -> None:
    assert read_only(f"{ENGLISH}{lines}\n")["account"] is None


@pytest.mark.parametrize("name", ["Cash account", "ISA 2026/27", "des Empfängers: Brokerhaus Nord", "Wertpapierkonto"])
def test_a_kind_of_account_is_nobody_s_name(name: str) -> None:
    assert read_only(f"{ENGLISH}Kontoinhaber {name}\n")["account_name"] is None


@pytest.mark.parametrize("name", ["Anna Finch", "Desmond Doe", "Konto Consulting plc", "de Vries"])
def test_a_holder_keeps_the_name(name: str) -> None:
    assert read_only(f"{ENGLISH}Account holder: {name}\n")["account_name"] == name
