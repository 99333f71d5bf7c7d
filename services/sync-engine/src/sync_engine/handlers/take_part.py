"""Takes one part of a mail: judged by its name, then by its first bytes, then streamed to the blob store."""

from collections.abc import AsyncIterator

from mailroom_common.blobs import BlobStore
from mailroom_common.errors import ItemGone
from mailroom_common.events import derive_attachment_id
from mailroom_common.providers.types import Message, Part
from sync_engine.domain.content import HEAD_BYTES, Content, sniff
from sync_engine.domain.filenames import clean
from sync_engine.domain.filters import REJECTED, RejectedMail
from sync_engine.domain.parts import LARGEST_BYTES, Left, judge_by_content, judge_by_name
from sync_engine.domain.records import LeftPart, TakenPart
from sync_engine.domain.texts import storable
from sync_engine.handlers.run import Run
from sync_engine.run_ports import RunTables


class _TooLarge(Exception):
    pass


class TakePart:
    def __init__(self, blobs: BlobStore, tables: RunTables) -> None:
        self._blobs = blobs
        self._tables = tables

    async def take(
        self, run: Run, message: Message, part: Part, *, html: str, rejected: RejectedMail | None
    ) -> TakenPart | LeftPart:
        if left := judge_by_name(part):
            return _left(part, left)
        if rejected:
            return _left(part, REJECTED.format(rejected))
        try:
            async with run.provider.open_part(run.mailbox, message.summary.message_id, part) as chunks:
                head = await _head(chunks)
                content = sniff(head)
                # Leaving here abandons the rest of the part: its first bytes said enough.
                if left := judge_by_content(part, content, html=html):
                    return _left(part, left)
                return await self._store(run, message.summary.message_id, part, content, _whole(head, chunks))
        except ItemGone:
            return _left(part, Left.UNAVAILABLE)
        except _TooLarge:
            return _left(part, Left.TOO_LARGE)

    async def _store(
        self, run: Run, message_id: str, part: Part, content: Content, chunks: AsyncIterator[bytes]
    ) -> TakenPart:
        taken_id = derive_attachment_id(run.doc_source_id, message_id, part.part_path)
        key = f"documents/{taken_id}.{content.file_extension}"
        await self._tables.announce_upload(run.doc_source_id, taken_id, key)
        try:
            stored = await self._blobs.write_blob(key, chunks, content_type=content.media_type)
        except _TooLarge:
            await self._tables.withdraw_upload(taken_id)
            raise
        return TakenPart(
            part_path=part.part_path,
            attachment_id=taken_id,
            filename=clean(part.filename),
            content_type=content.media_type,
            size_bytes=stored.size_bytes,
            content_sha256=stored.sha256,
            blob_key=key,
        )


def _left(part: Part, reason: str) -> LeftPart:
    return LeftPart(
        part_path=part.part_path,
        filename=clean(part.filename),
        content_type=storable(part.content_type),
        size_bytes=part.size_bytes,
        reason=str(reason),
    )


async def _head(chunks: AsyncIterator[bytes]) -> bytes:
    """At least HEAD_BYTES, less only where the part ends before."""
    head = bytearray()
    async for chunk in chunks:
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    return bytes(head)


async def _whole(head: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """The part from its beginning; counted, since what a provider says of sizes is not exact."""
    seen_bytes = len(head)
    if seen_bytes > LARGEST_BYTES:
        raise _TooLarge
    yield head
    async for chunk in rest:
        seen_bytes += len(chunk)
        if seen_bytes > LARGEST_BYTES:
            raise _TooLarge
        yield chunk
