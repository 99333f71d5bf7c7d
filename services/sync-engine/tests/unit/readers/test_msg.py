import pytest
from container_files import PDF, make_compound_file, make_msg, pad_stream
from hypothesis import given, settings
from hypothesis import strategies as st

from sync_engine.domain.content import ContainerKind
from sync_engine.domain.parts import SkipReason
from sync_engine.readers.contained import NoContainer, UnreadableContainer
from sync_engine.readers.msg import open_msg

SAVED_MAIL = make_msg({"für März.pdf": PDF, "b.txt": b"text"}, {"Rechnung": {"c.pdf": PDF}})


def test_attachments_are_found_by_their_numbers() -> None:
    files = list(open_msg(SAVED_MAIL).files)
    assert [(file.position, file.filename) for file in files] == [
        ("0", "für März.pdf"),
        ("1", "b.txt"),
        ("2", "Rechnung"),
    ]
    assert files[0].read(100_000) == pad_stream(PDF)
    assert files[0].read(5) == b"%PDF-"


def test_an_attached_mail_is_opened_as_one() -> None:
    *_, nested = open_msg(SAVED_MAIL).files
    assert nested.nested_kind is ContainerKind.MSG
    assert nested.open_nested is not None
    assert [(file.position, file.filename) for file in nested.open_nested().files] == [("0", "c.pdf")]


def test_another_compound_file_is_no_mail() -> None:
    with pytest.raises(NoContainer) as found:
        open_msg(make_compound_file({"WordDocument": b"text"}))
    assert found.value.skip_reason is SkipReason.NOT_A_DOCUMENT


@pytest.mark.parametrize("cut", [8, 100, 512, 2000])
def test_a_file_that_was_cut_short_is_refused(cut: int) -> None:
    with pytest.raises((UnreadableContainer, NoContainer)):
        [file.read(10) for file in open_msg(SAVED_MAIL[:cut]).files]


@settings(max_examples=25)
@given(st.integers(0, 100_000), st.binary(min_size=1, max_size=8))
def test_any_changed_bytes_are_read_or_refused(at: int, value: bytes) -> None:
    content = bytearray(SAVED_MAIL)
    at %= len(content) - len(value)
    content[at : at + len(value)] = value
    try:
        for file in open_msg(bytes(content)).files:
            file.read(10)
    except (UnreadableContainer, NoContainer):
        pass
