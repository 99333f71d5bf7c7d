"""Whether a client state is the one that we gave to Graph: by its SHA-256, all that the topic carries of it."""

from collections.abc import Callable
from datetime import datetime
from enum import Enum, auto
from hashlib import sha256
from hmac import compare_digest

from mailroom_common.events import DocSource, DocSourceState

_NOBODYS = "0" * 64


class Verdict(Enum):
    GENUINE = auto()
    NOT_WANTED = auto()  # genuine, of a source that is being deleted, or a change of one that is paused
    UNEXPLAINED = auto()  # forged, or newer than what we have read of `doc-sources`


# Its mail is fetched when it is resumed, from the cursor.
_RESTING = frozenset({DocSourceState.PAUSED, DocSourceState.DELETING})
# A paused source keeps its subscription: what the provider says of that one it says once, and it must be acted on.
_ENDING = frozenset({DocSourceState.DELETING})


def judge(
    client_state: str | None, find: Callable[[str], DocSource | None], now: datetime, *, is_lifecycle: bool = False
) -> tuple[Verdict, DocSource | None]:
    """The verdict on a change or a lifecycle event, and the source when it is genuine.

    Every comparison is made, and made in constant time, also for a source that does not exist: how long the answer
    takes tells a stranger nothing. Hashes of a replaced subscription count until that one has expired.
    """
    shown = sha256((client_state or "").encode("utf-8", "surrogatepass")).hexdigest()
    source = find(client_state.partition(":")[0]) if client_state else None
    if source is None or not source.client_states:
        compare_digest(shown, _NOBODYS)
        return Verdict.UNEXPLAINED, None
    matches = False
    for expected in source.client_states:
        matches |= compare_digest(shown, expected.sha256) & (expected.valid_until > now)
    if not matches:
        return Verdict.UNEXPLAINED, None
    unwanted = _ENDING if is_lifecycle else _RESTING
    return (Verdict.NOT_WANTED if source.state in unwanted else Verdict.GENUINE), source


def is_resting(source: DocSource) -> bool:
    """Whether its changes are dropped."""
    return source.state in _RESTING
