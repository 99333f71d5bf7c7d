"""Verifies the client state of a Graph item against the SHA-256 hashes that the `doc-sources` topic carries."""

from collections.abc import Callable
from datetime import datetime
from enum import Enum, auto
from hashlib import sha256
from hmac import compare_digest

from mailroom_common.events import DocSource, DocSourceState

_HASH_OF_NO_CLIENT_STATE = "0" * 64


class ClientStateVerdict(Enum):
    GENUINE = auto()
    UNWANTED = auto()  # genuine, but its doc source is pending or being deleted, or paused and the item is a change
    UNEXPLAINED = auto()  # forged, or newer than what was read of `doc-sources` so far


# The mail that arrives while a source is paused is fetched from the cursor when it is resumed, and what arrives before
# a consent (a first one, or the one after a restore that lost it) by the sync that the consent asks for.
_STATES_WITHOUT_CHANGES = frozenset({DocSourceState.PENDING, DocSourceState.PAUSED, DocSourceState.DELETING})
# A paused source keeps its subscription, and Graph reports only once that it removed a subscription: dropping that
# lifecycle event would leave the source without pushes after it is resumed.
_STATES_WITHOUT_LIFECYCLE_EVENTS = frozenset({DocSourceState.PENDING, DocSourceState.DELETING})


def verify_client_state(
    client_state: str | None,
    get_source: Callable[[str], DocSource | None],
    now: datetime,
    *,
    is_lifecycle_event: bool = False,
) -> tuple[ClientStateVerdict, DocSource | None]:
    """The verdict on one item, with its doc source unless it is unexplained.

    The hashes of a replaced subscription are valid until that subscription has expired.
    """
    received_hash = sha256((client_state or "").encode("utf-8", "surrogatepass")).hexdigest()
    source = get_source(client_state.partition(":")[0]) if client_state else None
    if source is None or not source.client_states:
        # Compared all the same: the time of the response must not tell which doc sources exist.
        compare_digest(received_hash, _HASH_OF_NO_CLIENT_STATE)
        return ClientStateVerdict.UNEXPLAINED, None
    is_match = False
    for expected in source.client_states:
        # Every hash is compared, in constant time and without stopping at a match, for the same reason.
        is_match |= compare_digest(received_hash, expected.sha256) & (expected.valid_until > now)
    if not is_match:
        return ClientStateVerdict.UNEXPLAINED, None
    unwanted_in = _STATES_WITHOUT_LIFECYCLE_EVENTS if is_lifecycle_event else _STATES_WITHOUT_CHANGES
    return (ClientStateVerdict.UNWANTED if source.state in unwanted_in else ClientStateVerdict.GENUINE), source


def drops_changes(source: DocSource) -> bool:
    """Whether the changes of the source are not written: it is pending, paused or being deleted."""
    return source.state in _STATES_WITHOUT_CHANGES
