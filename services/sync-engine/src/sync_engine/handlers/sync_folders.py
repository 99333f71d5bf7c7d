"""The folders of a mailbox that lists its changes by folder: some at once, each to the end of its round."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from mailroom_common.errors import AccessDenied, ItemGone, PermissionMissing, ProviderUnavailable, Rejected
from mailroom_common.logs import get_logger
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.cursor import Cursor
from sync_engine.domain.message_records import RunTally
from sync_engine.domain.run_outcomes import SliceEnded
from sync_engine.domain.watched_folders import Watch
from sync_engine.handlers.advance_cursor import AdvanceCursor, BetweenBatches, ChangesUnavailable, CursorsRefused
from sync_engine.handlers.folder_rounds import FolderFailure, FolderRound
from sync_engine.handlers.message_batches import CommitUpdates, MessageUnavailable
from sync_engine.handlers.process_changes import ProcessChanges
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.handlers.unseen_messages import UnseenMessages
from sync_engine.handlers.work_queue import work_through
from sync_engine.ports import Cursors, Folders, Messages

log = get_logger()

# As many as a mailbox may have calls under way. Folders that are observed follow one another: their events have one
# order.
_MAX_CONCURRENT_FOLDERS = 4
_NO_CURSOR = Cursor(scope="")


class FolderUnreadable(ProviderUnavailable):
    """Some folder failed with nothing new read of it: new mail of other folders makes that no less of a failure."""


class SyncFolders:
    def __init__(
        self,
        *,
        cursors: Cursors,
        failing: Folders,
        messages: Messages,
        advance: AdvanceCursor,
        changes: ProcessChanges,
        commits: CommitUpdates,
        clock: Callable[[], datetime],
    ) -> None:
        self._cursors = cursors
        self._failing = failing
        self._unseen = UnseenMessages(messages)
        self._advance = advance
        self._changes = changes
        self._commits = commits
        self._clock = clock

    async def sync_folders(
        self,
        run: SyncRun,
        watch: Watch,
        folder_ids: Iterable[str],
        *,
        full: FolderRound | None = None,
        hints: Mapping[str, MessageSummary] | None = None,
        between_batches: BetweenBatches | None = None,
    ) -> ProviderUnavailable | None:
        """Each folder to the end of its round; one that cannot be read keeps no other from being read.

        Those that `full` has are passed over, and those that are read are added to it. Returns what the run has to end
        with when some could not be read. Raises what is not about one folder, and where none at all could be read.
        """
        full = full or FolderRound()
        cursors = await self._cursors.list_cursors(run.doc_source_id)

        async def read_folder(folder_id: str) -> None:
            if between_batches is not None:
                await between_batches()
            cursor = cursors.get(folder_id, Cursor(scope=folder_id))
            await self._read_folder(run, watch, cursor, full, hints, between_batches)
            run.slice.end_if_over()

        unread = [folder_id for folder_id in folder_ids if not full.is_done(folder_id)]
        if hints is not None and run.state.full_round is not None:
            # Those that are read from nothing are left to the full run under way: new mail of others comes first.
            unread = [folder_id for folder_id in unread if cursors.get(folder_id, _NO_CURSOR).position is not None]
        try:
            await work_through(unread, read_folder, max_concurrent=1 if run.is_observing else _MAX_CONCURRENT_FOLDERS)
        except SliceEnded:
            if not all(map(full.is_done, unread)):
                raise
        except ProviderUnavailable:
            # Only now that no folder is begun any more: none is asked for after the pause.
            for folder_id in full.paused:
                await self._failing.record_failing_folder(run.doc_source_id, folder_id, self._clock())
            raise
        return _summarize_failures(full)

    async def _read_folder(
        self,
        run: SyncRun,
        watch: Watch,
        cursor: Cursor,
        full: FolderRound,
        hints: Mapping[str, MessageSummary] | None,
        between_batches: BetweenBatches | None,
    ) -> None:
        folder_run = replace(run, tally=RunTally())
        try:
            await self._sync_folder(folder_run, watch, cursor, hints, between_batches)
            full.read.add(cursor.scope)
            if cursor.scope in full.failing:
                await self._failing.record_recovered_folder(run.doc_source_id, cursor.scope)
        except MessageUnavailable:
            raise  # the message is parked: the next run passes over it
        except PermissionMissing:
            raise  # it is the mailbox's, though a folder without new mail can do without it
        except (Rejected, AccessDenied, ProviderUnavailable) as error:
            # The run goes on with the other folders and ends as failed, so that this one is tried again.
            log.warning("folder_read_failed", doc_source_id=run.doc_source_id, scope=cursor.scope, reason=str(error))
            # Progress that was interrupted resets the back-off; a folder that fails from its start does not.
            is_stuck = folder_run.tally.progress_commits == 0 or isinstance(error, CursorsRefused)
            if isinstance(error, ProviderUnavailable) and error.retry_after_s:
                # A pause is the mailbox's: no other folder of it is asked for either.
                if is_stuck:
                    if isinstance(error, ChangesUnavailable):
                        full.paused.add(cursor.scope)
                    raise FolderUnreadable(str(error), retry_after_s=error.retry_after_s) from error
                raise
            if is_stuck and isinstance(error, ChangesUnavailable) and await self._is_read_by_list(run, full, cursor):
                return
            full.failures[cursor.scope] = FolderFailure(error, is_stuck)
        finally:
            run.tally.add_tally(folder_run.tally)

    async def _is_read_by_list(self, run: SyncRun, full: FolderRound, cursor: Cursor) -> bool:
        """From the second failure on, and until it recovers. An observed folder waits: no list tells of removals."""
        if run.is_observing:
            return False
        if cursor.scope not in full.failing:
            await self._failing.record_failing_folder(run.doc_source_id, cursor.scope, self._clock())
            return False
        full.read.add(cursor.scope)
        return True

    async def _sync_folder(
        self,
        run: SyncRun,
        watch: Watch,
        cursor: Cursor,
        hints: Mapping[str, MessageSummary] | None,
        between_batches: BetweenBatches | None,
    ) -> None:
        try:
            await self._advance.advance_cursor(
                run, watch, cursor.scope, cursor=cursor, hints=hints, between_batches=between_batches
            )
        except ItemGone:
            await self.close_deleted_folder(run, watch, cursor.scope)

    async def close_deleted_folder(self, run: SyncRun, watch: Watch, scope: str) -> None:
        if run.is_observing:
            async for changes in self._unseen.list_batches(run.doc_source_id, scope, self._clock()):
                batch = await self._changes.process_changes(run, watch, scope, changes)
                await self._commits.commit_batch(run, batch)
                if batch.messages:
                    run.slice.end_if_over()
        # The cursor goes last: while it stands, a run that was cut off looks for these mails again.
        await self._cursors.delete_cursor(run.doc_source_id, scope)


def _summarize_failures(full: FolderRound) -> ProviderUnavailable | None:
    failures = [failure.error for failure in full.failures.values()]
    if not failures:
        return None
    if not full.read and full.is_everything_done() and all(isinstance(error, AccessDenied) for error in failures):
        raise failures[0]
    # What is denied for one folder is not denied for the mailbox, and a folder's 400 is no crash of ours.
    is_any_stuck = any(failure.is_stuck for failure in full.failures.values())
    error_type = FolderUnreadable if is_any_stuck else ProviderUnavailable
    count = len(failures)
    failure = error_type(f"{count} of {count + len(full.read)} folders could not be read: {failures[0]}")
    failure.__cause__ = failures[0]
    if not full.read and full.is_everything_done():
        raise failure
    return failure
