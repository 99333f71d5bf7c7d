"""`GET /documents/events`: what becomes of documents, as it happens, each event once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Request
from sse_starlette import EventSourceResponse, ServerSentEvent

from ingestion.adapters.channels import NUMBERED
from ingestion.adapters.document_events import PgDocumentEvents
from ingestion.adapters.tickets import PgTickets
from ingestion.adapters.wakeups import Wakeups
from ingestion.domain.document import rfc3339
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.errors import Retryable
from mailroom_common.logs import get_logger
from mailroom_common.web import HTTPProblem

log = get_logger()

_BATCH = 200
_POLL_S = 5.0  # NOTIFY wakes a stream; this is the net below a lost one


class EventStreams:
    """`stopping` ends every stream; its reader comes back with the last id it has seen."""

    def __init__(self, events: PgDocumentEvents, wakeups: Wakeups, stopping: asyncio.Event) -> None:
        self._events = events
        self._wakeups = wakeups
        self._stopping = stopping

    async def begin(self, last_seen: int | None) -> tuple[int, ServerSentEvent | None]:
        """Where a stream begins, and the `reset` that it begins with when what followed `last_seen` is gone.

        Without an id it begins now. After a reset it goes on with the oldest event that is still kept.
        """
        head = await self._events.head()
        if last_seen is None:
            return head.last_seq, None
        if head.forgotten_seq <= last_seen <= head.last_seq:
            return last_seen, None
        start = head.forgotten_seq if last_seen < head.forgotten_seq else head.last_seq
        told = {"reason": "too_old" if last_seen < head.forgotten_seq else "unknown", "resumes_after": start}
        return start, ServerSentEvent(event="reset", id=str(start), data=orjson.dumps(told).decode())

    async def stream(self, tenant_id: str, start: int, reset: ServerSentEvent | None) -> AsyncIterator[ServerSentEvent]:
        if reset is not None:
            yield reset
        seen = start
        while not self._stopping.is_set():
            heard = self._wakeups.count(NUMBERED)
            try:
                batch = await self._events.after(tenant_id, seen, limit=_BATCH)
            except Retryable as error:
                log.warning("event_stream_cut", reason=str(error))
                return  # the reader comes back, with the last id it has seen
            for event in batch:
                yield ServerSentEvent(event="document", id=str(event.seq), data=orjson.dumps(event.document).decode())
                seen = event.seq
            if not batch:
                await self._wakeups.wait(NUMBERED, beyond=heard, timeout_s=_POLL_S)


def events_router(
    events: PgDocumentEvents,
    tickets: PgTickets,
    wakeups: Wakeups,
    keys: APIKeys,
    *,
    stopping: asyncio.Event,
    heartbeat_s: float,
) -> APIRouter:
    router = APIRouter()
    streams = EventStreams(events, wakeups, stopping)
    as_viewer = require_role(keys, Role.VIEWER)

    async def tenant(request: Request, ticket: str | None = None) -> str:
        if ticket is None:
            return (await as_viewer(request)).tenant_id
        of_ticket = await tickets.use(ticket)
        if of_ticket is None:
            raise HTTPProblem(401, "This ticket is used up, expired, or none of ours")
        return of_ticket

    @router.get("/documents/events")
    async def streamed(
        request: Request, tenant_id: Annotated[str, Depends(tenant)], last_event_id: str | None = None
    ) -> EventSourceResponse:
        # A header by the standard; the parameter is for a browser that opens a new stream, where it cannot send one.
        given = request.headers.get("last-event-id") or last_event_id
        start, reset = await streams.begin(None if given is None else _number(given))
        return EventSourceResponse(
            streams.stream(tenant_id, start, reset),
            ping=heartbeat_s,
            sep="\n",
            headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"},
        )

    @router.post("/documents/events/tickets", status_code=201)
    async def ticket(caller: Annotated[Caller, Depends(as_viewer)]) -> dict[str, Any]:
        issued, expires_at = await tickets.issue(caller.tenant_id)
        return {"ticket": issued, "expires_at": rfc3339(expires_at)}

    return router


def _number(last_event_id: str) -> int:
    if not last_event_id.isascii() or not last_event_id.isdigit() or len(last_event_id) > 18:
        raise HTTPProblem(422, "Last-Event-ID is not the id of an event")
    return int(last_event_id)
