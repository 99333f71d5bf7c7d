"""Who reads, writes and joins what at Kafka: `mailroom topics apply --acls`, docs and tests derive from this list.

Nothing else is needed: an idempotent producer may produce where it may write, describing follows from reading and
writing, and nobody uses transactions. Creating and altering topics is for whoever runs `mailroom topics apply`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from mailroom_common.topics import (
    ATTACHMENTS,
    ATTACHMENTS_BACKFILL,
    COALESCER_APP_ID,
    CONNECTION_EVENTS,
    DOC_SOURCES,
    FAUST_CHANGELOG,
    INGESTION_RESULTS,
    LIFECYCLE_EVENTS,
    MAIL_EVENTS,
    NOTIFICATIONS,
    REPLAY_GROUP_PREFIX,
    SCHEMAS,
    SYNC_REQUESTS,
    SYNC_REQUESTS_BACKFILL,
    TOPICS,
    Topic,
)

SYNC_WORKER_GROUP = "mailroom.sync-engine.worker"
RESULT_RECORDER_GROUP = "mailroom.sync-engine.recorder"
INTAKE_GROUP = "mailroom.ingestion.intake"
_GROUP_PREFIX = "mailroom."
_DEAD_LETTERS = ".dlq"


def subscription_manager_group(topic: Topic) -> str:
    """A group a topic: a retry on one holds up nothing of the other."""
    return f"mailroom.subscription-manager.{topic.name}"


@dataclass(frozen=True, slots=True)
class Component:
    """A process that connects to Kafka. Topics by name, dead-letter topics and changelog included, without a prefix."""

    name: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    groups: tuple[str, ...] = ()

    @property
    def default_user(self) -> str:
        return f"mailroom-{self.name}"

    @property
    def default_principal(self) -> str:
        return f"User:{self.default_user}"


def _component(
    name: str,
    *,
    reads: tuple[Topic, ...] = (),
    consumes: Mapping[str, tuple[Topic, ...]] | None = None,
    writes: tuple[Topic, ...],
    changelog: tuple[str, ...] = (),
) -> Component:
    """`consumes` are topics by group: read, and dead-lettered where a record is of no use. Whoever reads or writes
    events reads and announces their schemas."""
    by_group = consumes or {}
    consumed = [topic for topics in by_group.values() for topic in topics]
    return Component(
        name,
        (*(topic.name for topic in (*consumed, *reads, SCHEMAS)), *changelog),
        (*(topic.name for topic in (*writes, SCHEMAS)), *(topic.dead_letter_topic for topic in consumed), *changelog),
        tuple(by_group),
    )


COMPONENTS = (
    _component("webhook-gateway", reads=(DOC_SOURCES,), writes=(NOTIFICATIONS, LIFECYCLE_EVENTS)),
    _component(
        "subscription-manager",
        reads=(DOC_SOURCES,),
        consumes={subscription_manager_group(topic): (topic,) for topic in (LIFECYCLE_EVENTS, CONNECTION_EVENTS)},
        writes=(DOC_SOURCES, SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL),
    ),
    _component(
        "sync-engine-coalescer",
        consumes={COALESCER_APP_ID: (NOTIFICATIONS,)},
        writes=(SYNC_REQUESTS,),
        changelog=(FAUST_CHANGELOG,),
    ),
    _component(
        "sync-engine-worker",
        reads=(DOC_SOURCES,),
        consumes={
            SYNC_WORKER_GROUP: (SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL),
            RESULT_RECORDER_GROUP: (INGESTION_RESULTS,),
        },
        writes=(
            SYNC_REQUESTS,
            SYNC_REQUESTS_BACKFILL,
            ATTACHMENTS,
            ATTACHMENTS_BACKFILL,
            MAIL_EVENTS,
            CONNECTION_EVENTS,
        ),
    ),
    _component(
        "ingestion-worker",
        consumes={INTAKE_GROUP: (ATTACHMENTS, ATTACHMENTS_BACKFILL)},
        writes=(INGESTION_RESULTS,),
    ),
)


class Resource(StrEnum):
    TOPIC = "topic"  # its records
    GROUP = "group"  # a consumer group: joining it, and committing its offsets


class Operation(StrEnum):
    READ = "read"  # of a group: to join it
    WRITE = "write"  # includes what an idempotent producer needs
    DESCRIBE = "describe"  # of a group: to see what it has committed


@dataclass(frozen=True, slots=True, order=True)
class AccessRule:
    """One ACL: allowed from every host, for exactly this name, or for all that begin with it."""

    principal: str
    resource: Resource
    name: str
    operation: Operation
    is_prefix: bool = False


def list_access_rules(prefix: str, principals: Mapping[str, str] | None = None) -> list[AccessRule]:
    """Every ACL of a site; `principals` by component, `User:mailroom-<component>` for those it leaves out."""
    chosen = principals or {}
    return [
        rule
        for component in COMPONENTS
        for rule in _list_rules(component, chosen.get(component.name, component.default_principal), prefix)
    ]


def list_operator_rules(prefix: str, principal: str) -> list[AccessRule]:
    """What `mailroom tail`, `topics lag`, `dlq` and `replay` need: no right to create, alter or delete, and to join no
    group of a process."""
    # Those that no process writes too: `dlq list` looks into every dead-letter topic that there is.
    reads = [
        name
        for topic in TOPICS
        for name in (topic.name, *([topic.dead_letter_topic] if topic.has_dead_letters else []))
    ]
    dead_letters = [name for name in reads if name.endswith(_DEAD_LETTERS) and name in _list_topic_names()]
    writes = {
        *dead_letters,  # the mark of what was retried or discarded
        *(name.removesuffix(_DEAD_LETTERS) for name in dead_letters),  # what is retried
        SYNC_REQUESTS_BACKFILL.name,
        ATTACHMENTS_BACKFILL.name,
        MAIL_EVENTS.name,
        SCHEMAS.name,
    }
    return [
        *(AccessRule(principal, Resource.TOPIC, prefix + name, Operation.READ) for name in reads),
        *(AccessRule(principal, Resource.TOPIC, prefix + name, Operation.WRITE) for name in sorted(writes)),
        AccessRule(principal, Resource.GROUP, prefix + _GROUP_PREFIX, Operation.DESCRIBE, is_prefix=True),
        # Where a replay stands is kept as offsets of a group of its own.
        AccessRule(principal, Resource.GROUP, prefix + REPLAY_GROUP_PREFIX, Operation.READ, is_prefix=True),
    ]


def _list_topic_names() -> frozenset[str]:
    return frozenset(name for component in COMPONENTS for name in (*component.reads, *component.writes))


def _list_rules(component: Component, principal: str, prefix: str) -> Iterator[AccessRule]:
    for name in component.reads:
        yield AccessRule(principal, Resource.TOPIC, prefix + name, Operation.READ)
    for name in component.writes:
        yield AccessRule(principal, Resource.TOPIC, prefix + name, Operation.WRITE)
    for name in component.groups:
        yield AccessRule(principal, Resource.GROUP, prefix + name, Operation.READ)
