"""What the handlers ask for: sync runs, the tables behind them, Kafka, the directory."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from mailroom_common.events import ConnectionKind, DocSource, IngestionResult, SyncReason
from mailroom_common.topics import Topic
from sync_engine.domain.coalescing import Window, Wish
from sync_engine.domain.work_table import Append


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The run came to its end. `unannounced` counts what it found new though no notification had asked for it."""

    found_new: int = 0
    unannounced: int = 0
    full: bool = False


@dataclass(frozen=True, slots=True)
class RetryAt:
    """The run failed in a way that passes; `not_before` is in `sync_state` already. `detail` may be logged."""

    not_before: datetime
    detail: str
    failing: bool = True  # False: we were merely asked for patience (429), which is nobody's failure


@dataclass(frozen=True, slots=True)
class NotSyncable:
    """No run can help until somebody acts; whoever ends that state asks anew.

    `kind` is what subscription-manager must learn, each time it is found so (the event's id is derived, a repeat does
    no harm); None when it knows by itself: the source is paused, being deleted, or not ours.
    """

    detail: str
    kind: ConnectionKind | None = None


RunOutcome = Done | RetryAt | NotSyncable


class SyncsMailboxes(Protocol):
    async def run(self, source: DocSource, *, reasons: frozenset[SyncReason]) -> RunOutcome:
        """Bring one mailbox up to date. May be cancelled at any await, and run again by another process meanwhile.

        Provider failures become outcomes (`states.put_off` first for what passes). Raises only `Unavailable` when
        Postgres or the blob store is away, and what nobody foresaw: the worker then puts the source off itself.
        """
        ...


class SyncStates(Protocol):
    """Rows of `sync_state`. Every call may raise Unavailable."""

    async def mark_full_due(self, doc_source_ids: Iterable[str]) -> None:
        """Durably: the next run of these is a full one. Works for sources that have no row yet.

        A mark set while a full run is under way outlives that run: it clears only the mark that it began with.
        """
        ...

    async def not_before(self, source: DocSource) -> datetime | None:
        """When the source may run next; None when it may now. A newer grant generation than the row's clears it."""
        ...

    async def put_off(self, source: DocSource, *, detail: str, retry_after_s: float | None = None) -> datetime:
        """Count one more failed attempt, store `not_before` (backoff, or the provider's word) and tell it."""
        ...

    async def observe(self, source: DocSource) -> None:
        """Raise `source_version` and `state` to this version, never down: pages of runs begun before are refused."""
        ...

    async def forget(self, source: DocSource) -> None:
        """Remove what we hold of a `deleting` source but for its grave, and say `forgotten`, in one transaction.

        Documents and their blobs are ingestion's and stay. Saying it twice does no harm; a grave does not say it again.
        """
        ...


class KnowsSources(Protocol):
    """The `doc-sources` topic in memory (`mailroom_common.kafka.directory`)."""

    def get_source(self, doc_source_id: str) -> DocSource | None: ...

    async def catch_up(self, timeout_s: float) -> bool:
        """Read `doc-sources` to the end it has now; False when that took too long."""
        ...


class RequestLog(Protocol):
    """The partition that a work table mirrors, as its owner writes it."""

    async def append(self, topic: Topic, append: Append, *, occurred_at: datetime) -> int:
        """Append one record to the key's partition and tell its offset. Raises Unavailable: then it may come yet."""
        ...


class TellsConnections(Protocol):
    """`connection-events`, through the outbox. Every call may raise Unavailable."""

    async def synced(self, source: DocSource, done: Done) -> None:
        """A run came to its end: `recovered` if we had said otherwise, and `synced`, at most one a minute."""
        ...

    async def failing(self, source: DocSource, detail: str) -> None:
        """`provider_failing`, once until it recovers."""
        ...

    async def unsyncable(self, source: DocSource, kind: ConnectionKind, detail: str) -> None: ...


class ClosesMessages(Protocol):
    async def record_result(self, result: IngestionResult) -> None:
        """A taken part has its result; the message is closed when all have. Repeats change nothing."""
        ...


class KeepsWindows(Protocol):
    """The coalescer's table: one window per doc source that was heard of lately, kept over restarts."""

    def get(self, doc_source_id: str) -> Window | None: ...

    async def put(self, doc_source_id: str, window: Window | None) -> None:
        """Returns when it is kept; `get` shows it at once. Raises Unavailable."""
        ...

    def items(self) -> Iterable[tuple[str, Window]]: ...

    def owns(self, doc_source_id: str) -> bool:
        """False for what a partition that moved away has left behind here."""
        ...


class AsksForSyncs(Protocol):
    async def ask(self, doc_source_id: str, wish: Wish) -> None:
        """Write the request to `sync-requests`. Raises Unavailable: then it may come yet."""
        ...
