"""Decides which changes of a page are new to us, and has those messages collected or observed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mailroom_common.providers.ports import RELIST_SCOPE
from mailroom_common.providers.types import Change, ChangeKind
from sync_engine.domain.message_records import KnownMessage
from sync_engine.domain.watched_folders import Watch
from sync_engine.handlers.collect_messages import CollectMessages
from sync_engine.handlers.message_batches import MessageRef, ProcessedBatch
from sync_engine.handlers.observe_messages import ObserveMessages
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.ports import Messages


class ProcessChanges:
    def __init__(self, messages: Messages, collect: CollectMessages, observe: ObserveMessages) -> None:
        self._messages = messages
        self._collect = collect
        self._observe = observe

    async def process_changes(
        self, run: SyncRun, watch: Watch, scope: str, changes: Sequence[Change]
    ) -> ProcessedBatch:
        known = await self._messages.find_known(run.doc_source_id, [change.message_id for change in changes])
        if run.is_observing:
            return await self._observe_changes(run, watch, scope, changes, known)
        refs = [ref for change in changes if change.message_id not in known and (ref := _to_collect(run, change))]
        return await self._collect.collect_messages(run, watch, refs)

    async def _observe_changes(
        self, run: SyncRun, watch: Watch, scope: str, changes: Sequence[Change], known: Mapping[str, KnownMessage]
    ) -> ProcessedBatch:
        refs, removed = [], []
        for change in changes:
            record = known.get(change.message_id)
            if _is_final_removal(run, scope, change):
                removed += [self._observe.report_removal(run, record)] if record else []
            elif record is not None and record.is_parked:
                continue  # it is tried again in its time, and its state by then is reported
            elif change.kind is ChangeKind.PRESENT:
                refs.append(MessageRef(change.message_id, change.summary, received_before=change.received_before))
            elif record is None or record.folder_id == scope or scope == RELIST_SCOPE:
                # Removed from the folder where we know it; elsewhere it has been moved, and that was reported.
                refs.append(MessageRef(change.message_id, may_be_gone=True))
        batch = await self._observe.observe_messages(run, watch, refs, known)
        return replace(batch, messages=batch.messages + tuple(message for message in removed if message))


def _to_collect(run: SyncRun, change: Change) -> MessageRef | None:
    if change.kind is ChangeKind.PRESENT:
        return MessageRef(change.message_id, change.summary)
    if run.provider.traits.is_removal_final:
        return None
    # A folder's list of changes loses messages that are moved about: removed here and never collected may mean that it
    # lies elsewhere.
    return MessageRef(change.message_id, may_be_gone=True)


def _is_final_removal(run: SyncRun, scope: str, change: Change) -> bool:
    """What a re-list does not show any more is only missing there, whatever the provider's removals mean."""
    return change.kind is ChangeKind.REMOVED and run.provider.traits.is_removal_final and scope != RELIST_SCOPE
