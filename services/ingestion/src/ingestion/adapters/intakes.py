"""Intake in Postgres: record → rows of `intake` and `document`, and the result of a duplicate that comes late."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

import asyncpg

from ingestion.adapters.channels import UNNUMBERED, WORK
from ingestion.domain.document import FINAL, Attachment, AttachmentId, DocumentId, Outcome
from ingestion.domain.events import result_of
from ingestion.domain.view import document_view
from mailroom_common.events import AttachmentStored, ResultStatus
from mailroom_common.outbox import Outbox
from mailroom_common.postgres import DatabaseSession, open_transaction
from mailroom_common.topics import INGESTION_RESULTS

_INSERT_DOCUMENT = """
    insert into ingestion.document (document_id, tenant_id, doc_source_id, profile, content_sha256, content_type,
                                    size_bytes, blob_key, source_metadata)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    on conflict do nothing
    returning *
"""
# The lock: either the finisher holds it, and then we see its end; or it comes after us and sees our intake.
_LOCK_DOCUMENT = "select * from ingestion.document where doc_source_id = $1 and content_sha256 = $2 for update"
_INSERT_INTAKE = """
    insert into ingestion.intake (attachment_id, document_id, tenant_id, doc_source_id, provider, message_id,
                                  internet_message_id, part_path, filename, content_type, size_bytes, blob_key, sender,
                                  subject, received_at, folder)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
    on conflict (attachment_id) do nothing
    returning attachment_id
"""
_KNOWN = """
    select intake.blob_key, document.blob_key as kept_key
    from ingestion.intake join ingestion.document using (document_id)
    where attachment_id = $1
"""
_INSERT_EVENT = "insert into ingestion.document_event (tenant_id, document_id, document) values ($1, $2, $3)"


class PgIntakes:
    def __init__(self, pool: asyncpg.Pool, outbox: Outbox, clock: Callable[[], datetime]) -> None:
        self._pool = pool
        self._outbox = outbox
        self._clock = clock

    async def take_in(self, stored: AttachmentStored) -> str | None:
        attachment = attachment_of(stored)
        async with open_transaction(self._pool) as conn:
            if (known := await conn.fetchrow(_KNOWN, attachment.attachment_id)) is not None:
                # It came before, and all was done but perhaps the removal of its blob, which follows the commit.
                return _unneeded(known["blob_key"], known["kept_key"])
            created = await self._insert_document(conn, stored, attachment)
            document = created or await conn.fetchrow(_LOCK_DOCUMENT, stored.doc_source_id, stored.content_sha256)
            if document is None or not await _insert_intake(conn, attachment, document["document_id"]):
                return None  # taken in by another instance at this very moment
            if created is not None:
                await add_event(conn, created)
                await conn.execute("select pg_notify($1, '')", WORK)
                return None
            if ResultStatus(document["status"]) in FINAL:
                await self._add_result(conn, document, attachment)
            return _unneeded(attachment.blob_key, document["blob_key"])

    async def _insert_document(
        self, conn: DatabaseSession, stored: AttachmentStored, attachment: Attachment
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
            attachment.source_metadata(),
        )

    async def _add_result(self, conn: DatabaseSession, document: Any, attachment: Attachment) -> None:
        event = result_of(
            attachment_id=attachment.attachment_id,
            document_id=DocumentId(document["document_id"]),
            message_id=attachment.message_id,
            tenant_id=attachment.tenant_id,
            doc_source_id=attachment.doc_source_id,
            outcome=outcome_of(document),
            attempt=document["attempts"],
            occurred_at=self._clock(),
        )
        await self._outbox.append_record(
            conn, INGESTION_RESULTS, document["document_id"], event, aggregate=document["document_id"]
        )


async def add_event(conn: DatabaseSession, document: Any) -> None:
    """Tell what became of a document, in the transaction that changed it."""
    await conn.execute(_INSERT_EVENT, document["tenant_id"], document["document_id"], document_view(document))
    await conn.execute("select pg_notify($1, '')", UNNUMBERED)


def outcome_of(document: Any) -> Outcome:
    """The end that a final document's row describes."""
    return Outcome(
        status=ResultStatus(document["status"]),
        reason=document["skip_reason"] or document["review_reason"],
        document_type=document["document_type"],
        extraction=document["extraction"],
        confidence=document["confidence"],
        reader=document["reader"],
        archive_path=document["archive_path"],
    )


def attachment_of(stored: AttachmentStored) -> Attachment:
    return Attachment(
        attachment_id=AttachmentId(stored.attachment_id),
        tenant_id=stored.tenant_id,
        doc_source_id=stored.doc_source_id,
        provider=stored.provider,
        message_id=stored.message_id,
        internet_message_id=_storable(stored.internet_message_id),
        part_path=stored.part_path,
        filename=_storable(stored.filename),
        content_type=stored.content_type,
        size_bytes=stored.size_bytes,
        blob_key=stored.blob_key,
        sender=_storable(stored.from_),
        subject=_storable(stored.subject),
        received_at=stored.received_at,
        folder=_storable(stored.folder),
    )


def _storable(text: str | None) -> str | None:
    """A stranger's text without the one character that Postgres has no place for."""
    return None if text is None else text.replace("\x00", "\ufffd")


async def _insert_intake(conn: DatabaseSession, attachment: Attachment, document_id: str) -> bool:
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
        attachment.content_type,
        attachment.size_bytes,
        attachment.blob_key,
        attachment.sender,
        attachment.subject,
        attachment.received_at,
        attachment.folder,
    )
    return inserted is not None


def _unneeded(blob_key: str, kept_key: str) -> str | None:
    return None if blob_key == kept_key else blob_key
