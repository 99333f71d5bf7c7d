import asyncio
from collections.abc import Sequence
from datetime import timedelta

import pytest

from ingestion.api.events import EventStreams
from ingestion.ports.events import Channel, EventLogRange, NumberedEvent


class FakeEventLog:
    """`acme` has events up to 7, another tenant more; those up to 3 are deleted."""

    async def assign_numbers(self) -> int:
        return 0

    async def delete_events(self, *, older_than: timedelta) -> int:
        return 0

    async def read_range(self, tenant_id: str) -> EventLogRange:
        return EventLogRange(newest_seq=7 if tenant_id == "acme" else 99, deleted_seq=3)

    async def list_events(self, tenant_id: str, *, after: int, limit: int) -> Sequence[NumberedEvent]:
        return []


class SilentSignals:
    def count_signals(self, channel: Channel) -> int:
        return 0

    async def wait_for_signal(self, channel: Channel, *, beyond: int, timeout_s: float) -> None: ...


@pytest.mark.parametrize(
    ("given", "start", "event"),
    [(None, 7, None), (7, 7, None), (3, 3, None), (8, 7, "reset"), (99, 7, "reset"), (2, 3, "reset")],
)
async def test_a_stream_begins_at_the_tenants_own_newest_event_and_knows_no_id_above_it(
    given: int | None, start: int, event: str | None
) -> None:
    streams = EventStreams(FakeEventLog(), SilentSignals(), asyncio.Event())
    begins_after, first = await streams.locate_start("acme", given)
    assert (begins_after, first.id, first.event) == (start, str(start), event)
