"""Writes the bytes of a part to the blob store, announced before the first and forgotten where they break off."""

from collections.abc import AsyncIterator

from mailroom_common.blobs import BlobStore
from mailroom_common.events import derive_attachment_id, derive_blob_key
from mailroom_common.parser import ParserCrashed, ParserLimitReached, UnreadableFile
from sync_engine.domain.content import ContainerKind, StoredType
from sync_engine.domain.message_records import StoredPart
from sync_engine.domain.untrusted_text import clean_filename
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.ports import Uploads


class PartTooLarge(Exception):
    """Raised by `limit_size`."""


class UploadPart:
    def __init__(self, blobs: BlobStore, uploads: Uploads) -> None:
        self._blobs = blobs
        self._uploads = uploads

    async def upload_part(
        self,
        run: SyncRun,
        message_id: str,
        part_path: str,
        chunks: AsyncIterator[bytes],
        *,
        filename: str | None,
        stored_type: StoredType,
        via: tuple[ContainerKind, ...] = (),
    ) -> StoredPart:
        # Derived, so that a repeat after a crash writes the same blob again instead of a second one.
        attachment_id = derive_attachment_id(run.doc_source_id, message_id, part_path)
        key = derive_blob_key(attachment_id, stored_type.file_extension)
        # Before the first byte: a crash in between leaves a blob that the sweeper finds by this row.
        await self._uploads.record_upload_start(run.doc_source_id, attachment_id, key)
        try:
            stored = await self._blobs.write_blob(key, chunks, content_type=stored_type.media_type)
        except (PartTooLarge, ParserCrashed, ParserLimitReached, UnreadableFile):
            await self._uploads.delete_upload_record(attachment_id)
            raise
        return StoredPart(
            part_path=part_path,
            attachment_id=attachment_id,
            filename=clean_filename(filename),
            content_type=stored_type.media_type,
            size_bytes=stored.size_bytes,
            content_sha256=stored.sha256,
            blob_key=key,
            via=via,
        )


async def limit_size(head: bytes, rest: AsyncIterator[bytes], limit_bytes: int) -> AsyncIterator[bytes]:
    """The part from its beginning; counted, since the sizes that providers report are not exact."""
    size_bytes = len(head)
    if size_bytes > limit_bytes:
        raise PartTooLarge
    yield head
    async for chunk in rest:
        size_bytes += len(chunk)
        if size_bytes > limit_bytes:
            raise PartTooLarge
        yield chunk
