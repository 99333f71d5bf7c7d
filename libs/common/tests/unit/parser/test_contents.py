import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from mailroom_common.parser import ParserCrashed, ParserLimitReached, ParserLimits, UnreadableFile
from mailroom_common.parser.contents import ContentBounds
from mailroom_common.parser.messages import MAX_CHUNK_BYTES
from mailroom_common.parser.pool import ParserPool

HERE = Path(__file__).parent
LIMITS = ParserLimits(memory_bytes=256 * 1024 * 1024, cpu_s=10, wall_s=60)
SMALL = ContentBounds(contents=3, content_bytes=5000, total_bytes=8000)


@pytest.fixture
async def pool() -> AsyncIterator[ParserPool]:
    async with ParserPool(preload=["hostile_readers"], search_path=[HERE], limits=LIMITS) as opened:
        yield opened


async def read_all(
    pool: ParserPool,
    reader: str,
    source: bytes = b"",
    *,
    bounds: ContentBounds | None = None,
    limits: ParserLimits | None = None,
    found: list[tuple[Any, bytes]] | None = None,
    pause_s: float = 0,
    **arguments: str,
) -> list[tuple[Any, bytes]]:
    """`found` has what came before a failure."""
    found = [] if found is None else found
    async with pool.open_document() as document:
        async for content in document.read_contents(
            f"hostile_readers:{reader}", source, arguments=arguments, bounds=bounds, limits=limits
        ):
            await asyncio.sleep(pause_s)
            found.append((content.description, b"".join([chunk async for chunk in content.chunks])))
    return found


async def test_contents_are_streamed_one_after_the_other_whole(pool: ParserPool) -> None:
    sizes = [0, 1, MAX_CHUNK_BYTES, 3 * MAX_CHUNK_BYTES + 7]
    file = bytes(range(256)) * (sum(sizes) // 256 + 1)

    found = await read_all(pool, "yield_contents", file, sizes=" ".join(map(str, sizes)))

    assert [description["number"] for description, _ in found] == [0, 1, 2, 3]
    assert [len(content) for _, content in found] == sizes
    assert b"".join(content for _, content in found) == file[: sum(sizes)]


async def test_a_content_that_is_not_read_is_passed_over(pool: ParserPool) -> None:
    async with pool.open_document() as document:
        contents = document.read_contents("hostile_readers:yield_contents", b"aaaabbbbcc", arguments={"sizes": "4 4 2"})
        found = []
        async for content in contents:
            if content.description != {"number": 2}:
                await anext(content.chunks)
                continue
            found = [chunk async for chunk in content.chunks]
    assert b"".join(found) == b"cc"


async def test_a_process_reads_the_next_file_after_contents(pool: ParserPool) -> None:
    async with pool.open_document() as document:
        async for _ in document.read_contents("hostile_readers:yield_contents", b"ab", arguments={"sizes": "2"}):
            pass
        answer: Any = await document.run_reader("hostile_readers:count_bytes", b"123")
    assert answer["size"] == 3


async def test_a_refusal_comes_after_what_was_found_before_it(pool: ParserPool) -> None:
    found: list[tuple[Any, bytes]] = []
    with pytest.raises(UnreadableFile) as refused:
        await read_all(pool, "refuse_after_one_content", b"whole", found=found)
    assert refused.value.reason == "broken"
    assert found == [("first", b"whole")]


async def test_a_process_that_dies_in_a_content_loses_no_content_before_it(pool: ParserPool) -> None:
    found: list[tuple[Any, bytes]] = []
    with pytest.raises(ParserCrashed) as crashed:
        await read_all(pool, "crash_in_the_second_content", b"whole", found=found)
    assert not crashed.value.killed
    assert found == [("first", b"whole")]
    assert await read_all(pool, "yield_contents", b"next", sizes="4") == [({"number": 0}, b"next")]


@pytest.mark.parametrize("reader", ["yield_contents_without_end", "yield_bytes_without_end"])
async def test_the_service_takes_no_more_than_its_bounds(pool: ParserPool, reader: str) -> None:
    with pytest.raises(ParserLimitReached) as reached:
        await read_all(pool, reader, bounds=SMALL)
    assert reached.value.limit == "output"


async def test_bytes_of_all_contents_together_have_a_bound(pool: ParserPool) -> None:
    found: list[tuple[Any, bytes]] = []
    with pytest.raises(ParserLimitReached) as reached:
        await read_all(pool, "yield_contents", bytes(12_000), bounds=SMALL, found=found, sizes="4000 4000 4000")
    assert reached.value.limit == "output"
    assert len(found) == 2


async def test_a_process_that_dawdles_between_contents_is_given_up_by_the_clock(pool: ParserPool) -> None:
    with pytest.raises(ParserLimitReached) as reached:
        await read_all(pool, "sleep_between_contents", limits=ParserLimits(wall_s=0.7))
    assert reached.value.limit == "time"


async def test_time_that_the_service_takes_is_not_the_files(pool: ParserPool) -> None:
    limits = ParserLimits(wall_s=0.5)
    found = await read_all(pool, "yield_contents", b"abc", limits=limits, pause_s=0.25, sizes="1 1 1")
    assert len(found) == 3


@pytest.mark.parametrize("reader", ["forge_content_of_no_size", "forge_length_prefix"])
async def test_a_forged_answer_ends_the_process(pool: ParserPool, reader: str) -> None:
    with pytest.raises((ParserCrashed, ParserLimitReached)):
        await read_all(pool, reader)
    assert await read_all(pool, "yield_contents", b"next", sizes="4") == [({"number": 0}, b"next")]
