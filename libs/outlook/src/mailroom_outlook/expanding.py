"""Whether Graph is asked to send the parts of a message along with it (`$expand`), mailbox by mailbox.

Many clients ask so, and no document says that every mailbox takes it (graph.md 10.1).
"""

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TypeVar

from mailroom_common.errors import ItemGone, Rejected
from mailroom_common.events import Profile
from mailroom_common.providers.quota import build_mailbox_key
from mailroom_common.providers.types import Mailbox

_ASK_AGAIN_S = 3600.0
_MAX_MAILBOXES = 10_000

T = TypeVar("T")


class PartExpansion:
    """Remembers the mailboxes that refused it for an hour; what is forgotten is asked once more."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._refused_until: OrderedDict[str, float] = OrderedDict()

    async def read_expanded(self, mailbox: Mailbox, read: Callable[[bool], Awaitable[T]]) -> T:
        """`read(True)` asks for the parts too, and `read(False)` does not. Mail.ReadBasic allows no attachments."""
        key = build_mailbox_key(mailbox)
        if mailbox.profile is Profile.OBSERVATION or self._refused_until.get(key, 0.0) > self._clock():
            return await read(False)
        try:
            return await read(True)
        except ItemGone:
            raise
        except Rejected:
            # Also an answer that is too large: then the parts came with their contents.
            answer = await read(False)
            # Only now: had this been refused too, it would not be for the parts.
            self._remember_refusal(key)
            return answer

    def _remember_refusal(self, key: str) -> None:
        self._refused_until[key] = self._clock() + _ASK_AGAIN_S
        self._refused_until.move_to_end(key)
        if len(self._refused_until) > _MAX_MAILBOXES:
            self._refused_until.popitem(last=False)
