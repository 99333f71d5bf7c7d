"""The full run of a mailbox that lists its changes by folder: what was modified lately, then each watched folder."""

import random
from collections.abc import Awaitable, Callable, Sequence

from mailroom_common.budgets.waiting import mark_calls
from mailroom_common.errors import AccessDenied, PermissionMissing, ProviderUnavailable, Rejected
from mailroom_common.logs import get_logger
from sync_engine.domain.watched_folders import FolderWatch
from sync_engine.handlers.folder_rounds import FolderRound, FolderRounds
from sync_engine.handlers.message_batches import MessageUnavailable
from sync_engine.handlers.sync_folders import FolderUnreadable, SyncFolders
from sync_engine.handlers.sync_modified import SyncModified
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.handlers.watch_mailbox import WatchMailbox
from sync_engine.ports import Cursors, Folders

log = get_logger()

RetryParked = Callable[[FolderWatch], Awaitable[None]]


class SyncMailboxFolders:
    def __init__(
        self,
        cursors: Cursors,
        failing: Folders,
        watches: WatchMailbox,
        folders: SyncFolders,
        modified: SyncModified,
    ) -> None:
        self._cursors = cursors
        self._failing = failing
        self._watches = watches
        self._folders = folders
        self._modified = modified
        self._rounds = FolderRounds()

    async def sync_mailbox_folders(
        self, run: SyncRun, retry_parked: RetryParked
    ) -> tuple[FolderWatch, ProviderUnavailable | None]:
        """What is watched, and the failure that kept some of it from being read. Raises SliceEnded: the next slice goes
        on with the folders that are left.

        Folders whose changes failed in earlier runs are asked for theirs last: a pause that the provider asks for ends
        the run, and keeps nothing else from being read. They take turns at being the first of them.
        """
        full = self._rounds.find_round(run)
        if full.watch is None:
            full.watch = await self._watches.watch_current_folders(run)
            failing = await self._failing.list_failing_folders(run.doc_source_id)
            full.failing = {folder.folder_id: folder for folder in failing if folder.folder_id in full.watch.folders}
        watch = full.watch
        last = random.sample(list(full.failing), k=len(full.failing))
        new_mail = _NewMail(self._modified, run)
        if _needs_list(run):
            await new_mail.list_modified()
        try:
            failure = await self._folders.sync_folders(
                run,
                watch,
                [folder_id for folder_id in watch.folders if folder_id not in last],
                full=full,
                between_batches=None if run.is_observing else new_mail.check_if_due,
            )
        except (AccessDenied, ProviderUnavailable):
            self._rounds.end_round(run)  # those that failed are tried again by the next run
            raise
        if run.is_observing:
            # Only after the folders were listed anew: those that were deleted since are in no list, and no list of
            # changes says what became of their mails.
            for scope in await self._cursors.list_scopes_without_folder(run.doc_source_id):
                await self._folders.close_deleted_folder(run, watch, scope)
        if last and not run.is_observing:
            await self._list_failing_folders(run, last, new_mail)
        await retry_parked(watch)
        if last:
            failure = await self._sync_failing_folders(run, watch, last, full, new_mail) or failure
        self._rounds.end_round(run)
        return watch, failure or new_mail.failure

    async def _sync_failing_folders(
        self, run: SyncRun, watch: FolderWatch, folder_ids: Sequence[str], full: FolderRound, new_mail: "_NewMail"
    ) -> ProviderUnavailable | None:
        try:
            return await self._folders.sync_folders(
                run,
                watch,
                folder_ids,
                full=full,
                between_batches=None if run.is_observing else new_mail.check_if_due,
            )
        except (AccessDenied, ProviderUnavailable) as error:
            is_paused = full.paused and not full.failures and isinstance(error, FolderUnreadable)
            if is_paused and not run.is_observing:
                return None  # their mail has been listed, and no call is left to make
            self._rounds.end_round(run)
            raise

    async def _list_failing_folders(self, run: SyncRun, folder_ids: Sequence[str], new_mail: "_NewMail") -> None:
        """What was there before the lists of new mail began, of folders that have no position yet: once."""
        cursors = await self._cursors.list_cursors(run.doc_source_id)
        # As it stands now: earlier slices of this round have moved it.
        failing = {folder.folder_id: folder for folder in await self._failing.list_failing_folders(run.doc_source_id)}
        unread = {
            folder_id: failing[folder_id].listed_until
            for folder_id in folder_ids
            if folder_id in failing
            and not failing[folder_id].is_listed
            and (folder_id not in cursors or cursors[folder_id].has_no_position)
        }
        if not unread:
            return
        # All mail of the mailbox since the start is listed, as old mail; nothing has to be done.
        log.warning("folders_read_by_list", doc_source_id=run.doc_source_id, scopes=sorted(unread))
        # A folder that began to fail later pulls the list back: what is known is passed over.
        since = min(listed_until or run.start_at for listed_until in unread.values())
        async for until in self._modified.list_old_mail(run, since):
            await self._failing.record_listed_folders(run.doc_source_id, unread.keys(), until)
            if until is not None:
                run.slice.end_if_over()
                await new_mail.check_if_due()


def _needs_list(run: SyncRun) -> bool:
    """A first sync lists all that is there; from then on something may be moved to a folder that was read before.

    Of an observed mailbox every folder is read, in the order of its events: the list only says which of those that were
    read have something new, while others are still being read.
    """
    if run.is_observing:
        return run.state.full_round is not None
    state = run.state
    return any((state.modified_listed_until, state.last_completed_full_started_at, state.full_round))


class _NewMail:
    """The list of modified messages beside the folders: it shows new mail first, and what their changes leave out."""

    def __init__(self, modified: SyncModified, run: SyncRun) -> None:
        self._modified = modified
        self._run = run
        self.failure: FolderUnreadable | None = None

    async def check_if_due(self) -> None:
        """Between two commits of old mail, now and then."""
        if self._run.slice.begin_check_for_new_mail():
            await self.list_modified()

    async def list_modified(self) -> None:
        if self.failure is not None:
            return
        try:
            with mark_calls(is_old_mail=False):
                await self._modified.sync_modified(self._run)
        except MessageUnavailable:
            raise  # the message is parked: the next run passes over it
        except PermissionMissing:
            raise  # it is the mailbox's
        except (Rejected, AccessDenied, ProviderUnavailable) as error:
            if isinstance(error, ProviderUnavailable) and error.retry_after_s:
                raise
            # The folders are read all the same, and the run ends as failed: what only the list shows is still to come.
            log.warning("modified_list_failed", doc_source_id=self._run.doc_source_id, reason=str(error))
            self.failure = FolderUnreadable(f"the list of what was modified could not be read: {error}")
            self.failure.__cause__ = error
