"""Stores one part of a mail: judged by its first bytes, then streamed to the blob store."""

from collections.abc import AsyncIterator

from mailroom_common.blobs import BlobStore
from mailroom_common.events import derive_attachment_id, derive_blob_key
from mailroom_common.providers.types import Message, Part
from mailroom_common.providers.untrusted_text import clean_text
from sync_engine.domain.content import HEAD_BYTES, ContentKind, detect_content_kind
from sync_engine.domain.mail_filter import REJECTED_MAIL_REASON, MailRejection, lets_bytes_decide
from sync_engine.domain.message_records import SkippedPart, StoredPart
from sync_engine.domain.parts import (
    MAX_PART_BYTES,
    SkipReason,
    is_declared_inline_picture,
    skip_reason_by_content,
    skip_reason_by_declaration,
    skip_reason_by_name,
)
from sync_engine.domain.untrusted_text import clean_filename
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.ports import Uploads


class _PartTooLarge(Exception):
    pass


class StorePart:
    def __init__(self, blobs: BlobStore, uploads: Uploads) -> None:
        self._blobs = blobs
        self._uploads = uploads

    async def store_part(
        self, run: SyncRun, message: Message, part: Part, *, shown_ids: frozenset[str], rejection: MailRejection | None
    ) -> StoredPart | SkippedPart:
        if reason := skip_reason_by_name(part):
            return _skip_part(part, reason)
        if rejection and not _is_read_all_the_same(run, part, rejection):
            return _skip_part(part, skip_reason_by_declaration(part) or REJECTED_MAIL_REASON.format(rejection))
        try:
            async with run.provider.open_part(run.mailbox, message.summary.message_id, part) as chunks:
                head = await _read_head(chunks)
                kind = detect_content_kind(head)
                # Leaving here abandons the rest of the part: its first bytes were enough.
                if reason := skip_reason_by_content(part, kind, shown_ids=shown_ids):
                    return _skip_part(part, reason)
                return await self._upload_part(run, message.summary.message_id, part, kind, _limit_size(head, chunks))
        except _PartTooLarge:
            return _skip_part(part, SkipReason.TOO_LARGE)

    async def _upload_part(
        self, run: SyncRun, message_id: str, part: Part, kind: ContentKind, chunks: AsyncIterator[bytes]
    ) -> StoredPart:
        # Derived, so that a repeat after a crash writes the same blob again instead of a second one.
        attachment_id = derive_attachment_id(run.doc_source_id, message_id, part.part_path)
        key = derive_blob_key(attachment_id, kind.file_extension)
        # Before the first byte: a crash in between leaves a blob that the sweeper finds by this row.
        await self._uploads.record_upload_start(run.doc_source_id, attachment_id, key)
        try:
            stored = await self._blobs.write_blob(key, chunks, content_type=kind.media_type)
        except _PartTooLarge:
            await self._uploads.delete_upload_record(attachment_id)
            raise
        return StoredPart(
            part_path=part.part_path,
            attachment_id=attachment_id,
            filename=clean_filename(part.filename),
            content_type=kind.media_type,
            size_bytes=stored.size_bytes,
            content_sha256=stored.sha256,
            blob_key=key,
        )


def _is_read_all_the_same(run: SyncRun, part: Part, rejection: MailRejection) -> bool:
    return lets_bytes_decide(rejection, run.source.filter) and not is_declared_inline_picture(part)


def _skip_part(part: Part, reason: str) -> SkippedPart:
    return SkippedPart(
        part_path=part.part_path,
        filename=clean_filename(part.filename),
        content_type=clean_text(part.content_type),
        size_bytes=part.size_bytes,
        skip_reason=str(reason),
    )


async def _read_head(chunks: AsyncIterator[bytes]) -> bytes:
    """At least HEAD_BYTES, less only where the part is shorter."""
    head = bytearray()
    async for chunk in chunks:
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    return bytes(head)


async def _limit_size(head: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The part from its beginning; counted, since the sizes that providers report are not exact."""
    size_bytes = len(head)
    if size_bytes > MAX_PART_BYTES:
        raise _PartTooLarge
    yield head
    async for chunk in rest:
        size_bytes += len(chunk)
        if size_bytes > MAX_PART_BYTES:
            raise _PartTooLarge
        yield chunk
