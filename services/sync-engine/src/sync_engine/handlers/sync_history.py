"""The run of a mailbox that lists its changes as one history: new mail by the history, old mail by a re-list."""

from mailroom_common.budgets.waiting import mark_calls
from mailroom_common.providers.ports import HISTORY_SCOPE, RELIST_SCOPE
from sync_engine.domain.watched_folders import LabelWatch
from sync_engine.handlers.advance_cursor import AdvanceCursor
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.handlers.watch_mailbox import WatchMailbox
from sync_engine.ports import Cursors


class SyncHistory:
    """Full and hinted runs are the same: the history is as cheap as a list of what was modified."""

    def __init__(self, cursors: Cursors, watches: WatchMailbox, advance: AdvanceCursor) -> None:
        self._cursors = cursors
        self._watches = watches
        self._advance = advance

    async def sync_history(self, run: SyncRun, *, is_full: bool) -> LabelWatch:
        watch = await self._watches.watch_labels(run, refresh=is_full)

        async def sync_new_mail() -> None:
            # Also between two batches of the re-list, whose calls are for old mail.
            with mark_calls(is_old_mail=False):
                await self._advance.advance_cursor(run, watch, HISTORY_SCOPE)

        # The history first: its first page stores a position that is not older than what the re-list begins with, so
        # that mail which comes during the re-list is in one of the two.
        await sync_new_mail()
        if (await self._cursors.read_cursor(run.doc_source_id, RELIST_SCOPE)).is_in_first_round:
            await self._advance.advance_cursor(run, watch, RELIST_SCOPE, between_batches=sync_new_mail)
        return watch
