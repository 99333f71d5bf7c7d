"""The directory on real Kafka: loads from 0, follows, and catches up when asked."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from kafka_site import KafkaSite

from mailroom_common.events import Access, DocSource, DocSourceState, Profile
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.directory import DocSourceDirectory
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.kafka.security import UNSECURED, KafkaSecurity
from mailroom_common.topics import DOC_SOURCES

pytestmark = pytest.mark.stack

Eventually = Callable[..., Awaitable[None]]


@dataclass(frozen=True)
class Elsewhere:
    kafka_bootstrap: str
    topic_prefix: str = ""
    kafka_security: KafkaSecurity = UNSECURED


def source(number: int, version: int = 1) -> DocSource:
    return DocSource(
        event_id="e",
        occurred_at=datetime(2026, 11, 28, tzinfo=UTC),
        tenant_id="acme",
        doc_source_id=f"ds-{number}",
        version=version,
        provider="outlook",
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        state=DocSourceState.ACTIVE,
    )


@pytest.fixture
async def producer(site: KafkaSite) -> AsyncIterator[EventProducer]:
    async with EventProducer(site, Codec(), client_id="test") as producer:
        yield producer


@asynccontextmanager
async def followed(site: KafkaSite) -> AsyncIterator[DocSourceDirectory]:
    directory = DocSourceDirectory(site, Codec())
    stopping = asyncio.Event()
    assert directory.check_readiness() is not None
    await directory.load_sources()
    following = asyncio.create_task(directory.follow_topic(stopping))
    try:
        yield directory
    finally:
        stopping.set()
        await following


async def test_what_was_written_before_the_load_is_there_after_it(site: KafkaSite, producer: EventProducer) -> None:
    for number in range(20):
        await producer.send_event(DOC_SOURCES, f"ds-{number}", source(number))
    await producer.send_event(DOC_SOURCES, "ds-3", source(3, version=7))
    await producer.send_event(DOC_SOURCES, "ds-4", None, headers={"version": "2"})
    await site.write_raw(DOC_SOURCES.name, [(b"ds-99", b"garbage")])

    async with followed(site) as directory:
        assert directory.check_readiness() is None
        assert len(directory) == 19
        assert directory.get_source("ds-3") == source(3, version=7)
        assert directory.get_source("ds-4") is None


async def test_catch_up_has_read_everything_that_was_acknowledged_before_it(
    site: KafkaSite, producer: EventProducer
) -> None:
    async with followed(site) as directory:
        for number in range(20):
            await producer.send_event(DOC_SOURCES, f"ds-{number}", source(number))
            assert await directory.catch_up(5.0)
            assert directory.get_source(f"ds-{number}") == source(number)


async def test_many_who_catch_up_at_once_ask_kafka_few_questions(
    site: KafkaSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with followed(site) as directory:
        asked = 0
        consumer = directory._reader._consumer
        assert consumer is not None
        real = consumer.end_offsets

        async def counted(partitions: Any) -> Any:
            nonlocal asked
            asked += 1
            return await real(partitions)

        monkeypatch.setattr(consumer, "end_offsets", counted)
        caught_up = await asyncio.gather(*(directory.catch_up(5.0) for _ in range(200)))

    assert all(caught_up)
    assert asked <= 2


async def test_catch_up_gives_up_in_time(site: KafkaSite) -> None:
    directory = DocSourceDirectory(Elsewhere("127.0.0.1:1"), Codec())
    started = asyncio.get_running_loop().time()

    assert not await directory.catch_up(0.3)

    # Far more than asked for, since the machine may be busy, and far less than a client waits for Kafka by itself.
    assert asyncio.get_running_loop().time() - started < 5.0


async def test_every_listener_hears_of_every_change(
    site: KafkaSite, producer: EventProducer, eventually: Eventually
) -> None:
    heard: list[tuple[str, DocSource | None]] = []
    async with followed(site) as directory:
        directory.on_change(lambda key, found: heard.append((key, found)))
        await producer.send_event(DOC_SOURCES, "ds-1", source(1))
        await producer.send_event(DOC_SOURCES, "ds-1", replace(source(1, version=2), state=DocSourceState.PAUSED))
        await producer.send_event(DOC_SOURCES, "ds-1", None, headers={"version": "3"})
        await eventually(lambda: len(heard) == 3)

    assert [found.state if found else None for _, found in heard] == ["active", "paused", None]
