"""The full run of a mailbox that lists its changes by folder: the changes of each watched folder."""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime

from mailroom_common.errors import (
    AccessDenied,
    ItemGone,
    MailroomError,
    PermissionMissing,
    ProviderUnavailable,
    Rejected,
)
from mailroom_common.logs import get_logger
from mailroom_common.providers.types import Change, ChangeKind, MessageSummary
from sync_engine.domain.watched_folders import FolderWatch, Watch
from sync_engine.handlers.advance_cursor import AdvanceCursor
from sync_engine.handlers.message_batches import MAX_BATCH_MESSAGES, CommitUpdates, MessageUnavailable
from sync_engine.handlers.process_changes import ProcessChanges
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.handlers.watch_mailbox import WatchMailbox
from sync_engine.ports import Cursors, Messages

log = get_logger()


class FolderUnreadable(ProviderUnavailable):
    """Some folder failed with nothing new read of it: new mail of other folders makes that no less of a failure."""


class SyncFolders:
    def __init__(
        self,
        *,
        cursors: Cursors,
        messages: Messages,
        watches: WatchMailbox,
        advance: AdvanceCursor,
        changes: ProcessChanges,
        commits: CommitUpdates,
        clock: Callable[[], datetime],
    ) -> None:
        self._cursors = cursors
        self._messages = messages
        self._watches = watches
        self._advance = advance
        self._changes = changes
        self._commits = commits
        self._clock = clock

    async def sync_all_folders(self, run: SyncRun) -> tuple[FolderWatch, ProviderUnavailable | None]:
        """What is watched, and the failure that kept some folders from being read."""
        watch = await self._watches.watch_current_folders(run)
        failure = await self.sync_folders(run, watch, watch.folders)
        if run.is_observing:
            # Only after the folders were listed anew: those that were deleted since are in no list, and no list of
            # changes says what became of their mails.
            for scope in await self._cursors.list_scopes_without_folder(run.doc_source_id):
                await self._close_deleted_folder(run, watch, scope)
        return watch, failure

    async def sync_folders(
        self,
        run: SyncRun,
        watch: Watch,
        folder_ids: Iterable[str],
        *,
        hints: Mapping[str, MessageSummary] | None = None,
    ) -> ProviderUnavailable | None:
        """Each folder to the end of its round; one that cannot be read keeps no other from being read.

        Returns what the run has to end with when some could not be read. Raises what is not about one folder, and
        where none at all could be read.
        """
        failures: list[MailroomError] = []
        read_count = 0
        is_any_stuck = False
        for folder_id in folder_ids:
            progress_before = run.tally.progress_commits
            try:
                await self._sync_folder(run, watch, folder_id, hints)
                read_count += 1
            except MessageUnavailable:
                raise  # the message is parked: the next run passes over it
            except PermissionMissing:
                raise  # it is the mailbox's, though a folder without new mail can do without it
            except (Rejected, AccessDenied, ProviderUnavailable) as error:
                # The run goes on with the other folders and ends as failed, so that this one is tried again.
                log.warning("folder_read_failed", doc_source_id=run.doc_source_id, scope=folder_id, reason=str(error))
                # Progress that was interrupted resets the back-off; a folder that fails from its start does not.
                is_stuck = run.tally.progress_commits == progress_before
                if isinstance(error, ProviderUnavailable) and error.retry_after_s:
                    # A pause is the mailbox's: no other folder of it is asked for either.
                    if is_stuck:
                        raise FolderUnreadable(str(error), retry_after_s=error.retry_after_s) from error
                    raise
                failures.append(error)
                is_any_stuck = is_any_stuck or is_stuck
        return _summarize_failures(failures, read_count, FolderUnreadable if is_any_stuck else ProviderUnavailable)

    async def _sync_folder(
        self, run: SyncRun, watch: Watch, folder_id: str, hints: Mapping[str, MessageSummary] | None
    ) -> None:
        try:
            await self._advance.advance_cursor(run, watch, folder_id, hints=hints)
        except ItemGone:
            await self._close_deleted_folder(run, watch, folder_id)

    async def _close_deleted_folder(self, run: SyncRun, watch: Watch, scope: str) -> None:
        if run.is_observing:
            known = await self._messages.list_observed_not_listed_since(run.doc_source_id, scope, self._clock())
            changes = [Change(ChangeKind.REMOVED, message.message_id) for message in known]
            for start in range(0, len(changes), MAX_BATCH_MESSAGES):
                batch = changes[start : start + MAX_BATCH_MESSAGES]
                processed = await self._changes.process_changes(run, watch, scope, batch)
                await self._commits.commit_batch(run, processed)
        # The cursor goes last: while it stands, a run that was cut off looks for these mails again.
        await self._cursors.delete_cursor(run.doc_source_id, scope)


def _summarize_failures(
    failures: list[MailroomError], read_count: int, error_type: type[ProviderUnavailable]
) -> ProviderUnavailable | None:
    if not failures:
        return None
    if not read_count and all(isinstance(error, AccessDenied) for error in failures):
        raise failures[0]
    # What is denied for one folder is not denied for the mailbox, and a folder's 400 is no crash of ours.
    count = len(failures)
    failure = error_type(f"{count} of {count + read_count} folders could not be read: {failures[0]}")
    failure.__cause__ = failures[0]
    if not read_count:
        raise failure
    return failure
