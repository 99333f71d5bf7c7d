from dataclasses import replace
from io import BytesIO
from typing import Any

import pytest
from generated_invoices import CII, text_page

from ingestion.domain.invoice import Invoice
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import Transcript
from ingestion.extract.page_comparison import (
    find_contradictions,
    find_reason_for_no_comparison,
    is_another_kind,
    names_account,
)
from ingestion.readers import einvoice, pdf_text

PAGE = """
Muster GmbH
Rechnung Nr. RE-1
Datum  01.04.2026
Zahlbar bis  30.04.2026
Nettobetrag  100,00 EUR
MwSt 19 %  19,00 EUR
Gesamtbetrag  119,00 EUR
USt-IdNr. DE136695976
IBAN DE88 2008 0000 0970 3757 00
"""


def read_xml(xml: CII) -> Invoice:
    read = einvoice.parse_invoice_xml(xml.xml())
    assert read is not None
    return Invoice.from_json(read["invoice"])


def transcribe(page: bytes) -> Transcript:
    read = pdf_text.read_pdf_text(BytesIO(page))
    return Transcript("application/pdf", 1, tuple(read.lines), unread=tuple(read.unread))


def compared(xml: CII, page: CII) -> list[str]:
    return list(find_contradictions(read_xml(xml), transcribe(page.page())))


def differing(text: str, xml: CII = CII()) -> dict[str, Any]:  # noqa: B008  # a value that nobody changes
    return find_contradictions(read_xml(xml), transcribe(text_page(text)))


def test_a_page_that_says_the_same_agrees() -> None:
    assert compared(CII(), CII()) == []
    assert differing(PAGE) == {}


@pytest.mark.parametrize(
    ("printed", "otherwise", "field", "value"),
    [
        ("DE88 2008 0000 0970 3757 00", "DE02 1203 0000 0000 2020 51", "iban", "DE02120300000000202051"),
        ("DE88 2008 0000 0970 3757 00", "DE88 2008 0000 0970 3757 01", "iban", None),
        ("DE136695976", "DE123456788", "vat_id", "DE123456788"),
        ("EUR", "CHF", "currency", "CHF"),
        ("MwSt 19 %  19,00", "MwSt 19 %  17,00", "total_tax", None),
        ("Zahlbar bis  30.04.2026", "Zahlbar bis  30.05.2026", "due_date", "2026-05-30"),
        ("RE-1", "RE-2", "invoice_number", "RE-2"),
        ("01.04.2026", "02.04.2026", "issue_date", "2026-04-02"),
        ("Muster GmbH", "Andere AG", "supplier_name", "Andere AG"),
        ("01.04.2026", "30.04.2026", "issue_date", "2026-04-30"),
        ("Zahlbar bis  30.04.2026", "Zahlbar bis  01.04.2026", "due_date", "2026-04-01"),
    ],
)
def test_a_field_that_the_page_names_otherwise_comes_with_the_pages_value(
    printed: str, otherwise: str, field: str, value: str | None
) -> None:
    assert differing(PAGE.replace(printed, otherwise)) == {field: value}


def test_an_amount_due_beyond_the_total_is_named_though_it_stands_on_the_page() -> None:
    limit = f"{PAGE}Ihr Kreditlimit  5.000,00 EUR"
    assert list(differing(limit, CII(payable="5000.00"))) == ["amount_due"]
    assert differing(f"{PAGE}Kreditlimit 120,00 EUR", CII(payable="120.00")) == {}  # rounded up to a whole crown


def test_an_amount_due_is_the_one_that_the_page_asks_for() -> None:
    page = f"{PAGE}Anzahlung  -19,00 EUR\nZahlbetrag  100,00 EUR"
    assert differing(page, CII(payable="100.00")) == {}
    assert differing(page, CII(payable="19.00")) == {"amount_due": "100.00"}


@pytest.mark.parametrize("account", ["DE88", "DE88200800000970", "DE882008000009703757"])
def test_half_of_an_account_is_not_the_account_of_the_page(account: str) -> None:
    xml = CII(iban=account)
    assert list(differing(PAGE, xml)) == ["iban"]
    assert not names_account(account, transcribe(text_page(PAGE)))


def test_a_tax_number_that_the_page_does_not_print_is_named_where_it_prints_others() -> None:
    """Of two numbers nobody knows which one is the supplier's, and the one of the XML is neither."""
    page = PAGE.replace("USt-IdNr. DE136695976", "USt-IdNr. DE136695976  USt-IdNr. DE811115368")
    assert differing(page) == {}
    assert "vat_id" in differing(page, CII(vat_id="DE123456788"))


def test_totals_that_are_another_invoices_are_named_with_their_values() -> None:
    page = PAGE.replace("100,00", "200,00").replace("19,00 EUR", "38,00 EUR").replace("119,00", "238,00")
    page = page.replace("138,00", "238,00")
    assert differing(page) == {
        "total_gross": "238.00",
        "total_net": "200.00",
        "total_tax": "38.00",
        "amount_due": None,
    }


def test_a_total_that_the_xml_does_not_know_is_named_though_its_own_stands_somewhere() -> None:
    """Nothing on such a page adds up, so that its total is not sure; that of the XML is another one all the same."""
    page = (
        PAGE.replace("Nettobetrag", "Kreditrahmen").replace("MwSt 19 %", "davon frei").replace("Gesamtbetrag", "belegt")
    )
    assert differing(f"{page}Gesamtbetrag  11,90 EUR") == {"total_gross": "11.90"}
    assert differing(f"{page}Gesamtbetrag  100,00 EUR") == {}


def test_a_total_that_the_page_only_leads_to_is_the_same() -> None:
    page = PAGE.replace("Gesamtbetrag  119,00", "Quellensteuer 15 %  -15,00 EUR\nZahlbetrag  104,00")
    assert differing(page, CII(payable="104.00")) == {}
    assert "total_gross" in differing(page.replace("MwSt 19 %  19,00", "MwSt 17 %  17,00"), CII(payable="104.00"))


def test_a_tax_number_may_be_printed_without_its_country() -> None:
    assert differing(PAGE.replace("USt-IdNr. DE136695976", "NIP 774-00-01-454"), CII(vat_id="PL7740001454")) == {}
    assert "vat_id" in differing(PAGE.replace("USt-IdNr. DE136695976", "NIP 774-00-01-455"), CII(vat_id="PL7740001454"))


def test_an_amount_due_that_stands_nowhere_on_the_page_is_named() -> None:
    assert list(differing(PAGE, CII(payable="99.00"))) == ["amount_due"]
    assert differing(PAGE, CII(payable="0.00")) == {}


@pytest.mark.parametrize(
    ("page", "fields"),
    [
        (CII(number="RE-2"), ["invoice_number"]),
        (CII(issued="20250401"), ["issue_date"]),
        (CII(due="20260531"), ["due_date"]),
        (CII(gross="120.00"), ["total_gross", "amount_due"]),
        (CII(seller="Andere AG"), ["supplier_name"]),
    ],
)
def test_a_page_that_says_otherwise_is_named_field_by_field(page: CII, fields: list[str]) -> None:
    assert compared(CII(), page) == fields


def test_an_account_that_agrees_with_the_xml_in_small_print_alone_contradicts_the_one_that_is_read() -> None:
    rows = (*PAGE.strip().splitlines()[:-1], "IBAN DE02 1203 0000 0000 2020 51")
    printed = Transcript.from_rows([*rows, "IBAN DE88 2008 0000 0970 3757 00"])
    small = replace(printed, lines=(*printed.lines[:-1], replace(printed.lines[-1], height=4.0)))
    assert "iban" not in find_contradictions(read_xml(CII()), printed)
    assert find_contradictions(read_xml(CII()), small)["iban"] == "DE02120300000000202051"


@pytest.mark.parametrize(
    ("xml", "page", "differs"),
    [
        ("1", "RE-2026-17", True),
        ("2026", "RE-2026-17", True),
        ("2026-17", "RE-2026-17", False),
        ("RE-2026-17", "RE-2026-17", False),
    ],
)
def test_a_number_that_is_only_a_piece_of_the_pages_number_is_another_one(xml: str, page: str, differs: bool) -> None:
    """An invoice that is sent again with another number in its XML would not be like the first one, and paid twice."""
    text = PAGE.replace("RE-1", page)
    assert ("invoice_number" in differing(text, CII(number=xml))) is differs


def test_a_page_that_leaves_something_out_contradicts_nothing() -> None:
    assert compared(CII(due=None, iban=None), CII()) == []


@pytest.mark.parametrize(
    ("document_type", "title", "is_another"),
    [
        ("invoice", "Rechnung Nr. RE-1", False),
        ("credit_note", "Gutschrift Nr. RE-1", False),
        ("invoice", "Gutschrift Nr. RE-1", True),
        ("credit_note", "Rechnung Nr. RE-1", True),
        ("corrected_invoice", "Gutschrift Nr. RE-1", False),
        ("invoice", "Mahnung zur Rechnung Nr. RE-1", True),
        ("invoice", "Proforma-Rechnung Nr. RE-1", True),
    ],
)
def test_the_xml_of_an_invoice_on_a_page_of_another_kind_is_for_a_person(
    document_type: str, title: str, is_another: bool
) -> None:
    page = transcribe(text_page(PAGE.replace("Rechnung Nr. RE-1", title)))
    assert is_another_kind(document_type, page) is is_another


def test_a_credit_note_that_is_negative_only_on_its_page_is_for_a_person() -> None:
    negative = CII(gross="-119.00", net="-100.00", tax="-19.00")
    assert set(compared(CII(type_code="381"), negative)) >= {"total_gross", "total_net", "total_tax"}


def test_a_page_that_is_a_picture_cannot_be_compared_and_says_so() -> None:
    invoice = read_xml(CII())
    for unread in (ReviewReason.NO_TEXT_LAYER, ReviewReason.TEXT_GARBLED):
        empty = Transcript("application/pdf", 1, unread=(unread,))
        assert find_reason_for_no_comparison(invoice, empty) is unread
    stamp = Transcript.from_rows(["Page 1 of 1"])
    scanned = Transcript("application/pdf", 1, stamp.lines, unread=(ReviewReason.NO_TEXT_LAYER,))
    assert find_reason_for_no_comparison(invoice, scanned) is ReviewReason.NO_TEXT_LAYER
    assert find_reason_for_no_comparison(invoice, transcribe(text_page(PAGE))) is None


@pytest.mark.parametrize("kept", [("RE-1",), ("RE-1", "119,00"), ("RE-1", "IBAN"), ("119,00", "IBAN")])
def test_a_line_of_text_beside_a_picture_says_nothing_of_what_the_picture_shows(kept: tuple[str, ...]) -> None:
    """The picture may be of an invoice with another account."""
    few = "\n".join(line for line in PAGE.splitlines() if any(text in line for text in kept))
    lines = transcribe(text_page(few)).lines
    beside_picture = Transcript("application/pdf", 1, lines, unread=(ReviewReason.NO_TEXT_LAYER,))
    assert find_reason_for_no_comparison(read_xml(CII()), beside_picture) is ReviewReason.NO_TEXT_LAYER


def test_a_picture_beside_a_page_that_says_what_is_paid_hides_nothing() -> None:
    lines = transcribe(text_page(PAGE)).lines
    beside_picture = Transcript("application/pdf", 2, lines, unread=(ReviewReason.NO_TEXT_LAYER,))
    assert find_reason_for_no_comparison(read_xml(CII()), beside_picture) is None


def test_an_account_that_the_page_names_and_does_not_ask_to_pay_to_contradicts() -> None:
    other = "DE02 1203 0000 0000 2020 51"
    for words in (
        "Altes Konto (geschlossen): IBAN",
        "Abgebucht von Ihrem Konto IBAN",
        "Beware of fraud: never pay to IBAN",
    ):
        page = PAGE.replace("IBAN DE88", f"{words} DE88").rstrip() + "\n" * 12 + f"Volksbank IBAN {other}\n"
        assert list(differing(page)) == ["iban"], words


def test_of_two_accounts_in_two_places_of_the_page_the_xml_may_have_the_wrong_one() -> None:
    page = "Volksbank IBAN DE02 1203 0000 0000 2020 51\n" + "\n" * 12 + PAGE
    assert list(differing(page)) == ["iban"]


@pytest.mark.parametrize(
    "title",
    [
        "Stornorechnung Nr. RE-1",
        "Facture rectificative n° RE-1",
        "Factura rectificativa nº RE-1",
        "Cancellation invoice no. RE-1",
        "Angebot RE-1",
    ],
)
def test_a_page_that_takes_back_or_offers_what_its_xml_asks_for_is_for_a_person(title: str) -> None:
    page = PAGE.replace("Rechnung Nr. RE-1", title)
    assert is_another_kind("invoice", transcribe(text_page(page)))
    assert not is_another_kind("invoice", transcribe(text_page(PAGE)))


def test_a_page_with_a_number_of_its_own_contradicts_another_number_that_it_also_prints() -> None:
    page = PAGE.replace("Rechnung Nr. RE-1", "Rechnung\nRechnungsnummer: 2026-4471\nAuftrag: RE-1")
    assert differing(page)["invoice_number"] == "2026-4471"


def test_what_rows_below_the_total_leave_to_pay_contradicts_an_xml_that_asks_for_all() -> None:
    paid = "Gesamtbetrag  119,00 EUR\nVorauskasse vom 02.03.2026  70,00 EUR\nJetzt zu überweisen  49,00 EUR"
    assert "amount_due" in differing(PAGE.replace("Gesamtbetrag  119,00 EUR", paid))
