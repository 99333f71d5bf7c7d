"""NOTIFY wakes; what is missed while the connection is away is made good."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from ingestion.adapters.wakeups import Wakeups

pytestmark = pytest.mark.stack


@pytest.fixture
async def wakeups(pool: asyncpg.Pool, postgres_url: str) -> AsyncIterator[Wakeups]:
    heard, stopping = Wakeups(postgres_url, ["a", "b"], application_name="test-wakeups"), asyncio.Event()
    running = asyncio.create_task(heard.run(stopping))
    await heard.wait("a", beyond=0, timeout_s=10)  # it wakes everybody once it listens
    yield heard
    stopping.set()
    await asyncio.wait_for(running, 10)


async def test_a_notification_wakes_those_who_wait_for_its_channel(wakeups: Wakeups, pool: asyncpg.Pool) -> None:
    a, b = wakeups.count("a"), wakeups.count("b")
    waiting = asyncio.create_task(wakeups.wait("a", beyond=a, timeout_s=10))
    await pool.execute("select pg_notify('a', '')")
    await asyncio.wait_for(waiting, 5)
    assert wakeups.count("a") == a + 1
    assert wakeups.count("b") == b


async def test_a_notification_between_look_and_wait_is_not_lost(wakeups: Wakeups, pool: asyncpg.Pool) -> None:
    before = wakeups.count("a")
    # Heard while nobody waits: a wait for the same channel shows that it was.
    await pool.execute("select pg_notify('a', '')")
    await wakeups.wait("a", beyond=before, timeout_s=10)
    await asyncio.wait_for(wakeups.wait("a", beyond=before, timeout_s=10), 5)
    assert wakeups.count("a") == before + 1


async def test_a_wait_ends_when_its_time_is_up(wakeups: Wakeups) -> None:
    before = wakeups.count("a")
    await asyncio.wait_for(wakeups.wait("a", beyond=before, timeout_s=0.05), 5)
    assert wakeups.count("a") == before


async def test_everybody_is_woken_when_a_lost_connection_is_back(wakeups: Wakeups, pool: asyncpg.Pool) -> None:
    before = wakeups.count("b")
    killed = await pool.fetchval(
        "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'test-wakeups'"
    )
    assert killed == 1
    await asyncio.wait_for(wakeups.wait("b", beyond=before, timeout_s=20), 20)
    assert wakeups.count("b") > before
    again = wakeups.count("b")
    await pool.execute("select pg_notify('b', '')")
    await asyncio.wait_for(wakeups.wait("b", beyond=again, timeout_s=10), 5)
    assert wakeups.count("b") > again
