"""The pool of parser processes as a process opens it, by its settings: shown to be confined before it reads a file."""

from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from mailroom_common.parser.limits import ParserLimits
from mailroom_common.parser.pool import ParserPool
from mailroom_common.process import Process
from mailroom_common.secret_files import find_secret_paths
from mailroom_common.settings import ParserSettings


@asynccontextmanager
async def open_confined_pool(
    settings: ParserSettings,
    process: Process | None = None,
    *,
    blobs: Path | None,
    scratch: Path,
    readers: Sequence[str],
    reasons: Collection[str],
) -> AsyncIterator[ParserPool]:
    """`blobs` is the folder of stored documents where they lie on this machine. `readers` are modules, and `reasons`
    those for which they refuse a file. `process` shows in its health how they are confined.

    Raises:
        ParserUnconfined: this machine does not confine the processes, and nobody said that it need not.
    """
    pool = ParserPool(
        size=settings.parser_processes,
        limits=ParserLimits(
            memory_bytes=settings.parser_memory_bytes, cpu_s=settings.parser_cpu_s, wall_s=settings.parser_wall_s
        ),
        preload=readers,
        # Documents of everybody lie beside the secrets: those that other workers read now, and all that were stored.
        private_paths=[*find_secret_paths(), scratch, scratch.parent, *([blobs] if blobs else [])],
        allow_unconfined=settings.parser_unconfined,
        unreadable_reasons=frozenset(reasons),
    )
    async with pool:
        layers = await pool.check_confinement()
        if process is not None:
            process.health.set_detail("parser_confinement", layers)
        yield pool
