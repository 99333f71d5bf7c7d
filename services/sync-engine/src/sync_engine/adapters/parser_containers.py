"""Opens containers in the parser process; until it has read one, the container lies in the scratch folder."""

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from mailroom_common.errors import Unavailable
from mailroom_common.parser import ParserCrashed
from mailroom_common.parser.contents import Content
from mailroom_common.parser.pool import ParserPool
from mailroom_common.providers.untrusted_text import read_filename, read_size, read_text
from sync_engine.domain.contained_part import ContainedPart
from sync_engine.domain.content import ContainerKind, find_stored_type
from sync_engine.domain.parts import SkipReason

# Imported before the parser processes are forked and confined: what a reader loads cannot depend on a file.
READER_MODULES = ("sync_engine.readers.containers",)

_READER = "sync_engine.readers.containers:read_container"
# Positions joined by slashes: the path is part of a key, and this process may be a hostile file's.
_PATH = re.compile(r"(?:[0-9][0-9.]*(?:/[0-9][0-9.]*)*)?")
_MAX_CONTAINERS = 10  # within each other; the reader opens no more
_MAX_PATH_CHARACTERS = 400
_MAX_SPOOLED = 16  # containers on disk at once: 800 MB at most


class ParserContainers:
    """`ContainerOpener` of ports.py."""

    def __init__(self, pool: ParserPool, scratch: Path) -> None:
        self._pool = pool
        self._scratch = scratch
        self._places = asyncio.Semaphore(_MAX_SPOOLED)

    @asynccontextmanager
    async def spool_container(self, chunks: AsyncIterator[bytes]) -> AsyncIterator[Path]:
        file = self._scratch / uuid4().hex
        async with self._places:
            try:
                await _write_file(file, chunks)
                yield file
            finally:
                file.unlink(missing_ok=True)

    async def read_contents(
        self, kind: ContainerKind, file: Path, *, filename: str | None, position: str | None
    ) -> AsyncGenerator[ContainedPart, None]:
        arguments = {"kind": kind.value, "filename": filename, "position": position}
        async with (
            self._pool.open_document() as parser,
            aclosing(parser.read_contents(_READER, file, arguments=arguments)) as contents,
        ):
            async for content in contents:
                yield build_contained_part(content)


async def _write_file(file: Path, chunks: AsyncIterator[bytes]) -> None:
    with _disk_errors():
        spooled = file.open("xb", buffering=0)
    with spooled:
        async for chunk in chunks:
            with _disk_errors():
                await asyncio.to_thread(spooled.write, chunk)


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unavailable(f"a container could not be kept in the scratch folder: {error.strerror}") from error


def build_contained_part(content: Content) -> ContainedPart:
    described: Any = content.description
    try:
        kind = described.get("kind")
        return ContainedPart(
            path=_check_path(described["path"]),
            via=tuple(ContainerKind(name) for name in _check_via(described["via"])),
            filename=read_filename(described.get("filename")),
            content_type=read_text(described.get("content_type")),
            size_bytes=read_size(described.get("size_bytes")),
            skip_reason=None if kind else SkipReason(described["skip_reason"]),
            stored_type=find_stored_type(kind) if kind else None,
            chunks=content.chunks,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # Our reader answers in one shape: this is a process that the file has taken over.
        raise ParserCrashed(f"a content of another shape: {type(error).__name__}") from error


def _check_via(via: object) -> list[str]:
    if not isinstance(via, list) or len(via) > _MAX_CONTAINERS:
        raise ValueError("not so many containers are opened within each other")
    return via


def _check_path(path: str) -> str:
    if len(path) > _MAX_PATH_CHARACTERS or not _PATH.fullmatch(path):
        raise ValueError("no path of positions")
    return path
