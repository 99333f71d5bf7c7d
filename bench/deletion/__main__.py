"""How long other doc sources wait for their pause or deletion while one with a million messages is deleted.

    python bench/deletion [--messages 1000000] [--others 40]

A Postgres of its own, which writes to disk as a site's does, and the code that applies `doc-sources` in a worker. Each
message of the big source has one stored part; the others have 50 messages each. Half of them are paused and half
deleted, one after the other, while the big deletion is under way. Ends with 1 where that was over too early to tell.
"""

import argparse
import asyncio
import os
import secrets
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import quantiles
from time import monotonic
from uuid import uuid4

import asyncpg

from mailroom_common.events import Access, DocSource, DocSourceState, Profile
from mailroom_common.kafka.codec import Codec
from mailroom_common.migrations import apply_migrations
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import open_pool
from mailroom_sandbox.site.stack.ports import free_port
from mailroom_sandbox.site.stack.postgres import Postgres
from sync_engine.adapters.ingestion_states import PgIngestionStates
from sync_engine.adapters.repositories import open_repositories
from sync_engine.handlers.apply_source_states import ApplySourceStates

ROWS_AT_ONCE = 50_000
MESSAGES_OF_OTHERS = 50
POLL_S = 0.005

_INSERT = """
with added as (
    insert into sync_engine.message (doc_source_id, message_id, tenant_id, state, subject, sender_address, received_at)
    select $1, md5(concat($1::text, n)), 'bench', 'closed', 'Invoice ' || n, 'billing@supplier.example', now()
    from generate_series($2::int, $3::int) n returning message_id
)
insert into sync_engine.message_part (
    doc_source_id, message_id, part_path, position, stored, attachment_id, filename, content_type, size_bytes,
    content_sha256, blob_key, document_id, result_status, result_occurred_at)
select $1, message_id, '1', 0, true, concat($1::text, message_id), 'invoice.pdf', 'application/pdf', 80000,
       md5(message_id), 'documents/' || message_id || '.pdf', gen_random_uuid()::text, 'completed', now()
from added
"""
_COUNT = "select count(*) from sync_engine.message where doc_source_id = $1"
_IS_APPLIED = """
select case when $2 = 'paused' then source_state = 'paused' else forgotten_version is not null end
from sync_engine.sync_state where doc_source_id = $1
"""


def build_source(state: DocSourceState) -> DocSource:
    return DocSource(
        event_id=str(uuid4()),
        occurred_at=datetime.now(UTC),
        tenant_id="bench",
        doc_source_id=str(uuid4()),
        version=1,
        provider="outlook",
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        state=state,
    )


@dataclass(frozen=True, slots=True)
class Bench:
    pool: asyncpg.Pool
    states: ApplySourceStates

    async def insert_messages(self, source: DocSource, count: int) -> None:
        for first in range(1, count + 1, ROWS_AT_ONCE):
            last = min(first + ROWS_AT_ONCE - 1, count)
            await self.pool.execute(_INSERT, source.doc_source_id, first, last)

    async def count_messages(self, source: DocSource) -> int:
        return int(await self.pool.fetchval(_COUNT, source.doc_source_id))

    async def apply_and_wait(self, source: DocSource) -> float:
        """Seconds from when the directory has read the source until the tables have it."""
        started = monotonic()
        self.states.on_source_change(source.doc_source_id, source)
        while not await self.pool.fetchval(_IS_APPLIED, source.doc_source_id, str(source.state)):  # noqa: ASYNC110  # tables have no event
            await asyncio.sleep(POLL_S)
        return monotonic() - started


@asynccontextmanager
async def open_bench(folder: Path) -> AsyncIterator[Bench]:
    password = secrets.token_urlsafe(16)
    postgres = Postgres(folder / "postgres", port=free_port(), password=password, log=folder / "postgres.log")
    postgres.start()
    try:
        await postgres.wait_until_ready()
        await apply_migrations(postgres.server_url, only=["sync_engine"])
        async with open_pool(postgres.server_url, application_name="bench") as pool:
            claims = PgIngestionStates(pool, app_name="bench", stuck_timeout=timedelta(hours=1))
            repositories = open_repositories(pool, Outbox("sync_engine", Codec()), lambda: datetime.now(UTC), claims)
            states = ApplySourceStates(repositories.states, repositories.deletions)
            applying = asyncio.create_task(states.apply_changes())
            yield Bench(pool, states)
            applying.cancel()
            await asyncio.gather(applying, return_exceptions=True)
    finally:
        await postgres.stop()


async def measure(bench: Bench, messages: int, others: int) -> bool:
    """False where the big deletion was over before the others were."""
    big = build_source(DocSourceState.DELETING)
    small = [build_source((DocSourceState.PAUSED, DocSourceState.DELETING)[number % 2]) for number in range(others)]
    await bench.insert_messages(big, messages)
    for source in small:
        await bench.insert_messages(source, MESSAGES_OF_OTHERS)
    await bench.pool.execute("analyze sync_engine.message, sync_engine.message_part")
    deleting = asyncio.create_task(bench.apply_and_wait(big))
    while not deleting.done() and await bench.count_messages(big) == messages:  # noqa: ASYNC110  # tables have no event
        await asyncio.sleep(POLL_S)  # until it is at its batches
    waits: dict[DocSourceState, list[float]] = {DocSourceState.PAUSED: [], DocSourceState.DELETING: []}
    for source in small:
        waits[source.state].append(await bench.apply_and_wait(source))
    was_under_way = not deleting.done()
    took_s = await deleting
    left = await bench.count_messages(big)
    print(f"{messages:,} messages and as many parts deleted in {took_s:.0f} s, {left} left")
    for state, seconds in waits.items():
        cuts = quantiles(seconds, n=20, method="inclusive")
        print(f"{state} meanwhile: {len(seconds)}, p50 {cuts[9] * 1000:.0f} ms, p95 {cuts[18] * 1000:.0f} ms")
    print(f"load average {os.getloadavg()[0]:.1f}")
    return was_under_way and left == 0


async def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--others", type=int, default=40)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mailroom-deletion-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # noqa: ASYNC240  # Postgres may have to run as nobody, who must be able to come here
        async with open_bench(folder) as bench:
            return 0 if await measure(bench, options.messages, options.others) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
