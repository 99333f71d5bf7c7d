"""The whole coalescer on real Kafka: what a burst becomes, and what neither a stop nor a kill may lose."""

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import faust
import orjson
import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from mailroom_common.events import Notification, SyncReason, SyncRequest
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.security import UNSECURED, KafkaSecurity
from mailroom_common.process import EXIT_DEADLINE, EXIT_FAILED, Process
from mailroom_common.topics import (
    COALESCER_APP_ID,
    FAUST_CHANGELOG,
    NOTIFICATIONS,
    SCHEMAS,
    SYNC_REQUESTS,
    list_deployed_topics,
)
from mailroom_sandbox.site.stack.ports import free_port
from sync_engine.app.coalescer import run
from sync_engine.settings import CoalescerSettings

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

WINDOW_S = 0.5
PATIENCE_S = 120
NEEDED = {NOTIFICATIONS.name, NOTIFICATIONS.dead_letter_topic, SYNC_REQUESTS.name, SCHEMAS.name, FAUST_CHANGELOG}


@dataclass
class Site:
    """Settings as the clients want them."""

    kafka_bootstrap: str
    topic_prefix: str
    kafka_security: KafkaSecurity = UNSECURED
    codec: Codec = field(default_factory=Codec)

    async def with_admin(self, act: Callable[[AIOKafkaAdminClient], Awaitable[object]]) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka_bootstrap)
        await admin.start()
        try:
            await act(admin)
        finally:
            await admin.close()

    @asynccontextmanager
    async def changelog_is_refused(self) -> AsyncIterator[None]:
        """Kafka takes no record of the windows: each is larger than one byte."""
        name = self.topic_prefix + FAUST_CHANGELOG
        (usual,) = (topic.config for topic in list_deployed_topics(self.topic_prefix, 1) if topic.name == name)

        async def configure(config: dict[str, str]) -> None:
            resource = ConfigResource(ConfigResourceType.TOPIC, name, configs=config)
            await self.with_admin(lambda admin: admin.alter_configs([resource]))

        await configure({**usual, "max.message.bytes": "1"})
        try:
            yield
        finally:
            await configure(usual)

    @asynccontextmanager
    async def following(self, name: str) -> AsyncIterator["Followed"]:
        """A topic, from its beginning and as it grows."""
        consumer = AIOKafkaConsumer(
            self.topic_prefix + name,
            bootstrap_servers=self.kafka_bootstrap,
            auto_offset_reset="earliest",
            fetch_max_wait_ms=100,
        )
        await consumer.start()
        followed = Followed()
        reading = asyncio.create_task(followed.read(consumer))
        try:
            yield followed
        finally:
            reading.cancel()
            await consumer.stop()


@dataclass
class Followed:
    records: list[Any] = field(default_factory=list)  # Any: aiokafka's ConsumerRecord has no types
    grew: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def read(self, consumer: AIOKafkaConsumer) -> None:
        async for record in consumer:
            async with self.grew:
                self.records.append(record)
                self.grew.notify_all()

    def of(self, *keys: str) -> list[Any]:
        wanted = {key.encode() for key in keys}
        return [record for record in self.records if record.key in wanted]

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S), self.grew:
            await self.grew.wait_for(lambda: bool(holds()))

    async def until_all_asked(self, sources: list[str], since_ms: int = 0) -> None:
        """Each has been asked for since then: whoever reads its mailbox later sees all that was notified."""
        wanted = {source.encode() for source in sources}
        await self.until(lambda: wanted <= {record.key for record in self.records if record.timestamp >= since_ms})


@pytest.fixture(scope="module")
def site(kafka_bootstrap: str) -> Iterator[Site]:
    """One for all tests, whose sources differ: the topics have all their partitions, which takes Kafka a while."""
    site = Site(kafka_bootstrap, f"t{secrets.token_hex(4)}.")
    topics = [
        NewTopic(topic.name, topic.partitions, topic.replication, topic_configs=topic.config)
        for topic in list_deployed_topics(site.topic_prefix, 1)
        if topic.name.removeprefix(site.topic_prefix) in NEEDED
    ]

    asyncio.run(site.with_admin(lambda admin: admin.create_topics(topics)))
    yield site
    asyncio.run(site.with_admin(lambda admin: admin.delete_topics([topic.name for topic in topics])))


@pytest.fixture
async def gateway(site: Site) -> AsyncIterator[EventProducer]:
    async with EventProducer(site, site.codec, client_id="gateway") as producer:
        yield producer


@pytest.fixture
async def requests(site: Site) -> AsyncIterator[Followed]:
    async with site.following(SYNC_REQUESTS.name) as followed:
        yield followed


def settings_for(site: Site) -> CoalescerSettings:
    return CoalescerSettings(
        kafka_bootstrap=site.kafka_bootstrap,
        topic_prefix=site.topic_prefix,
        coalesce_window_s=WINDOW_S,
        http_port=free_port(),
    )


@asynccontextmanager
async def coalescer(site: Site) -> AsyncIterator[None]:
    """The whole composition, in this process; it stops as SIGTERM stops it."""
    process = Process("sync_engine_coalescer")
    running = asyncio.create_task(run(settings_for(site), process))
    try:
        yield
    finally:
        process.stopping.set()
        await running


WHILE_KAFKA_IS_AWAY = """
import sys
from aiokafka import AIOKafkaProducer
from aiokafka.errors import UnknownTopicOrPartitionError
from sync_engine.__main__ import main

known = AIOKafkaProducer.partitions_for

async def partitions_for(self, topic):
    if topic.endswith("-changelog"):
        raise UnknownTopicOrPartitionError  # as it does after three seconds without an answer
    return await known(self, topic)

AIOKafkaProducer.partitions_for = partitions_for
sys.exit(main(["coalescer"]))
"""


@asynccontextmanager
async def coalescer_process(
    site: Site, *, window_s: float, python: Sequence[str] = ("-m", "sync_engine", "coalescer")
) -> AsyncIterator[asyncio.subprocess.Process]:
    """As it is deployed: what it had begun when it was told to stop ends with it."""
    environment = {
        **os.environ,
        "MAILROOM_KAFKA_BOOTSTRAP": site.kafka_bootstrap,
        "MAILROOM_TOPIC_PREFIX": site.topic_prefix,
        "MAILROOM_COALESCE_WINDOW_S": str(window_s),
        "MAILROOM_HTTP_PORT": str(free_port()),
        "MAILROOM_LOG_LEVEL": "warning",
    }
    process = await asyncio.create_subprocess_exec(sys.executable, *python, env=environment)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()


async def notify(gateway: EventProducer, *sources: str, times: int = 1) -> None:
    for source in sources:
        for _ in range(times):
            notification = Notification(
                event_id=str(uuid4()),
                occurred_at=datetime.now(UTC),
                tenant_id="acme",
                doc_source_id=source,
                provider="outlook",
                provider_event=str(uuid4()),
            )
            await gateway.send_event(NOTIFICATIONS, source, notification)


def now_ms() -> int:
    return int(datetime.now(UTC).timestamp() * 1000)


async def test_notification_whose_window_kafka_did_not_take_is_read_again(
    site: Site, gateway: EventProducer, requests: Followed
) -> None:
    """The first of all: a window of another test's that ended meanwhile would be refused as well."""
    source = str(uuid4())
    async with site.changelog_is_refused(), coalescer_process(site, window_s=3600) as process:
        await notify(gateway, source)
        async with asyncio.timeout(PATIENCE_S):
            assert await process.wait() in {EXIT_FAILED, EXIT_DEADLINE}  # with the record in hand
    await requests.until_all_asked([source])
    restarted_at_ms = now_ms()
    async with coalescer(site):
        await requests.until_all_asked([source], restarted_at_ms)


async def test_a_burst_becomes_two_requests_the_first_at_once(
    site: Site, gateway: EventProducer, requests: Followed
) -> None:
    source = str(uuid4())
    await notify(gateway, source, times=8)  # all of them wait for it when it starts
    async with coalescer(site):
        await requests.until(lambda: len(requests.of(source)) == 2)
        await asyncio.sleep(3 * WINDOW_S)
    assert len(requests.of(source)) == 2
    first, trailing = (site.codec.decode(SYNC_REQUESTS, record.value) for record in requests.of(source))
    assert isinstance(first, SyncRequest)
    assert isinstance(trailing, SyncRequest)
    assert (first.tenant_id, first.doc_source_id, first.reasons) == ("acme", source, [SyncReason.NOTIFICATION])
    assert (trailing.occurred_at - first.occurred_at).total_seconds() >= WINDOW_S
    assert trailing.first_requested_at < first.occurred_at + timedelta(seconds=WINDOW_S)


async def test_it_wakes_by_the_key_whatever_the_body_says_and_sets_aside_what_is_no_notification(
    site: Site, gateway: EventProducer, requests: Followed
) -> None:
    topic = gateway.topic_name(NOTIFICATIONS)
    await gateway.send_raw(topic, None, b"whose?", [("traceparent", b"x")])
    await gateway.send_raw(topic, b"\xff", b"whose?", [])
    await gateway.send_raw(topic, b"garbled", b"no avro", [])
    await gateway.send_raw(topic, b"newer", b"\xc3\x01" + b"\x07" * 8 + b"of a schema not known yet", [])
    await notify(gateway, "s")
    async with site.following(NOTIFICATIONS.dead_letter_topic) as aside, coalescer(site):
        await requests.until_all_asked(["garbled", "newer", "s"])
        await aside.until(lambda: len(aside.records) == 3)
    assert sorted(record.value or b"" for record in aside.records) == [b"no avro", b"whose?", b"whose?"]
    assert all(dict(record.headers)["dlq-error-class"] == b"Undecodable" for record in aside.records)


async def test_nothing_that_waits_for_a_start_is_passed_over(
    site: Site, gateway: EventProducer, requests: Followed
) -> None:
    for _ in range(5):  # one start in three lost some before `faust_app.py` had its repair
        sources = [str(uuid4()) for _ in range(6)]
        await notify(gateway, *sources)
        async with coalescer(site):
            await requests.until_all_asked(sources)


async def test_nothing_is_lost_where_coalescers_come_and_go(
    site: Site, gateway: EventProducer, requests: Followed
) -> None:
    sources: list[str] = []

    async def traffic() -> None:
        while True:
            sources.append(str(uuid4()))
            await notify(gateway, sources[-1])
            await asyncio.sleep(0.03)

    async with coalescer_process(site, window_s=WINDOW_S):
        notifying = asyncio.create_task(traffic())
        for _ in range(2):
            async with coalescer_process(site, window_s=WINDOW_S):
                await asyncio.sleep(5)  # where the group is slow, it is told to stop before it has joined
            await asyncio.sleep(1)
        notifying.cancel()
        await requests.until_all_asked(sources)


async def test_what_was_held_back_at_a_stop_is_asked_for_after_the_restart(
    site: Site, gateway: EventProducer, requests: Followed
) -> None:
    sources = [str(uuid4()) for _ in range(10)]
    await notify(gateway, *sources)
    async with coalescer(site):
        await requests.until_all_asked(sources)
        notified_at_ms = now_ms()
        await notify(gateway, *sources, times=2)
    async with coalescer(site):
        await requests.until_all_asked(sources, notified_at_ms)


async def test_what_was_held_back_by_a_process_that_was_killed_is_asked_for_by_the_next(
    site: Site, gateway: EventProducer, requests: Followed
) -> None:
    sources = [str(uuid4()) for _ in range(10)]
    await notify(gateway, *sources)
    async with site.following(FAUST_CHANGELOG) as windows:
        async with coalescer_process(site, window_s=3600) as process:
            await requests.until_all_asked(sources)
            # Its windows stay open for an hour: all of these are held back, and remembered before they are committed.
            notified_at_ms = now_ms()
            await notify(gateway, *sources)
            await until_committed(site)
            process.kill()
            await process.wait()
        assert len(requests.of(*sources)) == len(sources)
        await windows.until(lambda: all(window_of(windows, source)["held_back"] for source in sources))
    for source in sources:  # brought forward, for nobody waits an hour
        ended = orjson.dumps({**window_of(windows, source), "ends_at_ms": 0})
        await gateway.send_raw(site.topic_prefix + FAUST_CHANGELOG, source.encode(), ended, [])
    async with coalescer(site):
        await requests.until_all_asked(sources, notified_at_ms)


async def test_coalescer_that_cannot_take_up_what_was_held_back_ends(site: Site) -> None:
    async with coalescer_process(site, window_s=WINDOW_S, python=("-c", WHILE_KAFKA_IS_AWAY)) as process:
        async with asyncio.timeout(PATIENCE_S):
            assert await process.wait() in {EXIT_FAILED, EXIT_DEADLINE}


async def test_a_stop_while_faust_starts_does_not_hang(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process("sync_engine_coalescer")
    start = faust.App.start

    async def stopped_while_it_starts(app: faust.App) -> None:
        asyncio.get_running_loop().call_soon(process.stopping.set)
        await start(app)

    monkeypatch.setattr(faust.App, "start", stopped_while_it_starts)
    async with asyncio.timeout(PATIENCE_S):
        await run(settings_for(site), process)


def window_of(windows: Followed, source: str) -> dict[str, Any]:
    found: dict[str, Any] = orjson.loads(windows.of(source)[-1].value)
    return found


async def until_committed(site: Site) -> None:
    """Faust has committed all notifications: nothing of them would be read again."""
    group = site.topic_prefix + COALESCER_APP_ID
    admin = AIOKafkaAdminClient(bootstrap_servers=site.kafka_bootstrap)
    consumer = AIOKafkaConsumer(site.topic_prefix + NOTIFICATIONS.name, bootstrap_servers=site.kafka_bootstrap)
    await admin.start()
    await consumer.start()
    try:
        ends = await consumer.end_offsets(consumer.assignment())
        async with asyncio.timeout(PATIENCE_S):
            while True:
                committed = await admin.list_consumer_group_offsets(group)
                if all(end == 0 or committed[partition].offset >= end for partition, end in ends.items()):
                    return
                await asyncio.sleep(0.2)
    finally:
        await consumer.stop()
        await admin.close()
