import pytest

from mailroom_common.providers.untrusted_text import (
    MAX_ID_BYTES,
    clean_text,
    read_filename,
    read_flag,
    read_id,
    read_object,
    read_size,
    read_text,
    read_texts,
)

ODD_VALUES: tuple[object, ...] = (None, True, 7, -1, 1.5, [], {}, ["a"], {"a": "b"})


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("", ""),
        ("Rechnung für März", "Rechnung für März"),
        ("nul\x00l", "nul�l"),
        ("lone \ud800 surrogate", "lone � surrogate"),
        ("x" * 5000, "x" * 1000),
    ],
)
def test_a_text_can_be_stored_whatever_was_sent(text: str, cleaned: str) -> None:
    assert clean_text(text) == read_text(text) == cleaned
    assert read_texts([text, 7]) == (cleaned,)
    assert clean_text(None) is None


@pytest.mark.parametrize("value", ODD_VALUES)
def test_what_is_no_text_is_unknown(value: object) -> None:
    assert read_text(value) is read_filename(value) is read_id(value) is None
    assert read_flag(value) is (value if value is True else None)
    assert read_object({"a": value}, "a") == (value if isinstance(value, dict) else {})


@pytest.mark.parametrize(
    ("value", "size"),
    [(0, 0), (25, 25), ("25", 25), (-1, None), (True, None), ("²", None), ("", None), ("9" * 5000, None), (1.5, None)],
)
def test_a_size_is_a_number_or_its_digits(value: object, size: int | None) -> None:
    assert read_size(value) == size


def test_a_size_fits_into_its_column() -> None:
    assert read_size("9" * 16) == 2**53


def test_a_long_file_name_keeps_its_beginning_and_its_ending() -> None:
    name = read_filename("Rechnung " + "x" * 100_000 + ".pdf")
    assert name is not None
    assert len(name) == 1000
    assert name.startswith("Rechnung x")
    assert name.endswith("x.pdf")


def test_an_empty_file_name_is_none() -> None:
    assert read_filename("") is None


def test_an_id_is_whole_or_none() -> None:
    assert read_id("a" * MAX_ID_BYTES) == "a" * MAX_ID_BYTES
    assert read_id("a" * (MAX_ID_BYTES + 1)) is None
    assert read_id("ü" * MAX_ID_BYTES) is None
    assert read_id("") is None
