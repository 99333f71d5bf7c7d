"""Applies a pause or a deletion of a doc source, as the directory reads it, to our tables."""

import asyncio

from mailroom_common.errors import Retryable
from mailroom_common.events import DocSource, DocSourceState
from mailroom_common.logs import get_logger
from sync_engine.ports import SyncStates

log = get_logger()

_RETRY_PAUSE_S = 2.0


class ApplySourceStates:
    """Every worker does this for every source, with the effect of doing it once: versions in the tables only rise.

    The directory reads its topic from the beginning at each start, so nothing that happened while no worker ran is
    missed.
    """

    def __init__(self, states: SyncStates) -> None:
        self._states = states
        self._due: dict[str, DocSource] = {}
        self._changed = asyncio.Event()

    def on_source_change(self, doc_source_id: str, source: DocSource | None) -> None:
        """A listener of the directory, added before it loads."""
        if source is not None and source.state in (DocSourceState.PAUSED, DocSourceState.DELETING):
            self._due[doc_source_id] = source
            self._changed.set()
        else:
            # An active source is applied by its next run; one that is gone from the topic was forgotten before.
            self._due.pop(doc_source_id, None)

    async def apply_changes(self) -> None:
        """Until cancelled: what is cut off is done again at the next start."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            for doc_source_id, source in list(self._due.items()):
                await self._apply_source(source)
                # A newer version may have been read meanwhile, and is still due.
                if self._due.get(doc_source_id) is source:
                    del self._due[doc_source_id]

    async def _apply_source(self, source: DocSource) -> None:
        while True:
            try:
                if source.state is DocSourceState.DELETING:
                    await self._states.forget_source(source)
                else:
                    await self._states.raise_version_and_read_state(source)
            except Retryable as error:
                # Tried again until it is stored, before anything newer of this source.
                log.warning("source_state_deferred", doc_source_id=source.doc_source_id, reason=str(error))
                await asyncio.sleep(_RETRY_PAUSE_S)
            else:
                return
