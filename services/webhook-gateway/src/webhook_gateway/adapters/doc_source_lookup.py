"""The `doc-sources` directory as the handlers use it: only a bounded number of pushes may wait for it to catch up."""

from typing import Protocol

from mailroom_common.errors import Unavailable
from mailroom_common.events import DocSource


class SourceDirectory(Protocol):
    """The methods of `DocSourceDirectory` that are used here."""

    def get_source(self, doc_source_id: str) -> DocSource | None: ...
    def find_by_address(self, provider: str, address: str) -> tuple[DocSource, ...]: ...
    async def catch_up(self, timeout_s: float) -> bool: ...


class BoundedDocSourceLookup:
    def __init__(self, directory: SourceDirectory, *, catch_up_timeout_s: float, max_catch_ups: int) -> None:
        self._directory = directory
        self._catch_up_timeout_s = catch_up_timeout_s
        self._free_catch_ups = max_catch_ups

    def get_source(self, doc_source_id: str) -> DocSource | None:
        return self._directory.get_source(doc_source_id)

    def find_by_address(self, provider: str, address: str) -> tuple[DocSource, ...]:
        return self._directory.find_by_address(provider, address)

    async def catch_up(self) -> None:
        """Wait until the directory has read to the end that `doc-sources` had when this was called.

        Raises:
            Unavailable: it could not in time, or too many pushes wait already.
        """
        # Anybody can send pushes of unknown doc sources: without a bound a flood of them would be held in memory.
        if self._free_catch_ups == 0:
            raise Unavailable("too many pushes wait for the directory")
        self._free_catch_ups -= 1
        try:
            if not await self._directory.catch_up(self._catch_up_timeout_s):
                raise Unavailable("the directory could not read doc-sources to its end")
        finally:
            self._free_catch_ups += 1
