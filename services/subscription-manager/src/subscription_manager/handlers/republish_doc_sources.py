"""Read `doc-sources` back: what the topic holds older than our table is published again, soft-deleted rows as
tombstones.

A process that was frozen may write an old version late, and a broker may lose what it had acknowledged; the table is
right, and the topic follows it.
"""

from typing import Protocol

from mailroom_common.events import DocSource
from mailroom_common.logs import get_logger
from subscription_manager.ports import ConnectionStore, PublishedVersion

log = get_logger()


class DocSourceReader(Protocol):
    """`DocSourceDirectory` of mailroom_common, loaded."""

    def get_source(self, doc_source_id: str) -> DocSource | None: ...


class RepublishDocSources:
    def __init__(self, connections: ConnectionStore, topic: DocSourceReader) -> None:
        self._connections = connections
        self._topic = topic

    async def republish_outdated(self) -> int:
        """Returns how many doc sources were behind in the topic."""
        versions = await self._connections.list_published_versions()
        outdated = [version.doc_source_id for version in versions if self._is_outdated(version)]
        for doc_source_id in outdated:
            # The topic was behind the table: what it should say is published again.
            log.warning("doc_source_republished", doc_source_id=doc_source_id)
            await self._connections.republish_doc_source(doc_source_id)
        return len(outdated)

    def _is_outdated(self, published: PublishedVersion) -> bool:
        # A version above ours is impossible: the table's version rises in the transaction that writes the outbox.
        held = self._topic.get_source(published.doc_source_id)
        if published.is_deleted:
            return held is not None
        return held is None or held.version < published.version
