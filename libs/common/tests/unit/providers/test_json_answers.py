import json

import orjson
import pytest
from fault_samples import FAULT_SAMPLES
from hypothesis import given
from hypothesis import strategies as st

from mailroom_common.providers.json_answers import parse_json

WHOLE = {"value": [{"id": "1", "subject": "Rechnung ü 😀"}, {"id": "2", "subject": None}], "n": 1.5}


@pytest.mark.parametrize(
    ("character", "read_as"),
    [
        pytest.param(rb"\ud83d", "�", id="first half of a surrogate pair"),
        pytest.param(rb"\ude00", "�", id="second half"),
        pytest.param(rb"\ude00\ud83d", "��", id="both halves the wrong way round"),
        pytest.param(rb"\ud83d\ude00", "😀", id="a whole pair"),
        pytest.param(rb"\\ud83d", r"\ud83d", id="an escaped backslash, and no escape"),
        pytest.param(rb"\u0000", "�", id="nul, escaped"),
        pytest.param(b"\x00", "�", id="nul"),
        pytest.param(b"\x0b", "\x0b", id="control character"),
        pytest.param(b"\n", "\n", id="line break"),
        pytest.param(b"\xff", "�", id="no UTF-8"),
        pytest.param(b"\xed\xa0\xbd", "���", id="half a surrogate pair as if it were UTF-8"),
        pytest.param(b"\xe2\x82", "�", id="half a character"),
    ],
)
def test_an_odd_character_costs_that_character_alone(character: bytes, read_as: str) -> None:
    body = b'{"value": [{"id": "0", "subject": "Rechnung 0"}, {"id": "1", "subject": "a%sb"}, {"id": "2"}]}' % character
    assert parse_json(body) == {
        "value": [{"id": "0", "subject": "Rechnung 0"}, {"id": "1", "subject": f"a{read_as}b"}, {"id": "2"}]
    }


@pytest.mark.parametrize(
    ("sample", "subject"),
    [
        ("lone-surrogate", "Rechnung \ufffd"),
        ("bad-utf8", "Rechnung \ufffd\ufffd\ufffd\ufffd"),
        ("control", "Rechnung \x0b1"),
        ("bom", "Rechnung 1"),
    ],
)
def test_all_three_messages_of_each_sample_page_are_read(sample: str, subject: str) -> None:
    page = parse_json((FAULT_SAMPLES / "json-with-half-a-character" / f"{sample}.json").read_bytes())
    assert isinstance(page, dict)
    assert [item["subject"] for item in page["value"]] == ["Rechnung 0", subject, "Rechnung 2"]


def test_an_odd_character_may_stand_in_a_name_too() -> None:
    assert parse_json(rb'{"a\u0000b": {"\ud83d": 1}}') == {"a�b": {"�": 1}}


def test_a_byte_order_mark_is_passed_over() -> None:
    assert parse_json(b"\xef\xbb\xbf" + json.dumps(WHOLE).encode()) == WHOLE


def test_a_number_that_nobody_can_read_costs_that_number() -> None:
    assert parse_json(b'{"size": NaN, "id": "1"}') == {"size": None, "id": "1"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>gateway</html>",
        b'{"access_token": "secret-canary"',
        b'{"secret-canary": \xff}',
        b"[" * 100_000 + b'"secret-canary"' + b"]" * 100_000,
        b'{"secret-canary": ' + b"9" * 5_000 + b"\x01}",
    ],
)
def test_what_is_no_json_is_refused_and_not_repeated(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"^no JSON$") as caught:
        parse_json(body)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


@given(st.text(st.characters(codec=None)), st.binary())
def test_every_text_can_be_stored(text: str, raw: bytes) -> None:
    for body in (json.dumps([text]).encode(), b'["' + raw.translate(None, b'\\"') + b'"]'):
        assert b"\\u0000" not in orjson.dumps(parse_json(body)).replace(rb"\\", b"")
