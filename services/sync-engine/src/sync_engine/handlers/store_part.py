"""Stores one part of a mail: judged by its first bytes, then streamed to the blob store, or opened as a container."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

from mailroom_common.blobs import BlobStore
from mailroom_common.providers.types import Message, Part
from mailroom_common.providers.untrusted_text import clean_text
from sync_engine.domain.content import HEAD_BYTES, ContainerKind, detect_content_kind, find_stored_type
from sync_engine.domain.mail_allowance import MailAllowance
from sync_engine.domain.mail_filter import REJECTED_MAIL_REASON, MailRejection, lets_bytes_decide
from sync_engine.domain.message_records import SkippedPart, StoredPart
from sync_engine.domain.parts import (
    MAX_CONTAINER_BYTES,
    MAX_PART_BYTES,
    NOT_TAKEN,
    SkipReason,
    find_container_kind,
    is_attached_message,
    is_declared_inline_picture,
    skip_reason_by_content,
    skip_reason_by_declaration,
    skip_reason_by_name,
)
from sync_engine.domain.untrusted_text import clean_filename
from sync_engine.handlers.open_container import OpenContainer
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.handlers.upload_part import PartTooLarge, UploadPart, limit_size
from sync_engine.ports import ContainerOpener, Uploads


class StorePart:
    def __init__(self, blobs: BlobStore, uploads: Uploads, containers: ContainerOpener) -> None:
        self._upload = UploadPart(blobs, uploads)
        self._containers = containers
        self._open_container = OpenContainer(containers, self._upload)

    async def store_part(
        self,
        run: SyncRun,
        message: Message,
        part: Part,
        *,
        shown_ids: frozenset[str],
        rejection: MailRejection | None,
        allowance: MailAllowance,
    ) -> tuple[StoredPart | SkippedPart, ...]:
        """One, or what was in it: none where a container holds no files."""
        left_out = _find_left_out_reason(run, part, rejection)
        if reason := skip_reason_by_name(part):
            return skip_part(part, left_out if left_out and reason in NOT_TAKEN else reason)
        if rejection and not _is_read_all_the_same(run, part, rejection):
            return skip_part(part, skip_reason_by_declaration(part) or REJECTED_MAIL_REASON.format(rejection))
        try:
            return await self._read_part(run, message.summary.message_id, part, shown_ids, rejection, allowance)
        except PartTooLarge:
            return skip_part(part, left_out or SkipReason.TOO_LARGE)

    async def _read_part(
        self,
        run: SyncRun,
        message_id: str,
        part: Part,
        shown_ids: frozenset[str],
        rejection: MailRejection | None,
        allowance: MailAllowance,
    ) -> tuple[StoredPart | SkippedPart, ...]:
        async with AsyncExitStack() as spooled:
            async with run.provider.open_part(run.mailbox, message_id, part) as chunks:
                head = await _read_head(chunks)
                content = detect_content_kind(head)
                container = ContainerKind.MESSAGE if part.is_within_source else find_container_kind(part, content)
                if container is None:
                    # Leaving here abandons the rest of the part: its first bytes were enough.
                    if reason := skip_reason_by_content(part, content, shown_ids=shown_ids):
                        return skip_part(part, reason)
                    stored = await self._upload.upload_part(
                        run,
                        message_id,
                        part.part_path,
                        limit_size(head, chunks, MAX_PART_BYTES),
                        filename=part.filename,
                        stored_type=find_stored_type(content),
                    )
                    return (stored,)
                whole = limit_size(head, chunks, MAX_CONTAINER_BYTES)
                spooling = self._containers.spool_container(run.source.tenant_id, whole)
                file = await spooled.enter_async_context(spooling)
            # The provider's slot is free by now: a parser process may have to be waited for.
            return await self._open_container.open_container(
                run,
                message_id,
                part,
                container,
                file,
                rejected_reason=_find_rejected_reason(part, rejection),
                allowance=allowance,
            )


def _is_read_all_the_same(run: SyncRun, part: Part, rejection: MailRejection) -> bool:
    return lets_bytes_decide(rejection, run.source.filter) and not is_declared_inline_picture(part)


def _find_left_out_reason(run: SyncRun, part: Part, rejection: MailRejection | None) -> str | None:
    """Why nobody misses the part, however large it is: the operator left its mail out, or this mailbox sent it."""
    if rejection and not lets_bytes_decide(rejection, run.source.filter):
        return REJECTED_MAIL_REASON.format(rejection)
    return _find_rejected_reason(part, rejection)


def _find_rejected_reason(part: Part, rejection: MailRejection | None) -> str | None:
    """The mail that a delivery report brings back is one that this mailbox sent."""
    is_returned = rejection is MailRejection.BOUNCE and is_attached_message(part)
    return REJECTED_MAIL_REASON.format(rejection) if is_returned else None


def skip_part(part: Part, reason: str) -> tuple[SkippedPart]:
    skipped = SkippedPart(
        part_path=part.part_path,
        filename=clean_filename(part.filename),
        content_type=clean_text(part.content_type),
        size_bytes=part.size_bytes,
        skip_reason=str(reason),
    )
    return (skipped,)


async def _read_head(chunks: AsyncIterator[bytes]) -> bytes:
    """At least HEAD_BYTES, less only where the part is shorter."""
    head = bytearray()
    async for chunk in chunks:
        head += chunk
        if len(head) >= HEAD_BYTES:
            break
    return bytes(head)
