from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid5

from mailroom_common.events.base import Event
from mailroom_common.events.terms import Profile, Provider

_ATTACHMENTS = UUID("0b7c2f64-77a5-5b43-8a0f-617474616368")


def attachment_id(doc_source_id: str, message_id: str, part_path: str) -> str:
    """UUIDv5 of (doc source, provider message id, part path): a part taken twice is one attachment.

    The part path is the attachment's immutable id on Graph and the `partId` on Gmail, never its `attachmentId`, which
    is a new one in each answer.
    """
    return str(uuid5(_ATTACHMENTS, "\x1f".join((doc_source_id, message_id, part_path))))


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentStored(Event):
    """An eligible part lies in the blob store. `from_` is `from` on the wire."""

    attachment_id: str
    provider: Provider
    profile: Profile
    message_id: str
    internet_message_id: str | None = None
    part_path: str
    filename: str | None = None
    content_type: str
    size_bytes: int
    content_sha256: str
    blob_key: str
    from_: str | None = None
    subject: str | None = None
    received_at: datetime | None = None
    folder: str | None = None
