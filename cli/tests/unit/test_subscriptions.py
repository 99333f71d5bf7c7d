"""`mailroom subscriptions bootstrap` against an API that answers as subscription-manager does."""

import json
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from mailroom_cli import subscriptions
from mailroom_cli.__main__ import app
from mailroom_cli.site_api import SiteAddress, SiteAPI

FUTURE = "2099-01-01T00:00:00Z"


def make_source(**changes: Any) -> dict[str, Any]:
    defaults = {
        "id": "ds-1",
        "provider": "outlook",
        "profile": "invoice",
        "address": "ap@example.com",
        "state": "active",
        "connection_status": "active",
        "connection_reason": None,
        "subscription_expires_at": FUTURE,
    }
    return {**defaults, **changes}


class FakeAPI:
    def __init__(self, *sources: dict[str, Any], created: dict[str, Any] | None = None) -> None:
        self.sources = list(sources)
        self.created = created
        self.calls: list[str] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.calls.append(f"{request.method} {request.url.path}")
        assert request.headers["authorization"] == "Bearer key"
        if request.method == "GET" and request.url.path == "/doc-sources":
            assert request.url.params["address"] == "AP@example.com"  # not the list of all
            return httpx.Response(200, json={"items": self.sources, "next_cursor": None})
        if request.method == "GET":
            return httpx.Response(200, json=self.sources[-1])
        assert self.created is not None
        self.sources.append(self.created)
        return httpx.Response(201, json=self.created)


@pytest.fixture
def bootstrap(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(subscriptions, "_POLL_S", 0.01)

    def bootstrap(api: FakeAPI, *arguments: str) -> tuple[int, dict[str, Any]]:
        http = httpx.Client(transport=httpx.MockTransport(api.answer))
        site = SiteAPI(SiteAddress("https://mail.example", "key"), http)
        monkeypatch.setattr(subscriptions, "open_site_api", lambda: site)
        command = ["subscriptions", "bootstrap", "--mailbox", "AP@example.com", "--json", *arguments]
        result = CliRunner().invoke(app, command)
        return result.exit_code, json.loads(result.stdout)

    return bootstrap


def test_live_subscription_is_reported_and_nothing_is_made(bootstrap: Any) -> None:
    api = FakeAPI(make_source())
    code, result = bootstrap(api)
    assert (code, result["outcome"], result["expires_at"]) == (0, "live", FUTURE)
    assert api.calls == ["GET /doc-sources"]


def test_mailbox_of_another_profile_or_provider_is_another_doc_source(bootstrap: Any) -> None:
    others = make_source(profile="observation"), make_source(provider="gmail")
    code, result = bootstrap(FakeAPI(*others, created=make_source(id="ds-2")), "--access", "application")
    assert (code, result["outcome"], result["doc_source_id"]) == (0, "created", "ds-2")


def test_delegated_mailbox_needs_a_person_and_says_where(bootstrap: Any) -> None:
    pending = make_source(state="pending", subscription_expires_at=None, authorize_url="https://mail.example/oauth")
    code, result = bootstrap(FakeAPI(created=pending))
    assert (code, result["outcome"]) == (3, "consent_required")
    assert result["authorize_url"] == "https://mail.example/oauth"


def test_pending_mailbox_gets_a_new_link_instead_of_a_second_doc_source(bootstrap: Any) -> None:
    pending = make_source(state="pending", subscription_expires_at=None)
    api = FakeAPI(pending, created={**pending, "authorize_url": "https://mail.example/oauth"})
    code, _ = bootstrap(api)
    assert code == 3
    assert api.calls == ["GET /doc-sources", "POST /doc-sources/ds-1/authorize"]


def test_subscription_that_is_not_made_in_time_is_said_with_its_reason(bootstrap: Any) -> None:
    late = make_source(subscription_expires_at=None, connection_reason="webhook_unreachable")
    code, result = bootstrap(FakeAPI(late), "--timeout", "1")
    assert (code, result["outcome"], result["reason"]) == (4, "polled", "webhook_unreachable")


def test_expired_subscription_is_not_a_live_one(bootstrap: Any) -> None:
    expired = make_source(subscription_expires_at="2020-01-01T00:00:00Z")
    code, _ = bootstrap(FakeAPI(expired), "--timeout", "1")
    assert code == 4
