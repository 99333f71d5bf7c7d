"""People who consented at the providers, for tests and benches: their tokens, and calls with them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.message import EmailMessage
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx

from mailroom_sandbox.provider_doubles.client import answer_consent_page
from mailroom_sandbox.testkit.running_providers import REDIRECT_URIS, RunningProviders

OUTLOOK = "accounts@company.example"
GMAIL = "accounts@mail.example"
READONLY = "https://www.googleapis.com/auth/gmail.readonly"


class UnexpectedStatus(AssertionError):
    """A provider answered otherwise than the test says."""


@dataclass(frozen=True, slots=True)
class MailboxUser:
    """Somebody's grant, and calls with it. `prefer` goes with each."""

    http: httpx.AsyncClient
    base_url: str
    tokens: dict[str, Any]

    async def send_request(
        self, method: str, path: str, *, prefer: str | None = None, **options: Any
    ) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.tokens['access_token']}", **options.pop("headers", {})}
        if prefer:
            headers["prefer"] = prefer
        url = path if path.startswith("https://") else f"{self.base_url}{path}"
        return await self.http.request(method, url, headers=headers, **options)

    async def get_json(self, path: str, *, prefer: str | None = None, status: int = 200) -> dict[str, Any]:
        answer = _expect_status(await self.send_request("GET", path, prefer=prefer), status)
        return dict(answer.json())

    async def post_json(
        self, path: str, body: object, *, prefer: str | None = None, status: int = 200
    ) -> dict[str, Any]:
        answer = _expect_status(await self.send_request("POST", path, prefer=prefer, json=body), status)
        return dict(answer.json()) if answer.content else {}


def build_microsoft_authorize_url(providers: RunningProviders, **changed: str) -> str:
    query = {
        "client_id": providers.settings.microsoft_client_id,
        "redirect_uri": REDIRECT_URIS[0],
        "response_type": "code",
        "scope": "openid profile offline_access User.Read Mail.Read",
        "state": "state-1",
        "nonce": "nonce-1",
        "login_hint": OUTLOOK,
        **changed,
    }
    return f"{providers.at.authority}/common/oauth2/v2.0/authorize?{urlencode(query)}"


def build_google_authorize_url(providers: RunningProviders, **changed: str) -> str:
    query = {
        "client_id": providers.settings.google_client_id,
        "redirect_uri": REDIRECT_URIS[1],
        "response_type": "code",
        "scope": f"openid email {READONLY}",
        "state": "state-1",
        "access_type": "offline",
        "prompt": "consent",
        "login_hint": GMAIL,
        **changed,
    }
    return f"{providers.at.google_authorize_url}?{urlencode(query)}"


async def obtain_code(providers: RunningProviders, page: str, **choice: Any) -> str:
    return parse_qs(urlsplit(await answer_consent_page(providers.http, page, **choice)).query)["code"][0]


async def request_microsoft_token(providers: RunningProviders, tenant: str = "common", **fields: str) -> httpx.Response:
    form = {
        "client_id": providers.settings.microsoft_client_id,
        "client_secret": providers.settings.microsoft_client_secret.get_secret_value(),
        "redirect_uri": REDIRECT_URIS[0],
        **fields,
    }
    return await providers.http.post(f"{providers.at.authority}/{tenant}/oauth2/v2.0/token", data=form)


async def request_google_token(providers: RunningProviders, **fields: str) -> httpx.Response:
    form = {
        "client_id": providers.settings.google_client_id,
        "client_secret": providers.settings.google_client_secret.get_secret_value(),
        "redirect_uri": REDIRECT_URIS[1],
        **fields,
    }
    return await providers.http.post(providers.at.google_token_url, data=form)


async def sign_in_outlook_user(providers: RunningProviders, **changed: str) -> MailboxUser:
    code = await obtain_code(providers, build_microsoft_authorize_url(providers, **changed))
    answer = _expect_status(await request_microsoft_token(providers, grant_type="authorization_code", code=code), 200)
    return MailboxUser(providers.http, providers.at.graph_url, answer.json())


async def sign_in_gmail_user(providers: RunningProviders, **changed: str) -> MailboxUser:
    code = await obtain_code(providers, build_google_authorize_url(providers, **changed))
    answer = _expect_status(await request_google_token(providers, grant_type="authorization_code", code=code), 200)
    return MailboxUser(providers.http, f"{providers.at.gmail_url}/gmail/v1/users/me", answer.json())


def build_mail(
    subject: str = "Invoice", *, files: Sequence[tuple[str, bytes]] = (), body: str = "See attachment."
) -> bytes:
    """A mail with pdf attachments."""
    message = EmailMessage()
    message["From"] = "Billing <billing@supplier.example>"
    message["To"] = OUTLOOK
    message["Subject"] = subject
    message["Date"] = "Mon, 02 Nov 2026 09:00:00 +0000"
    message["Message-ID"] = f"<{hashlib.sha256(subject.encode()).hexdigest()[:16]}@supplier.example>"
    message.set_content(body)
    for name, content in files:
        message.add_attachment(content, maintype="application", subtype="pdf", filename=name)
    return message.as_bytes()


def days_from_now(days: float) -> str:
    return (datetime.now(UTC) + timedelta(days=days)).isoformat()


def _expect_status(answer: httpx.Response, status: int) -> httpx.Response:
    if answer.status_code != status:
        raise UnexpectedStatus(f"{answer.status_code} instead of {status}: {answer.text}")
    return answer
