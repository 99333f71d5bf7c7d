"""Carries what ends a source's syncs, pause and deletion, from the directory into our tables."""

import asyncio

from mailroom_common.errors import Retryable
from mailroom_common.events import DocSource, DocSourceState
from mailroom_common.logs import get_logger
from sync_engine.ports import SyncStates

log = get_logger()

_AGAIN_S = 2.0


class FollowSources:
    """Every worker does this for every source, and it is the same thing done once: the tables only go up.

    The directory tells everything anew at each start, so nothing is missed that happened while no worker ran.
    """

    def __init__(self, states: SyncStates) -> None:
        self._states = states
        self._due: dict[str, DocSource] = {}
        self._wake = asyncio.Event()

    def changed(self, doc_source_id: str, source: DocSource | None) -> None:
        """A listener of the directory, added before it loads."""
        if source is not None and source.state in (DocSourceState.PAUSED, DocSourceState.DELETING):
            self._due[doc_source_id] = source
            self._wake.set()
        else:
            # Of an active source the next run tells the tables; one that is gone was forgotten before.
            self._due.pop(doc_source_id, None)

    async def run(self) -> None:
        """Until cancelled: what is cut off is done again at the next start."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            for doc_source_id, source in list(self._due.items()):
                await self._carry_over(source)
                if self._due.get(doc_source_id) is source:
                    del self._due[doc_source_id]

    async def _carry_over(self, source: DocSource) -> None:
        while True:
            try:
                if source.state is DocSourceState.DELETING:
                    await self._states.forget(source)
                else:
                    await self._states.observe(source)
            except Retryable as error:
                log.warning("source_not_followed", doc_source_id=source.doc_source_id, reason=str(error))
                await asyncio.sleep(_AGAIN_S)
            else:
                return
