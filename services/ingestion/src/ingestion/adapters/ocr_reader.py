"""OCR in processes of its own, as confined as those that read text, with the models loaded and other limits."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import Any, Self

from ingestion.adapters.pool_on_demand import PoolOnDemand
from ingestion.adapters.reader_runner import require_agreed
from ingestion.domain.ocr import ReadPages, add_read_pages, plan_reading
from ingestion.domain.ocr_turns import OCRTurns
from ingestion.domain.page_orientation import PageOrientation
from ingestion.domain.transcript import TextCell, TextLine, Transcript
from mailroom_common.parser.pool import ParserPool

OCR_MODULES = ("ingestion.readers.ocr",)

# Of the time of a document, at least, for what is read first. Where there is nothing else, it has all.
_SHARE_OF_FIRST = 0.3


class OCRReader:
    """`open_pool` opens the pool of OCR processes, at the first document that needs one: the models take a second and
    a quarter of a gigabyte, and most sites' documents are digital. `cpu_s` is the processor time of one document, and
    `wall_s` its time on the clock."""

    def __init__(
        self,
        open_pool: Callable[[], AbstractAsyncContextManager[ParserPool]],
        *,
        processes: int,
        max_pages: int,
        languages: Sequence[str],
        cpu_s: float,
        wall_s: float,
    ) -> None:
        self._pool = PoolOnDemand(open_pool)
        self._max_pages = max_pages
        self._cpu_s = cpu_s
        self._wall_s = wall_s
        self._languages = languages
        self._turns = OCRTurns(processes, time.monotonic)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._pool.close()

    async def read_pictures(
        self, file: Path, transcript: Transcript, *, password: str | None = None, queue: str = ""
    ) -> AsyncGenerator[Transcript, None]:
        """The transcript with the first page that is a picture (and that of each file in the file), then with the
        others.

        Raises:
            OCRBusy: all processes are taken.
            UnreadableFile, ParserLimitReached, ParserCrashed, Unavailable: as `ParserPool.run_reader`.
        """
        parts = plan_reading(transcript.pictured_pages, self._max_pages, transcript.part_starts)
        with self._turns.take_turn(queue):
            read = ReadPages([])
            for pages, share in zip(parts, _share_time(parts), strict=True):
                new = await self._read_pages(file, pages, password, share)
                read += new
                yield add_read_pages(transcript, read)

    async def _read_pages(self, file: Path, pages: list[int], password: str | None, share: float) -> ReadPages:
        pool = await self._pool.find_pool()
        time_for_pages = {"cpu_s": self._cpu_s * share, "wall_s": self._wall_s * share}
        return await pool.run_reader(
            "ingestion.readers.ocr:read_pictured_pages",
            file,
            partial(_decode_pages, asked=frozenset(pages)),
            arguments={"pages": pages, "languages": [*self._languages], "password": password, **time_for_pages},
        )


def _share_time(parts: Sequence[Sequence[int]]) -> list[float]:
    if len(parts) < 2:
        return [1.0] * len(parts)
    first = max(_SHARE_OF_FIRST, len(parts[0]) / sum(map(len, parts)))
    return [first, 1.0 - first]


def _decode_pages(answer: Any, asked: frozenset[int]) -> ReadPages:
    """Raises ValueError or its like for what our reader does not answer: a file has taken its process over."""
    read, cut, blank = ([_decode_page(page, asked) for page in answer[key]] for key in ("read", "cut", "blank"))
    if len({*read}) < len(read):
        raise ValueError("a page that was read twice")
    lines = [_decode_line(*line, pages=frozenset(read)) for line in answer["lines"]]
    orientations = {
        _decode_page(page, frozenset(read)): PageOrientation.from_list(orientation)
        for page, *orientation in answer["orientations"]
    }
    return ReadPages(read, lines, cut, blank, orientations)


def _decode_page(page: Any, pages: frozenset[int]) -> int:
    if type(page) is not int or page not in pages:
        raise ValueError("a page that was not asked for")
    return page


def _decode_line(page: Any, top: Any, height: Any, cells: Any, *, pages: frozenset[int]) -> TextLine:
    decoded = []
    for text, left, right, confidences in cells:
        require_agreed(all(0 <= confidence <= 1 for confidence in confidences))
        require_agreed(len(confidences) == len(text.split()))
        each = tuple(min(float(confidence), _MAX_CERTAIN) for confidence in confidences)
        decoded.append(TextCell(text, float(left), float(right), min(each, default=0.0), each))
    return TextLine(_decode_page(page, pages), float(top), float(height), tuple(decoded))


# 1 is what a text layer says.
_MAX_CERTAIN = 0.999
