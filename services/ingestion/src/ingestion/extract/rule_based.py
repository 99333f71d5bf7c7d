"""Classifying and extracting by rules, without a network.

The entry points that the parser process is asked for: the rules read untrusted text of any length.
"""

from collections.abc import Mapping
from typing import Any, BinaryIO

import orjson

from ingestion.domain.invoice import Invoice
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import is_invoice, read_invoice
from ingestion.extract.ocr_certainty import find_uncertain_fields, was_read_by_ocr
from ingestion.extract.page_comparison import find_contradictions, find_reason_for_no_comparison
from mailroom_common.parser import JSON

LAYOUT_READER = "layout-rules/1"
OCR_READER = "ocr+layout-rules/1"
E_INVOICE_READER = "e-invoice/1"

_FIELD_WEIGHTS = {"invoice_number": 0.25, "total_gross": 0.25, "issue_date": 0.2, "supplier_name": 0.2, "currency": 0.1}


def classify_document(file: BinaryIO, _arguments: Mapping[str, Any]) -> JSON:
    """`document_type` is null for what is no invoice."""
    transcript = Transcript.from_json(orjson.loads(file.read()))
    if transcript.e_invoice is not None:
        return {"document_type": transcript.e_invoice["document_type"], "confidence": 1.0}
    if not is_invoice(transcript):
        return {"document_type": None, "confidence": 0.8}
    _, kind = read_invoice(transcript)
    return {"document_type": kind, "confidence": 0.8}


def extract_invoice(file: BinaryIO, _arguments: Mapping[str, Any]) -> JSON:
    """`extraction` has the fields of an invoice, `doubts` the names of those that need a person's eye, `unseen` why a
    page could not be compared with its XML, or is not certain enough to be believed."""
    transcript = Transcript.from_json(orjson.loads(file.read()))
    if transcript.e_invoice is not None:
        return _extract_from_xml(transcript.drop_hidden_lines(), transcript.e_invoice)
    invoice, kind = read_invoice(transcript)
    is_ocr = was_read_by_ocr(transcript)
    is_uncertain = is_ocr and bool(find_uncertain_fields(invoice, transcript))
    confidence = _estimate_confidence(invoice)
    return {
        "document_type": kind,
        "extraction": invoice.to_json(),
        "confidence": min(confidence, 0.5) if is_uncertain else confidence,
        "doubts": [],
        "unseen": ReviewReason.OCR_UNCERTAIN if is_uncertain else None,
        "reader": OCR_READER if is_ocr else LAYOUT_READER,
    }


def _extract_from_xml(transcript: Transcript, e_invoice: Mapping[str, Any]) -> JSON:
    invoice = Invoice.from_json(e_invoice["invoice"])
    unseen = find_reason_for_no_comparison(invoice, transcript)
    contradictions = {} if unseen else find_contradictions(invoice, transcript)
    extraction = invoice.to_json()
    # Both values are shown to whoever decides.
    extraction |= {"page_values": contradictions} if contradictions else {}
    return {
        "document_type": e_invoice["document_type"],
        "extraction": extraction,
        "confidence": 0.5 if contradictions or unseen else 1.0,
        "doubts": list(contradictions),
        "unseen": unseen,
        "reader": E_INVOICE_READER,
    }


def _estimate_confidence(invoice: Invoice) -> float:
    """The share of the fields that matter most, by weight; totals that were never checked by a sum count for less."""
    known = sum(weight for name, weight in _FIELD_WEIGHTS.items() if getattr(invoice, name) is not None)
    checked = {True: 0.95, None: 0.8, False: 0.4}[invoice.totals_add_up()]
    return round(known * checked, 2)
