"""Kafka: the version that has to be acknowledged now, the records that others write, and our own topic read back."""

from collections.abc import Awaitable, Callable
from datetime import datetime

from mailroom_common.errors import Rejected
from mailroom_common.events import ConnectionEvent, LifecycleEvent
from mailroom_common.kafka.headers import VERSION
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.topics import DOC_SOURCES
from subscription_manager.domain.connection import Connection, as_event


class KafkaAnnouncer:
    """Beside the outbox, which has the same version: readers keep the highest and drop the repeat."""

    def __init__(self, producer: EventProducer, clock: Callable[[], datetime]) -> None:
        self._producer = producer
        self._clock = clock

    async def announce(self, connection: Connection) -> None:
        headers = {VERSION: str(connection.version)}
        await self._producer.send_event(
            DOC_SOURCES, connection.id, as_event(connection, self._clock()), headers=headers, timeout_s=10
        )


def lifecycle_events_to(
    act: Callable[[LifecycleEvent], Awaitable[None]],
) -> Callable[[IncomingRecord], Awaitable[None]]:
    async def handle(record: IncomingRecord) -> None:
        if not isinstance(record.event, LifecycleEvent):
            raise Rejected("a record of lifecycle-events without a lifecycle event")
        await act(record.event)

    return handle


def connection_events_to(
    record_event: Callable[[ConnectionEvent], Awaitable[None]],
) -> Callable[[IncomingRecord], Awaitable[None]]:
    async def handle(record: IncomingRecord) -> None:
        if not isinstance(record.event, ConnectionEvent):
            raise Rejected("a record of connection-events without a connection event")
        await record_event(record.event)

    return handle
