"""Whether a document that was read may be completed beside what the ledger has of its trades."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from ingestion.adapters.document_rows import read_outcome
from ingestion.adapters.similar_trades import (
    LIST_DECISIONS,
    judge_entries,
    read_decisions,
    read_similar_trades,
    run_off_loop,
)
from ingestion.adapters.trade_ledger import LIST_BY_DOCUMENT, lock_ledger
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.ledger_entry import LedgerEntry
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.summed_trades import may_be_summed
from ingestion.domain.trade import Trade, read_stored_trade
from ingestion.domain.trade_cancellations import find_days_of_cancellations, may_be_taken_back
from ingestion.domain.trade_ledger import TradeState, align_trades
from ingestion.domain.trade_matching import StatedTrade, build_match_key, list_instrument_keys
from mailroom_common.events import Profile, ResultStatus
from mailroom_common.postgres import DatabaseSession

_LIST_TRADES_OF_DAYS = """
    select fields, document_type, content_sha256 from ingestion.trade
    where tenant_id = $1 and document_id <> $2 and trade_date = any($3) and instrument_keys && $4
      and not is_cancellation and state <> all($5)
    order by seq desc limit $6
"""
_WITHOUT_TRADE = [TradeState.DUPLICATE.value, TradeState.CANCELLED.value]
_MAX_TRADES_OF_DAYS = 500
# Those of the securities first: by the order and the limit all of a tenant would be gone through.
_LIST_UNMATCHED = """
    with unmatched as materialized (
        select trade_id, document_id, document_type, fields, seq from ingestion.trade
        where tenant_id = $1 and document_id <> $2 and state = 'cancellation_unmatched' and instrument_keys && $3
          and (trade_date is null or trade_date between $4 and $5)
    )
    select trade_id, fields, document_type = 'contract_note' and exists (
        select from ingestion.trade made where made.document_id = unmatched.document_id and not made.is_cancellation
    ) as is_of_corrected_note
    from unmatched order by seq desc limit $6
"""
_MAX_UNMATCHED = 500  # of the securities of a document, within some days
_HAS_UNMATCHED = """
    select exists (select from ingestion.trade where document_id = $1 and state = 'cancellation_unmatched')
"""
_LAST_PLACE = 2**62  # behind all that are in the ledger


async def check_ledger(
    conn: DatabaseSession, document: Any, outcome: DocumentOutcome, former: DocumentOutcome | None
) -> DocumentOutcome:
    """The outcome with a reason for a review, where other documents give one. In the transaction that makes it the
    document's, under the lock of its row. What was completed before goes on counting."""
    if document["profile"] != Profile.CONTRACT_NOTE:
        return outcome
    if outcome.reason is ReviewReason.TRADE_CANCELLED:
        return await _check_cancellations(conn, document, outcome)
    is_new = former is None or former.status is not ResultStatus.COMPLETED
    if outcome.status is not ResultStatus.COMPLETED or not is_new:
        return outcome
    outcome = await _check_summed_trades(conn, document, outcome)
    return await _check_taken_back(conn, document, outcome) if outcome.status is ResultStatus.COMPLETED else outcome


async def _check_cancellations(conn: DatabaseSession, document: Any, outcome: DocumentOutcome) -> DocumentOutcome:
    """`cancelled_trade_not_found` where what it takes back is not in the ledger, or may be one of several."""
    await lock_ledger(conn, document["tenant_id"])
    stated, judged = await _judge_stated(conn, document, outcome)
    is_unmatched = any(judged[entry.trade_id] is TradeState.CANCELLATION_UNMATCHED for entry in stated)
    return replace(outcome, reason=ReviewReason.CANCELLED_TRADE_NOT_FOUND) if is_unmatched else outcome


async def _check_taken_back(conn: DatabaseSession, document: Any, outcome: DocumentOutcome) -> DocumentOutcome:
    """`trade_may_be_cancelled` where another document takes a trade back that was not found, and it may be this one."""
    await lock_ledger(conn, document["tenant_id"])
    trades = _read_trades(outcome)
    rows = await _list_unmatched_rows(conn, document, trades)
    unmatched = await run_off_loop(len(rows), _select_possible, rows, trades)
    if not unmatched:
        return outcome
    stated, judged = await _judge_stated(conn, document, outcome)
    counted = [entry for entry in stated if judged[entry.trade_id] is TradeState.COUNTED]
    if not _may_mean_any(unmatched, counted):
        return outcome
    return replace(outcome, status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.TRADE_MAY_BE_CANCELLED)


@dataclass(frozen=True, slots=True)
class _UnmatchedCancellation:
    trade_id: str
    cancellation: Trade
    is_of_corrected_note: bool

    def may_mean(self, trade: Trade, distinct_from: Collection[str]) -> bool:
        return self.trade_id not in distinct_from and may_be_taken_back(
            trade, self.cancellation, is_of_corrected_note=self.is_of_corrected_note
        )


async def _list_unmatched_rows(conn: DatabaseSession, document: Any, trades: Sequence[Trade]) -> list[Any]:
    """Other documents' unmatched cancellations of the same securities, and of about the same days."""
    securities = sorted({key for trade in trades for key in list_instrument_keys(trade)})
    if not securities:
        return []
    days = [trade.trade_date or date.min for trade in trades], [trade.trade_date or date.max for trade in trades]
    first, last = find_days_of_cancellations(min(days[0]), max(days[1]))
    tenant_id, document_id = document["tenant_id"], document["document_id"]
    return await conn.fetch(_LIST_UNMATCHED, tenant_id, document_id, securities, first, last, _MAX_UNMATCHED)


def _select_possible(rows: Sequence[Any], trades: Sequence[Trade]) -> list[_UnmatchedCancellation]:
    """Those that may mean one of the trades."""
    found = [
        _UnmatchedCancellation(row["trade_id"], read_stored_trade(row["fields"]), row["is_of_corrected_note"])
        for row in rows
    ]
    return [one for one in found if any(one.may_mean(trade, ()) for trade in trades)]


def _may_mean_any(unmatched: Sequence[_UnmatchedCancellation], entries: Sequence[LedgerEntry]) -> bool:
    """A person may have said of a trade and a cancellation that they are two."""
    return any(one.may_mean(entry.trade, entry.distinct_from) for entry in entries for one in unmatched)


async def is_reason_obsolete(conn: DatabaseSession, document: Any) -> bool:
    """Whether what other documents say is no reason for its review any more, as far as that is seen without the lock
    of the ledger, which `check_ledger` takes. Where there are more than are looked at, what gave the reason may be
    among the others: it stays."""
    outcome = read_outcome(document)
    trades = _read_trades(outcome)
    match outcome.reason:
        case ReviewReason.CANCELLED_TRADE_NOT_FOUND:
            return not await conn.fetchval(_HAS_UNMATCHED, document["document_id"])
        case ReviewReason.TRADE_MAY_BE_CANCELLED:
            rows = await _list_unmatched_rows(conn, document, trades)
            possible = await run_off_loop(len(rows), _select_possible, rows, trades)
            entries = await _build_entries(conn, document, outcome)
            return len(rows) < _MAX_UNMATCHED and not _may_mean_any(possible, entries)
        case ReviewReason.TRADES_MAY_BE_SUMMED:
            rows = await _list_trades_of_days(conn, document, trades)
            may_be_summed = await run_off_loop(len(rows), _may_be_summed, document, outcome, trades, rows)
            return len(rows) < _MAX_TRADES_OF_DAYS and not may_be_summed
        case _:
            return False


async def _judge_stated(
    conn: DatabaseSession, document: Any, outcome: DocumentOutcome
) -> tuple[list[LedgerEntry], dict[str, TradeState]]:
    """The trades of the outcome as they will be in the ledger, and what each trade is then."""
    stated = await _build_entries(conn, document, outcome)
    keys = {build_match_key(entry.trade) for entry in stated}
    similar = await read_similar_trades(conn, document["tenant_id"], keys, beside=stated)
    others = [entry for entry in similar.entries if entry.document_id != document["document_id"]]
    judgements = await judge_entries([*others, *stated])
    return stated, {trade_id: judgement.state for trade_id, judgement in judgements.items()}


async def _build_entries(conn: DatabaseSession, document: Any, outcome: DocumentOutcome) -> list[LedgerEntry]:
    trades = _read_trades(outcome)
    rows = await conn.fetch(LIST_BY_DOCUMENT, document["document_id"])
    ids = align_trades([(row["trade_id"], read_stored_trade(row["fields"])) for row in rows], trades)
    same, distinct = read_decisions(await conn.fetch(LIST_DECISIONS, [one for one in ids if one is not None]))
    is_confirmed = outcome.status is ResultStatus.COMPLETED
    places = {row["trade_id"]: (row["seq"], row["confirmed_seq"]) for row in rows}
    entries = []
    for position, (trade, trade_id) in enumerate(zip(trades, ids, strict=True)):
        # As `record_trades` will write it: a trade that is known keeps its place.
        seq, confirmed_seq = places.get(trade_id or "", (_LAST_PLACE + position, None))
        entries.append(
            LedgerEntry(
                trade=trade,
                document_type=outcome.document_type,
                content_sha256=document["content_sha256"],
                trade_id=trade_id or f"new {position}",
                document_id=document["document_id"],
                seq=seq,
                confirmed_seq=(confirmed_seq or _LAST_PLACE) if is_confirmed else None,
                same_as=frozenset(same.get(trade_id or "", ())),
                distinct_from=frozenset(distinct.get(trade_id or "", ())),
            )
        )
    return entries


def _read_trades(outcome: DocumentOutcome) -> list[Trade]:
    return [read_stored_trade(trade) for trade in (outcome.extraction or {}).get("trades", [])]


async def _check_summed_trades(conn: DatabaseSession, document: Any, outcome: DocumentOutcome) -> DocumentOutcome:
    """`trades_may_be_summed` where that may be so."""
    trades = _read_trades(outcome)
    await lock_ledger(conn, document["tenant_id"])
    rows = await _list_trades_of_days(conn, document, trades)
    if not await run_off_loop(len(rows), _may_be_summed, document, outcome, trades, rows):
        return outcome
    return replace(outcome, status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.TRADES_MAY_BE_SUMMED)


async def _list_trades_of_days(conn: DatabaseSession, document: Any, trades: Sequence[Trade]) -> list[Any]:
    """What other documents have of the same securities on the same days."""
    days = sorted({trade.trade_date for trade in trades if trade.trade_date is not None})
    securities = sorted({key for trade in trades for key in list_instrument_keys(trade)})
    if not days or not securities:
        return []
    return await conn.fetch(
        _LIST_TRADES_OF_DAYS,
        document["tenant_id"],
        document["document_id"],
        days,
        securities,
        _WITHOUT_TRADE,
        _MAX_TRADES_OF_DAYS,
    )


def _may_be_summed(document: Any, outcome: DocumentOutcome, trades: Sequence[Trade], rows: Sequence[Any]) -> bool:
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
    return may_be_summed(stated, known)
