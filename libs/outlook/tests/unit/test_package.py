from typing import Any

import httpx
import pytest

from mailroom_common.budgets.allocations import LocalBudgets
from mailroom_common.events import Access
from mailroom_common.providers.ports import ClientContext
from mailroom_common.settings import TLSSettings
from mailroom_outlook import PACKAGE


@pytest.fixture
def context(http: httpx.AsyncClient, tokens: Any) -> ClientContext:
    return ClientContext(
        http=http, tls=TLSSettings(), tokens=tokens, count_sharers=lambda _mailbox: 1, budgets=LocalBudgets()
    )


@pytest.fixture
def _client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAILROOM_MICROSOFT_CLIENT_ID", "client-1")
    monkeypatch.setenv("MAILROOM_MICROSOFT_CLIENT_SECRET", "secret-canary")


@pytest.mark.parametrize("access", list(Access))
def test_without_its_client_a_provider_is_absent_and_says_what_it_wants(
    monkeypatch: pytest.MonkeyPatch, context: ClientContext, access: Access
) -> None:
    monkeypatch.delenv("MAILROOM_MICROSOFT_CLIENT_ID", raising=False)
    monkeypatch.delenv("MAILROOM_MICROSOFT_CLIENT_SECRET", raising=False)
    assert "MAILROOM_MICROSOFT_CLIENT_SECRET" in str(PACKAGE.missing_settings(access))
    clients = PACKAGE.open_clients(context)
    assert (clients.mail, clients.push, clients.consent, clients.application_tokens) == (None, None, None, None)


@pytest.mark.usefixtures("_client")
def test_with_its_client_all_of_it_is_there(context: ClientContext) -> None:
    assert PACKAGE.missing_settings(Access.APPLICATION) is None
    clients = PACKAGE.open_clients(context)
    assert clients.mail is not None
    assert clients.push is not None
    assert clients.consent is not None
    assert clients.consent.page_origin == "https://login.microsoftonline.com"
    assert clients.application_tokens is not None
    assert clients.mail.traits is PACKAGE.traits
