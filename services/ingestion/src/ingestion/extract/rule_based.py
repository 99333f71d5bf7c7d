"""Classifying and extracting by rules, without a network.

The entry points that the parser process is asked for: the rules read untrusted text of any length.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, BinaryIO

import orjson

from ingestion.domain.invoice import INVOICE, PAGE_TOTALS, PAYABLE_TYPES, SELF_BILLED_TYPES, Invoice
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import Transcript
from ingestion.extract.document_parts import (
    InvoicePart,
    contradict_each_other,
    list_invoice_parts,
    read_part,
    split_parts,
)
from ingestion.extract.ocr_certainty import find_uncertain_fields, was_read_by_ocr
from ingestion.extract.page_comparison import (
    find_contradictions,
    find_reason_for_no_comparison,
    is_another_kind,
    names_account,
)
from ingestion.extract.page_marks import find_doubt_of_marks, may_be_invoice, show_marks
from ingestion.extract.pages_left_out import may_hold_another_invoice
from mailroom_common.parser import JSON

LAYOUT_READER = "layout-rules/7"
OCR_READER = "ocr+layout-rules/7"
E_INVOICE_READER = "e-invoice/6"

_FIELD_WEIGHTS = {"invoice_number": 0.25, "total_gross": 0.25, "issue_date": 0.2, "supplier_name": 0.2, "currency": 0.1}

_DOUBTFUL_CONFIDENCE = 0.4
_ONE_SIGN_CONFIDENCE = 0.6  # only a person, or an earlier document, knows whether it is right
# These doubt all that was read.
_WHOLE_DOUBTS = frozenset(
    {
        ReviewReason.STRUCK_OUT,
        ReviewReason.STAMPED,
        ReviewReason.OCR_UNCERTAIN,
        ReviewReason.SEVERAL_INVOICES,
        ReviewReason.PAGES_NOT_READ,
        ReviewReason.DOCUMENT_TYPE_UNCERTAIN,
    }
)


def classify_document(file: BinaryIO, _arguments: Mapping[str, Any]) -> JSON:
    """`document_type` is null for what is no invoice."""
    transcript, parts = _read_parts(file.read())
    if transcript.e_invoice is not None:
        return {"document_type": transcript.e_invoice["document_type"], "confidence": 1.0}
    kind = parts[0].kind.document_type if parts else INVOICE if may_be_invoice(transcript.marks) else None
    return {"document_type": kind, "confidence": 0.8}


def extract_invoice(file: BinaryIO, _arguments: Mapping[str, Any]) -> JSON:
    """`extraction` has the fields of an invoice, `doubts` the names of those that a person has to check, and
    `review_reason` says that a page was not compared with its XML, or is not certain enough."""
    transcript, parts = _read_parts(file.read())
    if transcript.e_invoice is not None:
        return _extract_from_xml(transcript.drop_hidden_lines(), transcript.e_invoice)
    part = parts[0] if parts else read_part(transcript)
    is_ocr = was_read_by_ocr(part.transcript)
    is_uncertain = is_ocr and bool(find_uncertain_fields(part.invoice, part.transcript))
    doubt = ReviewReason.OCR_UNCERTAIN if is_uncertain else None
    if part.are_several or contradict_each_other(parts):
        doubt = ReviewReason.SEVERAL_INVOICES
    elif may_hold_another_invoice(transcript, part.invoice.invoice_number):
        doubt = ReviewReason.PAGES_NOT_READ
    elif doubt is None and not part.kind.is_certain:
        doubt = ReviewReason.DOCUMENT_TYPE_UNCERTAIN
    doubt = find_doubt_of_marks(transcript) or doubt
    confidence = estimate_confidence(part.invoice)
    if doubt is None and part.invoice.supplier_name is not None and not part.has_certain_supplier:
        doubt, confidence = ReviewReason.SUPPLIER_UNCERTAIN, min(confidence, _ONE_SIGN_CONFIDENCE)
    extraction = part.invoice.to_json() | show_marks(transcript)
    if part.invoice.total_gross is None and part.doubtful_totals:
        extraction, confidence = extraction | {PAGE_TOTALS: part.doubtful_totals}, min(confidence, _DOUBTFUL_CONFIDENCE)
    return {
        "document_type": part.kind.document_type,
        "extraction": extraction,
        "confidence": min(confidence, 0.5) if doubt in _WHOLE_DOUBTS else confidence,
        "doubts": [],
        "review_reason": doubt,
        "reader": OCR_READER if is_ocr else LAYOUT_READER,
    }


@lru_cache(maxsize=1)  # a process reads one document: it is classified, and its fields are extracted
def _read_parts(content: bytes) -> tuple[Transcript, list[InvoicePart]]:
    """No parts where there is an e-invoice: what it says is the invoice."""
    transcript = Transcript.from_json(orjson.loads(content))
    return transcript, [] if transcript.e_invoice is not None else list_invoice_parts(transcript)


def _extract_from_xml(transcript: Transcript, e_invoice: Mapping[str, Any]) -> JSON:
    invoice = Invoice.from_json(e_invoice["invoice"])
    pages = _list_pages_to_compare(transcript)
    reasons = (find_reason_for_no_comparison(invoice, page) for page in pages)
    review_reason = next((reason for reason in reasons if reason is not None), None)
    # Of several pages that are an invoice each one has to say what the XML says.
    contradictions: dict[str, Any] = {}
    for page in [] if review_reason else pages:
        contradictions = find_contradictions(invoice, page) | contradictions
    review_reason = review_reason or _find_doubt_of_xml(e_invoice, transcript, pages)
    confidence = 0.5 if contradictions or review_reason else 1.0
    if review_reason is None and invoice.iban and not all(names_account(invoice.iban, page) for page in pages):
        review_reason = ReviewReason.IBAN_NOT_ON_PAGE  # read exactly, and seen by nobody
    extraction = invoice.to_json() | show_marks(transcript)
    # Both values are shown to whoever decides.
    extraction |= {"page_values": contradictions} if contradictions else {}
    return {
        "document_type": e_invoice["document_type"],
        "extraction": extraction,
        "confidence": confidence,
        "doubts": list(contradictions),
        "review_reason": review_reason,
        "reader": E_INVOICE_READER,
    }


def _find_doubt_of_xml(
    e_invoice: Mapping[str, Any], transcript: Transcript, pages: Sequence[Transcript]
) -> ReviewReason | None:
    """Why a person has to look, though no field of the XML differs from its page."""
    if (doubt := find_doubt_of_marks(transcript)) is not None:
        return doubt
    document_type, type_code = e_invoice["document_type"], e_invoice["type_code"]
    if type_code is not None and type_code not in PAYABLE_TYPES:
        return ReviewReason.PAGE_AND_XML_DISAGREE  # an offer, a pro-forma invoice
    # Whoever writes an invoice to himself, on behalf of its supplier, calls it a credit note as well.
    if type_code not in SELF_BILLED_TYPES and any(is_another_kind(document_type, page) for page in pages):
        return ReviewReason.PAGE_AND_XML_DISAGREE
    return ReviewReason.TOTALS_DO_NOT_ADD_UP if e_invoice.get("lines_add_up") is False else None


def _list_pages_to_compare(transcript: Transcript) -> list[Transcript]:
    """Of a document with PDFs in it those that are an invoice, else its own pages."""
    if not transcript.part_starts:
        return [transcript]
    return [part.transcript for part in list_invoice_parts(transcript)] or split_parts(transcript)[:1] or [transcript]


def estimate_confidence(invoice: Invoice) -> float:
    """The share of the fields that matter most, by weight; totals that were never checked by a sum count for less."""
    known = sum(weight for name, weight in _FIELD_WEIGHTS.items() if getattr(invoice, name) is not None)
    checked = {True: 0.95, None: 0.8, False: 0.4}[invoice.totals_add_up()]
    return round(known * checked, 2)
