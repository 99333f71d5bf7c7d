from contextlib import suppress
from urllib.parse import urlsplit

import asyncpg
import pytest

from mailroom_common.errors import Unavailable
from mailroom_common.postgres import acquire_session, open_pool, open_transaction

pytestmark = pytest.mark.stack


async def test_server_that_became_a_standby_is_waited_for_and_its_sessions_are_left(postgres_url: str) -> None:
    """A failover leaves the pool's sessions with a server that takes no writes any more."""
    read_only = f"database {urlsplit(postgres_url).path[1:]} %s default_transaction_read_only"
    primary = await asyncpg.connect(postgres_url)
    await primary.execute("create table written (n int)")
    await primary.execute(f"alter {read_only % 'set'} = on")
    async with open_pool(postgres_url, application_name="test") as pool:
        with pytest.raises(Unavailable, match="ReadOnly"):
            await _write(pool, 1)
        await primary.execute(f"alter {read_only % 'reset'}")
        # The pool replaced the session at once, and that may have been before the end of the failover.
        with suppress(Unavailable):
            await _write(pool, 2)
        await _write(pool, 3)
    assert 3 in await primary.fetchval("select array_agg(n) from written")
    await primary.close()


async def _write(pool: asyncpg.Pool, number: int) -> None:
    async with open_transaction(pool) as conn:
        await conn.execute("insert into written values ($1)", number)


async def test_a_session_that_is_given_back_costs_no_statement(postgres_url: str) -> None:
    server = await asyncpg.connect(postgres_url)
    async with open_pool(postgres_url, application_name="gives back", max_size=1) as pool:
        async with acquire_session(pool) as session:
            await session.fetchval("select 17")
        last = "select query from pg_stat_activity where application_name = 'gives back'"
        assert await server.fetchval(last) == "select 17"
    await server.close()


async def test_a_transaction_that_was_left_open_is_ended_before_its_session_is_used_again(postgres_url: str) -> None:
    async with open_pool(postgres_url, application_name="test", max_size=1) as pool:
        async with acquire_session(pool) as session:
            await session.execute("begin")
            await session.execute("create table never_committed (n int)")
        async with acquire_session(pool) as session:
            assert not session.is_in_transaction()
            assert await session.fetchval("select to_regclass('never_committed')") is None


async def test_password_that_is_being_changed_is_waited_for(postgres_url: str) -> None:
    parts = urlsplit(postgres_url)
    wrong = parts._replace(netloc=f"{parts.username}:old@{parts.hostname}:{parts.port}").geturl()
    with pytest.raises(Unavailable, match="InvalidPassword"):
        async with open_pool(wrong, application_name="test"):
            pass
