"""Remembers which folders a full run has read, over all the slices in which it reads a mailbox."""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime

from mailroom_common.errors import MailroomError
from sync_engine.domain.message_records import FailingFolder
from sync_engine.domain.watched_folders import FolderWatch
from sync_engine.handlers.sync_run import SyncRun

_MAX_ROUNDS = 2000


@dataclass(frozen=True, slots=True)
class FolderFailure:
    """`is_stuck`: nothing new was read of the folder before it failed."""

    error: MailroomError
    is_stuck: bool


@dataclass(slots=True)
class FolderRound:
    watch: FolderWatch | None = None
    failing: dict[str, FailingFolder] = field(default_factory=dict)  # as earlier runs left them
    read: set[str] = field(default_factory=set)
    failures: dict[str, FolderFailure] = field(default_factory=dict)
    paused: set[str] = field(default_factory=set)  # the provider answered with a pause when their changes were listed

    def is_done(self, folder_id: str) -> bool:
        return folder_id in self.read or folder_id in self.failures

    def is_everything_done(self) -> bool:
        """Also of the folders that failed in earlier runs, which are read after the others."""
        return all(map(self.is_done, self.failing))


class FolderRounds:
    """In memory only: a folder that is forgotten is read once more, from its cursor."""

    def __init__(self, max_rounds: int = _MAX_ROUNDS) -> None:
        self._max_rounds = max_rounds
        self._rounds: OrderedDict[str, tuple[tuple[datetime, int], FolderRound]] = OrderedDict()

    def find_round(self, run: SyncRun) -> FolderRound:
        """Of the full run that this one is a slice of, and of the same version of the source, which says what is
        watched and from when."""
        key = (run.full_round.started_at, run.source.version)
        known_key, known = self._rounds.pop(run.doc_source_id, (None, None))
        found = known if known is not None and known_key == key else FolderRound()
        self._rounds[run.doc_source_id] = (key, found)
        if len(self._rounds) > self._max_rounds:
            self._rounds.popitem(last=False)
        return found

    def end_round(self, run: SyncRun) -> None:
        self._rounds.pop(run.doc_source_id, None)
