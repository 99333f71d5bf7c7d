"""What the records carry (design 4.1): one frozen dataclass per topic, whose fields are those of its Avro schema.

A test holds each class against `schemas/<topic>/v<N>.avsc`, so the two cannot drift apart.
"""

from mailroom_common.events.attachment import AttachmentStored
from mailroom_common.events.base import Event, derived_id
from mailroom_common.events.connection import ConnectionEvent, ConnectionKind
from mailroom_common.events.doc_source import ClientState, DocSource, DocSourceState, SourceFilter
from mailroom_common.events.lifecycle import LifecycleEvent, LifecycleKind
from mailroom_common.events.mail import MailEvent, MailKind
from mailroom_common.events.notification import Notification
from mailroom_common.events.result import IngestionResult, ResultStatus
from mailroom_common.events.sync_request import SyncReason, SyncRequest
from mailroom_common.events.terms import Access, Profile, Provider

__all__ = [
    "Access",
    "AttachmentStored",
    "ClientState",
    "ConnectionEvent",
    "ConnectionKind",
    "DocSource",
    "DocSourceState",
    "Event",
    "IngestionResult",
    "LifecycleEvent",
    "LifecycleKind",
    "MailEvent",
    "MailKind",
    "Notification",
    "Profile",
    "Provider",
    "ResultStatus",
    "SourceFilter",
    "SyncReason",
    "SyncRequest",
    "derived_id",
]
