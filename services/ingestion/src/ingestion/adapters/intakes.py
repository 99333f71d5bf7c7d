"""Intake in Postgres: a record becomes rows of `intake` and `document`, and a late duplicate emits its result."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import asyncpg

from ingestion.adapters.document_events import append_document_event
from ingestion.adapters.document_results import append_result
from ingestion.domain.document import (
    FINAL_STATUSES,
    AttachmentId,
    DocumentAttachment,
)
from ingestion.domain.lanes import Lane
from ingestion.ports.events import Channel
from ingestion.ports.intake import DuplicateBlob
from mailroom_common.errors import Rejected
from mailroom_common.events import AttachmentStored, ResultStatus
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, acquire_session, open_transaction

_INSERT_DOCUMENT = """
    insert into ingestion.document (document_id, tenant_id, doc_source_id, profile, content_sha256, content_type,
                                    size_bytes, blob_key, source_metadata, is_backfill)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    on conflict do nothing
    returning *
"""
# The lock: either a finisher holds it, and then we see the final state; or it comes after us and reads our intake.
_LOCK_DOCUMENT = "select * from ingestion.document where doc_source_id = $1 and content_sha256 = $2 for no key update"
_MOVE_TO_LIVE_LANE = "update ingestion.document set is_backfill = false where document_id = $1"
_LOCK_KNOWN_DOCUMENT = "select * from ingestion.document where document_id = $1 for no key update"
_INSERT_INTAKE = """
    insert into ingestion.intake (attachment_id, document_id, tenant_id, doc_source_id, provider, message_id,
                                  internet_message_id, part_path, filename, detected_content_type, size_bytes,
                                  uploaded_blob_key, sender_address, subject, received_at, folder)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
    on conflict (attachment_id) do nothing
    returning attachment_id
"""
_FIND_INTAKE = """
    select owner.tenant_id, known.uploaded_blob_key, known.kept_key, known.document_id
    from (select (select tenant_id from ingestion.document where doc_source_id = $2 limit 1) as tenant_id) as owner
    left join (
        select intake.uploaded_blob_key, document.blob_key as kept_key, document_id
        from ingestion.intake join ingestion.document using (document_id)
        where attachment_id = $1
    ) as known on true
"""
# In the transaction that records the duplicate: whoever deletes its blob at once deletes this row too.
_REMEMBER_DUPLICATE = """
    insert into ingestion.undeleted_duplicate (attachment_id, next_attempt_at) values ($1, now() + interval '1 hour')
    on conflict do nothing
"""
_FORGET_DUPLICATE = "delete from ingestion.undeleted_duplicate where attachment_id = $1"
_CLAIM_DUPLICATE = """
    update ingestion.undeleted_duplicate set next_attempt_at = now() + interval '1 day'
    where attachment_id = (
        select attachment_id from ingestion.undeleted_duplicate where next_attempt_at <= now()
        order by next_attempt_at limit 1 for update skip locked)
    returning attachment_id
"""
_COUNT_DUPLICATES = "select count(*) from (select from ingestion.undeleted_duplicate limit $1) as counted"
_FIND_DUPLICATE = """
    select attachment_id, intake.tenant_id, intake.doc_source_id, content_sha256, uploaded_blob_key as key,
           blob_key as kept_key
    from ingestion.intake join ingestion.document using (document_id) where attachment_id = $1
"""


class PgIntakeStore:
    def __init__(self, pool: asyncpg.Pool, outbox: Outbox, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._outbox = outbox
        self._clock = clock

    async def claim_duplicate(self) -> DuplicateBlob | None:
        async with open_transaction(self._pool) as conn:
            attachment_id = await conn.fetchval(_CLAIM_DUPLICATE)
            row = await conn.fetchrow(_FIND_DUPLICATE, attachment_id)
        return None if row is None else DuplicateBlob(**row)

    async def forget_duplicate(self, attachment_id: str) -> None:
        async with acquire_session(self._pool) as conn:
            await conn.execute(_FORGET_DUPLICATE, attachment_id)

    async def count_duplicates(self, *, up_to: int) -> int:
        async with acquire_session(self._pool) as conn:
            count: int = await conn.fetchval(_COUNT_DUPLICATES, up_to)
            return count

    async def record_attachment(self, stored: AttachmentStored, lane: Lane = Lane.LIVE) -> DuplicateBlob | None:
        attachment = build_attachment(stored)
        async with open_transaction(self._pool) as conn:
            known = await conn.fetchrow(_FIND_INTAKE, attachment.attachment_id, stored.doc_source_id)
            assert known is not None  # noqa: S101  # it answers with one row, of nulls where nothing is known
            if known["tenant_id"] not in (None, stored.tenant_id):
                raise Rejected(f"doc source {stored.doc_source_id} belongs to another tenant than its record says")
            if known["kept_key"] is not None:
                # It came before, and all was done but perhaps the removal of its blob, which follows the commit. Its
                # result is published again: where the database was restored, the earlier one may have come to
                # sync-engine before the message that it is for.
                document = await conn.fetchrow(_LOCK_KNOWN_DOCUMENT, known["document_id"])
                if document is not None and ResultStatus(document["status"]) in FINAL_STATUSES:
                    await self._append_result(conn, document, attachment)
                return await _remember_duplicate(conn, stored, known["uploaded_blob_key"], known["kept_key"])
            created = await self._insert_document(conn, stored, attachment, lane)
            document = created or await conn.fetchrow(_LOCK_DOCUMENT, stored.doc_source_id, stored.content_sha256)
            if document is None or not await _insert_intake(conn, attachment, document["document_id"]):
                return None  # another instance records it at this moment
            if created is not None:
                await append_document_event(conn, created)
                await conn.execute("select pg_notify($1, '')", Channel.DOCUMENT_DUE.value)
                return None
            if ResultStatus(document["status"]) in FINAL_STATUSES:
                await self._append_result(conn, document, attachment)
            elif lane is Lane.LIVE and document["is_backfill"]:
                # New mail waits for this document now, and not behind the rest of a first sync.
                await conn.execute(_MOVE_TO_LIVE_LANE, document["document_id"])
                await conn.execute("select pg_notify($1, '')", Channel.DOCUMENT_DUE.value)
            return await _remember_duplicate(conn, stored, attachment.uploaded_blob_key, document["blob_key"])

    async def _insert_document(
        self, conn: DatabaseSession, stored: AttachmentStored, attachment: DocumentAttachment, lane: Lane
    ) -> asyncpg.Record | None:
        return await conn.fetchrow(
            _INSERT_DOCUMENT,
            attachment.attachment_id,
            stored.tenant_id,
            stored.doc_source_id,
            stored.profile.value,
            stored.content_sha256,
            stored.content_type,
            stored.size_bytes,
            stored.blob_key,
            attachment.build_source_metadata(),
            lane is Lane.BACKFILL,
        )

    async def _append_result(self, conn: DatabaseSession, document: Any, attachment: DocumentAttachment) -> None:
        await append_result(
            conn, self._outbox, document, attachment.attachment_id, attachment.message_id, self._clock()
        )


def build_attachment(stored: AttachmentStored) -> DocumentAttachment:
    return DocumentAttachment(
        attachment_id=AttachmentId(stored.attachment_id),
        tenant_id=stored.tenant_id,
        doc_source_id=stored.doc_source_id,
        provider=stored.provider,
        message_id=stored.message_id,
        internet_message_id=_replace_nul(stored.internet_message_id),
        part_path=stored.part_path,
        filename=_replace_nul(stored.filename),
        detected_content_type=stored.content_type,
        size_bytes=stored.size_bytes,
        uploaded_blob_key=stored.blob_key,
        sender_address=_replace_nul(stored.from_),
        subject=_replace_nul(stored.subject),
        received_at=stored.received_at,
        folder=_replace_nul(stored.folder),
    )


def _replace_nul(text: str | None) -> str | None:
    """Untrusted text without the one character that Postgres cannot store."""
    return None if text is None else text.replace("\x00", "\ufffd")


async def _insert_intake(conn: DatabaseSession, attachment: DocumentAttachment, document_id: str) -> bool:
    inserted = await conn.fetchval(
        _INSERT_INTAKE,
        attachment.attachment_id,
        document_id,
        attachment.tenant_id,
        attachment.doc_source_id,
        attachment.provider,
        attachment.message_id,
        attachment.internet_message_id,
        attachment.part_path,
        attachment.filename,
        attachment.detected_content_type,
        attachment.size_bytes,
        attachment.uploaded_blob_key,
        attachment.sender_address,
        attachment.subject,
        attachment.received_at,
        attachment.folder,
    )
    return inserted is not None


async def _remember_duplicate(
    conn: DatabaseSession, stored: AttachmentStored, blob_key: str, kept_key: str
) -> DuplicateBlob | None:
    if blob_key == kept_key:
        return None
    await conn.execute(_REMEMBER_DUPLICATE, stored.attachment_id)
    return DuplicateBlob(
        attachment_id=stored.attachment_id,
        tenant_id=stored.tenant_id,
        doc_source_id=stored.doc_source_id,
        content_sha256=stored.content_sha256,
        key=blob_key,
        kept_key=kept_key,
    )
