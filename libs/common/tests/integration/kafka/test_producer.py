"""The producer on real Kafka: acknowledged means written, and nothing waits for ever."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import OutOfOrderSequenceNumber
from kafka_site import KafkaSite, make_notification

from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.events import Notification
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.schema_files import load_packaged_schemas
from mailroom_common.kafka.security import UNSECURED
from mailroom_common.topics import MAIL_EVENTS, NOTIFICATIONS, SCHEMAS

pytestmark = pytest.mark.stack


@pytest.fixture
async def producer(site: KafkaSite) -> AsyncIterator[EventProducer]:
    async with EventProducer(site, Codec(), client_id="gateway") as producer:
        yield producer


async def test_schemas_are_announced_before_the_first_record(site: KafkaSite, producer: EventProducer) -> None:
    announced = {record.key.decode(): record.value.decode() for record in await site.read_all(SCHEMAS.name)}

    expected = {v.fingerprint.hex(): v.text for versions in load_packaged_schemas().values() for v in versions}
    assert announced == expected


async def test_send_returns_where_the_record_is(site: KafkaSite, producer: EventProducer) -> None:
    positions = [await producer.send_event(NOTIFICATIONS, "ds-1", make_notification(number)) for number in range(3)]

    records = await site.read_all(NOTIFICATIONS.name)
    assert [(record.partition, record.offset) for record in records] == [(p.partition, p.offset) for p in positions]
    assert [Codec().decode(NOTIFICATIONS, record.value) for record in records] == [
        make_notification(n) for n in range(3)
    ]
    assert dict(records[0].headers)["ce_source"] == b"/mailroom/gateway"
    assert records[0].key == b"ds-1"


async def test_a_tombstone_carries_its_headers(site: KafkaSite, producer: EventProducer) -> None:
    await producer.send_event(NOTIFICATIONS, "ds-1", None, headers={"resolves": "5"})

    [record] = await site.read_all(NOTIFICATIONS.name)
    assert record.value is None
    assert dict(record.headers)["resolves"] == b"5"


async def test_a_topic_that_is_not_there_is_unavailable_in_time_and_says_what_to_do(producer: EventProducer) -> None:
    started = time.monotonic()

    with pytest.raises(Unavailable, match=r"mailroom topics apply|did not acknowledge"):
        await producer.send_event(MAIL_EVENTS, "ds-1", make_notification(1), timeout_s=5.0)

    assert time.monotonic() - started < 15  # a client asks for the metadata of a topic for a minute, left alone


async def test_a_record_too_large_for_kafka_is_rejected(producer: EventProducer) -> None:
    with pytest.raises(Rejected, match="too large"):
        await producer.send_raw(producer.topic_name(NOTIFICATIONS), b"k", bytes(2_000_000), [])


async def test_a_producer_that_died_of_a_fatal_error_is_replaced(
    site: KafkaSite, producer: EventProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a fatal error every later send on the same aiokafka client fails as well."""

    async def dead(*_args: object, **_options: object) -> object:
        raise OutOfOrderSequenceNumber

    monkeypatch.setattr(producer._client, "send_and_wait", dead)
    with pytest.raises(Unavailable):
        await producer.send_event(NOTIFICATIONS, "ds-1", make_notification(1))

    await sent_at_last(producer, make_notification(2))

    assert len(await site.read_all(NOTIFICATIONS.name)) == 1


async def test_nobody_waits_for_the_replacement_of_a_dead_producer(
    site: KafkaSite, producer: EventProducer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With Kafka ill the new client may take minutes to start, and an answer is due in seconds."""

    async def dead(*_args: object, **_options: object) -> object:
        raise OutOfOrderSequenceNumber

    start, may_start, starts = AIOKafkaProducer.start, asyncio.Event(), []

    async def slow_start(client: AIOKafkaProducer) -> None:
        starts.append(client)
        await may_start.wait()
        await start(client)

    monkeypatch.setattr(producer._client, "send_and_wait", dead)
    monkeypatch.setattr(AIOKafkaProducer, "start", slow_start)
    async with asyncio.timeout(10):
        refused = await asyncio.gather(
            *(producer.send_event(NOTIFICATIONS, "ds-1", make_notification(number)) for number in range(20)),
            return_exceptions=True,
        )
        await asyncio.sleep(0)
    assert {type(error) for error in refused} == {Unavailable}
    assert len(starts) == 1

    may_start.set()
    await sent_at_last(producer, make_notification(20))


async def sent_at_last(producer: EventProducer, event: Notification) -> None:
    async with asyncio.timeout(30):
        while True:
            try:
                await producer.send_event(NOTIFICATIONS, event.doc_source_id, event)
            except Unavailable:
                await asyncio.sleep(0.05)
            else:
                return


async def test_closing_does_not_wait_for_a_kafka_that_is_away() -> None:
    class Nowhere:
        kafka_bootstrap = "127.0.0.1:1"
        kafka_security = UNSECURED
        topic_prefix = ""

    producer = EventProducer(Nowhere(), Codec(), client_id="test")
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.5):
            await producer.__aenter__()
    started = time.monotonic()
    await producer.close()

    assert time.monotonic() - started < 10
