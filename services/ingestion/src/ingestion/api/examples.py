"""Answers as the description of the API shows them; the answers themselves are built in `domain/views.py`."""

from typing import Any

_DOCUMENT: dict[str, Any] = {
    "id": "6b2b7a0e-8a53-5a0e-8a58-3b1c8a7f2d10",
    "doc_source_id": "0b8f0f4e-6a7c-4a53-9d53-0f6f2c1f9c11",
    "tenant_id": "acme",
    "status": "completed",
    "skip_reason": None,
    "review_reason": None,
    "content_sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "content_type": "application/pdf",
    "size_bytes": 48213,
    "source_metadata": {
        "provider": "outlook",
        "message_id": "AAkALgAAAAAAHYQDEapmEc2byACqAC-EWg0A",
        "internet_message_id": "<4711@supplier.example>",
        "from": "billing@supplier.example",
        "subject": "Invoice 2026-114",
        "received_at": "2026-11-28T12:00:01Z",
        "attachment_filename": "invoice-2026-114.pdf",
    },
    "document_type": "invoice",
    "extraction": {
        "supplier_name": "Supplier Ltd",
        "invoice_number": "2026-114",
        "issue_date": "2026-11-27",
        "total_gross": "119.00",
        "currency": "EUR",
    },
    "confidence": 0.97,
    "created_at": "2026-11-28T12:00:04Z",
    "updated_at": "2026-11-28T12:00:06Z",
}


def _answer(example: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {"application/json": {"example": example}}}}


LIST_EXAMPLE = _answer({"items": [_DOCUMENT], "next_cursor": None})
DOCUMENT_EXAMPLE = _answer({**_DOCUMENT, "attachments": []})
