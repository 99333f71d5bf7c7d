"""Which folders or labels of a mailbox are watched, asked of the provider only where our own rows cannot tell."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from mailroom_common.logs import get_logger
from mailroom_common.providers.types import Folder
from mailroom_common.providers.untrusted_text import clean_text
from sync_engine.domain.watched_folders import FolderWatch, LabelWatch, Watch, is_own_label, watch_folders
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.ports import Cursors, Folders

log = get_logger()


class WatchMailbox:
    def __init__(self, folders: Folders, cursors: Cursors) -> None:
        self._folders = folders
        self._cursors = cursors

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
            saved = await self._folders.list_saved_folders(run.doc_source_id)
            label_ids = _map_label_ids(saved)
            if refresh or not saved:
                label_ids = await self._refresh_labels(run, label_ids)
        watch = LabelWatch(run.source.profile, names, label_ids)
        if refresh:
            _log_missing(run, watch)
        return watch

    async def _refresh_labels(self, run: SyncRun, saved_ids: Mapping[str, str]) -> Mapping[str, str]:
        """A watched name that is another label's by now, or was nobody's, may bring mail that has the label already:
        the history tells of no change of these mails, or told of it while the label was not known."""
        labels = await self._list_folders(run)
        label_ids = _map_label_ids(labels)
        watched = LabelWatch(run.source.profile, tuple(run.source.folders), label_ids).find_own_label_ids()
        if saved_ids and not watched.items() <= saved_ids.items():
            # Before the labels are saved: a crash between the two lists the mailbox once more than needed.
            await self._cursors.begin_relist(run.doc_source_id, run.started_at)
            log.info("watched_label_appeared", doc_source_id=run.doc_source_id, names=sorted(watched))
        await self._save_folders(run, labels)
        return label_ids

    async def _refresh_folders(self, run: SyncRun) -> Sequence[Folder]:
        folders = await self._list_folders(run)
        await self._save_folders(run, folders)
        return folders

    async def _list_folders(self, run: SyncRun) -> Sequence[Folder]:
        listed = await run.provider.list_folders(run.mailbox)
        return [replace(folder, path=clean_text(folder.path) or "") for folder in listed]

    async def _save_folders(self, run: SyncRun, folders: Sequence[Folder]) -> None:
        if set(folders) != set(await self._folders.list_saved_folders(run.doc_source_id)):
            await self._folders.save_folders(run.doc_source_id, folders)


def _map_label_ids(labels: Sequence[Folder]) -> Mapping[str, str]:
    # In one order: of two labels whose names differ by case alone it is always the same one.
    return {label.path.casefold(): label.folder_id for label in sorted(labels, key=lambda label: label.folder_id)}


def _log_missing(run: SyncRun, watch: Watch) -> None:
    if watch.missing_names:
        # The other folders are synced; mail of these is not stored until they exist again or `folders` is corrected.
        log.warning("watched_folders_missing", doc_source_id=run.doc_source_id, names=list(watch.missing_names))
