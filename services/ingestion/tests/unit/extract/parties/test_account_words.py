"""What the words beside an account say of it."""

import pytest
from invoice_rows import write_rows

from ingestion.extract.parties.payee_accounts import find_iban

OTHER_ACCOUNT, OWN_ACCOUNT = "DE89 3704 0044 0532 0130 00", "DE02 1203 0000 0000 2020 51"


@pytest.mark.parametrize(
    "words",
    [
        "Old account (closed): IBAN {iban}",
        "Bisher: IBAN {iban}",
        "Ancien RIB (clôturé) : {iban}",
        "Cuenta antigua {iban} cancelada",
        "Vecchio IBAN {iban}",
        "Stary rachunek {iban}",
        "Starý účet {iban}",
        "Gammalt konto {iban}",
        "Spendenkonto unserer Stiftung: IBAN {iban}",
        "Kautionskonto: IBAN {iban}",
        "Für hinterlegtes Pfand: IBAN {iban}",
        "Treuhandkonto (nur Fremdgeld): IBAN {iban}",
        "G-rekening: {iban}",
        "Compte séquestre : {iban}",
        "CHF-Konto: IBAN {iban}",
        "Guthaben wird auf Konto {iban} ausgezahlt.",
        "Accredito su {iban}",
        "Kundenbank: Sparkasse Osnabrück\nIBAN {iban}",
        "Modalità di pagamento: RID/SDD\nBanca d'appoggio: {iban}",
        "Modalità: Ri.Ba. 30 gg\nVs. banca: {iban}",
        "Forma de pago: recibo bancario\nEntidad: Caja Ebro  IBAN: {iban}",
    ],
)
def test_an_account_beside_which_something_else_is_said_is_not_the_one_to_pay_to(words: str) -> None:
    rows = f"Rechnung 17\n{words.format(iban=OTHER_ACCOUNT)}"
    assert find_iban(write_rows(rows), "EUR") is None
    own = f"{rows}\n\n\n\nBankverbindung: IBAN {OWN_ACCOUNT}"
    assert find_iban(write_rows(own), "EUR") == OWN_ACCOUNT.replace(" ", "")


@pytest.mark.parametrize(
    "words",
    [
        "Beware of fraud: we never use account IBAN {iban}.",
        "Bitte nicht mehr auf {iban} überweisen!",
        "Ground rent is payable separately to the freeholder, IBAN {iban}",
        "Versement sur le compte {iban}",
        "Wij maken het bedrag over naar {iban}",
        "Abonaremos el importe en {iban}",
        "Paid by bank transfer from\nIBAN {iban}",
        "Please do not pay to our old account any more but to IBAN {iban}",
        "With effect from 1 November please pay to IBAN {iban}",
        "Bitte nicht das Konto in der Fußzeile verwenden, sondern IBAN {iban}",
        "Le compte du pied de page n'est plus valable : IBAN {iban}",
        "La cuenta antigua está cancelada, paguen en IBAN {iban}",
        "Il vecchio conto è chiuso, pagare su IBAN {iban}",
        "Vanaf 1 november betaalt u op IBAN {iban}",
        "Em vez da conta anterior, usar IBAN {iban}",
        "Zamiast poprzedniego rachunku obowiązuje IBAN {iban}",
        "Místo původního účtu platí IBAN {iban}",
        "Vores gamle konto er lukket, betal til\nIBAN {iban}",
        "Betala inte till det gamla kontot utan till IBAN {iban}",
    ],
)
def test_a_sentence_that_speaks_of_an_old_account_may_say_so_of_another_one(words: str) -> None:
    sentence = words.format(iban=OTHER_ACCOUNT)
    assert find_iban(write_rows(f"Rechnung 17\n{sentence}"), "EUR") is None
    for rows in (
        f"Rechnung 17\n{sentence}\n\n\n\nBankverbindung: IBAN {OWN_ACCOUNT}",
        f"Muster GmbH\nIBAN {OWN_ACCOUNT}\n\n\n\nRechnung 17\n{sentence}",
    ):
        assert find_iban(write_rows(rows), "EUR") is None, rows


def test_what_a_sentence_names_in_two_places_is_one_account() -> None:
    rows = f"Rechnung 17\nUnser altes Konto ist geschlossen, zahlen Sie auf {OWN_ACCOUNT}\n\n\n\nIBAN {OWN_ACCOUNT}"
    assert find_iban(write_rows(rows), "EUR") == OWN_ACCOUNT.replace(" ", "")


@pytest.mark.parametrize(
    "words",
    [
        "Propinas:",
        "Mietsicherheit:",
        "Dépôt de garantie :",
        "Pant:",
        "Machtigingskenmerk 20441,",
        "Aftalenummer 20441,",
    ],
)
def test_a_label_that_is_no_banks_name_may_be_a_purpose(words: str) -> None:
    assert find_iban(write_rows(f"Rechnung 17\n{words} IBAN {OTHER_ACCOUNT}"), "EUR") is None


@pytest.mark.parametrize(
    "words",
    ["Volksbank Stuttgart:", "ING:", "Crédit Agricole :", "Anna Kunz:", "Muster GmbH:", "Konto:", "Konto 20441,"],
)
def test_before_his_account_anybody_names_his_bank_or_himself(words: str) -> None:
    page = write_rows(f"Rechnung 17\n{words} IBAN {OWN_ACCOUNT}")
    assert find_iban(page, "EUR", "Anna Kunz") == OWN_ACCOUNT.replace(" ", "")


@pytest.mark.parametrize(
    "words",
    [
        "Bitte überweisen Sie innerhalb von 14 Tagen auf unser Konto bei der Sparkasse Köln, IBAN {iban}",
        "Neue Bankverbindung: Volksbank Stuttgart eG, IBAN: {iban}",
        "Please make payment to our account: IBAN {iban}",
        "Merci de régler par virement à l'ordre de Muster SARL, IBAN {iban}",
        "Rogamos realicen la transferencia a nuestra cuenta IBAN {iban}",
        "Pagamento: bonifico bancario 30 gg - IBAN {iban}",
        "Wij verzoeken u het bedrag binnen 14 dagen over te maken op {iban}",
        "Pagamento por transferência bancária para o IBAN {iban}",
        "Prosimy o wpłatę na rachunek mBank {iban}",
        "Prosíme o úhradu na účet {iban}",
        "Beløbet bedes indbetalt på konto {iban}",
        "Vänligen betala till bankkonto {iban}",
        "Kaution: 500 EUR\nPer Überweisung: Volksbank Stuttgart, IBAN {iban}",
        "Finanzamt Köln, Steuernummer 1/2\nSparkasse Köln IBAN {iban}",
        "Goods remain our property until paid.\nIBAN {iban}",
    ],
)
def test_words_that_anybody_has_before_his_account_leave_it_the_one_to_pay_to(words: str) -> None:
    page = write_rows(f"Rechnung 17\n{words.format(iban=OWN_ACCOUNT)}")
    assert find_iban(page, "EUR") == OWN_ACCOUNT.replace(" ", "")


def test_where_the_debt_was_assigned_no_account_beside_another_is_believed() -> None:
    terms = "Es gilt das Recht von Köln.\n" * 3
    assigned = "Diese Forderung ist an die Nordfactor AG abgetreten.\nNordfactor AG, IBAN " + OTHER_ACCOUNT
    assert find_iban(write_rows(f"Rechnung 17\nVolksbank IBAN {OWN_ACCOUNT}\n\n\n\n{assigned}")) is None
    assert find_iban(write_rows(f"Rechnung 17\n{assigned}")) == OTHER_ACCOUNT.replace(" ", "")
    assert find_iban(write_rows(f"Rechnung 17\n{assigned.partition(chr(10))[0]}\n{terms}\nIBAN {OWN_ACCOUNT}")) is None


def test_an_account_written_as_in_poland_is_asked_the_same() -> None:
    account = "61 1090 1014 0000 0712 1981 2874"
    for words in ("Zwrot nadpłaty na rachunek nabywcy", "Zwrot na konto", "Stary rachunek", "Rachunek VAT"):
        assert find_iban(write_rows(f"Faktura 7\n{words}: {account}"), "PLN") is None, words
    assert find_iban(write_rows(f"Faktura 7\nNumer rachunku: {account}"), "PLN") is not None


@pytest.mark.parametrize(
    "words",
    [
        "Diese Forderung ist an die Nordfactor AG abgetreten. Zahlungen mit befreiender Wirkung nur an:\nNordfactor AG",
        "This invoice has been assigned to Northern Factors Ltd. Pay only to:\nNorthern Factors Ltd",
        "Créance cédée à Nord Affacturage. Paiement libératoire uniquement à\nNord Affacturage",
        "Credito ceduto a Nordfactor S.p.A., pagare esclusivamente a:\nNordfactor",
        "Crédito cedido a Nordfactor S.A.; el pago solo libera en:\nNordfactor",
        "Vordering overgedragen aan Nordfactor N.V., betaal uitsluitend op:\nNordfactor",
    ],
)
def test_the_account_that_alone_is_paid_to_once_the_debt_was_assigned_is_the_assignees(words: str) -> None:
    own = f"Rechnung 17\nVolksbank IBAN {OWN_ACCOUNT}\n\n\n\n"
    assert find_iban(write_rows(f"{own}{words} IBAN {OTHER_ACCOUNT}")) == OTHER_ACCOUNT.replace(" ", "")
    # Where it is said of none, or of both, nobody can tell.
    assert find_iban(write_rows(f"{own}{words}\n\n\n\n\nIBAN {OTHER_ACCOUNT}")) is None
    both = f"Rechnung 17\n{words} IBAN {OWN_ACCOUNT}\n\n\n\n{words} IBAN {OTHER_ACCOUNT}"
    assert find_iban(write_rows(both)) is None


def test_what_is_said_of_another_account_in_the_same_line_is_said_of_that_one() -> None:
    line = f"Bisher IBAN {OTHER_ACCOUNT} neu IBAN {OWN_ACCOUNT}"
    assert find_iban(write_rows(f"Rechnung 17\n{line}")) == OWN_ACCOUNT.replace(" ", "")
