"""Stores that a run has begun and how it ended: but for those that had nothing to say."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime

from mailroom_common.errors import Unavailable
from mailroom_common.events import SyncReason
from sync_engine.domain.message_records import RunKind
from sync_engine.domain.run_outcomes import NotSyncable, RunCompleted, RunDeferred, RunOutcome, RunReport, RunUnfinished
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.ports import SyncRuns

# A routine run that takes longer than this is shown as under way.
_ROUTINE_RUN_S = 2.0
_ROUTINE_REASONS = frozenset({SyncReason.NOTIFICATION, SyncReason.BACKSTOP, SyncReason.RETRY})


class RecordRuns:
    def __init__(self, runs: SyncRuns, clock: Callable[[], datetime]) -> None:
        self._runs = runs
        self._clock = clock

    async def record_run(self, run: SyncRun, kind: RunKind, execute: Callable[[], Awaitable[RunOutcome]]) -> RunOutcome:
        """All slices of a full run are one run. Before the first provider call, so that a run that is killed is seen
        too; a routine one only once it takes long."""
        starting = asyncio.create_task(self._start_run(run, kind, after_s=_ROUTINE_RUN_S if _is_routine(run) else 0))
        try:
            if not _is_routine(run):
                await starting
            outcome = await execute()
        except Exception as error:
            # The text of one of our own may be shown: it names what is away, a store or the database.
            detail = str(error) if isinstance(error, Unavailable) else type(error).__name__
            await self._finish_run(run, kind, starting, _build_report(run, "failed", detail))
            raise
        finally:
            starting.cancel()
        if not (_is_routine(run) and _is_uneventful(run, kind, outcome)):
            await self._finish_run(run, kind, starting, _build_report(run, *_describe_outcome(outcome)))
        return outcome

    async def _start_run(self, run: SyncRun, kind: RunKind, *, after_s: float) -> None:
        await asyncio.sleep(after_s)
        await self._runs.start_run(
            run.source,
            _choose_id(run, kind),
            kind,
            sorted(run.reasons),
            run.started_at,
            relist_number=run.state.relist_number,
        )

    async def _finish_run(self, run: SyncRun, kind: RunKind, starting: asyncio.Task[None], report: RunReport) -> None:
        if not starting.done() or starting.cancelled() or starting.exception():
            starting.cancel()
            await self._start_run(run, kind, after_s=0)
        await self._runs.finish_run(_choose_id(run, kind), report, self._clock())


def _choose_id(run: SyncRun, kind: RunKind) -> str:
    return run.full_round.run_id if kind is RunKind.ALL_CURSORS else run.run_id


def _is_routine(run: SyncRun) -> bool:
    """Nobody asked for it by name, and nobody waits for it."""
    state = run.state
    is_first = state.last_completed_full_started_at is None or state.full_round is not None
    return run.reasons <= _ROUTINE_REASONS and state.full_due_mark is None and not (is_first or state.has_failed)


def _is_uneventful(run: SyncRun, kind: RunKind, outcome: RunOutcome) -> bool:
    tally = run.tally
    has_found = tally.new_messages or tally.stored_parts or tally.parked_items
    return kind is RunKind.RECENT_CHANGES and isinstance(outcome, RunCompleted) and not has_found


def _describe_outcome(outcome: RunOutcome) -> tuple[str | None, str | None]:
    match outcome:
        case RunCompleted():
            return "done", None
        case RunUnfinished():
            return None, None
        case RunDeferred(_, detail, _):
            return "retry", detail
        case NotSyncable(detail, _):
            return "not_syncable", detail


def _build_report(run: SyncRun, outcome: str | None, detail: str | None) -> RunReport:
    tally = run.tally
    return RunReport(
        outcome=outcome,
        detail=detail,
        new_messages=tally.new_messages,
        unannounced_messages=tally.unannounced_messages,
        stored_parts=tally.stored_parts,
        parked_items=tally.parked_items,
    )
