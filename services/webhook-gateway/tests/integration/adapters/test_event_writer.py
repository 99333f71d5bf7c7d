"""Events of concurrent pushes on real Kafka: all are written, in order, each with the trace of its own push."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from kafka_site import KafkaSite, make_notification

from mailroom_common.events import Notification
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.topics import NOTIFICATIONS
from mailroom_common.tracing import bind_traceparent
from webhook_gateway.adapters.event_writer import GroupCommitWriter
from webhook_gateway.ports import OutgoingEvent

pytestmark = pytest.mark.stack


@pytest.fixture
async def producer(site: KafkaSite) -> AsyncIterator[EventProducer]:
    async with EventProducer(site, Codec(), client_id="gateway") as producer:
        yield producer


@pytest.fixture
async def writer(producer: EventProducer) -> GroupCommitWriter:
    writer = GroupCommitWriter(producer)
    await writer.learn_partitions(NOTIFICATIONS)
    return writer


async def test_events_of_concurrent_writers_are_all_written_in_order_per_key(
    site: KafkaSite, writer: GroupCommitWriter
) -> None:
    async def write_all(name: str) -> None:
        for number in range(20):
            await writer.write_events(
                [
                    OutgoingEvent(NOTIFICATIONS, name, make_notification(2 * number, name)),
                    OutgoingEvent(NOTIFICATIONS, name, make_notification(2 * number + 1, name)),
                ],
                timeout_s=10.0,
            )

    await asyncio.gather(*(write_all(f"ds-{number}") for number in range(16)))

    by_key: dict[bytes, list[int]] = {}
    for record in await site.read_all(NOTIFICATIONS.name):
        event = Codec().decode(NOTIFICATIONS, record.value)
        assert isinstance(event, Notification)
        by_key.setdefault(record.key, []).append(int(event.provider_event))
    assert by_key == {f"ds-{number}".encode(): list(range(40)) for number in range(16)}


async def test_events_written_together_carry_the_trace_of_their_own_writer(
    site: KafkaSite, writer: GroupCommitWriter
) -> None:
    traces = {f"ds-{number}": f"00-{number:032x}-b7ad6b7169203331-01" for number in range(1, 5)}

    async def write_all(key: str, trace: str) -> None:
        with bind_traceparent(trace):
            await writer.write_events(
                [OutgoingEvent(NOTIFICATIONS, key, make_notification(1, key))] * 2, timeout_s=10.0
            )

    await asyncio.gather(*(write_all(key, trace) for key, trace in traces.items()))

    found = [
        (record.key.decode(), dict(record.headers)["traceparent"].decode())
        for record in await site.read_all(NOTIFICATIONS.name)
    ]
    assert sorted(found) == sorted(2 * list(traces.items()))


async def test_group_commit_and_single_sends_choose_the_same_partition(
    site: KafkaSite, producer: EventProducer, writer: GroupCommitWriter
) -> None:
    for number in range(20):
        key = f"ds-{number}"
        await producer.send_event(NOTIFICATIONS, key, make_notification(number, key))
        await writer.write_events([OutgoingEvent(NOTIFICATIONS, key, make_notification(number, key))], timeout_s=10.0)

    partitions: dict[bytes, set[int]] = {}
    for record in await site.read_all(NOTIFICATIONS.name):
        partitions.setdefault(record.key, set()).add(record.partition)
    assert all(len(found) == 1 for found in partitions.values())
