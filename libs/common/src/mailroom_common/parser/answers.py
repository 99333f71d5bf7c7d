"""The one place where what a parser process answers is checked: a file may have taken the process over."""

import re
from collections.abc import Callable, Collection
from typing import Any, TypeVar

from mailroom_common.parser.messages import JSON, ParserCrashed, ParserLimitReached, UnreadableFile

# Those that a process notices by itself; of processor time and of waiting it is told from outside.
_OWN_LIMITS = frozenset({"memory", "depth", "output"})
# What a function raises that was written for answers of our readers, and is given another one.
_SHAPE_ERRORS = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

T = TypeVar("T")


class AnswerMalformed(Exception):
    """Our reader does not answer so. Whoever meets this distrusts the process, and the server that forked it."""


def interpret_answer(answer: Any, reasons: Collection[str] | None) -> JSON:
    """What the reader returned. `reasons` are those that its readers have, None for any.

    Raises:
        UnreadableFile, ParserLimitReached, ParserCrashed: as the process says.
        AnswerMalformed
    """
    match answer if isinstance(answer, dict) and len(answer) == 1 else None:
        case {"value": value}:
            result: JSON = value
            return result
        case {"unreadable": str(reason)} if _is_word(reason) and (reasons is None or reason in reasons):
            raise UnreadableFile(reason)
        case {"limit": str(limit)} if limit in _OWN_LIMITS:
            raise ParserLimitReached(limit)
        case {"raised": str(error)} if _is_word(error):
            raise ParserCrashed(f"the reader raised {error}")
    raise AnswerMalformed("an answer of no known kind")


def decode_answer(decode: Callable[[Any], T], answer: Any) -> T:
    """What `decode` makes of an answer, or of a content.

    Raises:
        AnswerMalformed: `decode` failed.
    """
    try:
        return decode(answer)
    except _SHAPE_ERRORS as error:
        raise AnswerMalformed(f"an answer of another shape: {type(error).__name__}") from error


def decode_nothing(answer: Any) -> None:
    """Behind the last content a reader has no more to say."""
    if answer is not None:
        raise ValueError("a value behind the contents")


def _is_word(text: str) -> bool:
    """As our readers' reasons are. Logged: a file that took the process over writes no text there."""
    return re.fullmatch(r"\w{1,100}", text, re.ASCII) is not None
