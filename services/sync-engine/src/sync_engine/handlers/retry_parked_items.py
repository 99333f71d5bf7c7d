"""Tries parked messages again, at the end of a run: by then the provider has shown that it answers."""

from collections.abc import Sequence
from dataclasses import replace

from mailroom_common.logs import get_logger
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.mail_filter import MailRejection
from sync_engine.domain.message_records import (
    FailedMessage,
    MessageState,
    ParkedItem,
    ParkedReason,
    ProcessedMessage,
)
from sync_engine.domain.run_planning import is_gone_for_good
from sync_engine.domain.watched_folders import Watch
from sync_engine.handlers.collect_messages import CollectMessages
from sync_engine.handlers.message_batches import CommitUpdates, MessageRef, MessageUnavailable, ProcessedBatch
from sync_engine.handlers.observe_messages import ObserveMessages
from sync_engine.handlers.sync_run import ConsecutiveTries, SyncRun
from sync_engine.ports import Messages

log = get_logger()


class RetryParkedItems:
    def __init__(
        self, messages: Messages, collect: CollectMessages, observe: ObserveMessages, commits: CommitUpdates
    ) -> None:
        self._messages = messages
        self._collect = collect
        self._observe = observe
        self._commits = commits

    async def retry_items(self, run: SyncRun, watch: Watch, items: Sequence[ParkedItem]) -> None:
        """One at a time, a transaction each: an item that fails must not take another with it.

        Ends early where the provider fails over one after the other, as the retries of parts do.
        """
        tries = ConsecutiveTries()
        for item in items:
            if tries.has_provider_failed:
                return
            batch = await self._process_item(run, watch, item)
            if batch.interruption is not None and not isinstance(batch.interruption, MessageUnavailable):
                raise batch.interruption
            await self._commit_item(run, item, batch)
            tries.count_try(is_failing=isinstance(batch.interruption, MessageUnavailable))

    async def _process_item(self, run: SyncRun, watch: Watch, item: ParkedItem) -> ProcessedBatch:
        known = await self._messages.find_known(run.doc_source_id, [item.message_id])
        if not run.is_observing:
            record = known.get(item.message_id)
            ref = MessageRef(item.message_id)
            if record is not None and record.is_judged:  # it failed when it was to be judged anew
                ref = MessageRef(item.message_id, may_be_gone=True, known=record, has_moved=True)
            return await self._collect.collect_messages(run, watch, [ref])
        recorded = {key: message for key, message in known.items() if message.state is not MessageState.PARKED}
        # A mail that was reported as received and cannot be fetched any more is removed, which is to be reported too.
        refs = [MessageRef(item.message_id, may_be_gone=bool(recorded))]
        return await self._observe.observe_messages(run, watch, refs, recorded)

    async def _commit_item(self, run: SyncRun, item: ParkedItem, batch: ProcessedBatch) -> None:
        failed = tuple(failure for failure in batch.failed if not _is_gone_for_good(run, item, failure))
        messages = batch.messages
        if not failed:
            log.info(
                "parked_item_resolved",
                doc_source_id=run.doc_source_id,
                message_id=item.message_id,
                is_processed=bool(batch.messages),
            )
            if batch.failed and not run.is_observing:
                messages = (_close_as_gone(item),)
        resolved = () if failed else (item.message_id,)
        update = replace(batch.build_update(), messages=messages, failed=failed, resolved_item_ids=resolved)
        await self._commits.commit_update(run, update)


def _is_gone_for_good(run: SyncRun, item: ParkedItem, failure: FailedMessage) -> bool:
    is_gone = failure.reason == item.reason == ParkedReason.GONE
    return is_gone and is_gone_for_good(item.attempts + 1, run.started_at - item.first_failed_at)


def _close_as_gone(item: ParkedItem) -> ProcessedMessage:
    """Shown with its reason; where a page shows the message again, it is collected as if it were new."""
    return ProcessedMessage(
        summary=MessageSummary(message_id=item.message_id),
        state=MessageState.CLOSED,
        skip_reason=MailRejection.GONE_BEFORE_READ,
    )
