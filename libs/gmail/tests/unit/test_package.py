from typing import Any

import httpx
import orjson
import pytest

from mailroom_common.budgets.allocations import LocalBudgets
from mailroom_common.events import Access
from mailroom_common.providers.ports import ClientContext
from mailroom_common.settings import TLSSettings
from mailroom_gmail import PACKAGE

KEY = orjson.dumps({"client_email": "sa@p.example", "private_key": "pem", "private_key_id": "kid-1"}).decode()


@pytest.fixture
def context(http: httpx.AsyncClient, tokens: Any) -> ClientContext:
    return ClientContext(
        http=http, tls=TLSSettings(), tokens=tokens, count_sharers=lambda _mailbox: 1, budgets=LocalBudgets()
    )


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_CLIENT_ID", "GOOGLE_CLIENT_SECRET", "GOOGLE_SERVICE_ACCOUNT_KEY", "PUBSUB_TOPIC"):
        monkeypatch.delenv(f"MAILROOM_{name}", raising=False)


def test_all_that_is_missing_is_named_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert PACKAGE.missing_settings(Access.DELEGATED) == (
        "MAILROOM_GOOGLE_CLIENT_ID and MAILROOM_GOOGLE_CLIENT_SECRET are not set. MAILROOM_PUBSUB_TOPIC is not set."
    )
    monkeypatch.setenv("MAILROOM_PUBSUB_TOPIC", "projects/p/topics/mail")
    assert "MAILROOM_GOOGLE_CLIENT_SECRET" in str(PACKAGE.missing_settings(Access.DELEGATED))
    assert "MAILROOM_GOOGLE_SERVICE_ACCOUNT_KEY" in str(PACKAGE.missing_settings(Access.APPLICATION))
    monkeypatch.setenv("MAILROOM_GOOGLE_SERVICE_ACCOUNT_KEY", KEY)
    assert PACKAGE.missing_settings(Access.APPLICATION) is None


def test_nothing_set_is_a_provider_that_is_absent(context: ClientContext) -> None:
    clients = PACKAGE.open_clients(context)
    assert (clients.mail, clients.push, clients.consent, clients.application_tokens) == (None, None, None, None)


def test_a_service_account_alone_gives_mailboxes_and_no_consent(
    monkeypatch: pytest.MonkeyPatch, context: ClientContext
) -> None:
    monkeypatch.setenv("MAILROOM_GOOGLE_SERVICE_ACCOUNT_KEY", KEY)
    clients = PACKAGE.open_clients(context)
    assert clients.mail is not None
    assert clients.application_tokens is not None
    assert clients.consent is None


def test_a_client_alone_gives_consent_and_no_application_access(
    monkeypatch: pytest.MonkeyPatch, context: ClientContext
) -> None:
    monkeypatch.setenv("MAILROOM_GOOGLE_CLIENT_ID", "client-1")
    monkeypatch.setenv("MAILROOM_GOOGLE_CLIENT_SECRET", "secret-canary")
    clients = PACKAGE.open_clients(context)
    assert clients.consent is not None
    assert clients.consent.page_origin == "https://accounts.google.com"
    assert clients.application_tokens is None
