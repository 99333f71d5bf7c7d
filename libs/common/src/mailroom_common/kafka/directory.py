"""The `doc-sources` topic in memory: every doc source in the newest version that was read."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from mailroom_common.errors import NotDecodableYet, Undecodable
from mailroom_common.events import DocSource, DocSourceState, SourceFilter
from mailroom_common.kafka.client import KafkaAddress
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import VERSION
from mailroom_common.kafka.record import RawRecord, decode_record
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.topic_reader import TopicReader
from mailroom_common.logs import get_logger
from mailroom_common.metrics import DIRECTORY_SOURCES, DIRECTORY_UNREADABLE
from mailroom_common.topics import DOC_SOURCES

log = get_logger()

ChangeListener = Callable[[str, DocSource | None], None]
OutdatedListener = Callable[[str], None]

_UNREADABLE_VERSION = -1  # below every version: whoever starts later knows nothing of the doc source


class DocSourceDirectory:
    """Keeps the highest version per doc source, tombstones included: a record that is repeated late, or written by a
    process that was frozen meanwhile, restores no older version. Compaction keeps such a record all the same, as the
    last of its key, so that whoever reads the topic afterwards knows no newer one: `list_outdated` names them.

    Unreadable records are counted; one whose schema is not known yet is kept and read once the schema is. One with a
    symbol that this build lacks is read by the next build, which reads the topic from its beginning.

    A filter may be many times as big as all else of a doc source: who judges no mail keeps none (`keeps_filters`).
    """

    def __init__(
        self,
        settings: KafkaAddress,
        codec: Codec,
        *,
        schemas: SchemaDirectory | None = None,
        client_id: str = "mailroom-directory",
        keeps_filters: bool = True,
    ) -> None:
        self._codec = codec
        self._keeps_filters = keeps_filters
        self._reader = TopicReader(settings, DOC_SOURCES, self.apply_record, client_id=client_id)
        self._sources: dict[str, DocSource] = {}
        self._versions: dict[str, int] = {}  # of deleted ones too, so that an older version does not restore them
        self._outdated: dict[str, int] = {}
        self._by_address: dict[tuple[str, str], dict[str, DocSource]] = {}
        self._unreadable: dict[bytes, RawRecord] = {}
        self._listeners: list[ChangeListener] = []
        self._outdated_listeners: list[OutdatedListener] = []
        if schemas is not None:
            schemas.on_learned(self._retry_unreadable)

    def get_source(self, doc_source_id: str) -> DocSource | None:
        return self._sources.get(doc_source_id)

    def list_versions(self) -> dict[str, int]:
        """The highest version of each doc source that was read; deleted ones have that of their tombstone."""
        return dict(self._versions)

    def list_outdated(self) -> dict[str, int]:
        """The doc sources whose last record by offset is below the highest version that was read, and its version."""
        return dict(self._outdated)

    def find_by_address(self, provider: str, address: str) -> tuple[DocSource, ...]:
        """All doc sources of a mailbox, by its address or an alias of it; one mailbox can belong to several."""
        return tuple(self._by_address.get((provider, _normalize_address(address)), {}).values())

    def count_active_sources(self, provider: str, address: str) -> int:
        """How many doc sources work at a mailbox: one that nobody has consented to only names its address."""
        return sum(source.state is DocSourceState.ACTIVE for source in self.find_by_address(provider, address))

    def list_sources(self) -> tuple[DocSource, ...]:
        return tuple(self._sources.values())

    def __len__(self) -> int:
        return len(self._sources)

    def on_change(self, listener: ChangeListener) -> None:
        """Called with the id and the new version, or None for one that is gone. It must not raise."""
        self._listeners.append(listener)

    def on_outdated(self, listener: OutdatedListener) -> None:
        """Called with the id of a doc source each time that a record of it is one `list_outdated` tells of. It must not
        raise."""
        self._outdated_listeners.append(listener)

    def check_readiness(self) -> str | None:
        """A check for `Health.add`."""
        return None if self._reader.is_loaded else "doc-sources is not read to its end yet"

    async def load_sources(self) -> None:
        """Read to the end that the topic has now; waits while Kafka is away."""
        await self._reader.load_topic()
        log.info("directory_loaded", sources=len(self._sources), unreadable=len(self._unreadable))

    async def follow_topic(self, stopping: asyncio.Event) -> None:
        await self._reader.follow_topic(stopping)

    async def load_and_follow(self, stopping: asyncio.Event) -> None:
        await self.load_sources()
        await self.follow_topic(stopping)

    async def close(self) -> None:
        await self._reader.close()

    async def catch_up(self, timeout_s: float) -> bool:
        """Ask Kafka for the end of the topic, and wait until it is read so far. False: it could not be, in time."""
        return await self._reader.catch_up(timeout_s)

    def apply_record(self, record: RawRecord) -> None:
        key = record.key or b""
        try:
            incoming = decode_record(record, DOC_SOURCES, self._codec)
            source = incoming.event
            if not isinstance(source, DocSource | None):
                raise Undecodable("a record of doc-sources is no doc source")
            version = source.version if source is not None else _parse_version(incoming.headers)
        except (Undecodable, NotDecodableYet) as error:
            if isinstance(error, Undecodable):
                self._record_unreadable_version(key)
            # The source keeps its last readable state until a record of it can be decoded.
            log.warning(
                "directory_record_kept_undecoded", partition=record.partition, offset=record.offset, reason=str(error)
            )
            self._unreadable[key] = record
            DIRECTORY_UNREADABLE.set(len(self._unreadable))
            return
        if self._unreadable.pop(key, None) is not None:
            DIRECTORY_UNREADABLE.set(len(self._unreadable))
        self._apply_version(incoming.key, source, version)

    def _apply_version(self, doc_source_id: str, source: DocSource | None, version: int | None) -> None:
        known = self._versions.get(doc_source_id, -1)
        # A tombstone without a version (an operator wrote it by hand) always deletes.
        if version is not None and version < known:
            self._record_outdated(doc_source_id, version)
            return
        self._outdated.pop(doc_source_id, None)
        self._versions[doc_source_id] = known if version is None else version
        if previous := self._sources.pop(doc_source_id, None):
            self._forget_list_addresses(previous)
        if source is not None:
            if not self._keeps_filters:
                source = replace(source, filter=SourceFilter())
            self._sources[doc_source_id] = source
            for address in _list_addresses(source):
                self._by_address.setdefault((source.provider, address), {})[doc_source_id] = source
        DIRECTORY_SOURCES.set(len(self._sources))
        for listener in self._listeners:
            listener(doc_source_id, source)

    def _record_unreadable_version(self, key: bytes) -> None:
        """For corrupt bytes; what a newer writer wrote is readable as soon as its schema is known."""
        doc_source_id = key.decode(errors="replace")
        if doc_source_id in self._versions:
            self._record_outdated(doc_source_id, _UNREADABLE_VERSION)

    def _record_outdated(self, doc_source_id: str, version: int) -> None:
        self._outdated[doc_source_id] = version
        for listener in self._outdated_listeners:
            listener(doc_source_id)

    def _forget_list_addresses(self, source: DocSource) -> None:
        for address in _list_addresses(source):
            owners = self._by_address.get((source.provider, address), {})
            owners.pop(source.doc_source_id, None)
            if not owners:
                self._by_address.pop((source.provider, address), None)

    def _retry_unreadable(self) -> None:
        for record in list(self._unreadable.values()):
            self.apply_record(record)


def _list_addresses(source: DocSource) -> set[str]:
    return {_normalize_address(address) for address in (source.address, *source.aliases) if address}


def _normalize_address(address: str) -> str:
    return address.strip().casefold()


def _parse_version(headers: dict[str, str]) -> int | None:
    text = headers.get(VERSION, "")
    if not text:
        return None
    if not text.isdecimal():
        raise Undecodable("the version header of a doc-sources tombstone is not a number")
    return int(text)
