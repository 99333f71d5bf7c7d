from dataclasses import replace
from io import BytesIO
from typing import Any

import orjson
import pytest
from generated_invoices import CII

from ingestion.domain.page_marks import PageMarks, Stamp
from ingestion.domain.transcript import Transcript
from ingestion.extract import rule_based
from ingestion.readers import einvoice

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


def given(transcript: Transcript) -> BytesIO:
    return BytesIO(orjson.dumps(transcript.to_json()))


PAGE_OF_XML = "Rechnung Nr. RE-1\nMuster GmbH\nNetto  100,00\nMwSt 19 %  19,00\nGesamtbetrag  119,00 EUR"


def page(text: str) -> Transcript:
    return Transcript.from_rows(text.splitlines())


def with_xml(xml: CII, text: str = "") -> Transcript:
    return Transcript("application/pdf", 1, page(text).lines, einvoice.parse_invoice_xml(xml.xml()))


def extracted(transcript: Transcript) -> Any:
    return rule_based.extract_invoice(given(transcript), {})


def classified(transcript: Transcript) -> Any:
    return rule_based.classify_document(given(transcript), {})


def test_totals_that_do_not_add_up_are_shown_with_low_confidence_and_are_none() -> None:
    answer = extracted(page(INVOICE.replace("£84.00", "£85.00")))
    fields = answer["extraction"]
    assert fields["page_totals"] == {"total_gross": "85.00", "total_net": "70.00", "total_tax": "14.00"}
    assert (fields["total_gross"], fields["total_net"], fields["total_tax"]) == (None, None, None)
    assert answer["confidence"] <= 0.4
    assert "page_totals" not in extracted(page(INVOICE))["extraction"]


def test_an_e_invoice_is_what_its_xml_says() -> None:
    transcript = with_xml(CII(type_code="381"), "Gutschrift Nr. RE-1\nMuster GmbH")
    assert classified(transcript) == {"document_type": "credit_note", "confidence": 1.0}
    answer = extracted(transcript)
    assert (answer["reader"], answer["confidence"], answer["doubts"]) == ("e-invoice/6", 1.0, [])
    assert answer["extraction"]["invoice_number"] == "RE-1"


def test_a_page_that_contradicts_its_xml_halves_the_confidence_and_names_the_fields() -> None:
    answer = extracted(with_xml(CII(), "Rechnung Nr. RE-2\nMuster GmbH"))
    assert answer["confidence"] == 0.5
    assert "invoice_number" in answer["doubts"]
    assert answer["extraction"]["invoice_number"] == "RE-1"
    assert answer["extraction"]["page_values"]["invoice_number"] == "RE-2"


def test_an_e_invoice_without_a_page_to_compare_is_not_sure() -> None:
    answer = extracted(with_xml(CII()))
    assert (answer["confidence"], answer["review_reason"], answer["doubts"]) == (0.5, "no_text_layer", [])


@pytest.mark.parametrize(
    ("account", "review_reason"),
    [("IBAN DE88 2008 0000 0970 3757 00", None), ("Bitte zahlen Sie bald", "iban_not_on_page")],
)
def test_an_account_that_only_the_xml_names_is_told(account: str, review_reason: str | None) -> None:
    """Nobody who looks at the page can see whom he pays, and who changes a file in between changes its XML."""
    answer = extracted(with_xml(CII(), f"{PAGE_OF_XML}\n{account}"))
    assert (answer["doubts"], answer["review_reason"], answer["confidence"]) == ([], review_reason, 1.0)


@pytest.mark.parametrize(
    ("xml", "title", "review_reason"),
    [
        (CII(iban=None, type_code="325"), "Rechnung", "page_and_xml_disagree"),
        (CII(iban=None, type_code="381"), "Rechnung", "page_and_xml_disagree"),
        (CII(iban=None), "Gutschrift", "page_and_xml_disagree"),
        (CII(iban=None, type_code="389"), "Gutschrift", None),  # written by the buyer, who calls it so
        (CII(iban=None, lines=(("Beratung", "7", "1000", "7000", "19"),)), "Rechnung", "totals_do_not_add_up"),
    ],
)
def test_an_xml_of_another_kind_than_its_page_or_with_other_lines_than_its_total_is_for_a_person(
    xml: CII, title: str, review_reason: str | None
) -> None:
    answer = extracted(with_xml(xml, PAGE_OF_XML.replace("Rechnung", title)))
    assert (answer["doubts"], answer["review_reason"]) == ([], review_reason)
    assert answer["confidence"] == (1.0 if review_reason is None else 0.5)


def test_an_account_that_only_a_pdf_in_the_pdf_names_is_told() -> None:
    """Whoever opens the file sees its own page, which is the same invoice without an account."""
    own, inner = page(PAGE_OF_XML).lines, page(f"{PAGE_OF_XML}\nIBAN DE88 2008 0000 0970 3757 00").lines
    lines = (*own, *(replace(line, page=1) for line in inner))
    transcript = Transcript("application/pdf", 2, lines, einvoice.parse_invoice_xml(CII().xml()), part_starts=(1,))
    assert extracted(transcript)["review_reason"] == "iban_not_on_page"


def test_a_page_is_read_by_its_layout() -> None:
    assert classified(page(INVOICE))["document_type"] == "invoice"
    answer = extracted(page(INVOICE))
    assert (answer["reader"], answer["confidence"]) == ("layout-rules/7", 0.95)
    assert answer["extraction"]["total_gross"] == "84.00"


def test_a_supplier_that_one_sign_alone_names_is_for_a_person_with_what_was_read() -> None:
    """The largest company on a page may be the customer: two of five fresh invoices were completed with its name."""
    answer = extracted(page(INVOICE.replace("Bill to: Redbourne Homes Ltd\n", "")))
    assert (answer["review_reason"], answer["confidence"]) == ("supplier_uncertain", 0.6)
    assert answer["extraction"]["supplier_name"] == "Northwind Ltd"


def test_what_is_no_invoice_has_no_type() -> None:
    assert classified(page("Minutes of the meeting"))["document_type"] is None


@pytest.mark.parametrize(
    ("text", "confidence"),
    [
        (INVOICE.replace("Subtotal  £70.00", ""), 0.8),  # a total that no sum confirms
        (INVOICE.replace("Northwind Ltd", ""), 0.76),
        ("Invoice", 0.0),
    ],
)
def test_confidence_falls_with_what_is_missing_or_unconfirmed(text: str, confidence: float) -> None:
    assert (
        extracted(page(text.replace("VAT 20%  £14.00", "") if confidence == 0.8 else text))["confidence"] == confidence
    )


STRUCK = PageMarks(struck_out=("NP-11",))


def test_an_invoice_with_words_that_are_struck_out_is_for_a_person_who_is_shown_them() -> None:
    answer = extracted(replace(page(INVOICE), marks=STRUCK))
    assert answer["review_reason"] == "struck_out"
    assert answer["extraction"]["page_marks"] == {"struck_out": ["NP-11"]}
    assert answer["extraction"]["invoice_number"] == "NP-12"
    assert "page_marks" not in extracted(page(INVOICE))["extraction"]


def test_an_invoice_whose_page_is_crossed_out_is_for_a_person() -> None:
    answer = extracted(replace(page(INVOICE), marks=PageMarks(is_crossed_out=True)))
    assert (answer["review_reason"], answer["extraction"]["page_marks"]) == ("struck_out", {"is_crossed_out": True})


def test_what_is_struck_out_on_the_page_of_an_e_invoice_is_for_a_person() -> None:
    assert extracted(replace(with_xml(CII(), PAGE_OF_XML), marks=STRUCK))["review_reason"] == "struck_out"


def test_a_paper_whose_title_is_struck_out_is_not_thrown_away() -> None:
    letter = page("Northwind Ltd\nThank you for your visit\nWe hope to see you again")
    assert classified(letter)["document_type"] is None
    assert classified(replace(letter, marks=STRUCK))["document_type"] is None
    assert classified(replace(letter, marks=PageMarks(struck_out=("INVOICE",))))["document_type"] == "invoice"


def stamped(text: str, *, is_large: bool = True) -> PageMarks:
    return PageMarks(stamps=(Stamp(text, is_large=is_large),))


VOID_WORDS = ["VOID", "CANCELLED 12.11.2026", "Draft", "STORNIERT", "Entwurf", "ANNULÉ", "Anulado", "BOZZA", "CONCEPT"]


@pytest.mark.parametrize("is_large", [True, False])
@pytest.mark.parametrize("text", VOID_WORDS)
def test_a_stamp_that_takes_the_paper_back_is_for_a_person_who_is_shown_it(text: str, *, is_large: bool) -> None:
    answer = extracted(replace(page(INVOICE), marks=stamped(text, is_large=is_large)))
    assert (answer["review_reason"], answer["extraction"]["page_marks"]) == ("stamped", {"stamps": [text]})


@pytest.mark.parametrize("text", ["DISPUTED BY J.S.", "Not Approved", "ZURÜCK AN ABSENDER", "nowhere known"])
def test_large_words_across_a_page_that_nothing_knows_are_for_a_person(text: str) -> None:
    assert extracted(replace(page(INVOICE), marks=stamped(text)))["review_reason"] == "stamped"
    small = extracted(replace(page(INVOICE), marks=stamped(text, is_large=False)))
    assert small["review_reason"] == ("stamped" if "DISPUTED" in text else None)


KNOWN = ["COPY", "Kopie", "ORIGINAL", "DUPLICATA", "PAID WITH THANKS", "BEZAHLT 12.11.2026", "Tax invoice", "Northwind"]


@pytest.mark.parametrize("text", KNOWN)
def test_a_stamp_beside_which_a_paper_stays_what_it_is_says_nothing(text: str) -> None:
    answer = extracted(replace(page(INVOICE), marks=stamped(text)))
    assert (answer["review_reason"], "page_marks" in answer["extraction"]) == (None, False)


@pytest.mark.parametrize("line", ["VOID", "*** DRAFT ***", "STORNIERT", "NOT AN INVOICE", "INVOICE  CANCELLED"])
def test_a_line_of_its_own_that_takes_the_paper_back_is_a_stamp(line: str) -> None:
    assert extracted(page(f"{line}\n{INVOICE}"))["review_reason"] == "stamped"


@pytest.mark.parametrize("line", ["PAID", "COPY", "Draft beer, 30 l", "Sample", "VOID  where prohibited"])
def test_a_line_that_says_something_else_is_none(line: str) -> None:
    assert extracted(page(f"{INVOICE}\n{line}"))["review_reason"] is None


def test_a_title_that_takes_something_back_is_judged_as_a_title() -> None:
    assert extracted(page(f"STORNO\n{INVOICE}"))["review_reason"] == "document_type_uncertain"


def test_a_comment_with_a_number_may_stand_in_place_of_what_the_page_says() -> None:
    answer = extracted(replace(page(INVOICE), marks=PageMarks(comments=("1,000.00",))))
    assert (answer["review_reason"], answer["extraction"]["page_marks"]) == ("stamped", {"comments": ["1,000.00"]})


def test_a_stamp_on_the_page_of_an_e_invoice_is_for_a_person() -> None:
    assert extracted(replace(with_xml(CII(), PAGE_OF_XML), marks=stamped("VOID")))["review_reason"] == "stamped"
