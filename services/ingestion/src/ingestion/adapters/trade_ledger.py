"""The ledger of trades in Postgres: written with the document that states them, one document of a tenant at a time."""

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.summed_trades import may_be_summed
from ingestion.domain.trade import Trade, read_stored_trade
from ingestion.domain.trade_ledger import (
    MAX_COMPARED,
    LedgerEntry,
    TradeJudgement,
    TradeState,
    align_trades,
    judge_trades,
)
from ingestion.domain.trade_matching import StatedTrade, build_match_key, list_instrument_keys
from ingestion.ports.events import Channel
from mailroom_common.events import Profile, ResultStatus
from mailroom_common.postgres import DatabaseSession

# Taken after the document's row and never before it, so that there is no deadlock; held to the end of the transaction.
# Of two documents that state one trade at the same moment the later one finds the earlier one's rows.
_LOCK_LEDGER = "select pg_advisory_xact_lock(hashtextextended('ingestion.trade:' || $1, 0))"
# `updated_at` is by the clock, under that lock: whoever asks for what changed since the last change that it knows
# misses nothing. By `now()` a transaction that began sooner and ended later would write times that were passed already.
_LIST_BY_DOCUMENT = """
    select trade_id, match_key, fields from ingestion.trade where document_id = $1 order by position
"""
_DELETE = "delete from ingestion.trade where trade_id = any($1)"
_IS_SAME_SECURITY = """
    (trade.instrument_keys, trade.fields ->> 'direction') is not distinct from
        (excluded.instrument_keys, excluded.fields ->> 'direction')
"""
_STORE = f"""
    insert into ingestion.trade (trade_id, tenant_id, doc_source_id, document_id, document_type, content_sha256,
                                 position, match_key, fields, is_cancellation, isin, trade_date, confirmed_seq, state,
                                 instrument_keys, updated_at)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12,
            case when $13 then nextval('ingestion.trade_confirmation') end, $14, $15, clock_timestamp())
    on conflict (trade_id) do update
    set position = excluded.position, document_type = excluded.document_type, match_key = excluded.match_key,
        fields = excluded.fields, is_cancellation = excluded.is_cancellation, isin = excluded.isin,
        trade_date = excluded.trade_date, instrument_keys = excluded.instrument_keys,
        confirmed_seq = case when $13 then coalesce(trade.confirmed_seq, excluded.confirmed_seq) end,
        -- One that is of another security now executed none of the orders of the former one.
        order_match = case when ({_IS_SAME_SECURITY}) then trade.order_match end,
        order_id = case when ({_IS_SAME_SECURITY}) then trade.order_id end,
        order_candidates = case when ({_IS_SAME_SECURITY}) then trade.order_candidates end,
        decided_order_id = case when ({_IS_SAME_SECURITY}) then trade.decided_order_id end,
        version = trade.version + 1, updated_at = clock_timestamp()
    where (trade.position, trade.document_type, trade.fields) is distinct from
              (excluded.position, excluded.document_type, excluded.fields)
       or (trade.confirmed_seq is not null) <> $13
"""  # noqa: S608  # of our own words only
_LIST_SIMILAR = """
    select candidate.* from unnest($2::text[]) as wanted(match_key) cross join lateral (
        select * from ingestion.trade
        where trade.tenant_id = $1 and trade.match_key = wanted.match_key
        order by confirmed_seq, seq limit $3
    ) as candidate
"""
# Of a key with more than that: the trades of one document, and those that people have decided about. By their ids: the
# ledger is locked meanwhile, and a key may have a hundred thousand.
_LIST_LATER = """
    select * from ingestion.trade
    where trade_id = any(array(
              select trade_id from ingestion.trade where document_id = $3
              union select unnest(array[trade_id, other_trade_id]) from ingestion.trade_decision where tenant_id = $1))
      and tenant_id = $1 and match_key = any($2) and not trade_id = any($4)
    order by confirmed_seq, seq limit $5
"""
_LIST_DECISIONS = """
    select trade_id, other_trade_id, decision from ingestion.trade_decision
    where trade_id = any($1) order by entry_id
"""
_WRITE_JUDGEMENTS = """
    update ingestion.trade
    set state = judged.state, duplicate_of = judged.duplicate_of, cancelled_by = judged.cancelled_by,
        cancels = judged.cancels, version = version + 1, updated_at = clock_timestamp()
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])
        as judged(trade_id, state, duplicate_of, cancelled_by, cancels)
    where trade.trade_id = judged.trade_id
      and (trade.state, trade.duplicate_of, trade.cancelled_by, trade.cancels)
          is distinct from (judged.state, judged.duplicate_of, judged.cancelled_by, judged.cancels)
    returning document_id, instrument_keys, fields ->> 'direction' as direction
"""
_REQUEST_ANNOUNCEMENTS = """
    insert into ingestion.trade_announcement (tenant_id, document_id) select $1, unnest($2::text[])
"""
_REQUEST_MATCHING = """
    insert into ingestion.order_match_request (tenant_id, direction, instrument_key)
    select $1, direction, instrument_key from unnest($2::text[], $3::text[]) as wanted(direction, instrument_key)
    where exists (select from ingestion.pending_order where tenant_id = $1) and not exists (
        select from ingestion.order_match_request waiting
        where waiting.tenant_id = $1 and waiting.direction = wanted.direction
          and waiting.instrument_key = wanted.instrument_key)
"""
_LIST_OF_DAYS = """
    select fields, document_type, content_sha256 from ingestion.trade
    where tenant_id = $1 and document_id <> $2 and trade_date = any($3) and instrument_keys && $4
      and not is_cancellation and state <> all($5)
    order by seq desc limit $6
"""
_WITHOUT_TRADE = [TradeState.DUPLICATE.value, TradeState.CANCELLED.value]
_MAX_OF_DAYS = 500
_STATE_COLUMNS = ("trade_id", "state", "duplicate_of", "cancelled_by")
_LIST_STATES = """
    select position, trade_id, state, duplicate_of, cancelled_by from ingestion.trade where document_id = $1
"""
_MAX_SIMILAR_READ = 2 * MAX_COMPARED  # or one of them would count beside another that was not read
_MAX_JUDGED = 50


async def record_trades(conn: DatabaseSession, document: Any) -> None:
    """Write the document's trades to the ledger, in the transaction that changed the document. `document` is its new
    row, which this transaction has locked."""
    if document["profile"] != Profile.CONTRACT_NOTE:
        return
    trades = _list_trades(document)
    known = await conn.fetch(_LIST_BY_DOCUMENT, document["document_id"])
    if not trades and not known:
        return
    await lock_ledger(conn, document["tenant_id"])
    ids = align_trades([(row["trade_id"], read_stored_trade(row["fields"])) for row in known], trades)
    if gone := [row["trade_id"] for row in known if row["trade_id"] not in set(ids)]:
        await conn.execute(_DELETE, gone)
    if trades:
        await conn.executemany(_STORE, _build_rows(document, trades, ids))
    keys = {row["match_key"] for row in known} | {build_match_key(trade) for trade in trades}
    await judge_similar_trades(conn, document["tenant_id"], keys, current_document_id=document["document_id"])
    stated = [read_stored_trade(row["fields"]) for row in known] + trades
    securities = {(trade.direction, key) for trade in stated for key in list_instrument_keys(trade)}
    await request_matching(conn, document["tenant_id"], securities)


async def check_summed_trades(
    conn: DatabaseSession, document: Any, outcome: DocumentOutcome, former: DocumentOutcome | None
) -> DocumentOutcome:
    """`trades_may_be_summed` where that may be so. In the transaction that makes the outcome the document's, under the
    lock of its row. What was completed before goes on counting."""
    is_new = former is None or former.status is not ResultStatus.COMPLETED
    if document["profile"] != Profile.CONTRACT_NOTE or outcome.status is not ResultStatus.COMPLETED or not is_new:
        return outcome
    trades = [read_stored_trade(trade) for trade in (outcome.extraction or {}).get("trades", [])]
    days = sorted({trade.trade_date for trade in trades if trade.trade_date is not None})
    securities = sorted({key for trade in trades for key in list_instrument_keys(trade)})
    if not days or not securities:
        return outcome
    await lock_ledger(conn, document["tenant_id"])
    rows = await conn.fetch(
        _LIST_OF_DAYS, document["tenant_id"], document["document_id"], days, securities, _WITHOUT_TRADE, _MAX_OF_DAYS
    )
    content = document["content_sha256"]
    stated = [StatedTrade(trade=trade, document_type=outcome.document_type, content_sha256=content) for trade in trades]
    known = [
        StatedTrade(
            trade=read_stored_trade(row["fields"]),
            document_type=row["document_type"],
            content_sha256=row["content_sha256"],
        )
        for row in rows
    ]
    if not may_be_summed(stated, known):
        return outcome
    return replace(outcome, status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.TRADES_MAY_BE_SUMMED)


async def lock_ledger(conn: DatabaseSession, tenant_id: str) -> None:
    await conn.execute(_LOCK_LEDGER, tenant_id)


async def judge_similar_trades(
    conn: DatabaseSession, tenant_id: str, match_keys: Iterable[str], *, current_document_id: str | None = None
) -> None:
    """Judge all trades of a tenant that share one of the keys again, under the lock of its ledger. Documents whose
    trades change get new results; that of `current_document_id` is published by this transaction anyway."""
    similar = await _list_similar_rows(conn, tenant_id, match_keys, current_document_id)
    decisions = await conn.fetch(_LIST_DECISIONS, [row["trade_id"] for rows in similar.values() for row in rows])
    same, distinct = _read_decisions(decisions)
    judged: dict[str, TradeJudgement] = {}
    for rows in similar.values():
        entries = [_read_entry(row, same, distinct) for row in rows]
        # A second of work where very many are similar: other documents are read meanwhile.
        judged |= await asyncio.to_thread(judge_trades, entries) if len(rows) > _MAX_JUDGED else judge_trades(entries)
    if not judged:
        return
    changed = await conn.fetch(_WRITE_JUDGEMENTS, *_build_columns(judged))
    await request_matching(
        conn, tenant_id, {(row["direction"], key) for row in changed for key in row["instrument_keys"]}
    )
    if others := sorted({row["document_id"] for row in changed} - {current_document_id}):
        await conn.execute(_REQUEST_ANNOUNCEMENTS, tenant_id, others)
        await conn.execute("select pg_notify($1, '')", Channel.TRADES_CHANGED.value)


async def _list_similar_rows(
    conn: DatabaseSession, tenant_id: str, match_keys: Iterable[str], document_id: str | None
) -> dict[str, list[Any]]:
    """By their key. Of one that very many trades have (a sender may state as many as he likes) those that are there
    first, and beside them those of the document and those that people have decided about: none of these may wait for
    ever without a state of its own."""
    similar: dict[str, list[Any]] = {}
    for row in await conn.fetch(_LIST_SIMILAR, tenant_id, sorted(match_keys), _MAX_SIMILAR_READ):
        similar.setdefault(row["match_key"], []).append(row)
    full = [key for key, rows in similar.items() if len(rows) >= _MAX_SIMILAR_READ]
    if full:
        known = [row["trade_id"] for key in full for row in similar[key]]
        for row in await conn.fetch(_LIST_LATER, tenant_id, full, document_id, known, _MAX_SIMILAR_READ):
            similar[row["match_key"]].append(row)
    return similar


async def request_matching(
    conn: DatabaseSession, tenant_id: str, securities: Collection[tuple[str | None, str]]
) -> None:
    """Ask a worker to match the pending orders of securities again, once however often it is asked for: ten thousand
    orders may be of a few. `securities` are pairs of direction and instrument key. Under the lock of the ledger."""
    wanted = sorted((direction, key) for direction, key in securities if direction is not None)
    if wanted:
        await conn.execute(
            _REQUEST_MATCHING, tenant_id, [direction for direction, _ in wanted], [key for _, key in wanted]
        )
        await conn.execute("select pg_notify($1, '')", Channel.TRADES_CHANGED.value)


async def read_ledger_states(conn: DatabaseSession, document: Any) -> dict[int, Mapping[str, Any]]:
    """The state of each trade of a document in the ledger, by its place in the document."""
    if document["profile"] != Profile.CONTRACT_NOTE:
        return {}
    rows = await conn.fetch(_LIST_STATES, document["document_id"])
    return {row["position"]: {name: row[name] for name in _STATE_COLUMNS} for row in rows}


def _list_trades(document: Any) -> list[Trade]:
    """None of a skipped document, nor of one that a person rejected."""
    if document["status"] == ResultStatus.SKIPPED:
        return []
    return [read_stored_trade(trade) for trade in (document["extraction"] or {}).get("trades", [])]


def _build_rows(document: Any, trades: Sequence[Trade], ids: Sequence[str | None]) -> list[tuple[Any, ...]]:
    is_confirmed = document["status"] == ResultStatus.COMPLETED
    return [
        (
            trade_id or str(uuid4()),
            document["tenant_id"],
            document["doc_source_id"],
            document["document_id"],
            document["document_type"],
            document["content_sha256"],
            position,
            build_match_key(trade),
            trade.to_json(),
            trade.is_cancellation,
            None if trade.isin is None else trade.isin[:12].upper(),
            trade.trade_date,
            is_confirmed,
            TradeState.UNCONFIRMED.value,  # until it is judged, in this transaction
            list_instrument_keys(trade),
        )
        for position, (trade, trade_id) in enumerate(zip(trades, ids, strict=True))
    ]


def _read_decisions(rows: Iterable[Any]) -> tuple[dict[str, set[str]], dict[str, set[str]]]:
    """Whichever of the two a decision was made about, and the newest of a pair."""
    newest = {frozenset((row["trade_id"], row["other_trade_id"])): row["decision"] for row in rows}
    same: dict[str, set[str]] = {}
    distinct: dict[str, set[str]] = {}
    for pair, decision in newest.items():
        for trade_id in pair:
            (same if decision == "same" else distinct).setdefault(trade_id, set()).update(pair - {trade_id})
    return same, distinct


def _read_entry(row: Any, same: Mapping[str, set[str]], distinct: Mapping[str, set[str]]) -> LedgerEntry:
    return LedgerEntry(
        trade=read_stored_trade(row["fields"]),
        document_type=row["document_type"],
        content_sha256=row["content_sha256"],
        trade_id=row["trade_id"],
        document_id=row["document_id"],
        seq=row["seq"],
        confirmed_seq=row["confirmed_seq"],
        same_as=frozenset(same.get(row["trade_id"], ())),
        distinct_from=frozenset(distinct.get(row["trade_id"], ())),
    )


def _build_columns(judged: Mapping[str, TradeJudgement]) -> tuple[list[Any], ...]:
    rows = [
        (trade_id, one.state.value, one.duplicate_of, one.cancelled_by, one.cancels) for trade_id, one in judged.items()
    ]
    return tuple(list(column) for column in zip(*rows, strict=True))
