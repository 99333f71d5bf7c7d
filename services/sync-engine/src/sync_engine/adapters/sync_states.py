"""Rows of `sync_state`: whether a mailbox may be synced, not before when, and what kind of run is due."""

import random
from collections.abc import Callable, Iterable
from datetime import datetime

import asyncpg

from mailroom_common.errors import Fatal
from mailroom_common.events import DocSource
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction
from mailroom_common.providers.ports import ChangeListing
from sync_engine.adapters.cursors import restart_cursors
from sync_engine.domain.message_records import FullRound, SyncState
from sync_engine.domain.run_planning import choose_relist_start

_FIRST_PAUSE_S = 2.0
_MAX_PAUSE_S = 900.0

_SELECT = """
select source_state, source_version, grant_generation, not_before, failed_attempts, stalled_since, refused_generation,
       modified_listed_until, last_completed_full_started_at, last_completed_full_ended_at, full_due_mark,
       full_round_started_at, full_round_run_id, full_round_due_mark, relist_number, forgotten_at
from sync_engine.sync_state where doc_source_id = $1
"""
# Version, state and generation only rise; the failures of an older grant do not count for a newer one.
_UPSERT_VERSION = """
insert into sync_engine.sync_state as old (doc_source_id, tenant_id, source_version, source_state, grant_generation)
values ($1, $2, $3, $4, $5)
on conflict (doc_source_id) do update set
    tenant_id = excluded.tenant_id,
    source_version = greatest(old.source_version, excluded.source_version),
    source_state =
        case when excluded.source_version > old.source_version then excluded.source_state else old.source_state end,
    grant_generation = greatest(old.grant_generation, excluded.grant_generation),
    not_before = case when excluded.grant_generation > old.grant_generation then null else old.not_before end,
    failed_attempts = case when excluded.grant_generation > old.grant_generation then 0 else old.failed_attempts end,
    stalled_since = case when excluded.grant_generation > old.grant_generation then null else old.stalled_since end,
    refused_generation =
        case when excluded.grant_generation > old.grant_generation then null else old.refused_generation end
"""
# Each mark is a new number: a run that began with an older mark does not clear it.
_MARK_FULL_DUE = """
insert into sync_engine.sync_state (doc_source_id, full_due_mark)
select id, nextval('sync_engine.full_due_mark_number') from unnest($1::text[]) as id order by id
on conflict (doc_source_id) do update set full_due_mark = excluded.full_due_mark
"""
# The wait that a provider names lengthens ours and never shortens it: "after 0 seconds" would loop without a pause.
# A throttle ($8 = 0) counts as no failure, so a backlog goes on at the pace of the quota instead of ever more slowly.
# $9 restores what a commit of this run has reset, where the run fails all the same at what failed before.
_BACK_OFF = """
insert into sync_engine.sync_state as old (doc_source_id, tenant_id, failed_attempts, stalled_since, not_before)
values ($1, $2, $8::int, $3::timestamptz, $3::timestamptz
    + greatest($4::float8, least($6::float8, $5::float8) * $7) * interval '1 second')
on conflict (doc_source_id) do update set
    stalled_since = coalesce(old.stalled_since, $3::timestamptz),
    failed_attempts = greatest(old.failed_attempts, $9::int) + $8,
    not_before = $3::timestamptz
        + greatest($4::float8,
                   least($6::float8, $5::float8 * 2 ^ ($8 * least(greatest(old.failed_attempts, $9), 20))) * $7)
        * interval '1 second'
returning not_before
"""
# Not where a newer grant is known by now: its failures are not those of this run.
_RECORD_SUCCESS = """
update sync_engine.sync_state set
    not_before = null, failed_attempts = 0, stalled_since = null,
    last_completed_full_started_at = greatest(last_completed_full_started_at, $3),
    last_completed_full_ended_at =
        case when $3::timestamptz is not null then $5::timestamptz else last_completed_full_ended_at end,
    full_due_mark = case when $3::timestamptz is not null and full_due_mark = $4 then null else full_due_mark end,
    full_round_started_at = case when $3::timestamptz is null then full_round_started_at end,
    full_round_run_id = case when $3::timestamptz is null then full_round_run_id end,
    full_round_due_mark = case when $3::timestamptz is null then full_round_due_mark end
where doc_source_id = $1 and grant_generation <= $2
  and (failed_attempts > 0 or stalled_since is not null or not_before is not null or $3::timestamptz is not null)
"""
# The first one that is stored stays: the list of modified messages may go on from its start. A re-list that has begun
# since is not what this run reads.
_BEGIN_FULL_ROUND = """
update sync_engine.sync_state
set full_round_started_at = $2, full_round_run_id = $3, full_round_due_mark = $4
where doc_source_id = $1 and full_round_started_at is null and relist_number <= $5
"""
_LOCK_RELIST_NUMBER = """
select relist_number from sync_engine.sync_state
where doc_source_id = $1 and relist_number < $2 and source_state = 'active' and forgotten_at is null
for no key update
"""
# The mark makes the next run a full one, and one after a failure too.
_RAISE_RELIST_NUMBER = """
update sync_engine.sync_state
set relist_number = $2, full_due_mark = nextval('sync_engine.full_due_mark_number'),
    full_round_started_at = null, full_round_run_id = null, full_round_due_mark = null
where doc_source_id = $1
"""


class PgSyncStates:
    """`SyncStates` of ports.py."""

    def __init__(self, pool: asyncpg.Pool, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._clock = clock

    async def raise_version_and_read_state(self, source: DocSource) -> SyncState:
        async with acquire_session(self._pool) as conn:
            return await raise_and_read_state(conn, source)

    async def mark_full_due(self, doc_source_ids: Iterable[str]) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_MARK_FULL_DUE, list(doc_source_ids))

    async def back_off(
        self,
        source: DocSource,
        *,
        retry_after_s: float | None = None,
        is_throttled: bool = False,
        earlier_failures: int = 0,
    ) -> datetime:
        async with acquire_session(self._pool) as conn:
            not_before: datetime = await conn.fetchval(
                _BACK_OFF,
                source.doc_source_id,
                source.tenant_id,
                self._clock(),
                retry_after_s,
                _FIRST_PAUSE_S,
                _MAX_PAUSE_S,
                random.uniform(0.5, 1.0),  # noqa: S311  # jitter
                0 if is_throttled else 1,
                earlier_failures,
            )
            return not_before

    async def begin_full_round(self, source: DocSource, full_round: FullRound) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                _BEGIN_FULL_ROUND,
                source.doc_source_id,
                full_round.started_at,
                full_round.run_id,
                full_round.due_mark,
                source.relist_number,
            )

    async def record_success(self, source: DocSource, full_round: FullRound | None) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                _RECORD_SUCCESS,
                source.doc_source_id,
                source.grant_generation,
                full_round and full_round.started_at,
                full_round and full_round.due_mark,
                self._clock(),
            )

    async def record_grant_refusal(self, source: DocSource, generation: int) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                "update sync_engine.sync_state set refused_generation = greatest(refused_generation, $2) "
                "where doc_source_id = $1",
                source.doc_source_id,
                generation,
            )

    async def record_modified_listed_until(self, source: DocSource, until: datetime) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                "update sync_engine.sync_state set modified_listed_until = $2 "
                "where doc_source_id = $1 and (modified_listed_until is null or modified_listed_until < $2)",
                source.doc_source_id,
                until,
            )

    async def begin_relist(self, source: DocSource, listing: ChangeListing) -> SyncState:
        async with open_transaction(self._pool) as conn:
            # The number and the cursors together: a crash between them would lose the re-list or begin it twice.
            begun_number = await conn.fetchval(_LOCK_RELIST_NUMBER, source.doc_source_id, source.relist_number)
            if begun_number is not None:
                await conn.execute(_RAISE_RELIST_NUMBER, source.doc_source_id, source.relist_number)
                since = choose_relist_start(source, begun_number)
                await restart_cursors(conn, source.doc_source_id, listing, since, self._clock())
            return await raise_and_read_state(conn, source)


async def raise_and_read_state(conn: DatabaseSession, source: DocSource) -> SyncState:
    """The row, raised to this version of the source. It is written only where it was below."""
    row = await conn.fetchrow(_SELECT, source.doc_source_id)
    if row is None or row["source_version"] < source.version or row["grant_generation"] < source.grant_generation:
        await conn.execute(
            _UPSERT_VERSION,
            source.doc_source_id,
            source.tenant_id,
            source.version,
            str(source.state),
            source.grant_generation,
        )
        row = await conn.fetchrow(_SELECT, source.doc_source_id)
    if row is None:
        raise Fatal(f"the row of doc source {source.doc_source_id} was deleted by someone else")
    return SyncState(
        source_state="deleting" if row["forgotten_at"] else row["source_state"],
        not_before=row["not_before"],
        failed_attempts=row["failed_attempts"],
        stalled_since=row["stalled_since"],
        refused_generation=row["refused_generation"],
        modified_listed_until=row["modified_listed_until"],
        last_completed_full_started_at=row["last_completed_full_started_at"],
        last_completed_full_ended_at=row["last_completed_full_ended_at"],
        full_round=_read_full_round(row),
        full_due_mark=row["full_due_mark"],
        relist_number=row["relist_number"],
    )


def _read_full_round(row: asyncpg.Record) -> FullRound | None:
    if row["full_round_started_at"] is None:
        return None
    return FullRound(
        started_at=row["full_round_started_at"], run_id=row["full_round_run_id"], due_mark=row["full_round_due_mark"]
    )
