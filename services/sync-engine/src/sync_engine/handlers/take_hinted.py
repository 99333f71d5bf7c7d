"""The hinted run on Graph: one list of what was modified of late. What we do not know is taken right there."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.plan import list_since
from sync_engine.domain.records import KnownMessage, Page
from sync_engine.handlers.advance_cursor import AdvanceCursor
from sync_engine.handlers.items import ItemUnavailable, Wanted
from sync_engine.handlers.run import Run
from sync_engine.handlers.take_messages import TakeMessages
from sync_engine.handlers.watch_folders import WatchFolders
from sync_engine.run_ports import RunTables


class TakeHinted:
    def __init__(
        self,
        tables: RunTables,
        folders: WatchFolders,
        take: TakeMessages,
        advance: AdvanceCursor,
        clock: Callable[[], datetime],
    ) -> None:
        self._tables = tables
        self._folders = folders
        self._take = take
        self._advance = advance
        self._clock = clock

    async def run(self, run: Run) -> None:
        """No cursor moves by a list; so a delta that lags loses nothing, and a list that leaves out delays only."""
        since = list_since(run.standing, run.timings)
        page_from: datetime | None = since or run.start_at
        hints: dict[str, MessageSummary] = {}
        while page_from is not None:
            page = await run.provider.list_modified(run.mailbox, page_from)
            await self._work_on(run, page.summaries, hints)
            if until := max((summary.modified_at for summary in page.summaries if summary.modified_at), default=None):
                await self._tables.listed(run.source, until)
            # Paged by value: where a page brings us no further, the next full run is what reads the rest.
            goes_on = page.resume_after is not None and page.resume_after > page_from
            page_from = page.resume_after if goes_on else None
        if hints:
            await self._run_deltas(run, hints)

    async def _work_on(self, run: Run, summaries: Sequence[MessageSummary], hints: dict[str, MessageSummary]) -> None:
        shown = {summary.message_id: summary for summary in summaries}
        known = await self._tables.known(run.doc_source_id, list(shown))
        if run.observes:
            hints |= {key: summary for key, summary in shown.items() if _is_news(run, summary, known.get(key))}
            return
        unknown = [summary for key, summary in shown.items() if key not in known and not run.is_before_start(summary)]
        if unknown:
            await self._take_unknown(run, unknown)

    async def _take_unknown(self, run: Run, unknown: Sequence[MessageSummary]) -> None:
        watch = await self._folders.watch_for(run, {summary.folder_id for summary in unknown if summary.folder_id})
        wanted = [Wanted(summary.message_id, summary) for summary in unknown]
        try:
            taken = await self._take.take(run, watch, wanted)
        except ItemUnavailable as error:
            await self._advance.keep(run, error)
            raise
        if taken.messages or taken.failed:
            page = Page(messages=taken.messages, failed=taken.failed)
            committed = await self._tables.commit(run.source, page, self._clock())
            run.count(committed, taken.messages, failed=len(taken.failed))

    async def _run_deltas(self, run: Run, hints: Mapping[str, MessageSummary]) -> None:
        """Observed mailboxes are told of changes in order, so only cursors speak for them; the list says which."""
        shown = {summary.folder_id for summary in hints.values() if summary.folder_id}
        watch = await self._folders.watch_for(run, shown)
        folder_ids = [folder_id for folder_id in watch.folders if folder_id in shown]
        if unread := await self._advance.advance_each(run, watch, folder_ids, hints=hints):
            raise unread


def _is_news(run: Run, summary: MessageSummary, known: KnownMessage | None) -> bool:
    if known is None:
        return not run.is_before_start(summary)
    if known.is_parked:
        return False
    return (known.version, known.folder_id) != (summary.version, summary.folder_id)
