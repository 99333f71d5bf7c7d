"""Opens containers in the parser process; until it has read one, the container lies in the scratch folder."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from mailroom_common.errors import ProviderUnavailable, Unavailable
from mailroom_common.parser.contents import Content, ContentBounds
from mailroom_common.parser.pool import ParserPool
from mailroom_common.providers.untrusted_text import read_filename, read_size, read_text
from mailroom_common.tenant_turns import TenantPlaces
from sync_engine.domain.contained_part import MAX_FILES, ContainedPart
from sync_engine.domain.content import ContainerKind, find_stored_type
from sync_engine.domain.parts import MAX_PART_BYTES, SkipReason
from sync_engine.readers.contained import ContainerProblem

# Imported before the parser processes are forked and confined: what a reader loads cannot depend on a file.
READER_MODULES = ("sync_engine.readers.containers",)
READER_REASONS = frozenset(ContainerProblem)

_READER = "sync_engine.readers.containers:read_container"
# Positions joined by slashes: the path is part of a key, and this process may be a hostile file's.
_PATH = re.compile(r"(?:[0-9][0-9.]*(?:/[0-9][0-9.]*)*)?")
_MAX_CONTAINERS = 10  # within each other; the reader opens no more
_MAX_PATH_CHARACTERS = 400
_MAX_SPOOLED = 4  # containers on disk at once, of 50 MB each: less than `/tmp` of a pod has (256Mi)
# A provider that sends slowly holds a place meanwhile. 50 MB take a minute at 7 Mbit/s.
_MAX_SPOOLING_S = 60.0


class ParserContainers:
    """`ContainerOpener` of ports.py."""

    def __init__(self, pool: ParserPool, scratch: Path, *, max_spooling_s: float = _MAX_SPOOLING_S) -> None:
        self._pool = pool
        self._scratch = scratch
        self._max_spooling_s = max_spooling_s
        self._places = TenantPlaces(_MAX_SPOOLED)

    @asynccontextmanager
    async def spool_container(self, tenant_id: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[Path]:
        file = self._scratch / uuid4().hex
        async with self._places.hold_place(tenant_id):
            try:
                await self._spool(file, chunks)
                yield file
            finally:
                file.unlink(missing_ok=True)

    async def _spool(self, file: Path, chunks: AsyncIterator[bytes]) -> None:
        try:
            async with asyncio.timeout(self._max_spooling_s) as limit:
                await _write_file(file, chunks)
        except TimeoutError as error:
            if not limit.expired():
                raise
            raise ProviderUnavailable(
                f"an attachment was not there whole after {self._max_spooling_s:.0f} s; it is tried again later"
            ) from error

    async def read_contents(
        self,
        tenant_id: str,
        kind: ContainerKind,
        file: Path,
        *,
        filename: str | None,
        position: str | None,
        max_bytes: int,
    ) -> AsyncGenerator[ContainedPart, None]:
        async with (
            self._pool.open_document(tenant_id) as parser,
            aclosing(
                parser.read_contents(
                    _READER,
                    file,
                    _PartDecoder().decode_content,
                    arguments={"kind": kind.value, "filename": filename, "position": position, "max_bytes": max_bytes},
                    # The reader keeps to the same.
                    bounds=ContentBounds(contents=MAX_FILES, content_bytes=MAX_PART_BYTES, total_bytes=max_bytes),
                )
            ) as parts,
        ):
            async for part in parts:
                yield part


async def _write_file(file: Path, chunks: AsyncIterator[bytes]) -> None:
    with _disk_errors():
        spooled = file.open("xb", buffering=0)
    with spooled:
        async for chunk in chunks:
            writing = asyncio.create_task(asyncio.to_thread(spooled.write, chunk))
            with _disk_errors():
                try:
                    await asyncio.shield(writing)
                except asyncio.CancelledError:
                    await writing  # before the file is closed: its number may be another file's then
                    raise


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"a container could not be kept in the scratch folder: {error.strerror}") from error


class _PartDecoder:
    """Of the contents of one container."""

    def __init__(self) -> None:
        self._paths: set[str] = set()

    def decode_content(self, content: Content) -> ContainedPart:
        part = build_contained_part(content)
        # Two contents of one path would share an attachment id and a blob: the second would overwrite the first.
        if part.path in self._paths:
            raise ValueError("two contents of one path")
        self._paths.add(part.path)
        return part


def build_contained_part(content: Content) -> ContainedPart:
    """Fails where our reader does not describe a content so: the file has taken its process over."""
    described: Any = content.description
    kind, path, via = described.get("kind"), _check_path(described["path"]), _check_via(described["via"])
    if not path and (via or kind):
        raise ValueError("only the container itself has no path, and it is no content")
    return ContainedPart(
        path=path,
        via=tuple(ContainerKind(name) for name in via),
        filename=read_filename(described.get("filename")),
        content_type=read_text(described.get("content_type")),
        size_bytes=read_size(described.get("size_bytes")),
        skip_reason=None if kind else SkipReason(described["skip_reason"]),
        stored_type=find_stored_type(kind) if kind else None,
        chunks=content.chunks,
    )


def _check_via(via: object) -> list[str]:
    if not isinstance(via, list) or len(via) > _MAX_CONTAINERS:
        raise ValueError("not so many containers are opened within each other")
    return via


def _check_path(path: str) -> str:
    if len(path) > _MAX_PATH_CHARACTERS or not _PATH.fullmatch(path):
        raise ValueError("no path of positions")
    return path
