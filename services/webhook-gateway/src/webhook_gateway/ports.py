"""The Protocols that the gateway's handlers and routes ask for; `adapters/` has the real ones."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from mailroom_common.events import DocSource, Event
from mailroom_common.topics import Topic


class OutgoingEvent(NamedTuple):
    topic: Topic
    key: str
    event: Event


class DocSourceLookup(Protocol):
    """The doc sources that exist, from memory."""

    def get_source(self, doc_source_id: str) -> DocSource | None: ...

    def find_by_address(self, provider: str, address: str) -> tuple[DocSource, ...]:
        """All doc sources of a mailbox: one mailbox can belong to several."""
        ...

    async def catch_up(self) -> None:
        """Wait until everything is read that `doc-sources` holds now.

        Raises:
            Unavailable: that was not possible in time, so nothing can be said of what the directory does not explain.
        """
        ...


class EventWriter(Protocol):
    async def write_events(self, events: Sequence[OutgoingEvent], *, timeout_s: float) -> None:
        """Return once Kafka has acknowledged all events.

        Raises:
            Unavailable: it did not, in time. Some may be written, and the others still may be.
        """
        ...


class PushAuthenticator(Protocol):
    async def is_genuine(self, *, authorization: str | None, token: str | None) -> bool:
        """Whether the push carries every proof that is configured.

        Raises:
            Unavailable: that cannot be judged yet.
        """
        ...
