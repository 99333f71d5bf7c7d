"""`GET /messages`, `/sync-runs`, `/parked-items`: what became of each mail and each sync run."""

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, Protocol, TypeVar

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.web import HTTPProblem, ListPage

# The largest bigint of Postgres.
_ABOVE_THE_NEWEST = 2**63 - 1


class MessageQueries(Protocol):
    """Rows of one tenant, newest first, whose `seq` is below `before`."""

    async def list_messages(
        self, tenant_id: str, *, before: int, doc_source_id: str | None, state: str | None, limit: int
    ) -> Sequence[dict[str, object]]: ...

    async def list_runs(
        self, tenant_id: str, *, before: int, doc_source_id: str | None, limit: int
    ) -> Sequence[dict[str, object]]: ...

    async def list_parked_items(
        self, tenant_id: str, *, before: int, doc_source_id: str | None, limit: int
    ) -> Sequence[dict[str, object]]: ...


class _Response(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class PartResponse(_Response):
    """`skip_reason` says why a part was not stored; `document_id`, `result_status` and `result_reason` are ingestion's.

    `parked_reason` is null as long as parts are parked with their whole message only.
    """

    part_path: str
    filename: str | None
    content_type: str | None
    size_bytes: int | None
    content_sha256: str | None
    stored: bool
    skip_reason: str | None
    parked_reason: str | None = None
    attachment_id: str | None
    document_id: str | None
    result_status: str | None
    result_reason: str | None


class MessageResponse(_Response):
    doc_source_id: str
    tenant_id: str
    message_id: str
    internet_message_id: str | None
    state: str
    skip_reason: str | None
    parked_reason: str | None
    folder: str | None
    subject: str | None
    sender: str | None = Field(validation_alias="sender_address", serialization_alias="from")
    received_at: datetime | None
    processed_at: datetime
    closed_at: datetime | None
    parts: list[PartResponse]


class SyncRunResponse(_Response):
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


class ParkedItemResponse(_Response):
    doc_source_id: str
    tenant_id: str
    message_id: str
    reason: str
    detail: str | None
    attempts: int
    first_failed_at: datetime
    last_failed_at: datetime
    next_attempt_at: datetime | None


MessageStateName = Literal["open", "closed", "parked", "observed", "removed"]
Limit = Annotated[int, Query(ge=1, le=200)]
A = TypeVar("A", bound=_Response)


def build_router(queries: MessageQueries, keys: APIKeys) -> APIRouter:
    router = APIRouter()
    viewer = Depends(require_role(keys, Role.VIEWER))

    @router.get("/messages")
    async def list_messages(
        caller: Annotated[Caller, viewer],
        doc_source_id: str | None = None,
        state: MessageStateName | None = None,
        limit: Limit = 50,
        cursor: str | None = None,
    ) -> ListPage[MessageResponse]:
        rows = await queries.list_messages(
            caller.tenant_id, before=_decode_cursor(cursor), doc_source_id=doc_source_id, state=state, limit=limit + 1
        )
        return _build_page(MessageResponse, rows, limit)

    @router.get("/sync-runs")
    async def list_sync_runs(
        caller: Annotated[Caller, viewer],
        doc_source_id: str | None = None,
        limit: Limit = 50,
        cursor: str | None = None,
    ) -> ListPage[SyncRunResponse]:
        rows = await queries.list_runs(
            caller.tenant_id, before=_decode_cursor(cursor), doc_source_id=doc_source_id, limit=limit + 1
        )
        return _build_page(SyncRunResponse, rows, limit)

    @router.get("/parked-items")
    async def list_parked_items(
        caller: Annotated[Caller, viewer],
        doc_source_id: str | None = None,
        limit: Limit = 50,
        cursor: str | None = None,
    ) -> ListPage[ParkedItemResponse]:
        rows = await queries.list_parked_items(
            caller.tenant_id, before=_decode_cursor(cursor), doc_source_id=doc_source_id, limit=limit + 1
        )
        return _build_page(ParkedItemResponse, rows, limit)

    return router


def _build_page(response_type: type[A], rows: Sequence[dict[str, object]], limit: int) -> ListPage[A]:
    """`rows` are one more than `limit` where there is a next page."""
    page_rows = rows[:limit]
    has_more = len(rows) > limit
    return ListPage(
        items=[response_type.model_validate(row) for row in page_rows],
        next_cursor=_encode_cursor(int(str(page_rows[-1]["seq"]))) if has_more else None,
    )


# Opaque to callers: what a cursor holds may change without notice.
def _encode_cursor(seq: int) -> str:
    return base64.urlsafe_b64encode(seq.to_bytes(8, "big")).decode().rstrip("=")


def _decode_cursor(cursor: str | None) -> int:
    if cursor is None:
        return _ABOVE_THE_NEWEST
    try:
        raw = base64.b64decode(cursor + "=", altchars=b"-_", validate=True)
    except ValueError:
        raw = b""
    if len(raw) != 8:
        raise HTTPProblem(422, "The cursor is not valid", "Pass `next_cursor` of the page before unchanged.")
    return min(int.from_bytes(raw, "big"), _ABOVE_THE_NEWEST)
