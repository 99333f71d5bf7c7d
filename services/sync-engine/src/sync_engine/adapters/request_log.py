"""Appends to `sync-requests`: a tombstone that resolves, or the request again."""

from datetime import datetime

from mailroom_common.events import SyncRequest, derive_event_id
from mailroom_common.kafka.headers import RESOLVES
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.topics import Topic
from sync_engine.domain.work_table import Append


class KafkaRequestLog:
    def __init__(self, producer: EventProducer) -> None:
        self._producer = producer

    async def append(self, topic: Topic, append: Append, *, occurred_at: datetime) -> int:
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
