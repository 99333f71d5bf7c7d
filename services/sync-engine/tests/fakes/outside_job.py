"""The outside job, by the statements that docs/backstop-contract.md gives it."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import asyncpg

APP_NAME = "pad_contract_notes"
STUCK_TIMEOUT = timedelta(hours=1)
_PAGE = (Path(__file__).parents[4] / "docs/backstop-contract.md").read_text()
_STATEMENTS = dict(re.findall(r"```sql\n-- (\w+)\n(.*?)```", _PAGE, re.DOTALL))


@dataclass(frozen=True, slots=True)
class OutsideJob:
    pool: asyncpg.Pool
    worker: str = "outside-1"

    async def claim(self, message_id: str) -> bool:
        row = await self.pool.fetchval(
            _STATEMENTS["claim"],
            APP_NAME,
            message_id,
            "notes@acme.example",
            "broker@bank.example",
            datetime.now(UTC),
            "Contract note",
            self.worker,
            STUCK_TIMEOUT,
        )
        return row is not None

    async def is_done(self, message_id: str) -> bool:
        return await self._run("check", message_id)

    async def renew(self, message_id: str) -> bool:
        return await self._run("renew", message_id, self.worker)

    async def mark_success(
        self, message_id: str, *, attachments: int = 1, trades: int = 1, archive_paths: list[str] | None = None
    ) -> bool:
        return await self._run("success", message_id, self.worker, attachments, trades, archive_paths)

    async def mark_failure(self, message_id: str, reason: str = "no text layer") -> bool:
        return await self._run("failure", message_id, self.worker, reason)

    async def _run(self, name: str, message_id: str, *values: object) -> bool:
        return await self.pool.fetchval(_STATEMENTS[name], APP_NAME, message_id, *values) is not None


async def age_claim(pool: asyncpg.Pool, message_id: str, age: timedelta) -> None:
    await pool.execute(
        "update bo_airflow.email_ingestion_state set updated_at = now() - $2::interval where message_id = $1",
        message_id,
        age,
    )


async def read_state(pool: asyncpg.Pool, message_id: str) -> asyncpg.Record:
    row = await pool.fetchrow("select * from bo_airflow.email_ingestion_state where message_id = $1", message_id)
    assert row is not None, f"no row of {message_id}"
    return row
