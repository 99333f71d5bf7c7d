"""Answers as the description of the API shows them; the answers themselves are built in `domain/views.py`."""

import json
from pathlib import Path
from typing import Any

_DOCUMENT: dict[str, Any] = json.loads(Path(__file__).with_name("document_example.json").read_text())


def _answer(example: dict[str, Any], status: int = 200) -> dict[int | str, dict[str, Any]]:
    return {status: {"content": {"application/json": {"example": example}}}}


_HISTORY_ENTRY = {
    "version": 2,
    "kind": "corrected",
    "status": "completed",
    "reason": None,
    "document_type": "invoice",
    "extraction": _DOCUMENT["extraction"],
    "confidence": 0.6,
    "reader": "layout-rules/7",
    "changes": [{"field": "total_gross", "read": "19.00", "former": "19.00", "given": "119.00"}],
    "comment": "The first digit is under a stamp",
    "reviewer": "anna@acme.example",
    "api_key_id": "9f86d081884c",
    "recorded_at": "2026-11-28T13:10:00.000Z",
}

_BOX = {"field": "total_gross", "page": 1, "x": 482.0, "y": 611.5, "width": 51.3, "height": 11.0}
_ONE = {
    **_DOCUMENT,
    "evidence": {"unit": "pt", "origin": "top_left", "boxes": [_BOX], "pages_not_read": []},
    "attachments": [],
}

_CHANGED_ACCOUNT = {
    **_DOCUMENT,
    "status": "needs_review",
    "review_reason": "iban_changed",
    "extraction": {
        **_DOCUMENT["extraction"],
        "iban": "FR1420041010050500013M02606",
        "known_ibans": ["DE88200800000970375700"],
    },
    "confidence": 1.0,
    "reader": "e-invoice/6",
}

_READ_BY_TEMPLATE = {
    **_DOCUMENT,
    "extraction": {
        **_DOCUMENT["extraction"],
        "template": {"id": "0d6f4c5e-2f0c-4a53-9c57-3b0e6a4f8f21", "fields": ["invoice_number", "total_gross"]},
    },
    "confidence": 0.9,
    "reader": "layout-rules/7+template/2",
}

HISTORY_EXAMPLE = _answer({"items": [_HISTORY_ENTRY], "next_cursor": None})
LIST_EXAMPLE = _answer({"items": [_DOCUMENT], "next_cursor": None})
DOCUMENT_EXAMPLE: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "application/json": {
                "examples": {
                    "completed": {"value": _ONE},
                    "template": {
                        "summary": "Read by what an earlier review has taught",
                        "value": {**_ONE, **_READ_BY_TEMPLATE},
                    },
                    "iban_changed": {
                        "summary": "To be paid to an account that is new for its supplier",
                        "value": {**_ONE, **_CHANGED_ACCOUNT},
                    },
                }
            }
        }
    }
}
UPLOAD_EXAMPLE = _answer({**_ONE, "status": "pending", "extraction": None, "evidence": None}, 201)
ACCEPTED_EXAMPLE = _answer(_ONE, 202)
