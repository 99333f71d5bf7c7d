"""Tracebacks for a log: where an error came from, without what it quotes.

Errors of libraries repeat what they failed over: `int()` the text, pydantic the input, Postgres the whole row. That may
be somebody's mail or token, and a log is read by more people than a mailbox.
"""

import re
import textwrap
import traceback
from collections.abc import Iterator

from structlog.typing import ExcInfo

from mailroom_common.errors import MailroomError

# From the first quotation mark, brace or tuple on: an apostrophe in what is quoted would end it too early.
_QUOTED = re.compile(r"""(?<!\w)['"].*|[bfr]['"].*|\{.*|\([^()]*,.*""", re.DOTALL)
_WITHOUT_INPUT = (AttributeError, ImportError, NameError, TypeError, OSError)  # these quote names and paths of ours
_MAX_MESSAGE_CHARACTERS = 300
_MAX_ERRORS = 50  # of a group and what caused them


def format_traceback(exc_info: ExcInfo) -> str:
    return "\n".join(_format_error(exc_info[1], set())).rstrip()


def describe_without_quotes(error: BaseException) -> str:
    """The type and the first line of the message, up to what it quotes; ours have ids only."""
    name = f"{type(error).__module__}.{type(error).__qualname__}".removeprefix("builtins.")
    message = str(error)
    if not isinstance(error, (MailroomError, *_WITHOUT_INPUT)):
        message = _QUOTED.sub("…", message.partition("\n")[0][:_MAX_MESSAGE_CHARACTERS])
    return f"{name}: {message}" if message else name


def _format_error(error: BaseException, seen: set[int]) -> Iterator[str]:
    seen.add(id(error))
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    if cause is not None and id(cause) not in seen and len(seen) < _MAX_ERRORS:
        yield from _format_error(cause, seen)
        yield "\nfrom which came:\n"
    yield "Traceback (most recent call last):"
    yield "".join(traceback.format_tb(error.__traceback__)).rstrip()
    yield describe_without_quotes(error)
    for inner in error.exceptions if isinstance(error, BaseExceptionGroup) else ():
        if id(inner) not in seen and len(seen) < _MAX_ERRORS:
            yield textwrap.indent("\n".join(_format_error(inner, seen)), "  | ")
