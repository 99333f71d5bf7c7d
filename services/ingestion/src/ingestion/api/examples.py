"""Answers as the description of the API shows them; the answers themselves are built in `domain/views.py`."""

import json
from pathlib import Path
from typing import Any

_DOCUMENT: dict[str, Any] = json.loads(Path(__file__).with_name("document_example.json").read_text())


def _answer(example: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    return {200: {"content": {"application/json": {"example": example}}}}


LIST_EXAMPLE = _answer({"items": [_DOCUMENT], "next_cursor": None})
DOCUMENT_EXAMPLE = _answer({**_DOCUMENT, "attachments": []})
