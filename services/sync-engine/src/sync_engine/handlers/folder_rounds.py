"""Remembers which folders a full run has read, over all the slices in which it reads a mailbox."""

from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from mailroom_common.errors import MailroomError
from sync_engine.domain.message_records import FailingFolder
from sync_engine.domain.watched_folders import FolderWatch
from sync_engine.handlers.sync_run import SyncRun

_MAX_ROUNDS = 2000
# A round that was not continued for so long is over: its doc source is deleted, paused, or another worker's.
_MAX_IDLE = timedelta(hours=1)


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


@dataclass(frozen=True, slots=True)
class _KeptRound:
    key: tuple[datetime, int]
    continued_at: datetime
    round: FolderRound


class FolderRounds:
    """In memory only: a folder that is forgotten is read once more, from its cursor.

    Where there are more than can be remembered, as in a re-list of a whole site, those that were begun first stay until
    they end. With the longest unused forgotten instead, all would be begun anew in turn, and none would end that has
    more folders than a slice can read.
    """

    def __init__(self, max_rounds: int = _MAX_ROUNDS) -> None:
        self._max_rounds = max_rounds
        self._rounds: OrderedDict[str, _KeptRound] = OrderedDict()  # the longest unused first

    def find_round(self, run: SyncRun) -> FolderRound:
        """Of the full run that this one is a slice of, and of the same version of the source, which says what is
        watched and from when."""
        key = (run.full_round.started_at, run.source.version)
        known = self._rounds.pop(run.doc_source_id, None)
        found = known.round if known is not None and known.key == key else FolderRound()
        if self._has_room(run.started_at):
            self._rounds[run.doc_source_id] = _KeptRound(key, run.started_at, found)
        return found

    def end_round(self, run: SyncRun) -> None:
        self._rounds.pop(run.doc_source_id, None)

    def _has_room(self, now: datetime) -> bool:
        while self._rounds and now - next(iter(self._rounds.values())).continued_at > _MAX_IDLE:
            self._rounds.popitem(last=False)
        return len(self._rounds) < self._max_rounds
