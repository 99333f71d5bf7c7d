"""When a record of the windowed consumer counts as done: never before its handler or its dead letter is through."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from fake_aiokafka import FakeAiokafka, FakeDeadLetterSender, FakeSettings, run_consumer, wait_until
from structlog.testing import capture_logs

from mailroom_common.errors import Fatal, Rejected, Unavailable
from mailroom_common.kafka import partition_consumer
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.dead_letters import DeadLetterWriter
from mailroom_common.kafka.membership import GroupMember
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.windowed import WindowedConsumer
from mailroom_common.metrics import KAFKA_DEAD_LETTERS
from mailroom_common.topics import SYNC_REQUESTS
from mailroom_common.tracing import get_or_create_traceparent


class Bench:
    """A consumer of one partition; `handled` are the offsets whose handler returned."""

    def __init__(self, kafka: FakeAiokafka) -> None:
        self.kafka = kafka
        self.letters = FakeDeadLetterSender()
        self.begun: list[int] = []
        self.handled: list[int] = []
        self.cancelled: list[int] = []
        self.failures: dict[int, Exception] = {}
        self.gates: dict[int, asyncio.Event] = {}

    def create_consumer(self, **options: Any) -> WindowedConsumer:
        codec = Codec()
        return WindowedConsumer(
            FakeSettings(),
            group="g",
            topics=[SYNC_REQUESTS],
            handle=self.handle_record,
            codec=codec,
            schemas=SchemaDirectory(FakeSettings(), codec),
            dead_letters=DeadLetterWriter(self.letters, "test"),
            **options,
        )

    async def handle_record(self, record: IncomingRecord) -> None:
        self.begun.append(record.offset)
        if (gate := self.gates.get(record.offset)) is not None:
            try:
                await gate.wait()
            except asyncio.CancelledError:
                self.cancelled.append(record.offset)
                raise
        if (failure := self.failures.get(record.offset)) is not None:
            raise failure
        self.handled.append(record.offset)


@pytest.fixture
async def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    kafka = FakeAiokafka(partitions=(0,))
    monkeypatch.setattr(GroupMember, "_create_client", lambda _: kafka)
    monkeypatch.setattr(partition_consumer, "_COMMIT_INTERVAL_S", 0.02)
    return Bench(kafka)


async def stop_while(bench: Bench, consumer: WindowedConsumer, holds: Callable[[], bool]) -> None:
    async with run_consumer(consumer):
        await wait_until(holds)


async def rebalance_while(bench: Bench, consumer: WindowedConsumer, holds: Callable[[], bool]) -> None:
    """The partition leaves and comes back; what it was committed at then is what a new owner would begin with."""
    async with run_consumer(consumer):
        await wait_until(holds)
        bench.kafka.begin_rebalance()
        await wait_until(lambda: bench.kafka.joins == 2)


@pytest.mark.parametrize("leave", [stop_while, rebalance_while])
async def test_a_record_that_waits_for_its_retry_when_its_partition_leaves_is_not_committed(
    bench: Bench, leave: Callable[..., Awaitable[None]]
) -> None:
    bench.failures[1] = Unavailable("Postgres is away", retry_after_s=60)
    bench.kafka.write_requests(3)
    await leave(bench, bench.create_consumer(), lambda: 1 in bench.begun and bench.handled == [0, 2])
    assert bench.kafka.committed_offsets() == {1}


@pytest.mark.parametrize("leave", [stop_while, rebalance_while])
async def test_a_record_that_failed_of_a_bug_and_waits_when_its_partition_leaves_is_not_committed(
    bench: Bench, leave: Callable[..., Awaitable[None]]
) -> None:
    bench.failures[0] = ZeroDivisionError("a bug")
    bench.kafka.write_requests(2)
    await leave(bench, bench.create_consumer(backoff_s=60), lambda: 0 in bench.begun and bench.handled == [1])
    assert bench.kafka.committed_offsets() <= {0, None}
    assert bench.letters.values == []


async def test_a_record_that_was_never_begun_when_its_consumer_stops_is_not_committed(bench: Bench) -> None:
    bench.gates[0] = asyncio.Event()
    bench.kafka.write_requests(3)
    stopping = asyncio.Event()
    task = asyncio.create_task(bench.create_consumer(max_concurrent=1).consume_records(stopping))
    await wait_until(lambda: bench.begun == [0])
    stopping.set()
    # The poll under way ends, the release begins, and only then the first handler returns its slot.
    await asyncio.sleep(0.05)
    bench.gates[0].set()
    await task
    assert bench.begun == [0]
    assert bench.kafka.committed_offsets() == {1}


async def test_the_later_records_of_a_key_are_not_begun_once_their_partition_leaves(bench: Bench) -> None:
    bench.gates[0] = asyncio.Event()
    bench.kafka.write_requests(1)
    bench.kafka.write_requests(2, key=b"ds-0")
    stopping = asyncio.Event()
    task = asyncio.create_task(bench.create_consumer().consume_records(stopping))
    await wait_until(lambda: bench.begun == [0])
    stopping.set()
    await asyncio.sleep(0.05)
    bench.gates[0].set()
    await task
    assert bench.handled == [0]
    assert bench.kafka.committed_offsets() == {1}


@pytest.mark.parametrize("leave", [stop_while, rebalance_while])
async def test_a_rejected_record_whose_dead_letter_is_not_acknowledged_is_not_committed(
    bench: Bench, leave: Callable[..., Awaitable[None]]
) -> None:
    bench.failures[1] = Rejected("no such doc source")
    bench.letters.is_away = True
    bench.kafka.write_requests(3)
    consumer = bench.create_consumer(backoff_s=60)
    await leave(bench, consumer, lambda: bench.letters.attempts > 0 and bench.handled == [0, 2])
    assert bench.kafka.committed_offsets() == {1}


async def test_the_pauses_of_a_dead_letter_that_is_not_acknowledged_grow(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[tuple[int, float]] = []

    def record_pause(attempt: int, *, initial_s: float, max_s: float) -> float:
        pauses.append((attempt, initial_s))
        return 0.001

    monkeypatch.setattr(partition_consumer, "backoff_s", record_pause)
    bench.letters.is_away = True
    bench.kafka.write_undecodable()
    async with run_consumer(bench.create_consumer()):
        await wait_until(lambda: len(pauses) >= 3)
    assert pauses[:3] == [(1, 0.5), (2, 0.5), (3, 0.5)]


async def test_a_record_is_retried_until_it_succeeds_and_committed_only_then(bench: Bench) -> None:
    bench.failures[0] = Unavailable("not yet", retry_after_s=0.005)
    bench.kafka.write_requests(1)
    async with run_consumer(bench.create_consumer()):
        await wait_until(lambda: len(bench.begun) >= 3)
        assert bench.kafka.committed_offsets() <= {0, None}
        del bench.failures[0]
        await wait_until(lambda: bench.kafka.committed_offsets() == {1})


async def test_work_that_is_cancelled_when_the_release_takes_too_long_is_not_committed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partition_consumer, "_RELEASE_AT_STOP_S", 0.05)
    bench.gates[1] = asyncio.Event()
    bench.kafka.write_requests(2)
    await stop_while(bench, bench.create_consumer(), lambda: bench.begun == [0, 1])
    assert bench.kafka.committed_offsets() == {1}


async def test_a_fatal_error_ends_the_consumer_and_its_record_is_not_committed(bench: Bench) -> None:
    bench.failures[0] = Fatal("the tables are of another version")
    bench.kafka.write_requests(1)
    with pytest.raises(ExceptionGroup) as failed:
        await asyncio.wait_for(bench.create_consumer().consume_records(asyncio.Event()), 5)
    assert failed.group_contains(Fatal, match="another version")
    assert bench.kafka.committed_offsets() <= {0, None}
    assert bench.kafka.is_stopped  # so that the group gives its partitions to others at once


async def test_a_fatal_error_cancels_the_handlers_of_the_other_records(bench: Bench) -> None:
    bench.gates = {0: asyncio.Event(), 1: asyncio.Event()}
    bench.failures[0] = Fatal("the tables are of another version")
    bench.kafka.write_requests(2)
    consuming = asyncio.create_task(bench.create_consumer().consume_records(asyncio.Event()))
    await wait_until(lambda: bench.begun == [0, 1])
    bench.gates[0].set()
    with pytest.raises(ExceptionGroup):
        await asyncio.wait_for(consuming, 5)
    await wait_until(lambda: bench.cancelled == [1])


async def test_no_more_than_the_window_is_in_flight(bench: Bench) -> None:
    bench.gates[0] = asyncio.Event()
    bench.kafka.write_requests(10)
    async with run_consumer(bench.create_consumer(window=4)):
        await wait_until(lambda: bench.handled == [1, 2, 3])
        await asyncio.sleep(0.03)  # a few more polls, if there were any: a full window asks for none
        assert bench.begun == [0, 1, 2, 3]
        bench.gates[0].set()
        await wait_until(lambda: len(bench.handled) == 10)


async def test_a_record_that_fails_of_a_bug_is_dead_lettered_after_its_attempts_and_the_next_ones_go_on(
    bench: Bench,
) -> None:
    bench.failures[0] = ZeroDivisionError("a bug")
    bench.kafka.write_requests(2, key=b"same")
    async with run_consumer(bench.create_consumer(attempts=3, backoff_s=0.001)):
        await wait_until(lambda: bench.kafka.committed_offsets() == {2})
    assert bench.begun == [0, 0, 0, 1]
    [headers] = bench.letters.headers
    assert (headers["dlq-error-class"], headers["dlq-attempts"]) == (b"ZeroDivisionError", b"3")


async def test_a_dead_letter_of_a_bug_says_when_it_failed_first(bench: Bench) -> None:
    bench.failures[0] = ZeroDivisionError("a bug")
    bench.kafka.write_requests(1)
    async with run_consumer(bench.create_consumer(attempts=2, backoff_s=0.05)):
        await wait_until(lambda: bench.begun == [0])
        await asyncio.sleep(0.01)
        before_second = datetime.now(UTC)
        await wait_until(lambda: bench.kafka.committed_offsets() == {1})
    [headers] = bench.letters.headers
    assert datetime.fromisoformat(headers["dlq-first-failed-at"].decode()) <= before_second


async def test_a_failed_attempt_is_logged_with_the_text_of_our_errors_and_only_the_kind_of_others(bench: Bench) -> None:
    """The text of a bug may quote the mail that it was met with."""
    bench.failures = {0: Unavailable("Postgres is away", retry_after_s=60), 1: ValueError("confidential")}
    bench.kafka.write_requests(2)
    with capture_logs() as logs:
        await stop_while(bench, bench.create_consumer(backoff_s=60), lambda: sorted(bench.begun) == [0, 1])
    failed = [line for line in logs if line["event"] == "record_attempt_failed"]
    assert [(line["offset"], line["attempt"], line["reason"]) for line in failed] == [
        (0, 1, "Postgres is away"),
        (1, 1, "ValueError"),
    ]


@pytest.mark.parametrize(("is_decodable", "reason"), [(True, "rejected"), (False, "undecodable")])
async def test_a_dead_letter_is_counted_by_what_was_wrong(bench: Bench, is_decodable: bool, reason: str) -> None:
    before = count_dead_letters(reason)
    bench.failures[0] = Rejected("no such doc source")
    if is_decodable:
        bench.kafka.write_requests(1)
    else:
        bench.kafka.write_undecodable()
    async with run_consumer(bench.create_consumer()):
        await wait_until(lambda: bench.kafka.committed_offsets() == {1})
    assert count_dead_letters(reason) == before + 1


def count_dead_letters(reason: str) -> float:
    return float(KAFKA_DEAD_LETTERS.labels("g", SYNC_REQUESTS.name, reason)._value.get())


async def test_failures_of_others_do_not_count_as_attempts_at_a_bug(bench: Bench) -> None:
    bench.failures[0] = Unavailable("Postgres is away", retry_after_s=0.001)
    bench.kafka.write_requests(1)
    async with run_consumer(bench.create_consumer(attempts=2, backoff_s=0.001)):
        await wait_until(lambda: len(bench.begun) > 5)
        bench.failures[0] = ZeroDivisionError("a bug")
        await wait_until(lambda: bench.kafka.committed_offsets() == {1})
    assert len(bench.letters.values) == 1


async def test_a_rejected_record_is_dead_lettered_at_once_with_the_time_of_its_first_failure(bench: Bench) -> None:
    bench.failures[0] = Unavailable("not yet", retry_after_s=0.2)
    bench.kafka.write_requests(1)
    async with run_consumer(bench.create_consumer()):
        await wait_until(lambda: bench.begun == [0])
        bench.failures[0] = Rejected("no such doc source")
        before_second = datetime.now(UTC)
        await wait_until(lambda: bench.kafka.committed_offsets() == {1})
    assert bench.begun == [0, 0]
    [headers] = bench.letters.headers
    assert (headers["dlq-error-class"], headers["dlq-attempts"]) == (b"Rejected", b"2")
    assert datetime.fromisoformat(headers["dlq-first-failed-at"].decode()) <= before_second


async def test_an_undecodable_record_is_dead_lettered_and_never_handled(bench: Bench) -> None:
    bench.kafka.write_undecodable()
    bench.kafka.write_requests(1)
    async with run_consumer(bench.create_consumer()):
        await wait_until(lambda: bench.kafka.committed_offsets() == {2})
    assert bench.handled == [1]
    assert bench.letters.values == [b"garbage"]
    assert bench.letters.headers[0]["dlq-error-class"] == b"Undecodable"


async def test_records_of_a_key_are_handled_in_order_and_those_of_other_keys_beside_them(bench: Bench) -> None:
    bench.gates[0] = asyncio.Event()
    bench.kafka.write_requests(3, key=b"slow")
    bench.kafka.write_requests(2, key=b"quick")
    async with run_consumer(bench.create_consumer()):
        await wait_until(lambda: bench.handled == [3, 4])
        assert bench.begun == [0, 3, 4]
        bench.gates[0].set()
        await wait_until(lambda: bench.kafka.committed_offsets() == {5})
    assert bench.handled == [3, 4, 0, 1, 2]


async def test_a_key_whose_records_were_all_handled_gets_its_later_ones(bench: Bench) -> None:
    bench.kafka.write_requests(1, key=b"same")
    async with run_consumer(bench.create_consumer()):
        await wait_until(lambda: bench.handled == [0])
        bench.kafka.write_requests(1, key=b"same")
        await wait_until(lambda: bench.kafka.committed_offsets() == {2})
    assert bench.handled == [0, 1]


async def test_no_more_handlers_run_at_once_than_allowed(bench: Bench) -> None:
    bench.gates = {offset: asyncio.Event() for offset in range(4)}
    bench.kafka.write_requests(4)
    async with run_consumer(bench.create_consumer(max_concurrent=2)):
        await wait_until(lambda: len(bench.begun) == 2)
        polls = len(bench.kafka.polled)
        await wait_until(lambda: len(bench.kafka.polled) >= polls + 3)  # another one might have begun by then
        assert len(bench.begun) == 2
        for gate in bench.gates.values():
            gate.set()
        await wait_until(lambda: bench.kafka.committed_offsets() == {4})


async def test_the_pause_before_a_retry_is_the_one_that_the_error_names(bench: Bench) -> None:
    bench.failures[0] = Unavailable("Postgres is away", retry_after_s=0.001)
    bench.kafka.write_requests(1)
    async with run_consumer(bench.create_consumer(backoff_s=60)):
        await wait_until(lambda: len(bench.begun) >= 3)
        del bench.failures[0]


async def test_the_work_of_a_record_has_the_trace_of_its_header(bench: Bench) -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    seen: list[str] = []

    async def handle_record(_record: IncomingRecord) -> None:
        seen.append(get_or_create_traceparent())

    bench.handle_record = handle_record  # type: ignore[method-assign,assignment]  # this test's handler
    bench.kafka.write_requests(1, headers=(("traceparent", trace.encode()),))
    async with run_consumer(bench.create_consumer()):
        await wait_until(lambda: bench.kafka.committed_offsets() == {1})
    assert seen == [trace]


async def test_work_on_a_lost_partition_is_cancelled_before_the_group_is_joined_again(bench: Bench) -> None:
    bench.gates[0] = asyncio.Event()
    bench.kafka.who_notices = "heartbeat after the commit"
    bench.kafka.forgets_after_join = 1
    bench.kafka.write_requests(2)
    async with run_consumer(bench.create_consumer()):
        await wait_until(lambda: bench.kafka.joins == 2)
        assert bench.cancelled == [0]
        # The other key is handled again first: the gate decides the order, and not which fetch comes when.
        await wait_until(lambda: bench.handled == [1, 1])
        bench.gates[0].set()
        await wait_until(lambda: bench.kafka.committed_offsets() == {2})
    assert bench.handled == [1, 1, 0]
