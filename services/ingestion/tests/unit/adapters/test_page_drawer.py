"""Pages drawn by a real, confined parser process."""

from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from generated_invoices import text_page

from ingestion.adapters.local_reader import READER_REASONS
from ingestion.adapters.page_drawer import PAGE_MODULES, ParserPageDrawer, _decode_page
from ingestion.domain.evidence import MAX_IMAGE_BYTES
from mailroom_common.parser import ParserLimits, UnreadableFile
from mailroom_common.parser.pool import ParserPool


async def test_pages_are_drawn_by_one_pool_that_starts_with_the_first(tmp_path: Path) -> None:
    opened = 0

    @asynccontextmanager
    async def open_pool() -> AsyncIterator[ParserPool]:
        nonlocal opened
        opened += 1
        limits = ParserLimits(memory_bytes=512 * 1024 * 1024, cpu_s=10)
        async with ParserPool(preload=PAGE_MODULES, limits=limits, unreadable_reasons=READER_REASONS) as pool:
            yield pool

    file = tmp_path / "document"
    file.write_bytes(text_page("Invoice 7"))
    async with ParserPageDrawer(open_pool) as drawer:
        assert opened == 0
        page = await drawer.draw_page("acme", file, 0)
        assert page is not None
        assert (page.png[:4], page.pixels_per_point) == (b"\x89PNG", 2.0)
        assert await drawer.draw_page("acme", file, 1) is None
        file.write_bytes(b"a text")
        with pytest.raises(UnreadableFile):
            await drawer.draw_page("acme", file, 0)
        assert opened == 1


_PNG = b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("png", "scale"),
    [(b"<html>", 2.0), (_PNG + bytes(MAX_IMAGE_BYTES), 2.0), (_PNG, 0)],
    ids=["no PNG", "too large", "no scale"],
)
def test_what_is_no_picture_of_ours_is_refused(png: bytes, scale: float) -> None:
    answer: Any = {"png": b64encode(png).decode(), "pixels_per_point": scale}
    decode: Callable[[Any], object] = _decode_page
    with pytest.raises(ValueError, match="do not answer so"):
        decode(answer)
