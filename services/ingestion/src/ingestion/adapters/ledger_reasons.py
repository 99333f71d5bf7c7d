"""Reasons for a review that other documents' trades gave, and that are none any more: the trade that a cancellation
takes back was found, the sum was rejected. Such a document is judged again, as when its reading was finished.

Nothing asks for it. The documents that wait for such a reason are few, and are gone through, a batch at a time: one
worker takes a batch, and another one the next. How far they came is in Postgres. So it makes no difference whose
document, decision or process, of an earlier release too, made the reason obsolete.
"""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import asyncpg

from ingestion.adapters.document_events import append_document_event
from ingestion.adapters.document_history import keep_current_version
from ingestion.adapters.document_results import append_results
from ingestion.adapters.document_rows import read_outcome
from ingestion.adapters.trade_checks import check_ledger, is_reason_obsolete
from ingestion.adapters.trade_ledger import record_trades
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.reasons import ReviewReason
from mailroom_common.errors import Retryable
from mailroom_common.events import ResultStatus
from mailroom_common.logs import get_logger
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction

log = get_logger()

CHECK_NAME = "ledger-reasons"

_BATCH = 500
# As the index of 0042 has them. What a person decided about has no such reason.
_WAITS = """
    review_reason in ('cancelled_trade_not_found', 'trade_may_be_cancelled', 'trades_may_be_summed')
    and status = 'needs_review' and review_decision is null
"""
# Another worker takes the next batch after it; behind the last one nobody for a while, however many workers there are.
_REST = timedelta(seconds=30)
_LOCK_POSITION = """
    select checked_seq from ingestion.document_check
    where name = $1 and (checked_seq > 0 or round_ended_at is null or round_ended_at <= now() - $2::interval)
    for update skip locked
"""
_MOVE_POSITION = """
    update ingestion.document_check
    set checked_seq = $2::bigint, round_ended_at = case when $2::bigint = 0 then now() else round_ended_at end
    where name = $1
"""
_LIST_WAITING = f"""
    select document_id, seq from ingestion.document where {_WAITS} and seq > $1 order by seq limit $2
"""  # noqa: S608  # of our own words only
_FIND = "select * from ingestion.document where document_id = $1"
# Not one that is being finished or decided: it is looked at in the next round.
_LOCK_WAITING = f"""
    select * from ingestion.document where document_id = $1 and {_WAITS} for no key update skip locked
"""  # noqa: S608  # of our own words only
_WRITE = """
    update ingestion.document
    set status = $2, review_reason = $3, result_number = result_number + 1, updated_at = now()
    where document_id = $1
    returning *
"""


class PgLedgerReasons:
    """`LedgerReasons` of ports/housekeeping.py."""

    def __init__(
        self, pool: asyncpg.Pool, outbox: Outbox, clock: Callable[[], datetime], *, rest: timedelta = _REST
    ) -> None:
        """`rest` is how long nobody looks after all were gone through."""
        self._pool = pool
        self._rest = rest
        self._outbox = outbox
        self._clock = clock

    async def recheck_some(self) -> bool:
        is_any_changed, deferred = False, None
        documents = await self._list_next()
        for document_id in documents:
            try:
                if await self._is_obsolete(document_id):
                    is_any_changed |= await self._recheck(document_id)
            except Retryable as error:  # it waits for a busy ledger, say: those behind it need not
                deferred = deferred or error
            except Exception:  # the edge of one document: others are judged, and read
                # A bug of ours; the document keeps its reason, a person decides, and the next round tries again.
                log.exception("ledger_reason_failed", document_id=document_id)
        if deferred is not None:
            raise deferred
        return is_any_changed or len(documents) == _BATCH

    async def _list_next(self) -> list[str]:
        """The next batch of those that wait, behind the last one: from the first one on after the last. What a crash
        leaves of it is found in the next round."""
        async with open_transaction(self._pool) as conn:
            checked = await conn.fetchval(_LOCK_POSITION, CHECK_NAME, self._rest)
            if checked is None:
                return []
            waiting = await conn.fetch(_LIST_WAITING, checked, _BATCH)
            await conn.execute(_MOVE_POSITION, CHECK_NAME, waiting[-1]["seq"] if len(waiting) == _BATCH else 0)
        return [row["document_id"] for row in waiting]

    async def _is_obsolete(self, document_id: str) -> bool:
        async with acquire_session(self._pool) as conn:
            document = await conn.fetchrow(_FIND, document_id)
            return document is not None and await is_reason_obsolete(conn, document)

    async def _recheck(self, document_id: str) -> bool:
        """False where it is held by another transaction, or the ledger says otherwise under its lock."""
        async with open_transaction(self._pool) as conn:
            document = await conn.fetchrow(_LOCK_WAITING, document_id)
            if document is None:
                return False
            current = read_outcome(document)
            outcome = await check_ledger(conn, document, _drop_ledger_reason(current), current)
            if outcome == current:
                return False
            await self._write(conn, document_id, outcome)
            return True

    async def _write(self, conn: DatabaseSession, document_id: str, outcome: DocumentOutcome) -> None:
        await keep_current_version(conn, document_id)
        document: Any = await conn.fetchrow(_WRITE, document_id, outcome.status.value, outcome.review_reason)
        await record_trades(conn, document)
        await append_results(conn, self._outbox, document, self._clock())
        await append_document_event(conn, document)
        # Other documents, or a person, made its reason obsolete; its history has the version with it.
        log.info("review_reason_updated", document_id=document_id)


def _drop_ledger_reason(outcome: DocumentOutcome) -> DocumentOutcome:
    """As its reading was, which the ledger gave the reason. What takes a trade back is for a person either way."""
    if outcome.reason is ReviewReason.CANCELLED_TRADE_NOT_FOUND:
        return replace(outcome, reason=ReviewReason.TRADE_CANCELLED)
    return replace(outcome, status=ResultStatus.COMPLETED, reason=None)
