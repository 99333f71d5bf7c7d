"""Handles a POST of Microsoft Graph: verifies each item from memory and writes the genuine ones."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from mailroom_common.events import DocSource
from mailroom_common.topics import LIFECYCLE_EVENTS, NOTIFICATIONS
from webhook_gateway.domain.client_state import ClientStateVerdict, verify_client_state
from webhook_gateway.domain.event_mapping import build_change_notification, build_lifecycle_event
from webhook_gateway.domain.pushes import GraphItem, PushOutcome, PushResult
from webhook_gateway.ports import DocSourceLookup, EventWriter, OutgoingEvent


@dataclass(slots=True)
class _SortedItems:
    """The items of a POST by their verdict; a genuine one as its event, an unwanted one only counted."""

    genuine: list[OutgoingEvent] = field(default_factory=list)
    unexplained: list[GraphItem] = field(default_factory=list)
    unwanted: int = 0


class GraphPushReceiver:
    def __init__(self, sources: DocSourceLookup, events: EventWriter, clock: Callable[[], datetime]) -> None:
        self._sources = sources
        self._events = events
        self._clock = clock

    async def receive_push(self, items: Sequence[GraphItem], *, remaining_s: Callable[[], float]) -> PushResult:
        """`remaining_s` returns how many seconds are left until the response is due.

        Raises:
            Unavailable: Kafka did not acknowledge every genuine item: Graph has to repeat the POST.
        """
        first = self._sort_items(items)
        if not first.unexplained:
            await self._write_events(first.genuine, remaining_s())
            return PushResult(PushOutcome.ACCEPTED, written=len(first.genuine), dropped=first.unwanted)
        try:
            # Graph may announce a change before the 201 of its subscription: the items may be newer than the directory.
            await self._sources.catch_up()
        finally:
            # What is genuine already is written also when the directory cannot catch up.
            await self._write_events(first.genuine, remaining_s())
        second = self._sort_items(first.unexplained)
        await self._write_events(second.genuine, remaining_s())
        return PushResult(
            PushOutcome.MISMATCHED if second.unexplained else PushOutcome.ACCEPTED,
            written=len(first.genuine) + len(second.genuine),
            dropped=first.unwanted + second.unwanted,
            mismatched=len(second.unexplained),
            mismatched_doc_source_ids=self._find_claimed_sources(second.unexplained),
        )

    def _sort_items(self, items: Sequence[GraphItem]) -> _SortedItems:
        received_at = self._clock()
        result = _SortedItems()
        for item in items:
            verdict, source = verify_client_state(
                item.client_state,
                self._sources.get_source,
                received_at,
                is_lifecycle_event=item.lifecycle_event is not None,
            )
            if source is None:
                result.unexplained.append(item)
            elif verdict is ClientStateVerdict.UNWANTED:
                result.unwanted += 1
            else:
                result.genuine.append(_build_event(item, source, received_at))
        return result

    async def _write_events(self, events: Sequence[OutgoingEvent], timeout_s: float) -> None:
        if events:
            await self._events.write_events(events, timeout_s=timeout_s)

    def _find_claimed_sources(self, items: Sequence[GraphItem]) -> tuple[str, ...]:
        claimed_ids = {item.claimed_doc_source_id for item in items} - {None}
        return tuple(sorted(claim for claim in claimed_ids if claim and self._sources.get_source(claim)))


def _build_event(item: GraphItem, source: DocSource, received_at: datetime) -> OutgoingEvent:
    if item.lifecycle_event is not None:
        return OutgoingEvent(LIFECYCLE_EVENTS, source.doc_source_id, build_lifecycle_event(item, source, received_at))
    return OutgoingEvent(NOTIFICATIONS, source.doc_source_id, build_change_notification(item, source, received_at))
