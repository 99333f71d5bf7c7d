"""Which folders or labels of a mailbox are watched, asked of the provider only where our own rows cannot tell."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from mailroom_common.logs import get_logger
from mailroom_common.providers.types import Folder
from sync_engine.domain.texts import storable
from sync_engine.domain.watched import FolderWatch, LabelWatch, names_own_labels, watched_folders
from sync_engine.handlers.run import Run
from sync_engine.run_ports import RunTables

log = get_logger()


class WatchFolders:
    def __init__(self, tables: RunTables) -> None:
        self._tables = tables

    async def watch(self, run: Run) -> FolderWatch:
        """As the mailbox has them now."""
        return self._of(run, await self._asked(run))

    async def watch_for(self, run: Run, folder_ids: Collection[str]) -> FolderWatch:
        """As the last full run saw them, unless one of `folder_ids` is newer than that."""
        stored = await self._tables.folders(run.doc_source_id)
        if {folder.folder_id for folder in stored}.issuperset(folder_ids):
            return self._of(run, stored)
        return await self.watch(run)

    async def watch_labels(self, run: Run, *, afresh: bool) -> LabelWatch:
        """Names of the user's own labels have ids that only the provider knows; all others cost no call."""
        named = tuple(run.source.folders)
        labels: Mapping[str, str] = {}
        if names_own_labels(named):
            stored = () if afresh else await self._tables.folders(run.doc_source_id)
            labels = {label.path.casefold(): label.folder_id for label in stored or await self._asked(run)}
        return LabelWatch(run.source.profile, named, labels)

    async def _asked(self, run: Run) -> Sequence[Folder]:
        named = await run.provider.list_folders(run.mailbox)
        folders = [replace(folder, path=storable(folder.path) or "") for folder in named]
        await self._tables.save_folders(run.doc_source_id, folders)
        return folders

    @staticmethod
    def _of(run: Run, folders: Sequence[Folder]) -> FolderWatch:
        watched = watched_folders(folders, run.source.profile, run.source.folders)
        if not watched:
            log.warning("no_folder_is_watched", doc_source_id=run.doc_source_id, named=len(run.source.folders))
        return FolderWatch(watched)
