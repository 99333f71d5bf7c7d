"""Connection events, results and the API around real tables: a bench with a clock that the test moves."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import asyncpg

from mailroom_common.events import (
    Access,
    ConnectionEvent,
    ConnectionKind,
    DocSource,
    DocSourceState,
    IngestionResult,
    Profile,
    ResultStatus,
)
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.outbox import Outbox
from mailroom_common.topics import CONNECTION_EVENTS, INGESTION_RESULTS
from sync_engine.adapters.connection_events import PgConnectionEvents
from sync_engine.adapters.ingestion_states import PgIngestionStates
from sync_engine.adapters.messages import PgMessages
from sync_engine.adapters.source_deletions import PgSourceDeletions
from sync_engine.adapters.sync_states import PgSyncStates
from sync_engine.handlers.record_results import RecordResults

START = datetime(2026, 3, 2, 12, 0, tzinfo=UTC)


@dataclass
class Bench:
    pool: asyncpg.Pool
    codec: Codec
    now: datetime = START

    def __post_init__(self) -> None:
        outbox = Outbox("sync_engine", self.codec)
        self.states = PgSyncStates(self.pool, lambda: self.now)
        ingestion_states = PgIngestionStates(self.pool, app_name="notes", stuck_timeout=timedelta(hours=1))
        self.deletions = PgSourceDeletions(self.pool, outbox, lambda: self.now, ingestion_states)
        self.connections = PgConnectionEvents(self.pool, outbox, lambda: self.now)
        self.recorder = RecordResults(PgMessages(self.pool, ingestion_states))

    def pass_by(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    async def read_outbox(self, source: DocSource) -> list[ConnectionEvent]:
        rows = await self.pool.fetch(
            "select value from sync_engine.outbox where key = $1 order by id", source.doc_source_id
        )
        events = [self.codec.decode(CONNECTION_EVENTS, row["value"]) for row in rows]
        return [event for event in events if isinstance(event, ConnectionEvent)]

    async def kinds(self, source: DocSource) -> list[ConnectionKind]:
        return [event.kind for event in await self.read_outbox(source)]

    async def message(self, source: DocSource, message_id: str, *stored: str, skipped: int = 0) -> None:
        """A message with these parts stored, and so many skipped."""
        await self.pool.execute(
            "insert into sync_engine.message (doc_source_id, message_id, tenant_id, state, subject, sender_address) "
            "values ($1, $2, $3, $4, 'Invoice 7', 'billing@supplier.example')",
            source.doc_source_id,
            message_id,
            source.tenant_id,
            "open" if stored else "closed",
        )
        rows = [(attachment_id, None) for attachment_id in stored] + [(None, "inline_picture")] * skipped
        for position, (attachment_id, reason) in enumerate(rows):
            await self.pool.execute(
                "insert into sync_engine.message_part (doc_source_id, message_id, part_path, position, stored, "
                "skip_reason, attachment_id, filename, content_type, size_bytes, content_sha256) "
                "values ($1, $2, $3, $4, $5, $6, $7, 'a.pdf', 'application/pdf', 10, 'ab')",
                source.doc_source_id,
                message_id,
                str(position),
                position,
                attachment_id is not None,
                reason,
                attachment_id,
            )

    async def result(
        self, attachment_id: str, status: ResultStatus = ResultStatus.COMPLETED, at: datetime = START
    ) -> None:
        event = IngestionResult(
            event_id=str(uuid4()),
            occurred_at=at,
            tenant_id="acme",
            doc_source_id="s",
            attachment_id=attachment_id,
            document_id=attachment_id,
            status=status,
        )
        await self.recorder.handle_record(
            IncomingRecord(INGESTION_RESULTS, 0, 0, START, event.document_id, b"", {}, event),
        )

    async def state(self, source: DocSource, message_id: str) -> str | None:
        state: str | None = await self.pool.fetchval(
            "select state from sync_engine.message where doc_source_id = $1 and message_id = $2",
            source.doc_source_id,
            message_id,
        )
        return state


def source(tenant_id: str = "acme", state: DocSourceState = DocSourceState.ACTIVE, version: int = 1) -> DocSource:
    return DocSource(
        event_id=str(uuid4()),
        occurred_at=START,
        tenant_id=tenant_id,
        doc_source_id=str(uuid4()),
        version=version,
        provider="outlook",
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        state=state,
        grant_generation=3,
    )


async def known(bench: Bench, *, tenant_id: str = "acme", state: DocSourceState = DocSourceState.ACTIVE) -> DocSource:
    found = source(tenant_id, state)
    await bench.states.raise_version_and_read_state(found)
    return found
