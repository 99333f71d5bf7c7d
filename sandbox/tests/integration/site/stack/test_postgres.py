"""Postgres on a folder: stopped in order, killed, started again, and what it kept."""

from pathlib import Path

import asyncpg
import pytest

from mailroom_sandbox.site.stack.ports import free_port
from mailroom_sandbox.site.stack.postgres import DATABASE, Postgres


@pytest.fixture
def open_folder(tmp_path: Path) -> Path:
    """One that nobody may look into, whom Postgres may have to run as."""
    for folder in (tmp_path, *tmp_path.parents[:2]):
        folder.chmod(0o755)
    return tmp_path


async def test_postgres_keeps_committed_rows_over_a_stop_and_a_kill(open_folder: Path) -> None:
    first = await _postgres(open_folder)
    await _run(first.url, "create table kept as select 1 as n")
    assert await first.stop(), "SIGINT ends it in order, whoever is connected"
    second = await _postgres(open_folder)
    await _run(second.url, "insert into kept values (2)")
    second.child.kill_process()
    await second.child.wait_for_exit()
    third = await _postgres(open_folder)
    connection = await asyncpg.connect(third.url)
    assert [row["n"] for row in await connection.fetch("select n from kept order by n")] == [1, 2]
    assert await third.stop(), "an open connection does not hold it"


async def test_postgres_takes_nobody_without_the_password(open_folder: Path) -> None:
    postgres = await _postgres(open_folder)
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(postgres.url.replace("secret", "guess"), database=DATABASE)
    assert await postgres.stop()


async def _postgres(folder: Path) -> Postgres:
    postgres = Postgres(folder / "postgres", port=free_port(), password="secret", log=folder / "postgres.log")
    postgres.start()
    await postgres.wait_until_ready()
    return postgres


async def _run(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(statement)
    await connection.close()
