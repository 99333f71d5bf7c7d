"""The process `python -m webhook_gateway` on real Kafka: acknowledged means written, and Kafka away means 503, fast."""

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest
from fake_google import AUDIENCE, SERVICE_ACCOUNT, make_bearer
from gateway_fakes import GATEWAY_TOPICS, SUBSCRIPTION, make_change, make_client_state, make_gmail_push, make_source
from kafka_site import KafkaSite, create_kafka_site, eventually
from pubsub_server import start_pubsub_server

from mailroom_common.events import DocSource, Event
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.topics import DOC_SOURCES, LIFECYCLE_EVENTS, NOTIFICATIONS, Topic
from mailroom_sandbox.site.stack import jars
from mailroom_sandbox.site.stack.home import find_home
from mailroom_sandbox.site.stack.kafka import Kafka
from mailroom_sandbox.site.stack.ports import free_port

pytestmark = pytest.mark.stack


@dataclass
class GatewayProcess:
    process: asyncio.subprocess.Process
    http: httpx.AsyncClient
    log: Path

    async def wait_until_ready(self) -> None:
        await self.wait_for_status(200, "GET", "/readyz")

    async def wait_until_alive(self) -> None:
        await self.wait_for_status(200, "GET", "/livez")

    async def wait_for_status(self, expected: int, method: str, path: str, json: object = None) -> None:
        async def has_status() -> bool:
            return await self.get_status(method, path, json) == expected

        await eventually(has_status, within_s=60.0)

    async def get_status(self, method: str, path: str, json: object = None) -> int | None:
        try:
            return (await self.http.request(method, path, json=json)).status_code
        except httpx.ConnectError:
            return None

    async def stop_process(self) -> tuple[int, float]:
        """The exit code, and how long it took."""
        started = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        code = await self.process.wait()
        return code, time.monotonic() - started


StartGateway = Callable[..., Awaitable[GatewayProcess]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[StartGateway]:
    async with AsyncExitStack() as stack:

        async def start(site: KafkaSite, **settings: str) -> GatewayProcess:
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
            stack.push_async_callback(_end_process, process)
            http = await stack.enter_async_context(
                httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=20, trust_env=False)
            )
            return GatewayProcess(process, http, log)

        yield start


async def _end_process(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()


def make_current_source(doc_source_id: str = "ds-1", **changes: Any) -> DocSource:
    """Its client state is valid by the real clock."""
    client_state = make_client_state(f"{doc_source_id}:secret", datetime.now(UTC) + timedelta(days=1))
    return make_source(doc_source_id, client_states=[client_state], **changes)


def make_change_of(doc_source_id: str = "ds-1", message_id: str = "m-1") -> dict[str, Any]:
    return make_change(f"{doc_source_id}:secret", resourceData={"id": message_id, "@odata.etag": "1"})


async def read_events(site: KafkaSite, topic: Topic) -> list[Event]:
    codec = Codec()
    return [codec.decode(topic, record.value) for record in await site.read_all(topic.name)]


def make_body(*items: dict[str, Any]) -> dict[str, Any]:
    return {"value": list(items)}


@asynccontextmanager
async def open_producer(site: KafkaSite) -> AsyncIterator[EventProducer]:
    async with EventProducer(site, Codec(), client_id="test") as producer:
        yield producer


async def test_a_push_is_in_kafka_when_it_is_answered(site: KafkaSite, start: StartGateway) -> None:
    async with open_producer(site) as producer:
        await producer.send_event(DOC_SOURCES, "ds-1", make_current_source())
        gateway = await start(site)
        await gateway.wait_until_ready()

        lifecycle = {"subscriptionId": "sub-1", "clientState": "ds-1:secret", "lifecycleEvent": "missed"}
        response = await gateway.http.post("/webhooks/outlook", json=make_body(make_change_of(), lifecycle))

        assert response.status_code == 202
        [notification] = await read_events(site, NOTIFICATIONS)
        [event] = await read_events(site, LIFECYCLE_EVENTS)
        assert notification.doc_source_id == event.doc_source_id == "ds-1"
    code, took_s = await gateway.stop_process()
    assert code == 0
    assert took_s < 10


async def test_a_source_that_was_acknowledged_before_the_push_is_known_to_it(
    site: KafkaSite, start: StartGateway
) -> None:
    """Graph may announce a change before the 201 of the subscription that it belongs to."""
    gateway = await start(site)
    await gateway.wait_until_ready()
    async with open_producer(site) as producer:
        for number in range(10):
            doc_source_id = f"ds-{number}"
            await producer.send_event(DOC_SOURCES, doc_source_id, make_current_source(doc_source_id))
            response = await gateway.http.post("/webhooks/outlook", json=make_body(make_change_of(doc_source_id)))
            assert response.status_code == 202

        gmail = make_current_source("ds-gmail", provider="gmail", address="me@example.com")
        await producer.send_event(DOC_SOURCES, "ds-gmail", gmail)
        push = {"emailAddress": "me@example.com", "historyId": 7}
        response = await gateway.http.post("/webhooks/gmail?token=canary-of-the-token", json=push)
        assert response.status_code == 202

    assert len(await read_events(site, NOTIFICATIONS)) == 11


async def test_pulled_message_is_acknowledged_at_google_once_kafka_has_it(site: KafkaSite, start: StartGateway) -> None:
    gmail = make_current_source("ds-gmail", provider="gmail", address="me@example.com")
    async with open_producer(site) as producer, start_pubsub_server() as pubsub:
        await producer.send_event(DOC_SOURCES, "ds-gmail", gmail)
        message_id = await pubsub.publish_notification("me@example.com", 7)
        gateway = await start(
            site,
            MAILROOM_PUBSUB_PULL="1",
            MAILROOM_PUBSUB_SUBSCRIPTION=SUBSCRIPTION,
            PUBSUB_EMULATOR_HOST=f"127.0.0.1:{pubsub.port}",
        )
        await pubsub.wait_until(lambda: pubsub.acknowledged == [message_id], within_s=60.0)

        [notification] = await read_events(site, NOTIFICATIONS)
        assert notification.doc_source_id == "ds-gmail"
        code, took_s = await gateway.stop_process()
    assert code == 0
    assert took_s < 10


async def test_pushes_at_once_are_all_written(site: KafkaSite, start: StartGateway) -> None:
    async with open_producer(site) as producer:
        for number in range(8):
            await producer.send_event(DOC_SOURCES, f"ds-{number}", make_current_source(f"ds-{number}"))
    gateway = await start(site)
    await gateway.wait_until_ready()

    bodies = [
        make_body(make_change_of(f"ds-{n % 8}", f"m-{n}"), make_change_of(f"ds-{(n + 1) % 8}", f"n-{n}"))
        for n in range(300)
    ]
    responses = await asyncio.gather(*(gateway.http.post("/webhooks/outlook", json=body) for body in bodies))

    assert {response.status_code for response in responses} == {202}
    written = await read_events(site, NOTIFICATIONS)
    assert len(written) == 600
    assert len({event.event_id for event in written}) == 600


async def test_no_secret_of_a_push_reaches_the_log(site: KafkaSite, start: StartGateway) -> None:
    gateway = await start(site)
    await gateway.wait_until_ready()
    push = {"emailAddress": "nobody@example.com", "historyId": 7}
    for path in ("/webhooks/gmail?token=canary-of-the-token", "/webhooks/gmail?token=canary-guessed"):
        await gateway.http.post(path, json=push)
    await gateway.http.post(
        "/webhooks/outlook", json=make_body({**make_change_of(), "clientState": "ds-1:canary-state"})
    )
    await gateway.http.get("/nothing?token=canary-of-the-token")
    await gateway.stop_process()

    text = gateway.log.read_text()
    assert "canary" not in text
    kinds = [json.loads(line).get("kind") for line in text.splitlines() if "security_event_detected" in line]
    assert kinds == ["pubsub_token_refused", "client_state_mismatch"]


async def test_without_kafka_it_is_alive_not_ready_and_answers_in_time(start: StartGateway) -> None:
    gateway = await start(KafkaSite("127.0.0.1:1", ""))
    await gateway.wait_until_alive()

    started = time.monotonic()
    push = await gateway.http.post("/webhooks/outlook", json=make_body(make_change_of()))
    took_s = time.monotonic() - started
    handshake = await gateway.http.post("/webhooks/outlook?validationToken=abc")

    assert (push.status_code, handshake.status_code, handshake.text) == (503, 200, "abc")
    assert took_s < 2.5
    assert await gateway.get_status("GET", "/readyz") == 503
    assert "pubsub_subscription_unchecked" in gateway.log.read_text()
    code, took_s = await gateway.stop_process()
    assert code == 0
    assert took_s < 10


async def test_the_settings_reach_the_routes(start: StartGateway) -> None:
    gateway = await start(
        KafkaSite("127.0.0.1:1", ""),
        MAILROOM_MAX_BODY_BYTES="2000",
        MAILROOM_PUBSUB_SUBSCRIPTION="projects/acme/subscriptions/gmail",
        MAILROOM_TRUSTED_PROXIES="127.0.0.0/8",
    )
    await gateway.wait_until_alive()

    other = make_gmail_push(subscription="projects/other/subscriptions/gmail")
    forwarded = {"X-Forwarded-For": "198.51.100.7"}
    refused = await gateway.http.post("/webhooks/gmail?token=canary-of-the-token", json=other, headers=forwarded)
    too_large = await gateway.http.post("/webhooks/outlook", content=b"x" * 2001)

    assert (refused.status_code, too_large.status_code) == (403, 413)
    [event] = [json.loads(line) for line in gateway.log.read_text().splitlines() if "security_event" in line]
    assert (event["kind"], event["source_address"]) == ("pubsub_subscription_refused", "198.51.100.7")
    assert "pubsub_subscription_unchecked" not in gateway.log.read_text()


async def test_a_required_signature_is_judged_once_googles_keys_are_fetched(start: StartGateway) -> None:
    gateway = await start(
        KafkaSite("127.0.0.1:1", ""),
        MAILROOM_PUBSUB_AUDIENCE=AUDIENCE,
        MAILROOM_PUBSUB_SERVICE_ACCOUNT=SERVICE_ACCOUNT,
        MAILROOM_GOOGLE_CERTS_URL="http://127.0.0.1:1/certs",
        MAILROOM_INSECURE="1",
    )
    await gateway.wait_until_alive()
    path = "/webhooks/gmail?token=canary-of-the-token"

    unsigned = await gateway.http.post(path, json=make_gmail_push())
    signed = await gateway.http.post(path, json=make_gmail_push(), headers={"Authorization": make_bearer()})

    assert (unsigned.status_code, signed.status_code) == (403, 503)
    assert "google_key_fetch_failed" in gateway.log.read_text()


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


@pytest.fixture
async def own_site(own_kafka: Kafka) -> AsyncIterator[KafkaSite]:
    async with create_kafka_site(own_kafka.bootstrap, GATEWAY_TOPICS) as site:
        yield site


async def test_a_frozen_kafka_is_503_within_two_and_a_half_seconds_and_the_pod_stays_ready(
    own_kafka: Kafka, own_site: KafkaSite, start: StartGateway
) -> None:
    async with open_producer(own_site) as producer:
        await producer.send_event(DOC_SOURCES, "ds-1", make_current_source())
    gateway = await start(own_site)
    await gateway.wait_until_ready()
    assert (await gateway.http.post("/webhooks/outlook", json=make_body(make_change_of()))).status_code == 202

    os.kill(own_kafka.child.pid, signal.SIGSTOP)
    try:
        for body in (
            make_body(make_change_of()),
            make_body(make_change_of("ds-unknown")),
            make_body(make_change_of(), make_change_of("ds-unknown")),
        ):
            started = time.monotonic()
            response = await gateway.http.post("/webhooks/outlook", json=body)
            took_s = time.monotonic() - started
            assert response.status_code == 503
            assert int(response.headers["retry-after"]) > 0
            assert took_s < 2.5
        responses = await asyncio.gather(
            *(gateway.http.post("/webhooks/outlook", json=make_body(make_change_of())) for _ in range(50))
        )
        assert {response.status_code for response in responses} == {503}
        assert await gateway.get_status("GET", "/readyz") == 200
    finally:
        os.kill(own_kafka.child.pid, signal.SIGCONT)

    await gateway.wait_for_status(202, "POST", "/webhooks/outlook", make_body(make_change_of()))

    os.kill(own_kafka.child.pid, signal.SIGSTOP)
    try:
        pending = asyncio.create_task(gateway.http.post("/webhooks/outlook", json=make_body(make_change_of())))
        await asyncio.sleep(0.1)
        code, took_s = await gateway.stop_process()
        assert took_s < 10
        assert code in (0, 75)
        assert (await pending).status_code == 503
    finally:
        os.kill(own_kafka.child.pid, signal.SIGCONT)
