"""The ledger of trades on a real database, over real HTTP: which of several documents' trades count."""

import asyncio
import re
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from ingestion_fakes import build_trade
from ingestion_processes import api_settings, as_tenant, running_api
from ingestion_site import SCHEMA, Ingestion, utc_now, wait_for_blocked_statement
from stated_trades import NOTE, claim, finish, outcome_of

from ingestion.adapters import similar_trades, trade_checks
from ingestion.adapters.trade_announcements import PgTradeAnnouncements
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.trade import ACTIVITY_STATEMENT, CONTRACT_NOTE
from mailroom_common.events import ResultStatus
from mailroom_common.outbox import Outbox

pytestmark = pytest.mark.stack

OPERATOR = as_tenant("acme", "operator")


@pytest.fixture
async def api(site: Ingestion, postgres_url: str, tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        running_api(api_settings(postgres_url, tmp_path / "blobs")) as url,
        httpx.AsyncClient(base_url=url, headers=OPERATOR, timeout=10) as client,
    ):
        yield client


async def test_a_trade_that_is_committed_later_has_changed_later(site: Ingestion) -> None:
    """Or whoever asks for what changed since the last change that it knows would never see it."""
    first, second = await claim(site, "first"), await claim(site, "second")
    async with site.pool.acquire() as conn, conn.transaction():
        # The first one's transaction has begun, and waits for its document.
        await conn.execute("select from ingestion.document where document_id = $1 for update", first.document_id)
        finishing = asyncio.create_task(site.leases.finish_document(first, outcome_of(NOTE)))
        await wait_for_blocked_statement(site.pool, "for no key update")
        other = replace(NOTE, quantity=Decimal(77), reference="R-77")
        assert await site.leases.finish_document(second, outcome_of(other))
    assert await finishing
    rows = await site.pool.fetch("select document_id from ingestion.trade order by updated_at")
    assert [row["document_id"] for row in rows] == [second.document_id, first.document_id]


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({"traded_from": "2026-04-02"}, ["4", "4", "3", "3", "2", "2"]),
        ({"traded_to": "2026-04-03"}, ["3", "3", "2", "2", "1", "1"]),
        ({"changed_since": "2026-01-01T00:00:00Z"}, ["1", "1", "2", "2", "3", "3", "4", "4"]),
        ({}, ["1", "1", "2", "2", "3", "3", "4", "4"]),
    ],
    ids=["from a day", "to a day", "changed", "all"],
)
async def test_pages_of_trades_follow_each_other_in_the_order_of_what_is_asked_for(
    site: Ingestion, api: httpx.AsyncClient, wanted: dict[str, str], expected: list[str]
) -> None:
    for day in (4, 3, 2, 1):
        trades = [replace(NOTE, trade_date=date(2026, 4, day), reference=f"R-{day}00{part}") for part in (1, 2)]
        await finish(site, f"note-{day}", outcome_of(*trades))
    found: list[str] = []
    cursor: dict[str, str] = {}
    while True:
        page = (await api.get("/trades", params={**wanted, **cursor, "limit": 3})).json()
        found += [item["trade"]["trade_date"][-1] for item in page["items"]]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert found == expected


@pytest.mark.parametrize(
    ("wanted", "other"),
    [
        ({}, {"traded_from": "2026-04-01"}),  # as an earlier release wrote a cursor of any list
        ({}, {"changed_since": "2026-01-01T00:00:00Z"}),
        ({"traded_to": "2026-04-09"}, {"changed_since": "2026-01-01T00:00:00Z"}),
        ({"changed_since": "2026-01-01T00:00:00Z"}, {"traded_to": "2026-04-09"}),
        ({"traded_to": "2026-04-09"}, {}),
    ],
)
async def test_a_cursor_of_a_list_in_another_order_is_refused_and_ends_no_list(
    site: Ingestion, api: httpx.AsyncClient, wanted: dict[str, str], other: dict[str, str]
) -> None:
    await finish(site, "note", outcome_of(NOTE, replace(NOTE, reference="R-2")))
    page = (await api.get("/trades", params={**wanted, "limit": 1})).json()
    of_other_order = await api.get("/trades", params={**other, "cursor": page["next_cursor"]})
    assert (of_other_order.status_code, "other filters" in of_other_order.text) == (422, True)


async def test_who_holds_the_ledger_does_not_wait_for_a_document_that_waits_for_the_ledger(site: Ingestion) -> None:
    note = await finish(site, "note", outcome_of(NOTE))
    await site.rereads.request_document("acme", note, "replay-1")
    reread = await site.claim_document()
    cancellation = await claim(site, "storno")
    async with site.pool.acquire() as conn, conn.transaction():
        # The cancellation is first in line for the ledger, and the note is locked while it is second.
        await conn.execute("select pg_advisory_xact_lock(hashtextextended('ingestion.trade:acme', 0))")
        finishing = []
        for lease, trade in ((cancellation, replace(NOTE, is_cancellation=True)), (reread, NOTE)):
            finishing.append(asyncio.create_task(site.leases.finish_document(lease, outcome_of(trade))))
            await wait_for_blocked_statement(site.pool, "pg_advisory_xact_lock", sessions=len(finishing))
    assert None not in await asyncio.gather(*finishing)
    assert await read_states(site) == {note: "cancelled", cancellation.document_id: "cancellation"}


async def read_states(site: Ingestion) -> dict[str, str]:
    """Of the trades of a database that has one per document, by the document."""
    rows = await site.pool.fetch("select document_id, state from ingestion.trade")
    return {row["document_id"]: row["state"] for row in rows}


async def test_a_trade_behind_more_than_are_looked_at_has_a_state_and_counts_once_a_person_says_so(
    site: Ingestion, api: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sender who states very many trades of a day must not keep a real one out of the books for ever."""
    monkeypatch.setattr(similar_trades, "_MAX_SIMILAR_READ", 2)
    monkeypatch.setattr("ingestion.domain.trade_ledger.MAX_COMPARED", 2)
    for name in ("forged", "forged too"):
        await finish(site, name, outcome_of(build_trade(isin="US0378331005", reference=name)))
    real = await finish(site, "real", outcome_of(NOTE))
    trade = (await api.get("/trades", params={"document_id": real})).json()["items"][0]
    assert trade["state"] == "possible_duplicate"
    path, version = f"/trades/{trade['id']}/decision", {"If-Match": f'"{trade["version"]}"'}
    decided = await api.post(path, json={"decision": "distinct"}, headers=version)
    assert (decided.status_code, decided.json()["state"]) == (200, "counted")


async def test_a_trade_in_two_mailboxes_counts_once_and_is_exported_once(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    note = await finish(site, "note", outcome_of(NOTE))
    copy = await finish(site, "note", outcome_of(NOTE), source="source-2")
    await finish(site, "elsewhere", outcome_of(NOTE), source="source-3", tenant="other")
    second, first = (await api.get("/trades")).json()["items"]
    assert (first["document_id"], first["state"], first["trade"]["reference"]) == (note, "counted", "R-1001")
    assert (second["document_id"], second["state"], second["duplicate_of"]) == (copy, "duplicate", first["id"])
    exported = (await api.get("/trades/export", params={"format": "jsonl"})).text.splitlines()
    assert [orjson.loads(line)["id"] for line in exported] == [first["id"]]
    table = (await api.get("/trades/export")).text.splitlines()
    assert len(table) == 2
    results = await site.results()
    marks = [orjson.loads(result.trades[0]) for result in results]
    assert [(mark["state"], mark["duplicate_of"]) for mark in marks[:2]] == [
        ("counted", None),
        ("duplicate", first["id"]),
    ]
    shown = (await api.get(f"/documents/{copy}")).json()["trades"]
    assert [(mark["id"], mark["state"], mark["duplicate_of"]) for mark in shown] == [
        (second["id"], "duplicate", first["id"])
    ]
    listed = (await api.get("/documents/export", params={"format": "jsonl"})).text.splitlines()
    assert [orjson.loads(line)["trades"][0]["state"] for line in listed] == ["duplicate", "counted"]
    events = await site.pool.fetch("select document from ingestion.document_event order by id")
    assert [event["document"]["trades"] for event in events if event["document"]["id"] == copy][-1] == shown
    whole = (await api.get(f"/trades/{second['id']}")).json()
    assert [one["id"] for one in whole["statements"]] == [first["id"], second["id"]]
    assert (await api.get(f"/trades/{first['id']}", headers=as_tenant("other"))).status_code == 404
    assert len((await api.get("/trades", headers=as_tenant("other"))).json()["items"]) == 1


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
async def test_of_two_workers_that_store_one_trade_at_once_one_counts(site: Ingestion, order: tuple[str, str]) -> None:
    leases = {name: await claim(site, name) for name in ("a", "b")}
    first, second = (leases[name] for name in order)
    async with site.pool.acquire() as conn, conn.transaction():
        # Both wait for the ledger before either has written to it; Postgres lets them go on in their order.
        await conn.execute("select pg_advisory_xact_lock(hashtextextended('ingestion.trade:acme', 0))")
        storing = [asyncio.create_task(site.leases.finish_document(first, outcome_of(NOTE)))]
        await wait_for_blocked_statement(site.pool, "pg_advisory_xact_lock")
        storing.append(asyncio.create_task(site.leases.finish_document(second, outcome_of(NOTE))))
        await asyncio.wait(storing, timeout=0.05)
    assert all(await asyncio.gather(*storing))
    states = await read_states(site)
    assert sorted(states.values()) == ["counted", "duplicate"]


async def test_what_becomes_of_a_trade_is_told_by_its_own_document(site: Ingestion) -> None:
    note = await finish(site, "note", outcome_of(NOTE))
    cancellation = build_trade(reference="R-1001", is_cancellation=True)
    await finish(site, "storno", outcome_of(cancellation, status=ResultStatus.NEEDS_REVIEW))
    assert (await read_states(site))[note] == "possibly_cancelled"
    announcements = PgTradeAnnouncements(site.pool, Outbox(SCHEMA, site.codec), utc_now)
    before = await site.document(note)
    assert await announcements.announce_next()
    assert not await announcements.announce_next()
    told = (await site.results())[-1]
    assert (told.document_id, orjson.loads(told.trades[0])["state"]) == (note, "possibly_cancelled")
    assert (await site.document(note))["result_number"] == before["result_number"] + 1
    assert await site.pool.fetchval("select count(*) from ingestion.trade_announcement") == 0


async def test_a_cancellation_that_came_first_takes_its_trade_back_once_it_is_confirmed(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    cancellation = build_trade(reference="R-1001", is_cancellation=True)
    storno = await finish(site, "storno", outcome_of(cancellation, status=ResultStatus.NEEDS_REVIEW))
    note = await finish(site, "note", outcome_of(NOTE))
    assert await read_states(site) == {storno: "cancellation", note: "possibly_cancelled"}
    confirmed = await api.post(f"/documents/{storno}/review", json={"action": "confirm"}, headers={"If-Match": '"1"'})
    assert confirmed.status_code == 200, confirmed.text
    assert await read_states(site) == {storno: "cancellation", note: "cancelled"}


async def test_a_duplicate_counts_once_the_note_that_counted_is_rejected(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    note, copy = await finish(site, "note", outcome_of(NOTE)), await finish(site, "copy", outcome_of(NOTE))
    await api.post(f"/documents/{note}/review", json={"action": "reject"}, headers={"If-Match": '"1"'})
    assert await read_states(site) == {copy: "counted"}


async def test_a_document_that_is_read_again_keeps_its_trades(site: Ingestion) -> None:
    note = await finish(site, "note", outcome_of(NOTE))
    before = await site.pool.fetchval("select trade_id from ingestion.trade")
    other = build_trade(isin="US0378331005")
    for number, trades in enumerate([(other, NOTE), (other, NOTE)]):
        assert await site.rereads.request_document("acme", note, f"r{number}")
        assert await site.leases.finish_document(await site.claim_document(), outcome_of(*trades))
    rows = await site.pool.fetch("select trade_id, position, state from ingestion.trade order by position")
    assert [(row["position"], row["state"]) for row in rows] == [(0, "counted"), (1, "counted")]
    assert rows[1]["trade_id"] == before


async def test_a_person_tells_two_trades_apart_and_the_decision_is_kept(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    unnamed = build_trade(reference=None)
    await finish(site, "note", outcome_of(unnamed))
    second = await finish(site, "second", outcome_of(unnamed))
    (doubtful,) = (await api.get("/trades", params={"state": "possible_duplicate"})).json()["items"]
    path = f"/trades/{doubtful['id']}/decision"
    decision: dict[str, Any] = {"decision": "distinct", "reviewer": "anna"}
    assert (await api.post(path, json=decision)).status_code == 428
    assert (await api.post(path, json=decision, headers={"If-Match": '"99"'})).status_code == 412
    seen = {"If-Match": f'"{doubtful["version"]}"'}
    elsewhere = await api.post(path, json=decision, headers={**as_tenant("other", "operator"), **seen})
    assert elsewhere.status_code == 404
    decided = await api.post(path, json=decision, headers=seen)
    assert (decided.status_code, decided.json()["state"]) == (200, "counted"), decided.text
    assert [one["reviewer"] for one in decided.json()["decisions"]] == ["anna"]
    third = await finish(site, "third", outcome_of(build_trade(reference=None, account="12345678")))
    assert (await read_states(site))[third] == "possible_duplicate"
    assert (await read_states(site))[second] == "counted"
    alone = await api.post(path, json=decision, headers={"If-Match": decided.headers["etag"]})
    assert alone.status_code == 409


_MANY_ALIKE = """
    insert into ingestion.trade (trade_id, tenant_id, doc_source_id, document_id, content_sha256, position, match_key,
                                 fields, is_cancellation, instrument_keys, state, is_decided)
    select n::text, 'acme', '', $1, '', n, case when n % 4 = 0 then 'alike' else 'other' end,
           jsonb_build_object('reference', 'R-' || n), false, '{}',
           case when n % 4 = 1 then 'cancellation_unmatched' else 'counted' end, n % 2 = 0
    from generate_series(1, 4000) n
"""


async def test_what_is_judged_beside_very_many_alike_trades_is_found_by_indexes(site: Ingestion) -> None:
    document = await finish(site, "note", outcome_of(NOTE))
    own = await finish(site, "own", outcome_of(replace(NOTE, quantity=Decimal(77))))
    async with site.pool.acquire() as conn, conn.transaction():
        await conn.execute(_MANY_ALIKE, document)
        await conn.execute("analyze ingestion.trade")
        later = await conn.fetch(f"explain {similar_trades._LIST_LATER}", "acme", ["alike"], own, ["4"], 10)
        named = await conn.fetch(f"explain {similar_trades._LIST_NAMED}", "acme", ["R7", "R8"], [True, False], 10)
        values = ["acme", own, ["isin:DE0008404005"], NOTE.trade_date, NOTE.trade_date, 10]
        unmatched = await conn.fetch(f"explain {trade_checks._LIST_UNMATCHED}", *values)
    plan = "\n".join(row[0] for row in later)
    assert {"trade_pkey", "trade_decided", "trade_by_document"} <= set(re.findall(r"\w+", plan)), plan
    assert "Seq Scan" not in plan, plan
    plan = "\n".join(row[0] for row in named)
    assert "trade_by_folded_reference" in plan, plan
    plan = "\n".join(row[0] for row in unmatched)
    assert "trade_unmatched" in plan, plan


def corrected(field: str, value: Any) -> DocumentOutcome:
    """A note with another reference that says that it takes the place of R-1001."""
    made = replace(NOTE, reference="R-1001-K1", **{field: value})
    taking = replace(made, reference="R-1001", is_cancellation=True, price=None, settled_amount=None, gross_amount=None)
    return outcome_of(made, taking, status=ResultStatus.NEEDS_REVIEW)


@pytest.mark.parametrize(("limit", "value"), [("_MAX_LINKED_KEYS", 1), ("_MAX_LINKED_READ", 4)])
async def test_what_was_taken_back_stays_so_where_not_all_that_numbers_lead_to_is_judged(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch, limit: str, value: int
) -> None:
    """Of a quantity and a day that thousands of trades have more are corrected than are judged at once."""
    monkeypatch.setattr(similar_trades, limit, value)
    isins = ("DE0008404005", "US0378331005", "DE0007164600")
    for place, isin in enumerate(isins):
        note = replace(NOTE, isin=isin, reference=f"R-200{place}")
        made = replace(note, quantity=Decimal(20 + place), reference=f"K-200{place}")
        taking = replace(made, reference=note.reference, is_cancellation=True, price=None, settled_amount=None)
        await finish(site, f"note {place}", outcome_of(note))
        await finish(site, f"corrected {place}", outcome_of(made, taking))
    await finish(site, "another", outcome_of(replace(NOTE, isin="DE0005140008", reference="R-3000")))
    rows = await site.pool.fetch("select state, count(*) from ingestion.trade group by state")
    assert {row["state"]: row["count"] for row in rows} == {"cancelled": 3, "cancellation": 3, "counted": 4}


async def review(api: httpx.AsyncClient, document: str, body: dict[str, Any]) -> None:
    seen = {"If-Match": (await api.get(f"/documents/{document}")).headers["etag"]}
    answer = await api.post(f"/documents/{document}/review", json=body, headers=seen)
    assert answer.status_code == 200, answer.text


async def list_states(site: Ingestion, document: str) -> list[str]:
    rows = await site.pool.fetch("select state from ingestion.trade where document_id = $1 order by position", document)
    return [row["state"] for row in rows]


async def read_reason(site: Ingestion, document: str) -> str | None:
    reason: str | None = (await site.document(document))["review_reason"]
    return reason


@pytest.mark.parametrize("is_former_first", [True, False])
async def test_a_corrected_quantity_counts_in_place_of_the_former_one_whichever_came_first(
    site: Ingestion, api: httpx.AsyncClient, is_former_first: bool
) -> None:
    outcomes = {"former": outcome_of(NOTE), "correction": corrected("quantity", Decimal(18))}
    order = list(outcomes) if is_former_first else list(outcomes)[::-1]
    ids = {name: await finish(site, name, outcomes[name]) for name in order}
    former, correction = ids["former"], ids["correction"]
    reason = ReviewReason.TRADE_CANCELLED if is_former_first else ReviewReason.CANCELLED_TRADE_NOT_FOUND
    assert await read_reason(site, correction) == reason
    assert await list_states(site, former) == ["possibly_cancelled"]
    await review(api, correction, {"action": "confirm"})
    again = await finish(site, "former", outcome_of(NOTE), source="source-2")
    assert await list_states(site, former) == ["cancelled"]
    assert await list_states(site, correction) == ["counted", "cancellation"]
    assert await list_states(site, again) == ["duplicate"]
    elsewhere = await finish(site, "elsewhere", outcome_of(NOTE), source="source-3", tenant="other")
    assert await list_states(site, elsewhere) == ["counted"]
    assert [row["trade"]["quantity"] for row in (await api.get("/trades?state=counted")).json()["items"]] == ["18"]
    await review(api, correction, {"action": "reject"})
    assert await list_states(site, former) == ["counted"]


async def test_what_a_corrected_note_takes_back_by_a_number_of_another_kind_is_named_by_a_person(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    correction = await finish(site, "correction", corrected("quantity", Decimal(18)))
    await review(api, correction, {"action": "confirm"})
    former = await finish(site, "former", outcome_of(replace(NOTE, reference="ORDER-77")))
    assert await read_reason(site, former) == ReviewReason.TRADE_MAY_BE_CANCELLED
    elsewhere = await finish(site, "other", outcome_of(replace(NOTE, reference="O-78", isin="US0378331005")))
    assert await list_states(site, elsewhere) == ["counted"]
    taking = (await api.get("/trades?state=cancellation_unmatched")).json()["items"][0]
    taken = (await api.get("/trades", params={"document_id": former})).json()["items"][0]
    decided = await api.post(
        f"/trades/{taking['id']}/decision",
        json={"decision": "same", "other_trade_id": taken["id"]},
        headers={"If-Match": f'"{taking["version"]}"'},
    )
    assert (decided.status_code, decided.json()["cancels"]) == (200, taken["id"]), decided.text
    await review(api, former, {"action": "confirm"})
    assert await list_states(site, former) == ["cancelled"]
    assert await site.pool.fetchval("select count(*) from ingestion.trade where is_decided") == 2


async def test_trades_are_found_by_what_they_are(site: Ingestion, api: httpx.AsyncClient) -> None:
    note = await finish(site, "note", outcome_of(NOTE, build_trade(isin="US0378331005")))
    for query, count in (
        ({"isin": "us0378331005"}, 1),
        ({"document_id": note}, 2),
        ({"traded_from": "2026-04-02"}, 0),
        ({"traded_to": "2026-04-01", "state": "counted"}, 2),
        ({"changed_since": "2026-01-01T00:00:00Z"}, 2),
    ):
        answer = await api.get("/trades", params=query)
        assert len(answer.json()["items"]) == count, query
    page = (await api.get("/trades", params={"limit": 1})).json()
    following = (await api.get("/trades", params={"limit": 1, "cursor": page["next_cursor"]})).json()
    assert (page["items"][0]["position"], following["items"][0]["position"]) == (1, 0)
    assert following["next_cursor"] is None


async def test_a_corrected_trade_is_another_one_in_the_ledger_and_the_evidence_is_kept(
    site: Ingestion, api: httpx.AsyncClient
) -> None:
    await finish(site, "note", outcome_of(NOTE))
    copy = await finish(site, "copy", outcome_of(build_trade(reference="R-1001", isin=None)))
    given = {
        **{name: value for name, value in NOTE.to_json().items() if value is not None},
        "quantity": "9",
        "gross_amount": "184.50",
        "settled_amount": "189.45",
    }
    body: dict[str, Any] = {"action": "correct", "fields": {"trades": [given]}, "reviewer": "anna"}
    refused = await api.post(f"/documents/{copy}/review", json=body, headers={"If-Match": '"7"'})
    assert refused.status_code == 412
    wrong = {**body, "fields": {"trades": [{**given, "isin": "DE0008404006"}]}}
    assert (await api.post(f"/documents/{copy}/review", json=wrong, headers={"If-Match": '"1"'})).status_code == 422
    corrected = await api.post(f"/documents/{copy}/review", json=body, headers={"If-Match": '"1"'})
    assert (corrected.status_code, corrected.json()["status"]) == (200, "completed"), corrected.text
    assert set((await read_states(site)).values()) == {"counted"}
    entry = (await api.get(f"/documents/{copy}/history")).json()["items"][0]
    assert [change["field"] for change in entry["changes"]] == [
        "trades.0.quantity",
        "trades.0.isin",
        "trades.0.settled_amount",
        "trades.0.gross_amount",
    ]
    # What is read later is kept beside the decision, and changes nothing in the ledger.
    assert await site.rereads.request_document("acme", copy, "r1")
    assert await site.leases.finish_document(await site.claim_document(), outcome_of(NOTE))
    assert set((await read_states(site)).values()) == {"counted"}


def sized(quantity: int, document_type: str = CONTRACT_NOTE) -> DocumentOutcome:
    trade = replace(NOTE, quantity=Decimal(quantity), reference=f"R-{quantity}-{document_type}")
    return replace(outcome_of(trade), document_type=document_type)


@pytest.mark.parametrize("statement_first", [True, False])
async def test_what_a_statement_sums_up_is_not_counted_beside_it_until_a_person_says_so(
    site: Ingestion, api: httpx.AsyncClient, statement_first: bool
) -> None:
    notes, statement = [sized(4), sized(6)], sized(10, ACTIVITY_STATEMENT)
    for number, outcome in enumerate([statement, *notes] if statement_first else [*notes, statement]):
        await finish(site, f"paper {number}", outcome)

    async def list_counted() -> list[str]:
        items = (await api.get("/trades", params={"state": "counted"})).json()["items"]
        return sorted(item["trade"]["quantity"] for item in items)

    assert await list_counted() == (["10"] if statement_first else ["4", "6"])
    waiting = (await api.get("/documents", params={"status": "needs_review"})).json()["items"]
    assert [document["review_reason"] for document in waiting] == ["trades_may_be_summed"] * (
        2 if statement_first else 1
    )
    for document in waiting:
        seen = {"If-Match": (await api.get(f"/documents/{document['id']}")).headers["etag"]}
        decision = await api.post(f"/documents/{document['id']}/review", json={"action": "confirm"}, headers=seen)
        assert decision.status_code == 200, decision.text
    assert await list_counted() == ["10", "4", "6"]


async def test_what_counts_goes_on_counting_when_it_is_read_again_beside_a_sum(site: Ingestion) -> None:
    first = await finish(site, "statement", sized(10, ACTIVITY_STATEMENT))
    for quantity in (4, 6):
        await finish(site, f"note {quantity}", sized(quantity))
    assert await site.rereads.request_document("acme", first, "replay-1")
    lease = await site.claim_document()
    again = replace(sized(10, ACTIVITY_STATEMENT), reader="trades/2")
    finished = await site.leases.finish_document(lease, again)
    assert finished is not None
    assert finished.status is ResultStatus.COMPLETED
