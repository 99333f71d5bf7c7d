"""What Postgres finds trades by, held against the rules of the domain."""

import random
import threading
from dataclasses import replace
from decimal import Decimal
from typing import Any

import asyncpg
import pytest
from ingestion_site import SCHEMA, Ingestion
from stated_trades import NOTE, finish, outcome_of

from ingestion.adapters import similar_trades
from ingestion.adapters.similar_trades import FOLDED_REFERENCE
from ingestion.domain.trade import ACTIVITY_STATEMENT, read_stored_trade
from ingestion.domain.trade_matching import build_match_key, compact_text
from mailroom_common.migrations import bundled_migrations

pytestmark = pytest.mark.stack

# Letters that become others, or more, as capitals or in another language; and what joins letters.
_ODD_LETTERS = "ßẞſıİŉǰΐﬁﬀﬃﬆŁłÅåÆæÐđØøœŒςσΣΩΩKkKÅµⓐⒶａＡ０٣²½Ⅷⅷª\u0301\u0307\u200b\u00ad\ufe0f\U0001d400\U0001f600"
_FOLD = f"""
    select {FOLDED_REFERENCE} as folded
    from (select jsonb_build_object('reference', text) as fields, number
          from unnest($1::text[]) with ordinality as given(text, number)) as stated
    order by number
"""  # noqa: S608  # of our own words only


def make_reference(chance: random.Random) -> str:
    any_letter = (chr(chance.choice((*range(1, 0xD800), *range(0xE000, 0x110000, 97)))) for _ in range(4))
    return "".join(
        chance.choice((*"abcdefghijklmnopqrstuvwxyzABIZ0189-/ .", *_ODD_LETTERS, *any_letter))
        for _ in range(chance.choice((3, 12, 30, 199, 200, 201, 260)))
    )


async def test_a_number_is_folded_alike_by_the_rules_and_by_the_index(pool: asyncpg.Pool) -> None:
    """Or a cancellation would not find the trade that it names, and both would be booked."""
    chance = random.Random(13)  # no secret
    references = ["Straße-4711", "ſ-ﬁ-4711ı", *(make_reference(chance) for _ in range(500))]
    rows = await pool.fetch(_FOLD, references)
    assert [row["folded"] for row in rows] == [compact_text(text) for text in references]


async def test_a_decision_of_an_earlier_release_marks_the_trades_that_it_names(site: Ingestion) -> None:
    """It knows of no mark; of a key with thousands of trades the marked ones are read."""
    for name in ("note", "copy", "elsewhere"):
        await finish(site, name, outcome_of(NOTE))
    first, second, _ = await site.pool.fetch("select trade_id, tenant_id from ingestion.trade order by seq")
    await site.pool.execute(
        "insert into ingestion.trade_decision (tenant_id, trade_id, other_trade_id, decision, api_key_id)"
        " values ($1, $2, $3, 'distinct', '00')",
        first["tenant_id"],
        first["trade_id"],
        second["trade_id"],
    )
    assert await list_marked(site) == [first["trade_id"], second["trade_id"]]
    # As it was written while there was no trigger.
    await site.pool.execute("update ingestion.trade set is_decided = false")
    (catch_up,) = (one for one in bundled_migrations(SCHEMA) if one.name == "0040_decided_meanwhile")
    await site.pool.execute(catch_up.sql)
    assert await list_marked(site) == [first["trade_id"], second["trade_id"]]


async def list_marked(site: Ingestion) -> list[str]:
    rows = await site.pool.fetch("select trade_id from ingestion.trade where is_decided order by seq")
    return [row["trade_id"] for row in rows]


async def test_many_similar_trades_are_read_beside_the_loop_that_renews_leases(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    readers: set[bool] = set()

    def read_and_tell(fields: Any) -> Any:
        readers.add(threading.current_thread() is threading.main_thread())
        return read_stored_trade(fields)

    monkeypatch.setattr(similar_trades, "_MAX_ON_LOOP", 0)
    monkeypatch.setattr("ingestion.adapters.similar_trades.read_stored_trade", read_and_tell)
    await finish(site, "note", outcome_of(NOTE))
    assert readers == {False}


async def test_behind_more_trades_of_another_security_than_are_read_no_note_counts_twice(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its copy is not among those that are read: who floods a day would have both booked."""
    monkeypatch.setattr(similar_trades, "_MAX_SIMILAR_READ", 2)
    for name in ("flood", "more of it"):
        await finish(site, name, outcome_of(replace(NOTE, isin="US0378331005", reference=name)))
    copies = [await finish(site, "note", outcome_of(NOTE), source=f"source-{number}") for number in (1, 2)]
    assert await list_states(site, *copies) == ["possible_duplicate"] * 2


async def test_of_many_trades_that_are_stated_again_and_again_those_that_came_first_are_read(
    site: Ingestion, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are judged under the lock of the ledger: what a sender repeats would hold it for minutes."""
    monkeypatch.setattr(similar_trades, "_MAX_SIMILAR_READ", 10)
    monkeypatch.setattr(similar_trades, "_MAX_STATED_READ", 4)
    monkeypatch.setattr(similar_trades, "_LEAST_SIMILAR_READ", 1)
    listed = [replace(NOTE, quantity=Decimal(quantity), reference=None) for quantity in (1, 2)]
    statements = [
        await finish(site, name, replace(outcome_of(*listed), document_type=ACTIVITY_STATEMENT)) for name in "abcd"
    ]
    async with site.pool.acquire() as conn:
        keys = {build_match_key(trade) for trade in listed}
        similar = await similar_trades.read_similar_trades(conn, "acme", keys, statements[3])
    assert [entry.document_id for entry in similar.entries if entry.trade_id not in similar.later_ids] == [
        *statements[:2],
        *statements[:2],
    ]
    assert await list_states(site, statements[0]) == ["counted"] * 2
    # What is behind them is left to a person, and keeps its state when others come.
    assert await list_states(site, *statements[1:]) == ["possible_duplicate"] * 6


async def list_states(site: Ingestion, *document_ids: str) -> list[str]:
    rows = await site.pool.fetch(
        "select state from ingestion.trade where document_id = any($1) order by seq", list(document_ids)
    )
    return [row["state"] for row in rows]
