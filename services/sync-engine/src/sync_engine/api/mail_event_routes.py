"""`GET /mail-events`: what happened to the mails of observed mailboxes."""

import base64
import struct
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal, Protocol

from fastapi import APIRouter, Depends, Query
from pydantic import AwareDatetime

from mailroom_common.api_requests import DocSourceFilter, refuse_unknown_parameters, require_range
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.events import MailKind
from mailroom_common.web import HTTPProblem, ListPage
from sync_engine.api.responses import MailEventResponse
from sync_engine.api.routes import Cursor, Limit
from sync_engine.domain.mail_events import EventPosition, MailEventSelection

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_POSITION = struct.Struct(">qq")  # microseconds since 1970, and the row's number


class MailEventQueries(Protocol):
    async def list_mail_events(
        self,
        tenant_id: str,
        selection: MailEventSelection,
        *,
        oldest_first: bool,
        beyond: EventPosition | None,
        limit: int,
    ) -> Sequence[dict[str, object]]:
        """Events of one tenant in the order in which they were recorded, or against it; those `beyond` a position."""
        ...


def build_mail_event_router(queries: MailEventQueries, keys: APIKeys) -> APIRouter:
    router = APIRouter(tags=["Mail and syncs"], dependencies=[Depends(refuse_unknown_parameters)])
    viewer = Annotated[Caller, Depends(require_role(keys, Role.VIEWER))]

    @router.get("/mail-events", summary="What happened to the mails of observed mailboxes")
    async def list_mail_events(
        caller: viewer,
        doc_source_id: DocSourceFilter = None,
        kind: MailKind | None = None,
        message_id: Annotated[str | None, Query(max_length=1000, description="The provider's id of the mail.")] = None,
        since: Annotated[AwareDatetime | None, Query(description="Recorded then or later.")] = None,
        until: Annotated[AwareDatetime | None, Query(description="Recorded before then.")] = None,
        order: Annotated[Literal["newest", "oldest"], Query(description="Which come first.")] = "newest",
        limit: Limit = 50,
        cursor: Cursor = None,
    ) -> ListPage[MailEventResponse]:
        """Each event once, with the id that it has in the topic `mail-events`, until it is older than
        `MAILROOM_MAIL_EVENT_DAYS`."""
        require_range("since", since, "until", until)
        selection = MailEventSelection(
            doc_source_id=None if doc_source_id is None else str(doc_source_id),
            kind=kind,
            message_id=message_id,
            since=since,
            until=until,
        )
        rows = await queries.list_mail_events(
            caller.tenant_id,
            selection,
            oldest_first=order == "oldest",
            beyond=_decode_cursor(cursor),
            limit=limit + 1,
        )
        return _build_page(rows, limit)

    return router


def _build_page(rows: Sequence[dict[str, object]], limit: int) -> ListPage[MailEventResponse]:
    """`rows` are one more than `limit` where there is a next page."""
    page = [MailEventResponse.model_validate(row) for row in rows[:limit]]
    has_more = len(rows) > limit
    cursor = _encode_cursor(page[-1].recorded_at, int(str(rows[limit - 1]["seq"]))) if has_more else None
    return ListPage(items=page, next_cursor=cursor)


# Opaque to callers: what a cursor holds may change without notice.
def _encode_cursor(recorded_at: datetime, seq: int) -> str:
    packed = _POSITION.pack((recorded_at - _EPOCH) // _MICROSECOND, seq)
    return base64.urlsafe_b64encode(packed).decode().rstrip("=")


def _decode_cursor(cursor: str | None) -> EventPosition | None:
    if cursor is None:
        return None
    try:
        microseconds, seq = _POSITION.unpack(base64.b64decode(cursor + "==", altchars=b"-_", validate=True))
        return EventPosition(_EPOCH + timedelta(microseconds=microseconds), seq)
    except (ValueError, OverflowError, struct.error):
        raise HTTPProblem(422, "The cursor is not valid", "Pass `next_cursor` of the page before unchanged.") from None
