"""`apply_topics` on real Kafka: what is missing is created, what differs is corrected, what a site added stays."""

import asyncio
import secrets
from collections.abc import AsyncIterator

import pytest
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from kafka_site import eventually

from mailroom_cli import apply_topics as subject
from mailroom_cli.apply_topics import apply_topics
from mailroom_common.errors import Fatal, Unavailable
from mailroom_common.settings import KafkaSettings
from mailroom_common.topics import DeployedTopic, list_deployed_topics

pytestmark = pytest.mark.stack


@pytest.fixture
async def admin(kafka_bootstrap: str) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    await client.start()
    yield client
    await client.close()


@pytest.fixture
async def prefix(admin: AIOKafkaAdminClient) -> AsyncIterator[str]:
    prefix = f"t{secrets.token_hex(4)}."
    yield prefix
    await admin.delete_topics([name for name in await admin.list_topics() if name.startswith(prefix)])


@pytest.fixture(autouse=True)
def few_partitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two instead of 48: a thousand partitions a test are no use to anybody."""

    def small(prefix: str, replication: int) -> list[DeployedTopic]:
        return [DeployedTopic(t.name, 2, t.replication, t.config) for t in list_deployed_topics(prefix, replication)]

    monkeypatch.setattr(subject, "list_deployed_topics", small)


def settings_of(kafka_bootstrap: str, prefix: str, replication: int = 1) -> KafkaSettings:
    return KafkaSettings(kafka_bootstrap=kafka_bootstrap, topic_prefix=prefix, kafka_replication=replication)


async def config_of(admin: AIOKafkaAdminClient, name: str) -> dict[str, str]:
    [answer] = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)])
    return {entry[0]: entry[1] for entry in answer.resources[0][4]}


async def test_all_topics_are_made_with_their_settings_and_a_second_run_changes_nothing(
    kafka_bootstrap: str, prefix: str, admin: AIOKafkaAdminClient
) -> None:
    first = await apply_topics(settings_of(kafka_bootstrap, prefix))
    second = await apply_topics(settings_of(kafka_bootstrap, prefix))

    names = {topic.name for topic in list_deployed_topics(prefix, 1)}
    assert set(first.created) == names
    assert (second.created, second.changed) == ([], [])
    assert set(second.unchanged) == names
    config = await config_of(admin, f"{prefix}sync-requests")
    assert config["cleanup.policy"] == "compact"
    assert config["min.compaction.lag.ms"] == "21600000"
    assert config["message.timestamp.type"] == "LogAppendTime"


async def test_settings_that_differ_are_mended_and_those_of_the_site_stay(
    kafka_bootstrap: str, prefix: str, admin: AIOKafkaAdminClient
) -> None:
    name = f"{prefix}notifications"
    odd = {"retention.ms": "1000", "max.message.bytes": "2000000"}
    await admin.create_topics([NewTopic(name, 2, 1, topic_configs=odd)])
    await eventually(lambda: visible(admin, name))

    applied = await apply_topics(settings_of(kafka_bootstrap, prefix))

    assert applied.changed == [name]

    async def mended() -> bool:
        return (await config_of(admin, name))["retention.ms"] == str(14 * 24 * 3600 * 1000)

    await eventually(mended)
    assert (await config_of(admin, name))["max.message.bytes"] == "2000000"


async def visible(admin: AIOKafkaAdminClient, name: str) -> bool:
    described = await admin.describe_topics([name])
    return bool(described[0]["error_code"] == 0)


async def test_another_partition_count_is_an_error_that_names_the_topic(
    kafka_bootstrap: str, prefix: str, admin: AIOKafkaAdminClient
) -> None:
    name = f"{prefix}sync-requests"
    await admin.create_topics([NewTopic(name, 3, 1)])
    await eventually(lambda: visible(admin, name))

    with pytest.raises(Fatal, match=rf"{name} has 3 partitions and must have 2"):
        await apply_topics(settings_of(kafka_bootstrap, prefix))


async def test_a_replication_that_the_cluster_cannot_give_is_an_error(kafka_bootstrap: str, prefix: str) -> None:
    with pytest.raises(Fatal, match="Kafka refuses the topic"):
        await apply_topics(settings_of(kafka_bootstrap, prefix, 99))


async def test_two_runs_at_once_agree(kafka_bootstrap: str, prefix: str) -> None:
    await asyncio.gather(*(apply_topics(settings_of(kafka_bootstrap, prefix)) for _ in range(2)))

    assert (await apply_topics(settings_of(kafka_bootstrap, prefix))).created == []


async def test_a_kafka_that_is_away_is_said_so() -> None:
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1 does not answer"):
        await apply_topics(settings_of("127.0.0.1:1", ""))


async def test_a_dry_run_says_what_would_be_done_and_does_nothing(
    kafka_bootstrap: str, prefix: str, admin: AIOKafkaAdminClient
) -> None:
    planned = await apply_topics(settings_of(kafka_bootstrap, prefix), is_dry_run=True)

    assert planned.created == [topic.name for topic in list_deployed_topics(prefix, 1)]
    assert not [name for name in await admin.list_topics() if name.startswith(prefix)]
