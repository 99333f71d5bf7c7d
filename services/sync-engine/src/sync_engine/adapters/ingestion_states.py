"""Our side of `bo_airflow.email_ingestion_state`, which an outside job shares: claims, renewals and marks.

docs/backstop-contract.md has the contract. Where a transaction touches rows of this table and of ours, it locks rows of
this table first, in the order of their ids: two of ours then never wait for each other in a circle.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import groupby
from operator import itemgetter

import asyncpg

from mailroom_common.events import DocSource
from mailroom_common.logs import get_logger
from mailroom_common.postgres import DatabaseSession, acquire_session
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.ingestion_state import ClaimOutcome, PartState, StateStatus, judge_state
from sync_engine.domain.message_records import (
    FailedMessage,
    MessageState,
    PageUpdate,
    ParkedReason,
    ProcessedMessage,
)

log = get_logger()

# The owner is the doc source, in whatever process: among those its partition is the lock. Two sources of one mailbox,
# of one tenant or of two, are two owners, as the outside job is a third.
_WORKER_PREFIX = "mailroom:"
_MAX_TEXT = 255  # of the columns that hold addresses
_RENEWAL_BATCH_SIZE = 1000
_RENEWED_LATELY = 8  # of the stuck timeout; each worker renews at a quarter of it
_HELD = frozenset({StateStatus.PROCESSING, StateStatus.SUCCESS})  # what nobody else can claim

# What the doc source holds is claimed again, whatever became of it: after a crash, or for a part that was parked. What
# another doc source held that is deleted since is nobody's; where it had a `success`, nobody works on it meanwhile, and
# the outside job must not come in between.
_CLAIM = """
insert into bo_airflow.email_ingestion_state as state (
    app_name, message_id, mailbox_email, sender_email, received_at, subject, status, worker_id, created_at, updated_at)
values ($1, $2, $3, $4, $5, $6, 'processing', $7, now(), now())
on conflict (app_name, message_id) do update
set status = case state.status when 'success' then 'success' else 'processing' end, worker_id = excluded.worker_id,
    error_message = case state.status when 'success' then state.error_message end, updated_at = now()
where state.status in ('failed', 'skipped')
   or (state.status = 'processing'
       and (state.worker_id = excluded.worker_id or state.updated_at < now() - $8::interval))
   or (state.worker_id like $9::text || '%' and state.worker_id <> excluded.worker_id and not exists (
       select from sync_engine.sync_state source
       where source.doc_source_id = substr(state.worker_id, length($9::text) + 1) and source.forgotten_at is null))
returning id
"""
_LOCK = """
select message_id, worker_id, status from bo_airflow.email_ingestion_state
where app_name = $1 and message_id = any($2) order by message_id for update
"""
# A mail that has nothing to claim is recorded all the same; a row that is there stays as it is.
_INSERT_SKIPPED = """
insert into bo_airflow.email_ingestion_state (
    app_name, message_id, mailbox_email, sender_email, received_at, subject, status, worker_id)
select $1, m.message_id, $2, m.sender_email, m.received_at, m.subject, 'skipped', $3
from jsonb_to_recordset($4::jsonb) as m(message_id text, sender_email text, received_at timestamptz, subject text)
order by m.message_id on conflict (app_name, message_id) do nothing
"""
_LIST_PARTS = """
select m.state_id, p.filename, p.stored as is_stored, p.skip_reason, p.parked_reason, p.result_status,
       p.result_reason, p.trades, p.archive_path
from sync_engine.message m left join sync_engine.message_part p using (doc_source_id, message_id)
where m.doc_source_id = $1 and m.message_id = any($2) and m.state_id is not null and m.state in ('open', 'closed')
order by m.state_id, p.position
"""
# Of the doc source's own only, whatever they say: a result may be corrected, and a failed one be confirmed by a person.
# What somebody else has claimed since is theirs.
_MARK = """
update bo_airflow.email_ingestion_state
set status = $4, error_message = $5, attachments_processed = $6, trades_extracted = $7, archive_gcs_paths = $8,
    updated_at = now()
where app_name = $1 and message_id = $2 and worker_id = $3
"""
# Of the messages behind `$3` and `$4`, some at a time: each statement goes over no more than it says. A part that is
# parked holds nothing here, and what another worker has renewed need not be written again. What is locked is being
# marked, or claimed, at this moment.
_RENEW = """
with batch as (
    select m.state_id, m.doc_source_id, m.message_id from sync_engine.message m
    where m.state = 'open' and m.state_id is not null and (m.state_id, m.doc_source_id) > ($3, $4)
    order by m.state_id, m.doc_source_id limit $5
), due as (
    select state.id from batch join bo_airflow.email_ingestion_state state
        on state.app_name = $1 and state.message_id = batch.state_id and state.worker_id = $2 || batch.doc_source_id
    where state.status = 'processing' and state.updated_at < now() - $6::interval and exists (
        select from sync_engine.message_part p
        where p.doc_source_id = batch.doc_source_id and p.message_id = batch.message_id
          and p.stored and p.result_occurred_at is null)
    order by state.message_id for update of state skip locked
), renewed as (
    update bo_airflow.email_ingestion_state state set updated_at = now() from due where state.id = due.id
    returning state.id
)
select state_id, doc_source_id, (select count(*) from batch) as listed, (select count(*) from renewed) as renewed
from batch order by state_id desc, doc_source_id desc limit 1
"""
# Of the messages behind `$4`.
_GIVE_UP = """
with batch as (
    select message_id, state_id from sync_engine.message
    where doc_source_id = $3 and message_id > $4 and state = 'open' and state_id is not null
    order by message_id limit $5
), given_up as (
    update bo_airflow.email_ingestion_state state
    set status = 'failed', error_message = 'its doc source was deleted', updated_at = now()
    from batch where state.app_name = $1 and state.message_id = batch.state_id and state.worker_id = $2
        and state.status = 'processing'
)
select message_id from batch order by message_id
"""


class PgIngestionStates:
    """`IngestionStates` of ports.py, and what other transactions do with rows of the table."""

    def __init__(
        self,
        pool: asyncpg.Pool,
        *,
        app_name: str,
        stuck_timeout: timedelta,
        renewal_batch_size: int = _RENEWAL_BATCH_SIZE,
    ) -> None:
        self._pool = pool
        self._app_name = app_name
        self._stuck_timeout = stuck_timeout
        self._renewal_batch_size = renewal_batch_size

    async def find_state_ids(self, doc_source_id: str, message_ids: Collection[str]) -> Mapping[str, str]:
        async with acquire_session(self._pool) as conn:
            rows = await conn.fetch(
                "select message_id, state_id from sync_engine.message "
                "where doc_source_id = $1 and message_id = any($2) and state_id is not null",
                doc_source_id,
                list(message_ids),
            )
        return {row["message_id"]: row["state_id"] for row in rows}

    async def claim_message(self, source: DocSource, summary: MessageSummary, state_id: str) -> ClaimOutcome:
        row, worker_id = _build_row(state_id, summary), _worker_id_of(source.doc_source_id)
        async with acquire_session(self._pool) as conn:
            claimed = await conn.fetchval(
                _CLAIM,
                self._app_name,
                state_id,
                _mailbox_of(source),
                row["sender_email"],
                summary.received_at,
                summary.subject,
                worker_id,
                self._stuck_timeout,
                _WORKER_PREFIX,
            )
            if claimed is not None:
                return ClaimOutcome.OURS
            found = await conn.fetchrow(
                "select worker_id, status from bo_airflow.email_ingestion_state "
                "where app_name = $1 and message_id = $2",
                self._app_name,
                state_id,
            )
        if found is None:
            return ClaimOutcome.TAKEN  # it was there a moment ago: the next attempt claims it
        if found["worker_id"] == worker_id:
            return ClaimOutcome.OURS  # done by this doc source, and a part of it is tried again
        return ClaimOutcome.DONE if found["status"] == StateStatus.SUCCESS else ClaimOutcome.TAKEN

    async def renew_claims(self) -> int:
        """Of all messages that wait for results; how many."""
        count, after = 0, ("", "")
        while True:
            async with acquire_session(self._pool) as conn:
                last = await conn.fetchrow(
                    _RENEW,
                    self._app_name,
                    _WORKER_PREFIX,
                    *after,
                    self._renewal_batch_size,
                    self._stuck_timeout / _RENEWED_LATELY,
                )
            count += 0 if last is None else int(last["renewed"])
            if last is None or last["listed"] < self._renewal_batch_size:
                return count
            after = last["state_id"], last["doc_source_id"]

    async def lock_claims(self, conn: DatabaseSession, source: DocSource, update: PageUpdate) -> PageUpdate:
        """Within the page transaction: the update without what somebody else has claimed since we did.

        Once the rows are locked nobody claims them before the commit. A new message is parked for that; a part that was
        tried again and a message that was judged anew stay as they were.
        """
        messages = [message for message in (*update.messages, *update.retried) if message.state_id is not None]
        if not messages:
            return update
        await self._insert_skipped(conn, source, [message for message in messages if not _is_claimed(message)])
        rows = await conn.fetch(_LOCK, self._app_name, [message.state_id for message in messages])
        worker_id = _worker_id_of(source.doc_source_id)
        ours = {row["message_id"] for row in rows if row["worker_id"] == worker_id and row["status"] in _HELD}
        lost = frozenset(
            message.message_id for message in messages if _is_claimed(message) and message.state_id not in ours
        )
        for message_id in lost:
            # Somebody else took the message over while its parts were fetched: that took longer than the timeout.
            log.warning("claim_lost", doc_source_id=source.doc_source_id, message_id=message_id)
        return _drop_messages(update, lost)

    async def _insert_skipped(
        self, conn: DatabaseSession, source: DocSource, messages: Sequence[ProcessedMessage]
    ) -> None:
        rows = [_build_row(message.state_id, message.summary) for message in messages]
        if rows:
            worker_id = _worker_id_of(source.doc_source_id)
            await conn.execute(_INSERT_SKIPPED, self._app_name, _mailbox_of(source), worker_id, rows)

    async def lock_state(self, conn: DatabaseSession, state_id: str) -> None:
        await conn.fetch(_LOCK, self._app_name, [state_id])

    async def mark_messages(self, conn: DatabaseSession, doc_source_id: str, message_ids: Sequence[str]) -> None:
        """Within the transaction that changes them: those of which nothing is awaited get what has become of them."""
        if not message_ids:
            return
        rows = await conn.fetch(_LIST_PARTS, doc_source_id, list(message_ids))
        for state_id, parts in groupby(rows, key=itemgetter("state_id")):
            mark = judge_state([_to_part_state(row) for row in parts if row["is_stored"] is not None])
            if mark is not None:
                await conn.execute(
                    _MARK,
                    self._app_name,
                    state_id,
                    _worker_id_of(doc_source_id),
                    mark.status,
                    mark.error_message,
                    mark.attachments,
                    mark.trades,
                    list(mark.archive_paths) or None,
                )

    async def give_up_claims(self, doc_source_id: str, *, batch_size: int) -> None:
        """Of a source that is deleted: its open messages are the next claimant's at once, and not after the timeout."""
        worker_id = _worker_id_of(doc_source_id)
        position: str | None = ""
        while position is not None:
            async with acquire_session(self._pool) as conn:
                rows = await conn.fetch(_GIVE_UP, self._app_name, worker_id, doc_source_id, position, batch_size)
            position = rows[-1]["message_id"] if rows else None


def list_shared_ids(update: PageUpdate) -> list[str]:
    return [message.message_id for message in (*update.messages, *update.retried) if message.state_id is not None]


def _is_claimed(message: ProcessedMessage) -> bool:
    """A message of which nothing is stored has nothing that two could do."""
    return message.state_id is not None and message.state is MessageState.OPEN


def _drop_messages(update: PageUpdate, message_ids: frozenset[str]) -> PageUpdate:
    lost = [message for message in update.messages if message.message_id in message_ids]
    return replace(
        update,
        messages=tuple(message for message in update.messages if message not in lost),
        retried=tuple(message for message in update.retried if message.message_id not in message_ids),
        failed=(
            *update.failed,
            *(
                FailedMessage(message.message_id, ParkedReason.CLAIMED_BY_OTHER_JOB, "it was taken over")
                for message in lost
                if message.earlier is None
            ),
        ),
    )


def _build_row(state_id: str | None, summary: MessageSummary) -> dict[str, object]:
    # The sender chooses how long its address is, and the contract's column how much of it is kept.
    sender = summary.sender_address
    return {
        "message_id": state_id,
        "sender_email": None if sender is None else sender[:_MAX_TEXT],
        "received_at": summary.received_at,
        "subject": summary.subject,
    }


def _worker_id_of(doc_source_id: str) -> str:
    return _WORKER_PREFIX + doc_source_id


def _mailbox_of(source: DocSource) -> str:
    return (source.address or "")[:_MAX_TEXT]


def _to_part_state(row: asyncpg.Record) -> PartState:
    outcome = ("skip_reason", "parked_reason", "result_status", "result_reason")
    return PartState(**{name: row[name] for name in ("filename", "is_stored", *outcome, "trades", "archive_path")})
