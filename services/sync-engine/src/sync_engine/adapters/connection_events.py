"""Reports to subscription-manager how connections fare: `connection-events`, through the outbox.

What was reported stands in `sync_state`, whose row is locked first: it is the aggregate of these events.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import asyncpg

from mailroom_common.events import ConnectionEvent, ConnectionKind, DocSource, Profile, derive_event_id
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction
from mailroom_common.topics import CONNECTION_EVENTS
from sync_engine.domain.run_outcomes import RunCompleted

_SYNCED_INTERVAL = timedelta(minutes=1)
# A single 503 is not worth an event: only failures that last are reported.
_MIN_REPORTED_FAILURES = 3
# Nor is a throttle; but a mailbox that gets nowhere for so long has to be looked at, whatever keeps it.
_MAX_STALL = timedelta(minutes=15)

_READ_ROW = """
select failure_reported_at, synced_reported_at, unannounced_messages, failed_attempts, stalled_since, missing_folders
from sync_engine.sync_state where doc_source_id = $1 and forgotten_at is null
"""
_LOCK_ROW = f"{_READ_ROW} for update"
_UPDATE_ROW = """
update sync_engine.sync_state
set failure_reported_at = $2, synced_reported_at = $3, unannounced_messages = $4, missing_folders = $5
where doc_source_id = $1
"""
_LIST_FAILING_FOLDERS = """
select path from sync_engine.folder
where doc_source_id = $1 and changes_failed_since is not null order by path limit $2
"""
_MAX_NAMED_FOLDERS = 5


class PgConnectionEvents:
    """`ConnectionEventPublisher` of ports.py."""

    def __init__(self, pool: asyncpg.Pool, outbox: Outbox, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._outbox = outbox
        self._clock = clock

    async def report_synced(self, source: DocSource, completed: RunCompleted) -> None:
        async with acquire_session(self._pool) as conn:
            # Without a lock: what another run reports meanwhile is no less true.
            if not _has_news(await conn.fetchrow(_READ_ROW, source.doc_source_id), completed, self._clock()):
                return
        async with open_transaction(self._pool) as conn:
            row = await _lock_row(conn, source)
            if row is None:
                return  # forgotten meanwhile
            now = self._clock()
            missing = row["missing_folders"]
            if completed.missing_folders is not None:
                missing = list(completed.missing_folders)
            has_recovered = row["failure_reported_at"] is not None
            if has_recovered:
                await self._append_event(conn, source, ConnectionKind.RECOVERED, now)
            unannounced = row["unannounced_messages"] + completed.unannounced_messages
            synced_at = row["synced_reported_at"]
            is_due = synced_at is None or now - synced_at >= _SYNCED_INTERVAL
            # What is wrong all the same stands behind `recovered` too, and is said at once when it changes.
            if is_due or has_recovered or missing != row["missing_folders"]:
                trouble = _describe_trouble(source, missing, await _list_failing_folders(conn, source))
                await self._append_event(
                    conn, source, ConnectionKind.SYNCED, now, unannounced=unannounced, trouble=trouble
                )
                synced_at, unannounced = now, 0
            await conn.execute(_UPDATE_ROW, source.doc_source_id, None, synced_at, unannounced, missing)

    async def report_failing(self, source: DocSource, detail: str, *, is_failure: bool) -> None:
        async with open_transaction(self._pool) as conn:
            row = await _lock_row(conn, source)
            if row is None or row["failure_reported_at"] is not None:
                return
            now = self._clock()
            stalled_since = row["stalled_since"]
            if stalled_since is not None and now - stalled_since >= _MAX_STALL:
                detail = f"no progress since {stalled_since:%Y-%m-%d %H:%M} UTC: {detail}"
            elif not is_failure or row["failed_attempts"] < _MIN_REPORTED_FAILURES:
                return
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
        trouble: str | None = None,
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
            trouble=trouble,
            source_version=source.version,
        )
        await self._outbox.append_record(
            conn, CONNECTION_EVENTS, source.doc_source_id, event, aggregate=f"connection:{source.doc_source_id}"
        )


async def _lock_row(conn: DatabaseSession, source: DocSource) -> asyncpg.Record | None:
    return await conn.fetchrow(_LOCK_ROW, source.doc_source_id)


def _has_news(row: asyncpg.Record | None, completed: RunCompleted, now: datetime) -> bool:
    """Runs follow one another within seconds, and most of them have nothing to report."""
    if row is None:
        return False
    missing = completed.missing_folders
    return (
        row["synced_reported_at"] is None
        or now - row["synced_reported_at"] >= _SYNCED_INTERVAL
        or row["failure_reported_at"] is not None
        or completed.unannounced_messages > 0
        or (missing is not None and list(missing) != row["missing_folders"])
    )


async def _list_failing_folders(conn: DatabaseSession, source: DocSource) -> list[str]:
    rows = await conn.fetch(_LIST_FAILING_FOLDERS, source.doc_source_id, _MAX_NAMED_FOLDERS)
    return [row["path"] for row in rows]


def _describe_trouble(source: DocSource, missing: Sequence[str], failing: Sequence[str]) -> str | None:
    """What the mailbox does not give though it is synced, and what to do. None: nothing."""
    troubles = []
    if missing:
        troubles.append(
            f"not in the mailbox any more: {', '.join(missing)} (of `folders`): name them as they are called now"
        )
    if failing:
        meanwhile = "their mail is read by lists meanwhile"
        if source.profile is Profile.OBSERVATION:
            meanwhile = "what happens there is reported once it does"
        troubles.append(
            f"the provider fails to list the changes of {', '.join(failing)}: {meanwhile}, and nothing has to be done"
        )
    return "; ".join(troubles) or None
