"""The ledger of trades in Postgres: written with the document that states them, one document of a tenant at a time."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from uuid import uuid4

from ingestion.adapters.similar_trades import SimilarTrades, judge_entries, read_similar_trades
from ingestion.domain.trade import Trade, read_stored_trade
from ingestion.domain.trade_ledger import (
    TradeJudgement,
    TradeState,
    align_trades,
)
from ingestion.domain.trade_matching import build_match_key, list_instrument_keys
from ingestion.ports.events import Channel
from mailroom_common.events import Profile, ResultStatus
from mailroom_common.postgres import DatabaseSession

# Taken after the document's row and never before it, so that there is no deadlock; held to the end of the transaction.
# Of two documents that state one trade at the same moment the later one finds the earlier one's rows.
_LOCK_LEDGER = "select pg_advisory_xact_lock(hashtextextended('ingestion.trade:' || $1, 0))"
# `updated_at` is by the clock, under that lock: whoever asks for what changed since the last change that it knows
# misses nothing. By `now()` a transaction that began sooner and ended later would write times that were passed already.
LIST_BY_DOCUMENT = """
    select trade_id, match_key, fields, seq, confirmed_seq from ingestion.trade where document_id = $1 order by position
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
_LIST_PRESENT = "select trade_id from ingestion.trade where tenant_id = $1 and trade_id = any($2)"
_STATE_COLUMNS = ("trade_id", "state", "duplicate_of", "cancelled_by")
_LIST_STATES = """
    select position, trade_id, state, duplicate_of, cancelled_by from ingestion.trade where document_id = $1
"""


async def record_trades(conn: DatabaseSession, document: Any) -> None:
    """Write the document's trades to the ledger, in the transaction that changed the document. `document` is its new
    row, which this transaction has locked."""
    if document["profile"] != Profile.CONTRACT_NOTE:
        return
    trades = _list_trades(document)
    known = await conn.fetch(LIST_BY_DOCUMENT, document["document_id"])
    if not trades and not known:
        return
    await lock_ledger(conn, document["tenant_id"])
    # What the former ones took back may have nothing to do with the new ones.
    known_keys = {row["match_key"] for row in known}
    former = await read_similar_trades(conn, document["tenant_id"], known_keys, document["document_id"])
    ids = align_trades([(row["trade_id"], read_stored_trade(row["fields"])) for row in known], trades)
    if gone := [row["trade_id"] for row in known if row["trade_id"] not in set(ids)]:
        await conn.execute(_DELETE, gone)
    if trades:
        await conn.executemany(_STORE, _build_rows(document, trades, ids))
    keys = former.keys | {build_match_key(trade) for trade in trades}
    await judge_similar_trades(conn, document["tenant_id"], keys, current_document_id=document["document_id"])
    stated = [read_stored_trade(row["fields"]) for row in known] + trades
    securities = {(trade.direction, key) for trade in stated for key in list_instrument_keys(trade)}
    await request_matching(conn, document["tenant_id"], securities)


async def lock_ledger(conn: DatabaseSession, tenant_id: str) -> None:
    await conn.execute(_LOCK_LEDGER, tenant_id)


async def judge_similar_trades(
    conn: DatabaseSession, tenant_id: str, match_keys: Iterable[str], *, current_document_id: str | None = None
) -> None:
    """Judge all trades of a tenant again that have one of the keys, or that cancellations bring together with those,
    under the lock of its ledger. Documents whose trades change get new results; that of `current_document_id` is
    published by this transaction anyway."""
    similar = await read_similar_trades(conn, tenant_id, match_keys, current_document_id)
    judged = await judge_entries(similar.entries, similar.later_ids)
    judged |= await _list_kept_judgements(conn, tenant_id, similar, judged)
    if not judged:
        return
    changed = await conn.fetch(_WRITE_JUDGEMENTS, *_build_columns(judged))
    await request_matching(
        conn, tenant_id, {(row["direction"], key) for row in changed for key in row["instrument_keys"]}
    )
    if others := sorted({row["document_id"] for row in changed} - {current_document_id}):
        await conn.execute(_REQUEST_ANNOUNCEMENTS, tenant_id, others)
        await conn.execute("select pg_notify($1, '')", Channel.TRADES_CHANGED.value)


async def _list_kept_judgements(
    conn: DatabaseSession, tenant_id: str, similar: SimilarTrades, judged: Mapping[str, TradeJudgement]
) -> dict[str, TradeJudgement]:
    """Of very many trades that numbers bring together not all are read: what one of the others takes back, as long as
    that is in the ledger, does not count again meanwhile."""
    unread = similar.list_unread_counterparts()
    rows = await conn.fetch(_LIST_PRESENT, tenant_id, list(unread.values())) if unread else []
    present = {row["trade_id"] for row in rows}
    kept: dict[str, TradeJudgement] = {}
    for trade_id, other in unread.items():
        if other not in present:
            continue
        former, now = similar.former[trade_id], judged[trade_id]
        if now.state is TradeState.CANCELLATION_UNMATCHED:
            kept[trade_id] = former
        elif now.state is TradeState.COUNTED:
            is_sure = former.state is TradeState.CANCELLED
            state = TradeState.CANCELLED if is_sure else TradeState.POSSIBLY_CANCELLED
            kept[trade_id] = TradeJudgement(state, cancelled_by=other)
    return kept


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


def _build_columns(judged: Mapping[str, TradeJudgement]) -> tuple[list[Any], ...]:
    rows = [
        (trade_id, one.state.value, one.duplicate_of, one.cancelled_by, one.cancels) for trade_id, one in judged.items()
    ]
    return tuple(list(column) for column in zip(*rows, strict=True))
