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
    "reader": "layout-rules/1",
    "changes": [{"field": "total_gross", "read": "19.00", "former": "19.00", "given": "119.00"}],
    "comment": "The first digit is under a stamp",
    "reviewer": "anna@acme.example",
    "api_key_id": "9f86d081884c",
    "recorded_at": "2026-11-28T13:10:00.000Z",
}

_BOX = {"field": "total_gross", "page": 1, "x": 482.0, "y": 611.5, "width": 51.3, "height": 11.0}
_ONE = {**_DOCUMENT, "evidence": {"unit": "pt", "origin": "top_left", "boxes": [_BOX]}, "attachments": []}

HISTORY_EXAMPLE = _answer({"items": [_HISTORY_ENTRY], "next_cursor": None})
LIST_EXAMPLE = _answer({"items": [_DOCUMENT], "next_cursor": None})
DOCUMENT_EXAMPLE = _answer(_ONE)
UPLOAD_EXAMPLE = _answer({**_ONE, "status": "pending", "extraction": None, "evidence": None}, 201)
ACCEPTED_EXAMPLE = _answer(_ONE, 202)
