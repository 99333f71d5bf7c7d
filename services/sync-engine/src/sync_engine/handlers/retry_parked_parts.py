"""Tries parked parts again, at the end of a run; the other parts of their mails are documents already."""

from collections.abc import Sequence
from dataclasses import replace

from mailroom_common.errors import CallDeferred, MailroomError, Throttled
from mailroom_common.logs import get_logger
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.message_records import (
    DueMessage,
    DuePart,
    MessageState,
    PageUpdate,
    ParkedPart,
    ParkedReason,
    ProcessedMessage,
    SkippedPart,
)
from sync_engine.domain.run_planning import is_gone_for_good
from sync_engine.handlers.collect_messages import CollectMessages, skip_missing_part
from sync_engine.handlers.message_batches import CommitUpdates, MessageInterrupted
from sync_engine.handlers.store_parts import describe_error, find_parked_reason
from sync_engine.handlers.sync_run import ConsecutiveTries, SyncRun

log = get_logger()


class RetryParkedParts:
    def __init__(self, collect: CollectMessages, commits: CommitUpdates) -> None:
        self._collect = collect
        self._commits = commits

    async def retry_parts(self, run: SyncRun, due_messages: Sequence[DueMessage]) -> None:
        """A transaction for each message, so that one that fails takes no other with it.

        Ends early where the provider fails over one after the other: each may hang for half a minute, and the mailbox's
        new mail waits meanwhile. The next run goes on.
        """
        tries = ConsecutiveTries()
        for due in due_messages:
            if tries.has_provider_failed:
                return
            interruption: MailroomError | None = None
            try:
                retried = await self._retry_message(run, due)
            except MessageInterrupted as interrupted:
                retried, interruption = interrupted.processed, interrupted.interruption
            if retried.parts or retried.opened_part_paths:
                await self._commits.commit_update(run, PageUpdate(retried=(retried,)))
            if interruption:
                raise interruption
            tries.count_try(is_failing=_is_provider_failing(retried))

    async def _retry_message(self, run: SyncRun, due: DueMessage) -> ProcessedMessage:
        """With all of its due parts parked again where the message itself cannot be fetched, or its first part is
        throttled."""
        try:
            return await self._collect.retry_parts(run, due)
        except Exception as error:
            # Counted, or it would be the first of the next run again and end that too.
            is_refused = isinstance(error, Throttled) and not isinstance(error, CallDeferred)
            reason = ParkedReason.PROVIDER_UNAVAILABLE if is_refused else find_parked_reason(error)
            if reason is None:
                raise
            if reason is ParkedReason.CRASHED:
                log.exception("message_crashed", doc_source_id=run.doc_source_id, message_id=due.message_id)
            parts = tuple(_park_again(run, item, reason, describe_error(error)) for item in due.due_parts)
            summary = MessageSummary(message_id=due.message_id)
            processed = ProcessedMessage(summary=summary, state=MessageState.OPEN, parts=parts)
            if isinstance(error, Throttled):
                raise MessageInterrupted(processed, error) from error
            return processed


def _is_provider_failing(retried: ProcessedMessage) -> bool:
    reasons = {part.parked_reason for part in retried.parked_parts}
    return reasons == {ParkedReason.PROVIDER_UNAVAILABLE} and not retried.stored_parts


def _park_again(run: SyncRun, item: DuePart, reason: ParkedReason, detail: str) -> ParkedPart | SkippedPart:
    is_gone = reason is item.part.parked_reason is ParkedReason.GONE
    if is_gone and is_gone_for_good(item.attempts + 1, run.started_at - item.first_failed_at):
        return skip_missing_part(item.part)
    return replace(item.part, parked_reason=reason, detail=detail)
