"""A whole site with the sandbox's providers, for tests that follow a mail from a provider to a document."""

import asyncio
import ssl
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.message import EmailMessage
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import httpx

from mailroom_common.errors import Unavailable
from mailroom_sandbox.provider_doubles.client import ControlClient
from mailroom_sandbox.site.demo.api import MailroomAPI
from mailroom_sandbox.site.demo.connect import ensure_mailbox_connected
from mailroom_sandbox.site.demo.mails import SAMPLES
from mailroom_sandbox.site.stack import ca
from mailroom_sandbox.site.stack.home import read_json
from mailroom_sandbox.site.stack.kafka_security import (
    ADMIN,
    BrokerSecurity,
    ClusterAccess,
    find_broker_security,
)
from mailroom_sandbox.testkit.site_harness import SiteHarness, site_harness

PROVIDERS = ("outlook", "gmail")
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
FINAL = {"completed", "needs_review", "skipped", "failed"}


@dataclass(frozen=True, slots=True)
class Site:
    """`trusted` is what a client of the reverse proxy needs; `http` calls it with the site's own key."""

    running: SiteHarness
    api: MailroomAPI
    control: ControlClient
    trusted: ssl.SSLContext
    http: httpx.AsyncClient

    def kafka_access(self, user: str = ADMIN) -> ClusterAccess:
        """Of a secured site."""
        return ClusterAccess(self.running.endpoints.kafka, self._broker_security.build_client_security(user))

    def admin_environment(self) -> dict[str, str]:
        """What `mailroom` commands need at the Kafka of a secured site."""
        return {
            "MAILROOM_KAFKA_BOOTSTRAP": self.running.endpoints.kafka,
            **self._broker_security.build_client_environment(ADMIN),
        }

    @property
    def _broker_security(self) -> BrokerSecurity:
        home = self.running.home
        return find_broker_security(home, ca.load_or_create_certificates(home.tls))

    async def connect(self, provider: str, address: str | None = None, *, profile: str = "invoice") -> tuple[str, str]:
        """A mailbox, connected through its pages: (address, doc source). A new one unless an address is given."""
        if address is None:
            address = f"{uuid.uuid4().hex[:12]}@{provider}.test"
            await self.control.find_or_create_mailbox(provider, address)
        return address, await ensure_mailbox_connected(self.api, provider, address, self.trusted, profile=profile)

    async def documents(self, doc_source_id: str) -> list[dict[str, Any]]:
        """The documents that have come to their end."""
        found = await self.api.list_items("/documents", doc_source_id=doc_source_id)
        return [document for document in found if document["status"] in FINAL]

    async def messages(self, doc_source_id: str) -> list[dict[str, Any]]:
        return await self.api.list_items("/messages", doc_source_id=doc_source_id)

    async def settled(self, doc_source_id: str, *, documents: int, messages: int, within_s: float = 60) -> None:
        """Wait until so many documents are final and so many messages closed; there are no more than that."""

        async def are_there() -> bool:
            closed = [one for one in await self.messages(doc_source_id) if one["state"] == "closed"]
            return len(closed) >= messages and len(await self.documents(doc_source_id)) >= documents

        await eventually(are_there, within_s)
        assert len(await self.documents(doc_source_id)) == documents
        assert len(await self.messages(doc_source_id)) == messages


@asynccontextmanager
async def whole_site(home: Path, *options: str, environment: Mapping[str, str] = NO_SETTINGS) -> AsyncIterator[Site]:
    """`options` are those of `mailroom-sandbox up`, `environment` has settings of its services."""
    async with site_harness(home, "up", *options, environment=environment) as running:
        trusted = ca.load_or_create_certificates(running.home.tls).client_context()
        control = f"http://127.0.0.1:{read_json(running.home.ports, {})['sandbox_control']}"
        endpoints = running.endpoints
        assert endpoints.api_key is not None
        headers = {"Authorization": f"Bearer {endpoints.api_key}"}
        async with (
            MailroomAPI(endpoints.public, endpoints.api_key, trusted) as api,
            ControlClient(control) as sandbox,
            httpx.AsyncClient(base_url=endpoints.public, verify=trusted, trust_env=False, headers=headers) as http,
        ):
            yield Site(running, api, sandbox, trusted, http)


def mail(*pdfs: bytes, photographs: Sequence[bytes] = (), subject: str = "Invoice") -> bytes:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = "Billing <billing@acme.example>", "ap@contoso.example", subject
    made["Message-ID"] = f"<{uuid.uuid4()}@acme.example>"
    made["Date"] = "Sat, 28 Nov 2026 09:00:00 +0000"
    made.set_content("Please find the invoice attached.")
    for number, pdf in enumerate(pdfs):
        made.add_attachment(pdf, maintype="application", subtype="pdf", filename=f"invoice-{number}.pdf")
    for number, jpeg in enumerate(photographs):
        made.add_attachment(jpeg, maintype="image", subtype="jpeg", filename=f"IMG-{number}.jpg")
    return made.as_bytes()


def pdf(text: str) -> bytes:
    """The same page with other bytes: readers pass over a trailing comment."""
    return _sample_pdf() + b"\n%" + text.encode()


@cache
def _sample_pdf() -> bytes:
    source = message_from_bytes((SAMPLES / "attached-pdf.eml").read_bytes(), policy=policy.default)
    (attached,) = source.iter_attachments()
    content = attached.get_content()
    assert isinstance(content, bytes)
    return content


async def eventually(holds: Callable[[], Awaitable[bool]], within_s: float = 60) -> None:
    """A service that is away, as one that was killed is for a moment, says "not yet"."""

    async def holds_now() -> bool:
        try:
            return await holds()
        except (Unavailable, httpx.TransportError):
            return False

    async with asyncio.timeout(within_s):
        while not await holds_now():  # noqa: ASYNC110  # what it waits for happens in other processes
            await asyncio.sleep(0.2)
