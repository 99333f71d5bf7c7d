"""Where a replay stands, kept by Kafka: as committed offsets of a consumer group that is named after the replay.

A job in a cluster has no disk that outlives it, and what is replayed lies in Kafka: so does how far it came.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import GroupCoordinatorNotAvailableError, KafkaError
from aiokafka.structs import OffsetAndMetadata

from mailroom_cli.kafka_access import open_admin
from mailroom_cli.record_ranges import OffsetRange
from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.kafka.client import KafkaAddress
from mailroom_common.topics import REPLAY_GROUP_PREFIX


def replay_group(prefix: str, replay_id: str) -> str:
    return f"{prefix}{REPLAY_GROUP_PREFIX}{replay_id}"


def compute_digest(words: Sequence[object]) -> str:
    """Of what was asked for: a replay goes on with the same filters or not at all."""
    return hashlib.sha256(json.dumps([str(word) for word in words]).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class ReplayPositions:
    """`digest` is that of the request; each committed offset carries it, and the end that was fixed at the start."""

    settings: KafkaAddress
    replay_id: str
    digest: str

    async def read_positions(self) -> dict[TopicPartition, OffsetRange]:
        """What is left of each partition; empty for a replay that was never begun.

        Raises:
            Rejected: the replay of this id was begun with other filters.
        """
        group = replay_group(self.settings.topic_prefix, self.replay_id)
        async with open_admin(self.settings) as admin:
            try:
                committed = await admin.list_consumer_group_offsets(group)
            except GroupCoordinatorNotAvailableError:
                return {}  # the first group of a new Kafka: nothing was ever committed
            except KafkaError as error:
                raise Unavailable(f"Kafka does not say how far {group} came: {type(error).__name__}") from error
        return {tp: self._parse_position(place) for tp, place in committed.items() if place.offset >= 0}

    def _parse_position(self, place: OffsetAndMetadata) -> OffsetRange:
        try:
            kept = json.loads(place.metadata)
            end, digest = int(kept["end"]), kept["digest"]
        except (ValueError, KeyError, TypeError):
            raise Rejected(
                f"the group of replay {self.replay_id} was not written by a replay: take another id"
            ) from None
        if digest != self.digest:
            raise Rejected(
                f"replay {self.replay_id} was begun with another topic or other filters: give those, or "
                "another --replay-id"
            )
        return OffsetRange(place.offset, end)

    async def commit_positions(self, consumer: AIOKafkaConsumer, left: Mapping[TopicPartition, OffsetRange]) -> None:
        """Only of what Kafka has acknowledged: what is sent after the last commit is sent again by whoever goes on."""
        offsets = {
            tp: OffsetAndMetadata(place.start, json.dumps({"end": place.end, "digest": self.digest}))
            for tp, place in left.items()
        }
        if not offsets:
            return
        try:
            await consumer.commit(offsets)
        except KafkaError as error:
            raise Unavailable(f"Kafka did not store how far the replay came: {type(error).__name__}") from error
