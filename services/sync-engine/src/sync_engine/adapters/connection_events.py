"""Reports to subscription-manager how connections fare: `connection-events`, through the outbox.

What was reported stands in `sync_state`, whose row is locked first: it is the aggregate of these events.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

import asyncpg

from mailroom_common.events import ConnectionEvent, ConnectionKind, DocSource, derive_event_id
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, open_transaction
from mailroom_common.topics import CONNECTION_EVENTS
from sync_engine.domain.run_outcomes import RunCompleted

_SYNCED_INTERVAL = timedelta(minutes=1)
# A single 503 is not worth an event: only failures that last are reported.
_MIN_REPORTED_FAILURES = 3

_LOCK_ROW = """
select failure_reported_at, synced_reported_at, unannounced_messages, failed_attempts, missing_folders
from sync_engine.sync_state where doc_source_id = $1 and forgotten_at is null for update
"""
_UPDATE_ROW = """
update sync_engine.sync_state
set failure_reported_at = $2, synced_reported_at = $3, unannounced_messages = $4, missing_folders = $5
where doc_source_id = $1
"""


class PgConnectionEvents:
    """`ConnectionEventPublisher` of ports.py."""

    def __init__(self, pool: asyncpg.Pool, outbox: Outbox, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._outbox = outbox
        self._clock = clock

    async def report_synced(self, source: DocSource, completed: RunCompleted) -> None:
        async with open_transaction(self._pool) as conn:
            row = await _lock_row(conn, source)
            if row is None:
                return  # forgotten meanwhile
            now = self._clock()
            missing = row["missing_folders"]
            if completed.missing_folders is not None:
                missing = list(completed.missing_folders)
            if row["failure_reported_at"] is not None and not missing:
                await self._append_event(conn, source, ConnectionKind.RECOVERED, now)
            unannounced = row["unannounced_messages"] + completed.unannounced_messages
            synced_at = row["synced_reported_at"]
            is_due = synced_at is None or now - synced_at >= _SYNCED_INTERVAL
            if is_due:
                await self._append_event(conn, source, ConnectionKind.SYNCED, now, unannounced=unannounced)
                synced_at, unannounced = now, 0
            if missing and (is_due or missing != row["missing_folders"]):
                # Behind each `synced`, which makes the connection active: the rest of the mailbox is synced, and yet
                # the connection does not do what it was set up for.
                detail = f"not in the mailbox any more: {', '.join(missing)} (of `folders`)"
                await self._append_event(conn, source, ConnectionKind.PROVIDER_FAILING, now, detail=detail)
            failure_reported_at = now if missing else None
            await conn.execute(_UPDATE_ROW, source.doc_source_id, failure_reported_at, synced_at, unannounced, missing)

    async def report_failing(self, source: DocSource, detail: str) -> None:
        async with open_transaction(self._pool) as conn:
            row = await _lock_row(conn, source)
            if row is None or row["failure_reported_at"] is not None or row["failed_attempts"] < _MIN_REPORTED_FAILURES:
                return
            now = self._clock()
            await self._append_event(conn, source, ConnectionKind.PROVIDER_FAILING, now, detail=detail)
            await conn.execute(
                "update sync_engine.sync_state set failure_reported_at = $2 where doc_source_id = $1",
                source.doc_source_id,
                now,
            )

    async def report_not_syncable(self, source: DocSource, kind: ConnectionKind, detail: str) -> None:
        async with open_transaction(self._pool) as conn:
            row = await _lock_row(conn, source)
            if row is not None:
                # One event until the source has been synced in between, however often a run finds it so.
                last_synced_at = row["synced_reported_at"]
                state_id = last_synced_at.isoformat() if last_synced_at else "never synced"
                await self._append_event(conn, source, kind, self._clock(), state_id=state_id, detail=detail)

    async def _append_event(
        self,
        conn: DatabaseSession,
        source: DocSource,
        kind: ConnectionKind,
        now: datetime,
        *,
        state_id: str | None = None,
        detail: str | None = None,
        unannounced: int = 0,
    ) -> None:
        """Events with the same `state_id` are repeats of one event; without it each is an event of its own."""
        event = ConnectionEvent(
            event_id=derive_event_id(
                "connection", source.doc_source_id, kind, source.grant_generation, state_id or now.isoformat()
            ),
            occurred_at=now,
            tenant_id=source.tenant_id,
            doc_source_id=source.doc_source_id,
            kind=kind,
            detail=detail,
            grant_generation=source.grant_generation,
            unannounced=unannounced,
            source_version=source.version,
        )
        await self._outbox.append_record(
            conn, CONNECTION_EVENTS, source.doc_source_id, event, aggregate=f"connection:{source.doc_source_id}"
        )


async def _lock_row(conn: DatabaseSession, source: DocSource) -> asyncpg.Record | None:
    return await conn.fetchrow(_LOCK_ROW, source.doc_source_id)
