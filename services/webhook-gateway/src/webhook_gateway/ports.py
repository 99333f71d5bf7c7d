"""What the handlers ask for. `mailroom_common.kafka` has the real ones."""

from collections.abc import Sequence
from typing import Protocol

from mailroom_common.events import DocSource
from mailroom_common.kafka.producer import OutgoingEvent


class KnowsSources(Protocol):
    """`DocSourceDirectory`: the `doc-sources` topic in memory."""

    def get_source(self, doc_source_id: str) -> DocSource | None: ...
    def find_by_address(self, provider: str, address: str) -> tuple[DocSource, ...]: ...
    def check_readiness(self) -> str | None: ...
    async def catch_up(self, timeout_s: float) -> bool: ...


class EventPublisher(Protocol):
    """`EventProducer`: returns once Kafka has acknowledged all of them.

    Raises Unavailable when it has not, in time.
    """

    async def send_events(self, records: Sequence[OutgoingEvent], *, timeout_s: float) -> None: ...


class ProvesPushes(Protocol):
    async def is_genuine(self, *, authorization: str | None, token: str | None) -> bool:
        """Whether everything that is configured was shown. Raises Unavailable when that cannot be told yet."""
        ...
