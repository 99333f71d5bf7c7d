"""subscription-manager over real Kafka, real Postgres and the sandbox's providers, for integration tests.

The public address is a front of the test's own: the webhooks of the handshake are answered as the gateway would, all
else goes to the service. Several instances may run at once.
"""

import asyncio
import os
import secrets
import socket
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar
from unittest.mock import patch
from urllib.parse import urlsplit

import asyncpg
import httpx
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse

from mailroom_common.events import Event
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.migrations import apply_migrations
from mailroom_common.process import Process
from mailroom_common.topics import CONNECTION_EVENTS, DOC_SOURCES, LIFECYCLE_EVENTS, SCHEMAS, SYNC_REQUESTS, Topic
from mailroom_common.web import serve_app
from mailroom_sandbox.provider_doubles.client import answer_consent_page
from mailroom_sandbox.testkit.running_providers import RunningProviders, running_providers
from subscription_manager.app import run
from subscription_manager.settings import Settings

T = TypeVar("T")

PARTITIONS = 2
ROLES = ("viewer", "operator", "admin")


def key_of(tenant: str, role: str) -> str:
    return f"key-{tenant}-{role}"


def _build_keys(*tenants: str) -> str:
    return ",".join(
        f"{tenant}:{role}:{sha256(key_of(tenant, role).encode()).hexdigest()}" for tenant in tenants for role in ROLES
    )


TOPICS = (DOC_SOURCES, SYNC_REQUESTS, LIFECYCLE_EVENTS, CONNECTION_EVENTS, SCHEMAS)


@dataclass(frozen=True, slots=True)
class Instance:
    process: Process
    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass(slots=True)
class ManagerSite:
    settings: Settings
    providers: RunningProviders
    http: httpx.AsyncClient
    instances: list[Instance] = field(default_factory=list)
    handshakes: list[str] = field(default_factory=list)
    on_handshake: Callable[[], Awaitable[None]] | None = None  # what the provider waits for in the middle of a create
    pushed: list[dict[str, Any]] = field(default_factory=list)  # items that the provider sent to the webhooks

    @property
    def public_url(self) -> str:
        return self.settings.public_url

    async def call_api(
        self, method: str, path: str, *, tenant: str = "acme", role: str = "admin", **options: Any
    ) -> httpx.Response:
        headers = {"authorization": f"Bearer {key_of(tenant, role)}"}
        return await self.http.request(method, self.public_url + path, headers=headers, **options)

    async def create_doc_source(self, provider: str, *, tenant: str = "acme", **fields: object) -> dict[str, Any]:
        body = {"provider": provider, "profile": "invoice", "access": "delegated", **fields}
        answer = await self.call_api("POST", "/doc-sources", tenant=tenant, json=body)
        assert answer.status_code == 201, answer.text
        return dict(answer.json())

    async def get_doc_source(self, doc_source_id: str, *, tenant: str = "acme") -> dict[str, Any]:
        answer = await self.call_api("GET", f"/doc-sources/{doc_source_id}", tenant=tenant)
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    async def press_button(self, link: str, browser: httpx.AsyncClient) -> httpx.Response:
        """Open the link and press its button; the answer sends the browser to the provider."""
        page = await browser.get(link)
        assert page.status_code == 200, page.text
        ticket = httpx.URL(link).params["ticket"]
        return await browser.post(link.partition("?")[0], data={"ticket": ticket})

    async def give_consent(self, link: str, address: str, *, accept: bool = True) -> httpx.Response:
        """All that a person does, and the page they end on."""
        async with httpx.AsyncClient(trust_env=False) as browser:
            sent = await self.press_button(link, browser)
            assert sent.status_code == 303, sent.text
            back = await answer_consent_page(
                self.providers.http, sent.headers["location"], account=address, accept=accept
            )
            return await browser.get(back)

    async def connect_mailbox(self, provider: str, address: str, *, tenant: str = "acme", **fields: object) -> str:
        made = await self.create_doc_source(provider, tenant=tenant, **fields)
        done = await self.give_consent(made["authorize_url"], address)
        assert done.status_code == 200, done.text
        return str(made["id"])

    async def wait_until(
        self, doc_source_id: str, tenant: str = "acme", within_s: float = 45, **wanted: object
    ) -> dict[str, Any]:
        """The doc source, once its fields are `wanted`; a callable is asked, anything else compared."""
        shown: dict[str, Any] = {}

        async def has_fields() -> bool:
            shown.update(await self.get_doc_source(doc_source_id, tenant=tenant))
            return all(_matches(shown[name], value) for name, value in wanted.items())

        try:
            await wait_for_answer(has_fields, within_s)
        except TimeoutError:
            raise AssertionError(f"still {shown}") from None
        return shown

    async def read_client_state(self, subscription_id: str) -> str:
        """What the provider holds, as it tells whoever it calls."""
        await self.providers.control.send_lifecycle_event("missed", subscription_id=subscription_id)
        item = await wait_for_answer(lambda: self._pushed_of(subscription_id))
        return str(item["clientState"])

    async def _pushed_of(self, subscription_id: str) -> dict[str, Any] | None:
        return next((item for item in self.pushed if item["subscriptionId"] == subscription_id), None)

    async def read_records(self, topic: Topic) -> list[tuple[str, Event | None, dict[str, str]]]:
        """Everything that the topic holds now: key, event, headers."""
        codec = Codec()
        name = self.settings.topic_prefix + topic.name
        consumer = AIOKafkaConsumer(bootstrap_servers=self.settings.kafka_bootstrap, auto_offset_reset="earliest")
        await consumer.start()
        found = []
        try:
            partitions = [TopicPartition(name, number) for number in range(PARTITIONS)]
            ends = await consumer.end_offsets(partitions)
            for partition, end in ends.items():
                consumer.assign([partition])
                await consumer.seek_to_beginning(partition)
                while await consumer.position(partition) < end:
                    for record in (await consumer.getmany(partition, timeout_ms=500)).get(partition, []):
                        event = None if record.value is None else codec.decode(topic, record.value)
                        headers = {name: value.decode() for name, value in record.headers}
                        found.append((record.key.decode(), event, headers))
        finally:
            await consumer.stop()
        return found

    async def publish_event(self, topic: Topic, event: Event) -> None:
        """Write an event as another service would."""
        async with EventProducer(self.settings, Codec(), client_id="test") as producer:
            await producer.send_event(topic, event.doc_source_id, event)

    @asynccontextmanager
    async def run_instance(self, **changed: object) -> AsyncIterator[Instance]:
        """One more instance, on a port of its own."""
        settings = self.settings.model_copy(update={"http_port": free_port(), **changed})
        one = Instance(Process("subscription_manager"), settings.http_port)
        running = asyncio.create_task(run(settings, one.process))
        try:
            await self._wait_until_ready(one, running)
            self.instances.append(one)
            yield one
        finally:
            one.process.stopping.set()
            await asyncio.wait_for(running, 10)
            self.instances.remove(one)

    async def _wait_until_ready(self, one: Instance, running: asyncio.Task[None]) -> None:
        async def is_ready() -> bool:
            if running.done():
                await running
            with suppress(httpx.TransportError):
                return (await self.http.get(f"{one.url}/readyz")).status_code == 200
            return False

        await wait_for_answer(is_ready, 30)

    def build_public_app(self) -> FastAPI:
        app = FastAPI()

        @app.post("/webhooks/outlook")
        @app.post("/webhooks/outlook/lifecycle")
        async def handshake(request: Request) -> Response:
            token = request.query_params.get("validationToken")
            if token is None:
                self.pushed += (await request.json())["value"]
                return Response(status_code=202)
            self.handshakes.append(request.url.path)
            if self.on_handshake is not None:
                await self.on_handshake()
            return PlainTextResponse(token)

        @app.api_route("/{path:path}", methods=["GET", "POST", "DELETE"])
        async def service(request: Request, path: str) -> Response:
            one = self.instances[len(path) % len(self.instances)]
            answer = await self.http.request(
                request.method,
                f"{one.url}/{path}?{request.url.query}",
                headers=request.headers.raw,
                content=await request.body(),
            )
            passed = Response(answer.content, answer.status_code)
            passed.raw_headers = [(n, v) for n, v in answer.headers.raw if n.lower() != b"transfer-encoding"]
            return passed

        return app


@asynccontextmanager
async def manager_site(
    folder: Path, kafka_bootstrap: str, server_url: str, **changed: object
) -> AsyncIterator[ManagerSite]:
    """Providers, topics, a database of its own and the front; start instances of the service yourself."""
    port = free_port()
    public_url = f"http://127.0.0.1:{port}"
    redirects = ",".join(f"{public_url}/oauth/{provider}/callback" for provider in ("outlook", "gmail"))
    async with AsyncExitStack() as stack:
        database_url = await stack.enter_async_context(_create_database(server_url))
        await apply_migrations(database_url, {"mailroom_quota", "mailroom_tokens", "subscription_manager"})
        providers = await stack.enter_async_context(running_providers(folder, redirect_uris=redirects))
        http = await stack.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=20))
        # The provider packages read their own settings from the environment.
        stack.enter_context(patch.dict(os.environ, providers.mailroom_environment()))
        settings = Settings.model_validate(
            {
                "ca_bundle": providers.mailroom_environment()["MAILROOM_CA_BUNDLE"],
                "kafka_bootstrap": kafka_bootstrap,
                "topic_prefix": f"t{secrets.token_hex(4)}.",
                "database_url": database_url,
                "token_keys": f"k1:{b64encode(secrets.token_bytes(32)).decode()}",
                "api_keys": _build_keys("acme", "other"),
                "public_url": public_url,
                "max_check_pause_s": 0.2,
                **changed,
            }
        )
        await _create_topics(settings)
        site = ManagerSite(settings, providers, http)
        stopping = asyncio.Event()
        serving = asyncio.create_task(
            serve_app(site.build_public_app(), host="127.0.0.1", port=port, stopping=stopping)
        )
        try:
            yield site
        finally:
            stopping.set()
            await serving


@asynccontextmanager
async def _create_database(server_url: str) -> AsyncIterator[str]:
    name = f"test_{secrets.token_hex(6)}"
    server = await asyncpg.connect(server_url)
    await server.execute(f"create database {name}")
    try:
        yield urlsplit(server_url)._replace(path=f"/{name}").geturl()
    finally:
        await server.execute(f"drop database {name} with (force)")
        await server.close()


async def _create_topics(settings: Settings) -> None:
    names = [settings.topic_prefix + topic.name for topic in TOPICS]
    names += [f"{name}.dlq" for name in names]
    admin = AIOKafkaAdminClient(bootstrap_servers=settings.kafka_bootstrap)
    await admin.start()
    # Few partitions: the broker is shared, and nothing here depends on how many there are.
    await admin.create_topics([NewTopic(name, num_partitions=PARTITIONS, replication_factor=1) for name in names])
    await admin.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def wait_for_answer(ask: Callable[[], Awaitable[T | None]], within_s: float = 45) -> T:
    """The first answer that is true; what is asked about is another process's, and has no event for us."""
    async with asyncio.timeout(within_s):
        while True:
            answer = await ask()
            if answer:
                return answer
            await asyncio.sleep(0.05)


def _matches(value: object, wanted: object) -> bool:
    return bool(wanted(value)) if callable(wanted) else value == wanted
