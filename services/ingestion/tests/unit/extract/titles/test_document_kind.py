"""Kinds of documents: what a bank sends is told from invoices by evidence, and what nothing speaks for is unknown."""

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import is_invoice
from ingestion.extract.titles.document_kind import DocumentKind, classify_lines, is_from_bank

TRADE_DE = ["Wertpapierabrechnung Kauf", "ISIN DE0008404005", "Kurswert 24,63 EUR", "Schlusstag 15.12.2020"]
TRADE_EN = ["Trade Confirmation", "You bought 10 shares", "Trade date 2026-01-05", "Settlement date 2026-01-07"]
INCOME = ["Dividendengutschrift", "Bestand 43 Stück", "ISIN LU1033693638", "Netto zugunsten 16,36 EUR"]
STATEMENT = ["Kontoauszug 5", "Saldo alt 57,46+", "GUTSCHRIFT NR.99999999992 21.08. 6.500,00+", "Saldo neu 6.557,46+"]


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        (TRADE_DE, DocumentKind.CONTRACT_NOTE),
        (TRADE_EN, DocumentKind.CONTRACT_NOTE),
        (INCOME, DocumentKind.BANK_NOTICE),
        (["Ausgang", "Depotübertrag", "Stück 30 einer Aktie", "ISIN DE0008404005"], DocumentKind.BANK_NOTICE),
        (STATEMENT, DocumentKind.ACTIVITY_STATEMENT),
        (["Relevé de compte", "Solde initial 10,00", "Virement reçu 5,00"], DocumentKind.ACTIVITY_STATEMENT),
        (["ACME Ltd", "Invoice", "Invoice number 77", "Total 10.00"], DocumentKind.INVOICE),
        (["ACME GmbH", "Gutschrift", "Gutschrift Nr. 9"], DocumentKind.CREDIT_NOTE),
        (["Corner shop", "Receipt", "Total 4.20"], DocumentKind.RECEIPT),
        (["ACME GmbH", "Zahlungserinnerung", "offen sind 10,00"], DocumentKind.REMINDER),
        (["ACME GmbH", "Lieferschein", "3 Kisten"], DocumentKind.DELIVERY_NOTE),
        (["ACME GmbH", "Angebot", "3 Kisten"], DocumentKind.OTHER),
        (["Dear all", "see you on Monday"], DocumentKind.UNKNOWN),
    ],
)
def test_a_kind_is_told_by_its_title_and_the_words_around_it(rows: list[str], kind: DocumentKind) -> None:
    assert classify_lines(Transcript.from_rows(rows).lines) is kind


@pytest.mark.parametrize("rows", [TRADE_DE, TRADE_EN, INCOME, STATEMENT])
def test_what_a_bank_sends_is_no_invoice(rows: list[str]) -> None:
    assert not is_invoice(Transcript.from_rows([*rows, "Belegnummer 3432431", "Gutschrift 10,00"]))


def test_a_note_that_is_numbered_as_an_invoice_is_a_note() -> None:
    rows = ["Wertpapier Abrechnung Kauf", "Rechnungsnummer W07700", *TRADE_DE[1:]]

    assert classify_lines(Transcript.from_rows(rows).lines) is DocumentKind.CONTRACT_NOTE


def test_a_brokers_invoice_stays_one() -> None:
    rows = ["Rechnung", "Rechnungsnummer 12", "Depotgebühr 2026", "ISIN DE0008404005", "Gesamtbetrag 10,00 EUR"]

    assert is_invoice(Transcript.from_rows(rows))


@pytest.mark.parametrize(
    "rows",
    [
        # Supplier words that are a bank's as well, and nothing that makes them one.
        ["ACME Ltd", "Previous balance 10.00", "Sold to: Contoso", "Shares of costs 5.00", "Total 15.00"],
        ["ACME Ltd", "Account statement", "Total due 15.00"],
        ["Utility", "Your electricity bill", "Previous balance 10.00", "New balance 15.00", "Account statement"],
    ],
)
def test_weak_signs_of_a_bank_are_not_enough(rows: list[str]) -> None:
    assert not is_from_bank(Transcript.from_rows(rows).lines)


def test_a_wrong_check_digit_names_no_security() -> None:
    rows = ["Fund raising dinner", "Reference DE0008404006", "Total 10.00"]

    assert not is_from_bank(Transcript.from_rows(rows).lines)
