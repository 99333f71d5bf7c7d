"""The work table on real Kafka: compaction that takes what a tombstone shadows, owners that come and go."""

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from fake_states import FakeSyncStates

from mailroom_common.events import (
    Access,
    ConnectionKind,
    DocSource,
    DocSourceState,
    Profile,
    SyncReason,
    SyncRequest,
)
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.security import UNSECURED, KafkaSecurity
from mailroom_common.topics import SCHEMAS, SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL
from sync_engine.adapters.folding_consumer import FoldingConsumer
from sync_engine.adapters.sync_requests_topic import KafkaRequestLog
from sync_engine.domain.run_outcomes import RunCompleted, RunDeferred, RunOutcome
from sync_engine.handlers.answer_claims import AnswerClaims
from sync_engine.handlers.request_partitions import RequestPartitions
from sync_engine.handlers.work_sync_requests import SyncRequestWorker

pytestmark = pytest.mark.stack

GROUP = "mailroom.sync-engine.worker"
# kafka.md 5.2: the cleaner takes whatever is shadowed, as soon as a segment has been rolled.
EAGER = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": "0",
    "message.timestamp.type": "LogAppendTime",
}


def now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Record:
    offset: int
    key: str
    is_tombstone: bool
    resolves: str | None


@dataclass
class Site:
    """Settings as the clients want them, one partition per topic, and a plain view of what Kafka holds."""

    kafka_bootstrap: str
    topic_prefix: str
    instance_id: str | None = None
    kafka_security: KafkaSecurity = UNSECURED
    codec: Codec = field(default_factory=Codec)

    async def log(self) -> list[Record]:
        consumer = AIOKafkaConsumer(bootstrap_servers=self.kafka_bootstrap)
        await consumer.start()
        try:
            partition = TopicPartition(self.topic_prefix + SYNC_REQUESTS.name, 0)
            consumer.assign([partition])
            await consumer.seek_to_beginning()
            end = (await consumer.end_offsets([partition]))[partition]
            found: list[Record] = []
            while await consumer.position(partition) < end:
                for records in (await consumer.getmany(timeout_ms=200)).values():
                    found += [_record(record) for record in records]
            return found
        finally:
            await consumer.stop()

    async def committed(self) -> int | None:
        admin = AIOKafkaAdminClient(bootstrap_servers=self.kafka_bootstrap)
        await admin.start()
        try:
            offsets = await admin.list_consumer_group_offsets(self.topic_prefix + GROUP)
        finally:
            await admin.close()
        found = offsets.get(TopicPartition(self.topic_prefix + SYNC_REQUESTS.name, 0))
        return None if found is None else int(found.offset)

    @asynccontextmanager
    async def producer(self, name: str) -> AsyncIterator[EventProducer]:
        async with EventProducer(self, self.codec, client_id=name) as producer:
            yield producer


def _record(raw: Any) -> Record:  # Any: aiokafka's ConsumerRecord has no types
    resolves = dict(raw.headers).get("resolves")
    return Record(raw.offset, raw.key.decode(), raw.value is None, resolves and resolves.decode())


@pytest.fixture
async def site(kafka_bootstrap: str) -> AsyncIterator[Site]:
    site = Site(kafka_bootstrap, f"t{secrets.token_hex(4)}.")
    names = {
        SYNC_REQUESTS.name: EAGER,
        SYNC_REQUESTS_BACKFILL.name: {},
        SYNC_REQUESTS.dead_letter_topic: {},
        SCHEMAS.name: {"cleanup.policy": "compact"},
    }
    topics = [NewTopic(site.topic_prefix + name, 1, 1, topic_configs=config) for name, config in names.items()]
    admin = AIOKafkaAdminClient(bootstrap_servers=kafka_bootstrap)
    await admin.start()
    try:
        await admin.create_topics(topics)
        yield site
        await admin.delete_topics([topic.name for topic in topics])
    finally:
        await admin.close()


@pytest.fixture
async def outside(site: Site) -> AsyncIterator[EventProducer]:
    """Other writers: those who ask for syncs, and former owners."""
    async with site.producer("outside") as producer:
        yield producer


async def ask(outside: EventProducer, key: str, *reasons: SyncReason) -> int:
    request = SyncRequest(
        event_id=secrets.token_hex(8),
        occurred_at=now(),
        tenant_id="acme",
        doc_source_id=key,
        reasons=list(reasons) or [SyncReason.NOTIFICATION],
        first_requested_at=now(),
    )
    return (await outside.send_event(SYNC_REQUESTS, key, request)).offset


Behaviour = Callable[[str], Awaitable[RunOutcome]]


async def done(_key: str) -> RunOutcome:
    return RunCompleted()


@dataclass
class Surroundings:
    """What a worker has beside Kafka; it outlives several workers, as the database does."""

    behave: Behaviour = done
    began: list[str] = field(default_factory=list)
    states: FakeSyncStates = field(default_factory=FakeSyncStates)

    # MailboxSync

    async def sync_mailbox(self, source: DocSource, *, reasons: frozenset[SyncReason]) -> RunOutcome:
        self.began.append(source.doc_source_id)
        return await self.behave(source.doc_source_id)

    # DocSources

    def get_source(self, doc_source_id: str) -> DocSource | None:
        return DocSource(
            event_id="x",
            occurred_at=now(),
            tenant_id="acme",
            doc_source_id=doc_source_id,
            version=1,
            provider="outlook",
            profile=Profile.INVOICE,
            access=Access.DELEGATED,
            state=DocSourceState.ACTIVE,
        )

    async def catch_up(self, timeout_s: float) -> bool:
        return True

    # ConnectionEventPublisher

    async def report_synced(self, source: DocSource, completed: RunCompleted) -> None: ...

    async def report_failing(self, source: DocSource, detail: str, *, is_failure: bool) -> None: ...

    async def report_not_syncable(self, source: DocSource, kind: ConnectionKind, detail: str) -> None: ...


class Worker:
    """The consumer and the loop as the process has them."""

    def __init__(self, site: Site, surroundings: Surroundings) -> None:
        self._site = site
        self._world = surroundings
        self._stopping = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> "Worker":
        self._task = asyncio.create_task(self._run())
        return self

    async def stop(self) -> None:
        self._stopping.set()
        assert self._task
        await self._task

    async def die(self) -> None:
        """In the middle of everything, without an answer to what it had claimed."""
        assert self._task
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        site, surroundings = self._site, self._world
        async with AsyncExitStack() as stack:
            producer = await stack.enter_async_context(site.producer("worker"))
            schemas = SchemaDirectory(site, site.codec)
            stack.push_async_callback(schemas.close)
            partitions = RequestPartitions()
            answers = AnswerClaims(
                runs=surroundings,
                states=surroundings.states,
                sources=surroundings,
                connections=surroundings,
                clock=now,
            )
            worker = SyncRequestWorker(
                partitions=partitions,
                answers=answers,
                states=surroundings.states,
                requests=KafkaRequestLog(producer),
                clock=now,
                max_concurrent=5,
            )
            consumer = FoldingConsumer(
                site,
                group=GROUP,
                topics=(SYNC_REQUESTS, SYNC_REQUESTS_BACKFILL),
                open_fold=partitions.open_partition,
                close_fold=partitions.close_partition,
                codec=site.codec,
                schemas=schemas,
                dead_letters=DeadLetterWriter(producer, "test"),
            )
            drained = asyncio.Event()
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(consumer.consume_records(drained))
                await worker.run_worker(self._stopping, grace_s=0.5)
                drained.set()


async def until(holds: Callable[[], Awaitable[object]], within_s: float = 30) -> None:
    """Kafka tells nobody when it has done something, so the tests look."""
    async with asyncio.timeout(within_s):
        while not await holds():  # noqa: ASYNC110  # see above
            await asyncio.sleep(0.05)


async def settled(site: Site, key: str) -> bool:
    """The key's last record is a tombstone, and nothing is left to read again."""
    records = [record for record in await site.log() if record.key == key]
    return bool(records) and records[-1].is_tombstone


async def test_a_request_that_compaction_took_from_under_a_former_owners_tombstone_is_still_run(
    site: Site, outside: EventProducer
) -> None:
    hold = asyncio.Event()

    async def wait(key: str) -> RunOutcome:
        await hold.wait()
        return RunCompleted()

    surroundings = Surroundings(behave=wait)
    first_owner = await Worker(site, surroundings).start()
    first = await ask(outside, "s")
    await until(lambda: _true(surroundings.began == ["s"]))
    shadowed = await ask(outside, "s", SyncReason.LIFECYCLE)
    # A zombie that had claimed the first request answers it only now: the second one lies below this tombstone.
    tombstone = (await outside.send_event(SYNC_REQUESTS, "s", None, headers={"resolves": str(first)})).offset
    await until(lambda: _has(site, lambda record: record.offset > tombstone and not record.is_tombstone))

    await compacted(site, outside, gone=shadowed)
    await until(lambda: _true_async(site, lambda committed: committed is not None and committed > first))
    await first_owner.die()

    hold.set()
    successor = await Worker(site, surroundings).start()
    await until(lambda: settled(site, "s"))
    await successor.stop()
    assert surroundings.began.count("s") >= 2
    assert (
        "s" in surroundings.states.ids_marked_full_due
    )  # the request that is gone had asked for all, and its copy still does
    last = (await site.log())[-1]
    assert last.resolves is not None
    assert int(last.resolves) > tombstone


async def test_a_run_that_dies_with_its_owner_is_begun_again_by_the_next(site: Site, outside: EventProducer) -> None:
    surroundings = Surroundings()

    async def never(key: str) -> RunOutcome:
        await asyncio.Event().wait()
        return RunCompleted()

    surroundings.behave = never
    first_owner = await Worker(site, surroundings).start()
    offset = await ask(outside, "s")
    await until(lambda: _true(surroundings.began == ["s"]))
    await first_owner.die()
    surroundings.behave = done
    successor = await Worker(site, surroundings).start()
    await until(lambda: settled(site, "s"))
    await successor.stop()
    assert surroundings.began == ["s", "s"]
    assert (await site.log())[-1].resolves == str(offset)
    assert await site.committed() == offset + 2


async def test_partitions_that_move_between_living_workers_lose_no_request(site: Site, outside: EventProducer) -> None:
    surroundings = Surroundings()
    keys = [f"s{number}" for number in range(20)]
    first = await Worker(site, surroundings).start()
    for key in keys[:10]:
        await ask(outside, key)
    second = await Worker(site, surroundings).start()
    for key in keys[10:]:
        await ask(outside, key)
    await first.stop()
    for key in keys:
        await until(lambda key=key: settled(site, key))  # type: ignore[misc]  # the loop's own key
    await second.stop()
    assert set(surroundings.began) == set(keys)


async def test_the_committed_offset_moves_on_while_a_source_rests(site: Site, outside: EventProducer) -> None:
    surroundings = Surroundings()

    async def fail(key: str) -> RunOutcome:
        return RunDeferred(now() + timedelta(minutes=5), "503") if key == "down" else RunCompleted()

    surroundings.behave = fail
    worker = await Worker(site, surroundings).start()
    await ask(outside, "down")
    await until(lambda: _has(site, lambda record: record.key == "down" and record.offset > 0))
    for number in range(3):
        await ask(outside, f"up{number}")
    again = [record.offset for record in await site.log() if record.key == "down"][-1]
    await until(lambda: _true_async(site, lambda committed: committed == again))
    await worker.stop()
    assert surroundings.began.count("down") == 1


async def compacted(site: Site, outside: EventProducer, *, gone: int) -> None:
    """A segment is rolled only by an append: nudge until compaction has taken the record."""
    for _ in range(60):
        await outside.send_event(SYNC_REQUESTS, "nudge", None)
        await asyncio.sleep(0.25)
        if all(record.offset != gone for record in await site.log()):
            return
    pytest.fail("the cleaner did not come")


async def _true(value: bool) -> bool:
    return value


async def _has(site: Site, wanted: Callable[[Record], bool]) -> bool:
    return any(wanted(record) for record in await site.log())


async def _true_async(site: Site, holds: Callable[[int | None], bool]) -> bool:
    return holds(await site.committed())
