"""`GET /messages`, `/sync-runs`, `/parked-items`: what became of each mail, for whoever looks for one."""

import base64
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, Protocol, TypeVar

from fastapi import APIRouter, Depends, Query
from pydantic import BaseModel, ConfigDict, Field

from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.web import HTTPProblem, ListPage

_FROM_THE_NEWEST = 2**63 - 1


class ListsMessages(Protocol):
    """Newest first, below `before`, of one tenant; `seq` in each row is where it stands."""

    async def messages(
        self, tenant_id: str, *, before: int, doc_source_id: str | None, state: str | None, limit: int
    ) -> Sequence[dict[str, object]]: ...

    async def runs(
        self, tenant_id: str, *, before: int, doc_source_id: str | None, limit: int
    ) -> Sequence[dict[str, object]]: ...

    async def parked_items(
        self, tenant_id: str, *, before: int, doc_source_id: str | None, limit: int
    ) -> Sequence[dict[str, object]]: ...


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore", populate_by_name=True)


class PartAnswer(_Answer):
    """`result_status` and `document_id` come from ingestion; `reason` says why a part was left."""

    part_path: str
    filename: str | None
    content_type: str | None
    size_bytes: int | None
    content_sha256: str | None
    taken: bool
    reason: str | None
    attachment_id: str | None
    document_id: str | None
    result_status: str | None
    result_reason: str | None


class MessageAnswer(_Answer):
    doc_source_id: str
    tenant_id: str
    message_id: str
    internet_message_id: str | None
    state: str
    reason: str | None
    folder: str | None
    subject: str | None
    sender: str | None = Field(validation_alias="sender_address", serialization_alias="from")
    received_at: datetime | None
    taken_at: datetime
    closed_at: datetime | None
    parts: list[PartAnswer]


class SyncRunAnswer(_Answer):
    run_id: str
    doc_source_id: str
    tenant_id: str
    kind: str
    reasons: list[str]
    started_at: datetime
    finished_at: datetime | None
    outcome: str | None
    detail: str | None
    found_new: int
    unannounced: int
    parts_taken: int
    parked: int


class ParkedItemAnswer(_Answer):
    doc_source_id: str
    tenant_id: str
    message_id: str
    reason: str
    detail: str | None
    attempts: int
    first_failed_at: datetime
    last_failed_at: datetime
    next_attempt_at: datetime | None


MessageStateWord = Literal["open", "closed", "parked", "observed", "removed"]
Limit = Annotated[int, Query(ge=1, le=200)]
A = TypeVar("A", bound=_Answer)


def routes(lists: ListsMessages, keys: APIKeys) -> APIRouter:
    router = APIRouter()
    viewer = Depends(require_role(keys, Role.VIEWER))

    @router.get("/messages")
    async def messages(
        caller: Annotated[Caller, viewer],
        doc_source_id: str | None = None,
        state: MessageStateWord | None = None,
        limit: Limit = 50,
        cursor: str | None = None,
    ) -> ListPage[MessageAnswer]:
        rows = await lists.messages(
            caller.tenant_id, before=_before(cursor), doc_source_id=doc_source_id, state=state, limit=limit + 1
        )
        return _page(MessageAnswer, rows, limit)

    @router.get("/sync-runs")
    async def sync_runs(
        caller: Annotated[Caller, viewer],
        doc_source_id: str | None = None,
        limit: Limit = 50,
        cursor: str | None = None,
    ) -> ListPage[SyncRunAnswer]:
        rows = await lists.runs(caller.tenant_id, before=_before(cursor), doc_source_id=doc_source_id, limit=limit + 1)
        return _page(SyncRunAnswer, rows, limit)

    @router.get("/parked-items")
    async def parked_items(
        caller: Annotated[Caller, viewer],
        doc_source_id: str | None = None,
        limit: Limit = 50,
        cursor: str | None = None,
    ) -> ListPage[ParkedItemAnswer]:
        rows = await lists.parked_items(
            caller.tenant_id, before=_before(cursor), doc_source_id=doc_source_id, limit=limit + 1
        )
        return _page(ParkedItemAnswer, rows, limit)

    return router


def _page(kind: type[A], rows: Sequence[dict[str, object]], limit: int) -> ListPage[A]:
    """`rows` are one more than asked for where there is a next page."""
    shown = rows[:limit]
    more = len(rows) > limit
    return ListPage(
        items=[kind.model_validate(row) for row in shown],
        next_cursor=_cursor(int(str(shown[-1]["seq"]))) if more else None,
    )


def _cursor(seq: int) -> str:
    return base64.urlsafe_b64encode(seq.to_bytes(8, "big")).decode().rstrip("=")


def _before(cursor: str | None) -> int:
    if cursor is None:
        return _FROM_THE_NEWEST
    try:
        raw = base64.b64decode(cursor + "=", altchars=b"-_", validate=True)
    except ValueError:
        raw = b""
    if len(raw) != 8:
        raise HTTPProblem(422, "The cursor is not one of ours", "Take `next_cursor` of the page before as it is.")
    return min(int.from_bytes(raw, "big"), _FROM_THE_NEWEST)
