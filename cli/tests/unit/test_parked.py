"""`mailroom parked`: what is shown, and what is asked of the API."""

import json
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from mailroom_cli import parked
from mailroom_cli.__main__ import app
from mailroom_cli.site_api import SiteAddress, SiteAPI

ID = "0b8f0f4e-6a7c-4a53-9d53-0f6f2c1f9c11"
ITEM = {
    "reason": "crashed",
    "attempts": 5,
    "next_attempt_at": "2026-11-29T12:00:00Z",
    "doc_source_id": ID,
    "message_id": "m1",
    "part_path": None,
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str, Any]]:
    made: list[tuple[str, str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content) if request.content else dict(request.url.params)
        made.append((request.method, request.url.path, body))
        if request.method == "POST":
            return httpx.Response(200, json={"messages": 2, "parts": 7})
        items = [{"id": ID, "address": "ap@company.example"}] if request.url.path == "/doc-sources" else [ITEM]
        return httpx.Response(200, json={"items": items, "next_cursor": None})

    def open_api() -> SiteAPI:
        return SiteAPI(SiteAddress("http://site", "key"), httpx.Client(transport=httpx.MockTransport(answer)))

    monkeypatch.setattr(parked, "open_site_api", open_api)
    return made


def test_a_reason_is_tried_again_over_all_sources(calls: list[tuple[str, str, Any]]) -> None:
    result = CliRunner().invoke(app, ["parked", "retry", "--reason", "crashed"])
    assert calls == [("POST", "/parked-items/retry", {"reason": "crashed"})]
    assert "2 messages and 7 parts" in result.output


def test_a_reason_is_tried_again_for_one_source(calls: list[tuple[str, str, Any]]) -> None:
    CliRunner().invoke(app, ["parked", "retry", "--reason", "gone", "--source", "ap@company.example"])
    assert calls[-1] == ("POST", "/parked-items/retry", {"reason": "gone", "doc_source_id": ID})


def test_what_is_parked_is_listed_with_its_reason(calls: list[tuple[str, str, Any]]) -> None:
    result = CliRunner().invoke(app, ["parked", "list"])
    assert "crashed" in result.output
    assert calls == [("GET", "/parked-items", {"limit": "200"})]
