"""Whose tax number and account it is, where the customer's stand beside them."""

from dataclasses import replace

import pytest

from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract.layout_rules import read_invoice
from ingestion.extract.payee_numbers import find_iban, find_vat_id


def vat_id(*rows: str) -> str | None:
    return read_invoice(Transcript.from_rows(rows)).invoice.vat_id


def test_of_two_columns_the_one_below_the_seller_counts_however_far_below() -> None:
    rows = ["DODAVATEL                 ODBERATEL", "Jana                      Pekarna", "", ""]
    rows = [row.replace("ODBERATEL", "Odběratel") for row in rows]
    assert vat_id(*rows, "DIČ CZ01626663            DIČ CZ39301401") == "CZ01626663"


@pytest.mark.parametrize(
    ("headings", "own"),
    [("Odběratel                 Dodavatel", "CZ01626663"), ("Dodavatel                 Odběratel", "CZ39301401")],
)
def test_whichever_column_is_the_sellers_its_number_counts(headings: str, own: str) -> None:
    rows = [headings, *["Zboží                     Služby"] * 12, "DIČ CZ39301401            DIČ CZ01626663"]
    assert find_vat_id(read_rows("\n".join(rows)), None) == own


def test_a_sentence_about_the_seller_is_no_heading_of_a_column() -> None:
    rows = ["Odběratel                 Jana", "Pekarna", "Dodavatel odpovídá za vady zboží po celou dobu záruky"]
    assert vat_id(*rows, "DIČ CZ39301401            DIČ CZ01626663") != "CZ39301401"


def test_of_two_blocks_without_a_heading_the_one_below_the_suppliers_name_counts() -> None:
    supplier = ["Suministros Hosteleros Levante, S.L.", "Calle Mayor 21", "CIF B21114673"]
    title = "FACTURA                                           Hotel Playa Azul, S.A."
    assert vat_id(*supplier, "", title, f"{'':50}CIF A08015497") == "B21114673"


def test_a_letter_says_whom_it_is_for() -> None:
    customer = ["Spett.le", "Meccanica Torri S.r.l.", "P.IVA 58657800338"]
    assert vat_id("Studio Rinaldi", "P.IVA 37894770314", "", *customer) == "37894770314"


def test_a_polish_account_is_written_without_its_country() -> None:
    rows = ["Faktura nr 7/2026", "Nr konta: 61 1090 1014 0000 0712 1981 2874"]
    assert read_invoice(Transcript.from_rows(rows)).invoice.iban == "PL61109010140000071219812874"
    rows[1] = rows[1].replace("2874", "2875")
    assert read_invoice(Transcript.from_rows(rows)).invoice.iban is None


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Betrag wird am 15.10.2026 von Ihrem Konto {iban} abgebucht.",
        "We will debit your account {iban} on 15 October 2026.",
        "Le montant sera prélevé sur votre compte {iban} le 15/10/2026.",
        "El importe se cargará en su cuenta {iban} el 15/10/2026.",
        "L'importo sarà addebitato sul Vostro conto {iban} il 15/10/2026.",
        "Het bedrag wordt op 15-10-2026 van uw rekening {iban} afgeschreven.",
        "O valor será debitado da sua conta {iban} em 15/10/2026.",
        "Beløbet trækkes fra din konto {iban} den 15.10.2026.",
        "Den Rechnungsbetrag ziehen wir von Ihrem Konto\nIBAN {iban} ein.",
        "Zahlung per SEPA-Lastschrift vom Konto {iban}, Mandat M-1",
        "Prélèvement sur le compte {iban}",
        "Domiciliación bancaria: {iban}",
    ],
)
def test_the_account_that_is_debited_is_the_customers(sentence: str) -> None:
    page = read_rows(sentence.format(iban="DE89 3704 0044 0532 0130 00"))
    assert find_iban(page) is None
    assert (
        find_iban([*page, *read_rows("Bankverbindung: IBAN DE02 1203 0000 0000 2020 51")]) == "DE02120300000000202051"
    )


def test_what_is_paid_from_the_customers_account_goes_to_the_suppliers() -> None:
    page = read_rows("Bitte überweisen Sie von Ihrem Konto auf unser Konto DE89 3704 0044 0532 0130 00.")
    assert find_iban(page) == "DE89370400440532013000"


def read_rows(text: str) -> tuple[TextLine, ...]:
    return Transcript.from_rows(text.splitlines()).lines


def write_lines(*written: tuple[str, float]) -> list[TextLine]:
    rows = Transcript.from_rows(text for text, _ in written).lines
    return [replace(row, height=height) for row, (_, height) in zip(rows, written, strict=True)]


def test_an_account_in_print_that_no_eye_looks_at_does_not_go_before_the_one_that_is_read() -> None:
    hidden, shown = "IBAN DE02 1203 0000 0000 2020 51", "IBAN DE89 3704 0044 0532 0130 00"
    assert find_iban(write_lines((hidden, 4.6), ("Invoice", 20.0), (shown, 11.6))) == "DE89370400440532013000"
    # In a foot all accounts are small, and so is the print around them.
    assert find_iban(write_lines((hidden, 6.0), (shown, 6.0), ("Invoice", 20.0))) == "DE02120300000000202051"
    # The customer's own, which is debited, says nothing of how small the supplier's may be.
    debited = "Der Betrag wird von Ihrem Konto DE89 3704 0044 0532 0130 00 abgebucht."
    assert find_iban(write_lines((debited, 11.6), ("Muster GmbH", 6.0), (hidden, 6.0))) == "DE02120300000000202051"


def test_the_account_of_a_mandate_is_the_payers_in_whichever_line_it_stands() -> None:
    mandate = ["SEPA-Lastschriftmandat", "Kontoinhaber: Anna Kunz", "IBAN: DE88 2008 0000 0970 3757 00"]
    page = Transcript.from_rows(["Muster GmbH", "Rechnung 17", *mandate]).lines
    assert find_iban(page) is None
    foot = Transcript.from_rows(["Rechnung 17", *mandate, "", "", "IBAN DE02 1203 0000 0000 2020 51"]).lines
    assert find_iban(foot) == "DE02120300000000202051"


@pytest.mark.parametrize(
    ("foot", "expected"),
    [
        (["Ein Partner der Verbund AG, HRB 12345, USt-IdNr. DE136695976"], None),
        (["Verbund AG      www.verbund.example      USt-IdNr. DE136695976"], None),
        (["Verbund AG, Ring 9", "Amtsgericht Köln HRB 12345, USt-IdNr. DE136695976"], None),
        (["Malerbetrieb Kunz, Ring 3, USt-IdNr. DE136695976"], "DE136695976"),
        (["Ring 3      Stadtbank AG                     USt-IdNr. DE136695976"], "DE136695976"),
        (["Ring 3      Nordgeld AG                      USt-IdNr. DE136695976", f"{'':12}IBAN DE89"], "DE136695976"),
    ],
)
def test_a_number_behind_another_companys_name_is_that_companys(foot: list[str], expected: str | None) -> None:
    assert (
        find_vat_id(read_rows("\n".join(["Malerbetrieb Kunz", "Rechnung 7", *foot])), "Malerbetrieb Kunz") == expected
    )


def test_a_number_at_the_end_of_another_companys_address_is_that_companys() -> None:
    """As that of the customer in an envelope's window, where no word says whose it is."""
    letter = (
        "Muster GmbH, Ring 3, 6020 Innsbruck\n\n{}\nTalweg 1\n83242 Reit im Winkl\nDeutschland\nBayern\nUID DE155448768"
    )
    assert find_vat_id(read_rows(letter.format("Beispiel GmbH")), "Muster GmbH") is None
    assert find_vat_id(read_rows(letter.format("Muster GmbH")), "Muster GmbH") == "DE155448768"
    assert find_vat_id(read_rows(letter.format("Beispiel GmbH").replace("Bayern", "")), "Muster GmbH") == "DE155448768"


def test_a_court_and_a_legal_form_without_a_name_are_no_other_company() -> None:
    name = "Zimmerei Holzapfel GmbH & Co. KG"
    court = read_rows(f"{name}    AG Mannheim HRA 704411    USt-IdNr. DE814327653")
    assert find_vat_id(court, name) == "DE814327653"
    assert find_vat_id(read_rows("SARL au capital de 12 000 € — TVA FR68492837166"), "Ets Moreau") == "FR68492837166"
    other = read_rows("Verbund AG    AG Mannheim HRB 704411    USt-IdNr. DE814327653")
    assert find_vat_id(other, name) is None


def test_a_tax_number_without_a_label_counts_in_the_foot_beside_the_suppliers_name() -> None:
    rows = "Rechnung\nBergbahnen\nUID DE155448768\nTotal 12,00\n"
    foot = "alpensoft IT GmbH          LG Innsbruck\nKaiserjägerstraße 30       ATU67123454          BIC HYPTAT22"
    page = read_rows(rows.replace("UID", "Ihre UID") + foot)
    assert find_vat_id(page, "alpensoft IT GmbH") == "ATU67123454"
    assert find_vat_id(page, "Somebody else GmbH") is None


def test_an_account_for_transfers_behind_a_sentence_about_debits_is_the_payees() -> None:
    above = "You pay by direct debit? We collect from your account on the due date."
    iban = "IE70 BOFI 9000 1712 3456 78"
    assert find_iban(read_rows(f"{above}\nBy EFT: Bank of Ireland, IBAN {iban}")) == iban.replace(" ", "")
    assert find_iban(read_rows(f"We collect from your account.\nIBAN {iban}")) is None


def test_an_account_may_go_on_in_the_line_below_of_its_cell() -> None:
    first = "IBAN PT50 0062 4353 8160 7551          IVA       141,45"
    assert (
        find_iban(read_rows(f"{first}\n2418 1                                 Total     756,45"))
        == "PT50006243538160755124181"
    )
    assert find_iban(read_rows(f"{first}\n2418 2                                 Total     756,45")) is None


def test_our_number_is_the_suppliers_whoever_is_addressed_behind_it() -> None:
    row = "Unsere MWST-Nr.: CHE-113.442.566 MWST Ihre Kontaktperson: Nadja Grabherr"
    assert find_vat_id(read_rows(row), "Grabherr Treuhand AG") is not None
    assert find_vat_id(read_rows(row.replace("Unsere", "Die")), "Grabherr Treuhand AG") is None


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Betrag wird von Ihrem Konto eingezogen. Keine Überweisung nötig. IBAN {iban}",
        "Der Betrag wird von Ihrem Konto eingezogen. Eine Überweisung entfällt: IBAN {iban}",
        "We take it from your account. No bank transfer, please: IBAN {iban}",
        "Se cargará en su cuenta. No haga transferencia. IBAN {iban}",
        "Beloppet dras från ert konto. Ingen överföring behövs. IBAN {iban}",
        "Wir ziehen ein von\n{iban}",
        "Pobierzemy z Państwa rachunku. Bez przelewu. Rachunek 61 1090 1014 0000 0712 1981 2874",
    ],
)
def test_words_that_want_no_transfer_make_no_account_the_payees(sentence: str) -> None:
    assert find_iban(read_rows(sentence.format(iban="DE89 3704 0044 0532 0130 00"))) is None


@pytest.mark.parametrize(
    "row",
    [
        "Unser Kunde USt-IdNr. ATU67123454",
        "Nostro cliente P.IVA IT07643520567",
        "Notre client TVA FR40303265045",
        "Our ref AB/12 Your VAT no. GB999999973",
        "Onze ref. AB Uw btw-nummer NL001234567B01",
        "Vores ref. AB Jeres CVR-nr. DK25313763",
        "Unsere USt-IdNr. siehe Fuß, Ihre USt-IdNr.: ATU67123454",
        # A company stands before it.
        "Ein Unternehmen der Verbund AG Köln HRB 4711 USt-IdNr. DE811111119",
        "SARL unipersonnelle Bâtiplus TVA FR40303265045",
    ],
)
def test_a_number_of_whom_our_line_speaks_is_not_ours(row: str) -> None:
    account = "IBAN DE89 3704 0044 0532 0130 00"
    assert find_vat_id(read_rows(f"Rechnung\n{row}\n{account}"), "Malerbetrieb Kunz") is None


@pytest.mark.parametrize("other", ["Sommerfeld Verlag AG", "Fiskalvertretung Steuerrat Wien"])
def test_a_bare_number_below_another_name_in_the_foot_is_that_ones(other: str) -> None:
    foot = f"Hallbrunn GmbH            {other}\nIndustrieweg 14           ATU67123454"
    assert find_vat_id(read_rows(f"Rechnung\nLeistung\n{foot}"), "Hallbrunn GmbH") is None


@pytest.mark.parametrize(
    "text",
    [
        "Cuenta de cargo: {iban}",
        "Compte débité : {iban}",
        "Debited from {iban}",
        "Obciążymy rachunek {iban}",
        "Wir buchen den Betrag ab von {iban}",
        "Wir ziehen den Betrag am 15.10.2026 ein.\nAnna Kunz\nIBAN {iban}",
        "We will debit on 15 October\nAccount holder: Anna Kunz\nIBAN {iban}",
        "{iban} wird am 15.10.2026 belastet",
        "IBAN {iban} will be debited on 15 October",
        "Erstattung auf das Konto {iban}",
        "We collect from your account. By bank transfer you need not pay, IBAN {iban}",
        "Refund\nBy bank transfer: IBAN {iban}",
        "We refund to your account.\nBy bank transfer: IBAN {iban}",
    ],
)
def test_an_account_near_words_of_a_debit_or_a_refund_is_not_the_payees(text: str) -> None:
    assert find_iban(read_rows("Rechnung\n" + text.format(iban="DE89 3704 0044 0532 0130 00"))) is None


@pytest.mark.parametrize(
    "words", ["Wir ziehen ein von", "Lastschrift\nAnna Kunz", "Abbuchung\nAnna Kunz\nHauptstraße 1", "Refund to"]
)
def test_no_account_in_pieces_is_read_near_words_of_a_debit(words: str) -> None:
    pieces = "DE89 3704 0044 0532\n0130 00"
    assert find_iban(read_rows(f"Rechnung\n{words}\n{pieces}")) is None
    assert find_iban(read_rows(f"Rechnung\nBitte überweisen Sie an\n{pieces}")) is not None


def test_a_customers_number_and_a_banks_place_are_no_words_of_a_debit() -> None:
    iban = "IBAN DE89 3704 0044 0532 0130 00"
    for row in ("Debitorennummer 10448", "Debiteurnr. 10448", "Domiciliation : CIC Lyon"):
        assert find_iban(read_rows(f"Rechnung\n{row}\n{iban}")) == "DE89370400440532013000", row
        assert find_iban(read_rows(f"Rechnung\n{row} {iban}")) == "DE89370400440532013000", row
