"""Invoices of a few rows, and what the rules read of them."""

from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract.layout_rules import read_invoice

AMERICAN_CUSTOMER = ["Bluestem Analytics Inc.", "500 Congress Ave", "Austin, TX 78701"]
HEADS = {
    "de": (
        "Rechnung Nr. 17",
        "Rechnungsdatum: 05.11.2026",
        "Netto  1.000,00",
        "MwSt 19 %  190,00",
        "Gesamt  1.190,00 EUR",
    ),
    "en": ("Invoice 17", "Invoice date: 5 November 2026", "Net  £1,000.00", "VAT 20%  £200.00", "Total  £1,200.00"),
    "fr": ("Facture n° 17", "Date de facture : 05/11/2026"),
    "es": ("Factura nº 17", "Fecha de factura: 05/11/2026"),
    "it": ("Fattura n. 17", "Data fattura: 05/11/2026"),
    "nl": ("Factuurnummer 17", "Factuurdatum 05-11-2026"),
    "pt": ("Fatura n.º 17", "Data de emissão: 05/11/2026"),
    "pl": ("Faktura nr 17", "Data wystawienia: 05.11.2026"),
    "cs": ("Faktura č. 17", "Datum vystavení: 05.11.2026"),
    "da": ("Faktura nr. 17", "Fakturadato: 05-11-2026"),
    "sv": ("Faktura nr 17", "Fakturadatum: 2026-11-05"),
}


def read_due_date(language: str, *rows: str) -> str:
    return str(read_invoice(Transcript.from_rows(["Muster", *HEADS[language], "", *rows])).invoice.due_date)


def read_dates(*rows: str) -> tuple[str, str]:
    """The day of issue, and the one on which it is due."""
    invoice = read_invoice(Transcript.from_rows(rows)).invoice
    return str(invoice.issue_date), str(invoice.due_date)


def read_number(*rows: str) -> str | None:
    return read_invoice(Transcript.from_rows(rows)).invoice.invoice_number


def read_vat_id(*rows: str) -> str | None:
    return read_invoice(Transcript.from_rows(rows)).invoice.vat_id


def write_rows(text: str) -> tuple[TextLine, ...]:
    return Transcript.from_rows(text.splitlines()).lines
