"""W3C trace context of the work in hand, carried from a record's header to the records that the work writes."""

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_current: ContextVar[str | None] = ContextVar("traceparent", default=None)


def new_traceparent() -> str:
    """A trace of its own. Ids need to be unlikely to meet, not secret."""
    return f"00-{random.getrandbits(128):032x}-{random.getrandbits(64):016x}-01"


def traceparent() -> str:
    """What a record written now should carry: the work's own context, or a new trace where there is none."""
    return _current.get() or new_traceparent()


@contextmanager
def traced(received: str | None) -> Iterator[None]:
    """Do the work of a record under the trace that it carries; what is no traceparent starts a new trace."""
    known = received is not None and _TRACEPARENT.fullmatch(received) is not None
    token = _current.set(received if known else new_traceparent())
    try:
        yield
    finally:
        _current.reset(token)
