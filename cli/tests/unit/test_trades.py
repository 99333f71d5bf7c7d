"""`mailroom trades`: what is shown, and what is asked of the API."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from fake_site_api import answer_calls
from typer.testing import CliRunner

from mailroom_cli import trades
from mailroom_cli.__main__ import app

ID, OTHER = "2f4b1c52-6d2f-4d0e-9a55-0a3f6f7f6a11", "0f6b0a3e-35a8-4f0c-8c0e-6f0a86a5c9d4"
FIELDS = ("trade_date", "direction", "quantity", "isin", "wkn", "ticker", "security_name", "price", "currency")
TRADE: dict[str, Any] = {
    "id": ID,
    "state": "possible_duplicate",
    "duplicate_of": OTHER,
    "cancels": None,
    "cancelled_by": None,
    "version": 4,
    "trade": {**dict.fromkeys(FIELDS), "wkn": "840400", "settled_amount": "209.95", "currency": "EUR"},
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[httpx.Request]:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/trades/export":
            return httpx.Response(200, content=b"id\r\n")
        if request.url.path == "/trades":
            return httpx.Response(200, json={"items": [TRADE], "next_cursor": None})
        return httpx.Response(200, json=TRADE)

    return answer_calls(monkeypatch, answer, trades)


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["trades", *arguments])


def test_trades_are_listed_with_what_they_are_held_against(calls: list[httpx.Request]) -> None:
    result = run("list", "--state", "possible_duplicate")
    assert dict(calls[0].url.params) == {"limit": "200", "state": "possible_duplicate"}
    assert all(shown in result.output for shown in (OTHER, "840400", "209.95 EUR"))
    assert json.loads(run("list", "--json").output)[0]["id"] == ID


def test_a_cancellation_without_an_amount_is_listed_without_a_currency(
    calls: list[httpx.Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TRADE["trade"], "settled_amount", None)
    assert "EUR" not in run("list").output


def test_a_decision_names_the_version_that_was_seen(calls: list[httpx.Request]) -> None:
    assert run("decide", ID, "distinct", "--comment", "two orders").exit_code == 0
    assert [(call.method, call.headers.get("if-match")) for call in calls] == [("GET", None), ("POST", '"4"')]
    assert json.loads(calls[-1].content) == {"decision": "distinct", "comment": "two orders"}
    run("decide", ID, "same", "--other", OTHER, "--version", "2")
    assert calls[-1].headers["if-match"] == '"2"'
    assert json.loads(calls[-1].content) == {"decision": "same", "other_trade_id": OTHER}


def test_what_counts_is_exported(calls: list[httpx.Request], tmp_path: Path) -> None:
    assert run("export").stdout_bytes == b"id\r\n"
    run("export", "--state", "cancelled", "--format", "jsonl", "-o", str(tmp_path / "cancelled.jsonl"))
    assert (tmp_path / "cancelled.jsonl").read_bytes() == b"id\r\n"
    assert [dict(call.url.params) for call in calls] == [{"format": "csv"}, {"format": "jsonl", "state": "cancelled"}]
