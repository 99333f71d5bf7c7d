"""What the API answers: the shapes of its JSON, each with an example."""

from datetime import datetime
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from pydantic.config import JsonDict

from mailroom_common.events import MailKind
from sync_engine.domain.message_outcome import MessageOutcome
from sync_engine.domain.message_records import ParkedReason

_PART: JsonDict = {
    "part_path": "1",
    "filename": "terms.docx",
    "content_type": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "size_bytes": 18311,
    "content_sha256": None,
    "stored": False,
    "skip_reason": "not_a_document",
    "via": [],
    "parked_reason": None,
    "attachment_id": None,
    "document_id": None,
    "result_status": None,
    "result_reason": None,
}
_MESSAGE: JsonDict = {
    "doc_source_id": "0b8f0f4e-6a7c-4a53-9d53-0f6f2c1f9c11",
    "tenant_id": "acme",
    "message_id": "AAkALgAAAAAAHYQDEapmEc2byACqAC-EWg0A",
    "internet_message_id": "<4711@supplier.example>",
    "state": "closed",
    "outcome": "not_filed",
    "reason": "not_a_document",
    "part_reasons": [{"part_path": "1", "filename": "terms.docx", "reason": "not_a_document"}],
    "skip_reason": None,
    "parked_reason": None,
    "folder": "Inbox",
    "subject": "Our terms",
    "from": "sales@supplier.example",
    "received_at": "2026-11-28T12:00:01Z",
    "processed_at": "2026-11-28T12:00:03Z",
    "closed_at": "2026-11-28T12:00:03Z",
    "parts": [_PART],
}


_MAIL_EVENT: JsonDict = {
    "event_id": "3f0c9f0e-0f5c-5a0e-9f43-6f2b7c1d2e11",
    "recorded_at": "2026-11-28T12:00:03.120145Z",
    "occurred_at": "2026-11-28T12:00:01Z",
    "tenant_id": "acme",
    "doc_source_id": "0b8f0f4e-6a7c-4a53-9d53-0f6f2c1f9c11",
    "kind": "moved",
    "message_id": "AAkALgAAAAAAHYQDEapmEc2byACqAC-EWg0A",
    "internet_message_id": "<4711@supplier.example>",
    "conversation_id": "AAQkAGI2",
    "folder_id": "AAMkAGI3",
    "folder": "Archive",
    "previous_folder_id": "AAMkAGI2",
    "previous_folder": "Inbox",
    "from_address": "sales@supplier.example",
    "from_domain": "supplier.example",
    "from_name": "Sales",
    "subject": "Our terms",
    "received_at": "2026-11-28T11:58:00Z",
    "is_read": True,
    "importance": "normal",
    "flag": "flagged",
    "has_attachments": False,
    "categories": [],
    "newsletter": None,
    "automated": None,
    "item_version": "CQAAABYAAAB",
}


class APIResponse(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class PartResponse(APIResponse):
    """`skip_reason` says why a part was not stored, `parked_reason` why it is not yet: it is tried again. `via` is what
    was opened for it, from the outside in: `message`, `zip`, `tnef`, `smime`, `msg`.

    `document_id`, `result_status` and `result_reason` are ingestion's.
    """

    part_path: str
    filename: str | None
    content_type: str | None
    size_bytes: int | None
    content_sha256: str | None
    stored: bool
    skip_reason: str | None
    via: list[str] = []
    parked_reason: str | None = None
    attachment_id: str | None
    document_id: str | None
    result_status: str | None
    result_reason: str | None


class PartReasonResponse(APIResponse):
    part_path: str
    filename: str | None
    reason: str


class MessageResponse(APIResponse):
    """`closed` is a state and says that nothing more is awaited; whether it was filed is the `outcome`."""

    model_config = ConfigDict(json_schema_extra={"examples": [_MESSAGE]})

    doc_source_id: str
    tenant_id: str
    message_id: str
    internet_message_id: str | None
    state: str
    outcome: MessageOutcome
    reason: str | None = Field(
        description="Why nothing was filed, or why a person is needed; explained in the reference."
    )
    part_reasons: list[PartReasonResponse] = Field(
        description="The reasons that are about a part, each with its part; none of a mail that was rejected whole."
    )
    skip_reason: str | None
    parked_reason: str | None
    folder: str | None
    subject: str | None
    sender: str | None = Field(validation_alias="sender_address", serialization_alias="from")
    received_at: datetime | None
    processed_at: datetime
    closed_at: datetime | None
    parts: list[PartResponse]


class MailEventResponse(APIResponse):
    """The fields of the record in `mail-events`. Null is unknown: a removal tells nothing but where the mail lay."""

    model_config = ConfigDict(json_schema_extra={"examples": [_MAIL_EVENT]})

    event_id: str = Field(description="The same each time that the event is sent.")
    recorded_at: datetime = Field(description="When sync-engine recorded it.")
    occurred_at: datetime = Field(description="By the provider's clock; of a removal, when it was noticed.")
    tenant_id: str
    doc_source_id: str
    kind: MailKind
    message_id: str
    internet_message_id: str | None
    conversation_id: str | None
    folder_id: str | None
    folder: str | None
    previous_folder_id: str | None
    previous_folder: str | None
    from_address: str | None
    from_domain: str | None
    from_name: str | None
    subject: str | None
    received_at: datetime | None
    is_read: bool | None
    importance: str | None
    flag: str | None = Field(description="not_flagged, flagged (or starred) or complete.")
    has_attachments: bool | None
    categories: list[str]
    newsletter: bool | None
    automated: bool | None
    item_version: str | None


class SyncRunResponse(APIResponse):
    run_id: str
    doc_source_id: str
    tenant_id: str
    kind: str
    reasons: list[str]
    started_at: datetime
    finished_at: datetime | None
    outcome: str | None
    detail: str | None
    new_messages: int
    unannounced_messages: int
    stored_parts: int
    parked_items: int
    relist_number: int = Field(description="Of the newest re-list that was begun when the run was.")


class ParkedItemResponse(APIResponse):
    doc_source_id: str
    tenant_id: str
    message_id: str
    part_path: str | None = Field(description="Null: the whole message is parked.")
    reason: str
    detail: str | None
    attempts: int
    first_failed_at: datetime = Field(description="Of `gone`: since when it has been gone.")
    last_failed_at: datetime
    next_attempt_at: datetime | None


class RetryRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    reason: ParkedReason = Field(description="What is parked for this reason is due at once.")
    doc_source_id: UUID | None = Field(default=None, description="Without it: of all doc sources of the tenant.")


class RetryResponse(APIResponse):
    messages: int = Field(description="Whole messages that are due now and were not before.")
    parts: int = Field(description="Single parts that are due now and were not before.")


class SyncStateResponse(APIResponse):
    """`not_before`: no run before then, because the last ones failed or the provider throttles us."""

    doc_source_id: str
    tenant_id: str
    source_state: str
    is_full_run_due: bool
    is_grant_refused: bool = Field(description="No run before somebody consents anew.")
    not_before: datetime | None
    failed_attempts: int = Field(description="Failed runs in a row.")
    modified_listed_until: datetime | None
    last_full_run_started_at: datetime | None
    last_full_run_ended_at: datetime | None = Field(description="From then on counts when the next full run is due.")
    last_run_started_at: datetime | None
    last_run_outcome: str | None
    open_messages: int = Field(description="Stored, and not every part has its result yet.")
    parked_items: int = Field(description="Messages and parts that are tried again.")
    missing_folders: list[str]
