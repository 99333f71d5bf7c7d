"""Commits what a run has processed, and counts it as the run's progress."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

from sync_engine.domain.message_records import PageUpdate
from sync_engine.handlers.process_messages import ProcessedBatch
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.ports import Pages

MAX_BATCH_MESSAGES = 50
"""A batch is as much as may be lost to a crash, and as many messages as one transaction writes."""


class CommitUpdates:
    def __init__(self, pages: Pages, clock: Callable[[], datetime]) -> None:
        self._pages = pages
        self._clock = clock

    async def commit_update(self, run: SyncRun, update: PageUpdate) -> None:
        """Raises CursorConflict and SourceNotActive; then nothing is written."""
        # Progress counts by what is committed: a run that collected something before it failed is no failure in a row.
        update = replace(update, resets_back_off=run.state.attempts > 0)
        run.add_to_tally(update, await self._pages.commit_page(run.source, update, self._clock()))

    async def commit_batch(self, run: SyncRun, batch: ProcessedBatch) -> None:
        """A batch without a cursor. Raises its interruption, once the rest of it is committed."""
        update = PageUpdate(messages=batch.messages, failed=batch.failed)
        if not update.is_empty:
            await self.commit_update(run, update)
        if batch.interruption:
            raise batch.interruption
