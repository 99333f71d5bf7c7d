"""The table shared with an outside job, and the statements of docs/backstop-contract.md run by two claimants."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from uuid import uuid4

import asyncpg
import pytest
from outside_job import APP_NAME, STUCK_TIMEOUT, OutsideJob, age_claim, read_state

from mailroom_common.migrations import apply_migrations, bundled_migrations
from mailroom_common.postgres import open_pool

pytestmark = pytest.mark.stack

# By the contract's own table: type, whether it may be null, default.
CONTRACT = {
    "id": ("bigint", False, "nextval('bo_airflow.email_ingestion_state_id_seq'::regclass)"),
    "app_name": ("character varying(100)", False, None),
    "message_id": ("character varying(255)", False, None),
    "mailbox_email": ("character varying(255)", False, None),
    "sender_email": ("character varying(255)", True, None),
    "received_at": ("timestamp with time zone", True, None),
    "subject": ("text", True, None),
    "status": ("character varying(20)", False, "'processing'::character varying"),
    "error_message": ("text", True, None),
    "attachments_processed": ("integer", False, "0"),
    "trades_extracted": ("integer", False, "0"),
    "archive_gcs_paths": ("jsonb", True, None),
    "worker_id": ("character varying(255)", True, None),
    "created_at": ("timestamp with time zone", False, "now()"),
    "updated_at": ("timestamp with time zone", False, "now()"),
}
# As it is at a site where the outside job was first; the column of its own shows that the table is left alone.
_TABLE_OF_THE_OUTSIDE_JOB = """
create schema bo_airflow;
create table bo_airflow.email_ingestion_state (
    id bigserial primary key, app_name varchar(100) not null, message_id varchar(255) not null,
    mailbox_email varchar(255) not null, sender_email varchar(255), received_at timestamptz, subject text,
    status varchar(20) not null default 'processing', error_message text,
    attachments_processed integer not null default 0, trades_extracted integer not null default 0,
    archive_gcs_paths jsonb, worker_id varchar(255), created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(), constraint unique_app_message unique (app_name, message_id));
insert into bo_airflow.email_ingestion_state (app_name, message_id, mailbox_email) values ('a', 'm', 'x@acme.example')
"""


@pytest.fixture
async def pool(postgres_url: str) -> AsyncIterator[asyncpg.Pool]:
    await apply_migrations(postgres_url, only=["sync_engine"])
    async with open_pool(postgres_url, application_name="tests") as pool:
        yield pool


async def _read_table(pool: asyncpg.Pool) -> dict[str, tuple[str, bool, str | None]]:
    rows = await pool.fetch(
        "select attname, format_type(atttypid, atttypmod) as type, not attnotnull as is_nullable, "
        "pg_get_expr(adbin, adrelid) as default from pg_attribute left join pg_attrdef "
        "on adrelid = attrelid and adnum = attnum "
        "where attrelid = 'bo_airflow.email_ingestion_state'::regclass and attnum > 0 and not attisdropped"
    )
    return {row["attname"]: (row["type"], row["is_nullable"], row["default"]) for row in rows}


async def _list_constraints(pool: asyncpg.Pool) -> dict[str, str]:
    rows = await pool.fetch(
        "select conname, pg_get_constraintdef(oid) as definition from pg_constraint "
        "where conrelid = 'bo_airflow.email_ingestion_state'::regclass and contype <> 'n'"
    )
    return {row["conname"]: row["definition"] for row in rows}


def _read_migration(number: int) -> str:
    (migration,) = (migration for migration in bundled_migrations("sync_engine") if migration.number == number)
    return migration.sql


async def test_the_table_is_that_of_the_contract(pool: asyncpg.Pool) -> None:
    assert await _read_table(pool) == CONTRACT
    assert await _list_constraints(pool) == {
        "email_ingestion_state_pkey": "PRIMARY KEY (id)",
        "unique_app_message": "UNIQUE (app_name, message_id)",
    }


async def test_a_table_that_is_older_than_us_is_left_alone(pool: asyncpg.Pool) -> None:
    await pool.execute("drop schema bo_airflow cascade")
    await pool.execute(_TABLE_OF_THE_OUTSIDE_JOB)
    before = await _read_table(pool), await _list_constraints(pool)
    await _migrate_table(pool)
    assert (await _read_table(pool), await _list_constraints(pool)) == before
    assert await pool.fetchval("select count(*) from bo_airflow.email_ingestion_state") == 1


async def test_rows_of_the_table_that_we_made_first_are_kept(pool: asyncpg.Pool) -> None:
    await pool.execute("drop schema bo_airflow cascade")
    await pool.execute(_first_version())
    await pool.execute(
        "insert into bo_airflow.email_ingestion_state (app_name, message_id, status) "
        "select 'a', n::text, 'failed' from generate_series(1, 3) n"
    )
    await pool.execute(_read_migration(7))
    assert await _read_table(pool) == CONTRACT
    assert await OutsideJob(pool).claim("new"), "its id is none of those that were given"
    ids = await pool.fetch("select id from bo_airflow.email_ingestion_state order by id")
    assert [row["id"] for row in ids] == [1, 2, 3, 4]


def _first_version() -> str:
    return _read_migration(1)[_read_migration(1).index("create schema if not exists bo_airflow") :]


async def _migrate_table(pool: asyncpg.Pool) -> None:
    await pool.execute(_first_version())
    await pool.execute(_read_migration(7))


@pytest.mark.parametrize(("first", "second"), [("mailroom", "outside-1"), ("outside-1", "mailroom")])
async def test_a_live_claim_is_nobody_elses_whoever_came_first(pool: asyncpg.Pool, first: str, second: str) -> None:
    message, owner, other = str(uuid4()), OutsideJob(pool, first), OutsideJob(pool, second)
    assert await owner.claim(message)
    assert not await other.claim(message)
    assert not await owner.is_done(message)
    assert not await other.mark_success(message), "whoever does not own it marks nothing"
    assert await owner.mark_success(message, trades=2, archive_paths=["archive/x.pdf"])
    assert await owner.is_done(message)
    assert not await other.claim(message), "what is done is done"


async def test_of_two_claimants_at_once_each_message_has_one_owner(pool: asyncpg.Pool) -> None:
    messages = [str(uuid4()) for _ in range(50)]
    claims = [(message, OutsideJob(pool, worker)) for message in messages for worker in ("mailroom", "outside-1")]
    won = await asyncio.gather(*(job.claim(message) for message, job in claims))
    owners = [message for (message, _), is_owner in zip(claims, won, strict=True) if is_owner]
    assert sorted(owners) == sorted(messages)


@pytest.mark.parametrize("status", ["failed", "skipped"])
async def test_what_failed_or_was_skipped_has_one_new_owner(pool: asyncpg.Pool, status: str) -> None:
    message, first = str(uuid4()), OutsideJob(pool, "mailroom")
    assert await first.claim(message)
    assert await first.mark_failure(message)
    await pool.execute("update bo_airflow.email_ingestion_state set status = $2 where message_id = $1", message, status)
    won = await asyncio.gather(*(OutsideJob(pool, f"outside-{number}").claim(message) for number in range(5)))
    assert won.count(True) == 1
    row = await read_state(pool, message)
    assert (row["status"], row["error_message"]) == ("processing", None)
    assert row["worker_id"] == f"outside-{won.index(True)}"


async def test_a_stuck_claim_is_taken_over_by_one_and_its_former_owner_marks_nothing(pool: asyncpg.Pool) -> None:
    message, first = str(uuid4()), OutsideJob(pool, "mailroom")
    assert await first.claim(message)
    await age_claim(pool, message, STUCK_TIMEOUT - timedelta(minutes=1))
    assert not await OutsideJob(pool).claim(message)
    await age_claim(pool, message, STUCK_TIMEOUT + timedelta(minutes=1))
    won = await asyncio.gather(*(OutsideJob(pool, f"outside-{number}").claim(message) for number in range(5)))
    assert won.count(True) == 1
    assert not await first.renew(message)
    assert not await first.mark_failure(message)
    assert not await first.mark_success(message)


async def test_a_renewed_claim_is_not_stuck(pool: asyncpg.Pool) -> None:
    message, first = str(uuid4()), OutsideJob(pool, "mailroom")
    assert await first.claim(message)
    await age_claim(pool, message, STUCK_TIMEOUT * 2)
    assert await first.renew(message)
    assert not await OutsideJob(pool).claim(message)


async def test_with_the_claim_of_the_first_contract_a_message_has_two_owners(pool: asyncpg.Pool) -> None:
    message, first = str(uuid4()), OutsideJob(pool, "mailroom")
    assert await first.claim(message)
    row = await pool.fetchval(
        "insert into bo_airflow.email_ingestion_state as state "
        "(app_name, message_id, mailbox_email, status, worker_id) "
        "values ($1, $2, '', 'processing', 'outside-1') on conflict on constraint unique_app_message do update "
        "set status = case when state.status in ('failed', 'skipped') then 'processing' else state.status end, "
        "worker_id = excluded.worker_id, updated_at = now() where state.status <> 'success' returning id",
        APP_NAME,
        message,
    )
    assert row is not None, "which is why the outside job has to take the amended one"
    assert not await first.mark_success(message), "and we mark nothing of theirs"
