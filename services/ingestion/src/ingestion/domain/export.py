"""Documents as lines of an export: CSV for spreadsheets, JSON Lines for programs."""

import csv
import re
from collections.abc import Mapping
from enum import StrEnum
from io import StringIO
from typing import Any

import orjson


class ExportFormat(StrEnum):
    CSV = "csv"  # a header, and a line for each document without its lines
    JSONL = "jsonl"  # each document as `GET /documents` shows it, one a line


_PLAIN_FIELDS = (
    "id",
    "doc_source_id",
    "profile",
    "status",
    "skip_reason",
    "review_reason",
    "document_type",
    "confidence",
    "reader",
    "version",
    "content_sha256",
    "content_type",
    "size_bytes",
    "created_at",
    "updated_at",
)
_SOURCE_FIELDS = ("provider", "message_id", "from", "subject", "received_at", "attachment_filename")
_INVOICE_FIELDS = (
    "supplier_name",
    "vat_id",
    "iban",
    "invoice_number",
    "issue_date",
    "due_date",
    "currency",
    "total_net",
    "total_tax",
    "total_gross",
    "amount_due",
)
COLUMNS = (*_PLAIN_FIELDS, "review_decision", "possible_duplicates", *_SOURCE_FIELDS, *_INVOICE_FIELDS)

# What a spreadsheet takes for the beginning of a formula, which may send what is beside it to a stranger.
_FORMULA_SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_FORMULA_STARTS = (*_FORMULA_SIGNS, "\t", "\r", "\n")
# Where a spreadsheet may begin another cell within a text: in many countries it parts them by semicolons, and knows no
# quote that stands within.
_INNER_CELL = re.compile(f'([;\t\r\n])(?=(?:[^\\S\t\r\n]|")*[{re.escape("".join(_FORMULA_SIGNS))}])')
_NUMBERS = frozenset({"total_net", "total_tax", "total_gross", "amount_due"})


def write_header(export_format: ExportFormat) -> bytes:
    return write_csv_line(COLUMNS) if export_format is ExportFormat.CSV else b""


def write_document(export_format: ExportFormat, document: Mapping[str, Any]) -> bytes:
    """`document` is a view of `domain/views.py`."""
    if export_format is ExportFormat.JSONL:
        return orjson.dumps(document) + b"\n"
    source, fields = document["source_metadata"], document["extraction"] or {}
    values = {
        **{name: document[name] for name in _PLAIN_FIELDS},
        "review_decision": (document["review"] or {}).get("decision"),
        "possible_duplicates": " ".join(document["possible_duplicates"]),
        **{name: source.get(name) for name in _SOURCE_FIELDS},
        **{name: fields.get(name) for name in _INVOICE_FIELDS},
    }
    return write_csv_line([_guard(name, values[name]) for name in COLUMNS])


def _guard(name: str, value: Any) -> Any:
    """Text that a spreadsheet shows and does not calculate: with an apostrophe before what begins like a formula.

    A negative amount stays a number.
    """
    return guard_number(value) if name in _NUMBERS else guard_text(value)


def guard_number(value: Any) -> Any:
    return value if isinstance(value, str) and _is_number(value) else guard_text(value)


def guard_text(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    text = _INNER_CELL.sub(r"\1'", value)
    return f"'{text}" if value.lstrip(" \u00a0").startswith(_FORMULA_STARTS) or value[:1] in _FORMULA_STARTS else text


def _is_number(text: str) -> bool:
    return text.isascii() and text.removeprefix("-").replace(".", "", 1).isdigit()


def write_csv_line(values: Any) -> bytes:
    line = StringIO()
    csv.writer(line).writerow(values)
    return line.getvalue().encode("utf-8", "replace")
