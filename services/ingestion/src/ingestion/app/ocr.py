"""The OCR processes and their reader, as the worker and `mailroom read` compose them by the settings."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

from ingestion.adapters.local_reader import READER_REASONS
from ingestion.adapters.ocr_reader import OCR_MODULES, OCRReader
from ingestion.settings import OCRSettings
from mailroom_common.parser import ParserLimits
from mailroom_common.parser.pool import ParserPool


def build_ocr_reader(
    settings: OCRSettings, open_pool: Callable[[], AbstractAsyncContextManager[ParserPool]]
) -> OCRReader:
    return OCRReader(
        open_pool,
        processes=settings.ocr_processes,
        max_pages=settings.ocr_pages,
        languages=settings.ocr_language_list,
        cpu_s=settings.ocr_cpu_s,
        wall_s=settings.ocr_wall_s,
    )


@asynccontextmanager
async def open_ocr_pool(
    settings: OCRSettings, *, private_paths: Sequence[Path], allow_unconfined: bool
) -> AsyncIterator[ParserPool]:
    """
    Raises:
        ParserUnconfined: this machine does not confine the processes, and nobody said that it need not.
    """
    pool = ParserPool(
        size=settings.ocr_processes,
        limits=ParserLimits(
            memory_bytes=settings.ocr_memory_bytes, cpu_s=settings.ocr_cpu_s, wall_s=settings.ocr_wall_s
        ),
        preload=OCR_MODULES,
        private_paths=private_paths,
        allow_unconfined=allow_unconfined,
        unreadable_reasons=frozenset(READER_REASONS),
    )
    async with pool:
        await pool.check_confinement()
        yield pool
