"""NOTIFY wakes; what is missed while the connection is away is made good."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from ingestion.adapters.notify_listener import NotifyListener
from ingestion.ports.events import Channel

DUE, NUMBERED = Channel.DOCUMENT_DUE, Channel.EVENT_NUMBERED

pytestmark = pytest.mark.stack


@pytest.fixture
async def listener(pool: asyncpg.Pool, postgres_url: str) -> AsyncIterator[NotifyListener]:
    heard, stopping = NotifyListener(postgres_url, list(Channel), application_name="test-listener"), asyncio.Event()
    running = asyncio.create_task(heard.run_listener(stopping))
    await heard.wait_for_signal(DUE, beyond=0, timeout_s=10)  # it wakes everybody once it listens
    yield heard
    stopping.set()
    await asyncio.wait_for(running, 10)


async def test_a_notify_wakes_those_who_wait_for_its_channel(listener: NotifyListener, pool: asyncpg.Pool) -> None:
    a, b = listener.count_signals(DUE), listener.count_signals(NUMBERED)
    waiting = asyncio.create_task(listener.wait_for_signal(DUE, beyond=a, timeout_s=10))
    await pool.execute("select pg_notify($1, '')", DUE)
    await asyncio.wait_for(waiting, 5)
    assert listener.count_signals(DUE) == a + 1
    assert listener.count_signals(NUMBERED) == b


async def test_a_notify_between_look_and_wait_is_not_lost(listener: NotifyListener, pool: asyncpg.Pool) -> None:
    before = listener.count_signals(DUE)
    # Heard while nobody waits: a wait for the same channel shows that it was.
    await pool.execute("select pg_notify($1, '')", DUE)
    await listener.wait_for_signal(DUE, beyond=before, timeout_s=10)
    await asyncio.wait_for(listener.wait_for_signal(DUE, beyond=before, timeout_s=10), 5)
    assert listener.count_signals(DUE) == before + 1


async def test_a_wait_ends_when_its_time_is_up(listener: NotifyListener) -> None:
    before = listener.count_signals(DUE)
    await asyncio.wait_for(listener.wait_for_signal(DUE, beyond=before, timeout_s=0.05), 5)
    assert listener.count_signals(DUE) == before


async def test_everybody_is_woken_when_a_lost_connection_is_back(listener: NotifyListener, pool: asyncpg.Pool) -> None:
    before = listener.count_signals(NUMBERED)
    killed = await pool.fetchval(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'test-listener'"
    )
    assert killed == 1
    await asyncio.wait_for(listener.wait_for_signal(NUMBERED, beyond=before, timeout_s=20), 20)
    assert listener.count_signals(NUMBERED) > before
    again = listener.count_signals(NUMBERED)
    await pool.execute("select pg_notify($1, '')", NUMBERED)
    await asyncio.wait_for(listener.wait_for_signal(NUMBERED, beyond=again, timeout_s=10), 5)
    assert listener.count_signals(NUMBERED) > again
