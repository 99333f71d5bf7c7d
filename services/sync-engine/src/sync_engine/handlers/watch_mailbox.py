"""Which folders or labels of a mailbox are watched, asked of the provider only where our own rows cannot tell."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from mailroom_common.logs import get_logger
from mailroom_common.providers.types import Folder
from mailroom_common.providers.untrusted_text import clean_text
from sync_engine.domain.watched_folders import FolderWatch, LabelWatch, Watch, is_own_label, watch_folders
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.ports import Folders

log = get_logger()


class WatchMailbox:
    def __init__(self, folders: Folders) -> None:
        self._folders = folders

    async def watch_current_folders(self, run: SyncRun) -> FolderWatch:
        """By the folders that the mailbox has now."""
        watch = watch_folders(await self._refresh_folders(run), run.source.profile, run.source.folders)
        _log_missing(run, watch)
        return watch

    async def watch_saved_folders(self, run: SyncRun, folder_ids: Collection[str]) -> FolderWatch:
        """By the folders that the last full run saw, unless one of `folder_ids` is newer than that."""
        saved = await self._folders.list_saved_folders(run.doc_source_id)
        if {folder.folder_id for folder in saved}.issuperset(folder_ids):
            return watch_folders(saved, run.source.profile, run.source.folders)
        return await self.watch_current_folders(run)

    async def watch_labels(self, run: SyncRun, *, refresh: bool) -> LabelWatch:
        """Names of the user's own labels have ids that only the provider knows; all others cost no call."""
        names = tuple(run.source.folders)
        label_ids: Mapping[str, str] = {}
        # Full runs list the labels anew: one may have been renamed, deleted, or made again with another id.
        if any(is_own_label(name) for name in names):
            saved = () if refresh else await self._folders.list_saved_folders(run.doc_source_id)
            labels = saved or await self._refresh_folders(run)
            label_ids = {label.path.casefold(): label.folder_id for label in labels}
        watch = LabelWatch(run.source.profile, names, label_ids)
        if refresh:
            _log_missing(run, watch)
        return watch

    async def _refresh_folders(self, run: SyncRun) -> Sequence[Folder]:
        listed = await run.provider.list_folders(run.mailbox)
        folders = [replace(folder, path=clean_text(folder.path) or "") for folder in listed]
        if set(folders) != set(await self._folders.list_saved_folders(run.doc_source_id)):
            await self._folders.save_folders(run.doc_source_id, folders)
        return folders


def _log_missing(run: SyncRun, watch: Watch) -> None:
    if watch.missing_names:
        # The other folders are synced; mail of these is not stored until they exist again or `folders` is corrected.
        log.warning("watched_folders_missing", doc_source_id=run.doc_source_id, names=list(watch.missing_names))
