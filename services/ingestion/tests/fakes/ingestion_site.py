"""Ingestion's adapters on a real database, without its processes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg

from ingestion.adapters.document_events import PgEventLog
from ingestion.adapters.intakes import PgIntakeStore
from ingestion.adapters.leases import PgDocumentLeases
from ingestion.adapters.rereads import PgRereads
from ingestion.adapters.reviews import PgReviews
from ingestion.domain.document import DocumentLease, DocumentOutcome
from ingestion.domain.review import Review, ReviewAction
from mailroom_common.blobs import BlobStore, open_blob_store
from mailroom_common.events import IngestionResult, ResultStatus
from mailroom_common.kafka.codec import Codec
from mailroom_common.outbox import Outbox
from mailroom_common.settings import BlobSettings
from mailroom_common.topics import INGESTION_RESULTS

SCHEMA = "ingestion"
DONE = DocumentOutcome(
    status=ResultStatus.COMPLETED, document_type="invoice", extraction={"invoice_number": "1"}, confidence=0.9
)


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Ingestion:
    pool: asyncpg.Pool
    blobs: BlobStore
    codec: Codec
    intakes: PgIntakeStore
    leases: PgDocumentLeases
    events: PgEventLog
    rereads: PgRereads

    async def results(self) -> list[IngestionResult]:
        """What the outbox holds, in order."""
        rows = await self.pool.fetch("select value from ingestion.outbox order by id")
        found: list[Any] = [self.codec.decode(INGESTION_RESULTS, row["value"]) for row in rows]
        return found

    async def document(self, document_id: str) -> asyncpg.Record:
        (row,) = await self.pool.fetch("select * from ingestion.document where document_id = $1", document_id)
        return row

    async def decide_document(self, document_id: str, action: ReviewAction, **fields: Any) -> None:
        """A person's decision about the document as it is now."""
        version = (await self.document(document_id))["result_number"]
        reviews = PgReviews(self.pool, Outbox(SCHEMA, self.codec), utc_now)
        review = Review(action=action, version=version, fields=fields, api_key_id="00")
        assert await reviews.decide_document("acme", document_id, review)

    async def claim_document(self) -> DocumentLease:
        lease = await self.leases.claim_document()
        if lease is None:
            raise AssertionError("there is no document to claim")
        return lease

    def other_worker(self, duration: timedelta) -> PgDocumentLeases:
        return PgDocumentLeases(self.pool, Outbox(SCHEMA, self.codec), duration=duration, clock=utc_now)

    async def put_blob(self, key: str, content: bytes) -> str:
        async def once() -> AsyncIterator[bytes]:
            yield content

        await self.blobs.write_blob(key, once(), content_type="application/pdf")
        return sha256(content).hexdigest()


@asynccontextmanager
async def open_ingestion(pool: asyncpg.Pool, blobs: Path) -> AsyncIterator[Ingestion]:
    codec = Codec()
    outbox = Outbox(SCHEMA, codec)
    async with open_blob_store(BlobSettings(blob_url=f"file://{blobs}")) as store:
        yield Ingestion(
            pool,
            store,
            codec,
            PgIntakeStore(pool, outbox, utc_now),
            PgDocumentLeases(pool, outbox, duration=timedelta(seconds=30), clock=utc_now),
            PgEventLog(pool),
            PgRereads(pool),
        )


async def wait_for_blocked_statement(pool: asyncpg.Pool, statement: str, *, sessions: int = 1) -> None:
    """Until so many sessions of this database wait for a lock in a statement that contains `statement`."""
    blocked = (
        "select count(*) from pg_stat_activity "
        "where datname = current_database() and wait_event_type = 'Lock' and position($1 in query) > 0"
    )
    async with asyncio.timeout(10):
        # Postgres tells nobody that a session began to wait.
        while await pool.fetchval(blocked, statement) < sessions:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
