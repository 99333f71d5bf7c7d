"""Tells subscription-manager how connections fare: `connection-events`, through the outbox.

What was told stands in `sync_state`, whose row is locked first: it is the aggregate of these events.
"""

from collections.abc import Callable
from datetime import datetime, timedelta

import asyncpg

from mailroom_common.events import ConnectionEvent, ConnectionKind, DocSource, derive_event_id
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, open_transaction
from mailroom_common.topics import CONNECTION_EVENTS
from sync_engine.ports import Done

_SYNCED_EVERY = timedelta(minutes=1)
# A single 503 is not worth a word: people are told what lasts.
_FAILING_AFTER_ATTEMPTS = 3


class PgConnectionEvents:
    def __init__(self, pool: asyncpg.Pool, outbox: Outbox, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._outbox = outbox
        self._clock = clock

    async def synced(self, source: DocSource, done: Done) -> None:
        async with open_transaction(self._pool) as conn:
            row = await _locked(conn, source)
            if row is None:
                return  # forgotten meanwhile
            now = self._clock()
            if row["failing_told_at"] is not None:
                await self._tell(conn, source, ConnectionKind.RECOVERED, now)
            unannounced = row["unannounced"] + done.unannounced
            told_at = row["synced_told_at"]
            if told_at is None or now - told_at >= _SYNCED_EVERY:
                await self._tell(conn, source, ConnectionKind.SYNCED, now, unannounced=unannounced)
                told_at, unannounced = now, 0
            await conn.execute(
                "update sync_engine.sync_state set failing_told_at = null, synced_told_at = $2, unannounced = $3 "
                "where doc_source_id = $1",
                source.doc_source_id,
                told_at,
                unannounced,
            )

    async def failing(self, source: DocSource, detail: str) -> None:
        async with open_transaction(self._pool) as conn:
            row = await _locked(conn, source)
            if row is None or row["failing_told_at"] is not None or row["attempts"] < _FAILING_AFTER_ATTEMPTS:
                return
            now = self._clock()
            await self._tell(conn, source, ConnectionKind.PROVIDER_FAILING, now, detail=detail)
            await conn.execute(
                "update sync_engine.sync_state set failing_told_at = $2 where doc_source_id = $1",
                source.doc_source_id,
                now,
            )

    async def unsyncable(self, source: DocSource, kind: ConnectionKind, detail: str) -> None:
        async with open_transaction(self._pool) as conn:
            row = await _locked(conn, source)
            if row is not None:
                # The same until the source has been synced in between, however often it is found.
                last_synced_at = row["synced_told_at"]
                since = last_synced_at.isoformat() if last_synced_at else "never synced"
                await self._tell(conn, source, kind, self._clock(), since=since, detail=detail)

    async def _tell(
        self,
        conn: DatabaseSession,
        source: DocSource,
        kind: ConnectionKind,
        now: datetime,
        *,
        since: str | None = None,
        detail: str | None = None,
        unannounced: int = 0,
    ) -> None:
        """`since` makes a repeat of the same news the same event; without it each is news."""
        told = since or now.isoformat()
        event = ConnectionEvent(
            event_id=derive_event_id("connection", source.doc_source_id, kind, source.grant_generation, told),
            occurred_at=now,
            tenant_id=source.tenant_id,
            doc_source_id=source.doc_source_id,
            kind=kind,
            detail=detail,
            grant_generation=source.grant_generation,
            unannounced=unannounced,
        )
        await self._outbox.append_record(
            conn, CONNECTION_EVENTS, source.doc_source_id, event, aggregate=f"connection:{source.doc_source_id}"
        )


async def _locked(conn: DatabaseSession, source: DocSource) -> asyncpg.Record | None:
    return await conn.fetchrow(
        "select failing_told_at, synced_told_at, unannounced, attempts from sync_engine.sync_state "
        "where doc_source_id = $1 and forgotten_at is null for update",
        source.doc_source_id,
    )
