"""What the records carry (design 4.1): one frozen dataclass per topic, whose fields are those of its Avro schema.

A test holds each class against `schemas/<topic>/v<N>.avsc`, so the two cannot drift apart.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import sha1
from uuid import UUID, uuid5

_EVENT_NAMESPACE = UUID("6f1d3f0a-5b0e-5c7e-9f3e-6d61696c726d").bytes
_ATTACHMENT_NAMESPACE = UUID("0b7c2f64-77a5-5b43-8a0f-617474616368")


class Access(StrEnum):
    DELEGATED = "delegated"  # a user consented in a browser
    APPLICATION = "application"  # an administrator let the application in; no user, no refresh token


class Profile(StrEnum):
    INVOICE = "invoice"  # invoices become structured documents for accounts payable
    CONTRACT_NOTE = "contract_note"  # contract notes and statements of brokers, which are read for trades
    OBSERVATION = "observation"  # only metadata of mails, as mail events


def derive_event_id(*parts: object) -> str:
    """A UUIDv5 of what the event says: the same fact published twice has the same id, so a reader drops the repeat."""
    # As `uuid5` makes it, at a third of the price: the gateway needs thousands a second.
    text = "\x1f".join(map(str, parts)).encode()
    digest = sha1(_EVENT_NAMESPACE + text, usedforsecurity=False).hexdigest()
    variant = "89ab"[int(digest[16], 16) & 3]
    return f"{digest[:8]}-{digest[8:12]}-5{digest[13:16]}-{variant}{digest[17:20]}-{digest[20:32]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    event_id: str
    occurred_at: datetime
    tenant_id: str
    doc_source_id: str


class DocSourceState(StrEnum):
    PENDING = "pending"  # not consented to yet
    ACTIVE = "active"  # is synced
    PAUSED = "paused"  # kept connected but not synced
    DELETING = "deleting"  # being ended at the provider and removed here


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientState:
    """SHA-256 (hex) of one client state, good until its subscription can no longer exist."""

    sha256: str
    valid_until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Relist:
    """One request of an operator to list a mailbox again, of mail received since `relist_from`."""

    number: int
    relist_from: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFilter:
    sender_allow: list[str] = field(default_factory=list)
    sender_deny: list[str] = field(default_factory=list)
    strictness: str = "lenient"


@dataclass(frozen=True, slots=True, kw_only=True)
class DocSource(Event):
    """A doc source as the directory shows it. Readers keep the highest `version` per id, tombstones included.

    `relist_number` counts the re-lists that operators asked for; `relist_from` is what the newest one lists again.
    `earlier_relists` reach further back than it: whoever has not begun them yet begins them with the newest.
    """

    version: int
    provider: str
    profile: Profile
    access: Access
    address: str | None = None
    aliases: list[str] = field(default_factory=list)
    provider_user_id: str | None = None
    provider_tenant: str | None = None
    state: DocSourceState
    folders: list[str] = field(default_factory=list)
    start_at: datetime | None = None
    filter: SourceFilter = field(default_factory=SourceFilter)
    client_states: list[ClientState] = field(default_factory=list)
    subscription_id: str | None = None
    grant_generation: int = 0
    relist_from: datetime | None = None
    relist_number: int = 0
    earlier_relists: list[Relist] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notification(Event):
    """A provider's hint that something changed. It is not the change.

    `provider_event` is what the provider would repeat if it sent the hint again: subscription, item and etag on Graph,
    address and history id on Gmail.
    """

    provider: str
    subscription_id: str | None = None
    change_type: str | None = None
    message_id: str | None = None
    history_id: str | None = None
    provider_event: str


class LifecycleKind(StrEnum):
    # the subscription ends soon unless it is renewed or reauthorized
    REAUTHORIZATION_REQUIRED = "reauthorization_required"
    SUBSCRIPTION_REMOVED = "subscription_removed"  # the subscription ended; a new one is needed
    MISSED = "missed"  # notifications were lost; a full run is needed
    OTHER = "other"  # a kind that we do not know; stored with its raw name and otherwise ignored


@dataclass(frozen=True, slots=True, kw_only=True)
class LifecycleEvent(Event):
    """A provider's statement on the subscription itself; `raw_kind` is its own spelling."""

    provider: str
    subscription_id: str
    kind: LifecycleKind
    raw_kind: str


class SyncReason(StrEnum):
    NOTIFICATION = "notification"  # the provider announced a change
    BACKSTOP = "backstop"  # the regular sync that finds what no notification announced
    CONNECT = "connect"  # the mailbox was just connected, or has a new subscription
    RESUME = "resume"  # the source was paused and is active again
    LIFECYCLE = "lifecycle"  # the provider lost notifications or the subscription
    REPLAY = "replay"  # an operator replays a topic
    MANUAL = "manual"  # asked for by `POST /doc-sources/{id}/sync`
    RETRY = "retry"  # appended again by the worker, after a failure or a shadowing tombstone


# Reasons that ask for a full run; the others only wake the doc source (design 3, sync-engine).
FULL_RUN_REASONS = frozenset(
    {SyncReason.CONNECT, SyncReason.RESUME, SyncReason.LIFECYCLE, SyncReason.MANUAL, SyncReason.REPLAY}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncRequest(Event):
    """Sync this doc source. `reasons` decide nothing but whether the run is a full one (`FULL_RUN_REASONS`)."""

    reasons: list[SyncReason]
    first_requested_at: datetime


class ConnectionKind(StrEnum):
    SYNCED = "synced"  # a run ended without error
    TOKEN_REFUSED = "token_refused"  # noqa: S105  # a word of ours, not a secret
    MAILBOX_GONE = "mailbox_gone"  # the provider says that the mailbox does not exist (any more)
    ACCESS_DENIED = "access_denied"  # the provider refuses the mailbox to us, whatever the token
    PROVIDER_FAILING = "provider_failing"  # several runs in a row failed at the provider
    RECOVERED = "recovered"  # a run succeeded after `provider_failing`
    FORGOTTEN = "forgotten"  # sync-engine has removed its rows of a deleted source


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionEvent(Event):
    """What sync-engine learned about a connection. `unannounced` counts messages that no notification announced.

    `source_version` is that of the doc source as sync-engine had it: `forgotten` names the deletion that it answers.
    `trouble` is for `synced` only: what the run found wrong all the same, with what to do (a watched folder that is not
    there). It stands until the next `synced`, which says it again or not.
    """

    kind: ConnectionKind
    detail: str | None = None
    grant_generation: int
    unannounced: int = 0
    source_version: int = 0
    trouble: str | None = None


def derive_attachment_id(doc_source_id: str, message_id: str, part_path: str) -> str:
    """UUIDv5 of (doc source, provider message id, part path): a part stored twice is one attachment.

    The part path is the attachment's immutable id on Graph and the `partId` on Gmail, never its `attachmentId`, which
    is a new one in each answer.
    """
    return str(uuid5(_ATTACHMENT_NAMESPACE, "\x1f".join((doc_source_id, message_id, part_path))))


def derive_blob_key(attachment_id: str, file_extension: str) -> str:
    """Where the content of an attachment is stored."""
    return f"documents/{attachment_id}.{file_extension}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachmentStored(Event):
    """An eligible part was stored in the blob store. `from_` is `from` on the wire."""

    attachment_id: str
    provider: str
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


class ResultStatus(StrEnum):
    """Every status but `pending` and `processing` is final, and only final ones are published."""

    PENDING = "pending"
    PROCESSING = "processing"
    COMPLETED = "completed"  # read, complete and consistent
    NEEDS_REVIEW = "needs_review"  # a person has to look, for the reason given
    SKIPPED = "skipped"  # not a document for this source
    FAILED = "failed"  # given up after all attempts


UNREAD_REASONS = frozenset(
    {"password_required", "password_wrong", "unreadable", "no_text_layer", "image_needs_ocr", "ocr_uncertain"}
    | {"archive_refused", "reader_limit", "reader_crashed", "blob_missing", "blob_mismatch", "internal_error"}
    | {"container_unreadable", "text_garbled", "form_not_read", "pages_not_read", "embedded_files_not_read"}
    | {"xml_unreadable", "no_reader_yet", "text_not_visible"}
)
"""Reasons of `needs_review` that say nothing of a document's content: it was not read, or no copy of it was kept."""

REJECTED_REASON = "rejected"
"""Reason of `skipped` where a person decided so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestionResult(Event):
    """The outcome of one attachment. `extraction` and each of `trades` are JSON texts; `confidence` is 0 to 1."""

    attachment_id: str
    document_id: str
    duplicate_of: str | None = None
    message_id: str | None = None
    status: ResultStatus
    reason: str | None = None
    document_type: str | None = None
    confidence: float | None = None
    extraction: str | None = None
    trades: list[str] = field(default_factory=list)
    archive_path: str | None = None
    reader: str | None = None
    attempt: int = 1


class MailKind(StrEnum):
    RECEIVED = "received"  # the mail was first seen
    CHANGED = "changed"  # flags, categories or another property changed
    MOVED = "moved"  # it is in another folder
    REMOVED = "removed"  # it was deleted or left the watched folders


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
    from_name: str | None = None
    flag: str | None = None
    previous_folder: str | None = None
