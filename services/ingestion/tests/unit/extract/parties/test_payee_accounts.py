"""Which account an invoice is to be paid to, where the customer's, an old one or another company's stand beside it."""

from dataclasses import replace

import pytest

from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract.layout_rules import read_invoice
from ingestion.extract.parties.payee_accounts import find_iban, find_payee_accounts

FAR_BELOW = "\n" * 14


def read_rows(text: str) -> tuple[TextLine, ...]:
    return Transcript.from_rows(text.splitlines()).lines


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


OTHER_ACCOUNT, OWN_ACCOUNT = "DE89 3704 0044 0532 0130 00", "DE02 1203 0000 0000 2020 51"


def read_own(text: str, supplier_name: str = "Hallbrunn Metallbau GmbH") -> str | None:
    return find_iban(read_rows(text), "EUR", supplier_name)


@pytest.mark.parametrize(
    "note",
    [
        "Unsere Bankverbindung hat sich geändert. Bitte nur noch auf IBAN {iban}",
        "Please pay this invoice to our account with NatWest, IBAN {iban}",
        "Postbank IBAN {iban}",
        "Paiement uniquement sur le compte de l'administrateur : IBAN {iban}",
    ],
)
def test_of_two_accounts_in_two_places_nothing_tells_which_is_meant(note: str) -> None:
    page = f"Hallbrunn Metallbau GmbH\nVolksbank IBAN {OWN_ACCOUNT}{FAR_BELOW}{note.format(iban=OTHER_ACCOUNT)}"
    assert read_own(page) is None
    accounts = find_payee_accounts(read_rows(page), "EUR", "Hallbrunn Metallbau GmbH")
    assert not accounts.is_certain


def test_of_banks_that_are_listed_together_the_first_counts() -> None:
    foot = f"Volksbank Stuttgart IBAN {OWN_ACCOUNT}\nPostbank IBAN {OTHER_ACCOUNT}"
    assert read_own(f"Rechnung 17{FAR_BELOW}{foot}") == OWN_ACCOUNT.replace(" ", "")


def test_the_account_that_stands_wherever_others_do_is_the_one_to_pay_to() -> None:
    sentence = f"Bitte überweisen Sie auf unser Konto IBAN {OWN_ACCOUNT}"
    foot = f"Postbank IBAN {OTHER_ACCOUNT}\nVolksbank IBAN {OWN_ACCOUNT}"
    assert read_own(f"Rechnung 17\n{sentence}{FAR_BELOW}{foot}") == OWN_ACCOUNT.replace(" ", "")


@pytest.mark.parametrize(
    "label", ["Mieterkonto", "Payroll", "Fonds de Travaux", "Derdengeldenrekening", "Conto Fondo Cassa"]
)
def test_among_several_accounts_one_with_a_name_of_its_own_may_have_a_purpose(label: str) -> None:
    foot = f"{label}: IBAN {OTHER_ACCOUNT}\nVolksbank: IBAN {OWN_ACCOUNT}"
    assert read_own(f"Rechnung 17{FAR_BELOW}{foot}") == OWN_ACCOUNT.replace(" ", "")
    assert read_own(f"Rechnung 17{FAR_BELOW}{label}: IBAN {OTHER_ACCOUNT}\nReserve: IBAN {OWN_ACCOUNT}") is None


def test_two_columns_with_headings_of_their_own_say_that_accounts_have_purposes() -> None:
    heads = f"{'Mieten':40}Handwerkerrechnungen"
    assert read_own(f"Rechnung 17{FAR_BELOW}{heads}\n{OTHER_ACCOUNT:40}{OWN_ACCOUNT}") is None


def test_below_another_companys_name_an_account_is_that_companys() -> None:
    for foot in (
        f"Hallbrunn Stahl GmbH · Volksbank · IBAN {OTHER_ACCOUNT}\nHallbrunn Metallbau GmbH · IBAN {OWN_ACCOUNT}",
        f"Hallbrunn Stahl GmbH\nIBAN {OTHER_ACCOUNT}\nHallbrunn Metallbau GmbH\nIBAN {OWN_ACCOUNT}",
        f"{'Hallbrunn Stahl GmbH':40}Hallbrunn Metallbau GmbH\n{OTHER_ACCOUNT:40}{OWN_ACCOUNT}",
    ):
        assert read_own(f"Rechnung 17{FAR_BELOW}{foot}") == OWN_ACCOUNT.replace(" ", "")


def test_a_day_behind_an_account_says_that_there_is_another() -> None:
    for until, since in (("bis 31.10.2026", "ab 01.11.2026"), ("t/m 31-10-2026", "vanaf 01-11-2026")):
        foot = f"IBAN {OTHER_ACCOUNT} ({until})\nIBAN {OWN_ACCOUNT} ({since})"
        assert read_own(f"Rechnung 17{FAR_BELOW}{foot}") is None, until


def test_a_bank_in_between_is_not_paid() -> None:
    for words in (
        "Korrespondenzbank: Commerzbank",
        "Intermediary bank: Commerzbank",
        "Banca corrispondente: Commerzbank",
    ):
        assert read_own(f"Rechnung 17{FAR_BELOW}{words} IBAN {OTHER_ACCOUNT}") is None


def test_the_last_line_of_the_customers_address_is_the_customers_account() -> None:
    letter = f"Hallbrunn Metallbau GmbH\n\n\nSommerfeld Verlag AG\nMarktplatz 3\n79098 Freiburg\nIBAN {OTHER_ACCOUNT}"
    assert read_own(f"{letter}\n\n\nRechnung 17") is None
    assert read_own(f"{letter}{FAR_BELOW}IBAN {OWN_ACCOUNT}") == OWN_ACCOUNT.replace(" ", "")


def test_the_account_of_a_payers_slip_is_below_the_payers_name() -> None:
    slip = f"Überweisungsträger\nSommerfeld Verlag AG\nIBAN {OTHER_ACCOUNT}"
    assert read_own(f"Hallbrunn Metallbau GmbH\n\n\nSommerfeld Verlag AG{FAR_BELOW}{slip}") is None
