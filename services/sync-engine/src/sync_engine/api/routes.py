"""`GET /messages`, `/sync-runs`, `/sync-states`, `/parked-items`: what became of each mail, and how the syncs go."""

import base64
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal, Protocol, TypeVar
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query

from mailroom_common.api_requests import DocSourceFilter, refuse_unknown_parameters
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.web import HTTPProblem, ListPage
from sync_engine.api.responses import (
    APIResponse,
    MessageResponse,
    ParkedItemResponse,
    RetryRequest,
    RetryResponse,
    SyncRunResponse,
    SyncStateResponse,
)
from sync_engine.domain.message_outcome import PartResult, judge_message
from sync_engine.domain.message_records import MessageState

# The largest bigint of Postgres.
_ABOVE_THE_NEWEST = 2**63 - 1


class MessageQueries(Protocol):
    """Rows of one tenant, newest first, whose `seq` is below `before`."""

    async def list_messages(
        self, tenant_id: str, *, before: int, doc_source_id: str | None, state: str | None, limit: int
    ) -> tuple[Sequence[dict[str, object]], bool]:
        """And whether there are more: fewer than `limit` where they have many parts."""
        ...

    async def list_runs(
        self, tenant_id: str, *, before: int, doc_source_id: str | None, limit: int
    ) -> Sequence[dict[str, object]]: ...

    async def list_parked_items(
        self, tenant_id: str, *, before: int, doc_source_id: str | None, limit: int
    ) -> Sequence[dict[str, object]]: ...

    async def retry_parked(self, tenant_id: str, reason: str, *, doc_source_id: str | None) -> tuple[int, int]:
        """Have what is parked for the reason due at once; how many messages and parts that changes."""
        ...

    async def list_sync_states(
        self, tenant_id: str, *, after: str, doc_source_id: str | None, limit: int
    ) -> Sequence[dict[str, object]]:
        """In the order of their doc sources, those behind `after`."""
        ...

    async def find_messages(
        self, tenant_id: str, message_id: str, *, doc_source_id: str | None
    ) -> Sequence[dict[str, object]]:
        """The message in each doc source that has it: several may read one mailbox."""
        ...


MessageStateName = Literal["open", "closed", "parked", "observed", "removed"]
Limit = Annotated[int, Query(ge=1, le=200, description="How many items a page has.")]
Cursor = Annotated[str | None, Query(description="`next_cursor` of the page before, unchanged.")]
MessageId = Annotated[str, Path(max_length=1000, description="The provider's id of the message.")]
A = TypeVar("A", bound=APIResponse)


def build_router(queries: MessageQueries, keys: APIKeys) -> APIRouter:
    router = APIRouter(tags=["Mail and syncs"], dependencies=[Depends(refuse_unknown_parameters)])
    viewer = Annotated[Caller, Depends(require_role(keys, Role.VIEWER))]
    _add_message_routes(router, queries, viewer)
    _add_sync_routes(router, queries, viewer)
    operator = Annotated[Caller, Depends(require_role(keys, Role.OPERATOR))]
    _add_parked_routes(router, queries, viewer, operator)
    return router


def _add_message_routes(router: APIRouter, queries: MessageQueries, viewer: Any) -> None:  # Any: an annotated Caller
    @router.get("/messages", summary="What became of each mail, newest first")
    async def list_messages(
        caller: viewer,
        doc_source_id: DocSourceFilter = None,
        state: MessageStateName | None = None,
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> ListPage[MessageResponse]:
        """`outcome` and `reason` of a message say it in a word; its parts say it of each part.

        A page has fewer than `limit` where mails have many parts: there are more as long as `next_cursor` is set."""
        rows, has_more = await queries.list_messages(
            caller.tenant_id,
            before=_decode_cursor(cursor),
            doc_source_id=_as_text(doc_source_id),
            state=state,
            limit=limit,
        )
        return _build_page(MessageResponse, [_judge_message(row) for row in rows], has_more=has_more)

    @router.get("/messages/{message_id}", summary="What became of one mail, and why it was not filed")
    async def show_message(
        caller: viewer, message_id: MessageId, doc_source_id: DocSourceFilter = None
    ) -> MessageResponse:
        """By the provider's id of the message; where several doc sources read the mailbox, with `doc_source_id`."""
        rows = await queries.find_messages(caller.tenant_id, message_id, doc_source_id=_as_text(doc_source_id))
        if not rows:
            raise HTTPProblem(404, "There is no such message", "No sync of this tenant has seen it, or it was not due.")
        if len(rows) > 1:
            sources = [str(row["doc_source_id"]) for row in rows]
            raise HTTPProblem(
                409, "Several doc sources have this message", "Give one as doc_source_id.", doc_source_ids=sources
            )
        return MessageResponse.model_validate(_judge_message(rows[0]))


def _add_sync_routes(router: APIRouter, queries: MessageQueries, viewer: Any) -> None:  # Any: an annotated Caller
    @router.get("/sync-runs", summary="The sync runs, newest first")
    async def list_sync_runs(
        caller: viewer, doc_source_id: DocSourceFilter = None, limit: Limit = 50, cursor: Cursor = None
    ) -> ListPage[SyncRunResponse]:
        """Uneventful ones are deleted after a while."""
        rows = await queries.list_runs(
            caller.tenant_id, before=_decode_cursor(cursor), doc_source_id=_as_text(doc_source_id), limit=limit + 1
        )
        return _build_page(SyncRunResponse, rows[:limit], has_more=len(rows) > limit)

    @router.get("/sync-states", summary="How far the sync of each mailbox is, and when it is tried next")
    async def list_sync_states(
        caller: viewer, doc_source_id: DocSourceFilter = None, limit: Limit = 50, cursor: Cursor = None
    ) -> ListPage[SyncStateResponse]:
        """A doc source is here once the worker has read it from `doc-sources`."""
        rows = await queries.list_sync_states(
            caller.tenant_id, after=cursor or "", doc_source_id=_as_text(doc_source_id), limit=limit + 1
        )
        page = [SyncStateResponse.model_validate(row) for row in rows[:limit]]
        return ListPage(items=page, next_cursor=page[-1].doc_source_id if len(rows) > limit else None)


def _add_parked_routes(
    router: APIRouter,
    queries: MessageQueries,
    viewer: Any,
    operator: Any,  # Any: both are an annotated Caller
) -> None:
    @router.get("/parked-items", summary="Mails and parts that could not be fetched or stored, newest first")
    async def list_parked_items(
        caller: viewer, doc_source_id: DocSourceFilter = None, limit: Limit = 50, cursor: Cursor = None
    ) -> ListPage[ParkedItemResponse]:
        """They are tried again by the first run after `next_attempt_at`, for ever: about once a day at last."""
        rows = await queries.list_parked_items(
            caller.tenant_id, before=_decode_cursor(cursor), doc_source_id=_as_text(doc_source_id), limit=limit + 1
        )
        return _build_page(ParkedItemResponse, rows[:limit], has_more=len(rows) > limit)

    @router.post("/parked-items/retry", summary="Try again what is parked for a reason, over all doc sources")
    async def retry_parked_items(caller: operator, request: RetryRequest) -> RetryResponse:
        """The next run of each doc source takes them, so many messages a run that new mail does not wait: within the
        backstop interval, sooner with `POST /doc-sources/{id}/sync`."""
        messages, parts = await queries.retry_parked(
            caller.tenant_id, request.reason, doc_source_id=_as_text(request.doc_source_id)
        )
        return RetryResponse(messages=messages, parts=parts)


def _judge_message(row: dict[str, object]) -> dict[str, object]:
    """The row with its outcome."""
    parts: Any = row["parts"]  # Any: rows of `message_part`, as the query names their columns
    judged = judge_message(
        MessageState(str(row["state"])),
        [
            PartResult(
                part_path=part["part_path"],
                filename=part["filename"],
                skip_reason=part["skip_reason"],
                result_status=part["result_status"],
                result_reason=part["result_reason"],
                parked_reason=part["parked_reason"],
                is_duplicate=part["document_id"] is not None and part["document_id"] != part["attachment_id"],
            )
            for part in parts
        ],
        skip_reason=_text_or_none(row["skip_reason"]),
        parked_reason=_text_or_none(row["parked_reason"]),
    )
    named = [asdict(one) for one in judged.part_reasons]
    return {**row, "outcome": judged.outcome, "reason": judged.reason, "part_reasons": named}


def _text_or_none(value: object) -> str | None:
    return None if value is None else str(value)


def _as_text(doc_source_id: UUID | None) -> str | None:
    return None if doc_source_id is None else str(doc_source_id)


def _build_page(response_type: type[A], rows: Sequence[dict[str, object]], *, has_more: bool) -> ListPage[A]:
    return ListPage(
        items=[response_type.model_validate(row) for row in rows],
        next_cursor=_encode_cursor(int(str(rows[-1]["seq"]))) if has_more else None,
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
