"""What a parser process that a file has taken over may say, and what becomes of it."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest

from mailroom_common.errors import ProviderUnavailable, Unavailable
from mailroom_common.parser import ParserCrashed
from mailroom_common.parser.contents import Content
from mailroom_common.parser.pool import ParserPool
from sync_engine.adapters.parser_containers import ParserContainers, build_contained_part
from sync_engine.domain.content import ContainerKind

STORED = {"path": "0/1.2", "via": ["zip", "message"], "filename": "a.pdf", "kind": "pdf", "size_bytes": 3}


async def chunks(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def is_empty(folder: Path) -> bool:
    return not [*folder.iterdir()]


def build(**changed: Any) -> Any:
    description: Any = {**STORED, **changed}
    return build_contained_part(Content(description, chunks()))


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
        {"via": ["virus"]},
        {"via": None},
        {"kind": "text/html"},
        {"kind": "ole"},
        {"kind": None, "skip_reason": "because"},
        {"kind": None},
    ],
)
def test_an_answer_of_another_shape_is_a_crash(changed: dict[str, Any]) -> None:
    with pytest.raises(ParserCrashed):
        build(**changed)


@pytest.mark.parametrize("description", [None, "text", ["path"], 5])
def test_so_is_no_description_at_all(description: Any) -> None:
    with pytest.raises(ParserCrashed):
        build_contained_part(Content(description, chunks()))


def test_texts_that_cannot_be_stored_are_cut_and_cleaned() -> None:
    assert build(filename="a\x00\ud800" + "b" * 5000).filename.startswith("a")
    assert len(build(filename="b" * 5000).filename) <= 1000
    assert build(size_bytes="many").size_bytes is None


async def test_a_container_lies_in_the_scratch_folder_as_long_as_it_is_needed(tmp_path: Path) -> None:
    containers = ParserContainers(cast("ParserPool", None), tmp_path)
    async with containers.spool_container(chunks(b"ab", b"c")) as file:
        assert file.read_bytes() == b"abc"
        assert file.parent == tmp_path
    assert is_empty(tmp_path)


async def test_a_stream_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    async def breaking() -> AsyncIterator[bytes]:
        yield b"ab"
        raise ProviderUnavailable("the connection broke off")

    containers = ParserContainers(cast("ParserPool", None), tmp_path)
    with pytest.raises(ProviderUnavailable):
        await containers.spool_container(breaking()).__aenter__()
    assert is_empty(tmp_path)


async def test_a_disk_without_room_is_the_machines_trouble(tmp_path: Path) -> None:
    containers = ParserContainers(cast("ParserPool", None), tmp_path / "gone")
    with pytest.raises(Unavailable, match="scratch folder"):
        await containers.spool_container(chunks(b"ab")).__aenter__()
