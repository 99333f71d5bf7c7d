"""W3C trace context of the work in hand, carried from a record's header to the records that the work writes."""

import random
import re
from contextvars import ContextVar

_TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_current: ContextVar[str | None] = ContextVar("traceparent", default=None)


def generate_traceparent() -> str:
    """A trace of its own."""
    ids = f"{random.getrandbits(192):048x}"  # names, no secrets: the gateway needs thousands a second
    return f"00-{ids[:32]}-{ids[32:]}-01"


def current_traceparent() -> str:
    """What a record written now should carry: the work's own context, or a new trace where there is none."""
    return _current.get() or generate_traceparent()


class bind_traceparent:  # noqa: N801  # a context manager; as a class, since a generator costs more than all that it does
    """Do the work of a record under the trace that it carries; what is no traceparent starts a new trace."""

    __slots__ = ("_token", "_traceparent")

    def __init__(self, received: str | None) -> None:
        known = received is not None and _TRACEPARENT.fullmatch(received) is not None
        self._traceparent = received if known else generate_traceparent()

    def __enter__(self) -> None:
        self._token = _current.set(self._traceparent)

    def __exit__(self, *_error: object) -> None:
        _current.reset(self._token)
