"""The process `python -m webhook_gateway` on real Kafka: acknowledged means written, and Kafka away means 503, fast."""

import asyncio
import json
import os
import secrets
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from mailroom_common.events import Access, ClientState, DocSource, DocSourceState, Event, Profile, Provider
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.topics import DOC_SOURCES, LIFECYCLE_EVENTS, NOTIFICATIONS, SCHEMAS, Topic
from mailroom_sandbox.site.stack import jars
from mailroom_sandbox.site.stack.home import find_home
from mailroom_sandbox.site.stack.kafka import Kafka
from mailroom_sandbox.site.stack.ports import free_port

pytestmark = pytest.mark.stack

PARTITIONS = 4


@dataclass(frozen=True)
class Site:
    kafka_bootstrap: str
    topic_prefix: str

    async def create_topics(self) -> None:
        names = [self.topic_prefix + t.name for t in (DOC_SOURCES, LIFECYCLE_EVENTS, NOTIFICATIONS, SCHEMAS)]
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka_bootstrap)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names])

            async def worst_error() -> int:
                return max(int(topic["error_code"]) for topic in await admin.describe_topics(names))

            await eventually(0, worst_error)
        finally:
            await admin.close()

    async def read(self, topic: Topic) -> list[Event]:
        consumer = AIOKafkaConsumer(bootstrap_servers=self.kafka_bootstrap)
        await consumer.start()
        try:
            partitions = [TopicPartition(self.topic_prefix + topic.name, number) for number in range(PARTITIONS)]
            consumer.assign(partitions)
            await consumer.seek_to_beginning()
            ends = await consumer.end_offsets(partitions)
            codec = Codec()
            found: list[Event] = []
            while any([await consumer.position(partition) < end for partition, end in ends.items()]):
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found += [codec.decode(topic, record.value) for record in records]
            return found
        finally:
            await consumer.stop()


@dataclass
class Running:
    process: asyncio.subprocess.Process
    http: httpx.AsyncClient
    log: Path

    async def ready(self) -> None:
        await eventually(200, lambda: self.status("GET", "/readyz"))

    async def alive(self) -> None:
        await eventually(200, lambda: self.status("GET", "/livez"))

    async def status(self, method: str, path: str, json: object = None) -> int | None:
        try:
            return (await self.http.request(method, path, json=json)).status_code
        except httpx.ConnectError:
            return None

    async def stop(self) -> tuple[int, float]:
        """The exit code, and how long it took."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = await self.process.wait()
        return code, time.monotonic() - started


async def eventually(wanted: int, status: Callable[[], Awaitable[int | None]], within_s: float = 60.0) -> None:
    async with asyncio.timeout(within_s):
        found = await status()
        while found != wanted:
            await asyncio.sleep(0.1)
            found = await status()


Start = Callable[..., Awaitable[Running]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    async with AsyncExitStack() as stack:

        async def start(site: Site, **settings: str) -> Running:
            port = free_port()
            log = tmp_path / f"gateway-{port}.log"
            env = {
                **{name: value for name, value in os.environ.items() if not name.startswith("MAILROOM_")},
                "MAILROOM_KAFKA_BOOTSTRAP": site.kafka_bootstrap,
                "MAILROOM_TOPIC_PREFIX": site.topic_prefix,
                "MAILROOM_HTTP_PORT": str(port),
                "MAILROOM_PUBSUB_TOKEN": "canary-of-the-token",
                **settings,
            }
            with log.open("wb") as output:
                process = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "webhook_gateway", env=env, stdout=output, stderr=output
                )
            stack.push_async_callback(_ended, process)
            http = await stack.enter_async_context(
                httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20, trust_env=False)
            )
            return Running(process, http, log)

        yield start


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()


@pytest.fixture
async def site(kafka_bootstrap: str) -> AsyncIterator[Site]:
    site = Site(kafka_bootstrap, f"t{secrets.token_hex(4)}.")
    await site.create_topics()
    yield site
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    await admin.start()
    await admin.delete_topics([name for name in await admin.list_topics() if name.startswith(site.topic_prefix)])
    await admin.close()


def source(doc_source_id: str = "ds-1", **changes: Any) -> DocSource:
    hashed = sha256(f"{doc_source_id}:secret".encode()).hexdigest()
    usual: dict[str, Any] = {
        "event_id": "e",
        "occurred_at": datetime.now(UTC),
        "tenant_id": "acme",
        "doc_source_id": doc_source_id,
        "version": 1,
        "provider": Provider.OUTLOOK,
        "profile": Profile.INVOICE,
        "access": Access.DELEGATED,
        "state": DocSourceState.ACTIVE,
        "client_states": [ClientState(sha256=hashed, valid_until=datetime.now(UTC) + timedelta(days=1))],
    }
    return DocSource(**{**usual, **changes})


def change(doc_source_id: str = "ds-1", message_id: str = "m-1") -> dict[str, Any]:
    return {
        "subscriptionId": "sub-1",
        "clientState": f"{doc_source_id}:secret",
        "changeType": "created",
        "resourceData": {"id": message_id, "@odata.etag": "1"},
    }


def graph(*items: dict[str, Any]) -> dict[str, Any]:
    return {"value": list(items)}


@asynccontextmanager
async def publishing(site: Site) -> AsyncIterator[EventProducer]:
    async with EventProducer(site, Codec(), client_id="test") as producer:
        yield producer


async def test_a_push_is_in_kafka_when_it_is_answered(site: Site, start: Start) -> None:
    async with publishing(site) as producer:
        await producer.send_event(DOC_SOURCES, "ds-1", source())
        gateway = await start(site)
        await gateway.ready()

        lifecycle = {"subscriptionId": "sub-1", "clientState": "ds-1:secret", "lifecycleEvent": "missed"}
        answer = await gateway.http.post("/webhooks/outlook", json=graph(change(), lifecycle))

        assert answer.status_code == 202
        [notification] = await site.read(NOTIFICATIONS)
        [event] = await site.read(LIFECYCLE_EVENTS)
        assert notification.doc_source_id == event.doc_source_id == "ds-1"
    code, took_s = await gateway.stop()
    assert code == 0
    assert took_s < 10


async def test_a_source_that_was_acknowledged_before_the_push_is_known_to_it(site: Site, start: Start) -> None:
    """Graph may announce a change before the 201 of the subscription that it belongs to."""
    gateway = await start(site)
    await gateway.ready()
    async with publishing(site) as producer:
        for number in range(10):
            doc_source_id = f"ds-{number}"
            await producer.send_event(DOC_SOURCES, doc_source_id, source(doc_source_id))
            answer = await gateway.http.post("/webhooks/outlook", json=graph(change(doc_source_id)))
            assert answer.status_code == 202

        gmail = source("ds-gmail", provider=Provider.GMAIL, address="me@example.com")
        await producer.send_event(DOC_SOURCES, "ds-gmail", gmail)
        push = {"emailAddress": "me@example.com", "historyId": 7}
        answer = await gateway.http.post("/webhooks/gmail?token=canary-of-the-token", json=push)
        assert answer.status_code == 202

    assert len(await site.read(NOTIFICATIONS)) == 11


async def test_pushes_at_once_are_all_written(site: Site, start: Start) -> None:
    async with publishing(site) as producer:
        for number in range(8):
            await producer.send_event(DOC_SOURCES, f"ds-{number}", source(f"ds-{number}"))
    gateway = await start(site)
    await gateway.ready()

    bodies = [graph(change(f"ds-{n % 8}", f"m-{n}"), change(f"ds-{(n + 1) % 8}", f"n-{n}")) for n in range(300)]
    answers = await asyncio.gather(*(gateway.http.post("/webhooks/outlook", json=body) for body in bodies))

    assert {answer.status_code for answer in answers} == {202}
    written = await site.read(NOTIFICATIONS)
    assert len(written) == 600
    assert len({event.event_id for event in written}) == 600


async def test_no_secret_of_a_push_reaches_the_log(site: Site, start: Start) -> None:
    gateway = await start(site)
    await gateway.ready()
    push = {"emailAddress": "nobody@example.com", "historyId": 7}
    for path in ("/webhooks/gmail?token=canary-of-the-token", "/webhooks/gmail?token=canary-guessed"):
        await gateway.http.post(path, json=push)
    await gateway.http.post("/webhooks/outlook", json=graph({**change(), "clientState": "ds-1:canary-state"}))
    await gateway.http.get("/nothing?token=canary-of-the-token")
    await gateway.stop()

    text = gateway.log.read_text()
    assert "canary" not in text
    kinds = [json.loads(line).get("kind") for line in text.splitlines() if "security_event" in line]
    assert kinds == ["pubsub_token_refused", "client_state_mismatch"]


async def test_without_kafka_it_is_alive_not_ready_and_answers_in_time(start: Start) -> None:
    gateway = await start(Site("127.0.0.1:1", ""))
    await gateway.alive()

    started = time.monotonic()
    push = await gateway.http.post("/webhooks/outlook", json=graph(change()))
    took_s = time.monotonic() - started
    handshake = await gateway.http.post("/webhooks/outlook?validationToken=abc")

    assert (push.status_code, handshake.status_code, handshake.text) == (503, 200, "abc")
    assert took_s < 2.5
    assert await gateway.status("GET", "/readyz") == 503
    assert "pubsub_subscription_unchecked" in gateway.log.read_text()
    code, took_s = await gateway.stop()
    assert code == 0
    assert took_s < 10


@pytest.fixture(scope="module")
def own_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kafka]:
    """One that may be frozen: the session's is shared."""
    folder = tmp_path_factory.mktemp("kafka")
    port = free_port()
    kafka = Kafka(
        folder / "kafka",
        asyncio.run(jars.provide_jars(find_home().jars)),
        port=port,
        controller_port=free_port(avoid=[port]),
        log=folder / "kafka.log",
    )
    kafka.start()
    try:
        asyncio.run(kafka.wait_until_ready())
        yield kafka
    finally:
        os.kill(kafka.child.pid, signal.SIGCONT)
        asyncio.run(kafka.stop())


async def test_a_frozen_kafka_is_503_within_two_and_a_half_seconds_and_the_pod_stays_ready(
    own_kafka: Kafka, start: Start
) -> None:
    site = Site(own_kafka.bootstrap, "frozen.")
    await site.create_topics()
    async with publishing(site) as producer:
        await producer.send_event(DOC_SOURCES, "ds-1", source())
    gateway = await start(site)
    await gateway.ready()
    assert (await gateway.http.post("/webhooks/outlook", json=graph(change()))).status_code == 202

    os.kill(own_kafka.child.pid, signal.SIGSTOP)
    try:
        for body in (graph(change()), graph(change("ds-unknown")), graph(change(), change("ds-unknown"))):
            started = time.monotonic()
            answer = await gateway.http.post("/webhooks/outlook", json=body)
            took_s = time.monotonic() - started
            assert answer.status_code == 503
            assert int(answer.headers["retry-after"]) > 0
            assert took_s < 2.5
        answers = await asyncio.gather(
            *(gateway.http.post("/webhooks/outlook", json=graph(change())) for _ in range(50))
        )
        assert {answer.status_code for answer in answers} == {503}
        assert await gateway.status("GET", "/readyz") == 200
    finally:
        os.kill(own_kafka.child.pid, signal.SIGCONT)

    await eventually(202, lambda: gateway.status("POST", "/webhooks/outlook", graph(change())))

    os.kill(own_kafka.child.pid, signal.SIGSTOP)
    try:
        pending = asyncio.create_task(gateway.http.post("/webhooks/outlook", json=graph(change())))
        await asyncio.sleep(0.1)
        code, took_s = await gateway.stop()
        assert took_s < 10
        assert code in (0, 75)
        assert (await pending).status_code == 503
    finally:
        os.kill(own_kafka.child.pid, signal.SIGCONT)
