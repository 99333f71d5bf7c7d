"""PDFs in a PDF: which of them is the invoice, and what several of them are."""

from dataclasses import replace
from io import BytesIO
from typing import Any

import orjson
from generated_ubl import UBL

from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract import rule_based
from ingestion.extract.document_parts import split_parts
from ingestion.readers.ubl import parse_ubl_xml

COVER = "Your documents of March\nWe kindly send you what you asked for"
TERMS = "Terms and conditions\nAn invoice is due within 30 days"
INVOICE = """
Northwind Ltd
VAT number GB 123 4567 82
Bill to: Redbourne Homes Ltd
Invoice Number: NP-12
Invoice Date: 2026-03-04
Subtotal  £70.00
VAT 20%  £14.00
Total  £84.00
"""
GERMAN = """
Muster GmbH
Rechnung Nr. RE-1
Datum  01.04.2026
Zahlbar bis  30.04.2026
Nettobetrag  100,00 EUR
MwSt  19,00 EUR
Gesamtbetrag  119,00 EUR
IBAN DE88 2008 0000 0970 3757 00
"""


def portfolio(*pages: str, **changed: Any) -> Transcript:
    """The first is the document's own page, and each other one that of a PDF in it."""
    lines: list[TextLine] = []
    for number, text in enumerate(pages):
        lines += [replace(line, page=number) for line in Transcript.from_rows(text.splitlines()).lines]
    whole = Transcript("application/pdf", len(pages), tuple(lines), part_starts=tuple(range(1, len(pages))))
    return replace(whole, **changed)


def ask(function: Any, transcript: Transcript) -> Any:
    return function(BytesIO(orjson.dumps(transcript.to_json())), {})


def extracted(transcript: Transcript) -> Any:
    return ask(rule_based.extract_invoice, transcript)


def test_a_part_has_its_own_lines_and_counts_its_pages_from_its_first() -> None:
    first, second = split_parts(portfolio("a", "b"))
    assert [(part.text, part.pages, part.lines[0].page) for part in (first, second)] == [("a", 1, 0), ("b", 1, 0)]
    assert Transcript.from_json(portfolio("a", "b").to_json()) == portfolio("a", "b")


def test_of_a_portfolio_the_invoice_is_read_and_neither_its_cover_nor_its_terms() -> None:
    transcript = portfolio(COVER, TERMS, INVOICE)
    assert ask(rule_based.classify_document, transcript)["document_type"] == "invoice"
    answer = extracted(transcript)
    assert (answer["extraction"]["invoice_number"], answer["extraction"]["supplier_name"]) == ("NP-12", "Northwind Ltd")
    assert (answer["confidence"], answer["review_reason"]) == (0.95, None)


def test_a_portfolio_without_an_invoice_is_none() -> None:
    assert ask(rule_based.classify_document, portfolio(COVER, COVER))["document_type"] is None


def test_the_same_invoice_twice_is_one() -> None:
    assert extracted(portfolio(INVOICE, INVOICE))["review_reason"] is None


def test_different_invoices_in_one_file_are_for_a_person() -> None:
    for other in (INVOICE.replace("NP-12", "NP-13"), INVOICE.replace("£14.00", "£16.00").replace("£84", "£86")):
        answer = extracted(portfolio(COVER, INVOICE, other))
        assert (answer["review_reason"], answer["confidence"]) == ("several_invoices", 0.5)
        assert answer["extraction"]["invoice_number"] == "NP-12"


def test_an_xml_is_held_against_the_page_that_is_the_invoice() -> None:
    same = extracted(portfolio(COVER + "\n01.01.2020", GERMAN, e_invoice=parse_ubl_xml(UBL().xml())))
    assert (same["doubts"], same["review_reason"], same["confidence"]) == ([], None, 1.0)


def test_an_xml_is_held_against_each_page_that_is_an_invoice() -> None:
    stolen = GERMAN.replace("DE88 2008 0000 0970 3757 00", "DE89 3704 0044 0532 0130 00")
    for pages in ((stolen, GERMAN), (GERMAN, stolen), (COVER, stolen)):
        answer = extracted(portfolio(*pages, e_invoice=parse_ubl_xml(UBL().xml())))
        assert answer["doubts"] == ["iban"]
        assert answer["extraction"]["page_values"] == {"iban": "DE89370400440532013000"}
