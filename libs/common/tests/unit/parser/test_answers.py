"""What a process may answer: all else is no answer of our readers."""

from typing import Any

import pytest

from mailroom_common.parser import ParserCrashed, ParserLimitReached, UnreadableFile
from mailroom_common.parser.answers import AnswerMalformed, decode_answer, decode_nothing, interpret_answer

REASONS = frozenset({"encrypted"})


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        "value",
        {},
        {"value": 1, "unreadable": "encrypted"},
        {"unreadable": "not_a_reason_of_this_reader"},
        {"unreadable": None},
        {"limit": "patience"},
        {"limit": ["memory"]},
        {"raised": "ValueError: what the file says"},
        {"raised": "line\n"},
        {"raised": "x" * 101},
        {"raised": "gr\u00f6\u00dfe"},
        {"raised": ""},
        {"content": {}},
        {"bytes": 1},
    ],
)
def test_an_answer_of_no_known_kind_is_malformed(answer: Any) -> None:
    with pytest.raises(AnswerMalformed):
        interpret_answer(answer, REASONS)


@pytest.mark.parametrize("reason", ["two words", "x" * 101, "line\n"])
def test_a_reason_is_one_word_where_any_is_taken(reason: str) -> None:
    with pytest.raises(AnswerMalformed):
        interpret_answer({"unreadable": reason}, None)


def test_answers_of_our_readers_are_what_they_say() -> None:
    assert interpret_answer({"value": {"pages": 1}}, REASONS) == {"pages": 1}
    with pytest.raises(UnreadableFile, match="encrypted"):
        interpret_answer({"unreadable": "encrypted"}, REASONS)
    with pytest.raises(ParserCrashed, match="the reader raised KeyError"):
        interpret_answer({"raised": "KeyError"}, REASONS)
    for limit in ("memory", "depth", "output"):
        with pytest.raises(ParserLimitReached, match=limit):
            interpret_answer({"limit": limit}, REASONS)


@pytest.mark.parametrize(
    ("decode", "answer"),
    [
        (dict, 5),
        (int, "text"),
        (lambda answer: answer["missing"], {}),
        (lambda answer: answer.missing, {}),
        (lambda answer: 1 / answer, 0),
        (decode_nothing, 1),
    ],
)
def test_what_cannot_be_decoded_is_malformed_and_quoted_nowhere(decode: Any, answer: Any) -> None:
    with pytest.raises(AnswerMalformed, match=r"^an answer of another shape: \w+$"):
        decode_answer(decode, answer)
