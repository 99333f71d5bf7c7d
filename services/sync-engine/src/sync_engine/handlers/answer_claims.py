"""What comes of a claimed sync request: a run, or a reason for none, and the record that answers it in the log."""

from collections.abc import Callable
from datetime import datetime, timedelta

from mailroom_common.errors import Retryable, Unavailable
from mailroom_common.events import DocSource, DocSourceState, SyncReason
from mailroom_common.logs import get_logger
from sync_engine.domain.run_outcomes import NotSyncable, RunCompleted, RunDeferred, RunOutcome, RunUnfinished
from sync_engine.domain.work_table import Claim, RecordToAppend, WorkTable
from sync_engine.ports import ConnectionEventPublisher, DocSources, MailboxSync, SyncStates

log = get_logger()

# How long a key rests when Postgres, Kafka or the directory could not be asked; the request stays as it is.
REST_S = 2.0
REST_AFTER_CRASH_S = 30.0
_CATCH_UP_S = 10.0


class AnswerClaims:
    def __init__(
        self,
        *,
        runs: MailboxSync,
        states: SyncStates,
        sources: DocSources,
        connections: ConnectionEventPublisher,
        clock: Callable[[], datetime],
    ) -> None:
        self._runs = runs
        self._states = states
        self._sources = sources
        self._connections = connections
        self._clock = clock

    async def answer_claim(self, table: WorkTable, claim: Claim) -> tuple[str, RecordToAppend | None]:
        """The outcome as the metric names it, and what to append for it.

        When cancelled it answers nothing: then the request stays, for the next owner of the partition.
        """
        try:
            return await self._run_claim(table, claim)
        except Retryable as error:
            # A dependency of ours is away; the request stays pending and is claimed again.
            log.warning("sync_postponed", doc_source_id=claim.key, reason=str(error))
            rest_s = error.retry_after_s or REST_S
        except Exception:
            # A bug of ours around the run; the request stays pending and is claimed again.
            log.exception("claim_crashed", doc_source_id=claim.key)
            rest_s = REST_AFTER_CRASH_S
        table.release_claim(claim, not_before=self._clock() + timedelta(seconds=rest_s))
        return "postponed", None

    async def _run_claim(self, table: WorkTable, claim: Claim) -> tuple[str, RecordToAppend | None]:
        source = await self._find_source(claim)
        if source is None:
            log.info("unknown_source_requested", doc_source_id=claim.key)
            return "not_syncable", table.end_claim_and_build_tombstone(claim)
        # The stored time counts, whatever the request says: another worker may have had the failure.
        not_before = (await self._states.raise_version_and_read_state(source)).not_before
        if not_before is not None and not_before > self._clock():
            table.release_claim(claim, not_before=not_before)
            return "resting", None
        outcome, source = await self._run_source(source, claim)
        match outcome:
            case RunCompleted():
                # Before the answer: when this fails the request stays pending, and the run is repeated.
                await self._connections.report_synced(source, outcome)
                return "done", table.end_claim_and_build_tombstone(claim)
            case RunUnfinished():
                if outcome.has_progress:
                    await self._connections.report_synced(source, _describe_progress(outcome))
                return "unfinished", table.back_off(claim, not_before=outcome.not_before)
            case RunDeferred(not_before, detail, is_failure):
                # The source is not synced before `not_before`; its request is appended again for then.
                log.warning("sync_deferred", doc_source_id=claim.key, not_before=not_before.isoformat(), reason=detail)
                await self._connections.report_failing(source, detail, is_failure=is_failure)
                return "retry", table.back_off(claim, not_before=not_before)
            case NotSyncable(detail, kind):
                log.info("source_not_syncable", doc_source_id=claim.key, kind=kind, reason=detail)
                if kind:
                    await self._connections.report_not_syncable(source, kind, detail)
                return "not_syncable", table.end_claim_and_build_tombstone(claim)

    async def find_known_keys(self, keys: list[str]) -> list[str]:
        """Those that are doc sources, by a directory that is up to date where one seems unknown."""
        if any(self._sources.get_source(key) is None for key in keys):
            await self._catch_up()
        return [key for key in keys if self._sources.get_source(key) is not None]

    async def _find_source(self, claim: Claim) -> DocSource | None:
        """What would end the request unanswered is believed only of a directory that has read to the end of its topic:
        the request may be newer than what was read. A re-list is asked for by the version that was published before it.
        """
        source = self._sources.get_source(claim.key)
        if source is None or source.state is not DocSourceState.ACTIVE or SyncReason.REPLAY in claim.reasons:
            await self._catch_up()
            source = self._sources.get_source(claim.key)
        return source

    async def _catch_up(self) -> None:
        if not await self._sources.catch_up(_CATCH_UP_S):
            raise Unavailable("the directory could not read doc-sources to its end")

    async def _run_source(self, source: DocSource, claim: Claim) -> tuple[RunOutcome, DocSource]:
        outcome = await self._attempt_run(source, claim)
        if isinstance(outcome, NotSyncable):
            # Consent may have been given again, or the source resumed, in a version that was not read yet.
            await self._catch_up()
            newer = self._sources.get_source(claim.key)
            if newer is not None and newer.version != source.version:
                return await self._run_source(newer, claim)
        return outcome, source

    async def _attempt_run(self, source: DocSource, claim: Claim) -> RunOutcome:
        if source.state is not DocSourceState.ACTIVE:
            return NotSyncable(f"the source is {source.state}")
        try:
            return await self._runs.sync_mailbox(source, reasons=claim.reasons)
        except Retryable:
            raise
        except Exception:
            # A bug of ours in the run; its committed pages stand, and the source is tried again after a pause.
            log.exception("sync_run_crashed", doc_source_id=source.doc_source_id)
            return RunDeferred(await self._states.back_off(source), "the run crashed", is_failure=False)


def _describe_progress(unfinished: RunUnfinished) -> RunCompleted:
    """A mailbox that is being read for hours is synced all the while."""
    return RunCompleted(new_messages=unfinished.new_messages, unannounced_messages=unfinished.unannounced_messages)
