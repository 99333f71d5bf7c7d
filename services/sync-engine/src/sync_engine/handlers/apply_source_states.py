"""Applies a pause or a deletion of a doc source, as the directory reads it, to our tables."""

import asyncio

from mailroom_common.errors import Retryable
from mailroom_common.events import DocSource, DocSourceState
from mailroom_common.retries import retry_forever
from sync_engine.ports import SourceDeletions, SyncStates

_FIRST_PAUSE_S = 0.5
_MAX_PAUSE_S = 4.0
# Each worker applies all paused sources anew at its start, and shares its sessions with the runs.
_MAX_CONCURRENT_PAUSES = 2


class ApplySourceStates:
    """Every worker does this for every source, with the effect of doing it once: versions in the tables only rise.

    The directory reads its topic from the beginning at each start, so nothing that happened while no worker ran is
    missed. Each source has a task of its own: the deletion of a big one, or one that fails, delays no other.
    """

    def __init__(self, states: SyncStates, deletions: SourceDeletions) -> None:
        self._states = states
        self._deletions = deletions
        self._due: dict[str, DocSource] = {}
        self._under_way: set[str] = set()
        self._changed = asyncio.Event()
        self._pauses = asyncio.Semaphore(_MAX_CONCURRENT_PAUSES)

    def on_source_change(self, doc_source_id: str, source: DocSource | None) -> None:
        """A listener of the directory, added before it loads."""
        if source is None:
            # Gone from the topic: a deletion that is due stays so. It was answered, but perhaps by tables that were
            # restored since, and it costs little where there is nothing to remove.
            return
        if source.state in (DocSourceState.PAUSED, DocSourceState.DELETING):
            self._due[doc_source_id] = source
            self._changed.set()
        else:
            self._due.pop(doc_source_id, None)  # an active source is applied by its next run

    async def apply_changes(self) -> None:
        """Until cancelled: what is cut off is done again at the next start."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                await self._changed.wait()
                self._changed.clear()
                for doc_source_id in self._due.keys() - self._under_way:
                    self._under_way.add(doc_source_id)
                    tasks.create_task(self._apply_versions(doc_source_id))

    async def _apply_versions(self, doc_source_id: str) -> None:
        while (source := self._due.get(doc_source_id)) is not None:
            await self._apply_source(source)
            # A newer version may have been read meanwhile, and is still due.
            if self._due.get(doc_source_id) is source:
                del self._due[doc_source_id]
        self._under_way.discard(doc_source_id)

    async def _apply_source(self, source: DocSource) -> None:
        # Tried again until it is stored, before anything newer of this source.
        retrying = retry_forever(
            Retryable,
            log_event="source_state_deferred",
            initial_s=_FIRST_PAUSE_S,
            max_s=_MAX_PAUSE_S,
            doc_source_id=source.doc_source_id,
        )
        is_deleting = source.state is DocSourceState.DELETING
        await retrying(self._deletions.forget_source if is_deleting else self._pause_source, source)

    async def _pause_source(self, source: DocSource) -> None:
        async with self._pauses:
            await self._states.raise_version_and_read_state(source)
