import pytest

from mailroom_common.providers.headers import decode_words, parse_address, select_filter_headers


def test_encoded_words_are_read() -> None:
    assert decode_words("=?utf-8?b?w7w=?= and =?iso-8859-1?q?=FC?=") == "ü and ü"


@pytest.mark.parametrize(
    "value",
    [
        "=?\u00fc?q?abc?=",  # a charset whose name is no ASCII
        "=?no-such-charset?q?abc?=",
        "=?utf-8?q?=FF?=",
        "=?utf-8?b?A?=",
        "=?a\0b?q?abc?=",
        "=?rot13?q?abc?=",
        "=?undefined?q?abc?=",
    ],
)
def test_an_encoded_word_that_nobody_can_read_stays_as_it_came(value: str) -> None:
    assert decode_words(value) == value
    assert select_filter_headers([{"name": "List-Id", "value": value}]) == {"list-id": value}
    assert parse_address(f"{value} <a@supplier.example>") == ("a@supplier.example", value)


def test_comments_without_end_are_nobodys_address() -> None:
    assert parse_address("(" * 5000 + "a@supplier.example") == (None, None)
