"""Moves one cursor to its end: page by page, each in one transaction with what was found on it."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from mailroom_common.errors import (
    AccessDenied,
    CursorRefused,
    ItemGone,
    MailroomError,
    PageTokenRefused,
    ProviderUnavailable,
    Rejected,
)
from mailroom_common.events import Provider
from mailroom_common.logs import get_logger
from mailroom_common.providers.types import Change, ChangeKind, ChangePage, MessageSummary
from sync_engine.domain.records import RELIST, Cursor, KnownMessage, Page
from sync_engine.domain.watched import Watch
from sync_engine.handlers.items import ItemUnavailable, Taken, Wanted
from sync_engine.handlers.observe_messages import ObserveMessages
from sync_engine.handlers.run import Run
from sync_engine.handlers.take_messages import TakeMessages
from sync_engine.run_ports import RunTables

log = get_logger()

# More refusals than this in one run are no stale cursor any more.
_MOST_FALLBACKS = 3
# Between so many messages of a re-list the caller may look for new mail, which does not wait for old mail.
_MESSAGES_BETWEEN = 10
# So many messages of a folder that is gone are looked for, each with a call, before what was found is written.
_MESSAGES_OF_A_GONE_FOLDER = 50

Between = Callable[[], Awaitable[None]]


class AdvanceCursor:
    def __init__(
        self, tables: RunTables, take: TakeMessages, observe: ObserveMessages, clock: Callable[[], datetime]
    ) -> None:
        self._tables = tables
        self._take = take
        self._observe = observe
        self._clock = clock

    async def advance_each(
        self,
        run: Run,
        watch: Watch,
        folder_ids: Iterable[str],
        *,
        hints: Mapping[str, MessageSummary] | None = None,
    ) -> ProviderUnavailable | None:
        """`advance` for each folder; one that cannot be read keeps no other from being read.

        Returns what the run has to end with when some could not be read. Raises what `advance` does when it is not
        about one folder, and where none at all could be read.
        """
        failed: list[MailroomError] = []
        read = 0
        for folder_id in folder_ids:
            try:
                await self.advance(run, watch, folder_id, hints=hints)
                read += 1
            except ItemUnavailable:
                raise  # the run ends with it, and the next one passes over that message
            except (Rejected, AccessDenied, ProviderUnavailable) as error:
                log.warning("folder_not_read", doc_source_id=run.doc_source_id, scope=folder_id, reason=str(error))
                if isinstance(error, ProviderUnavailable) and error.retry_after_s:
                    raise  # a pause is the mailbox's: nothing else is asked of it either
                failed.append(error)
        if not failed:
            return None
        if not read and all(isinstance(error, AccessDenied) for error in failed):
            raise failed[0]
        # What one folder is denied is not denied to the mailbox, and what it answers with 400 is no crash of ours.
        told = ProviderUnavailable(f"{len(failed)} of {len(failed) + read} folders could not be read: {failed[0]}")
        told.__cause__ = failed[0]
        if not read:
            raise told
        return told

    async def advance(
        self,
        run: Run,
        watch: Watch,
        scope: str,
        *,
        hints: Mapping[str, MessageSummary] | None = None,
        between: Between | None = None,
    ) -> None:
        """Read `scope` from its cursor to the end of the round. First sync and refused cursor are the same path.

        `hints` are summaries that say more than a page does. Raises CursorMoved, NotToBeSynced and what providers do.
        """
        cursor = await self._tables.cursor(run.doc_source_id, scope)
        refusals = 0
        while True:
            try:
                page = await run.provider.list_changes(
                    run.mailbox, scope, run.start_at, position=cursor.position, page_token=cursor.page_token
                )
            except (CursorRefused, PageTokenRefused) as error:
                refusals += 1
                if refusals > _MOST_FALLBACKS:
                    raise ProviderUnavailable(f"the provider refuses every cursor of {scope}") from error
                cursor = await self._fall_back(run, cursor, error)
                continue
            except ItemGone:
                await self._end(run, watch, scope)
                return
            cursor = await self._commit(run, watch, cursor, page, hints or {}, between)
            if page.position is not None:
                return

    async def end_gone_folders(self, run: Run, watch: Watch) -> None:
        """After `watch` was asked for afresh: folders that were purged since are in no tree, and no delta of theirs
        says what became of their mails."""
        for scope in await self._tables.gone_folders(run.doc_source_id):
            await self._end(run, watch, scope)

    async def _end(self, run: Run, watch: Watch, scope: str) -> None:
        """The cursor of a folder that is gone goes too, last: while it stands, the mails are still to be looked for."""
        if run.observes:
            there = await self._tables.unseen(run.doc_source_id, scope, self._clock())
            changes = [Change(ChangeKind.REMOVED, known.message_id) for known in there]
            for start in range(0, len(changes), _MESSAGES_OF_A_GONE_FOLDER):
                some = changes[start : start + _MESSAGES_OF_A_GONE_FOLDER]
                taken = await self._work_on(run, watch, scope, some, {}, None)
                await self._write(run, Page(messages=taken.messages, failed=taken.failed))
        await self._tables.drop_cursor(run.doc_source_id, scope)

    async def _fall_back(self, run: Run, cursor: Cursor, error: CursorRefused | PageTokenRefused) -> Cursor:
        """A refused page goes back to its position, a refused position to nothing: the least that is read again."""
        only_page = isinstance(error, PageTokenRefused) and cursor.page_token is not None
        back = cursor.at_round_start() if only_page else cursor.at_nothing()
        log.info("cursor_refused", doc_source_id=run.doc_source_id, scope=cursor.scope, from_nothing=not only_page)
        await self._write(run, Page(read=cursor, cursor=back))
        return replace(back, version=cursor.version + 1)

    async def _commit(
        self,
        run: Run,
        watch: Watch,
        read: Cursor,
        page: ChangePage,
        hints: Mapping[str, MessageSummary],
        between: Between | None,
    ) -> Cursor:
        now = self._clock()
        moved = (
            read.at_position(page.position) if page.position is not None else read.at_page(page.page_token or "", now)
        )
        changes = _folded(page.changes)
        if run.observes and read.is_from_nothing and page.position is not None:
            changes |= await self._missing(run, read.scope, read.round_began_at or now, changes)
        taken = await self._work_on(run, watch, read.scope, list(changes.values()), hints, between)
        seen = tuple(change.message_id for change in changes.values() if change.kind is ChangeKind.PRESENT)
        await self._write(
            run,
            Page(
                read=read,
                cursor=moved,
                messages=taken.messages,
                failed=taken.failed,
                seen=seen if run.observes and read.is_from_nothing else (),
                begins_relist=page.needs_relist,
            ),
        )
        return replace(moved, version=read.version + 1)

    async def _write(self, run: Run, page: Page) -> None:
        committed = await self._tables.commit(run.source, page, self._clock())
        run.count(committed, page.messages, failed=len(page.failed))

    async def _missing(self, run: Run, scope: str, since: datetime, shown: Mapping[str, Change]) -> dict[str, Change]:
        """A round from nothing says what is there and not what is gone: our own records are compared with it."""
        unseen = await self._tables.unseen(run.doc_source_id, None if scope == RELIST else scope, since)
        return {
            known.message_id: Change(ChangeKind.REMOVED, known.message_id)
            for known in unseen
            if known.message_id not in shown
        }

    async def _work_on(
        self,
        run: Run,
        watch: Watch,
        scope: str,
        changes: Sequence[Change],
        hints: Mapping[str, MessageSummary],
        between: Between | None,
    ) -> Taken:
        known = await self._tables.known(run.doc_source_id, [change.message_id for change in changes])
        taken = Taken()
        size = len(changes) if between is None else _MESSAGES_BETWEEN
        for start in range(0, len(changes), max(1, size)):
            if start and between is not None:
                await between()
            batch = [_in_folder(change, scope, hints) for change in changes[start : start + size]]
            try:
                if run.observes:
                    taken += await self._observing(run, watch, scope, batch, known)
                else:
                    taken += await self._taking(run, watch, batch, known)
            except ItemUnavailable as error:
                await self.keep(run, error)
                raise
        return taken

    async def keep(self, run: Run, error: ItemUnavailable) -> None:
        """Write the item down before the run ends: the next one passes over it, and comes back to it in time."""
        await self._tables.commit(run.source, Page(failed=(error.item,)), self._clock())
        run.tally.parked += 1

    async def _taking(
        self, run: Run, watch: Watch, changes: Sequence[Change], known: Mapping[str, KnownMessage]
    ) -> Taken:
        wanted = []
        for change in changes:
            if change.message_id in known:
                continue
            if change.kind is ChangeKind.PRESENT:
                wanted.append(Wanted(change.message_id, change.summary))
            elif run.source.provider is Provider.OUTLOOK:
                # Deltas lose messages that move about: never taken and removed here may mean that it lies elsewhere.
                wanted.append(Wanted(change.message_id, may_be_gone=True))
        return await self._take.take(run, watch, wanted)

    async def _observing(
        self, run: Run, watch: Watch, scope: str, changes: Sequence[Change], known: Mapping[str, KnownMessage]
    ) -> Taken:
        wanted, vanished = [], []
        for change in changes:
            ours = known.get(change.message_id)
            if change.kind is ChangeKind.REMOVED and run.source.provider is Provider.GMAIL and scope != RELIST:
                # Gmail says deleted of what is gone for good; the trash is a label.
                vanished += [self._observe.vanished(run, ours)] if ours else []
            elif ours is not None and ours.is_parked:
                continue  # it is tried again in its time, and what became of it by then is told
            elif change.kind is ChangeKind.PRESENT:
                wanted.append(Wanted(change.message_id, change.summary))
            elif ours is None or (ours.folder_id == scope or scope == RELIST):
                wanted.append(Wanted(change.message_id, may_be_gone=True))
        told = await self._observe.observe(run, watch, wanted, known)
        return told + Taken(tuple(message for message in vanished if message))


def _folded(changes: Sequence[Change]) -> dict[str, Change]:
    """An item may come more than once on a page: the last one counts, where it stands."""
    folded: dict[str, Change] = {}
    for change in changes:
        folded.pop(change.message_id, None)
        folded[change.message_id] = change
    return folded


def _in_folder(change: Change, scope: str, hints: Mapping[str, MessageSummary]) -> Change:
    """A delta is of one folder, whether its items repeat that or not."""
    if change.summary is None:
        return change
    summary = hints.get(change.message_id, change.summary)
    return replace(change, summary=replace(summary, folder_id=summary.folder_id or scope))
