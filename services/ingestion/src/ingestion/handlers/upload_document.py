"""Bytes that a person uploads become an attachment, on the same way as one of a mail."""

from collections.abc import AsyncIterator, Callable
from datetime import datetime

from ingestion.domain.transcript import EXTENSIONS, HEAD_BYTES, detect_content_type
from ingestion.domain.upload import MAX_UPLOAD_BYTES, NewUpload
from ingestion.handlers.record_attachment import AttachmentRecorder
from ingestion.ports.intake import ManualUploads
from mailroom_common.blobs import BlobStore
from mailroom_common.errors import MailroomError
from mailroom_common.events import derive_blob_key
from mailroom_common.logs import get_logger

log = get_logger()


class UnknownContent(MailroomError):
    """By its first bytes it is nothing that Mailroom reads."""


class EmptyUpload(MailroomError):
    """It has no bytes."""


class UploadTooLarge(MailroomError):
    """It has more bytes than a document may."""


class DocumentUploader:
    """`blobs` is written to while the bytes come: none but a few chunks are held."""

    def __init__(
        self, uploads: ManualUploads, recorder: AttachmentRecorder, blobs: BlobStore, clock: Callable[[], datetime]
    ) -> None:
        self._uploads = uploads
        self._recorder = recorder
        self._blobs = blobs
        self._clock = clock

    async def upload_document(self, upload: NewUpload, chunks: AsyncIterator[bytes]) -> str:
        """The id of the document that it is: another one's, where its content is known.

        Raises:
            EmptyUpload, UnknownContent, UploadTooLarge: nothing of it is kept.
            Unavailable: the database or the blob store is away.
        """
        head = await _read_head(chunks)
        if not head:
            raise EmptyUpload("it has no bytes")
        content_type = detect_content_type(head)
        if content_type is None:
            raise UnknownContent("it is no PDF, PNG, JPEG or TIFF")
        blob_key = derive_blob_key(upload.attachment_id, EXTENSIONS[content_type])
        # Before the first byte: a blob that no attachment names after a day was cut off, and is swept.
        await self._uploads.record_upload_start(upload.attachment_id, blob_key)
        blob = await self._blobs.write_blob(blob_key, _limit_size(head, chunks), content_type=content_type)
        await self._recorder.record_stored(
            upload.build_attachment(
                blob_key=blob_key,
                content_type=content_type,
                size_bytes=blob.size_bytes,
                content_sha256=blob.sha256,
                received_at=self._clock(),
            )
        )
        document_id = await self._uploads.finish_upload(upload.attachment_id)
        log.info(
            "document_uploaded",
            document_id=document_id,
            attachment_id=upload.attachment_id,
            api_key_id=upload.api_key_id,
        )
        return document_id


async def _read_head(chunks: AsyncIterator[bytes]) -> bytes:
    """At least as much as tells what it is, where there is as much."""
    head = b""
    async for chunk in chunks:
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    return head


async def _limit_size(head: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    size = len(head)
    yield head
    async for chunk in rest:
        size += len(chunk)
        if size > MAX_UPLOAD_BYTES:
            raise UploadTooLarge(f"it has more than {MAX_UPLOAD_BYTES} bytes")
        if chunk:
            yield chunk
