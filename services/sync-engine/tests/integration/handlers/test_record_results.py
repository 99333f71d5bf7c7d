"""Results close messages."""

from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import pytest
from migrated_databases import migrate_once
from reports_bench import START, Bench, known

from mailroom_common.events import (
    ResultStatus,
)
from mailroom_common.kafka.codec import Codec
from mailroom_common.postgres import open_pool

pytestmark = pytest.mark.stack


@pytest.fixture
async def bench(postgres_url: str) -> AsyncIterator[Bench]:
    await migrate_once(postgres_url, "sync_engine")
    async with open_pool(postgres_url, application_name="test", max_size=4) as pool:
        yield Bench(pool, Codec())


def key(tenant: str) -> dict[str, str]:
    return {"Authorization": f"Bearer key-{tenant}"}


async def test_a_message_is_closed_when_each_collected_part_has_a_result(bench: Bench) -> None:
    s = await known(bench)
    a, b = str(uuid4()), str(uuid4())
    await bench.message(s, "m", a, b, skipped=1)
    await bench.result(a)
    assert await bench.state(s, "m") == "open"
    await bench.result(b, ResultStatus.FAILED)
    assert await bench.state(s, "m") == "closed"


@pytest.mark.parametrize("status", [ResultStatus.PENDING, ResultStatus.PROCESSING])
async def test_what_is_not_final_closes_nothing(bench: Bench, status: ResultStatus) -> None:
    s = await known(bench)
    a = str(uuid4())
    await bench.message(s, "m", a)
    await bench.result(a, status)
    assert await bench.state(s, "m") == "open"


async def test_a_repeated_result_changes_nothing_and_an_older_one_does_not_overwrite(bench: Bench) -> None:
    s = await known(bench)
    a = str(uuid4())
    await bench.message(s, "m", a)
    await bench.result(a, ResultStatus.NEEDS_REVIEW, START)
    closed_at = await bench.pool.fetchval(
        "select closed_at from sync_engine.message where message_id = 'm' and doc_source_id = $1", s.doc_source_id
    )
    await bench.result(a, ResultStatus.COMPLETED, START + timedelta(hours=1))
    await bench.result(a, ResultStatus.NEEDS_REVIEW, START)
    row = await bench.pool.fetchrow(
        "select p.result_status, m.closed_at from sync_engine.message_part p "
        "join sync_engine.message m using (doc_source_id, message_id) where attachment_id = $1",
        a,
    )
    assert row
    assert (row["result_status"], row["closed_at"]) == ("completed", closed_at)


async def test_a_result_of_no_mail_is_passed_over(bench: Bench) -> None:
    await bench.result(str(uuid4()))
    assert await bench.pool.fetchval("select count(*) from sync_engine.message where closed_at > now()") == 0
