import pytest

import mailroom_common.providers.headers as headers
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
        "=?rot13?q?abc?=",
        "=?undefined?q?abc?=",
    ],
)
def test_an_encoded_word_that_nobody_can_read_stays_as_it_came(value: str) -> None:
    assert decode_words(value) == value
    assert select_filter_headers([{"name": "List-Id", "value": value}]) == {"list-id": value}
    assert parse_address(f"{value} <a@supplier.example>") == ("a@supplier.example", value)


def test_a_header_that_is_given_often_is_decoded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    decoded: list[str] = []

    def decode(value: str) -> str:
        decoded.append(value)
        return value

    monkeypatch.setattr(headers, "decode_words", decode)
    given = [{"name": name, "value": f"{number}"} for number, name in enumerate(["List-Id", "LIST-ID", "list-id"])]
    assert select_filter_headers(given) == {"list-id": "0"}
    assert decoded == ["0"]


def test_comments_without_end_are_nobodys_address() -> None:
    assert parse_address("(" * 5000 + "a@supplier.example") == (None, None)


def test_a_charset_that_no_mail_is_written_in_is_not_used() -> None:
    assert decode_words("=?punycode?q?fiqs8s?=") == "=?punycode?q?fiqs8s?="
    assert decode_words("=?unicode_escape?q?=5Cu0041?=") == "=?unicode_escape?q?=5Cu0041?="


def test_a_header_is_cut_after_its_words_are_read() -> None:
    assert decode_words("=?utf-8?q?=C3=BC?= " + "x" * 100_000) == "ü " + "x" * 998
    assert decode_words("x" * 100_000) == "x" * 1000
    assert select_filter_headers([{"name": "List-Id", "value": "x" * 100_000}, None, 7, {}]) == {"list-id": "x" * 1000}


def test_half_a_character_of_an_encoded_word_is_replaced() -> None:
    assert decode_words("=?utf-7?q?a+2D0-b?=") == "a�b"


def test_a_name_without_end_hides_no_address() -> None:
    assert parse_address("x" * 100_000 + " <billing@supplier.example>") == ("billing@supplier.example", None)
    assert parse_address("x" * 100_000) == (None, None)
