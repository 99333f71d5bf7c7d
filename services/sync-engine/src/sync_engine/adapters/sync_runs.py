"""Rows of `sync_run`: when each run began, why, and how it ended."""

from collections.abc import Iterable
from datetime import datetime

import asyncpg

from mailroom_common.events import DocSource
from mailroom_common.postgres import acquire_session
from sync_engine.domain.message_records import RunKind
from sync_engine.domain.run_outcomes import RunReport

_START = """
insert into sync_engine.sync_run (run_id, doc_source_id, tenant_id, kind, reasons, started_at, relist_number)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (run_id) do update set kind = excluded.kind, finished_at = null, outcome = null, detail = null
"""
_FINISH = """
update sync_engine.sync_run
set finished_at = case when $3::text is not null then $2::timestamptz end, outcome = $3, detail = $4,
    new_messages = new_messages + $5, unannounced_messages = unannounced_messages + $6,
    stored_parts = stored_parts + $7, parked_items = parked_items + $8
where run_id = $1
"""


class PgSyncRuns:
    """`SyncRuns` of ports.py."""

    def __init__(self, pool: asyncpg.Pool) -> None:
        self._pool = pool

    async def start_run(
        self,
        source: DocSource,
        run_id: str,
        kind: RunKind,
        reasons: Iterable[str],
        started_at: datetime,
        *,
        relist_number: int = 0,
    ) -> None:
        # A killed process leaves the row without an outcome, which is what it shows to whoever looks for the run.
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                _START,
                run_id,
                source.doc_source_id,
                source.tenant_id,
                str(kind),
                list(map(str, reasons)),
                started_at,
                relist_number,
            )

    async def finish_run(self, run_id: str, report: RunReport, finished_at: datetime) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(
                _FINISH,
                run_id,
                finished_at,
                report.outcome,
                report.detail,
                report.new_messages,
                report.unannounced_messages,
                report.stored_parts,
                report.parked_items,
            )
