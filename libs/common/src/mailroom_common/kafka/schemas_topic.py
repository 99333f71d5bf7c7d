"""The `schemas` topic: writers announce their schemas first, so that readers of any build decode their records.

Keys are fingerprints in hex (the wire bytes), values the schemas as plain JSON text.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

from mailroom_common.kafka.client import KafkaAddress
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import RawHeaders
from mailroom_common.kafka.record import RawRecord
from mailroom_common.kafka.schema_files import load_packaged_schemas
from mailroom_common.kafka.topic_reader import TopicReader
from mailroom_common.logs import get_logger
from mailroom_common.metrics import KAFKA_SCHEMA_RECORDS_INVALID
from mailroom_common.topics import SCHEMAS, Topic

log = get_logger()


class RawSender(Protocol):
    def topic_name(self, topic: Topic) -> str: ...
    async def send_raw(
        self, topic_name: str, key: bytes | None, value: bytes | None, headers: RawHeaders, *, timeout_s: float
    ) -> object: ...


async def announce_schemas(producer: RawSender) -> None:
    """Write every schema of this build. A repeat overwrites itself: the topic is compacted."""
    name = producer.topic_name(SCHEMAS)
    headers: RawHeaders = [("content-type", b"application/json")]
    schemas = [version for versions in load_packaged_schemas().values() for version in versions]
    await asyncio.gather(
        *(
            producer.send_raw(name, version.fingerprint.hex().encode(), version.text.encode(), headers, timeout_s=30.0)
            for version in schemas
        )
    )


class SchemaDirectory:
    """Adds the schemas of the topic to a codec, and calls the listeners for each new one."""

    def __init__(self, settings: KafkaAddress, codec: Codec, *, client_id: str = "mailroom-schemas") -> None:
        self._codec = codec
        self._reader = TopicReader(settings, SCHEMAS, self.apply_record, client_id=client_id, fetch_max_wait_ms=500)
        self._listeners: list[Callable[[], None]] = []

    def on_learned(self, listener: Callable[[], None]) -> None:
        """Called after each schema that was not known before."""
        self._listeners.append(listener)

    async def load_schemas(self) -> None:
        await self._reader.load_topic()

    async def follow_topic(self, stopping: asyncio.Event) -> None:
        await self._reader.follow_topic(stopping)

    async def load_and_follow(self, stopping: asyncio.Event) -> None:
        await self.load_schemas()
        await self.follow_topic(stopping)

    async def close(self) -> None:
        await self._reader.close()

    def apply_record(self, record: RawRecord) -> None:
        if record.value is None:
            return  # a schema stays known: records that were written with it may still exist
        fingerprint = _parse_fingerprint(record.key)
        text = record.value.decode("utf-8", errors="replace")
        if fingerprint is None or self._codec.knows_fingerprint(fingerprint):
            if fingerprint is None:
                self._count_unreadable(record)
            return
        if not self._codec.learn_schema(fingerprint, text):
            self._count_unreadable(record)
            return
        log.info("schema_learned", fingerprint=fingerprint.hex())
        for listener in self._listeners:
            listener()

    def _count_unreadable(self, record: RawRecord) -> None:
        KAFKA_SCHEMA_RECORDS_INVALID.inc()
        # The value is not the schema that its key names: someone else wrote to `schemas`, or the record is corrupt.
        log.warning("schema_unreadable", partition=record.partition, offset=record.offset)


def _parse_fingerprint(key: bytes | None) -> bytes | None:
    try:
        found = bytes.fromhex((key or b"").decode("ascii"))
    except ValueError:
        return None
    return found if len(found) == 8 else None
