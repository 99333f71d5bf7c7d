"""Opens a container that came with a mail: each file in it is stored or skipped like a part of the mail.

One that is locked, broken or beyond a limit is stored itself, beside what could be taken out of it: a person sees it.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

from mailroom_common.logs import get_logger
from mailroom_common.parser import ParserCrashed, ParserLimitReached, UnreadableFile
from mailroom_common.providers.types import Part
from mailroom_common.providers.untrusted_text import clean_text
from sync_engine.domain.contained_part import ContainedPart
from sync_engine.domain.content import ContainerKind, StoredType, find_stored_type
from sync_engine.domain.mail_allowance import MailAllowance
from sync_engine.domain.message_records import SkippedPart, StoredPart, sum_stored_bytes
from sync_engine.domain.parts import NOT_TAKEN
from sync_engine.domain.untrusted_text import clean_filename
from sync_engine.handlers.sync_run import SyncRun
from sync_engine.handlers.upload_part import UploadPart
from sync_engine.ports import ContainerOpener

log = get_logger()

_CHUNK_BYTES = 1024 * 1024


class OpenContainer:
    def __init__(self, containers: ContainerOpener, upload: UploadPart) -> None:
        self._containers = containers
        self._upload = upload

    async def open_container(
        self,
        run: SyncRun,
        message_id: str,
        part: Part,
        kind: ContainerKind,
        file: Path,
        *,
        rejected_reason: str | None,
        allowance: MailAllowance,
    ) -> tuple[StoredPart | SkippedPart, ...]:
        """With a `rejected_reason` nothing of it is stored, for that reason.

        Raises:
            ParserCrashed: another process killed the parser, which says nothing about the container.
            Unavailable: there was no parser process, or no room for the file.
        """
        results: list[StoredPart | SkippedPart] = []
        container_bytes = (await asyncio.to_thread(file.stat)).st_size
        reading = self._containers.read_contents(
            run.source.tenant_id,
            kind,
            file,
            filename=part.filename,
            position=part.part_path if part.is_within_source else None,
            max_bytes=allowance.limit_container(container_bytes),
        )
        try:
            async with aclosing(reading) as contents:
                async for contained in contents:
                    taken = await self._take_content(run, message_id, part, contained, rejected_reason)
                    # One by one: what was taken before a failure is kept.
                    results.append(taken)
        except (ParserCrashed, ParserLimitReached, UnreadableFile) as error:
            if isinstance(error, ParserCrashed) and error.killed:
                raise
            # The container is stored as it is, and ingestion puts it to review.
            log.warning(
                "container_unreadable",
                doc_source_id=run.doc_source_id,
                message_id=message_id,
                part_path=part.part_path,
                container_kind=kind.value,
                error=str(error),
            )
            allowance.count_unpacked(container_bytes, sum_stored_bytes(results))
            results.append(await self._keep_container(run, message_id, part, kind, file, rejected_reason))
        else:
            allowance.count_unpacked(container_bytes, sum_stored_bytes(results))
        return tuple(results)

    async def _take_content(
        self, run: SyncRun, message_id: str, part: Part, contained: ContainedPart, rejected_reason: str | None
    ) -> StoredPart | SkippedPart:
        if not contained.path:
            return _skip_part(part, str(contained.skip_reason))
        part_path = f"{part.part_path}/{contained.path}"
        reason: str | None = contained.skip_reason
        if rejected_reason and (reason is None or reason in NOT_TAKEN):
            reason = rejected_reason
        if contained.stored_type is None or reason:
            return SkippedPart(
                part_path=part_path,
                filename=clean_filename(contained.filename),
                content_type=clean_text(contained.content_type),
                size_bytes=contained.size_bytes,
                skip_reason=str(reason),
                via=contained.via,
            )
        return await self._upload.upload_part(
            run,
            message_id,
            part_path,
            contained.chunks,
            filename=contained.filename,
            stored_type=contained.stored_type,
            via=contained.via,
        )

    async def _keep_container(
        self, run: SyncRun, message_id: str, part: Part, kind: ContainerKind, file: Path, rejected_reason: str | None
    ) -> StoredPart | SkippedPart:
        if rejected_reason:
            return _skip_part(part, rejected_reason)
        stored_type: StoredType = find_stored_type(kind)
        return await self._upload.upload_part(
            run, message_id, part.part_path, _read_file(file), filename=part.filename, stored_type=stored_type
        )


def _skip_part(part: Part, reason: str) -> SkippedPart:
    return SkippedPart(
        part_path=part.part_path,
        filename=clean_filename(part.filename),
        content_type=clean_text(part.content_type),
        size_bytes=part.size_bytes,
        skip_reason=reason,
    )


async def _read_file(file: Path) -> AsyncIterator[bytes]:
    with file.open("rb") as spooled:  # a file that was just written, of 50 MB at most
        while chunk := spooled.read(_CHUNK_BYTES):
            yield chunk
