"""The results of a document in the outbox, one for each of its attachments, a bounded number in one transaction.

A sender may have sent the same content a hundred thousand times. The rest is written by the worker, in turns, while the
outbox has room: no transaction holds a document for minutes, and no other result waits behind all of these.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Protocol

import asyncpg

from ingestion.adapters.document_rows import read_outcome
from ingestion.adapters.trade_ledger import read_ledger_states
from ingestion.domain.document import FINAL_STATUSES, AttachmentId, DocumentId, DocumentOutcome
from ingestion.domain.result import LedgerStates, build_result
from ingestion.ports.events import Channel
from ingestion.ports.housekeeping import BacklogStep
from mailroom_common.errors import Retryable
from mailroom_common.events import IngestionResult, ResultStatus
from mailroom_common.logs import get_logger
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction
from mailroom_common.topics import INGESTION_RESULTS

log = get_logger()

MAX_RESULTS = 100
"""Of a document in one transaction: an extraction has 800 KB at most."""
MAX_OUTBOX_ROWS = 1000
"""Beyond so many that wait for Kafka, no more of a backlog is written. Those that Kafka refuses do not count."""

_LIST_INTAKES = "select * from ingestion.intake where document_id = $1 and seq > $2 order by seq limit $3"
# Of another version all are written again, whatever was left of the one before.
_REMEMBER = """
    insert into ingestion.result_backlog (document_id, tenant_id, after_seq) values ($1, $2, $3)
    on conflict (document_id) do update
    set tenant_id = excluded.tenant_id, after_seq = excluded.after_seq, next_turn_at = now()
"""
# What Kafka refuses stays until an operator acts, and says nothing of what it takes from the others.
_COUNT_WAITING = """
    select count(*) from (select from ingestion.outbox where aggregate <> all($1::text[]) limit $2) as waiting
"""
_FIND_FIRST = """
    select document_id, tenant_id from ingestion.result_backlog
    where next_turn_at <= now() and document_id <> all($1::text[]) order by tenant_id, next_turn_at limit 1
"""
# Of the tenants behind one. No condition but this: an index is not searched by `$2 is null or …`.
_FIND_NEXT = """
    select document_id, tenant_id from ingestion.result_backlog
    where tenant_id > $2 and next_turn_at <= now() and document_id <> all($1::text[])
    order by tenant_id, next_turn_at limit 1
"""
_POSTPONE = "update ingestion.result_backlog set next_turn_at = now() + interval '5 minutes' where document_id = $1"
# The lock that every writer of a document's results takes, and first, as they do.
_LOCK_DOCUMENT = "select * from ingestion.document where document_id = $1 for no key update"
_FIND_POSITION = "select after_seq from ingestion.result_backlog where document_id = $1"
_FORGET = "delete from ingestion.result_backlog where document_id = $1"


async def append_results(conn: DatabaseSession, outbox: Outbox, document: Any, occurred_at: datetime) -> None:
    """The result of each attachment, as the document's row says now, under the lock of that row: the first ones at
    once, and the others soon."""
    await _append_some(conn, outbox, document, occurred_at, after_seq=0)


async def _append_some(
    conn: DatabaseSession, outbox: Outbox, document: Any, occurred_at: datetime, *, after_seq: int
) -> None:
    document_id = document["document_id"]
    # One more than are written says that there are more.
    intakes = await conn.fetch(_LIST_INTAKES, document_id, after_seq, MAX_RESULTS + 1)
    await _append_each(conn, outbox, document, occurred_at, intakes[:MAX_RESULTS])
    if len(intakes) > MAX_RESULTS:
        await conn.execute(_REMEMBER, document_id, document["tenant_id"], intakes[MAX_RESULTS - 1]["seq"])
        await conn.execute("select pg_notify($1, '')", Channel.RESULTS_WAITING.value)
    elif after_seq:
        await conn.execute(_FORGET, document_id)


async def append_result(
    conn: DatabaseSession, outbox: Outbox, document: Any, attachment_id: str, message_id: str, occurred_at: datetime
) -> None:
    """The result of one attachment, as the document's row says now, under the lock of that row."""
    ledger_states = await read_ledger_states(conn, document)
    event = _build_event(document, attachment_id, message_id, read_outcome(document), ledger_states, occurred_at)
    await _append_event(conn, outbox, event)


async def _append_each(
    conn: DatabaseSession, outbox: Outbox, document: Any, occurred_at: datetime, intakes: Sequence[Any]
) -> None:
    ledger_states, outcome = await read_ledger_states(conn, document), read_outcome(document)
    for intake in intakes:
        event = _build_event(
            document, intake["attachment_id"], intake["message_id"], outcome, ledger_states, occurred_at
        )
        await _append_event(conn, outbox, event)


def _build_event(
    document: Any,
    attachment_id: str,
    message_id: str,
    outcome: DocumentOutcome,
    ledger_states: LedgerStates,
    occurred_at: datetime,
) -> IngestionResult:
    return build_result(
        attachment_id=AttachmentId(attachment_id),
        document_id=DocumentId(document["document_id"]),
        message_id=message_id,
        tenant_id=document["tenant_id"],
        doc_source_id=document["doc_source_id"],
        outcome=outcome,
        ledger_states=ledger_states,
        number=document["result_number"],
        attempt=document["attempts"],
        occurred_at=occurred_at,
    )


async def _append_event(conn: DatabaseSession, outbox: Outbox, event: IngestionResult) -> None:
    # In the transaction of the state, under the lock of the document's row (design 5.6).
    await outbox.append_record(conn, INGESTION_RESULTS, event.document_id, event, aggregate=event.document_id)


class BlockedAggregates(Protocol):
    """What `OutboxRelay` knows of rows that Kafka refuses."""

    def list_blocked_aggregates(self) -> Sequence[str] | None: ...


class PgResultBacklog:
    """`ResultBacklog` of ports/housekeeping.py. Written by the instance whose relay leads: it alone knows which results
    wait for Kafka, and which for an operator."""

    def __init__(
        self, pool: asyncpg.Pool, outbox: Outbox, relay: BlockedAggregates, clock: Callable[[], datetime]
    ) -> None:
        self._pool = pool
        self._outbox = outbox
        self._relay = relay
        self._clock = clock
        self._last_tenant: str | None = None

    async def write_some(self) -> BacklogStep:
        blocked = self._relay.list_blocked_aggregates()
        if blocked is None:
            return BacklogStep.NOTHING
        async with acquire_session(self._pool) as conn:
            row = await self._find_next_in_turn(conn, blocked)
            if row is None:
                return BacklogStep.NOTHING
            if await conn.fetchval(_COUNT_WAITING, blocked, MAX_OUTBOX_ROWS) >= MAX_OUTBOX_ROWS:
                return BacklogStep.OUTBOX_FULL
        # Not before: a full outbox takes nobody's turn.
        self._last_tenant, document_id = row["tenant_id"], str(row["document_id"])
        try:
            await self._write_some_of(document_id)
        except Retryable:
            await self._postpone(document_id)  # one that takes too long each time leaves the others their turn
            raise
        except Exception:  # the edge of one document: the results of others are written
            # The results of a document's many attachments could not be written; it is tried again in five minutes.
            log.exception("result_backlog_failed", document_id=document_id)
            await self._postpone(document_id)
        return BacklogStep.WRITTEN

    async def _find_next_in_turn(self, conn: DatabaseSession, blocked: Sequence[str]) -> Any:
        row = None if self._last_tenant is None else await conn.fetchrow(_FIND_NEXT, blocked, self._last_tenant)
        return row or await conn.fetchrow(_FIND_FIRST, blocked)

    async def _postpone(self, document_id: str) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_POSTPONE, document_id)

    async def _write_some_of(self, document_id: str) -> None:
        async with open_transaction(self._pool) as conn:
            document = await conn.fetchrow(_LOCK_DOCUMENT, document_id)
            after_seq = await conn.fetchval(_FIND_POSITION, document_id)
            if document is None or after_seq is None:
                return  # another instance wrote the last of it, or the document was deleted
            if ResultStatus(document["status"]) not in FINAL_STATUSES:
                await conn.execute(_FORGET, document_id)  # it is read anew: that reading writes them all
                return
            await _append_some(conn, self._outbox, document, self._clock(), after_seq=after_seq)
