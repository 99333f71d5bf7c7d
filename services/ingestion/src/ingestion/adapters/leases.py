"""Claims in Postgres: `for update skip locked`, a token that only its holder knows, an end that others see."""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import asyncpg

from ingestion.adapters.channels import WORK
from ingestion.adapters.intakes import add_event
from ingestion.domain.document import Attachment, AttachmentId, DocumentId, Lease, Outcome
from ingestion.domain.events import result_of
from mailroom_common.events import Profile
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction
from mailroom_common.topics import INGESTION_RESULTS

# A document that somebody works on is claimable again when its lease has ended: that is what a crash leaves behind.
_CLAIM = """
    update ingestion.document
    set status = 'processing', lease_token = $1, next_attempt_at = now() + $2::interval, attempts = attempts + 1,
        updated_at = now()
    where document_id = (
        select document_id from ingestion.document
        where status in ('pending', 'processing') and next_attempt_at <= now()
        order by next_attempt_at
        limit 1
        for update skip locked
    )
    returning *
"""
_FIRST_INTAKE = "select * from ingestion.intake where attachment_id = $1"
_INTAKES = "select * from ingestion.intake where document_id = $1 order by seq"
_RENEW = """
    update ingestion.document set next_attempt_at = now() + $3::interval
    where document_id = $1 and lease_token = $2
    returning document_id
"""
_LOCK_HELD = "select document_id from ingestion.document where document_id = $1 and lease_token = $2 for update"
_FINISH = """
    update ingestion.document
    set status = $2, skip_reason = $3, review_reason = $4, document_type = $5, extraction = $6, confidence = $7,
        reader = $8, classification = $9, archive_path = $10, lease_token = null, next_attempt_at = null,
        last_error = null, updated_at = now()
    where document_id = $1
    returning *
"""
_PUT_BACK = """
    update ingestion.document
    set status = 'pending', lease_token = null, next_attempt_at = $3, last_error = $4, attempts = attempts - $5,
        updated_at = now()
    where document_id = $1 and lease_token = $2
    returning document_id
"""
_RESERVE = "update ingestion.document set archive_path = $3 where document_id = $1 and lease_token = $2 returning 1"
_NEXT_DUE = """
    select extract(epoch from min(next_attempt_at) - now())::double precision
    from ingestion.document where status in ('pending', 'processing')
"""


class PgLeases:
    def __init__(self, pool: asyncpg.Pool, outbox: Outbox, *, length: timedelta, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._outbox = outbox
        self._length = length
        self._clock = clock

    async def claim(self) -> Lease | None:
        async with open_transaction(self._pool) as conn:
            token = uuid4()
            document = await conn.fetchrow(_CLAIM, token, self._length)
            if document is None:
                return None
            first = await conn.fetchrow(_FIRST_INTAKE, document["document_id"])
            return Lease(
                document_id=DocumentId(document["document_id"]),
                token=token,
                attempt=document["attempts"],
                tenant_id=document["tenant_id"],
                doc_source_id=document["doc_source_id"],
                profile=Profile(document["profile"]),
                content_sha256=document["content_sha256"],
                content_type=document["content_type"],
                blob_key=document["blob_key"],
                first=_attachment(first),
            )

    async def due_in_s(self) -> float | None:
        """Seconds until a document may be claimed; None when none waits."""
        async with acquire_session(self._pool) as conn:
            seconds: float | None = await conn.fetchval(_NEXT_DUE)
            return seconds

    async def renew(self, lease: Lease) -> bool:
        async with acquire_session(self._pool) as conn:
            return await conn.fetchval(_RENEW, lease.document_id, lease.token, self._length) is not None

    async def finish(self, lease: Lease, outcome: Outcome) -> bool:
        async with open_transaction(self._pool) as conn:
            # Locked before the intakes are read: one that is taken in meanwhile waits, and then finds the document
            # final. So no attachment is left without a result.
            if await conn.fetchval(_LOCK_HELD, lease.document_id, lease.token) is None:
                return False
            document = await conn.fetchrow(
                _FINISH,
                lease.document_id,
                outcome.status.value,
                outcome.skip_reason,
                outcome.review_reason,
                outcome.document_type,
                None if outcome.extraction is None else dict(outcome.extraction),
                outcome.confidence,
                outcome.reader,
                {"document_type": outcome.document_type, "confidence": outcome.confidence},
                outcome.archive_path,
            )
            for intake in await conn.fetch(_INTAKES, lease.document_id):
                await self._add_result(conn, lease, outcome, intake)
            await add_event(conn, document)
            return True

    async def _add_result(self, conn: DatabaseSession, lease: Lease, outcome: Outcome, intake: Any) -> None:
        event = result_of(
            attachment_id=AttachmentId(intake["attachment_id"]),
            document_id=lease.document_id,
            message_id=intake["message_id"],
            tenant_id=intake["tenant_id"],
            doc_source_id=intake["doc_source_id"],
            outcome=outcome,
            attempt=lease.attempt,
            occurred_at=self._clock(),
        )
        await self._outbox.append_record(conn, INGESTION_RESULTS, lease.document_id, event, aggregate=lease.document_id)

    async def put_back(self, lease: Lease, *, not_before: datetime, error: str, counts: bool) -> bool:
        async with open_transaction(self._pool) as conn:
            changed = await conn.fetchval(
                _PUT_BACK, lease.document_id, lease.token, not_before, error[:500], 0 if counts else 1
            )
            # Workers may be asleep until something else is due.
            await conn.execute("select pg_notify($1, '')", WORK)
            return changed is not None

    async def reserve_archive_path(self, lease: Lease, paths: Iterable[str]) -> str | None:
        async with acquire_session(self._pool) as conn:
            for path in paths:
                try:
                    if await conn.fetchval(_RESERVE, lease.document_id, lease.token, path) is not None:
                        return path
                except asyncpg.UniqueViolationError:
                    continue  # another document's copy has this name
                return None
        return None


def _attachment(row: Any) -> Attachment:
    return Attachment(
        attachment_id=AttachmentId(row["attachment_id"]),
        tenant_id=row["tenant_id"],
        doc_source_id=row["doc_source_id"],
        provider=row["provider"],
        message_id=row["message_id"],
        internet_message_id=row["internet_message_id"],
        part_path=row["part_path"],
        filename=row["filename"],
        content_type=row["content_type"],
        size_bytes=row["size_bytes"],
        blob_key=row["blob_key"],
        sender=row["sender"],
        subject=row["subject"],
        received_at=row["received_at"],
        folder=row["folder"],
    )
