import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from mailroom_common.parser import JSON, ParserCrashed, ParserLimitReached, ParserLimits, UnreadableFile
from mailroom_common.parser.contents import Content, ContentBounds, ContentStream
from mailroom_common.parser.messages import MAX_CHUNK_BYTES, encode_message
from mailroom_common.parser.pool import ParserPool

HERE = Path(__file__).parent
LIMITS = ParserLimits(memory_bytes=256 * 1024 * 1024, cpu_s=10, wall_s=60)
SMALL = ContentBounds(contents=3, content_bytes=5000, total_bytes=8000)


@pytest.fixture
async def pool() -> AsyncIterator[ParserPool]:
    async with ParserPool(preload=["hostile_readers"], search_path=[HERE], limits=LIMITS) as opened:
        yield opened


def as_it_is(answer: Any) -> Any:
    return answer


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
            f"hostile_readers:{reader}", source, as_it_is, arguments=arguments, bounds=bounds, limits=limits
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
        contents = document.read_contents(
            "hostile_readers:yield_contents", b"aaaabbbbcc", as_it_is, arguments={"sizes": "4 4 2"}
        )
        found = []
        async for content in contents:
            if content.description != {"number": 2}:
                await anext(content.chunks)
                continue
            found = [chunk async for chunk in content.chunks]
    assert b"".join(found) == b"cc"


async def test_a_process_reads_the_next_file_after_contents(pool: ParserPool) -> None:
    async with pool.open_document() as document:
        sizes = {"sizes": "2"}
        async for _ in document.read_contents("hostile_readers:yield_contents", b"ab", as_it_is, arguments=sizes):
            pass
        answer: Any = await document.run_reader("hostile_readers:count_bytes", b"123", as_it_is)
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


@pytest.mark.parametrize(
    "forged",
    [
        pytest.param(b'{"content":1}\n{"bytes":-5}', id="no possible size"),
        pytest.param(b'{"content":1}\n{"bytes":true}', id="no size"),
        pytest.param(b'{"content":1}\n{"content":2', id="no JSON"),
        pytest.param(b'{"bytes":1}', id="bytes of no content"),
        pytest.param(b'{"content":1}\n{"value":"more"}', id="a value behind the contents"),
        pytest.param(b'{"content":"no number"}', id="another shape"),
        pytest.param(b'{"content":1}\n' * 4, id="more contents than our reader gives"),
    ],
)
async def test_contents_of_another_form_cost_their_document_and_its_server(pool: ParserPool, forged: bytes) -> None:
    async with pool.open_document() as document:
        before: Any = await document.run_reader("hostile_readers:count_bytes", b"", as_it_is)
        numbers = document.read_contents("hostile_readers:forge_contents", forged, to_number, bounds=SMALL)
        with pytest.raises((ParserCrashed, ParserLimitReached)):
            await count_contents(numbers)
    assert (await pool.run_reader("hostile_readers:count_bytes", b"", dict))["server"] != before["server"]


@pytest.fixture
def written_ahead() -> Iterator[int]:
    """A pipe in which all answers are there before the first is read."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    answers: list[JSON] = [*({"content": number} for number in range(500)), {"value": None}]
    os.write(writing, b"".join(encode_message(answer) for answer in answers))
    yield reading
    os.close(reading)
    os.close(writing)


async def test_other_work_goes_on_while_what_a_process_has_written_ahead_is_read(written_ahead: int) -> None:
    other_work = 0

    async def work() -> None:
        nonlocal other_work
        while True:
            other_work += 1
            await asyncio.sleep(0)

    working = asyncio.create_task(work())
    stream = ContentStream(written_ahead, nullcontext, LIMITS, ContentBounds())
    assert len([content async for content in stream.read_contents()]) == 500
    assert other_work >= 500
    working.cancel()


async def test_what_a_process_has_written_ahead_costs_its_time(written_ahead: int) -> None:
    stream = ContentStream(written_ahead, nullcontext, ParserLimits(wall_s=0), ContentBounds())
    with pytest.raises(TimeoutError):
        await anext(stream.read_contents())


async def test_a_reader_keeps_a_description_that_is_too_long_to_itself(pool: ParserPool) -> None:
    before = (await pool.run_reader("hostile_readers:count_bytes", b"", dict))["server"]
    with pytest.raises(ParserLimitReached) as reached:
        await read_all(pool, "describe_without_end", limits=ParserLimits(output_bytes=64 * 1024))
    assert reached.value.limit == "output"
    assert (await pool.run_reader("hostile_readers:count_bytes", b"", dict))["server"] == before


async def test_contents_that_nobody_wants_to_the_end_say_nothing_against_their_process(pool: ParserPool) -> None:
    async with pool.open_document() as document:
        before: Any = await document.run_reader("hostile_readers:count_bytes", b"", as_it_is)
        sizes = {"sizes": "1 1"}
        contents = document.read_contents("hostile_readers:yield_contents", b"ab", as_it_is, arguments=sizes)
        await anext(contents)
        await contents.aclose()
    assert (await pool.run_reader("hostile_readers:count_bytes", b"", dict))["server"] == before["server"]


async def count_contents(contents: AsyncIterator[object]) -> int:
    return len([content async for content in contents])


def to_number(content: Content) -> int:
    assert isinstance(content.description, int | str)
    return int(content.description)
