"""The windowed runner on real Kafka: nothing lost, nothing stepped over, order kept."""

import asyncio
import json
import signal
import sys
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pytest
from kafka_site import KafkaSite, run_consumer

from mailroom_common.errors import Fatal, Rejected, Unavailable
from mailroom_common.events import AttachmentStored, Profile
from mailroom_common.kafka.codec import MARKER, Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter, RecordFailure
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.record import IncomingRecord, RawRecord
from mailroom_common.kafka.schema_files import compute_fingerprint, load_packaged_schemas
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.topics import ATTACHMENTS, Topic

pytestmark = pytest.mark.stack

GROUP = "mailroom.test.windowed"
Eventually = Callable[..., Awaitable[None]]


def attachment(number: int) -> AttachmentStored:
    return AttachmentStored(
        event_id=f"e-{number}",
        occurred_at=datetime(2026, 11, 28, tzinfo=UTC),
        tenant_id="acme",
        doc_source_id="ds-1",
        attachment_id=f"a-{number}",
        provider="outlook",
        profile=Profile.INVOICE,
        message_id="m",
        part_path=str(number),
        content_type="application/pdf",
        size_bytes=number,
        content_sha256="00",
        blob_key="k",
    )


def encoded(number: int) -> bytes:
    return Codec().encode(attachment(number))


class Dying(DeadLetterWriter):
    """Kafka refuses dead letters until it is told not to."""

    refuses = True

    async def write_dead_letter(self, topic: Topic, record: RawRecord, failure: RecordFailure) -> None:
        if self.refuses:
            raise Unavailable("not now")
        await super().write_dead_letter(topic, record, failure)


class Running:
    """A consumer with what it needs, and what its handler has seen."""

    def __init__(self, site: KafkaSite, producer: EventProducer, **options: Any) -> None:
        self.codec = Codec()
        self.seen: list[IncomingRecord] = []
        self.stopping = asyncio.Event()
        self.schemas = SchemaDirectory(site, self.codec)
        usual: dict[str, Any] = {
            "handle": self.see,
            "dead_letters": DeadLetterWriter(producer, "test"),
            "backoff_s": 0.05,
        }
        self.consumer = WindowedConsumer(
            site, group=GROUP, topics=[ATTACHMENTS], codec=self.codec, schemas=self.schemas, **{**usual, **options}
        )

    async def see(self, record: IncomingRecord) -> None:
        self.seen.append(record)

    @property
    def numbers(self) -> list[int]:
        return [record.event.size_bytes for record in self.seen if isinstance(record.event, AttachmentStored)]

    @asynccontextmanager
    async def running(self) -> AsyncIterator["Running"]:
        async with run_consumer(self.consumer, self.schemas, self.stopping):
            yield self


@pytest.fixture
async def producer(site: KafkaSite) -> AsyncIterator[EventProducer]:
    async with EventProducer(site, Codec(), client_id="test") as producer:
        yield producer


async def test_killed_in_the_middle_nothing_below_the_committed_offset_is_unfinished(
    site: KafkaSite, producer: EventProducer, tmp_path: Path, eventually: Eventually
) -> None:
    count = 400
    for partition in (0, 1):
        records = [(f"key-{number % 20}".encode(), encoded(number)) for number in range(count // 2)]
        await site.write_raw(ATTACHMENTS.name, records, partition)
    file = tmp_path / "finished"
    file.touch()

    @asynccontextmanager
    async def child() -> AsyncIterator[asyncio.subprocess.Process]:
        script = str(Path(__file__).parent / "windowed_child.py")
        process = await asyncio.create_subprocess_exec(
            sys.executable, script, site.kafka_bootstrap, site.topic_prefix, str(file)
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.wait()

    def finished() -> dict[int, set[int]]:
        found: dict[int, set[int]] = defaultdict(set)
        for line in file.read_text().splitlines():
            partition, offset = line.split()
            found[int(partition)].add(int(offset))
        return found

    async def commits() -> dict[int, int]:
        return {partition: await site.committed(GROUP, ATTACHMENTS, partition) or 0 for partition in (0, 1)}

    async def has_committed_some() -> bool:
        return sum((await commits()).values()) > 20

    async with child() as killed:
        await eventually(has_committed_some)
        killed.send_signal(signal.SIGKILL)
        await killed.wait()

    done, committed = finished(), await commits()
    assert sum(committed.values()) < count, "it was too fast to be killed in the middle"
    for partition, offset in committed.items():
        assert done[partition] >= set(range(offset))
    # Some finished above the mark: otherwise the test proves nothing of order.
    assert any(max(done[partition], default=0) > offset for partition, offset in committed.items())

    async with child():
        await eventually(lambda: all(len(finished()[partition]) == count // 2 for partition in (0, 1)), within_s=60)


async def test_records_of_a_key_are_handled_in_order_and_keys_side_by_side(
    site: KafkaSite, producer: EventProducer, eventually: Eventually
) -> None:
    await site.write_raw(ATTACHMENTS.name, [(b"slow" if n % 2 else b"fast", encoded(n)) for n in range(20)])
    gate = asyncio.Event()

    async def handle(record: IncomingRecord) -> None:
        if record.key == "slow":
            await gate.wait()
        run.seen.append(record)

    run = Running(site, producer, handle=handle)
    async with run.running():
        await eventually(lambda: len(run.seen) == 10)
        assert run.numbers == list(range(0, 20, 2))
        gate.set()
        await eventually(lambda: len(run.seen) == 20)

    assert run.numbers[10:] == list(range(1, 20, 2))
    assert await site.committed(GROUP, ATTACHMENTS) == 20


async def test_a_slow_record_holds_the_window_and_the_commit(
    site: KafkaSite, producer: EventProducer, eventually: Eventually
) -> None:
    await site.write_raw(ATTACHMENTS.name, [(f"k{n}".encode(), encoded(n)) for n in range(50)])
    gate = asyncio.Event()

    async def handle(record: IncomingRecord) -> None:
        run.seen.append(record)
        if record.offset == 3:
            await gate.wait()

    run = Running(site, producer, handle=handle, window=10)
    async with run.running():

        async def committed_below_it() -> bool:
            return await site.committed(GROUP, ATTACHMENTS) == 3

        await eventually(committed_below_it)
        assert len(run.seen) == 13  # 0 to 2, and the ten of the window that 3 holds open
        gate.set()
        await eventually(lambda: len(run.seen) == 50)


async def test_an_undecodable_record_goes_to_dead_letters_as_it_came_and_the_partition_goes_on(
    site: KafkaSite, producer: EventProducer, eventually: Eventually
) -> None:
    garbage = b"\xff\x00not avro"
    await site.write_raw(ATTACHMENTS.name, [(b"k", encoded(1)), (b"bad key", garbage), (b"k", encoded(2))])

    run = Running(site, producer)
    async with run.running():
        await eventually(lambda: run.numbers == [1, 2])

    [dead] = await site.read_all(ATTACHMENTS.dead_letter_topic)
    assert (dead.key, dead.value) == (b"bad key", garbage)
    headers = dict(dead.headers)
    assert headers["dlq-topic"] == (site.topic_prefix + ATTACHMENTS.name).encode()
    assert headers["dlq-offset"] == b"1"
    assert headers["dlq-error-class"] == b"Undecodable"
    assert await site.committed(GROUP, ATTACHMENTS) == 3


async def wait_for_round_of_commits(site: KafkaSite, eventually: Eventually, *, written_to_other: int = 0) -> None:
    """Until what is written to the other partition now is committed: one round commits all partitions."""
    await site.write_raw(ATTACHMENTS.name, [(b"other", encoded(9))], 1)

    async def is_committed() -> bool:
        return await site.committed(GROUP, ATTACHMENTS, 1) == written_to_other + 1

    await eventually(is_committed)


async def test_the_offset_of_a_poison_record_counts_only_once_its_dead_letter_is_acknowledged(
    site: KafkaSite, producer: EventProducer, eventually: Eventually
) -> None:
    await site.write_raw(ATTACHMENTS.name, [(b"k", encoded(1)), (b"bad", b"garbage"), (b"k", encoded(2))])
    letters = Dying(producer, "test")

    async def committed_up_to_it() -> bool:
        return await site.committed(GROUP, ATTACHMENTS) == 1

    run = Running(site, producer, dead_letters=letters)
    async with run.running():
        await eventually(lambda: run.numbers == [1, 2])
        await eventually(committed_up_to_it)
        await wait_for_round_of_commits(site, eventually)
        assert await committed_up_to_it()
        letters.refuses = False

        async def committed_all() -> bool:
            return await site.committed(GROUP, ATTACHMENTS) == 3

        await eventually(committed_all)
    assert len(await site.read_all(ATTACHMENTS.dead_letter_topic)) == 1


def of_another_build(number: int) -> tuple[bytes, bytes, str]:
    """A value, its fingerprint and its schema, as a build with one more field writes them."""
    schema = json.loads(load_packaged_schemas()["attachments"][-1].text)
    schema["fields"].append({"name": "colour", "type": ["null", "string"], "default": None})
    values = {name.rstrip("_"): getattr(attachment(number), name) for name in AttachmentStored.__dataclass_fields__}
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), {**values, "colour": "red"})
    fingerprint = compute_fingerprint(schema)
    return MARKER + fingerprint + out.getvalue(), fingerprint, json.dumps(schema)


async def test_an_unknown_fingerprint_stops_its_partition_visibly_and_is_read_once_its_schema_is_there(
    site: KafkaSite, producer: EventProducer, eventually: Eventually
) -> None:
    value, fingerprint, schema = of_another_build(2)
    await site.write_raw(ATTACHMENTS.name, [(b"a", encoded(1)), (b"b", value), (b"c", encoded(3))], 0)
    await site.write_raw(ATTACHMENTS.name, [(b"d", encoded(4))], 1)

    run = Running(site, producer)
    async with run.running():
        await eventually(lambda: sorted(run.numbers) == [1, 4])  # the other partition goes on
        await eventually(lambda: fingerprint.hex() in (run.consumer.check_readiness() or ""))
        await wait_for_round_of_commits(site, eventually, written_to_other=1)
        assert await site.committed(GROUP, ATTACHMENTS) == 1
        assert sorted(run.numbers) == [1, 4, 9]

        await site.write_raw("schemas", [(fingerprint.hex().encode(), schema.encode())])

        await eventually(lambda: sorted(run.numbers) == [1, 2, 3, 4, 9])
        assert run.consumer.check_readiness() is None
    assert await site.committed(GROUP, ATTACHMENTS) == 3
    assert await site.read_all(ATTACHMENTS.dead_letter_topic) == []


async def test_a_retryable_failure_is_tried_again_in_place_and_never_dead_lettered(
    site: KafkaSite, producer: EventProducer, eventually: Eventually
) -> None:
    await site.write_raw(ATTACHMENTS.name, [(b"k", encoded(n)) for n in range(3)])
    attempts = 0

    async def handle(record: IncomingRecord) -> None:
        nonlocal attempts
        attempts += record.offset == 1
        if record.offset == 1 and attempts < 9:
            raise Unavailable("Postgres is away", retry_after_s=0.02)
        run.seen.append(record)

    run = Running(site, producer, handle=handle, attempts=2)
    async with run.running():
        await eventually(lambda: run.numbers == [0, 1, 2])

    assert attempts == 9
    assert await site.read_all(ATTACHMENTS.dead_letter_topic) == []


async def test_a_rejected_record_is_dead_lettered_at_once_and_a_bug_after_all_attempts(
    site: KafkaSite, producer: EventProducer, eventually: Eventually
) -> None:
    await site.write_raw(ATTACHMENTS.name, [(f"k{n}".encode(), encoded(n)) for n in range(3)])
    tried: dict[int, int] = defaultdict(int)

    async def handle(record: IncomingRecord) -> None:
        tried[record.offset] += 1
        if record.offset == 0:
            raise Rejected("no such doc source")
        if record.offset == 1:
            raise ZeroDivisionError("a bug")
        run.seen.append(record)

    run = Running(site, producer, handle=handle, attempts=3)
    async with run.running():
        await eventually(lambda: run.numbers == [2])
        await eventually(lambda: tried[1] == 3)

    dead = {int(dict(record.headers)["dlq-offset"]): dict(record.headers) for record in await letters(site, 2)}
    assert tried == {0: 1, 1: 3, 2: 1}
    assert dead[0]["dlq-error-class"] == b"Rejected"
    assert dead[1]["dlq-error-class"] == b"ZeroDivisionError"
    assert dead[1]["dlq-attempts"] == b"3"
    assert await site.committed(GROUP, ATTACHMENTS) == 3


async def letters(site: KafkaSite, count: int) -> list[Any]:
    found = await site.read_all(ATTACHMENTS.dead_letter_topic)
    assert len(found) == count
    return found


async def test_a_fatal_error_of_a_handler_ends_the_runner(site: KafkaSite, producer: EventProducer) -> None:
    await site.write_raw(ATTACHMENTS.name, [(b"k", encoded(1))])

    async def handle(_record: IncomingRecord) -> None:
        raise Fatal("the tables are of another version")

    run = Running(site, producer, handle=handle)
    with pytest.raises(ExceptionGroup) as failed:
        await asyncio.wait_for(run.consumer.consume_records(run.stopping), 20)

    assert failed.group_contains(Fatal, match="another version")
    assert await site.committed(GROUP, ATTACHMENTS) is None


async def test_a_partition_that_moves_is_finished_and_committed_before_its_new_owner_begins(
    site: KafkaSite, producer: EventProducer, eventually: Eventually
) -> None:
    for partition in (0, 1):
        await site.write_raw(ATTACHMENTS.name, [(f"k{n}".encode(), encoded(n)) for n in range(30)], partition)
    handled: list[tuple[int, int]] = []
    under_way = 0

    async def handle(record: IncomingRecord) -> None:
        nonlocal under_way
        under_way += 1
        await asyncio.sleep(0.05)
        under_way -= 1
        handled.append((record.partition, record.offset))

    first = Running(site, producer, handle=handle, max_concurrent=2)
    second = Running(site, producer, handle=handle, max_concurrent=2)
    async with first.running():
        await eventually(lambda: len(handled) >= 5)
        async with second.running():
            await eventually(lambda: len(handled) >= 60, within_s=40)

    # A graceful hand-over repeats nothing.
    assert sorted(handled) == [(partition, offset) for partition in (0, 1) for offset in range(30)]
    assert under_way == 0


async def test_work_that_does_not_end_in_time_is_cancelled_and_handed_out_again(
    site: KafkaSite, producer: EventProducer, eventually: Eventually, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mailroom_common.kafka.partition_consumer._RELEASE_AT_STOP_S", 0.2)
    await site.write_raw(ATTACHMENTS.name, [(b"k", encoded(1))])
    begun, cancelled = asyncio.Event(), asyncio.Event()

    async def handle(_record: IncomingRecord) -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    stuck = Running(site, producer, handle=handle)
    async with stuck.running():
        await asyncio.wait_for(begun.wait(), 20)
    assert cancelled.is_set()
    assert await site.committed(GROUP, ATTACHMENTS) in (None, 0)

    successor = Running(site, producer)
    async with successor.running():
        await eventually(lambda: successor.numbers == [1])


async def test_two_processes_with_one_instance_id_do_not_take_turns_for_ever(
    site: KafkaSite, producer: EventProducer, eventually: Eventually
) -> None:
    await site.write_raw(ATTACHMENTS.name, [(b"k", encoded(1))])
    static = replace(site, instance_id="pod-0")
    first, twin = Running(static, producer), Running(static, producer)
    tasks = [asyncio.create_task(run.consumer.consume_records(run.stopping)) for run in (first, twin)]
    try:
        ended, _ = await asyncio.wait(tasks, timeout=60, return_when=asyncio.FIRST_COMPLETED)

        assert ended, "both still take turns"
        error = ended.pop().exception()
        assert isinstance(error, ExceptionGroup)
        assert "MAILROOM_INSTANCE_ID=pod-0" in str(error.exceptions[0])
    finally:
        first.stopping.set()
        twin.stopping.set()
        await asyncio.gather(*tasks, return_exceptions=True)
