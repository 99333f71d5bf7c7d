from pathlib import Path

import pytest

from mailroom_sandbox.site import environment
from mailroom_sandbox.site.endpoints import Endpoints
from mailroom_sandbox.site.lifecycle import SitePlan
from mailroom_sandbox.site.site_summary import describe_site, is_loopback
from mailroom_sandbox.site.stack.ca import Certificates
from mailroom_sandbox.site.stack.home import Home

PORTS = dict(zip(environment.PORT_NAMES, range(20_000, 20_100), strict=False))


def describe(tmp_path: Path, public: str = "https://127.0.0.1:20003", **given: str) -> dict[str, str]:
    plan = SitePlan(Home(tmp_path), given, PORTS, Certificates(tmp_path, tmp_path))
    endpoints = Endpoints("k", "d", public, "g", "s", "y", "i", None if "MAILROOM_API_KEYS" in given else "key", {})
    return dict(describe_site(plan, endpoints))


def test_what_is_not_set_up_names_its_variables_and_its_page(tmp_path: Path) -> None:
    lines = describe(tmp_path)
    assert "MAILROOM_MICROSOFT_CLIENT_ID" in lines["Outlook"]
    assert "docs/connect-microsoft.md" in lines["Outlook"]
    assert "is not set up" in lines["Gmail"]


def test_what_is_set_up_names_the_address_to_register(tmp_path: Path) -> None:
    client = {"MAILROOM_MICROSOFT_CLIENT_ID": "id", "MAILROOM_MICROSOFT_CLIENT_SECRET": "canary"}
    lines = describe(tmp_path, "https://mail.example", MAILROOM_PUBLIC_URL="https://mail.example", **client)
    assert "https://mail.example/oauth/outlook/callback" in lines["Outlook"]
    assert lines["webhooks"].startswith("providers call https://mail.example/webhooks/outlook")
    assert lines["connect"].startswith(".venv/bin/mailroom sources connect outlook")
    assert "canary" not in " ".join(lines.values())


def test_loopback_address_is_said_to_get_no_webhook(tmp_path: Path) -> None:
    assert "no provider reaches https://127.0.0.1:20003" in describe(tmp_path)["webhooks"]


def test_key_is_located_and_never_printed(tmp_path: Path) -> None:
    assert "endpoints.json" in describe(tmp_path)["API key"]
    assert "MAILROOM_API_KEY" in describe(tmp_path, MAILROOM_API_KEYS="t:admin:00")["API key"]


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://localhost:1", True),
        ("https://[::1]/", True),
        ("https://mail.localhost", True),
        ("https://10.0.0.1", False),
        ("https://mail.example", False),
    ],
)
def test_loopback_is_recognised(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected
