"""Sets consumer groups back to a time, for a database that was restored: what they read since is read again.

A committed offset says "its effect is in Postgres", and a restored Postgres has lost the effects since the backup.
Every consumer recognises what it has done already, so to read too much again changes nothing.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError, KafkaError

from mailroom_common.errors import Fatal, Unavailable
from mailroom_common.kafka.client import close_client, create_admin_client, create_consumer
from mailroom_common.settings import KafkaSettings
from mailroom_common.topic_access import INTAKE_GROUP, RESULT_RECORDER_GROUP, subscription_manager_group
from mailroom_common.topics import (
    ATTACHMENTS,
    ATTACHMENTS_BACKFILL,
    CONNECTION_EVENTS,
    INGESTION_RESULTS,
    LIFECYCLE_EVENTS,
    Topic,
)

# Those whose effects are rows. Notifications and sync requests only wake: a start asks for the syncs that are due.
GROUPS: Mapping[str, tuple[Topic, ...]] = {
    INTAKE_GROUP: (ATTACHMENTS, ATTACHMENTS_BACKFILL),
    RESULT_RECORDER_GROUP: (INGESTION_RESULTS,),
    subscription_manager_group(LIFECYCLE_EVENTS): (LIFECYCLE_EVENTS,),
    subscription_manager_group(CONNECTION_EVENTS): (CONNECTION_EVENTS,),
}

# Longer than the sessions of the consumers.
MEMBERS_GONE_WITHIN_S = 90.0


@dataclass(frozen=True, slots=True)
class RewoundGroup:
    """`records` are read again, gaps of the log counted too."""

    name: str
    partitions: int
    records: int


async def rewind_groups(
    settings: KafkaSettings, since: datetime, *, is_dry_run: bool, patience_s: float = MEMBERS_GONE_WITHIN_S
) -> list[RewoundGroup]:
    """A group is only ever set back: a partition that stands before `since` stays where it is.

    Raises:
        Fatal: a group still has members after `patience_s`, who would go on from where they are.
        Unavailable: Kafka does not answer.
    """
    try:
        partitions = await _list_partitions(settings)
        return [
            await _rewind_group(
                settings, settings.topic_prefix + name, partitions[name], since, None if is_dry_run else patience_s
            )
            for name in GROUPS
        ]
    except (KafkaError, OSError) as error:
        raise Unavailable(f"Kafka at {settings.kafka_bootstrap}: {error or type(error).__name__}") from error


async def _list_partitions(settings: KafkaSettings) -> dict[str, list[TopicPartition]]:
    """By group, of the topics that there are."""
    admin = create_admin_client(settings)
    await admin.start()
    try:
        names = {name: [settings.topic_prefix + topic.name for topic in topics] for name, topics in GROUPS.items()}
        found = await admin.describe_topics([topic for topics in names.values() for topic in topics])
    finally:
        await admin.close()
    counts = {topic["topic"]: len(topic["partitions"]) for topic in found}
    return {
        name: [TopicPartition(topic, number) for topic in topics for number in range(counts.get(topic, 0))]
        for name, topics in names.items()
    }


async def _rewind_group(
    settings: KafkaSettings, group: str, partitions: list[TopicPartition], since: datetime, patience_s: float | None
) -> RewoundGroup:
    """Without patience nothing is changed."""
    consumer = create_consumer(settings, group_id=group, enable_auto_commit=False, client_id="mailroom-rewind")
    try:
        await consumer.start()
        earlier = await _find_earlier_offsets(consumer, partitions, since)
        if earlier and patience_s is not None:
            offsets = {partition: offset for partition, (offset, _) in earlier.items()}
            await _commit_without_members(consumer, group, offsets, patience_s)
    finally:
        await close_client(consumer)
    return RewoundGroup(group, len(earlier), sum(committed - offset for offset, committed in earlier.values()))


async def _commit_without_members(
    consumer: AIOKafkaConsumer, group: str, offsets: dict[TopicPartition, int], patience_s: float
) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience_s
    while True:
        try:
            await consumer.commit(offsets)
            return
        except CommitFailedError as error:
            if loop.time() >= deadline:
                raise Fatal(f"the group {group} has members: stop the services before it is set back") from error
        # A static member that has stopped belongs to its group until its session times out.
        await asyncio.sleep(1)


async def _find_earlier_offsets(
    consumer: AIOKafkaConsumer, partitions: list[TopicPartition], since: datetime
) -> dict[TopicPartition, tuple[int, int]]:
    """Partitions whose committed offset is behind the first record since then: (that record's offset, committed)."""
    if not partitions:
        return {}
    consumer.assign(partitions)
    first = await consumer.offsets_for_times(dict.fromkeys(partitions, round(since.timestamp() * 1000)))
    earlier = {}
    for partition in partitions:
        committed, found = await consumer.committed(partition), first.get(partition)
        if committed is not None and found is not None and found.offset < committed:
            earlier[partition] = (found.offset, committed)
    return earlier
