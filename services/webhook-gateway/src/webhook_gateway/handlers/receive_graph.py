"""Takes a POST of Microsoft Graph: proves each item from memory, and writes the genuine ones."""

from collections.abc import Callable, Sequence
from datetime import datetime

from mailroom_common.events import DocSource
from mailroom_common.kafka.producer import OutgoingEvent
from mailroom_common.topics import LIFECYCLE_EVENTS, NOTIFICATIONS
from webhook_gateway.domain.client_states import Verdict, judge
from webhook_gateway.domain.pushes import GraphItem
from webhook_gateway.domain.telling import lifecycle_event_of, notification_of_change
from webhook_gateway.handlers.answers import Outcome, Received
from webhook_gateway.handlers.catch_up import CatchUps
from webhook_gateway.ports import EventPublisher, KnowsSources


class ReceiveGraph:
    def __init__(
        self, sources: KnowsSources, records: EventPublisher, catch_ups: CatchUps, *, clock: Callable[[], datetime]
    ) -> None:
        self._sources = sources
        self._records = records
        self._catch_ups = catch_ups
        self._clock = clock

    async def receive(self, items: Sequence[GraphItem], *, left_s: Callable[[], float]) -> Received:
        """`left_s` tells how many seconds the answer has left.

        Raises:
            Unavailable: not everything that is genuine was acknowledged by Kafka: Graph has to come again.
        """
        at = self._clock()
        ready: list[OutgoingEvent] = []
        unexplained: list[GraphItem] = []
        dropped = 0
        for item in items:
            verdict, source = self._judge(item, at)
            if verdict is Verdict.GENUINE and source is not None:
                ready.append(_record(item, source, at))
            elif verdict is Verdict.NOT_WANTED:
                dropped += 1
            else:
                unexplained.append(item)
        if not unexplained:
            if ready:
                await self._records.send_events(ready, timeout_s=left_s())
            return Received(Outcome.ACCEPTED, written=len(ready), dropped=dropped)
        return await self._receive_the_rest(ready, unexplained, dropped, left_s)

    async def _receive_the_rest(
        self, ready: list[OutgoingEvent], unexplained: list[GraphItem], dropped: int, left_s: Callable[[], float]
    ) -> Received:
        """Some items may be newer than the directory. What is genuine already does not wait for them."""
        try:
            await self._catch_ups.catch_up()
        finally:
            if ready:
                await self._records.send_events(ready, timeout_s=left_s())
        at = self._clock()
        late: list[OutgoingEvent] = []
        mismatched: list[GraphItem] = []
        for item in unexplained:
            verdict, source = self._judge(item, at)
            if verdict is Verdict.GENUINE and source is not None:
                late.append(_record(item, source, at))
            elif verdict is Verdict.NOT_WANTED:
                dropped += 1
            else:
                mismatched.append(item)
        if late:
            await self._records.send_events(late, timeout_s=left_s())
        return Received(
            Outcome.MISMATCH if mismatched else Outcome.ACCEPTED,
            written=len(ready) + len(late),
            dropped=dropped,
            mismatched=len(mismatched),
            claimed=tuple(
                {claim for item in mismatched if (claim := item.doc_source_id) and self._sources.get_source(claim)}
            ),
        )

    def _judge(self, item: GraphItem, at: datetime) -> tuple[Verdict, DocSource | None]:
        is_lifecycle = item.lifecycle_event is not None
        return judge(item.client_state, self._sources.get_source, at, is_lifecycle=is_lifecycle)


def _record(item: GraphItem, source: DocSource, at: datetime) -> OutgoingEvent:
    if item.lifecycle_event is not None:
        return OutgoingEvent(LIFECYCLE_EVENTS, source.doc_source_id, lifecycle_event_of(item, source, at))
    return OutgoingEvent(NOTIFICATIONS, source.doc_source_id, notification_of_change(item, source, at))
