"""Containers opened by the real readers within the process of the test, for tests that are not about the parser."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

from mailroom_common.parser.contents import Content
from sync_engine.adapters.parser_containers import build_contained_part
from sync_engine.domain.contained_part import ContainedPart
from sync_engine.domain.content import ContainerKind
from sync_engine.readers.containers import read_container


class FakeContainers:
    """`failure` is raised after the contents of each container."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self.failure: Exception | None = None

    @asynccontextmanager
    async def spool_container(self, _tenant_id: str, chunks: AsyncIterator[bytes]) -> AsyncIterator[Path]:
        file = self._scratch / uuid4().hex
        file.write_bytes(b"".join([chunk async for chunk in chunks]))
        try:
            yield file
        finally:
            file.unlink()

    async def read_contents(
        self,
        _tenant_id: str,
        kind: ContainerKind,
        file: Path,
        *,
        filename: str | None,
        position: str | None,
        max_bytes: int,
    ) -> AsyncGenerator[ContainedPart, None]:
        with file.open("rb") as opened:
            arguments = {"kind": kind, "filename": filename, "position": position, "max_bytes": max_bytes}
            for description, chunks in read_container(opened, arguments):
                yield build_contained_part(Content(description, _iterate(chunks)))
        if self.failure:
            raise self.failure


async def _iterate(chunks: Iterable[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk
