"""Draws invoices and a contract note as A4 pages with a text layer. The same input gives the same bytes."""

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas
from sandbox.mails.invoices import Invoice

_LEFT, _RIGHT = 56.0, 540.0
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


@dataclass(frozen=True, slots=True)
class Words:
    """What an invoice is headed with in one language, and how its dates and amounts look."""

    title: str
    number: str
    dated: str
    due: str
    to: str
    columns: tuple[str, str, str, str]
    net: str
    tax: str
    gross: str
    vat_id: str
    pay: str
    write_date: Callable[[date], str]
    decimal_mark: str
    thousands_mark: str


def _dotted(day: date) -> str:
    return day.strftime("%d.%m.%Y")


def _slashed(day: date) -> str:
    return day.strftime("%d/%m/%Y")


def _dashed(day: date) -> str:
    return day.strftime("%d-%m-%Y")


def _long(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


WORDS = {
    "en": Words(
        title="INVOICE",
        number="Invoice number",
        dated="Invoice date",
        due="Due date",
        to="Bill to",
        columns=("Description", "Quantity", "Unit price", "Amount"),
        net="Subtotal",
        tax="VAT",
        gross="Total due",
        vat_id="VAT registration number",
        pay="Please pay to IBAN",
        write_date=_long,
        decimal_mark=".",
        thousands_mark=",",
    ),
    "de": Words(
        title="RECHNUNG",
        number="Rechnungsnummer",
        dated="Rechnungsdatum",
        due="Zahlbar bis",
        to="Rechnungsempfänger",
        columns=("Bezeichnung", "Menge", "Einzelpreis", "Betrag"),
        net="Nettobetrag",
        tax="MwSt.",
        gross="Gesamtbetrag",
        vat_id="USt-IdNr.",
        pay="Bitte überweisen Sie auf IBAN",
        write_date=_dotted,
        decimal_mark=",",
        thousands_mark=".",
    ),
    "fr": Words(
        title="FACTURE",
        number="Facture n°",
        dated="Date de facture",
        due="Date d'échéance",
        to="Facturé à",
        columns=("Désignation", "Quantité", "Prix unitaire", "Montant"),
        net="Total HT",
        tax="TVA",
        gross="Total TTC",
        vat_id="N° TVA intracommunautaire",
        pay="Règlement par virement, IBAN",
        write_date=_slashed,
        decimal_mark=",",
        thousands_mark=" ",
    ),
    "nl": Words(
        title="FACTUUR",
        number="Factuurnummer",
        dated="Factuurdatum",
        due="Vervaldatum",
        to="Factuur aan",
        columns=("Omschrijving", "Aantal", "Prijs", "Bedrag"),
        net="Totaal excl. btw",
        tax="Btw",
        gross="Totaal incl. btw",
        vat_id="Btw-nummer",
        pay="Gelieve over te maken naar IBAN",
        write_date=_dashed,
        decimal_mark=",",
        thousands_mark=".",
    ),
}


def invoice_rows(invoice: Invoice) -> list[str]:
    """The page as lines of text, for pictures of it."""
    words = WORDS[invoice.language]
    supplier = invoice.supplier
    rows = [supplier.name, f"{supplier.street}, {supplier.postcode} {supplier.city}", "", words.title, ""]
    rows += [f"{words.number}: {invoice.number}", f"{words.dated}: {_date(words, invoice.issued_on)}", ""]
    rows += [f"{line.description}   {_amount(words, line.amount)}" for line in invoice.lines]
    rows += ["", f"{words.net}: {_money(words, invoice, invoice.net)}"]
    rows += [f"{words.tax} {invoice.tax_rate} %: {_money(words, invoice, invoice.tax)}"]
    return [*rows, f"{words.gross}: {_money(words, invoice, invoice.gross)}"]


def invoice_pdf(invoice: Invoice, *, note: str = "") -> bytes:
    """`note` is printed at the foot: with another one it is the same invoice in other bytes."""
    words = WORDS[invoice.language]
    page = _Page(f"{words.title} {invoice.number}")
    supplier, customer = invoice.supplier, invoice.customer
    page.text(supplier.name, size=15, bold=True)
    page.text(f"{supplier.street} · {supplier.postcode} {supplier.city}", size=9)
    if supplier.vat_id:
        page.text(f"{words.vat_id}: {supplier.vat_id}", size=9)
    page.skip(30)
    page.text(words.to, size=8)
    for row in (customer.name, customer.street, f"{customer.postcode} {customer.city}"):
        page.text(row)
    page.skip(26)
    page.text(words.title, size=18, bold=True)
    page.skip(6)
    page.text(f"{words.number}: {invoice.number}")
    page.text(f"{words.dated}: {_date(words, invoice.issued_on)}")
    page.text(f"{words.due}: {_date(words, invoice.due_on)}")
    page.skip(20)
    page.row(words.columns, bold=True)
    page.rule()
    for line in invoice.lines:
        cells = (line.description, _quantity(words, line.quantity), _amount(words, line.unit_price))
        page.row((*cells, _amount(words, line.amount)))
    page.rule()
    page.total(words.net, _money(words, invoice, invoice.net))
    page.total(f"{words.tax} {invoice.tax_rate} %", _money(words, invoice, invoice.tax))
    page.total(words.gross, _money(words, invoice, invoice.gross), bold=True)
    page.skip(30)
    if invoice.iban:
        page.text(f"{words.pay}: {' '.join(invoice.iban[i : i + 4] for i in range(0, len(invoice.iban), 4))}")
    if note:
        page.text(note, size=8)
    return page.finish()


def contract_note_pdf() -> bytes:
    """A purchase of shares as a bank confirms it."""
    page = _Page("Wertpapierabrechnung 4711-2026")
    rows: Sequence[tuple[str, str]] = (
        ("Abrechnungsnummer", "4711-2026"),
        ("Schlusstag", "05.11.2026"),
        ("Schlusszeit", "10:42:18"),
        ("Valuta", "09.11.2026"),
        ("Wertpapier", "Nordseewerk AG Inhaber-Aktien o.N."),
        ("ISIN / WKN", "DE000MR42X16 / MR42X1"),
        ("Stück", "120"),
        ("Kurs", "18,45 EUR"),
        ("Kurswert", "2.214,00 EUR"),
        ("Provision", "9,90 EUR"),
        ("Börsenentgelt", "2,50 EUR"),
        ("Ausmachender Betrag", "2.226,40- EUR"),
    )
    page.text("Handelsbank Nordlicht AG", size=15, bold=True)
    page.text("Kontorhaus 1 · 28195 Bremen", size=9)
    page.skip(40)
    page.text("Wertpapierabrechnung: Kauf", size=16, bold=True)
    page.skip(10)
    for name, value in rows:
        page.text(f"{name}: {value}")
    page.skip(20)
    page.text("Wir haben für Sie am Handelsplatz XETRA gekauft.", size=9)
    return page.finish()


class _Page:
    """Writes downwards; words come out of the text layer in the order they were written."""

    def __init__(self, title: str) -> None:
        self._buffer = io.BytesIO()
        self._canvas = Canvas(self._buffer, pagesize=A4, invariant=1)
        self._canvas.setTitle(title)
        self._canvas.setAuthor("Mailroom sample")
        self._y = 790.0

    def skip(self, points: float) -> None:
        self._y -= points

    def text(self, text: str, *, size: float = 10, bold: bool = False) -> None:
        self._font(size, bold)
        self._canvas.drawString(_LEFT, self._y, text)
        self._y -= size * 1.4

    def row(self, cells: Sequence[str], *, bold: bool = False) -> None:
        self._font(9.5, bold)
        self._canvas.drawString(_LEFT, self._y, cells[0])
        for cell, right in zip(cells[1:], (370.0, 455.0, _RIGHT), strict=True):
            self._canvas.drawRightString(right, self._y, cell)
        self._y -= 15

    def total(self, name: str, amount: str, *, bold: bool = False) -> None:
        self._font(10.5, bold)
        self._canvas.drawString(340, self._y, name)
        self._canvas.drawRightString(_RIGHT, self._y, amount)
        self._y -= 16

    def rule(self) -> None:
        self._canvas.setLineWidth(0.5)
        self._canvas.line(_LEFT, self._y + 8, _RIGHT, self._y + 8)
        self._y -= 8

    def finish(self) -> bytes:
        self._canvas.showPage()
        self._canvas.save()
        return self._buffer.getvalue()

    def _font(self, size: float, bold: bool) -> None:
        self._canvas.setFont("Helvetica-Bold" if bold else "Helvetica", size)


def _date(words: Words, day: str) -> str:
    return words.write_date(date.fromisoformat(day))


def _quantity(words: Words, quantity: Decimal) -> str:
    return str(quantity.normalize() if quantity % 1 else quantity.to_integral()).replace(".", words.decimal_mark)


def _amount(words: Words, amount: Decimal) -> str:
    whole = f"{amount:,.2f}"
    return whole.replace(",", "\0").replace(".", words.decimal_mark).replace("\0", words.thousands_mark)


def _money(words: Words, invoice: Invoice, amount: Decimal) -> str:
    return f"{_amount(words, amount)} {invoice.currency}"
