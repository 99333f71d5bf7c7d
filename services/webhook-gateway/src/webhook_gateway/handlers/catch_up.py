"""Lets a push wait for the directory, a bounded number at a time: a flood of forgeries must not become ours."""

from mailroom_common.errors import Unavailable
from webhook_gateway.ports import KnowsSources


class CatchUps:
    def __init__(self, sources: KnowsSources, *, within_s: float, most: int) -> None:
        self._sources = sources
        self._within_s = within_s
        self._free = most

    async def catch_up(self) -> None:
        """Returns once the directory has read to the end that `doc-sources` had when this was called.

        Raises:
            Unavailable: it could not, so nothing can be said of what it does not explain: the provider comes again.
        """
        if self._free == 0:
            raise Unavailable("too many pushes wait for the directory")
        self._free -= 1
        try:
            if not await self._sources.catch_up(self._within_s):
                raise Unavailable("the directory could not read doc-sources to its end")
        finally:
            self._free += 1
