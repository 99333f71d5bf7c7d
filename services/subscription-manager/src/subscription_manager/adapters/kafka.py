"""Kafka: the version of a doc source that has to be acknowledged now, and the records that other services write."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from mailroom_common.errors import Rejected
from mailroom_common.events import ConnectionEvent, LifecycleEvent
from mailroom_common.kafka.headers import VERSION
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.topics import DOC_SOURCES
from subscription_manager.domain.connection import Connection, build_doc_source_event


class KafkaDocSourcePublisher:
    """Beside the outbox, which holds the same version: readers keep the highest one and drop the repeat."""

    def __init__(self, producer: EventProducer, clock: Callable[[], datetime]) -> None:
        self._producer = producer
        self._clock = clock

    async def publish_and_wait(self, connection: Connection) -> None:
        headers = {VERSION: str(connection.published_version)}
        event = build_doc_source_event(connection, self._clock())
        await self._producer.send_event(DOC_SOURCES, connection.id, event, headers=headers, timeout_s=10)


def handle_lifecycle_records(
    handle_event: Callable[[LifecycleEvent], Awaitable[None]],
) -> Callable[[IncomingRecord], Awaitable[None]]:
    async def handle_record(record: IncomingRecord) -> None:
        if not isinstance(record.event, LifecycleEvent):
            raise Rejected("a record of lifecycle-events without a lifecycle event")
        await handle_event(record.event)

    return handle_record


def handle_connection_records(
    handle_event: Callable[[ConnectionEvent], Awaitable[None]],
) -> Callable[[IncomingRecord], Awaitable[None]]:
    async def handle_record(record: IncomingRecord) -> None:
        if not isinstance(record.event, ConnectionEvent):
            raise Rejected("a record of connection-events without a connection event")
        await handle_event(record.event)

    return handle_record
