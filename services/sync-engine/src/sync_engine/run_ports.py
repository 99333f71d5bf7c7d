"""What a sync run asks of its tables."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from mailroom_common.events import DocSource
from mailroom_common.providers.types import Folder
from sync_engine.domain.records import Committed, Cursor, KnownMessage, Page, ParkedItem, RunKind, Standing


class NotToBeSynced(Exception):
    """The source was paused, deleted or lost its grant while the run was under way: nothing was written."""

    def __init__(self, state: str) -> None:
        super().__init__(f"the source is {state}")
        self.state = state


class CursorMoved(Exception):
    """Somebody else moved the cursor since it was read: nothing was written, and the page is to be read again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """How a run ended; `detail` may be logged."""

    outcome: str
    detail: str | None = None
    found_new: int = 0
    unannounced: int = 0
    parts_taken: int = 0
    parked: int = 0


class RunTables(Protocol):
    """Every call may raise Unavailable."""

    async def enter(self, source: DocSource) -> Standing:
        """Raise the row to this version of the source, never lower it, and read it. A newer grant clears refusals."""
        ...

    async def begin_run(self, source: DocSource, kind: RunKind, reasons: Iterable[str], started_at: datetime) -> str:
        """Write the run down, and tell its id."""
        ...

    async def end_run(self, run_id: str, report: RunReport, finished_at: datetime) -> None: ...

    async def succeeded(self, source: DocSource, *, full_since: datetime | None, full_due: int | None) -> None:
        """No failure stands any more. `full_since`: when the full run that ended began; it clears its `full_due`."""
        ...

    async def refuse_grant(self, source: DocSource, generation: int) -> None:
        """No run before a newer grant."""
        ...

    async def listed(self, source: DocSource, until: datetime) -> None: ...

    async def folders(self, doc_source_id: str) -> Sequence[Folder]: ...

    async def save_folders(self, doc_source_id: str, folders: Sequence[Folder]) -> None: ...

    async def cursor(self, doc_source_id: str, scope: str) -> Cursor:
        """Version 0 when there is none."""
        ...

    async def drop_cursor(self, doc_source_id: str, scope: str) -> None: ...

    async def gone_folders(self, doc_source_id: str) -> Sequence[str]:
        """Scopes of the cursors whose folder is not among those saved last (Graph)."""
        ...

    async def known(self, doc_source_id: str, message_ids: Collection[str]) -> Mapping[str, KnownMessage]:
        """Those of them that were judged, or are parked."""
        ...

    async def unseen(self, doc_source_id: str, folder_id: str | None, since: datetime) -> Sequence[KnownMessage]:
        """Observed messages of a folder (None: of the mailbox) that no page has shown `since`."""
        ...

    async def parked_due(self, doc_source_id: str, now: datetime, *, all_of_them: bool) -> Sequence[ParkedItem]: ...

    async def announce_upload(self, doc_source_id: str, attachment_id: str, blob_key: str) -> None:
        """Committed before the first byte is written, so that the sweeper can find what no page ever named."""
        ...

    async def withdraw_upload(self, attachment_id: str) -> None: ...

    async def commit(self, source: DocSource, page: Page, now: datetime) -> Committed:
        """Everything of a page, or nothing.

        Raises:
            NotToBeSynced: the source is not to be synced any more.
            CursorMoved: the cursor is not the one that the page was read with.
        """
        ...
