"""Of several papers in one file only the invoice's pages say what its fields are."""

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import PrintedInvoice, read_invoice

SENDER = ["Hartley & Moss Joinery Ltd", "14 Canal Road, Leeds LS2 7BR", "Broadfield Estates Ltd", "8 Station Parade"]
NUMBER = ["Invoice", "Invoice no.: HM-20441", "Date: 3 November 2026"]
TOTALS = ["Net total   £1,000.00", "VAT 20%   £200.00", "Total due   £1,200.00"]
INVOICE = [*SENDER, *NUMBER, "Doors   1,000.00", *TOTALS]
OTHER_TOTALS = ["Net total   £5,000.00", "VAT 20%   £1,000.00", "Total   £6,000.00"]


def read_papers(*pages: list[str]) -> PrintedInvoice:
    lines = [replace(line, page=at) for at, rows in enumerate(pages) for line in Transcript.from_rows(rows).lines]
    return read_invoice(Transcript("application/pdf", len(pages), tuple(lines)))


OTHER_TITLES = [
    "Delivery note",
    "Quotation",
    "Order confirmation",
    "Purchase order",
    "Contract",
    "Statement",
    "Timesheet summary",
    "Terms and conditions",
    "Lieferschein",
    "Allgemeine Geschäftsbedingungen",
    "Leistungsnachweis Oktober",
    "Bon de livraison",
    "Conditions générales de vente",
    "Pakbon",
    "Algemene voorwaarden",
    "Albarán",
    "Documento di trasporto",
    "Guia de remessa",
    "Warunki sprzedaży",
    "Dodací list",
    "Følgeseddel",
    "Tidrapport",
]


@pytest.mark.parametrize("title", OTHER_TITLES)
@pytest.mark.parametrize("is_first", [True, False])
def test_another_paper_in_the_file_gives_no_day_account_or_total(title: str, *, is_first: bool) -> None:
    other = [*SENDER, title, "Date: 14 October 2026", "Payment due: 14 January 2027", "Doors   5,000.00", *OTHER_TOTALS]
    other.append("IBAN GB91 BARC 2003 9512 3456 78")
    printed = read_papers(other, INVOICE) if is_first else read_papers(INVOICE, other)
    invoice = printed.invoice
    assert (invoice.invoice_number, invoice.issue_date) == ("HM-20441", date(2026, 11, 3))
    assert (invoice.total_net, invoice.total_gross) == (Decimal("1000.00"), Decimal("1200.00"))
    assert (invoice.due_date, invoice.iban) == (None, None)
    assert not printed.are_several


def test_a_letter_before_the_invoice_dates_nothing() -> None:
    letter = [*SENDER, "Date: 4 November 2026", "Please find enclosed our invoice.", "Payment due by 10 December 2026"]
    invoice = read_papers(letter, INVOICE).invoice
    assert (invoice.issue_date, invoice.due_date) == (date(2026, 11, 3), None)
    assert invoice.total_gross == Decimal("1200.00")


def test_a_page_without_a_known_title_is_believed_in_nothing_that_the_invoice_does_not_say() -> None:
    annex = [*SENDER, "Project budget", "Payment due by 14 January 2027", "Doors   5,000.00", *OTHER_TOTALS]
    invoice = read_papers(INVOICE, annex).invoice
    assert (invoice.total_gross, invoice.due_date) == (None, None)


@pytest.mark.parametrize(
    "beginning",
    [["Page 2 of 2"], ["2 / 2"], ["Invoice HM-20441"], ["Carried forward   1,000.00"], ["Seite 2"]],
)
def test_a_page_that_carries_on_belongs_to_the_invoice(beginning: list[str]) -> None:
    first = [*SENDER, *NUMBER, "Doors   1,000.00"]
    second = [*SENDER[:2], *beginning, *TOTALS, "Due date: 3 December 2026"]
    invoice = read_papers(first, second).invoice
    assert (invoice.total_gross, invoice.due_date) == (Decimal("1200.00"), date(2026, 12, 3))
    whole = read_papers(INVOICE, [*SENDER[:2], *beginning, "Due date: 3 December 2026"]).invoice
    assert whole.due_date == date(2026, 12, 3)


def test_a_delivery_note_that_a_page_begins_its_rows_with_hides_no_total() -> None:
    first = [*SENDER, *NUMBER, "Delivery note 88210 of 1 October 2026", "Doors   400.00"]
    second = [*SENDER[:2], "Page 2 of 2", "Delivery note 88213 of 14 October 2026", "Doors   600.00", *TOTALS]
    assert read_papers(first, second).invoice.total_gross == Decimal("1200.00")


SECOND = [*SENDER, "Invoice", "Invoice no.: HM-20442", "Date: 4 November 2026", "Doors   5,000.00", *OTHER_TOTALS]


@pytest.mark.parametrize(
    "second",
    [
        SECOND,
        [*SECOND, "Page 2 of 2"],
        [
            "Brightside Hotel",
            "Receipt",
            "Receipt no. 88213",
            "Date: 12 October 2026",
            "Room   100.00",
            "Total   £100.00",
        ],
        ["Brightside Hotel", "Invoice", "Date: 12 October 2026", "Room   100.00", "Total   £100.00"],
        [
            *SENDER,
            "Credit note",
            "Credit note no.: CN-90",
            "Date: 4 November 2026",
            "Doors   600.00",
            "Total   £600.00",
        ],
    ],
)
def test_two_invoices_in_a_file_are_said_and_the_first_is_shown(second: list[str]) -> None:
    printed = read_papers(INVOICE, second)
    assert printed.are_several
    assert (printed.invoice.invoice_number, printed.invoice.total_gross) == ("HM-20441", Decimal("1200.00"))


def test_a_copy_of_an_invoice_is_no_second_one() -> None:
    assert not read_papers(INVOICE, INVOICE).are_several
    assert read_papers(INVOICE, INVOICE).invoice.total_gross == Decimal("1200.00")


def test_a_reminder_before_its_invoice_has_no_total() -> None:
    reminder = [*SENDER, "Payment reminder", "Invoice HM-20441 of 3 November 2026", "Total now due   £1,240.00"]
    assert read_papers(reminder, INVOICE).invoice.total_gross is None
