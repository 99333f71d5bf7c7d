"""What a user may do at Kafka, asked of Kafka itself: a handful of requests that change nothing."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import GroupAuthorizationFailedError, TopicAuthorizationFailedError
from aiokafka.protocol.fetch import FetchRequest
from aiokafka.protocol.group import HeartbeatRequest
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from mailroom_common.kafka.client import KafkaCluster, create_admin_client


@dataclass(frozen=True, slots=True)
class Rights:
    reads: frozenset[str]
    writes: frozenset[str]
    joins: frozenset[str]


async def find_rights(cluster: KafkaCluster, topics: Collection[str], groups: Collection[str]) -> Rights:
    """Of these topics and groups, those that the cluster's user may read, write and join."""
    admin = create_admin_client(cluster)
    await admin.start()
    try:
        return Rights(
            await _find_readable(admin, topics),
            await _find_writable(admin, topics),
            frozenset([group for group in groups if await _may_join(admin, group)]),
        )
    finally:
        await admin.close()


async def _find_readable(admin: AIOKafkaAdminClient, topics: Collection[str]) -> frozenset[str]:
    answer = await admin._send_request(FetchRequest(0, 0, 1, 0, [(topic, [(0, 0, 1)]) for topic in topics]))
    return _allowed(answer)


async def _find_writable(admin: AIOKafkaAdminClient, topics: Collection[str]) -> frozenset[str]:
    """Kafka looks at the rights first, and then refuses the batch, which has a wrong checksum."""
    batch = _build_corrupt_batch()
    answer = await admin._send_request(ProduceRequest(None, 1, 10_000, [(topic, [(0, batch)]) for topic in topics]))
    return _allowed(answer)


def _allowed(answer: Any) -> frozenset[str]:  # Any: aiokafka's answers have no types
    refused = TopicAuthorizationFailedError.errno
    return frozenset(topic for topic, partitions in answer.topics for _, code, *_ in partitions if code != refused)


async def _may_join(admin: AIOKafkaAdminClient, group: str) -> bool:
    """A heartbeat of a member that does not exist needs the same right as joining."""
    answer = await admin._send_request(HeartbeatRequest(group, 0, "nobody"))
    return bool(answer.error_code != GroupAuthorizationFailedError.errno)


def _build_corrupt_batch() -> bytes:
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=1_000,
    )
    builder.append(0, timestamp=1, key=b"nobody", value=b"never written", headers=[])
    batch = bytearray(builder.build())
    batch[-1] ^= 0xFF
    return bytes(batch)
