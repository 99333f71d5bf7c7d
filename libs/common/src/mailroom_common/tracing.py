"""W3C trace context of the work in hand: carried from a record's header to its log lines and the records it writes."""

import random
import re
from contextvars import ContextVar, Token

import structlog

_TRACEPARENT = re.compile(r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
# structlog's own context holds it too: that is what puts it on each log line of the work.
_current: ContextVar[str | None] = ContextVar("traceparent", default=None)


def generate_traceparent() -> str:
    """Begins a new trace."""
    ids = f"{random.getrandbits(192):048x}"  # names, no secrets: the gateway needs thousands a second
    return f"00-{ids[:32]}-{ids[32:]}-01"


def get_or_create_traceparent() -> str:
    """What a record written now should carry: the context of the work in hand, or a new trace where there is none."""
    return _current.get() or generate_traceparent()


class bind_traceparent:  # noqa: N801  # a context manager; as a class, since a generator costs more than all that it does
    """Do the work of a record under the trace that it carries; what is no traceparent begins a new trace.

    Every log line that is written inside, by any task that the work starts too, has it as `traceparent`.
    """

    __slots__ = ("_bound", "_token", "_traceparent")

    def __init__(self, received: str | None) -> None:
        is_valid = received is not None and _TRACEPARENT.fullmatch(received) is not None
        self._traceparent = received if is_valid else generate_traceparent()

    def __enter__(self) -> None:
        self._token: Token[str | None] = _current.set(self._traceparent)
        self._bound = structlog.contextvars.bind_contextvars(traceparent=self._traceparent)

    def __exit__(self, *_error: object) -> None:
        structlog.contextvars.reset_contextvars(**self._bound)
        _current.reset(self._token)
