"""One sync run of one mailbox: decides what it does, does it, and says how it ended."""

from collections.abc import Callable, Mapping
from datetime import datetime

from mailroom_common.blobs import BlobStore
from mailroom_common.errors import (
    AccessDenied,
    ActionRequired,
    MailboxGone,
    ProviderUnavailable,
    Retryable,
    Throttled,
    TokenRefused,
    Unavailable,
)
from mailroom_common.events import Access, ConnectionKind, DocSource, DocSourceState, Provider, SyncReason
from mailroom_common.logs import get_logger
from mailroom_common.providers.ports import MailReader
from sync_engine.domain.plan import Timings, kind_of_run
from sync_engine.domain.records import HISTORY, RELIST, RunKind, Standing
from sync_engine.domain.watched import Watch
from sync_engine.handlers.advance_cursor import AdvanceCursor
from sync_engine.handlers.observe_messages import ObserveMessages
from sync_engine.handlers.retry_parked import RetryParked
from sync_engine.handlers.run import Run, mailbox_of
from sync_engine.handlers.take_hinted import TakeHinted
from sync_engine.handlers.take_messages import TakeMessages
from sync_engine.handlers.watch_folders import WatchFolders
from sync_engine.ports import Done, NotSyncable, RetryAt, RunOutcome, SyncStates
from sync_engine.run_ports import CursorMoved, NotToBeSynced, RunReport, RunTables

log = get_logger()

# How often a run reads its cursors anew because somebody else had moved one: a zombie does so once or twice.
_MOST_BEGINNINGS = 3

_NEEDS_PEOPLE = {
    TokenRefused: ConnectionKind.TOKEN_REFUSED,
    AccessDenied: ConnectionKind.ACCESS_DENIED,
    MailboxGone: ConnectionKind.MAILBOX_GONE,
}


class RunSync:
    """`SyncsMailboxes`. A provider that has no client configured is missing in `providers`."""

    def __init__(
        self,
        *,
        providers: Mapping[str, MailReader],
        tables: RunTables,
        states: SyncStates,
        blobs: BlobStore,
        clock: Callable[[], datetime],
        timings: Timings,
        messages_at_once: int = 3,
    ) -> None:
        self._providers = providers
        self._tables = tables
        self._states = states
        self._clock = clock
        self._timings = timings
        take = TakeMessages(blobs, tables, at_once=messages_at_once)
        observe = ObserveMessages(clock, at_once=messages_at_once)
        self._folders = WatchFolders(tables)
        self._advance = AdvanceCursor(tables, take, observe, clock)
        self._hinted = TakeHinted(tables, self._folders, take, self._advance, clock)
        self._parked = RetryParked(tables, take, observe, clock)

    async def run(self, source: DocSource, *, reasons: frozenset[SyncReason]) -> RunOutcome:
        standing = await self._tables.enter(source)
        now = self._clock()
        if refused := _why_not(source, standing):
            return refused
        if standing.not_before is not None and standing.not_before > now:
            return RetryAt(standing.not_before, "the source rests after a failure", failing=False)
        provider = self._providers.get(source.provider)
        if provider is None:
            return await self._put_off(source, ProviderUnavailable(f"no client for {source.provider} is configured"))
        kind = kind_of_run(standing, self._timings, now)
        run = Run(
            source=source,
            mailbox=mailbox_of(source),
            provider=provider,
            reasons=reasons,
            standing=standing,
            started_at=now,
            timings=self._timings,
        )
        run_id = await self._tables.begin_run(source, kind, sorted(reasons), now)
        try:
            outcome = await self._outcome(run, kind)
        except Exception as error:
            await self._tables.end_run(run_id, _report(run, "failed", type(error).__name__), self._clock())
            raise
        await self._tables.end_run(run_id, _report(run, *_told(outcome)), self._clock())
        return outcome

    async def _outcome(self, run: Run, kind: RunKind) -> RunOutcome:
        try:
            await self._sync(run, kind)
        except NotToBeSynced as error:
            return NotSyncable(str(error))
        except ActionRequired as error:
            return await self._rests(run, error)
        except Unavailable:
            raise
        except Retryable as error:
            return await self._put_off(run.source, error)
        full = kind is RunKind.FULL or run.source.provider is Provider.GMAIL
        await self._tables.succeeded(
            run.source, full_since=run.started_at if full else None, full_due=run.standing.full_due
        )
        return Done(found_new=run.tally.found_new, unannounced=run.tally.unannounced, full=full)

    async def _sync(self, run: Run, kind: RunKind) -> None:
        for beginning in range(1, _MOST_BEGINNINGS + 1):
            try:
                watch, unread = await self._sync_once(run, kind)
                await self._retry_parked(run, watch)
            except CursorMoved as error:
                log.info("cursor_moved_by_another", doc_source_id=run.doc_source_id)
                if beginning == _MOST_BEGINNINGS:
                    raise Throttled("another worker syncs this mailbox", retry_after_s=5) from error
            else:
                if unread:
                    raise unread
                return

    async def _sync_once(self, run: Run, kind: RunKind) -> tuple[Watch | None, ProviderUnavailable | None]:
        """What is watched, where that had to be asked for; and what kept some folders from being read."""
        if run.source.provider is Provider.GMAIL:
            return await self._history(run, kind), None
        if kind is RunKind.HINTED:
            await self._hinted.run(run)
            return None, None
        watch = await self._folders.watch(run)
        unread = await self._advance.advance_each(run, watch, watch.folders)
        if run.observes:
            await self._advance.end_gone_folders(run, watch)
        return watch, unread

    async def _history(self, run: Run, kind: RunKind) -> Watch:
        """Gmail: new mail by the history; what was there before by a re-list beside it, while one is under way."""
        watch = await self._folders.watch_labels(run, afresh=kind is RunKind.FULL)

        async def new_mail() -> None:
            await self._advance.advance(run, watch, HISTORY)

        await new_mail()
        if (await self._tables.cursor(run.doc_source_id, RELIST)).is_under_way:
            await self._advance.advance(run, watch, RELIST, between=new_mail)
        return watch

    async def _retry_parked(self, run: Run, watch: Watch | None) -> None:
        # The mark, not the reasons: those of a run that failed are not those of the next, and the mark outlives them.
        wants_all = run.standing.full_due is not None
        due = await self._tables.parked_due(run.doc_source_id, run.started_at, all_of_them=wants_all)
        if due:
            await self._parked.retry(run, watch or await self._folders.watch_for(run, ()), list(due))

    async def _rests(self, run: Run, error: ActionRequired) -> RunOutcome:
        kind = next((kind for of, kind in _NEEDS_PEOPLE.items() if isinstance(error, of)), ConnectionKind.ACCESS_DENIED)
        if isinstance(error, TokenRefused):
            if error.grant_generation < run.source.grant_generation:
                # An old grant's refusal, come late: the newer one has not been tried yet.
                return await self._put_off(run.source, Throttled(str(error), retry_after_s=1))
            # An application's access has no grant that somebody could renew with us: it is tried again each time.
            if run.source.access is Access.DELEGATED:
                await self._tables.refuse_grant(run.source, error.grant_generation)
        return NotSyncable(str(error), kind)

    async def _put_off(self, source: DocSource, error: Retryable) -> RetryAt:
        not_before = await self._states.put_off(source, detail=str(error), retry_after_s=error.retry_after_s)
        return RetryAt(not_before, str(error), failing=not isinstance(error, Throttled))


def _why_not(source: DocSource, standing: Standing) -> NotSyncable | None:
    """The row may be ahead of the directory that the caller read."""
    if standing.state != DocSourceState.ACTIVE:
        return NotSyncable(f"the source is {standing.state}")
    if standing.refused_generation is not None and standing.refused_generation >= source.grant_generation:
        return NotSyncable("the grant was refused", ConnectionKind.TOKEN_REFUSED)
    return None


def _told(outcome: RunOutcome) -> tuple[str, str | None]:
    match outcome:
        case Done():
            return "done", None
        case RetryAt(_, detail, _):
            return "retry", detail
        case NotSyncable(detail, _):
            return "not_syncable", detail


def _report(run: Run, outcome: str, detail: str | None) -> RunReport:
    tally = run.tally
    return RunReport(
        outcome=outcome,
        detail=detail,
        found_new=tally.found_new,
        unannounced=tally.unannounced,
        parts_taken=tally.parts_taken,
        parked=tally.parked,
    )
