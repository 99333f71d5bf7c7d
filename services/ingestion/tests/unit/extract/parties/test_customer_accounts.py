"""Of whom money is taken has an account on the page as well."""

import pytest

from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract.parties.payee_accounts import find_iban

CUSTOMERS, OWN = "DE89 3704 0044 0532 0130 00", "DE02 1203 0000 0000 2020 51"
FAR_BELOW = "\n" * 14


def read_rows(text: str) -> tuple[TextLine, ...]:
    return Transcript.from_rows(text.splitlines()).lines


@pytest.mark.parametrize(
    "box",
    [
        "Zahlungsart         SEPA-Lastschrift\nIBAN                {iban}\nMandatsreferenz     M-4471",
        "Payment method      Direct Debit\nIBAN                {iban}",
        "Titulaire           M. Jean Caron\nIBAN                {iban}\nRUM                 ++00447",
        "Forma de pago       Domiciliación bancaria\nIBAN                {iban}",
        "Modalità            Addebito diretto SEPA\nIBAN                {iban}",
        "Vertragsnummer: 88213\nTarif: Grün\nIBAN: {iban}",
        "Contract details\nMeter number: 88213\nIBAN: {iban}",
        "Contractgegevens\nMeternummer: 88213\nIBAN: {iban}",
    ],
)
def test_in_a_box_on_a_debit_or_on_the_contract_it_is_the_customers(box: str) -> None:
    page = f"Stadtwerke Muster GmbH\n\n\n{box.format(iban=CUSTOMERS)}"
    assert find_iban(read_rows(page), "EUR", "Stadtwerke Muster GmbH") is None
    own = f"{page}{FAR_BELOW}Volksbank IBAN {OWN}"
    assert find_iban(read_rows(own), "EUR", "Stadtwerke Muster GmbH") == OWN.replace(" ", "")


@pytest.mark.parametrize(
    "sentence",
    [
        "Wir ziehen den Betrag am 10.12.2026 ein.",
        "We will collect this amount on 10 December 2026.",
        "Wij incasseren dit bedrag op 10-12-2026.",
        "Le montant sera prélevé le 10/12/2026.",
        "Pobierzemy tę kwotę 10.12.2026.",
        "L'importo verrà addebitato il 10/12/2026.",
    ],
)
def test_where_the_page_says_that_it_takes_the_money_only_the_foots_account_is_its_own(sentence: str) -> None:
    page = f"Rechnung 17\nIBAN {CUSTOMERS}\n\n\nKontoinhaber: J. Kramer{FAR_BELOW}{sentence}"
    assert find_iban(read_rows(page), "EUR") is None
    assert find_iban(read_rows(f"{page}\n\n\nVolksbank IBAN {OWN}"), "EUR") == OWN.replace(" ", "")
    assert find_iban(read_rows(f"Rechnung 17\nIBAN {CUSTOMERS}{FAR_BELOW}Danke."), "EUR") is not None
