"""Batches of messages: processed some at once, and committed as the progress of a run."""

from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from mailroom_common.budgets.waiting import find_wait_limit
from mailroom_common.errors import (
    AccessDenied,
    CallDeferred,
    ItemGone,
    MailroomError,
    ProviderUnavailable,
    Rejected,
    Throttled,
)
from mailroom_common.logs import get_logger
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.message_records import (
    FailedMessage,
    KnownMessage,
    PageUpdate,
    ParkedReason,
    PassedOverMessage,
    ProcessedMessage,
)
from sync_engine.domain.run_outcomes import ClaimedByOtherJob, SourceNotActive
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.handlers.work_queue import run_side_by_side
from sync_engine.ports import Pages

log = get_logger()


@dataclass(frozen=True, slots=True)
class MessageRef:
    """A message to be processed.

    `may_be_gone`: its absence is no failure, as it was listed as removed, or is known. `known` is set where it is to be
    judged anew; `has_moved`: for its place, and not only because it may have other parts now. `received_before`: as in
    Change.
    """

    message_id: str
    summary: MessageSummary | None = None
    may_be_gone: bool = False
    known: KnownMessage | None = None
    has_moved: bool = False
    received_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class ProcessedBatch:
    """`interruption` is what the run has to end with, once the rest of this is committed: a throttle, say.

    `rowless_ids` are messages that were processed without an error and that leave no row of `message`; of those,
    `passed_over` were fetched to find that they are from before the start.
    """

    messages: tuple[ProcessedMessage, ...] = ()
    failed: tuple[FailedMessage, ...] = ()
    rowless_ids: frozenset[str] = frozenset()
    passed_over: tuple[PassedOverMessage, ...] = ()
    interruption: MailroomError | None = None

    def build_update(self) -> PageUpdate:
        return PageUpdate(messages=self.messages, failed=self.failed, passed_over=self.passed_over)

    @property
    def parked_count(self) -> int:
        """Messages of which nothing could be done but to park them, or all that may be stored of them."""
        return len(self.failed) + sum(message.is_parked_only for message in self.messages)


class MessageInterrupted(MailroomError):
    """What the run has to end with came up in the middle of a message: what was done of it is kept."""

    def __init__(self, processed: ProcessedMessage, interruption: MailroomError) -> None:
        super().__init__(str(interruption))
        self.processed = processed
        self.interruption = interruption


class MessageUnavailable(ProviderUnavailable):
    """The provider failed over one message: it may be the message's fault, or the provider's. The run ends, and the
    message is parked, so that the next run passes over it."""

    def __init__(self, failed: FailedMessage, *, retry_after_s: float | None) -> None:
        super().__init__(failed.detail, retry_after_s=retry_after_s)
        self.failed = failed


ProcessMessage = Callable[[MessageRef], Awaitable[ProcessedMessage | PassedOverMessage | None]]
_Result = ProcessedMessage | PassedOverMessage | FailedMessage | None


async def process_each(
    run: SyncRun, refs: Sequence[MessageRef], process_message: ProcessMessage, *, max_concurrent: int
) -> ProcessedBatch:
    """What `process_message` made of each, in the order of `refs`, up to an error that concerns the whole run."""
    run.access_probes.listed_ids = tuple(ref.message_id for ref in refs)
    # What a throttle ended an earlier run with comes last: once all others are served, it is its own fault.
    waiting = deque(sorted(enumerate(refs), key=lambda item: _throttled_before.count_runs(run, item[1])))
    results: dict[int, _Result] = {}
    interruptions: list[MailroomError] = []
    throttles = _ThrottledMessages(results)

    async def process_in_turn() -> None:
        # After an interruption nothing new is begun, and what is under way may come to its end: its calls are spent.
        while waiting and not interruptions:
            index, ref = waiting.popleft()
            try:
                results[index] = await _process_alone(run, ref, process_message)
            except MessageInterrupted as interrupted:
                results[index] = interrupted.processed
                if not _costs_only_the_message(interrupted.interruption):
                    interruptions.append(interrupted.interruption)
            except Throttled as error:
                if throttles.may_try_again(index, error):
                    waiting.append((index, ref))
                elif throttles.is_own_fault(index, error) or _throttled_before.is_own_fault(run, ref, error, results):
                    results[index] = FailedMessage(ref.message_id, ParkedReason.PROVIDER_UNAVAILABLE, str(error))
                else:
                    _throttled_before.add_run(run, ref, error)
                    interruptions.append(error)
            except MailroomError as error:
                interruptions.append(error)

    # Cancelled with the run: what was stored is announced, and will be stored again.
    await run_side_by_side(process_in_turn, count=min(max_concurrent, len(refs)))
    rowless_ids = frozenset(
        refs[index].message_id
        for index, result in results.items()
        if result is None or isinstance(result, PassedOverMessage)
    )
    batch = _collect_results([results[index] for index in sorted(results)], interruptions)
    return replace(batch, rowless_ids=rowless_ids)


class _ThrottledBefore:
    """How many runs a throttle of a message has ended. In memory: what is forgotten costs one run more."""

    _MAX_MESSAGES = 10_000
    _MAX_RUNS = 2  # of a message that is alone: its page was served before each

    def __init__(self) -> None:
        self._runs: OrderedDict[tuple[str, str], int] = OrderedDict()

    def count_runs(self, run: SyncRun, ref: MessageRef) -> int:
        return self._runs.get((run.doc_source_id, ref.message_id), 0)

    def add_run(self, run: SyncRun, ref: MessageRef, error: Throttled) -> None:
        if isinstance(error, CallDeferred):
            return
        self._runs[run.doc_source_id, ref.message_id] = self.count_runs(run, ref) + 1
        if len(self._runs) > self._MAX_MESSAGES:
            self._runs.popitem(last=False)

    def is_own_fault(self, run: SyncRun, ref: MessageRef, error: Throttled, results: Mapping[int, object]) -> bool:
        runs = self.count_runs(run, ref)
        if isinstance(error, CallDeferred) or not (runs >= self._MAX_RUNS or (runs and results)):
            return False
        del self._runs[run.doc_source_id, ref.message_id]
        return True


_throttled_before = _ThrottledBefore()


class _ThrottledMessages:
    """Which messages of a batch were throttled, and how many others had a result by then."""

    def __init__(self, results: Mapping[int, object]) -> None:
        self._results = results
        self._seen: dict[int, int] = {}

    def may_try_again(self, index: int, error: Throttled) -> bool:
        """Once, after the others, where the run may still wait so long: one refusal then costs one message a moment."""
        if index in self._seen or not _may_wait_for(error):
            return False
        self._seen[index] = len(self._results)
        return True

    def is_own_fault(self, index: int, error: Throttled) -> bool:
        """Others were served between its two refusals, so the throttle is not the mailbox's: it must not hold up the
        page for ever."""
        return index in self._seen and _may_wait_for(error) and len(self._results) > self._seen[index]


def _costs_only_the_message(interruption: MailroomError) -> bool:
    """The rest of the message is parked, and due at the end of this run."""
    return isinstance(interruption, Throttled) and _may_wait_for(interruption)


def _may_wait_for(error: Throttled) -> bool:
    # Without a named wait it is the quota of the minute, which ends the run: each further call would be refused too.
    return error.retry_after_s is not None and find_wait_limit().allows(error.retry_after_s)


def _collect_results(results: Sequence[_Result], interruptions: Sequence[MailroomError]) -> ProcessedBatch:
    failed = [result for result in results if isinstance(result, FailedMessage)]
    first = interruptions[0] if interruptions else None
    if isinstance(first, MessageUnavailable):
        failed.append(first.failed)
    messages = tuple(result for result in results if isinstance(result, ProcessedMessage))
    passed_over = tuple(result for result in results if isinstance(result, PassedOverMessage))
    return ProcessedBatch(messages, tuple(failed), passed_over=passed_over, interruption=first)


async def _process_alone(run: SyncRun, ref: MessageRef, process_message: ProcessMessage) -> _Result:
    """An error that is this message's own becomes a FailedMessage, so that the batch goes on without it."""
    try:
        return await process_message(ref)
    except ItemGone:
        return (
            None
            if ref.may_be_gone
            else FailedMessage(ref.message_id, ParkedReason.GONE, "it was listed and cannot be fetched")
        )
    except AccessDenied as error:
        # Others can be read, or it would have been ItemsDenied.
        return FailedMessage(ref.message_id, ParkedReason.ACCESS_DENIED, str(error))
    except Rejected as error:
        return FailedMessage(ref.message_id, ParkedReason.REJECTED, str(error))
    except ClaimedByOtherJob as error:
        return FailedMessage(ref.message_id, ParkedReason.CLAIMED_BY_OTHER_JOB, str(error))
    except ProviderUnavailable as error:
        failed = FailedMessage(ref.message_id, ParkedReason.PROVIDER_UNAVAILABLE, str(error))
        raise MessageUnavailable(failed, retry_after_s=error.retry_after_s) from error
    except (MailroomError, SourceNotActive):
        raise
    except Exception as error:
        # Untrusted input finds every bug: one mail that crashes us must not keep the others from being processed.
        log.exception("message_crashed", doc_source_id=run.doc_source_id, message_id=ref.message_id)
        return FailedMessage(ref.message_id, ParkedReason.CRASHED, type(error).__name__)


class CommitUpdates:
    def __init__(self, pages: Pages, clock: Callable[[], datetime]) -> None:
        self._pages = pages
        self._clock = clock

    async def commit_update(self, run: SyncRun, update: PageUpdate) -> None:
        """Raises CursorConflict and SourceNotActive; then nothing is written."""
        # Progress counts by what is committed: a run that got on before it failed is no failure in a row.
        update = replace(update, resets_back_off=run.state.has_failed)
        run.add_to_tally(update, await self._pages.commit_page(run.source, update, self._clock()))

    async def commit_batch(self, run: SyncRun, batch: ProcessedBatch, *, is_old_mail: bool = False) -> None:
        """A batch without a cursor. Raises its interruption, once the rest of it is committed."""
        update = replace(batch.build_update(), is_old_mail=is_old_mail)
        if not update.is_empty:
            await self.commit_update(run, update)
        if batch.interruption:
            raise batch.interruption
