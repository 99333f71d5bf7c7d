"""Builds the events of a mail. Their ids are derived from their facts, so that a repeat has the same id."""

from dataclasses import dataclass
from datetime import datetime

from mailroom_common.events import AttachmentStored, DocSource, MailEvent, MailKind, derive_event_id
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.mail_filter import is_automated, is_newsletter
from sync_engine.domain.message_records import KnownMessage, MessageState, ProcessedMessage, StoredPart
from sync_engine.domain.watched_folders import MessageLocation


@dataclass(frozen=True, slots=True, kw_only=True)
class MailEventSelection:
    """Which of the recorded events of a tenant are asked for; None matches any. Times are those of their recording."""

    doc_source_id: str | None = None
    kind: MailKind | None = None
    message_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None  # not included


@dataclass(frozen=True, slots=True)
class EventPosition:
    """Of a recorded event among all others; `seq` orders those of one moment."""

    recorded_at: datetime
    seq: int


def map_attachment_event(
    source: DocSource, message: ProcessedMessage, part: StoredPart, now: datetime
) -> AttachmentStored:
    summary = message.summary
    return AttachmentStored(
        event_id=derive_event_id("attachment-stored", part.attachment_id),
        occurred_at=now,
        tenant_id=source.tenant_id,
        doc_source_id=source.doc_source_id,
        attachment_id=part.attachment_id,
        provider=source.provider,
        profile=source.profile,
        message_id=summary.message_id,
        internet_message_id=summary.internet_message_id,
        part_path=part.part_path,
        filename=part.filename,
        content_type=part.content_type,
        size_bytes=part.size_bytes,
        content_sha256=part.content_sha256,
        blob_key=part.blob_key,
        from_=summary.sender_address,
        subject=summary.subject,
        received_at=summary.received_at,
        folder=message.folder,
    )


def map_mail_event(
    source: DocSource,
    kind: MailKind,
    summary: MessageSummary,
    location: MessageLocation | None,
    known: KnownMessage | None,
    now: datetime,
) -> MailEvent:
    previous = known if kind in {MailKind.MOVED, MailKind.REMOVED} else None
    # Headers are fetched when a mail is received: without them these two are unknown, not false.
    has_headers = summary.headers is not None
    return MailEvent(
        event_id=derive_event_id(
            "mail-event",
            source.doc_source_id,
            summary.message_id,
            kind,
            *_distinguishing_facts(kind, summary, location, known),
        ),
        occurred_at=_event_time(kind, summary, now),
        tenant_id=source.tenant_id,
        doc_source_id=source.doc_source_id,
        kind=kind,
        message_id=summary.message_id,
        internet_message_id=summary.internet_message_id,
        conversation_id=summary.conversation_id,
        folder_id=location.folder_id if location else None,
        folder=(location.name or None) if location else None,
        previous_folder_id=previous.folder_id if previous else None,
        previous_folder=(previous.folder or None) if previous else None,
        from_address=summary.sender_address,
        from_name=summary.sender_name,
        from_domain=(summary.sender_address or "").rpartition("@")[2].lower() or None,
        subject=summary.subject,
        received_at=summary.received_at,
        is_read=summary.is_read,
        importance=summary.importance,
        flag=summary.flag,
        has_attachments=summary.has_attachments,
        categories=list(summary.categories),
        newsletter=is_newsletter(summary) if has_headers else None,
        automated=is_automated(summary) if has_headers else None,
        item_version=summary.version,
    )


def _distinguishing_facts(
    kind: MailKind, summary: MessageSummary, location: MessageLocation | None, known: KnownMessage | None
) -> tuple[object, ...]:
    """What tells events of one kind apart: a mail is received once, and changed with each version. It is removed, and
    shows again, as often as somebody recovers it, at times in the version that it had: when our record was written
    tells one removal from the next."""
    if kind is MailKind.RECEIVED:
        return ()
    if kind is MailKind.REMOVED:
        return (known.last_seen_at if known else None,)
    recovered = (known.last_seen_at,) if known and known.state is MessageState.REMOVED else ()
    return (summary.version, summary.modified_at, location.folder_id if location else None, *recovered)


def _event_time(kind: MailKind, summary: MessageSummary, now: datetime) -> datetime:
    at = summary.received_at if kind is MailKind.RECEIVED else summary.modified_at
    return now if kind is MailKind.REMOVED or at is None else at
