"""`mailroom topics rewind` on real Kafka."""

import secrets
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from mailroom_cli.rewind_groups import GROUPS, rewind_groups
from mailroom_common.errors import Fatal
from mailroom_common.settings import KafkaSettings
from mailroom_common.topic_access import INTAKE_GROUP
from mailroom_common.topics import ATTACHMENTS

pytestmark = pytest.mark.stack

BACKUP_AT = datetime.now(UTC) - timedelta(hours=1)
MINUTE = timedelta(minutes=1)


@pytest.fixture
async def settings(kafka_bootstrap: str) -> AsyncIterator[KafkaSettings]:
    prefix = f"t{secrets.token_hex(4)}."
    names = [prefix + topic.name for topics in GROUPS.values() for topic in topics]
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(name, 1, 1) for name in names])
    yield KafkaSettings(kafka_bootstrap=kafka_bootstrap, topic_prefix=prefix)
    await admin.delete_topics(names)
    await admin.close()


async def _produce(settings: KafkaSettings, *times: datetime) -> None:
    async with AIOKafkaProducer(bootstrap_servers=settings.kafka_bootstrap) as producer:
        for at in times:
            await producer.send_and_wait(
                settings.topic_prefix + ATTACHMENTS.name, b"x", timestamp_ms=round(at.timestamp() * 1000)
            )


def _group(settings: KafkaSettings) -> AIOKafkaConsumer:
    return AIOKafkaConsumer(
        bootstrap_servers=settings.kafka_bootstrap,
        group_id=settings.topic_prefix + INTAKE_GROUP,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
    )


async def _committed(settings: KafkaSettings) -> int | None:
    async with _group(settings) as consumer:
        offset: int | None = await consumer.committed(TopicPartition(settings.topic_prefix + ATTACHMENTS.name, 0))
        return offset


async def _commit(settings: KafkaSettings, offset: int) -> None:
    async with _group(settings) as consumer:
        partition = TopicPartition(settings.topic_prefix + ATTACHMENTS.name, 0)
        consumer.assign([partition])
        await consumer.commit({partition: offset})


async def test_group_goes_back_to_the_first_record_since_then_and_never_forward(settings: KafkaSettings) -> None:
    await _produce(settings, BACKUP_AT - MINUTE, BACKUP_AT + MINUTE, BACKUP_AT + 2 * MINUTE)
    await _commit(settings, 3)

    shown = await rewind_groups(settings, BACKUP_AT, is_dry_run=True)
    assert [(group.partitions, group.records) for group in shown] == [(1, 2), (0, 0), (0, 0), (0, 0)]
    assert await _committed(settings) == 3

    await rewind_groups(settings, BACKUP_AT, is_dry_run=False)
    assert await _committed(settings) == 1
    again = await rewind_groups(settings, BACKUP_AT + 2 * MINUTE, is_dry_run=False)
    assert [group.records for group in again] == [0, 0, 0, 0]
    assert await _committed(settings) == 1


async def test_group_with_members_is_left(settings: KafkaSettings) -> None:
    await _produce(settings, BACKUP_AT + MINUTE)
    async with _group(settings) as member:
        member.subscribe([settings.topic_prefix + ATTACHMENTS.name])
        await member.getone()
        await member.commit()
        with pytest.raises(Fatal, match="stop the services"):
            await rewind_groups(settings, BACKUP_AT, is_dry_run=False, patience_s=0)
    assert await _committed(settings) == 1
