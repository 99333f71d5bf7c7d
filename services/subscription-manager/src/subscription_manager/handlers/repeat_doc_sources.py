"""`doc-sources` is read back: what it shows older than our table is published again, graves as tombstones.

A process that was frozen may write an old version late, and a broker may lose what it had acknowledged; the table is
right, and the topic follows it.
"""

from typing import Protocol

from mailroom_common.events import DocSource
from mailroom_common.logs import get_logger
from subscription_manager.ports import Connections, Published

log = get_logger()


class ShowsDocSources(Protocol):
    """`DocSourceDirectory` of mailroom_common, loaded."""

    def get_source(self, doc_source_id: str) -> DocSource | None: ...


class RepeatDocSources:
    def __init__(self, connections: Connections, topic: ShowsDocSources) -> None:
        self._connections = connections
        self._topic = topic

    async def repeat(self) -> int:
        """Publish again what is behind, and return how many there were."""
        behind = [told.doc_source_id for told in await self._connections.published() if self._is_behind(told)]
        for doc_source_id in behind:
            log.warning("doc_source_repeated", doc_source_id=doc_source_id)
            await self._connections.publish_again(doc_source_id)
        return len(behind)

    def _is_behind(self, told: Published) -> bool:
        shown = self._topic.get_source(told.doc_source_id)
        if told.is_gone:
            return shown is not None
        return shown is None or shown.version < told.version
