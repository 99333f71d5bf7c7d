"""Every topic of Mailroom, in one place: creation, Helm, compose, docs and tests derive from this list.

The partition count of a topic is fixed for life: `resolves` offsets in `sync-requests` mean nothing after a change of
it, and a key would move between owners. Migrate by a new topic instead.
"""

from dataclasses import dataclass, field
from datetime import timedelta

PARTITIONS = 48
DEAD_LETTER_PARTITIONS = 1  # rare records that operators read: their order and spread do not matter
_DAY_MS = int(timedelta(days=1).total_seconds() * 1000)
_HOUR_MS = _DAY_MS // 24


def _deleted_after(days: int) -> dict[str, str]:
    return {"cleanup.policy": "delete", "retention.ms": str(days * _DAY_MS)}


# The active segment is never cleaned and is rolled only on an append, so without these a quiet compacted topic grows
# without bound. The lag counts from record timestamps, hence LogAppendTime: a wrong clock must not shorten it, since
# a successor has to see what a tombstone shadows (design 5.3).
_COMPACTED = {
    "cleanup.policy": "compact",
    "segment.ms": str(_HOUR_MS),
    "segment.bytes": str(64 * 1024 * 1024),
    "min.cleanable.dirty.ratio": "0.1",
    "min.compaction.lag.ms": str(6 * _HOUR_MS),
    "max.compaction.lag.ms": str(_DAY_MS),
    "delete.retention.ms": str(2 * _DAY_MS),
    "message.timestamp.type": "LogAppendTime",
}

# Faust's changelog is compacted as soon as the cleaner comes: nobody but a recovery reads it, and what a later record
# shadows only makes that longer. Timestamps stay Faust's own. Segments of less than an hour would roll 48 files a time.
_CHANGELOG = {
    name: value
    for name, value in _COMPACTED.items()
    if name not in ("min.compaction.lag.ms", "message.timestamp.type", "delete.retention.ms")
}


@dataclass(frozen=True, slots=True)
class Topic:
    """`key` says in words what the record key is; `event` names the Avro schema folder, None for raw values."""

    name: str
    key: str
    event: str | None
    config: dict[str, str] = field(hash=False)
    has_dead_letters: bool = True
    partitions: int = PARTITIONS

    @property
    def dead_letter_topic(self) -> str:
        return f"{self.name}.dlq"


# Providers' hints that something changed at a doc source: what a sync is asked for by.
NOTIFICATIONS = Topic("notifications", "doc source id", "notifications", _deleted_after(14))
# What a provider says about a subscription itself: removed, to be reauthorized, hints missed.
LIFECYCLE_EVENTS = Topic("lifecycle-events", "doc source id", "lifecycle-events", _deleted_after(14))
# The newest version of every doc source; a tombstone once it is gone, which lives longer than the oldest backup that a
# site restores (35 days): it alone says that a restored row was deleted.
DOC_SOURCES = Topic(
    "doc-sources", "doc source id", "doc-sources", {**_COMPACTED, "delete.retention.ms": str(35 * _DAY_MS)}
)
# The work table of the sync-engine: one pending request per doc source, a tombstone when it is served.
SYNC_REQUESTS = Topic("sync-requests", "doc source id", "sync-requests", _COMPACTED)
# What syncs find out about a mailbox connection: it works, or why it does not.
CONNECTION_EVENTS = Topic("connection-events", "doc source id", "connection-events", _deleted_after(14))
# Documents that were stored as blobs and wait to be read.
ATTACHMENTS = Topic("attachments", "doc source id:message id", "attachments", _deleted_after(14))
# How the reading of each document ended, with what was extracted.
INGESTION_RESULTS = Topic("ingestion-results", "document id", "ingestion-results", _deleted_after(30))
# Messages that were received, changed, moved or removed.
MAIL_EVENTS = Topic("mail-events", "doc source id", "mail-events", _deleted_after(14))
# The Avro schemas of all writers. Read whole by every process at its start: more partitions would only cost time.
SCHEMAS = Topic("schemas", "fingerprint", None, _COMPACTED, has_dead_letters=False, partitions=1)
# Requests whose runs may take long and must not delay the others: a first sync, a replay.
SYNC_REQUESTS_BACKFILL = Topic("sync-requests-backfill", "doc source id", "sync-requests", _deleted_after(14))
# Documents of a first sync or a re-list, read after those that have just arrived.
ATTACHMENTS_BACKFILL = Topic("attachments-backfill", "doc source id:message id", "attachments", _deleted_after(14))

TOPICS = (
    NOTIFICATIONS,
    LIFECYCLE_EVENTS,
    DOC_SOURCES,
    SYNC_REQUESTS,
    CONNECTION_EVENTS,
    ATTACHMENTS,
    INGESTION_RESULTS,
    MAIL_EVENTS,
    SCHEMAS,
    SYNC_REQUESTS_BACKFILL,
    ATTACHMENTS_BACKFILL,
)

# Faust derives the changelog topic from the app id; it is listed so that an operator who grants ACLs finds every name
# here. The coalescer tells Faust the same prefix. There is no leader topic: nothing of it runs on one worker only.
COALESCER_APP_ID = "mailroom.sync-engine.coalescer"
FAUST_CHANGELOG = f"{COALESCER_APP_ID}-pending-changelog"


# A replay keeps its position as committed offsets of a group of this name with the replay's id behind it.
REPLAY_GROUP_PREFIX = "mailroom.replay."


@dataclass(frozen=True, slots=True)
class DeployedTopic:
    """A topic as a site has it: prefixed name, and what creation must say."""

    name: str
    partitions: int
    replication: int
    config: dict[str, str] = field(hash=False)


def list_deployed_topics(prefix: str, replication: int) -> list[DeployedTopic]:
    """All topics of a site with their dead-letter topics; `min.insync.replicas` follows the replication."""
    in_sync = {"min.insync.replicas": str(max(1, replication - 1))}

    def deploy(name: str, partitions: int, config: dict[str, str]) -> DeployedTopic:
        return DeployedTopic(prefix + name, partitions, replication, {**config, **in_sync})

    return [
        *(deploy(topic.name, topic.partitions, topic.config) for topic in TOPICS),
        *(
            deploy(topic.dead_letter_topic, DEAD_LETTER_PARTITIONS, _deleted_after(30))
            for topic in TOPICS
            if topic.has_dead_letters
        ),
        # Compact only: recovery waits for ever when retention removed the changelog's head by time.
        deploy(FAUST_CHANGELOG, PARTITIONS, _CHANGELOG),
    ]
