"""The whole coalescer on real Kafka: what a burst becomes, and what neither a stop nor a kill may lose."""

import asyncio
import os
import secrets
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
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

from mailroom_common.events import Notification, Provider, SyncReason, SyncRequest
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.process import Process
from mailroom_common.topics import COALESCER_APP_ID, FAUST_CHANGELOG, NOTIFICATIONS, SCHEMAS, SYNC_REQUESTS, deployed
from mailroom_sandbox.stack.ports import free_port
from sync_engine.app.coalescer import run
from sync_engine.settings import CoalescerSettings

pytestmark = [pytest.mark.stack, pytest.mark.timeout(300)]

WINDOW_S = 0.5
PATIENCE_S = 60


@dataclass
class Site:
    """Settings as the clients want them, and what `sync-requests` holds."""

    kafka_bootstrap: str
    topic_prefix: str
    codec: Codec = field(default_factory=Codec)

    async def requests(self, *sources: str) -> list[Any]:  # Any: aiokafka's ConsumerRecord has no types
        wanted = {source.encode() for source in sources}
        return [record for record in await self.read(SYNC_REQUESTS.name) if record.key in wanted]

    async def windows(self) -> dict[bytes, Any]:
        """By doc source, as the changelog has them."""
        return {record.key: orjson.loads(record.value or b"null") for record in await self.read(FAUST_CHANGELOG)}

    async def read(self, name: str) -> list[Any]:
        consumer = AIOKafkaConsumer(
            self.topic_prefix + name, bootstrap_servers=self.kafka_bootstrap, auto_offset_reset="earliest"
        )
        await consumer.start()
        try:
            ends = await consumer.end_offsets(consumer.assignment())
            found: list[Any] = []
            while any([await consumer.position(partition) < end for partition, end in ends.items()]):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found += records
            return found
        finally:
            await consumer.stop()


NEEDED = {NOTIFICATIONS.name, NOTIFICATIONS.dead_letters, SYNC_REQUESTS.name, SCHEMAS.name, FAUST_CHANGELOG}


@pytest.fixture(scope="module")
def site(kafka_bootstrap: str) -> Iterator[Site]:
    """One for all tests, whose sources differ: the topics have all their partitions, which takes Kafka a while."""
    site = Site(kafka_bootstrap, f"t{secrets.token_hex(4)}.")
    topics = [
        NewTopic(topic.name, topic.partitions, topic.replication, topic_configs=topic.config)
        for topic in deployed(site.topic_prefix, 1)
        if topic.name.removeprefix(site.topic_prefix) in NEEDED
    ]

    async def with_admin(act: Callable[[AIOKafkaAdminClient], Awaitable[object]]) -> None:
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
        await admin.start()
        try:
            await act(admin)
        finally:
            await admin.close()

    asyncio.run(with_admin(lambda admin: admin.create_topics(topics)))
    yield site
    asyncio.run(with_admin(lambda admin: admin.delete_topics([topic.name for topic in topics])))


@asynccontextmanager
async def coalescer(site: Site) -> AsyncIterator[Process]:
    """The whole composition, in this process; it stops as SIGTERM stops it."""
    process = Process("sync_engine_coalescer")
    settings = CoalescerSettings(
        kafka_bootstrap=site.kafka_bootstrap,
        topic_prefix=site.topic_prefix,
        coalesce_window_s=WINDOW_S,
        http_port=free_port(),
    )
    running = asyncio.create_task(run(settings, process))
    try:
        await ready(process)
        yield process
    finally:
        process.stopping.set()
        await running


async def ready(process: Process) -> None:
    async with asyncio.timeout(PATIENCE_S):
        await asyncio.sleep(0)
        while process.health.not_ready():  # noqa: ASYNC110  # health is asked, it does not tell
            await asyncio.sleep(0.05)


@asynccontextmanager
async def killable(site: Site) -> AsyncIterator[asyncio.subprocess.Process]:
    environment = {
        **os.environ,
        "MAILROOM_KAFKA_BOOTSTRAP": site.kafka_bootstrap,
        "MAILROOM_TOPIC_PREFIX": site.topic_prefix,
        "MAILROOM_COALESCE_WINDOW_S": "3600",
        "MAILROOM_HTTP_PORT": str(free_port()),
        "MAILROOM_LOG_LEVEL": "warning",
    }
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", "sync_engine", "coalescer", env=environment)
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


@pytest.fixture
async def gateway(site: Site) -> AsyncIterator[EventProducer]:
    async with EventProducer(site, site.codec, client_id="gateway") as producer:
        yield producer


def notification(doc_source_id: str) -> Notification:
    return Notification(
        event_id=str(uuid4()),
        occurred_at=datetime.now(UTC),
        tenant_id="acme",
        doc_source_id=doc_source_id,
        provider=Provider.OUTLOOK,
        provider_event=str(uuid4()),
    )


async def notify(gateway: EventProducer, doc_source_id: str, times: int = 1) -> None:
    for _ in range(times):
        await gateway.send(NOTIFICATIONS, doc_source_id, notification(doc_source_id))


async def asked(site: Site, expected: int, *sources: str) -> list[Any]:
    """The requests for the sources, once there are that many, and some windows later no more of them."""
    await until(site, expected, *sources)
    await asyncio.sleep(3 * WINDOW_S)
    return await site.requests(*sources)


async def until(site: Site, expected: int, *sources: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while len(await site.requests(*sources)) < expected:  # noqa: ASYNC110  # Kafka tells nobody
            await asyncio.sleep(0.1)


async def test_a_burst_becomes_two_requests_the_first_at_once(site: Site, gateway: EventProducer) -> None:
    source = str(uuid4())
    async with coalescer(site):
        await notify(gateway, source, times=8)
        found = await asked(site, 2, source)
    assert len(found) == 2
    first, trailing = (site.codec.decode(SYNC_REQUESTS, record.value) for record in found)
    assert isinstance(first, SyncRequest)
    assert isinstance(trailing, SyncRequest)
    assert (first.tenant_id, first.doc_source_id, first.reasons) == ("acme", source, [SyncReason.NOTIFICATION])
    assert (trailing.occurred_at - first.occurred_at).total_seconds() >= WINDOW_S
    assert trailing.first_requested_at < first.occurred_at + timedelta(seconds=WINDOW_S)


async def test_it_wakes_by_the_key_whatever_the_body_says_and_sets_aside_what_has_no_key(
    site: Site, gateway: EventProducer
) -> None:
    topic = gateway.name_of(NOTIFICATIONS)
    async with coalescer(site):
        await gateway.send_raw(topic, None, b"whose?", [("traceparent", b"x")])
        await gateway.send_raw(topic, b"\xff", b"whose?", [])
        await gateway.send_raw(topic, b"garbled", b"no avro", [])
        await gateway.send_raw(topic, b"newer", b"\xc3\x01" + b"\x07" * 8 + b"of a schema not known yet", [])
        await notify(gateway, "s")
        found = await asked(site, 3, "garbled", "newer", "s")
    assert sorted(record.key for record in found) == [b"garbled", b"newer", b"s"]
    aside = await site.read(NOTIFICATIONS.dead_letters)
    assert [record.value for record in aside] == [b"whose?", b"whose?"]
    assert all(dict(record.headers)["dlq-error-class"] == b"Undecodable" for record in aside)


async def test_what_was_held_back_at_a_stop_is_asked_for_after_the_restart(site: Site, gateway: EventProducer) -> None:
    sources = [str(uuid4()) for _ in range(10)]
    async with coalescer(site):
        for source in sources:
            await notify(gateway, source)
        await until(site, len(sources), *sources)
        notified_at_ms = int(datetime.now(UTC).timestamp() * 1000)
        for source in sources:
            await notify(gateway, source, times=2)
    async with coalescer(site):
        await answered(site, sources, notified_at_ms)


async def test_what_was_held_back_by_a_process_that_was_killed_is_asked_for_by_the_next(
    site: Site, gateway: EventProducer
) -> None:
    sources = [str(uuid4()) for _ in range(10)]
    async with killable(site) as process:
        for source in sources:
            await notify(gateway, source)
        await until(site, len(sources), *sources)
        # Its windows stay open for an hour: all of these are held back, and remembered before they are acknowledged.
        notified_at_ms = int(datetime.now(UTC).timestamp() * 1000)
        for source in sources:
            await notify(gateway, source)
        await until_committed(site)
        process.kill()
        await process.wait()
    assert len(await site.requests(*sources)) == len(sources)
    for source in sources:  # brought forward, for nobody waits an hour
        window = (await site.windows())[source.encode()]
        assert window["held_back"]["tenant_id"] == "acme"
        await gateway.send_raw(
            site.topic_prefix + FAUST_CHANGELOG, source.encode(), orjson.dumps({**window, "ends_at_ms": 0}), []
        )
    async with coalescer(site):
        await answered(site, sources, notified_at_ms)


async def test_a_stop_while_faust_starts_does_not_hang(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    process = Process("sync_engine_coalescer")
    settings = CoalescerSettings(
        kafka_bootstrap=site.kafka_bootstrap, topic_prefix=site.topic_prefix, http_port=free_port()
    )
    start = faust.App.start

    async def stopped_while_it_starts(app: faust.App) -> None:
        asyncio.get_running_loop().call_later(0.2, process.stopping.set)
        await start(app)

    monkeypatch.setattr(faust.App, "start", stopped_while_it_starts)
    async with asyncio.timeout(PATIENCE_S):
        running = asyncio.create_task(run(settings, process))
        await process.stopping.wait()
        stopped_at_s = asyncio.get_running_loop().time()
        await running
    assert asyncio.get_running_loop().time() - stopped_at_s < 8


async def answered(site: Site, sources: list[str], since_ms: int) -> None:
    """Each source has been asked for since then: whoever reads its mailbox later sees all that was notified."""

    async def unanswered() -> set[bytes]:
        found = await site.requests(*sources)
        return {source.encode() for source in sources} - {r.key for r in found if r.timestamp >= since_ms}

    async with asyncio.timeout(PATIENCE_S):
        while await unanswered():  # noqa: ASYNC110  # as above
            await asyncio.sleep(0.1)


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
                await asyncio.sleep(0.1)
    finally:
        await consumer.stop()
        await admin.close()
