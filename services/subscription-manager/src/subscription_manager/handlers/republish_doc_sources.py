"""Read `doc-sources` back at the start, and bring topic and table to the same versions.

Where the topic is older it is published again, soft-deleted rows as tombstones: a process that was frozen may write an
old version late, and a broker may lose what it had acknowledged. What counts is the last record by offset: it is the
one that compaction keeps. Where the topic is newer, the table was restored from
a backup: readers keep the highest version, so nothing that this service says would have an effect until its own version
is above the topic's.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from mailroom_common.events import DocSource, DocSourceState, SyncReason
from mailroom_common.logs import get_logger
from mailroom_common.metrics import DOC_SOURCES_REPUBLISHED
from subscription_manager.domain.connection import ConnectionState
from subscription_manager.domain.recovery import adopt_newer_record, rebuild_from_record
from subscription_manager.domain.transitions import erase_to_tombstone
from subscription_manager.ports import ConnectionStore, GrantStore, MailboxAlreadyConnected, PublishedVersion

log = get_logger()


class DocSourceReader(Protocol):
    """`DocSourceDirectory` of mailroom_common, loaded."""

    def get_source(self, doc_source_id: str) -> DocSource | None: ...

    def list_versions(self) -> Mapping[str, int]: ...

    def list_outdated(self) -> Mapping[str, int]: ...


@dataclass(frozen=True, slots=True)
class ReconciledVersions:
    """How many doc sources were behind in the topic, behind in the table, and missing in the table."""

    republished: int = 0
    lifted: int = 0
    rebuilt: int = 0


class RepublishDocSources:
    def __init__(
        self, connections: ConnectionStore, grants: GrantStore, topic: DocSourceReader, clock: Callable[[], datetime]
    ) -> None:
        self._connections = connections
        self._grants = grants
        self._topic = topic
        self._clock = clock

    async def reconcile_with_topic(self) -> ReconciledVersions:
        # Before the table is read: what another instance publishes meanwhile is in the table first.
        in_topic = self._topic.list_versions()
        in_table = await self._connections.list_published_versions()
        behind = [version for version in in_table if _is_behind(version, in_topic)]
        others = [version for version in in_table if not _is_behind(version, in_topic)]
        outdated = [version for version in others if self._is_outdated(version)]
        unknown = in_topic.keys() - {version.doc_source_id for version in in_table}
        lifted = [await self._lift(version, in_topic[version.doc_source_id]) for version in behind]
        for version in outdated:
            # The topic was behind the table: what it should say is published again.
            log.warning("doc_source_republished", doc_source_id=version.doc_source_id)
            await self._connections.republish_doc_source(version.doc_source_id)
            DOC_SOURCES_REPUBLISHED.inc()
        records = [record for record in map(self._topic.get_source, unknown) if record is not None]
        rebuilt = [await self._rebuild(record) for record in records]
        return ReconciledVersions(len(outdated), sum(lifted), sum(rebuilt))

    def _is_outdated(self, published: PublishedVersion) -> bool:
        if published.is_waiting:
            return False  # it will be published anyway, and is older in the topic only for that reason
        if self._topic.list_outdated().get(published.doc_source_id, published.version) < published.version:
            return True  # a newer one stands before it, which is read today and compacted tomorrow
        held = self._topic.get_source(published.doc_source_id)
        if published.is_deleted:
            return held is not None
        return held is None or held.version < published.version

    async def _lift(self, published: PublishedVersion, version: int) -> bool:
        async with self._connections.lock_connection(published.doc_source_id) as locked:
            if locked is None or locked.connection.published_version >= version:
                return False  # deleted, or another instance was first
            # The table is of a backup: its version is raised above the topic's.
            log.warning("doc_source_version_lifted", doc_source_id=published.doc_source_id, above_version=version)
            record = self._topic.get_source(published.doc_source_id)
            adopted = adopt_newer_record(locked.connection, record, version, self._clock())
            if record is not None and record.grant_generation > adopted.grant_generation:
                # Given since the backup, and lost with it. What became of that grant must not condemn the restored one,
                # nor the next consent. Raised before it is published: a crash between the two is made good by the next
                # start, which finds the topic above the table still.
                generation = await self._grants.raise_generation(record.doc_source_id, above=record.grant_generation)
                adopted = replace(adopted, grant_generation=generation)
            is_active = adopted.state is ConnectionState.ACTIVE
            await locked.save_connection(
                adopted, request_sync=SyncReason.RESUME if is_active else None, above_version=version
            )
            return True

    async def _rebuild(self, record: DocSource) -> bool:
        now = self._clock()
        connection = replace(rebuild_from_record(record, now), published_version=record.version + 1)
        if record.state is DocSourceState.DELETING:
            connection = erase_to_tombstone(connection, now)
        is_active = connection.state is ConnectionState.ACTIVE
        try:
            await self._connections.add_connection(connection, request_sync=SyncReason.CONNECT if is_active else None)
        except MailboxAlreadyConnected:
            # The table has another doc source of this mailbox, which was deleted since the backup: once that deletion
            # is done again, the next start rebuilds this one.
            log.warning("doc_source_not_rebuilt", doc_source_id=record.doc_source_id)
            return False
        # The doc source was made since the backup, and the topic alone knows it.
        log.warning("doc_source_rebuilt", doc_source_id=record.doc_source_id, state=connection.state.value)
        return True


def _is_behind(published: PublishedVersion, in_topic: Mapping[str, int]) -> bool:
    return not published.is_deleted and in_topic.get(published.doc_source_id, -1) > published.version
