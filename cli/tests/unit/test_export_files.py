"""Exports: a file is whole, or it is not there."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from mailroom_cli.export_files import write_export
from mailroom_common.errors import Rejected, Unavailable


def break_off() -> Iterator[bytes]:
    yield b"id\r\n"
    raise Unavailable("the site does not answer")


def test_an_export_that_breaks_off_leaves_what_was_there(tmp_path: Path) -> None:
    output = tmp_path / "all.csv"
    with pytest.raises(Unavailable):
        write_export(break_off(), output)
    assert list(tmp_path.iterdir()) == []
    output.write_bytes(b"of yesterday")
    with pytest.raises(Unavailable):
        write_export(break_off(), output)
    assert [(file.name, file.read_bytes()) for file in tmp_path.iterdir()] == [("all.csv", b"of yesterday")]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    for wrong in (tmp_path / "none" / "all.csv", tmp_path):
        with pytest.raises(Rejected, match=str(wrong)):
            write_export([b"id"], wrong)
