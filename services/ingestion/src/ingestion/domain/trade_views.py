"""Trades of the ledger as the API shows them, and as lines of an export."""

from collections.abc import Mapping
from typing import Any

import orjson

from ingestion.domain.document import format_rfc3339
from ingestion.domain.export import ExportFormat, guard_number, guard_text, write_csv_line
from ingestion.domain.trade import TRADE_FIELDS

_PLAIN_FIELDS = (
    "document_id",
    "doc_source_id",
    "document_type",
    "position",
    "state",
    "duplicate_of",
    "cancelled_by",
    "cancels",
    "order_match",
    "order_id",
    "version",
)
EXPORT_COLUMNS = ("id", *_PLAIN_FIELDS, *TRADE_FIELDS, "created_at", "updated_at")
# A negative one stays a number in a spreadsheet. All else a sender may have written, also the currency.
_NUMBERS = frozenset(
    {
        "quantity",
        "price",
        "settled_amount",
        "gross_amount",
        "fees",
        "taxes",
        "accrued_interest",
        "foreign_gross_amount",
    }
)


def build_trade_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """`row` has the columns of `ingestion.trade`."""
    return {
        "id": row["trade_id"],
        **{name: row[name] for name in _PLAIN_FIELDS},
        "order_candidates": list(row["order_candidates"] or ()),
        "trade": row["fields"],
        "created_at": format_rfc3339(row["created_at"]),
        "updated_at": format_rfc3339(row["updated_at"]),
    }


def build_trade_decision_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """`row` has the columns of `ingestion.trade_decision`."""
    names = ("trade_id", "other_trade_id", "decision", "comment", "reviewer", "api_key_id")
    return {**{name: row[name] for name in names}, "decided_at": format_rfc3339(row["decided_at"])}


def write_trade_header(export_format: ExportFormat) -> bytes:
    return write_csv_line(EXPORT_COLUMNS) if export_format is ExportFormat.CSV else b""


def write_trade(export_format: ExportFormat, view: Mapping[str, Any]) -> bytes:
    if export_format is ExportFormat.JSONL:
        return orjson.dumps(view) + b"\n"
    values = {**dict.fromkeys(TRADE_FIELDS), **view, **view["trade"]}
    guarded = (guard_number(values[name]) if name in _NUMBERS else guard_text(values[name]) for name in EXPORT_COLUMNS)
    return write_csv_line(list(guarded))
