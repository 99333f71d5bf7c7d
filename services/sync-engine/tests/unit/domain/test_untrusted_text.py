import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailroom_common.providers.types import MessageSummary
from sync_engine.domain.untrusted_text import clean_filename, clean_summary, file_extension


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("invoice.pdf", "invoice.pdf"),
        ("../../etc/invoice.pdf", "invoice.pdf"),
        ("C:\\Temp\\rechnung.pdf", "rechnung.pdf"),
        ("folder/sub\\mixed.pdf", "mixed.pdf"),
        ("folder/", "folder"),
        ("Facture n° 10 – pièce jointe de l’été.pdf", "Facture n° 10 – pièce jointe de l’été.pdf"),
        ("  many\t \r\n blanks .pdf ", "many blanks .pdf"),
        ("nul\x00l.pdf", "null.pdf"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("lone\ud800surrogate.pdf", "lonesurrogate.pdf"),
        ("..", None),
        ("///", None),
        ("", None),
        (None, None),
    ],
)
def test_a_name_is_the_last_piece_of_what_was_sent(raw: str | None, name: str | None) -> None:
    assert clean_filename(raw) == name


def test_a_long_name_keeps_its_ending() -> None:
    name = clean_filename("x" * 5000 + ".pdf")
    assert name is not None
    assert len(name) == 200
    assert name.endswith("x.pdf")


def test_a_name_that_is_just_short_enough_stays_as_it_is() -> None:
    name = "x" * 196 + ".PDF"
    assert clean_filename(name) == name
    assert clean_filename(f"x{name}") == "x" * 196 + ".pdf"


def test_an_ending_has_ten_characters_at_most() -> None:
    assert file_extension("a." + "x" * 10) == "x" * 10
    assert file_extension("a." + "x" * 11) == ""


@given(st.text())
def test_no_name_can_leave_a_folder_or_hide_characters(raw: str) -> None:
    name = clean_filename(raw)
    if name is not None:
        assert not set(name) & {"/", "\\", "\x00", "\n", "\u202e"}
        assert name not in {".", ".."}
        assert 0 < len(name) <= 200
        assert clean_filename(name) == name
        name.encode()


@pytest.mark.parametrize(
    ("name", "ending"),
    [("a.PDF", "pdf"), ("a.b.tif", "tif"), (".profile", ""), ("none", ""), ("a.", ""), ("a. pdf", "pdf"), (None, "")],
)
def test_an_extension_is_what_follows_the_last_dot(name: str | None, ending: str) -> None:
    assert file_extension(name) == ending


def test_every_text_of_a_summary_is_cleaned() -> None:
    raw = MessageSummary(
        message_id="m",
        internet_message_id="<\x00i>",
        conversation_id="c\x00",
        subject="s\x00",
        sender_address="a\x00",
        sender_name="n\x00",
        importance="h\x00",
        categories=("red\x00", ""),
    )
    assert clean_summary(raw) == MessageSummary(
        message_id="m",
        internet_message_id="<�i>",
        conversation_id="c�",
        subject="s�",
        sender_address="a�",
        sender_name="n�",
        importance="h�",
        categories=("red�", ""),
    )
