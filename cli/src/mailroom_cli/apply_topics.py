"""Creates a site's Kafka topics. Idempotent: what exists is compared, and only settings that differ are changed."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import TopicAlreadyExistsError, TopicAuthorizationFailedError, for_code

from mailroom_cli.kafka_access import open_applying_admin
from mailroom_common.errors import Fatal, Unavailable
from mailroom_common.settings import KafkaSettings
from mailroom_common.topics import DeployedTopic, list_deployed_topics

_TOPIC_CONFIG_SOURCE = 1  # Kafka's ConfigSource DYNAMIC_TOPIC_CONFIG: neither a broker's value nor a default
_LEADERS_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class AppliedTopics:
    """Names of topics, by what was done to them."""

    created: list[str]
    changed: list[str]
    unchanged: list[str]
    # Whose settings Kafka does not show to this user: whether they are right, only an administrator sees.
    hidden: list[str] = field(default_factory=list)


async def apply_topics(settings: KafkaSettings, *, is_dry_run: bool = False) -> AppliedTopics:
    """Returns once every topic has leaders, so that what is started next finds it.

    Raises:
        Unavailable: Kafka does not answer.
        Fatal: a topic exists with another partition count, which no setting can mend, or Kafka refuses a topic.
    """
    wanted = list_deployed_topics(settings.topic_prefix, settings.kafka_replication)
    async with open_applying_admin(settings) as admin:
        return await _apply_topics(admin, wanted, is_dry_run=is_dry_run)


async def _apply_topics(admin: AIOKafkaAdminClient, wanted: list[DeployedTopic], *, is_dry_run: bool) -> AppliedTopics:
    existing = set(await admin.list_topics())
    missing = [topic for topic in wanted if topic.name not in existing]
    present = [topic for topic in wanted if topic.name in existing]
    await _check_partitions(admin, present)
    current = await _read_topic_settings(admin, present)
    hidden = [topic.name for topic in present if topic not in current]
    differing = {topic: settings for topic, settings in current.items() if _differs(topic, settings)}
    if not is_dry_run:
        await _create_missing(admin, missing)
        await _change_settings(admin, differing)
        await _wait_for_leaders(admin, missing)
    changed = [topic.name for topic in differing]
    unchanged = [topic.name for topic in present if topic.name not in {*changed, *hidden}]
    return AppliedTopics([topic.name for topic in missing], changed, unchanged, hidden)


async def _create_missing(admin: AIOKafkaAdminClient, missing: list[DeployedTopic]) -> None:
    if not missing:
        return
    answer = await admin.create_topics(
        [NewTopic(topic.name, topic.partitions, topic.replication, topic_configs=topic.config) for topic in missing]
    )
    for name, code, *message in answer.topic_errors:
        # Two runs at once create the same topics: it is no error to be the second.
        if code != 0 and for_code(code) is not TopicAlreadyExistsError:
            reason = " ".join(str(part) for part in (for_code(code).__name__, *message) if part)
            raise Fatal(f"Kafka refuses the topic {name}: {reason}")


async def _check_partitions(admin: AIOKafkaAdminClient, present: list[DeployedTopic]) -> None:
    counts = await _read_partition_counts(admin, present)
    for topic in present:
        if counts[topic.name] != topic.partitions:
            raise Fatal(
                f"topic {topic.name} has {counts[topic.name]} partitions and must have {topic.partitions}, which is "
                "fixed for life: make a new topic and move to it, or set MAILROOM_TOPIC_PREFIX"
            )


async def _wait_for_leaders(admin: AIOKafkaAdminClient, created: list[DeployedTopic]) -> None:
    deadline = asyncio.get_running_loop().time() + _LEADERS_WITHIN_S
    while any(count == 0 for count in (await _read_partition_counts(admin, created)).values()):
        if asyncio.get_running_loop().time() > deadline:
            raise Unavailable(f"the new topics have no leaders after {_LEADERS_WITHIN_S:.0f} s")
        await asyncio.sleep(0.1)  # Kafka has no call that waits for this


async def _read_partition_counts(admin: AIOKafkaAdminClient, topics: list[DeployedTopic]) -> dict[str, int]:
    """0 for a topic whose leaders the asked broker does not know yet."""
    if not topics:
        return {}
    counts = {}
    for found in await admin.describe_topics([topic.name for topic in topics]):
        led = all(partition["error_code"] == 0 for partition in found["partitions"])
        counts[found["topic"]] = len(found["partitions"]) if found["error_code"] == 0 and led else 0
    return counts


async def _read_topic_settings(
    admin: AIOKafkaAdminClient, present: list[DeployedTopic]
) -> dict[DeployedTopic, dict[str, str]]:
    """The settings of each topic, but for those that Kafka does not show to this user."""
    if not present:
        return {}
    resources = [ConfigResource(ConfigResourceType.TOPIC, topic.name) for topic in present]
    own: dict[str, dict[str, str]] = {}
    for answer in await admin.describe_configs(resources):
        for code, _message, _type, name, entries in answer.resources:
            if for_code(code) is TopicAuthorizationFailedError:
                continue
            own[name] = {entry[0]: entry[1] for entry in entries if entry[3] == _TOPIC_CONFIG_SOURCE}
    return {topic: own[topic.name] for topic in present if topic.name in own}


def _differs(topic: DeployedTopic, current: dict[str, str]) -> bool:
    return any(current.get(name) != value for name, value in topic.config.items())


async def _change_settings(admin: AIOKafkaAdminClient, differing: dict[DeployedTopic, dict[str, str]]) -> None:
    """Bring the settings that we name to our values; those that a site set beside them stay."""
    for topic, current in differing.items():
        # The protocol that aiokafka speaks replaces all settings of a topic, so the others are sent along.
        resource = ConfigResource(ConfigResourceType.TOPIC, topic.name, configs={**current, **topic.config})
        _require_accepted(topic, await admin.alter_configs([resource]))


def _require_accepted(topic: DeployedTopic, answers: list[Any]) -> None:  # Any: aiokafka's answers have no types
    for answer in answers:
        for code, message, *_ in answer.resources:
            if code != 0:
                raise Fatal(f"Kafka refuses the settings of {topic.name}: {for_code(code).__name__} {message or ''}")
