"""`mailroom orders`: what is shown, and what is asked of the API."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from fake_site_api import answer_calls
from typer.testing import CliRunner

from mailroom_cli import orders
from mailroom_cli.__main__ import app
from mailroom_common.errors import Rejected

ORDER_ID, TRADE_ID = "5a3c2f0e-9b7d-4c55-8c1e-2f9d6b1a7e42", "2f4b1c52-6d2f-4d0e-9a55-0a3f6f7f6a11"
ORDER: dict[str, Any] = {
    "id": ORDER_ID,
    "external_id": "2026-1187",
    "state": "partial",
    "ordered_on": "2026-04-01",
    "direction": "buy",
    "quantity": "10",
    "executed_quantity": "4",
    "isin": "DE0008404005",
    "wkn": None,
    "ticker": None,
    "limit_price": "21",
    "currency": "EUR",
    "trades": [TRADE_ID],
}
FIELDS = ("trade_date", "direction", "quantity", "isin", "wkn", "ticker", "security_name", "price")
TRADE = {
    "id": TRADE_ID,
    "order_match": "ambiguous",
    "order_candidates": [ORDER_ID],
    "version": 4,
    "trade": {**dict.fromkeys(FIELDS), "security_name": "ALLIANZ SE"},
}
REFUSED = {
    "title": "The file has lines that are no orders",
    "errors": [{"loc": ["body", "line 3", "quantity"], "msg": "is no number", "line": 3, "column": "quantity"}],
}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[httpx.Request]:
    def answer(request: httpx.Request) -> httpx.Response:
        path = request.url.path
        if request.content == b"wrong":
            return httpx.Response(422, json=REFUSED)
        if (request.method, path) == ("POST", "/pending-orders"):
            return httpx.Response(200, json={"created": 1, "updated": 2, "unchanged": 3, "order": None})
        if path in ("/pending-orders", "/trades"):
            return httpx.Response(200, json={"items": [ORDER if "order" in path else TRADE], "next_cursor": None})
        return httpx.Response(200, json=TRADE if path.startswith("/trades") else ORDER)

    return answer_calls(monkeypatch, answer, orders)


def run(*arguments: str, **given: Any) -> Any:
    return CliRunner().invoke(app, ["orders", *arguments], **given)


def test_a_file_is_sent_as_it_is_and_its_mistakes_are_named(calls: list[httpx.Request], tmp_path: Path) -> None:
    (tmp_path / "orders.csv").write_bytes(b"external_id\n")
    assert run("import", str(tmp_path / "orders.csv")).output == "1 new, 2 changed, 3 unchanged\n"
    assert (calls[0].content, calls[0].headers["content-type"]) == (b"external_id\n", "text/csv")
    assert json.loads(run("import", "-", "--json", input="external_id\n").output)["created"] == 1
    refused = run("import", "-", input="wrong").exception
    assert isinstance(refused, Rejected)
    assert "line 3.quantity: is no number" in str(refused)
    (tmp_path / "orders.csv").write_bytes(b"wrong")
    assert str(run("import", str(tmp_path / "orders.csv")).exception).startswith(f"{tmp_path}/orders.csv: ")


def test_orders_are_listed_and_shown(calls: list[httpx.Request]) -> None:
    assert all(shown in run("list", "--state", "partial").output for shown in ("2026-1187", "21 EUR", "DE0008404005"))
    assert dict(calls[0].url.params) == {"limit": "200", "state": "partial"}
    assert json.loads(run("list", "--json").output)[0]["id"] == ORDER_ID
    assert json.loads(run("show", ORDER_ID).output)["trades"] == [TRADE_ID]


def test_what_has_no_counterpart_is_shown_from_both_sides(calls: list[httpx.Request]) -> None:
    output = run("unmatched").output
    assert all(shown in output for shown in ("2026-1187", "ALLIANZ SE", TRADE_ID))
    asked = [call.url.params.get("order_match") or call.url.params.get("state") for call in calls]
    assert asked == ["unmatched", "unmatched", "ambiguous"]
    assert len(json.loads(run("unmatched", "--json").output)["trades"]) == 2


def test_a_person_links_a_trade_or_leaves_it_to_the_rules(calls: list[httpx.Request]) -> None:
    assert run("link", TRADE_ID, ORDER_ID).exit_code == 0
    assert (calls[-1].url.path, calls[-1].headers["if-match"]) == (f"/trades/{TRADE_ID}/order", '"4"')
    assert json.loads(calls[-1].content) == {"order_id": ORDER_ID}
    withdrawn = run("link", TRADE_ID, "--by-rules", "--version", "2")
    assert withdrawn.stdout.startswith("the decision is withdrawn, and the rules look for the order; version ")
    assert (json.loads(calls[-1].content), calls[-1].headers["if-match"]) == ({"order_id": None}, '"2"')
    assert run("link", TRADE_ID).exit_code != 0


def test_a_deleted_order_is_named(calls: list[httpx.Request]) -> None:
    assert run("delete", ORDER_ID).output == "2026-1187 is deleted; it had 1 trades\n"
    assert calls[0].method == "DELETE"


def test_a_script_gets_all_that_is_unmatched_and_a_person_the_newest(
    calls: list[httpx.Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(orders, "MAX_LISTED", 1)
    assert "The newest 1 are shown" in run("unmatched").stderr
    assert run("unmatched", "--json").stderr == ""
    assert [call.url.params["limit"] for call in calls] == ["1"] * 3 + ["200"] * 3


def test_a_file_that_is_not_there_is_named_before_any_call(calls: list[httpx.Request]) -> None:
    result = run("import", "none.csv")
    assert (result.exit_code, calls) == (2, [])
    assert "No such file" in result.stderr
