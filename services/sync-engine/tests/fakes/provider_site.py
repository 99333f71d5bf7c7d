"""The sync engine with the real provider clients, over HTTP, at the sandbox's providers: one mailbox."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from fake_mailbox import PDF, FakeClock
from sync_harness import Engine, doc_source, open_engine

from mailroom_common.events import Profile, SyncReason
from mailroom_common.providers.http import BaseURL, open_client
from mailroom_common.providers.quota import Quota
from mailroom_common.providers.types import Mailbox
from mailroom_common.settings import ProviderSettings, load_settings
from mailroom_gmail.mail import GmailMail
from mailroom_gmail.settings import GmailSettings
from mailroom_outlook.mail import GraphMail
from mailroom_outlook.settings import OutlookSettings
from mailroom_sandbox.testkit.mailbox_users import GMAIL, OUTLOOK, sign_in_gmail_user, sign_in_outlook_user
from mailroom_sandbox.testkit.running_providers import RunningProviders, running_providers


@dataclass(frozen=True, slots=True)
class OneToken:
    access_token: str

    async def get_access_token(self, mailbox: Mailbox, *, rejected: str | None = None) -> str:
        return self.access_token


class RealClock(FakeClock):
    def __call__(self) -> datetime:
        return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Site:
    sandbox: RunningProviders
    engine: Engine
    http: httpx.AsyncClient
    scopes: Mapping[str, str]
    requests: list[httpx.URL] = field(default_factory=list)

    async def read_mailbox(self, address: str) -> None:
        """Makes the mailbox, signs its user in, and has the engine sync it as a doc source of its own."""
        provider = self.engine.source.provider
        await self.sandbox.control.find_or_create_mailbox(provider, address, "Ada Accounts")
        sign_in = sign_in_outlook_user if provider == "outlook" else sign_in_gmail_user
        person = await sign_in(self.sandbox, login_hint=address, **self.scopes)
        self.engine.source = replace(self.engine.source, doc_source_id=str(uuid4()), address=address)
        token = OneToken(person.tokens["access_token"])
        if provider == "outlook":
            url = BaseURL(load_settings(OutlookSettings).graph_url)
            self.engine.provider = GraphMail(self.http, url, token, Quota(slots=4))
        else:
            url = BaseURL(load_settings(GmailSettings).gmail_url)
            self.engine.provider = GmailMail(self.http, url, token, Quota(slots=8))

    async def record_request(self, request: httpx.Request) -> None:
        """With the query, which says what is asked for, and which the providers do not log."""
        self.requests.append(request.url)

    @property
    def address(self) -> str:
        return self.engine.source.address or ""

    async def deliver(
        self,
        subject: str = "Invoice 17",
        *,
        folder: str | None = None,
        is_inline: bool = False,
        files: int = 1,
    ) -> str:
        mail = EmailMessage()
        mail["From"], mail["To"], mail["Subject"] = "billing@supplier.example", self.address, subject
        mail["Message-ID"] = f"<{uuid4()}@supplier.example>"
        mail.set_content("The document is attached.")
        disposition = "inline" if is_inline else "attachment"
        for number in range(files):
            name = f"invoice-{number}.pdf"
            mail.add_attachment(PDF, "application", "pdf", filename=name, disposition=disposition)
        (message_id,) = await self.sandbox.control.deliver_mail(mail.as_bytes(), self.address, folder=folder)
        return message_id

    async def calls_of(self, *reasons: SyncReason) -> list[str]:
        """The run's calls, each by the last piece of its path."""
        await self.sandbox.control.forget_calls()
        await self.engine.complete_run(*reasons)
        return [str(call["path"]).rpartition("/")[2] for call in await self.sandbox.control.list_calls(self.address)]


_OBSERVATION_SCOPES = {
    "outlook": "openid profile offline_access User.Read Mail.ReadBasic",
    "gmail": "openid email https://www.googleapis.com/auth/gmail.metadata",
}


@asynccontextmanager
async def open_site(
    provider: str, profile: Profile, postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Site]:
    source = replace(
        doc_source(provider, profile),
        provider_user_id=None,
        start_at=datetime.now(UTC) - timedelta(minutes=5),
    )
    scopes = {"scope": _OBSERVATION_SCOPES[provider]} if profile is Profile.OBSERVATION else {}
    async with running_providers(tmp_path / "providers") as sandbox:
        for name, value in sandbox.mailroom_environment().items():
            monkeypatch.setenv(name, value)
        settings = load_settings(ProviderSettings)
        async with (
            open_client(settings, timeout_s=20) as http,
            open_engine(postgres_url, tmp_path / "blobs", source, clock=RealClock()) as engine,
        ):
            site = Site(sandbox, engine, http, scopes)
            http.event_hooks["request"].append(site.record_request)
            await site.read_mailbox(OUTLOOK if provider == "outlook" else GMAIL)
            yield site
