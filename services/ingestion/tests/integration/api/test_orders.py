"""Pending orders on a real database, over real HTTP, and the trades that executed them."""

import re
from collections.abc import AsyncIterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import pytest
from ingestion_fakes import build_record, build_trade
from ingestion_processes import api_settings, as_tenant, running_api
from ingestion_site import Ingestion

from ingestion.adapters import order_matching, orders
from ingestion.adapters.order_matching import PgOrderMatcher
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.order_matching import MatchedTrade, OrderTolerance, OrderTolerances
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.trade import CONTRACT_NOTE, Trade
from mailroom_common.events import Profile, ResultStatus

pytestmark = pytest.mark.stack

OPERATOR = as_tenant("acme", "operator")
ORDER: dict[str, Any] = {
    "external_id": "E-1",
    "direction": "buy",
    "quantity": "10",
    "isin": "DE0008404005",
    "limit_price": "21",
    "currency": "EUR",
    "ordered_on": "2026-04-01",
}
CSV = {"Content-Type": "text/csv"}
HEADER = "external_id,direction,quantity,isin,ordered_on"


@pytest.fixture
async def api(site: Ingestion, postgres_url: str, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    await site.pool.execute("delete from ingestion.pending_order; delete from ingestion.order_match_request")
    async with (
        running_api(api_settings(postgres_url, tmp_path / "blobs")) as url,
        httpx.AsyncClient(base_url=url, headers=OPERATOR, timeout=10) as client,
    ):
        yield client


async def finish(site: Ingestion, name: str, *trades: Trade, status: ResultStatus = ResultStatus.COMPLETED) -> str:
    record = build_record(name.encode(), message=name, profile=Profile.CONTRACT_NOTE)
    await site.intakes.record_attachment(record)
    outcome = DocumentOutcome(
        status=status,
        reason=None if status is ResultStatus.COMPLETED else ReviewReason.TRADE_CANCELLED,
        document_type=CONTRACT_NOTE,
        extraction={"trades": [trade.to_json() for trade in trades]},
    )
    assert await site.leases.finish_document(await site.claim_document(), outcome)
    return record.attachment_id


async def match(site: Ingestion, tolerances: OrderTolerances | None = None) -> None:
    matcher = PgOrderMatcher(site.pool, tolerances or OrderTolerances())
    while await matcher.match_next():
        pass


async def list_matches(api: httpx.AsyncClient) -> dict[str, tuple[str | None, str | None]]:
    """By the quantity of the trade: what is known of its order."""
    items = (await api.get("/trades")).json()["items"]
    return {item["trade"]["quantity"]: (item["order_match"], item["order_id"]) for item in items}


async def add_order(api: httpx.AsyncClient, **changed: Any) -> dict[str, Any]:
    answer = await api.post("/pending-orders", json={**ORDER, **changed})
    assert answer.status_code == 200, answer.text
    order: dict[str, Any] = answer.json()["order"]
    return order


@pytest.mark.parametrize("order_first", [True, False])
async def test_an_order_has_its_partial_executions_whichever_came_first(
    site: Ingestion, api: httpx.AsyncClient, order_first: bool
) -> None:
    parts = [build_trade(quantity=Decimal(quantity), gross_amount=None) for quantity in (4, 6)]
    order: dict[str, Any] = await add_order(api) if order_first else {}
    await finish(site, "note", *parts)
    if order_first:
        await match(site)
    else:
        order = await add_order(api)
    await match(site)
    assert await list_matches(api) == {"4": ("linked", order["id"]), "6": ("linked", order["id"])}
    shown = (await api.get(f"/pending-orders/{order['id']}")).json()
    assert (shown["state"], shown["executed_quantity"], len(shown["trades"])) == ("filled", "10", 2)
    linked = (await api.get("/trades", params={"order_id": order["id"]})).json()["items"]
    assert len(linked) == 2


async def test_several_orders_are_shown_and_a_person_names_one(site: Ingestion, api: httpx.AsyncClient) -> None:
    first, second = await add_order(api), await add_order(api, external_id="E-2")
    await finish(site, "note", build_trade())
    await match(site)
    (trade,) = (await api.get("/trades", params={"order_match": "ambiguous"})).json()["items"]
    assert trade["order_candidates"] == sorted([first["id"], second["id"]])
    path, seen = f"/trades/{trade['id']}/order", {"If-Match": f'"{trade["version"]}"'}
    elsewhere = {**as_tenant("other", "operator"), **seen}
    assert (await api.post(path, json={"order_id": second["id"]}, headers=elsewhere)).status_code == 404
    assert (await api.post(path, json={"order_id": trade["id"]}, headers=seen)).status_code == 409
    assert (await api.post(path, json={"order_id": second["id"]}, headers=seen)).status_code == 200
    assert (await api.post(path, json={"order_id": None}, headers=seen)).status_code == 412
    await match(site)
    assert await list_matches(api) == {"10": ("decided", second["id"])}
    assert (await api.get(f"/pending-orders/{second['id']}")).json()["state"] == "filled"


async def test_a_trade_that_is_taken_back_leaves_its_order(site: Ingestion, api: httpx.AsyncClient) -> None:
    order = await add_order(api)
    await finish(site, "note", build_trade())
    await match(site)
    await finish(site, "storno", build_trade(is_cancellation=True), status=ResultStatus.NEEDS_REVIEW)
    await match(site)
    assert (await api.get(f"/pending-orders/{order['id']}")).json()["state"] == "unmatched"
    assert await site.pool.fetchval("select count(*) from ingestion.trade where order_match is not null") == 0


async def test_a_deleted_order_and_one_of_another_security_give_their_trades_back(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    order = await add_order(api)
    await finish(site, "note", build_trade())
    await match(site)
    await add_order(api, isin="US0378331005")
    await match(site)
    assert await list_matches(api) == {"10": ("unmatched", None)}
    await add_order(api)
    await match(site)
    assert await list_matches(api) == {"10": ("linked", order["id"])}
    stranger = await api.delete(f"/pending-orders/{order['id']}", headers=as_tenant("other", "operator"))
    assert stranger.status_code == 404
    assert (await api.delete(f"/pending-orders/{order['id']}")).status_code == 200
    await match(site)
    assert await list_matches(api) == {"10": ("unmatched", None)}
    assert (await api.get("/pending-orders")).json()["items"] == []


async def test_a_security_that_cannot_be_matched_holds_up_no_other(
    site: Ingestion, api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_order(api, external_id="E-0", isin="US0378331005")
    order = await add_order(api)
    await finish(site, "note", build_trade())

    def fail_once(orders: Any, trades: Any) -> dict[str, MatchedTrade]:
        monkeypatch.undo()
        raise ArithmeticError

    monkeypatch.setattr(order_matching, "match_orders", fail_once)
    await match(site)
    assert await list_matches(api) == {"10": ("linked", order["id"])}
    assert await site.pool.fetchval("select count(*) from ingestion.order_match_request") == 0


async def test_tolerances_are_those_of_the_tenant(site: Ingestion, api: httpx.AsyncClient) -> None:
    order = await add_order(api, quantity="9.9")
    await finish(site, "note", build_trade())
    await match(site)
    assert (await list_matches(api))["10"] == ("unmatched", None)
    await add_order(api, quantity="9.91")
    await match(site, OrderTolerances({"acme": OrderTolerance(quantity_percent=Decimal(1))}))
    assert (await list_matches(api))["10"] == ("linked", order["id"])


async def test_a_file_is_stored_once_however_often_it_is_sent(site: Ingestion, api: httpx.AsyncClient) -> None:
    rows = [f"E-{number},buy,{number},DE0008404005,2026-04-01" for number in range(1, 1001)]
    file = "\n".join([HEADER, *rows])
    counts = ("created", "updated", "unchanged")
    for expected in ((1000, 0, 0), (0, 0, 1000)):
        answer = await api.post("/pending-orders", content=file, headers=CSV)
        assert tuple(answer.json()[name] for name in counts) == expected
    changed = await api.post("/pending-orders", content=file.replace("E-7,buy,7,", "E-7,sell,7,"), headers=CSV)
    assert tuple(changed.json()[name] for name in counts) == (0, 1, 999)
    assert len((await api.get("/pending-orders", params={"limit": 1000})).json()["items"]) == 1000
    assert (await api.get("/pending-orders", headers=as_tenant("other"))).json()["items"] == []
    (found,) = (await api.get("/pending-orders", params={"external_id": "E-7", "isin": "DE0008404005"})).json()["items"]
    assert found["direction"] == "sell"


async def test_of_a_file_with_a_mistake_nothing_is_stored(site: Ingestion, api: httpx.AsyncClient) -> None:
    file = f"{HEADER}\nE-1,buy,10,DE0008404005,2026-04-01\nE-2,buy,ten,DE0008404005,2026-04-01\n"
    answer = await api.post("/pending-orders", content=file, headers=CSV)
    assert (answer.status_code, len(answer.json()["errors"])) == (422, 1)
    assert (answer.json()["errors"][0]["line"], answer.json()["errors"][0]["column"]) == (3, "quantity")
    assert (await api.post("/pending-orders", content=file, headers={"Content-Type": "text/plain"})).status_code == 415
    assert (await api.post("/pending-orders", json={**ORDER, "isin": "X"})).status_code == 422
    assert (await api.post("/pending-orders", json=ORDER, headers=as_tenant("acme"))).status_code == 403
    assert (await api.get("/pending-orders")).json()["items"] == []


async def test_orders_of_one_tenant_by_the_thousand_hold_up_no_other_tenants(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    lines = [f"E-{number},buy,10,T{number},2026-04-01" for number in range(20)]
    file = "\n".join([HEADER.replace("isin", "ticker"), *lines])
    answer = await api.post("/pending-orders", content=file, headers=CSV)
    assert answer.status_code == 200, answer.text
    other = as_tenant("other", "operator")
    await api.post("/pending-orders", json=ORDER, headers=other)
    matcher = PgOrderMatcher(site.pool, OrderTolerances())
    for _ in range(2):
        assert await matcher.match_next()
    waiting = await site.pool.fetch("select distinct tenant_id from ingestion.order_match_request")
    assert [row["tenant_id"] for row in waiting] == ["acme"]


async def test_a_security_is_asked_for_once_however_many_of_its_trades_wait(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    await add_order(api)
    for name in ("one", "two", "three"):
        await finish(site, name, build_trade(reference=f"R-{name}"))
    requests = await site.pool.fetch("select direction, instrument_key from ingestion.order_match_request")
    assert len(requests) == len(set(map(tuple, requests)))


# The statements that hold the ledger of a tenant, and the indexes without which they would go through all its rows.
PLANNED: dict[str, tuple[str, tuple[Any, ...], set[str]]] = {
    "orders of a security": (
        order_matching._LIST_ORDERS,
        ("acme", "buy", ["isin:A"], 300),
        {"pending_order_by_first_key", "pending_order_by_second_key", "pending_order_by_third_key"},
    ),
    "trades of a security": (
        order_matching._LIST_TRADES,
        ("acme", "buy", ["isin:A"], 500),
        {"trade_by_first_key", "trade_by_second_key", "trade_by_third_key"},
    ),
    "next request": (order_matching._FIND_REQUEST, ("acme",), {"order_match_request_by_tenant"}),
    "requests of a security": (
        order_matching._DELETE_REQUESTS,
        ("acme", "buy", ["isin:A"]),
        {"order_match_request_by_security"},
    ),
    "trades of an order that goes": (
        orders._UNLINK_TRADES,
        (["A"], "acme"),
        {"trade_by_order", "trade_by_decided_order"},
    ),
}

MANY_TRADES = """
    insert into ingestion.trade (trade_id, tenant_id, doc_source_id, document_id, content_sha256, position, match_key,
                                 fields, is_cancellation, instrument_keys, trade_date, state)
    select n::text, 'acme', 'source-1', $1, '', n, n::text, '{"direction": "buy"}', false, array['isin:' || n],
           '2026-04-01', 'counted'
    from generate_series(1, 2000) n
"""
MANY_ORDERS = """
    insert into ingestion.pending_order (order_id, tenant_id, external_id, direction, quantity, instrument_keys,
                                         ordered_on)
    select n::text, 'acme', n::text, 'buy', 1, array['isin:' || n], '2026-04-01' from generate_series(1, 2000) n
"""
MANY_REQUESTS = """
    insert into ingestion.order_match_request (tenant_id, direction, instrument_key)
    select 'acme', 'buy', 'isin:' || n from generate_series(1, 2000) n
"""


@pytest.mark.parametrize("name", PLANNED)
async def test_no_statement_that_holds_the_ledger_goes_through_all_rows(site: Ingestion, name: str) -> None:
    statement, values, indexes = PLANNED[name]
    document_id = await finish(site, "note", build_trade())
    async with site.pool.acquire() as conn:
        filling = conn.transaction()
        await filling.start()
        await conn.execute(MANY_TRADES, document_id)
        await conn.execute(MANY_ORDERS)
        await conn.execute(MANY_REQUESTS)
        await conn.execute("analyze ingestion.trade, ingestion.pending_order, ingestion.order_match_request")
        await conn.execute("set local enable_seqscan = off")  # of few rows it would be the cheapest
        rows = await conn.fetch(f"explain {statement}", *values)
        await filling.rollback()
    plan = "\n".join(row[0] for row in rows)
    assert indexes <= set(re.findall(r"\w+", plan)), plan


async def test_of_a_security_that_is_traded_every_day_the_newest_are_looked_at(
    site: Ingestion, api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order_matching, "_MAX_TRADES", 2)
    await add_order(api)
    for day in (1, 2, 3):
        await finish(site, f"note-{day}", build_trade(trade_date=date(2026, 4, day), reference=f"R-{day}00"))
    await match(site)
    rows = await site.pool.fetch("select order_match from ingestion.trade order by trade_date")
    assert [row["order_match"] for row in rows] == [None, "ambiguous", "ambiguous"]


async def test_a_trade_that_is_corrected_to_another_security_leaves_its_order(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    order = await add_order(api)
    await finish(site, "note", build_trade())
    await match(site)
    assert (await api.get(f"/pending-orders/{order['id']}")).json()["state"] == "filled"
    document_id = await site.pool.fetchval("select document_id from ingestion.document")
    fields = {"trades": [build_trade(isin="US0378331005").to_json()]}
    body = {"action": "correct", "fields": fields, "reviewer": "anna"}
    corrected = await api.post(f"/documents/{document_id}/review", json=body, headers={"If-Match": '"1"'})
    assert corrected.status_code == 200, corrected.text
    await match(site)
    assert (await api.get(f"/pending-orders/{order['id']}")).json()["state"] == "unmatched"
    assert await list_matches(api) == {"10": ("unmatched", None)}
