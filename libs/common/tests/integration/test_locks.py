import asyncio
import time

import asyncpg
import pytest

from mailroom_common.errors import Unavailable
from mailroom_common.locks import hold_session_lock

pytestmark = pytest.mark.stack


async def test_second_holder_waits_for_the_first(postgres_url: str) -> None:
    order: list[str] = []

    async def hold(name: str) -> None:
        async with hold_session_lock(postgres_url, "thing", "1", application_name="test"):
            order.append(f"{name} in")
            await asyncio.sleep(0.2)
            order.append(f"{name} out")

    await asyncio.gather(hold("a"), hold("b"))
    assert [step.split()[1] for step in order] == ["in", "out", "in", "out"]


async def test_other_names_are_other_locks(postgres_url: str) -> None:
    async with (
        hold_session_lock(postgres_url, "thing", "1", application_name="test"),
        hold_session_lock(postgres_url, "thing", "2", application_name="test", wait_s=1),
    ):
        pass


async def test_lock_that_cannot_be_had_in_time_is_unavailable(postgres_url: str) -> None:
    async with hold_session_lock(postgres_url, "thing", application_name="test"):
        with pytest.raises(Unavailable):
            async with hold_session_lock(postgres_url, "thing", application_name="test", wait_s=0.2):
                pytest.fail("two holders")


async def test_holder_keeps_its_lock_longer_than_the_lease_by_speaking(postgres_url: str) -> None:
    async with hold_session_lock(postgres_url, "thing", application_name="test", lease_s=3) as held:
        await wait_for_session_older_than(postgres_url, lease_s=3)
        held.require_held()


async def wait_for_session_older_than(postgres_url: str, *, lease_s: int) -> None:
    """Until the holder has spoken to Postgres in a session that is older than its lease."""
    statement = (
        "select exists (select from pg_stat_activity where application_name = 'test'"
        " and query_start - backend_start > make_interval(secs => $1))"
    )
    observer = await asyncpg.connect(postgres_url)
    async with asyncio.timeout(30):
        while not await observer.fetchval(statement, lease_s):  # noqa: ASYNC110  # Postgres has no event for it
            await asyncio.sleep(0.05)
    await observer.close()


async def test_holder_that_cannot_speak_knows_and_another_may_have_it(postgres_url: str) -> None:
    async with hold_session_lock(postgres_url, "thing", application_name="frozen", lease_s=2) as held:
        # What a frozen process does: nothing at all, for longer than the lease.
        time.sleep(3)  # noqa: ASYNC251
        with pytest.raises(Unavailable):
            held.require_held()
        async with hold_session_lock(postgres_url, "thing", application_name="test", wait_s=1):
            pass


async def test_lock_goes_with_its_session(postgres_url: str) -> None:
    async with hold_session_lock(postgres_url, "thing", application_name="ended"):
        killer = await asyncpg.connect(postgres_url)
        await killer.execute("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'ended'")
        await killer.close()
        async with hold_session_lock(postgres_url, "thing", application_name="test", wait_s=2):
            pass
