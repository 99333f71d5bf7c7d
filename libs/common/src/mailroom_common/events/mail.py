from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from mailroom_common.events.base import Event


class MailKind(StrEnum):
    RECEIVED = "received"
    CHANGED = "changed"
    MOVED = "moved"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True, kw_only=True)
class MailEvent(Event):
    """Metadata of one mail's life, never a body, never an attachment."""

    kind: MailKind
    message_id: str
    internet_message_id: str | None = None
    conversation_id: str | None = None
    folder_id: str | None = None
    folder: str | None = None
    previous_folder_id: str | None = None
    from_address: str | None = None
    from_domain: str | None = None
    subject: str | None = None
    received_at: datetime | None = None
    is_read: bool | None = None
    importance: str | None = None
    has_attachments: bool | None = None
    categories: list[str] = field(default_factory=list)
    newsletter: bool | None = None
    automated: bool | None = None
    item_version: str | None = None
