"""The coalescer's output: one request per decision, by the producer that every service has."""

from collections.abc import Callable
from datetime import datetime

from mailroom_common.errors import Unavailable
from mailroom_common.events import SyncReason, SyncRequest, derive_event_id
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.topics import SYNC_REQUESTS
from sync_engine.domain.coalescing import Wish

_ATTEMPTS = 3  # of 10 s each: together well under the 60 s that a rebalance waits for the record in hand


class CoalescedRequests:
    def __init__(self, producer: EventProducer, clock: Callable[[], datetime]) -> None:
        self._producer = producer
        self._clock = clock

    async def ask(self, doc_source_id: str, wish: Wish) -> None:
        now = self._clock()
        request = SyncRequest(
            event_id=derive_event_id("sync-request", doc_source_id, SyncReason.NOTIFICATION, now.isoformat()),
            occurred_at=now,
            tenant_id=wish.tenant_id,
            doc_source_id=doc_source_id,
            reasons=[SyncReason.NOTIFICATION],
            first_requested_at=wish.since,
        )
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                await self._producer.send_event(SYNC_REQUESTS, doc_source_id, request)
            except Unavailable:
                if attempt == _ATTEMPTS:
                    raise
            else:
                return
