"""How a push was taken. The routes make status codes of it."""

from enum import Enum, auto
from typing import NamedTuple


class Outcome(Enum):
    ACCEPTED = auto()  # written and acknowledged, or rightly dropped
    UNKNOWN_ADDRESS = auto()  # nobody's mailbox: acknowledged, so that Pub/Sub stops repeating it
    MALFORMED = auto()
    MISMATCH = auto()  # at least one item is not explained by anything that we know


class Received(NamedTuple):
    """Counts are of items; `claimed` are doc sources that we know and whose client state did not match."""

    outcome: Outcome
    written: int = 0
    dropped: int = 0
    mismatched: int = 0
    claimed: tuple[str, ...] = ()
