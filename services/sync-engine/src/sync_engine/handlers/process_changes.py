"""Decides which changes of a page are new to us, and has those messages collected or observed."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mailroom_common.metrics import SYNC_MESSAGES_PASSED_OVER
from mailroom_common.providers.ports import RELIST_SCOPE
from mailroom_common.providers.types import Change, ChangeKind, MessageSummary
from sync_engine.domain.message_records import KnownMessage, PassedOverReason
from sync_engine.domain.watched_folders import Watch
from sync_engine.handlers.collect_messages import CollectMessages
from sync_engine.handlers.known_messages import build_known_ref, is_in_other_folder
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
        self,
        run: SyncRun,
        watch: Watch,
        scope: str,
        changes: Sequence[Change],
        looked_up: Mapping[str, MessageSummary] | None = None,
    ) -> ProcessedBatch:
        """`looked_up` is what a list, read before, told of some of the messages, by their ids."""
        known = await self._messages.find_known(run.doc_source_id, [change.message_id for change in changes])
        # What has become known since was judged in a version that is as new as that of the list, or newer.
        unknown = {key: summary for key, summary in (looked_up or {}).items() if key not in known}
        changes = [_add_looked_up_facts(change, scope, unknown.get(change.message_id)) for change in changes]
        if run.is_observing:
            return await self._observe_changes(run, watch, scope, changes, known)
        refs = [ref for change in changes if (ref := _to_collect(run, watch, change, known.get(change.message_id)))]
        return await self._collect.collect_messages(run, watch, await self._leave_out_passed_over(run, refs))

    async def _leave_out_passed_over(self, run: SyncRun, refs: Sequence[MessageRef]) -> list[MessageRef]:
        """Without those that only a fetch could tell to be from before the start, and one has."""
        untimed = [ref.message_id for ref in refs if ref.summary is None or ref.summary.received_at is None]
        passed_over = await self._messages.find_passed_over(run.doc_source_id, untimed, run.start_at)
        SYNC_MESSAGES_PASSED_OVER.labels(PassedOverReason.BEFORE_START).inc(len(passed_over))
        return [ref for ref in refs if ref.message_id not in passed_over]

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


def _add_looked_up_facts(change: Change, scope: str, looked_up: MessageSummary | None) -> Change:
    if looked_up is None:
        return change
    return replace(change, summary=replace(looked_up, folder_id=looked_up.folder_id or scope))


def _to_collect(run: SyncRun, watch: Watch, change: Change, known: KnownMessage | None) -> MessageRef | None:
    if known is not None:
        return _to_judge_anew(run, watch, change, known)
    if change.kind is ChangeKind.PRESENT:
        return _to_collect_present(run, watch, change)
    if run.provider.traits.is_removal_final:
        return None
    # A folder's list of changes loses messages that are moved about: removed here and never collected may mean that it
    # lies elsewhere.
    return MessageRef(change.message_id, may_be_gone=True)


def _to_collect_present(run: SyncRun, watch: Watch, change: Change) -> MessageRef | None:
    if watch.is_elsewhere(change):
        # A later change is a later record. Each draft that a mail program saves comes and goes so.
        SYNC_MESSAGES_PASSED_OVER.labels(PassedOverReason.ELSEWHERE).inc()
        return None
    if not watch.may_have_arrived(change):
        # It lay where it is watched before the change too: it was judged when it came, or is listed by the re-list
        # that is under way, or is from before the start.
        SYNC_MESSAGES_PASSED_OVER.labels(PassedOverReason.NOT_MOVED).inc()
        return None
    is_said_to_be_there = change.summary is not None and change.label_changes is None
    may_be_gone = run.provider.traits.uses_labels and not is_said_to_be_there
    return MessageRef(change.message_id, change.summary, may_be_gone=may_be_gone)


def _to_judge_anew(run: SyncRun, watch: Watch, change: Change, known: KnownMessage) -> MessageRef | None:
    if change.kind is ChangeKind.REMOVED or watch.is_elsewhere(change):
        return None  # where it has been moved to, it is shown as present
    if run.provider.traits.uses_labels:
        has_moved = change.label_changes is not None and watch.may_have_arrived(change)
    else:
        has_moved = is_in_other_folder(known, change.summary)
    return build_known_ref(run, known, change.summary, has_moved=has_moved)


def _is_final_removal(run: SyncRun, scope: str, change: Change) -> bool:
    """What a re-list does not show any more is only missing there, whatever the provider's removals mean."""
    return change.kind is ChangeKind.REMOVED and run.provider.traits.is_removal_final and scope != RELIST_SCOPE
