"""`mailroom parked`: what is shown, and what is asked of the API."""

import json
from typing import Any

import httpx
import pytest
from fake_site_api import answer_calls
from typer.testing import CliRunner

from mailroom_cli import parked
from mailroom_cli.__main__ import app

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

    answer_calls(monkeypatch, answer, parked)
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
