"""One sync run of one mailbox: decides what kind of run is due, runs it, and says how it ended."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial

from mailroom_common.blobs import BlobStore
from mailroom_common.budgets.waiting import limit_waiting
from mailroom_common.errors import (
    AccessDenied,
    ActionRequired,
    CallDeferred,
    MailboxGone,
    OldMailCallDeferred,
    ProviderUnavailable,
    Retryable,
    Throttled,
    TokenRefused,
    Unavailable,
)
from mailroom_common.events import Access, ConnectionKind, DocSource, DocSourceState, SyncReason
from mailroom_common.logs import get_logger
from mailroom_common.providers.calls import UNNAMED_THROTTLE_S
from mailroom_common.providers.ports import ChangeListing, MailReader
from mailroom_common.retries import backoff_s
from sync_engine.domain.ingestion_state import StateIdForm
from sync_engine.domain.message_records import RunKind, SyncState
from sync_engine.domain.run_outcomes import (
    CursorConflict,
    NotSyncable,
    RunCompleted,
    RunDeferred,
    RunOutcome,
    RunUnfinished,
    SliceEnded,
    SourceNotActive,
)
from sync_engine.domain.run_planning import SyncTimings, choose_run_kind
from sync_engine.domain.watched_folders import Watch
from sync_engine.handlers.advance_cursor import AdvanceCursor, CursorsRefused
from sync_engine.handlers.claim_messages import ClaimMessages
from sync_engine.handlers.collect_messages import CollectMessages
from sync_engine.handlers.message_batches import CommitUpdates
from sync_engine.handlers.observe_messages import ObserveMessages
from sync_engine.handlers.process_changes import ProcessChanges
from sync_engine.handlers.record_runs import RecordRuns
from sync_engine.handlers.retry_parked_items import RetryParkedItems
from sync_engine.handlers.retry_parked_parts import RetryParkedParts
from sync_engine.handlers.run_slices import RunSlice
from sync_engine.handlers.sync_folders import FolderUnreadable, SyncFolders
from sync_engine.handlers.sync_history import SyncHistory
from sync_engine.handlers.sync_mailbox_folders import SyncMailboxFolders
from sync_engine.handlers.sync_modified import SyncModified
from sync_engine.handlers.sync_run import SyncRun, build_mailbox
from sync_engine.handlers.watch_mailbox import WatchMailbox
from sync_engine.ports import ContainerOpener, Repositories

log = get_logger()

# How often a run reads its cursors anew because another run had moved one: a worker that has lost its partition and
# does not know it yet moves one or two.
_MAX_CURSOR_CONFLICTS = 3

# Messages of one run whose parts are fetched at once; Graph gives a mailbox four slots.
_MAX_CONCURRENT_MESSAGES = 3

# How much longer a run may take because it waits for quota. It holds a slot of the worker meanwhile; a longer wait ends
# the run, and its request is appended again.
_MAX_QUOTA_WAIT_S = 10.0

_CONNECTION_KINDS = {
    TokenRefused: ConnectionKind.TOKEN_REFUSED,
    AccessDenied: ConnectionKind.ACCESS_DENIED,
    MailboxGone: ConnectionKind.MAILBOX_GONE,
}


class RunSync:
    """`MailboxSync` of ports.py. A provider that is not set up is missing in `providers`, which are by name."""

    def __init__(
        self,
        *,
        providers: Mapping[str, MailReader],
        repositories: Repositories,
        blobs: BlobStore,
        containers: ContainerOpener,
        clock: Callable[[], datetime],
        timings: SyncTimings,
        state_id_form: StateIdForm = StateIdForm.DEFAULT,
    ) -> None:
        self._providers = providers
        self._states = repositories.states
        self._records = RecordRuns(repositories.runs, clock)
        self._due_items = repositories.parked_items
        self._clock = clock
        self._timings = timings
        cursors, messages = repositories.cursors, repositories.messages
        claims = ClaimMessages(repositories.ingestion_states, id_form=state_id_form)
        collect = CollectMessages(
            blobs, repositories.uploads, containers, messages, claims, max_concurrent=_MAX_CONCURRENT_MESSAGES
        )
        observe = ObserveMessages(messages, clock, max_concurrent=_MAX_CONCURRENT_MESSAGES)
        changes = ProcessChanges(messages, collect, observe)
        commits = CommitUpdates(repositories.pages, clock)
        advance = AdvanceCursor(cursors, messages, changes, commits, clock)
        self._watches = WatchMailbox(repositories.folders, cursors)
        folders = SyncFolders(
            cursors=cursors,
            failing=repositories.folders,
            messages=messages,
            advance=advance,
            changes=changes,
            commits=commits,
            clock=clock,
        )
        self._history = SyncHistory(cursors, self._watches, advance)
        self._modified = SyncModified(
            states=self._states,
            messages=messages,
            watches=self._watches,
            collect=collect,
            folders=folders,
            commits=commits,
            clock=clock,
        )
        self._folders = SyncMailboxFolders(cursors, repositories.folders, self._watches, folders, self._modified)
        self._parked = RetryParkedItems(messages, collect, observe, commits)
        self._parked_parts = RetryParkedParts(collect, commits)

    async def sync_mailbox(self, source: DocSource, *, reasons: frozenset[SyncReason]) -> RunOutcome:
        state = await self._states.raise_version_and_read_state(source)
        now = self._clock()
        if refusal := _find_refusal(source, state):
            return refusal
        if state.not_before is not None and state.not_before > now:
            return RunDeferred(state.not_before, "the source rests after a failure", is_failure=False)
        provider = self._providers.get(source.provider)
        if provider is None:
            return await self._defer_run(source, ProviderUnavailable(f"{source.provider} is not set up"))
        if source.relist_number > state.relist_number:
            state = await self._states.begin_relist(source, provider.traits.change_listing)
            log.info("relist_started", doc_source_id=source.doc_source_id, relist_number=source.relist_number)
        run = SyncRun(
            source=source,
            mailbox=build_mailbox(source),
            provider=provider,
            reasons=reasons,
            state=state,
            started_at=now,
            timings=self._timings,
            slice=RunSlice(self._clock, self._timings),
        )
        kind = choose_run_kind(state, self._timings, now)
        with limit_waiting(_MAX_QUOTA_WAIT_S):
            return await self._records.record_run(run, kind, lambda: self._sync_to_outcome(run, kind))

    async def _sync_to_outcome(self, run: SyncRun, kind: RunKind) -> RunOutcome:
        try:
            if _has_nothing_to_list_from(run):
                await self._states.begin_full_round(run.source, run.full_round)
            watch = await self._sync_until_consistent(run, kind)
        except SliceEnded:
            return await self._leave_unfinished(run, kind)
        except OldMailCallDeferred as error:
            return await self._leave_unfinished(run, kind, rest_s=error.retry_after_s or 0)
        except SourceNotActive as error:
            return NotSyncable(str(error))
        except ActionRequired as error:
            return await self._require_action(run, error)
        except Unavailable:
            raise  # our own database or blob store: nothing is known of the mailbox
        except Retryable as error:
            if kind is RunKind.ALL_CURSORS and isinstance(error, Throttled):
                await self._states.begin_full_round(run.source, run.full_round)  # what was read need not be read again
            return await self._defer_run(run.source, error, _count_earlier_failures(run, error))
        is_full = kind is RunKind.ALL_CURSORS or _lists_history(run)
        await self._states.record_success(run.source, run.full_round if is_full else None)
        return RunCompleted(
            new_messages=run.tally.new_messages,
            unannounced_messages=run.tally.unannounced_messages,
            is_full=is_full,
            missing_folders=None if watch is None else watch.missing_names,
        )

    async def _leave_unfinished(self, run: SyncRun, kind: RunKind, *, rest_s: float = 0) -> RunUnfinished:
        # Stored, so that the next slice goes on with this full run. The changes of an observed mailbox are read in
        # order, and the list would not name again those folders that are not read yet: the next run reads all.
        if kind is RunKind.ALL_CURSORS or (run.is_observing and not _lists_history(run)):
            await self._states.begin_full_round(run.source, run.full_round)
        return RunUnfinished(
            not_before=self._clock() + timedelta(seconds=rest_s),
            new_messages=run.tally.new_messages,
            unannounced_messages=run.tally.unannounced_messages,
            has_progress=run.tally.progress_commits > 0,
        )

    async def _sync_until_consistent(self, run: SyncRun, kind: RunKind) -> Watch | None:
        for attempt in range(1, _MAX_CURSOR_CONFLICTS + 1):
            try:
                watch, failure = await self._sync_once(run, kind)
            except SliceEnded:
                await self._retry_parked_items(run, None, is_last_slice=False)
                raise
            except OldMailCallDeferred:
                # A long first sync ends so for hours; what is parked need not wait for it, and has new mail's share.
                with suppress(CallDeferred):
                    await self._retry_parked_items(run, None, is_last_slice=False)
                raise
            except CursorConflict as error:
                log.info("cursor_moved_by_other_run", doc_source_id=run.doc_source_id)
                if attempt == _MAX_CURSOR_CONFLICTS:
                    raise Throttled("another worker syncs this mailbox", retry_after_s=5) from error
            else:
                if failure:
                    raise failure
                return watch
        raise AssertionError("the last attempt returns or raises")

    async def _sync_once(self, run: SyncRun, kind: RunKind) -> tuple[Watch | None, ProviderUnavailable | None]:
        """What is watched, where that was asked for; and the failure that kept some folders from being read."""
        if not _lists_history(run) and kind is RunKind.ALL_CURSORS:
            # Also where some folders failed: what is parked may lie in the others.
            return await self._folders.sync_mailbox_folders(run, partial(self._retry_parked_items, run))
        watch: Watch | None = None
        if _lists_history(run):
            watch = await self._history.sync_history(run, is_full=kind is RunKind.ALL_CURSORS)
        else:
            await self._modified.sync_modified(run)
        await self._retry_parked_items(run, watch)
        return watch, None

    async def _retry_parked_items(self, run: SyncRun, watch: Watch | None, *, is_last_slice: bool = True) -> None:
        # By the mark, not by the reasons: a run that fails is asked for again with other reasons, and the mark stays.
        includes_retried_daily = is_last_slice and run.full_round.due_mark is not None
        due = await self._due_items.list_due(
            run.doc_source_id,
            run.started_at,
            include_retried_daily=includes_retried_daily,
            include_access_denied=watch is not None,  # of a full run
        )
        if due:
            await self._parked.retry_items(run, watch or await self._find_watch(run), due)
        due_parts = await self._due_items.list_due_parts(
            run.doc_source_id,
            run.started_at,
            include_retried_daily=includes_retried_daily,
            include_access_denied=watch is not None,
        )
        await self._parked_parts.retry_parts(run, due_parts)

    async def _find_watch(self, run: SyncRun) -> Watch:
        """Without a call. Parked mail that lies elsewhere is done: by a watch that does not fit it would be lost."""
        if _lists_history(run):
            return await self._watches.watch_labels(run, refresh=False)
        return await self._watches.watch_saved_folders(run, ())

    async def _require_action(self, run: SyncRun, error: ActionRequired) -> RunOutcome:
        kinds = (kind for error_type, kind in _CONNECTION_KINDS.items() if isinstance(error, error_type))
        if isinstance(error, TokenRefused):
            if error.grant_generation < run.source.grant_generation:
                # The late refusal of an older grant: the newer one has not been tried yet.
                return await self._defer_run(run.source, Throttled(str(error), retry_after_s=1))
            # An application's access has no grant that a user could renew: it is tried again each time.
            if run.source.access is Access.DELEGATED:
                await self._states.record_grant_refusal(run.source, error.grant_generation)
        return NotSyncable(str(error), next(kinds, ConnectionKind.ACCESS_DENIED))

    async def _defer_run(self, source: DocSource, error: Retryable, earlier_failures: int = 0) -> RunDeferred:
        is_throttled = isinstance(error, Throttled)
        retry_after_s = error.retry_after_s
        if is_throttled and not retry_after_s:
            retry_after_s = backoff_s(1, initial_s=UNNAMED_THROTTLE_S, max_s=UNNAMED_THROTTLE_S)
        not_before = await self._states.back_off(
            source, retry_after_s=retry_after_s, is_throttled=is_throttled, earlier_failures=earlier_failures
        )
        return RunDeferred(not_before, str(error), is_failure=not is_throttled)


def _count_earlier_failures(run: SyncRun, error: Retryable) -> int:
    """The failures in a row that neither new mail of other folders nor pages that were read again have made good."""
    return run.state.failed_attempts if isinstance(error, FolderUnreadable | CursorsRefused) else 0


def _has_nothing_to_list_from(run: SyncRun) -> bool:
    """Before the first list it is the beginning of the first full run from which modified messages are listed: it must
    not be forgotten with a run that fails or is killed."""
    if run.is_observing or _lists_history(run):
        return False
    state = run.state
    return not any((state.full_round, state.modified_listed_until, state.last_completed_full_started_at))


def _lists_history(run: SyncRun) -> bool:
    return run.provider.traits.change_listing is ChangeListing.MAILBOX_HISTORY


def _find_refusal(source: DocSource, state: SyncState) -> NotSyncable | None:
    """The row may be of a newer version than the source that the caller has read."""
    if state.source_state != DocSourceState.ACTIVE:
        return NotSyncable(f"the source is {state.source_state}")
    if state.refused_generation is not None and state.refused_generation >= source.grant_generation:
        return NotSyncable("the grant was refused", ConnectionKind.TOKEN_REFUSED)
    if state.relist_number > source.relist_number:
        return NotSyncable("a re-list has begun that a newer version of the source asks for")  # no page would be taken
    return None
