"""The parser processes of the API, which draw pages, as the settings say."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from ingestion.adapters.local_reader import READER_REASONS
from ingestion.adapters.page_drawer import PAGE_MODULES
from ingestion.settings import DocumentsAPISettings
from mailroom_common.blobs import find_blob_folder
from mailroom_common.parser import ParserLimits
from mailroom_common.parser.pool import ParserPool
from mailroom_common.secret_files import find_secret_paths


@asynccontextmanager
async def open_page_pool(settings: DocumentsAPISettings, scratch: Path) -> AsyncIterator[ParserPool]:
    """
    Raises:
        ParserUnconfined: this machine does not confine the processes, and nobody said that it need not.
    """
    blobs = find_blob_folder(settings)
    pool = ParserPool(
        size=settings.parser_processes,
        limits=ParserLimits(
            memory_bytes=settings.parser_memory_bytes, cpu_s=settings.parser_cpu_s, wall_s=settings.parser_wall_s
        ),
        preload=PAGE_MODULES,
        private_paths=[*find_secret_paths(), scratch, scratch.parent, *([blobs] if blobs else [])],
        allow_unconfined=settings.parser_unconfined,
        unreadable_reasons=frozenset(READER_REASONS),
    )
    async with pool:
        await pool.check_confinement()
        yield pool
