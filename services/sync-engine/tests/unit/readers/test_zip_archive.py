import contextlib
import zipfile

import pytest
from container_files import PDF, lock_zip, make_zip
from hypothesis import given, settings
from hypothesis import strategies as st

from sync_engine.readers.contained import ContainerProblem, UnreadableContainer
from sync_engine.readers.zip_archive import MAX_ENTRIES, open_zip


def read_all(archive: bytes) -> dict[str | None, bytes]:
    return {file.filename: file.read(100_000) for file in open_zip(archive).files}


def find_problem(archive: bytes, size: int = 100_000) -> ContainerProblem:
    with pytest.raises(UnreadableContainer) as refused:
        [file.read(size) for file in open_zip(archive).files]
    return refused.value.problem


@pytest.mark.parametrize("compression", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_entries_are_read_however_they_are_packed(compression: int) -> None:
    assert read_all(make_zip({"a.pdf": PDF, "b.txt": b"text"}, compression=compression)) == {
        "a.pdf": PDF,
        "b.txt": b"text",
    }


def test_positions_are_numbers_of_entries_also_where_some_are_no_files() -> None:
    archive = make_zip({"folder/": b"", "__MACOSX/._a.pdf": b"x", "folder/a.pdf": PDF})
    assert [(file.position, file.filename) for file in open_zip(archive).files] == [("2", "folder/a.pdf")]


def test_a_file_in_the_folder_of_macos_is_a_file_where_macos_did_not_name_it() -> None:
    names = [
        "__MACOSX/invoice.pdf",
        "__MACOSX/a/._a.pdf",
        "x/__MACOSX/._b.pdf",
        "__MACOSX/._/c.pdf",
        "__MACOSX/._d\n.pdf",
    ]
    archive = make_zip(dict.fromkeys(names, PDF))
    assert [(file.position, file.filename) for file in open_zip(archive).files] == [
        ("0", "__MACOSX/invoice.pdf"),
        ("2", "x/__MACOSX/._b.pdf"),
        ("3", "__MACOSX/._/c.pdf"),
    ]


def test_a_folder_that_holds_bytes_is_a_file() -> None:
    assert read_all(make_zip({"folder/": PDF, "empty/": b""})) == {"folder/": PDF}


def test_a_name_in_utf8_without_the_flag_is_read() -> None:
    archive = make_zip({"f\u00fcr.pdf": PDF})
    at = archive.index(b"PK\x01\x02")
    without_flag = bytearray(archive)
    without_flag[7] &= ~8
    without_flag[at + 9] &= ~8
    assert list(read_all(bytes(without_flag))) == ["für.pdf"]


def test_a_locked_archive_says_so() -> None:
    assert find_problem(lock_zip(make_zip({"a.pdf": PDF}))) is ContainerProblem.ENCRYPTED


def test_a_bomb_shows_its_head_and_is_not_unpacked() -> None:
    archive = make_zip({"bomb.pdf": bytes(20_000_000)})
    (bomb,) = open_zip(archive).files
    assert bomb.read(4096) == bytes(4096)
    assert find_problem(archive) is ContainerProblem.LIMIT


def test_an_archive_of_too_many_entries_is_not_begun() -> None:
    assert find_problem(make_zip({str(number): b"" for number in range(MAX_ENTRIES + 1)})) is ContainerProblem.LIMIT


def test_a_size_that_lies_is_not_believed() -> None:
    archive = bytearray(make_zip({"a.pdf": PDF * 1000}))
    at = archive.index(b"PK\x01\x02")
    archive[at + 24 : at + 28] = (10).to_bytes(4, "little")
    assert find_problem(bytes(archive)) is ContainerProblem.BROKEN


@pytest.mark.parametrize("cut", [30, 100, 200])
def test_a_damaged_archive_says_so(cut: int) -> None:
    archive = make_zip({"a.pdf": PDF * 10}, compression=zipfile.ZIP_STORED)
    assert find_problem(archive[:cut]) is ContainerProblem.BROKEN


def test_damaged_bytes_are_told_by_their_checksum() -> None:
    archive = bytearray(make_zip({"a.pdf": PDF}, compression=zipfile.ZIP_STORED))
    archive[60] ^= 1
    assert find_problem(bytes(archive)) is ContainerProblem.BROKEN


@settings(max_examples=40)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with contextlib.suppress(UnreadableContainer):
        read_all(content)


@settings(max_examples=40)
@given(st.integers(0, 400), st.integers(0, 255))
def test_any_changed_byte_is_read_or_refused(at: int, value: int) -> None:
    archive = bytearray(make_zip({"a.pdf": PDF, "b/c.txt": b"text"}))
    archive[at % len(archive)] = value
    with contextlib.suppress(UnreadableContainer):
        read_all(bytes(archive))
