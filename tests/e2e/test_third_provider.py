"""A provider that nobody has heard of, in the services' own composition functions: from its consent to a document.

It costs its package (`tests/third_provider/mailroom_postbox`) and one line in the list of each composition root, which
these tests pass in. One site serves them, with a mailbox for each.
"""

import asyncio
import secrets
from base64 import b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import httpx
import pytest
import pytest_asyncio
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from mailroom_postbox import PostboxPackage, PostboxServer
from mailroom_postbox.server import StoredAttachment
from whole_site import eventually, pdf

import ingestion.app.api
import ingestion.app.worker
import subscription_manager.app
import sync_engine.app.worker
from ingestion.settings import DocumentsAPISettings
from ingestion.settings import WorkerSettings as IngestionSettings
from mailroom_common.migrations import apply_migrations
from mailroom_common.process import Process
from mailroom_common.topics import TOPICS
from mailroom_sandbox.site.stack.ports import free_port
from subscription_manager.settings import Settings as ManagerSettings
from sync_engine.settings import WorkerSettings as SyncSettings

pytestmark = [pytest.mark.stack, pytest.mark.asyncio(loop_scope="module")]

KEY = "key-of-acme"
INVOICE = StoredAttachment("invoice.pdf", "application/pdf", pdf("postbox"))


@dataclass(frozen=True, slots=True)
class PostboxSite:
    server: PostboxServer
    manager: httpx.AsyncClient
    documents: httpx.AsyncClient
    database_url: str

    async def connect_mailbox(self, address: str) -> str:
        """A new one, through the consent pages, as a user's browser goes."""
        self.server.create_account(address)
        body = {"provider": "postbox", "profile": "invoice", "access": "delegated"}
        made = await self.manager.post("/doc-sources", json=body)
        assert made.status_code == 201, made.text
        link = made.json()["authorize_url"]
        async with httpx.AsyncClient(trust_env=False) as browser:
            page = await browser.get(link)
            assert page.status_code == 200, page.text
            assert "Postbox" in page.text
            assert "https://postbox.example" in page.headers["content-security-policy"]
            sent = await browser.post(link.partition("?")[0], data={"ticket": httpx.URL(link).params["ticket"]})
            assert sent.status_code == 303, sent.text
            asked = parse_qs(urlsplit(sent.headers["location"]).query)
            answer = {"state": asked["state"][0], "code": self.server.grant_code(address)}
            done = await browser.get(asked["redirect_uri"][0], params=answer)
            assert done.status_code == 200, done.text
        return str(made.json()["id"])

    async def list_documents(self, doc_source_id: str) -> list[dict[str, Any]]:
        answer = await self.documents.get("/documents", params={"doc_source_id": doc_source_id})
        assert answer.status_code == 200, answer.text
        final = {"completed", "needs_review", "skipped", "failed"}
        return [document for document in answer.json()["items"] if document["status"] in final]

    async def has_documents(self, doc_source_id: str, count: int) -> bool:
        return len(await self.list_documents(doc_source_id)) == count

    async def count_rows(self, query: str) -> int:
        conn = await asyncpg.connect(self.database_url)
        try:
            return int(await conn.fetchval(query))
        finally:
            await conn.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def site(
    tmp_path_factory: pytest.TempPathFactory, kafka_bootstrap: str, postgres_server_url: str
) -> AsyncIterator[PostboxSite]:
    server = PostboxServer()
    async with AsyncExitStack() as stack:
        database_url = await stack.enter_async_context(create_database(postgres_server_url))
        ports = [free_port() for _ in range(4)]
        settings: dict[str, Any] = {
            "kafka_bootstrap": kafka_bootstrap,
            "kafka_replication": 1,
            "topic_prefix": f"t{secrets.token_hex(4)}.",
            "database_url": database_url,
            "blob_url": f"file://{tmp_path_factory.mktemp('blobs')}",
            "token_keys": f"k1:{b64encode(secrets.token_bytes(32)).decode()}",
            "api_keys": f"acme:admin:{sha256(KEY.encode()).hexdigest()}",
            "public_url": f"http://127.0.0.1:{ports[0]}",
            "backstop_interval_s": 2,
            "max_check_pause_s": 0.5,
            "parser_processes": 1,
        }
        await create_topics(kafka_bootstrap, settings["topic_prefix"])
        providers = (PostboxPackage(server),)
        processes: list[tuple[str, Callable[[Process], Coroutine[Any, Any, None]]]] = [
            (
                "subscription_manager",
                lambda process: subscription_manager.app.run(
                    ManagerSettings(**settings | {"http_port": ports[0]}), process, providers=providers
                ),
            ),
            (
                "sync_engine_worker",
                lambda process: sync_engine.app.worker.run(
                    SyncSettings(**settings | {"http_port": ports[1]}), process, providers=providers
                ),
            ),
            (
                "ingestion_worker",
                lambda process: ingestion.app.worker.run(
                    IngestionSettings(**settings | {"http_port": ports[2]}), process, providers=providers
                ),
            ),
            (
                "ingestion_api",
                lambda process: ingestion.app.api.run(
                    DocumentsAPISettings(**settings | {"http_port": ports[3]}), process
                ),
            ),
        ]
        for (name, compose), port in zip(processes, ports, strict=True):
            await stack.enter_async_context(run_composition(compose, Process(name), port))
        headers = {"authorization": f"Bearer {KEY}"}
        manager, documents = [
            await stack.enter_async_context(
                httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", headers=headers, trust_env=False, timeout=20)
            )
            for port in (ports[0], ports[3])
        ]
        yield PostboxSite(server, manager, documents, database_url)


@asynccontextmanager
async def create_database(server_url: str) -> AsyncIterator[str]:
    name = f"test_{secrets.token_hex(6)}"
    server = await asyncpg.connect(server_url)
    await server.execute(f"create database {name}")
    url = urlsplit(server_url)._replace(path=f"/{name}").geturl()
    try:
        await apply_migrations(url)
        yield url
    finally:
        await server.execute(f"drop database {name} with (force)")
        await server.close()


async def create_topics(kafka_bootstrap: str, prefix: str) -> None:
    names = [prefix + name for topic in TOPICS for name in (topic.name, topic.dead_letter_topic) if name]
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(name, num_partitions=1, replication_factor=1) for name in names])
    await admin.close()


@asynccontextmanager
async def run_composition(
    compose: Callable[[Process], Awaitable[None]], process: Process, port: int
) -> AsyncIterator[None]:
    running = asyncio.ensure_future(compose(process))

    async def is_ready() -> bool:
        if running.done():
            await running
        async with httpx.AsyncClient(trust_env=False) as http:
            return (await http.get(f"http://127.0.0.1:{port}/readyz")).status_code == 200

    try:
        await eventually(is_ready, 60)
        yield
    finally:
        process.stopping.set()
        await asyncio.wait_for(running, 20)


async def test_a_third_provider_is_connected_synced_and_read_to_a_document(site: PostboxSite) -> None:
    address = "ap@postbox.example"
    doc_source_id = await site.connect_mailbox(address)
    site.server.deliver_mail(address, "Invoice 17", INVOICE)
    await eventually(lambda: site.has_documents(doc_source_id, 1), 60)
    (document,) = await site.list_documents(doc_source_id)
    assert document["content_sha256"] == sha256(INVOICE.content).hexdigest()
    assert document["source_metadata"]["subject"] == "Invoice 17"


async def test_a_provider_without_push_has_no_subscription_and_the_backstop_finds_its_mail(site: PostboxSite) -> None:
    address = "billing@postbox.example"
    doc_source_id = await site.connect_mailbox(address)
    site.server.deliver_mail(address, "Invoice 1", INVOICE)
    await eventually(lambda: site.has_documents(doc_source_id, 1), 60)
    # Nobody announces this one, and its access token is too old.
    site.server.expire_access_tokens()
    second = StoredAttachment("second.pdf", "application/pdf", pdf("second"))
    site.server.deliver_mail(address, "Invoice 2", second)
    await eventually(lambda: site.has_documents(doc_source_id, 2), 60)
    shown = (await site.manager.get(f"/doc-sources/{doc_source_id}")).json()
    assert shown["connection_status"] == "active"
    subscriptions = "select count(*) from subscription_manager.subscription_state where subscription_id is not null"
    assert await site.count_rows(subscriptions) == 0
