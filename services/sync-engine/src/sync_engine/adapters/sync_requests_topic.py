"""Appends to `sync-requests`: the worker's answers, and the coalescer's requests."""

from collections.abc import Callable
from datetime import datetime

from mailroom_common.errors import Unavailable
from mailroom_common.events import SyncReason, SyncRequest, derive_event_id
from mailroom_common.kafka.headers import RESOLVES
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.topics import SYNC_REQUESTS, Topic
from sync_engine.domain.coalescing import PendingRequest
from sync_engine.domain.work_table import RecordToAppend

_MAX_ATTEMPTS = 3  # of 10 s each: together well under the 60 s that a rebalance waits for the record in hand


class KafkaRequestLog:
    """`RequestLog` of ports.py: a tombstone that resolves, or the request again."""

    def __init__(self, producer: EventProducer) -> None:
        self._producer = producer

    async def append_record(self, topic: Topic, append: RecordToAppend, *, occurred_at: datetime) -> int:
        if append.resolves is not None:
            headers = {RESOLVES: str(append.resolves)}
            return (await self._producer.send_event(topic, append.key, None, headers=headers)).offset
        request = SyncRequest(
            event_id=derive_event_id("sync-request", append.key, sorted(append.reasons), occurred_at.isoformat()),
            occurred_at=occurred_at,
            tenant_id=append.request.tenant_id,
            doc_source_id=append.key,
            reasons=sorted(append.reasons),
            first_requested_at=append.request.first_requested_at,
        )
        return (await self._producer.send_event(topic, append.key, request)).offset


class CoalescedRequests:
    """`SyncRequests` of ports.py."""

    def __init__(self, producer: EventProducer, clock: Callable[[], datetime]) -> None:
        self._producer = producer
        self._clock = clock

    async def send_request(self, doc_source_id: str, pending: PendingRequest) -> None:
        now = self._clock()
        request = SyncRequest(
            event_id=derive_event_id("sync-request", doc_source_id, SyncReason.NOTIFICATION, now.isoformat()),
            occurred_at=now,
            tenant_id=pending.tenant_id,
            doc_source_id=doc_source_id,
            reasons=[SyncReason.NOTIFICATION],
            first_requested_at=pending.requested_at,
        )
        for attempt in range(1, _MAX_ATTEMPTS + 1):
            try:
                await self._producer.send_event(SYNC_REQUESTS, doc_source_id, request)
            except Unavailable:
                if attempt == _MAX_ATTEMPTS:
                    raise
            else:
                return
