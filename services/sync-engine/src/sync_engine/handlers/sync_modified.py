"""The hinted run of a mailbox that lists its changes by folder: one mailbox-wide list of what was modified lately."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import datetime

from mailroom_common.budgets.waiting import mark_calls
from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.message_records import KnownMessage
from sync_engine.domain.run_planning import choose_list_start
from sync_engine.handlers.change_batches import MAX_BATCH_MESSAGES
from sync_engine.handlers.collect_messages import CollectMessages
from sync_engine.handlers.known_messages import build_listed_refs
from sync_engine.handlers.message_batches import CommitUpdates, MessageRef
from sync_engine.handlers.sync_folders import SyncFolders
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.handlers.watch_mailbox import WatchMailbox
from sync_engine.ports import Messages, SyncStates


class SyncModified:
    def __init__(
        self,
        *,
        states: SyncStates,
        messages: Messages,
        watches: WatchMailbox,
        collect: CollectMessages,
        folders: SyncFolders,
        commits: CommitUpdates,
        clock: Callable[[], datetime],
    ) -> None:
        self._states = states
        self._messages = messages
        self._watches = watches
        self._collect = collect
        self._folders = folders
        self._commits = commits
        self._clock = clock

    async def sync_modified(self, run: SyncRun) -> None:
        """The list moves no cursor: so changes that lag lose nothing, and what the list leaves out comes later only.

        Each list goes on where the one before it ended, whichever run made that. Raises SliceEnded between two pages.
        """
        since: datetime | None = _choose_start(run)
        hints: dict[str, MessageSummary] = {}
        is_repeating = False
        while since is not None:
            page = await run.provider.list_modified(run.mailbox, since)
            # While a first sync is under way, old mail that somebody moves or marks is no new mail.
            is_first_sync = run.state.last_completed_full_started_at is None
            await self._process_page(run, page.summaries, hints, is_old_mail=is_first_sync)
            # After the page is committed: a crash before this lists it again.
            has_advanced = await self._record_listed(run, page.summaries)
            if is_repeating and has_advanced:
                run.slice.extend_after_repeats()
            is_repeating = not has_advanced
            # Paged by value: where a page brings us no further, the next full run is what reads the rest.
            has_more = page.resume_after is not None and page.resume_after > since
            since = page.resume_after if has_more else None
            if since is not None and has_advanced and not hints:
                run.slice.end_if_over()
        if hints:
            await self._sync_listed_folders(run, hints)

    async def list_old_mail(self, run: SyncRun, since: datetime) -> AsyncIterator[datetime | None]:
        """All that was modified since then, which is all that was received since then: the time up to which a page has
        been read, and None at the end."""
        resume_after: datetime | None = since
        while resume_after is not None:
            with mark_calls(is_old_mail=True):
                page = await run.provider.list_modified(run.mailbox, resume_after)
                await self._process_page(run, page.summaries, {}, is_old_mail=True)
            has_more = page.resume_after is not None and page.resume_after > resume_after
            resume_after = page.resume_after if has_more else None
            yield resume_after

    async def _record_listed(self, run: SyncRun, summaries: Sequence[MessageSummary]) -> bool:
        # A message that was modified in the future counts once that is near, and is listed until then: to go on from
        # there would leave out all that comes before it.
        latest = self._clock() + run.timings.max_clock_difference
        times = [summary.modified_at for summary in summaries if summary.modified_at is not None]
        until = max((at for at in times if at <= latest), default=None)
        if until is None or (run.listed_until is not None and until <= run.listed_until):
            return False
        await self._states.record_modified_listed_until(run.source, until)
        run.slice.listed_until = until
        return True

    async def _process_page(
        self,
        run: SyncRun,
        summaries: Sequence[MessageSummary],
        hints: dict[str, MessageSummary],
        *,
        is_old_mail: bool = False,
    ) -> None:
        listed = {summary.message_id: summary for summary in summaries}
        known = await self._messages.find_known(run.doc_source_id, list(listed))
        if run.is_observing:
            hints |= {key: summary for key, summary in listed.items() if _is_changed(run, summary, known.get(key))}
            return
        if refs := build_listed_refs(run, list(listed.values()), known):
            await self._collect_listed(run, refs, is_old_mail=is_old_mail)

    async def _collect_listed(self, run: SyncRun, refs: Sequence[MessageRef], *, is_old_mail: bool) -> None:
        folder_ids = {ref.summary.folder_id for ref in refs if ref.summary and ref.summary.folder_id}
        watch = await self._watches.watch_saved_folders(run, folder_ids)
        # A folder that was made since the last full run is not saved yet: then the folders are listed anew.
        for start in range(0, len(refs), MAX_BATCH_MESSAGES):
            batch = await self._collect.collect_messages(run, watch, refs[start : start + MAX_BATCH_MESSAGES])
            await self._commits.commit_batch(run, batch, is_old_mail=is_old_mail)

    async def _sync_listed_folders(self, run: SyncRun, hints: Mapping[str, MessageSummary]) -> None:
        """Changes of an observed mailbox are reported in order, so they come from cursors; the list says from which."""
        listed = {summary.folder_id for summary in hints.values() if summary.folder_id}
        watch = await self._watches.watch_saved_folders(run, listed)
        folder_ids = [folder_id for folder_id in watch.folders if folder_id in listed]
        if failure := await self._folders.sync_folders(run, watch, folder_ids, hints=hints):
            raise failure


def _choose_start(run: SyncRun) -> datetime:
    first_full_started_at = run.state.last_completed_full_started_at or run.full_round.started_at
    return choose_list_start(run.listed_until, first_full_started_at, run.timings)


def _is_changed(run: SyncRun, summary: MessageSummary, known: KnownMessage | None) -> bool:
    if known is None:
        return not run.is_before_start(summary)
    if known.is_parked:
        return False
    return (known.version, known.folder_id) != (summary.version, summary.folder_id)
