"""OCR in processes of its own, as confined as those that read text, with the models loaded and other limits."""

import asyncio
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from pathlib import Path
from typing import Any, Self

from ingestion.domain.ocr import add_read_pages, choose_pages
from ingestion.domain.ocr_turns import OCRTurns
from ingestion.domain.transcript import TextCell, TextLine, Transcript
from mailroom_common.parser.pool import ParserPool

OCR_MODULES = ("ingestion.readers.ocr",)


class OCRReader:
    """`open_pool` opens the pool of OCR processes, at the first document that needs one: the models take a second and
    a quarter of a gigabyte, and most sites' documents are digital."""

    def __init__(
        self,
        open_pool: Callable[[], AbstractAsyncContextManager[ParserPool]],
        *,
        processes: int,
        max_pages: int,
        languages: Sequence[str],
    ) -> None:
        self._open_pool = open_pool
        self._max_pages = max_pages
        self._languages = languages
        self._turns = OCRTurns(processes, time.monotonic)
        self._pool: ParserPool | None = None
        self._opening = asyncio.Lock()
        self._opened = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._opened.aclose()

    async def read_pictures(self, file: Path, transcript: Transcript, *, password: str | None = None) -> Transcript:
        """The transcript with the pages that are pictures.

        Raises:
            OCRBusy: all processes are taken.
            UnreadableFile, ParserLimitReached, ParserCrashed, Unavailable: as `ParserPool.run_reader`.
        """
        with self._turns.take_turn():
            pool = await self._find_pool()
            pages = choose_pages(transcript.pictured_pages, self._max_pages)
            lines = await pool.run_reader(
                "ingestion.readers.ocr:read_pictured_pages",
                file,
                partial(_decode_lines, pages=frozenset(pages)),
                arguments={"pages": pages, "languages": [*self._languages], "password": password},
            )
        return add_read_pages(transcript, pages, lines)

    async def _find_pool(self) -> ParserPool:
        async with self._opening:
            if self._pool is None:
                self._pool = await self._opened.enter_async_context(self._open_pool())
            return self._pool


def _decode_lines(answer: Any, pages: frozenset[int]) -> Sequence[TextLine]:
    """Raises ValueError or its like for what our reader does not answer: a file has taken its process over."""
    return [_decode_line(*line, pages=pages) for line in answer]


def _decode_line(page: Any, top: Any, height: Any, cells: Any, *, pages: frozenset[int]) -> TextLine:
    if page not in pages:
        raise ValueError("a line of a page that was not asked for")
    decoded = []
    for text, left, right, confidence in cells:
        if not isinstance(text, str) or not 0 <= float(confidence) <= 1:
            raise ValueError("our reader does not answer so")
        decoded.append(TextCell(text, float(left), float(right), min(float(confidence), _CERTAIN_AT_MOST)))
    return TextLine(page, float(top), float(height), tuple(decoded))


# 1 is what a text layer says.
_CERTAIN_AT_MOST = 0.999
