"""A document as the API and the event stream show it: the fields of design 7.2, ready for JSON."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from ingestion.domain.document import format_rfc3339

_UNCHANGED_FIELDS = (
    "doc_source_id",
    "tenant_id",
    "profile",
    "status",
    "skip_reason",
    "review_reason",
    "content_sha256",
    "content_type",
    "size_bytes",
    "source_metadata",
    "document_type",
    "extraction",
    "confidence",
    "reader",
)

_HISTORY_FIELDS = (
    "version",
    "kind",
    "status",
    "reason",
    "document_type",
    "extraction",
    "confidence",
    "reader",
    "changes",
    "comment",
    "reviewer",
    "api_key_id",
)


def build_document_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """`row` has the columns of `ingestion.document`, and `possible_duplicates`: ids of those that may be the same
    invoice in other bytes; `trades`: what the ledger makes of its trades, in their order."""
    return {
        "id": row["document_id"],
        **{name: row[name] for name in _UNCHANGED_FIELDS},
        "version": row["result_number"],
        "review": _build_review_view(row),
        "possible_duplicates": list(row["possible_duplicates"]),
        "trades": row["trades"],
        "created_at": format_rfc3339(row["created_at"]),
        "updated_at": format_rfc3339(row["updated_at"]),
    }


def _build_review_view(row: Mapping[str, Any]) -> dict[str, Any] | None:
    """What a person decided last; `GET /documents/{id}/history` says who, and on what grounds."""
    if row["review_decision"] is None:
        return None
    return {"decision": row["review_decision"], "decided_at": format_rfc3339(row["reviewed_at"])}


def build_history_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """`row` has the columns of `ingestion.document_history`."""
    return {
        **{name: row[name] for name in _HISTORY_FIELDS},
        "recorded_at": format_rfc3339(row["recorded_at"]),
    }


def build_reread_view(last_reread: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of the history for another reading that changed nothing, from `ingestion.document.last_reread`."""
    ended_at = datetime.fromisoformat(last_reread["recorded_at"]).astimezone(UTC)
    return {**{name: last_reread.get(name) for name in _HISTORY_FIELDS}, "recorded_at": format_rfc3339(ended_at)}


def build_attachment_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """`row` has the columns of `ingestion.intake`."""
    received_at = row["received_at"]
    return {
        "attachment_id": row["attachment_id"],
        "duplicate_of": None if row["attachment_id"] == row["document_id"] else row["document_id"],
        "provider": row["provider"],
        "message_id": row["message_id"],
        "internet_message_id": row["internet_message_id"],
        "part_path": row["part_path"],
        "attachment_filename": row["filename"],
        "content_type": row["detected_content_type"],
        "size_bytes": row["size_bytes"],
        "from": row["sender_address"],
        "subject": row["subject"],
        "received_at": None if received_at is None else format_rfc3339(received_at),
        "folder": row["folder"],
        "recorded_at": format_rfc3339(row["recorded_at"]),
    }
