"""Reviews in Postgres: a decision, its evidence and its results in one transaction, and the history of a document."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple

import asyncpg

from ingestion.adapters.bounded_rows import fetch_bounded
from ingestion.adapters.document_events import append_document_event
from ingestion.adapters.document_history import find_newest_reading, insert_decision, keep_current_version
from ingestion.adapters.document_results import append_results
from ingestion.adapters.document_rows import read_outcome
from ingestion.adapters.rereads import request_reread
from ingestion.adapters.supplier_accounts import check_supplier_account, lock_supplier
from ingestion.adapters.supplier_rereads import request_of_supplier
from ingestion.adapters.templates import apply_decision_to_templates
from ingestion.adapters.trade_ledger import record_trades
from ingestion.domain.archive import is_archived
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.review import (
    Decision,
    HistoryKind,
    Review,
    ReviewAction,
    ReviewRefused,
    decide,
    is_repeated_decision,
    is_reviewable,
)
from ingestion.domain.views import build_history_view, build_reread_view
from ingestion.ports.reviews import StaleVersion
from mailroom_common.errors import Retryable
from mailroom_common.events import Profile, ResultStatus
from mailroom_common.logs import get_logger
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction

# The lock that whoever finishes a reading takes too: of a reading and a review at the same time the later one sees what
# the earlier one made of the document.
_LOCK = "select * from ingestion.document where document_id = $1 and tenant_id = $2 for no key update"
_DECIDE = """
    update ingestion.document
    set status = $2, skip_reason = $3, review_reason = $4, document_type = $5, extraction = $6, confidence = $7,
        reader = $8, result_number = result_number + 1, review_decision = $9, reviewed_at = now(), updated_at = now()
    where document_id = $1
    returning *
"""
# A cancellation takes one trade back however often it is stated, so copies that are confirmed book nothing twice.
_REASONS_OF_CANCELLATIONS = (ReviewReason.TRADE_CANCELLED.value, ReviewReason.CANCELLED_TRADE_NOT_FOUND.value)
_MAX_COPIES = 100  # beyond these a person confirms again
_LIST_COPIES = """
    select document_id, result_number from ingestion.document
    where tenant_id = $1 and content_sha256 = $2 and document_id <> $3 and status = 'needs_review'
      and review_decision is null and review_reason = any($4) and extraction = $5
    order by seq limit $6
"""
_FIND = "select * from ingestion.document where document_id = $1 and tenant_id = $2"
_LIST = """
    select *, coalesce(octet_length(extraction::text), 0) + coalesce(octet_length(changes::text), 0) as json_bytes
    from ingestion.document_history
    where document_id = $1 and tenant_id = $2 and ($3::bigint is null or entry_id < $3)
    order by entry_id desc limit $4
"""
# What was read first and still stands, as the entry that it becomes once another version replaces it.
_CURRENT = """
    select result_number as version, 'read' as kind, status, coalesce(skip_reason, review_reason) as reason,
           document_type, extraction, confidence, reader, null as changes, null as comment, null as reviewer,
           null as api_key_id, updated_at as recorded_at
    from ingestion.document current
    where document_id = $1 and tenant_id = $2 and status not in ('pending', 'processing')
      and review_decision is null and not exists (
        select from ingestion.document_history entry
        where entry.document_id = current.document_id and entry.version = current.result_number
          and entry.kind <> 'proposed')
"""


log = get_logger()


class _DecidedRows(NamedTuple):
    """A document's row before a decision, and after it."""

    former: Any
    now: Any


class PgReviews:
    """`DocumentReviews` of ports/reviews.py."""

    def __init__(self, pool: asyncpg.Pool, outbox: Outbox, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._outbox = outbox
        self._clock = clock

    async def decide_document(self, tenant_id: str, document_id: str, review: Review) -> bool:
        decided = await self._decide_one(tenant_id, document_id, review)
        if decided is None:
            return False
        try:
            if review.action is ReviewAction.CONFIRM:
                await self._confirm_copies(decided.former, review)
            await request_of_supplier(self._pool, decided.now, read_outcome(decided.now))
        except Retryable as error:
            # The decision stands; what would have followed from it waits for a person or a replay.
            log.warning("decision_not_followed", document_id=document_id, reason=str(error))
        return True

    async def _confirm_copies(self, former: Any, review: Review) -> None:
        """Of a cancellation that came in several mailboxes: whoever has confirmed one has looked at them all.

        Each in a transaction of its own: one that is decided or read at this moment waits for a person as before, and
        so do those that a crash leaves.
        """
        if former["review_reason"] not in _REASONS_OF_CANCELLATIONS:
            return
        comment = " ".join(filter(None, (review.comment, f"(the same file as document {former['document_id']})")))
        async with acquire_session(self._pool) as conn:
            copies = await conn.fetch(
                _LIST_COPIES,
                former["tenant_id"],
                former["content_sha256"],
                former["document_id"],
                _REASONS_OF_CANCELLATIONS,
                former["extraction"],
                _MAX_COPIES,
            )
        for copy in copies:
            with suppress(StaleVersion, ReviewRefused):
                of_copy = replace(review, version=copy["result_number"], comment=comment)
                await self._decide_one(former["tenant_id"], copy["document_id"], of_copy)

    async def _decide_one(self, tenant_id: str, document_id: str, review: Review) -> _DecidedRows | None:
        """None when the tenant has no such document."""
        async with open_transaction(self._pool) as conn:
            current = await conn.fetchrow(_LOCK, document_id, tenant_id)
            if current is None:
                return None
            if current["result_number"] != review.version:
                raise StaleVersion(current["result_number"])
            if not is_reviewable(ResultStatus(current["status"])):
                raise ReviewRefused("It is not read yet.")
            decided_before = current["review_decision"] and HistoryKind(current["review_decision"])
            if is_repeated_decision(review, read_outcome(current), decided_before):
                return _DecidedRows(current, current)
            await keep_current_version(conn, document_id)
            decision = await _check_account(conn, current, await _decide(conn, current, review))
            decided = await _write_decision(conn, document_id, decision)
            await insert_decision(conn, decided, decision, review)
            await apply_decision_to_templates(conn, current, decided, decision)
            await record_trades(conn, decided)
            await append_results(conn, self._outbox, decided, self._clock())
            await append_document_event(conn, decided)
            if _is_archived_now(current, decided):
                # The copy is the worker's to write, and the decision stands whatever it reads.
                await request_reread(conn, document_id)
            return _DecidedRows(current, decided)

    async def list_history(
        self, tenant_id: str, document_id: str, *, before: int | None, limit: int
    ) -> tuple[list[dict[str, Any]], int | None] | None:
        async with acquire_session(self._pool) as conn:
            document = await conn.fetchrow(_FIND, document_id, tenant_id)
            if document is None:
                return None
            current = [] if before is not None else await conn.fetch(_CURRENT, document_id, tenant_id)
        rows, has_more = await fetch_bounded(self._pool, _LIST, document_id, tenant_id, before, limit + 1)
        page = rows[:limit]
        has_more = has_more or len(rows) > limit
        views = [build_history_view(dict(row)) for row in (*current, *page)]
        if before is None and document["last_reread"] is not None:
            _insert_by_time(views, build_reread_view(document["last_reread"]))
        return views, page[-1]["entry_id"] if has_more else None


def _insert_by_time(newest_first: list[dict[str, Any]], entry: dict[str, Any]) -> None:
    later = sum(1 for other in newest_first if other["recorded_at"] > entry["recorded_at"])
    newest_first.insert(later, entry)


def _is_archived_now(current: Any, decided: Any) -> bool:
    """Whether the decision gives the document a copy in the archive that its status had none of until then."""
    profile, content_type = Profile(decided["profile"]), decided["content_type"]
    before, after = read_outcome(current), read_outcome(decided)
    return (
        after.archive_path is None
        and not is_archived(profile, before, content_type)
        and is_archived(profile, after, content_type)
    )


async def _decide(conn: DatabaseSession, current: Any, review: Review) -> Decision:
    reading = await find_newest_reading(conn, current["document_id"])
    read = {}
    if reading is not None:
        beside = {"document_type": reading.document_type, "review_reason": reading.reason}
        read = {**(reading.extraction or {}), **beside}
    return decide(review, read_outcome(current), profile=Profile(current["profile"]), read=read)


async def _check_account(conn: DatabaseSession, current: Any, decision: Decision) -> Decision:
    """Who corrects one field has not said that the account is right as well; who confirms has."""
    tenant_id = current["tenant_id"]
    if decision.kind is HistoryKind.CORRECTED:
        former = read_outcome(current)
        return replace(decision, outcome=await check_supplier_account(conn, tenant_id, decision.outcome, former=former))
    await lock_supplier(conn, tenant_id, decision.outcome)
    return decision


async def _write_decision(conn: DatabaseSession, document_id: str, decision: Decision) -> Any:
    outcome = decision.outcome
    return await conn.fetchrow(
        _DECIDE,
        document_id,
        outcome.status.value,
        outcome.skip_reason,
        outcome.review_reason,
        outcome.document_type,
        None if outcome.extraction is None else dict(outcome.extraction),
        outcome.confidence,
        outcome.reader,
        decision.kind.value,
    )
