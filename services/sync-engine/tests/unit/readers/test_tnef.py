import contextlib

import pytest
from container_files import PDF, make_tnef
from hypothesis import given, settings
from hypothesis import strategies as st

from sync_engine.domain.content import ContainerKind
from sync_engine.readers.contained import ContainerProblem, UnreadableContainer
from sync_engine.readers.tnef import open_tnef


def read_all(content: bytes) -> list[tuple[str, str | None, bytes]]:
    return [(file.position, file.filename, file.read(100_000)) for file in open_tnef(content).files]


def test_attachments_have_their_long_names() -> None:
    content = make_tnef({"Rechnung für März 2026.pdf": PDF, "b.txt": b"text"})
    assert read_all(content) == [("0", "Rechnung für März 2026.pdf", PDF), ("1", "b.txt", b"text")]


def test_an_attached_mail_is_opened_as_one() -> None:
    inner = make_tnef({"a.pdf": PDF})
    (nested,) = open_tnef(make_tnef({}, {"Rechnung": inner})).files
    assert nested.nested_kind is ContainerKind.TNEF
    assert nested.open_nested is not None
    assert [file.filename for file in nested.open_nested().files] == ["a.pdf"]
    assert nested.read(100_000) == inner


def test_what_came_before_a_cut_is_found_and_the_cut_is_said() -> None:
    content = make_tnef({"a.pdf": PDF, "b.pdf": PDF})
    found: list[str | None] = []
    with pytest.raises(UnreadableContainer) as refused:
        found.extend(file.filename for file in open_tnef(content[:-150]).files)
    assert found[0] == "a.pdf"
    assert refused.value.problem is ContainerProblem.BROKEN


def test_padding_behind_the_last_attribute_is_no_damage() -> None:
    assert len(read_all(make_tnef({"a.pdf": PDF}) + b"\0\0\r\n")) == 1


def test_other_bytes_are_refused() -> None:
    with pytest.raises(UnreadableContainer):
        open_tnef(b"no such thing")


@settings(max_examples=40)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with contextlib.suppress(UnreadableContainer):
        read_all(b"\x78\x9f\x3e\x22" + content)


@settings(max_examples=40)
@given(st.integers(0, 1000), st.integers(0, 255))
def test_any_changed_byte_is_read_or_refused(at: int, value: int) -> None:
    content = bytearray(make_tnef({"a.pdf": PDF}, {"m": make_tnef({"b": b"x"})}))
    content[at % len(content)] = value
    with contextlib.suppress(UnreadableContainer):
        read_all(bytes(content))
