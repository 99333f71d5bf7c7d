"""Advances one cursor to the end of its round: page by page, each committed in batches."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import chain

from mailroom_common.budgets.waiting import mark_calls
from mailroom_common.errors import CursorRefused, PageTokenRefused, ProviderUnavailable
from mailroom_common.logs import get_logger
from mailroom_common.providers.ports import HISTORY_SCOPE, RELIST_SCOPE
from mailroom_common.providers.types import Change, ChangeKind, ChangePage, MessageSummary
from sync_engine.domain.cursor import Cursor
from sync_engine.domain.message_records import PageUpdate
from sync_engine.domain.watched_folders import Watch
from sync_engine.handlers.change_batches import cut_batches
from sync_engine.handlers.cursor_refusals import CursorRefusals
from sync_engine.handlers.look_up_messages import LookUpMessages, PageLookUp
from sync_engine.handlers.message_batches import CommitUpdates
from sync_engine.handlers.process_changes import ProcessChanges
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.handlers.unfinished_pages import PageProgress, UnfinishedPages
from sync_engine.handlers.unseen_messages import UnseenMessages
from sync_engine.ports import Cursors, Messages

log = get_logger()

# More refusals than this in one round do not come from a stale cursor any more.
_MAX_FALLBACKS = 3
# A position that is as good as the new one is stored no more often than this.
_MAX_POSITION_AGE = timedelta(days=1)

BetweenBatches = Callable[[], Awaitable[None]]


class ChangesUnavailable(ProviderUnavailable):
    """The provider failed over the list of changes itself."""


class CursorsRefused(ChangesUnavailable):
    """Each token of a round is refused, however often it begins anew: the pages before it are read again, and are no
    progress."""


@dataclass(frozen=True, slots=True)
class _OpenPage:
    """What the batches of one page have in common."""

    watch: Watch
    hints: Mapping[str, MessageSummary]
    progress: PageProgress
    look_up: PageLookUp


class AdvanceCursor:
    def __init__(
        self,
        cursors: Cursors,
        messages: Messages,
        changes: ProcessChanges,
        commits: CommitUpdates,
        clock: Callable[[], datetime],
    ) -> None:
        self._cursors = cursors
        self._changes = changes
        self._commits = commits
        self._clock = clock
        self._unfinished = UnfinishedPages()
        self._look_ups = LookUpMessages(messages)
        self._refusals = CursorRefusals()
        self._unseen = UnseenMessages(messages)

    async def advance_cursor(
        self,
        run: SyncRun,
        watch: Watch,
        scope: str,
        *,
        cursor: Cursor | None = None,
        hints: Mapping[str, MessageSummary] | None = None,
        between_batches: BetweenBatches | None = None,
    ) -> None:
        """Read `scope` from its cursor to the end of the round. First sync and refused cursor are the same path.

        `cursor` is what the caller has read of it, `hints` are summaries with more in them than those of the pages.
        Raises ItemGone where the folder is no more, CursorConflict, SourceNotActive, SliceEnded and what providers
        raise.
        """
        # Read without a lock: a run that moves it meanwhile is found by the version, when a page is committed.
        cursor = cursor or await self._cursors.read_cursor(run.doc_source_id, scope)
        while True:
            # A round from nothing lists what was there before: new mail and renewals go first.
            with mark_calls(is_old_mail=cursor.has_no_position and scope != HISTORY_SCOPE):
                try:
                    since = max(run.start_at, cursor.relist_since or run.start_at)
                    page = await run.provider.list_changes(
                        run.mailbox, scope, since, position=cursor.position, page_token=cursor.page_token
                    )
                except (CursorRefused, PageTokenRefused) as error:
                    if self._refusals.count_refusal(run, scope) > _MAX_FALLBACKS:
                        self._refusals.end_round(run, scope)
                        raise CursorsRefused(f"the provider refuses every cursor of {scope}") from error
                    cursor = await self._fall_back(run, cursor, error)
                    continue
                except ProviderUnavailable as error:
                    raise ChangesUnavailable(str(error), retry_after_s=error.retry_after_s) from error
                if not self._is_unchanged(cursor, page):
                    cursor = await self._commit_page(run, watch, cursor, page, hints or {}, between_batches)
            if page.position is not None:
                self._refusals.end_round(run, scope)
                return
            run.slice.end_if_over()
            if between_batches is not None:
                await between_batches()

    def _is_unchanged(self, cursor: Cursor, page: ChangePage) -> bool:
        """Whether the stored position will do: it tells the same, and more. Not for long, as providers forget old
        positions."""
        is_whole_round = page.position is not None and cursor.page_token is None and not cursor.has_no_position
        if not is_whole_round or page.changes or page.needs_relist or cursor.updated_at is None:
            return False
        return self._clock() - cursor.updated_at < _MAX_POSITION_AGE

    async def _fall_back(self, run: SyncRun, cursor: Cursor, error: CursorRefused | PageTokenRefused) -> Cursor:
        """A refused page token goes back to the position, a refused position to nothing: the least to read again."""
        is_page_only = isinstance(error, PageTokenRefused) and cursor.page_token is not None
        target = cursor.restart_round() if is_page_only else cursor.restart_from_nothing()
        refused = "page_token" if is_page_only else "position"
        log.info("cursor_refused", doc_source_id=run.doc_source_id, scope=cursor.scope, token=refused)
        return await self._commit_cursor(run, cursor, target, PageUpdate())

    async def _commit_page(
        self,
        run: SyncRun,
        watch: Watch,
        cursor: Cursor,
        page: ChangePage,
        hints: Mapping[str, MessageSummary],
        between_batches: BetweenBatches | None,
    ) -> Cursor:
        """Each batch raises the cursor's version, and only the last one moves it: after a crash or a throttle the page
        is listed again. What was committed of it is known and costs nothing, nor does what left no row, as long as this
        process remembers it."""
        changes = list(_fold_changes(page.changes).values())
        is_old_mail = between_batches is not None and cursor.has_no_position
        batches = run.old_mail_batches.cut(changes) if is_old_mail else cut_batches(changes)
        # A round from nothing lists what is there and not what is gone: at its end our own records are compared.
        ends_relist = run.is_observing and cursor.has_no_position and page.position is not None
        if ends_relist or not changes:
            batches = chain(batches, [()])
        with self._unfinished.continue_page(run, watch, cursor) as progress:
            look_up = self._look_ups.open_page(run, cursor.scope, changes, progress, hints)
            opened = _OpenPage(watch, hints, progress, look_up)
            written, begun = run.tally.written_messages, 0
            for batch in batches:
                # Between two commits, so that nothing of this page waits for what is done there. The page is listed
                # again by the next slice: one that only passed over what is known would never come to its end.
                if run.tally.written_messages > written:
                    run.slice.end_if_over()
                if begun and between_batches is not None:
                    await between_batches()
                begun += len(batch)
                is_last = begun == len(changes) and not (ends_relist and batch)
                if is_last and ends_relist:
                    cursor = await self._confirm_unseen(run, watch, cursor)
                cursor = await self._commit_batch(run, opened, cursor, batch, page if is_last else None)
        return cursor

    async def _commit_batch(
        self,
        run: SyncRun,
        opened: _OpenPage,
        cursor: Cursor,
        changes: Sequence[Change],
        finished_page: ChangePage | None,
    ) -> Cursor:
        """`finished_page` is the page whose last batch this is."""
        unprocessed = [change for change in changes if not opened.progress.is_processed(change)]
        listed = [_complete_change(change, cursor.scope, opened.hints) for change in unprocessed]
        looked_up = await opened.look_up.find_summaries(unprocessed)
        batch = await self._changes.process_changes(run, opened.watch, cursor.scope, listed, looked_up)
        opened.progress.record_rowless(change for change in unprocessed if change.message_id in batch.rowless_ids)
        update = batch.build_update()
        if batch.interruption:
            # What was done is kept. The cursor stays on the page, where the next run finds the rest.
            if not update.is_empty:
                await self._commit_cursor(run, cursor, cursor.stay_on_page(self._clock()), update)
            raise batch.interruption
        update = replace(update, seen_message_ids=_seen_ids(run, cursor, changes))
        if finished_page is None:
            return await self._commit_cursor(run, cursor, cursor.stay_on_page(self._clock()), update)
        if finished_page.position is not None:
            target = cursor.finish_round(finished_page.position)
        else:
            target = cursor.advance_to_page(finished_page.page_token or "", self._clock())
        # What is parked only is no progress, nor is the new token of a folder in which nothing changed.
        leaves_page = len(changes) > batch.parked_count or (not changes and finished_page.page_token is not None)
        update = replace(update, starts_relist=finished_page.needs_relist, leaves_page=leaves_page)
        return await self._commit_cursor(run, cursor, target, update)

    async def _commit_cursor(self, run: SyncRun, cursor: Cursor, target: Cursor, update: PageUpdate) -> Cursor:
        await self._commits.commit_update(run, replace(update, read_cursor=cursor, next_cursor=target))
        return replace(target, version=cursor.version + 1, updated_at=self._clock())

    async def _confirm_unseen(self, run: SyncRun, watch: Watch, cursor: Cursor) -> Cursor:
        """In batches of their own, before the round ends: a run that is cut off goes on with those that are left."""
        since = cursor.relist_started_at or self._clock()
        folder_id = None if cursor.scope == RELIST_SCOPE else cursor.scope
        async for changes in self._unseen.list_batches(run.doc_source_id, folder_id, since):
            batch = await self._changes.process_changes(run, watch, cursor.scope, changes)
            # Those that are there after all, or are parked, are not asked for again.
            seen = (*sorted(batch.rowless_ids), *(failed.message_id for failed in batch.failed))
            update = replace(batch.build_update(), seen_message_ids=seen)
            has_done = bool(seen) or not update.is_empty
            if has_done:
                cursor = await self._commit_cursor(run, cursor, cursor.stay_on_page(self._clock()), update)
            if batch.interruption:
                raise batch.interruption
            if has_done:
                run.slice.end_if_over()
        return cursor


def _fold_changes(changes: Sequence[Change]) -> dict[str, Change]:
    """A message may be listed more than once on a page: the last one counts, at its place."""
    # Taken out first, so that the message moves to its last place and is not left at its first.
    folded: dict[str, Change] = {}
    for change in changes:
        folded.pop(change.message_id, None)
        folded[change.message_id] = change
    return folded


def _seen_ids(run: SyncRun, cursor: Cursor, changes: Sequence[Change]) -> tuple[str, ...]:
    if not run.is_observing or not cursor.has_no_position:
        return ()
    return tuple(change.message_id for change in changes if change.kind is ChangeKind.PRESENT)


def _complete_change(change: Change, scope: str, hints: Mapping[str, MessageSummary]) -> Change:
    """A list of changes is of one folder, whether its items repeat that or not."""
    if change.summary is None:
        return change
    summary = hints.get(change.message_id, change.summary)
    return replace(change, summary=replace(summary, folder_id=summary.folder_id or scope))
