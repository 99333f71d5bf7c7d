"""What the handlers ask for: a repository per aggregate, Kafka, the directory of doc sources, a sync run."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from mailroom_common.events import ConnectionKind, DocSource, IngestionResult, SyncReason
from mailroom_common.providers.ports import ChangeListing
from mailroom_common.providers.types import Folder, MessageSummary
from mailroom_common.topics import Topic
from sync_engine.domain.coalescing import CoalescingWindow, PendingRequest
from sync_engine.domain.contained_part import ContainedPart
from sync_engine.domain.content import ContainerKind
from sync_engine.domain.cursor import Cursor
from sync_engine.domain.ingestion_state import ClaimOutcome
from sync_engine.domain.message_records import (
    CommittedPage,
    DueMessage,
    FailingFolder,
    FullRound,
    KnownMessage,
    PageUpdate,
    ParkedItem,
    RecordedPart,
    RunKind,
    SyncState,
)
from sync_engine.domain.run_outcomes import RunCompleted, RunOutcome, RunReport
from sync_engine.domain.work_table import RecordToAppend

# Repositories. Every call may raise Unavailable.


class SyncStates(Protocol):
    """Rows of `sync_state`."""

    async def raise_version_and_read_state(self, source: DocSource) -> SyncState:
        """Raise the row to this version of the source, never lower it, and read it. A newer grant clears failures."""
        ...

    async def mark_full_due(self, doc_source_ids: Iterable[str]) -> None:
        """Durably: the next run of these is a full one. Works for sources that have no row yet.

        A mark set while a full run is under way outlives that run: it clears only the mark that it began with.
        """
        ...

    async def back_off(
        self,
        source: DocSource,
        *,
        retry_after_s: float | None = None,
        is_throttled: bool = False,
        earlier_failures: int = 0,
    ) -> datetime:
        """Store and return `not_before`, by the number of failures in a row or by the provider's word.

        A throttle is no failure: it does not count as one and does not lengthen the pause. There were at least
        `earlier_failures` before this one, whatever a commit of new mail has reset since.
        """
        ...

    async def begin_full_round(self, source: DocSource, full_round: FullRound) -> None:
        """Have the next runs go on with this full run. Nothing changes where one is under way already, or where another
        re-list has begun."""
        ...

    async def record_success(self, source: DocSource, full_round: FullRound | None) -> None:
        """Clear the failures. `full_round` is the full run that has come to its end; it clears its `due_mark`."""
        ...

    async def record_grant_refusal(self, source: DocSource, generation: int) -> None:
        """No run before a newer grant."""
        ...

    async def begin_relist(self, source: DocSource, listing: ChangeListing) -> SyncState:
        """Have the cursors start from nothing for the re-list that the source carries, once for each number, and read
        the row. A source that is paused or gone is left alone."""
        ...

    async def record_modified_listed_until(self, source: DocSource, until: datetime) -> None: ...


class SourceDeletions(Protocol):
    async def forget_source(self, source: DocSource) -> None:
        """Remove all rows of a `deleting` source but a soft-deleted one, and report `forgotten` when none is left.

        From its first transaction on no page of the source is taken. It may be cut off anywhere and is then begun
        again; several workers at once share the work. Documents and their blobs are ingestion's and stay. A source that
        was forgotten before is reported again only in a later version.
        """
        ...


class Cursors(Protocol):
    async def read_cursor(self, doc_source_id: str, scope: str) -> Cursor:
        """Version 0 when there is none."""
        ...

    async def list_cursors(self, doc_source_id: str) -> Mapping[str, Cursor]:
        """All of a doc source, by their scope."""
        ...

    async def delete_cursor(self, doc_source_id: str, scope: str) -> None: ...

    async def begin_relist(self, doc_source_id: str, now: datetime) -> None:
        """List again, from the start, what a mailbox with a history holds; one that is under way begins anew."""
        ...

    async def list_scopes_without_folder(self, doc_source_id: str) -> Sequence[str]:
        """Scopes of the cursors whose folder is not among those saved last."""
        ...


class Folders(Protocol):
    async def list_saved_folders(self, doc_source_id: str) -> Sequence[Folder]: ...

    async def save_folders(self, doc_source_id: str, folders: Sequence[Folder]) -> None: ...

    async def list_failing_folders(self, doc_source_id: str) -> Sequence[FailingFolder]: ...

    async def record_failing_folder(self, doc_source_id: str, folder_id: str, now: datetime) -> None: ...

    async def record_recovered_folder(self, doc_source_id: str, folder_id: str) -> None: ...

    async def record_listed_folders(
        self, doc_source_id: str, folder_ids: Collection[str], until: datetime | None
    ) -> None:
        """The list of all messages has come so far for these; None: to its end."""
        ...


class Messages(Protocol):
    async def find_known(self, doc_source_id: str, message_ids: Collection[str]) -> Mapping[str, KnownMessage]:
        """Those of them that were processed, or are parked."""
        ...

    async def list_parts(self, doc_source_id: str, message_id: str) -> Sequence[RecordedPart]:
        """In the order of the mail."""
        ...

    async def list_previously_read(self, doc_source_id: str, *, limit: int) -> Sequence[str]:
        """Ids of the newest messages that could be read: something of them is stored, or they are observed."""
        ...

    async def find_passed_over(
        self, doc_source_id: str, message_ids: Collection[str], start_at: datetime
    ) -> frozenset[str]:
        """Those of them that were fetched before, and found to be from before `start_at`."""
        ...

    async def list_observed_not_listed_since(
        self, doc_source_id: str, folder_id: str | None, since: datetime, *, after: str, limit: int
    ) -> Sequence[KnownMessage]:
        """Observed messages of a folder (None: of the mailbox) that no page has shown since then, by their ids, which
        are greater than `after`."""
        ...


class MessageResults(Protocol):
    async def record_result(self, result: IngestionResult) -> None:
        """A stored part has its result; the message is closed when all have. Repeats change nothing."""
        ...


@dataclass(frozen=True, slots=True)
class ReemittedBatch:
    attachments: Mapping[str, int]  # how many records were sent again, by doc source
    is_last: bool


class OpenMessages(Protocol):
    """Messages that wait for results of ingestion."""

    async def reemit_batch(
        self, find_source: Callable[[str], DocSource | None], before: datetime, now: datetime
    ) -> ReemittedBatch:
        """Have the records of some messages sent again that were stored, or last sent, `before` then: of their parts
        without a result, on the backfill lane, with the ids that they had. Not of sources that are gone."""
        ...

    async def count_overdue(self, before: datetime, *, up_to: int) -> int:
        """Open messages that were stored `before` then and wait for a result."""
        ...


class ParkedItems(Protocol):
    """What is due by `now`, the longest due first; also what is only tried once a day, and what access was refused to,
    before its time."""

    async def list_due(
        self, doc_source_id: str, now: datetime, *, include_retried_daily: bool, include_access_denied: bool
    ) -> Sequence[ParkedItem]: ...

    async def list_due_parts(
        self, doc_source_id: str, now: datetime, *, include_retried_daily: bool, include_access_denied: bool
    ) -> Sequence[DueMessage]: ...

    async def count_by_reason(self) -> Mapping[tuple[str, str], int]:
        """Of all doc sources, by reason and kind (`message` or `part`)."""
        ...


class IngestionStates(Protocol):
    """Our claims on messages in the table shared with an outside job (docs/backstop-contract.md).

    A state id is how that table names a message.
    """

    async def find_state_ids(self, doc_source_id: str, message_ids: Collection[str]) -> Mapping[str, str]:
        """Of those of them that have one, by message id: it stays, also where the provider would name another now."""
        ...

    async def claim_message(self, source: DocSource, summary: MessageSummary, state_id: str) -> ClaimOutcome:
        """Committed at once. What is ours already is claimed again, and what nobody holds any more is taken over."""
        ...

    async def renew_claims(self) -> int:
        """So that nobody takes over what waits for results; returns of how many messages."""
        ...


class Uploads(Protocol):
    async def record_upload_start(self, doc_source_id: str, attachment_id: str, blob_key: str) -> None:
        """Committed before the first byte is written, so that the sweeper can find what no page ever named.

        Raises SourceNotActive where the source is forgotten: the rows that name what was filed are gone then.
        """
        ...

    async def delete_upload_record(self, attachment_id: str) -> None: ...


class ContainerOpener(Protocol):
    """Takes containers apart where untrusted files may be opened."""

    def spool_container(self, tenant_id: str, chunks: AsyncIterator[bytes]) -> AbstractAsyncContextManager[Path]:
        """The whole container in a file, which is gone after the block. Where there is no room, tenants take turns.

        Raises what `chunks` does, ProviderUnavailable where they take too long, and Unavailable."""
        ...

    def read_contents(
        self,
        tenant_id: str,
        kind: ContainerKind,
        file: Path,
        *,
        filename: str | None,
        position: str | None,
        max_bytes: int,
    ) -> AsyncGenerator[ContainedPart, None]:
        """With a `position`: of the attached mail that stands there in the mail that the file is. What would be more
        than `max_bytes` in all is not taken out.

        Raises, after what could be taken out: UnreadableFile, ParserLimitReached, ParserCrashed; and Unavailable
        where there is no process to read it."""
        ...


class SyncRuns(Protocol):
    async def start_run(
        self,
        source: DocSource,
        run_id: str,
        kind: RunKind,
        reasons: Iterable[str],
        started_at: datetime,
        *,
        relist_number: int = 0,
    ) -> None:
        """Store that the run has begun, or goes on. `relist_number` is of the newest re-list that was begun."""
        ...

    async def finish_run(self, run_id: str, report: RunReport, finished_at: datetime) -> None:
        """Store how the run ended, or what its slice added."""
        ...


class Pages(Protocol):
    async def commit_page(self, source: DocSource, update: PageUpdate, now: datetime) -> CommittedPage:
        """Cursor, messages, parts, parked items and outbox records in one transaction, or nothing.

        Raises:
            SourceNotActive: the source is not to be synced any more.
            CursorConflict: the cursor is not the one with which the page was read.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Repositories:
    """All that a sync run stores, by aggregate."""

    states: SyncStates
    deletions: SourceDeletions
    cursors: Cursors
    folders: Folders
    messages: Messages
    parked_items: ParkedItems
    uploads: Uploads
    runs: SyncRuns
    pages: Pages
    ingestion_states: IngestionStates


# Sync requests and what comes of them.


class MailboxSync(Protocol):
    async def sync_mailbox(self, source: DocSource, *, reasons: frozenset[SyncReason]) -> RunOutcome:
        """Bring one mailbox up to date. May be cancelled at any await, and run again by another process meanwhile.

        Provider failures become outcomes. Raises only `Unavailable` when Postgres or the blob store is away, and
        errors of our own that nobody foresaw: the worker then backs off by itself.
        """
        ...


class DocSources(Protocol):
    """The `doc-sources` topic in memory (`mailroom_common.kafka.directory`)."""

    def get_source(self, doc_source_id: str) -> DocSource | None: ...

    async def catch_up(self, timeout_s: float) -> bool:
        """Read `doc-sources` to the end it has now; False when that took too long."""
        ...


class RequestLog(Protocol):
    """The partition that a work table mirrors, as its owner writes it."""

    async def append_record(self, topic: Topic, append: RecordToAppend, *, occurred_at: datetime) -> int:
        """Append to the key's partition and return the offset. Raises Unavailable: then it may still be appended."""
        ...


class ConnectionEventPublisher(Protocol):
    """`connection-events`, through the outbox. Every call may raise Unavailable."""

    async def report_synced(self, source: DocSource, completed: RunCompleted) -> None:
        """`recovered` if a failure was reported before, and `synced`, at most one a minute."""
        ...

    async def report_failing(self, source: DocSource, detail: str, *, is_failure: bool) -> None:
        """`provider_failing`, once until it recovers: after failures in a row, or where nothing gets on for long,
        although the provider only asks for patience."""
        ...

    async def report_not_syncable(self, source: DocSource, kind: ConnectionKind, detail: str) -> None: ...


# The coalescer.


class CoalescingWindows(Protocol):
    """One window per doc source with recent notifications, kept over restarts."""

    def find_open_window(self, doc_source_id: str) -> CoalescingWindow | None: ...

    async def store_window(self, doc_source_id: str, window: CoalescingWindow | None) -> None:
        """Returns when it is durable; `find_open_window` returns it at once. Raises Unavailable."""
        ...

    def list_windows(self) -> Iterable[tuple[str, CoalescingWindow]]: ...

    def owns_source(self, doc_source_id: str) -> bool:
        """False for what a partition that moved to another process has left behind in this one."""
        ...


class SyncRequests(Protocol):
    async def send_request(self, doc_source_id: str, pending: PendingRequest) -> None:
        """Append the request to `sync-requests`. Raises Unavailable: then it may still be appended."""
        ...
