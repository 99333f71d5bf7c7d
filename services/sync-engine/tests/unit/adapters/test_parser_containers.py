"""What a parser process that a file has taken over may say, and what becomes of it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any, cast

import pytest

from mailroom_common.errors import ProviderUnavailable, Unavailable
from mailroom_common.parser import ParserCrashed
from mailroom_common.parser.answers import AnswerMalformed, decode_answer
from mailroom_common.parser.contents import Content
from mailroom_common.parser.pool import ParserPool
from sync_engine.adapters.parser_containers import ParserContainers, build_contained_part
from sync_engine.domain.content import ContainerKind

HERE = Path(__file__).parent
READ_ALL: Any = {"filename": None, "position": None, "max_bytes": 1000}
STORED = {"path": "0/1.2", "via": ["zip", "message"], "filename": "a.pdf", "kind": "pdf", "size_bytes": 3}


async def chunks(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def is_empty(folder: Path) -> bool:
    return not [*folder.iterdir()]


def build(**changed: Any) -> Any:
    description: Any = {**STORED, **changed}
    return decode_answer(build_contained_part, Content(description, chunks()))


def test_an_answer_of_our_reader_is_taken() -> None:
    part = build()
    assert (part.path, part.via) == ("0/1.2", (ContainerKind.ZIP, ContainerKind.MESSAGE))
    assert part.stored_type.media_type == "application/pdf"
    skipped = build(kind=None, skip_reason="empty")
    assert (skipped.stored_type, skipped.skip_reason) == (None, "empty")


@pytest.mark.parametrize(
    "changed",
    [
        {"path": "../1"},
        {"path": "1//2"},
        {"path": "1/" * 300 + "1"},
        {"path": 7},
        {"path": ""},
        {"path": "", "via": []},
        {"via": ["virus"]},
        {"via": None},
        {"via": {"zip": "not a list"}},
        {"via": ["zip"] * 11},
        {"via": [["zip"]]},
        {"kind": "text/html"},
        {"kind": "ole"},
        {"kind": ["pdf"]},
        {"kind": None, "skip_reason": "because"},
        {"kind": None, "skip_reason": ["empty"]},
        {"kind": None},
    ],
)
def test_a_content_of_another_form_is_malformed(changed: dict[str, Any]) -> None:
    with pytest.raises(AnswerMalformed):
        build(**changed)


@pytest.mark.parametrize("description", [None, "text", ["path"], 5])
def test_so_is_no_description_at_all(description: Any) -> None:
    with pytest.raises(AnswerMalformed):
        decode_answer(build_contained_part, Content(description, chunks()))


@pytest.fixture
async def hostile(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ParserPool]:
    """The file is the list of the contents that its process describes."""
    monkeypatch.setattr("sync_engine.adapters.parser_containers._READER", "describing_reader:describe_as_told")
    async with ParserPool(preload=["describing_reader"], search_path=[HERE], unreadable_reasons=["broken"]) as pool:
        yield pool


@pytest.mark.parametrize(
    "described",
    [
        [{**STORED, "path": "0"}, {**STORED, "path": "0"}],
        [{**STORED, "path": "0"}, {**STORED, "path": "1", "via": ["virus"]}],
        [{**STORED, "path": "0"}, None],
    ],
    ids=["one path twice", "no container of ours", "no description"],
)
async def test_a_container_that_took_its_process_over_keeps_what_came_before_and_costs_its_server(
    hostile: ParserPool, tmp_path: Path, described: Any
) -> None:
    containers = ParserContainers(hostile, tmp_path)
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.write_text(json.dumps([STORED]))
    bad.write_text(json.dumps(described))
    servers, found = [], []
    for file in (good, bad, good):
        with nullcontext() if file is good else pytest.raises(ParserCrashed, match="another shape"):
            contents = containers.read_contents("acme", ContainerKind.ZIP, file, **READ_ALL)
            async for part in contents:
                found.append(part.path)  # noqa: PERF401  # what came before the failure counts
        servers.append(await hostile.run_reader("describing_reader:find_server", b"", int))
    assert found == ["0/1.2", "0", "0/1.2"]
    assert servers[0] != servers[1] == servers[2]


def test_texts_that_cannot_be_stored_are_cut_and_cleaned() -> None:
    assert build(filename="a\x00\ud800" + "b" * 5000).filename.startswith("a")
    assert len(build(filename="b" * 5000).filename) <= 1000
    assert build(size_bytes="many").size_bytes is None


async def test_a_container_lies_in_the_scratch_folder_as_long_as_it_is_needed(tmp_path: Path) -> None:
    containers = ParserContainers(cast("ParserPool", None), tmp_path)
    async with containers.spool_container("acme", chunks(b"ab", b"c")) as file:
        assert file.read_bytes() == b"abc"
        assert file.parent == tmp_path
    assert is_empty(tmp_path)


async def test_a_stream_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"ab"
        raise ProviderUnavailable("the connection broke off")

    containers = ParserContainers(cast("ParserPool", None), tmp_path)
    with pytest.raises(ProviderUnavailable):
        await containers.spool_container("acme", breaking()).__aenter__()
    assert is_empty(tmp_path)


async def test_a_provider_that_sends_slowly_holds_no_place_for_long(tmp_path: Path) -> None:
    async def dawdling() -> AsyncIterator[bytes]:
        while True:
            yield b"a"
            await asyncio.sleep(0.01)

    containers = ParserContainers(cast("ParserPool", None), tmp_path, max_spooling_s=0.3)
    slow = [containers.spool_container("acme", dawdling()).__aenter__() for _ in range(20)]
    spooling = asyncio.gather(*slow, return_exceptions=True)
    await asyncio.sleep(0)
    async with asyncio.timeout(10), containers.spool_container("other", chunks(b"abc")) as file:
        assert file.read_bytes() == b"abc"
        assert not spooling.done(), "another tenant's place does not come after all of them"
    assert {type(error) for error in await spooling} == {ProviderUnavailable}
    assert is_empty(tmp_path)


async def test_a_time_out_of_the_provider_is_no_slow_container(tmp_path: Path) -> None:
    async def timing_out() -> AsyncIterator[bytes]:
        yield b"a"
        raise TimeoutError

    with pytest.raises(TimeoutError):
        await ParserContainers(cast("ParserPool", None), tmp_path).spool_container("acme", timing_out()).__aenter__()


async def test_a_disk_without_room_is_the_machines_trouble(tmp_path: Path) -> None:
    containers = ParserContainers(cast("ParserPool", None), tmp_path / "gone")
    with pytest.raises(Unavailable, match="scratch folder"):
        await containers.spool_container("acme", chunks(b"ab")).__aenter__()
