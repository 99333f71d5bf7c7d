"""`GET /documents/events`: an event stream of what becomes of documents, each event once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Depends, Request
from sse_starlette import EventSourceResponse, ServerSentEvent

from ingestion.domain.document import format_rfc3339
from ingestion.ports.events import Channel, ChannelSignals, EventLog, EventTickets
from mailroom_common.api_requests import refuse_unknown_parameters
from mailroom_common.auth import APIKeys, Caller, Role, require_role
from mailroom_common.errors import Retryable
from mailroom_common.logs import get_logger
from mailroom_common.web import HTTPProblem

log = get_logger()

_BATCH = 200
_LONGEST_WAIT_S = 5.0  # NOTIFY wakes a stream; this covers a NOTIFY that was lost


class EventStreams:
    """`stopping` ends every stream; its reader comes back with the last id it has seen."""

    def __init__(self, events: EventLog, signals: ChannelSignals, stopping: asyncio.Event) -> None:
        self._events = events
        self._signals = signals
        self._stopping = stopping

    async def locate_start(self, tenant_id: str, last_event_id: int | None) -> tuple[int, ServerSentEvent]:
        """Where a stream begins, and the block that says so: an id alone, which dispatches no event, or a `reset` where
        what followed `last_event_id` is gone. So a reader that is cut off before its first event has an id to come back
        with.

        Without an id it begins now. After a reset it goes on with the oldest event that is still kept.
        """
        kept = await self._events.read_range(tenant_id)
        if last_event_id is None:
            return kept.newest_seq, ServerSentEvent(id=str(kept.newest_seq))
        if kept.deleted_seq <= last_event_id <= kept.newest_seq:
            return last_event_id, ServerSentEvent(id=str(last_event_id))
        # An id above the newest is of another database: its numbers began anew.
        is_too_old = last_event_id < kept.deleted_seq
        start = kept.deleted_seq if is_too_old else kept.newest_seq
        reset = {"reason": "too_old" if is_too_old else "unknown", "resumes_after": start}
        return start, ServerSentEvent(event="reset", id=str(start), data=orjson.dumps(reset).decode())

    async def stream_events(self, tenant_id: str, start: int, first: ServerSentEvent) -> AsyncIterator[ServerSentEvent]:
        yield first
        last_sent = start
        while not self._stopping.is_set():
            # Counted before looking, so that an event between the look and the wait ends the wait at once.
            seen = self._signals.count_signals(Channel.EVENT_NUMBERED)
            try:
                batch = await self._events.list_events(tenant_id, after=last_sent, limit=_BATCH)
            except Retryable as error:
                # Postgres is away; the reader reconnects with the last id that it has seen.
                log.warning("event_stream_ended", reason=str(error))
                return  # the reader comes back, with the last id it has seen
            for event in batch:
                yield ServerSentEvent(event="document", id=str(event.seq), data=orjson.dumps(event.document).decode())
                last_sent = event.seq
            if not batch:
                await self._signals.wait_for_signal(Channel.EVENT_NUMBERED, beyond=seen, timeout_s=_LONGEST_WAIT_S)


def build_events_router(
    events: EventLog,
    tickets: EventTickets,
    signals: ChannelSignals,
    keys: APIKeys,
    *,
    stopping: asyncio.Event,
    heartbeat_s: float,
) -> APIRouter:
    router = APIRouter(tags=["Documents"], dependencies=[Depends(refuse_unknown_parameters)])
    streams = EventStreams(events, signals, stopping)
    require_viewer = require_role(keys, Role.VIEWER)

    async def find_tenant(request: Request, ticket: str | None = None) -> str:
        if ticket is None:
            return (await require_viewer(request)).tenant_id
        tenant_id = await tickets.redeem_ticket(ticket)
        if tenant_id is None:
            raise HTTPProblem(401, "This ticket is used up, expired, or none of ours")
        return tenant_id

    @router.get("/documents/events", summary="What becomes of documents, as server-sent events")
    async def open_stream(
        request: Request, tenant_id: Annotated[str, Depends(find_tenant)], last_event_id: str | None = None
    ) -> EventSourceResponse:
        # A header by the standard; the parameter is for a browser that opens a new stream, where it cannot send one.
        given = request.headers.get("last-event-id") or last_event_id
        start, first = await streams.locate_start(tenant_id, None if given is None else _parse_event_id(given))
        return EventSourceResponse(
            streams.stream_events(tenant_id, start, first),
            ping=heartbeat_s,
            sep="\n",
            headers={"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"},
        )

    @router.post(
        "/documents/events/tickets",
        status_code=201,
        summary="A single-use ticket with which a browser opens the stream",
    )
    async def issue_ticket(caller: Annotated[Caller, Depends(require_viewer)]) -> dict[str, Any]:
        ticket, expires_at = await tickets.issue_ticket(caller.tenant_id)
        return {"ticket": ticket, "expires_at": format_rfc3339(expires_at)}

    return router


def _parse_event_id(last_event_id: str) -> int:
    if not last_event_id.isascii() or not last_event_id.isdigit() or len(last_event_id) > 18:
        raise HTTPProblem(422, "Last-Event-ID is not the id of an event")
    return int(last_event_id)
