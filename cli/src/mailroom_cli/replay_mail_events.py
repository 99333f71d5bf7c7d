"""Sends recorded mail events again: they are read from the API, since Kafka keeps them for two weeks only."""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from typing import Any

from aiokafka import TopicPartition
from pydantic import TypeAdapter, ValidationError

from mailroom_cli.kafka_access import open_consumer, open_producer
from mailroom_cli.pacing import Pacer, Progress
from mailroom_cli.record_ranges import OffsetRange
from mailroom_cli.replay_positions import ReplayPositions, compute_digest, replay_group
from mailroom_cli.replay_topics import SENT
from mailroom_cli.site_api import SiteAPI
from mailroom_cli.source_views import DocSourceId
from mailroom_common.errors import Rejected
from mailroom_common.events import MailEvent
from mailroom_common.kafka.client import KafkaAddress
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import REPLAY_ID
from mailroom_common.kafka.producer import EventProducer
from mailroom_common.topics import MAIL_EVENTS

_PATH = "/mail-events"
_MAX_PAGE = 200
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_FIELDS = frozenset(field.name for field in fields(MailEvent))
_EVENTS = TypeAdapter(MailEvent)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedMailEvents:
    """Of the key's tenant; times are those at which sync-engine recorded the events. None matches any."""

    doc_source_id: DocSourceId | None
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class _EventPage:
    """`left` is what lies behind it, in microseconds since 1970: kept as other replays keep offsets."""

    events: tuple[MailEvent, ...]
    left: OffsetRange


class MailEventsReplay:
    def __init__(
        self, settings: KafkaAddress, api: SiteAPI, selection: ReplayedMailEvents, replay_id: str, now: datetime
    ) -> None:
        self._settings = settings
        self._api = api
        self._selection = selection
        self._replay_id = replay_id
        # What is recorded from here on reaches Kafka by itself.
        self._all = OffsetRange(
            _count_microseconds(selection.since or _EPOCH), _count_microseconds(selection.until or now)
        )

    async def count_events(self) -> int:
        return sum([len(page.events) async for page in self._read_pages(self._all, _MAX_PAGE)])

    async def send_events(self, pacer: Pacer, progress: Progress) -> None:
        """Until nothing is left, in the order in which they were recorded. The position is committed after each page
        that Kafka has acknowledged."""
        tenant_id = await self._find_tenant()
        if tenant_id is None:
            return
        digest = compute_digest([MAIL_EVENTS.name, tenant_id, self._selection.doc_source_id])
        positions = ReplayPositions(self._settings, self._replay_id, digest)
        place = TopicPartition(self._settings.topic_prefix + MAIL_EVENTS.name, 0)
        left = (await positions.read_positions()).get(place, self._all)
        group = replay_group(self._settings.topic_prefix, self._replay_id)
        async with (
            open_consumer(self._settings, group=group) as consumer,
            open_producer(self._settings, Codec()) as producer,
        ):
            # The end first: whoever goes on after a kill stops where this one would have.
            consumer.assign([place])
            await positions.commit_positions(consumer, {place: left})
            async for page in self._read_pages(left, min(_MAX_PAGE, pacer.turns_a_second)):
                async with asyncio.TaskGroup() as sends:
                    for events in _group_by_source(page.events):
                        sends.create_task(self._send_in_order(producer, events, pacer))
                await positions.commit_positions(consumer, {place: page.left})
                progress.counts[SENT] += len(page.events)
                progress.advance(len(page.events))

    async def _send_in_order(self, producer: EventProducer, events: Sequence[MailEvent], pacer: Pacer) -> None:
        """Each once Kafka has the one before it: of two at once the second may come first."""
        for event in events:
            await pacer.wait_turn()
            headers = {REPLAY_ID: self._replay_id}
            await producer.send_event(MAIL_EVENTS, event.doc_source_id, event, headers=headers)

    async def _find_tenant(self) -> str | None:
        """Whose events the key opens: a replay's id belongs to one tenant. None where there are no events."""
        answer = await asyncio.to_thread(self._api.call, "GET", _PATH, query={"limit": "1"})
        return str(answer["items"][0]["tenant_id"]) if answer["items"] else None

    async def _read_pages(self, left: OffsetRange, limit: int) -> AsyncIterator[_EventPage]:
        query = {"order": "oldest", "limit": str(limit)}
        query |= {"since": _format_microseconds(left.start), "until": _format_microseconds(left.end)}
        if self._selection.doc_source_id is not None:
            query["doc_source_id"] = self._selection.doc_source_id
        while True:
            answer = await asyncio.to_thread(self._api.call, "GET", _PATH, query=query)
            events = tuple(_parse_event(item) for item in answer["items"])
            is_last = answer["next_cursor"] is None
            # Events of one moment may be on two pages: who goes on after a kill sends the last one once more.
            start = left.end if is_last else _read_moment(answer["items"][-1]["recorded_at"])
            yield _EventPage(events, OffsetRange(start, left.end))
            if is_last:
                return
            query["cursor"] = answer["next_cursor"]


def _group_by_source(events: Sequence[MailEvent]) -> Collection[Sequence[MailEvent]]:
    groups: dict[str, list[MailEvent]] = {}
    for event in events:
        groups.setdefault(event.doc_source_id, []).append(event)
    return groups.values()


def _parse_event(item: dict[str, Any]) -> MailEvent:  # Any: JSON
    try:
        return _EVENTS.validate_python({name: value for name, value in item.items() if name in _FIELDS})
    except ValidationError as error:
        wrong = ", ".join(str(problem["loc"][0]) for problem in error.errors())
        raise Rejected(
            f"event {item.get('event_id')} of GET /mail-events cannot be read ({wrong}): is this `mailroom` of the "
            "site's version?"
        ) from error


def _read_moment(text: str) -> int:
    return _count_microseconds(datetime.fromisoformat(text))


def _count_microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def _format_microseconds(microseconds: int) -> str:
    return (_EPOCH + microseconds * _MICROSECOND).isoformat()
