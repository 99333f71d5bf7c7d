"""Texts of strangers, made such that every table and topic can hold them."""

from dataclasses import replace

from mailroom_common.providers.types import MessageSummary

_MOST_CHARACTERS = 1000  # a header may be megabytes; a Kafka record may not


def storable(text: str | None) -> str | None:
    """Postgres stores no NUL and UTF-8 no lone surrogate: both come in headers."""
    if text is None:
        return None
    return text[:_MOST_CHARACTERS].replace("\x00", "").encode("utf-8", "replace").decode()


def storable_summary(summary: MessageSummary) -> MessageSummary:
    return replace(
        summary,
        internet_message_id=storable(summary.internet_message_id),
        conversation_id=storable(summary.conversation_id),
        subject=storable(summary.subject),
        sender_address=storable(summary.sender_address),
        sender_name=storable(summary.sender_name),
        importance=storable(summary.importance),
        categories=tuple(storable(category) or "" for category in summary.categories),
    )
