"""What a replay leaves out, and what it sends: without Kafka, and over arbitrary logs of records."""

import asyncio
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pytest
from cli_site import build_attachment, build_notification, build_source
from hypothesis import given
from hypothesis import strategies as st
from newer_build import write_new_symbol

from mailroom_cli.pacing import Progress
from mailroom_cli.replay_topics import (
    FOREIGN,
    GONE,
    OTHER,
    PAUSED,
    REPEATED,
    REPLAYED,
    UNREADABLE,
    AttachmentsReplay,
    NotificationsReplay,
    RecordFilter,
    RecordSorter,
)
from mailroom_common.events import DocSource, DocSourceState, Event, Notification
from mailroom_common.kafka.codec import Codec
from mailroom_common.kafka.headers import REPLAY_ID
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.topics import ATTACHMENTS, NOTIFICATIONS, Topic

SOURCES = {
    "active": build_source("active"),
    "paused": build_source("paused", state=DocSourceState.PAUSED),
    "pending": build_source("pending", state=DocSourceState.PENDING),
    "deleting": build_source("deleting", state=DocSourceState.DELETING),
    "theirs": build_source("theirs", tenant="other"),
}


class FakeDirectory:
    def get_source(self, doc_source_id: str) -> DocSource | None:
        return SOURCES.get(doc_source_id)


def record(event: Event, topic: Topic = NOTIFICATIONS, **headers: str) -> IncomingRecord:
    return IncomingRecord(topic, 0, 0, datetime.now(UTC), event.doc_source_id, None, headers, event)


@pytest.mark.parametrize(
    ("source", "reason"),
    [("active", None), ("paused", PAUSED), ("pending", PAUSED), ("deleting", GONE), ("unknown", GONE)],
)
def test_only_a_doc_source_that_is_synced_is_asked_for(source: str, reason: str | None) -> None:
    replay = NotificationsReplay("r1", RecordFilter(), FakeDirectory())
    assert replay.judge_record(record(build_notification(source))) == reason


@pytest.mark.parametrize(("source", "reason"), [("active", None), ("paused", None), ("deleting", GONE), ("gone", GONE)])
def test_documents_of_a_paused_doc_source_are_read_again_and_of_a_deleted_one_are_not(
    source: str, reason: str | None
) -> None:
    replay = AttachmentsReplay("r1", RecordFilter(), FakeDirectory())
    assert replay.judge_record(record(build_attachment(source, "m1"), ATTACHMENTS)) == reason


def test_a_record_that_names_another_tenant_than_its_doc_source_is_left_out() -> None:
    for replay, event in (
        (NotificationsReplay("r1", RecordFilter(), FakeDirectory()), build_notification("theirs")),
        (AttachmentsReplay("r1", RecordFilter(), FakeDirectory()), build_attachment("theirs", "m1")),
    ):
        assert replay.judge_record(record(event)) == FOREIGN


def test_what_a_replay_sent_is_not_replayed() -> None:
    replay = AttachmentsReplay("r2", RecordFilter(), FakeDirectory())
    repeated = record(build_attachment("active", "m1"), ATTACHMENTS, **{REPLAY_ID: "r1"})
    assert replay.judge_record(repeated) == REPLAYED


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [
        (RecordFilter("acme"), None),
        (RecordFilter("other"), OTHER),
        (RecordFilter(doc_source_ids=frozenset({"active"})), None),
        (RecordFilter("acme", frozenset({"paused"})), OTHER),
    ],
)
def test_a_record_has_to_match_all_that_is_given(wanted: RecordFilter, reason: str | None) -> None:
    assert (
        NotificationsReplay("r1", wanted, FakeDirectory()).judge_record(record(build_notification("active"))) == reason
    )


@dataclass(frozen=True)
class RawRecord:
    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()


CODEC = Codec()


def test_a_record_that_cannot_be_read_is_counted_and_named() -> None:
    progress = Progress(1, "records")
    replay = NotificationsReplay("r1", RecordFilter(), FakeDirectory())
    sorter = RecordSorter(replay, CODEC, "site.", progress)
    assert sorter.select_record(RawRecord("site.notifications", 3, 7, 0, b"active", b"no event")) is None
    assert (progress.counts[UNREADABLE], sorter.unreadable) == (1, ["site.notifications/3@7"])


def test_a_record_with_a_symbol_of_a_newer_build_is_counted_and_named() -> None:
    progress = Progress(1, "records")
    newer_record = write_new_symbol(build_attachment("active", "m1"), "attachments", "profile", "payslip")
    codec = Codec()
    codec.learn_schema(newer_record.fingerprint, newer_record.schema)
    sorter = RecordSorter(AttachmentsReplay("r1", RecordFilter(), FakeDirectory()), codec, "site.", progress)
    assert sorter.select_record(RawRecord("site.attachments", 3, 7, 0, b"active", newer_record.value)) is None
    assert (progress.counts[UNREADABLE], sorter.unreadable) == (1, ["site.attachments/3@7"])


class Requests:
    """The producer: which doc sources were asked for."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Event | None]] = []

    async def send_event(self, topic: Topic, key: str, event: Event | None, **_options: Any) -> None:
        self.sent.append((key, event))


@given(st.lists(st.sampled_from([*SOURCES, "unknown"])))
def test_however_many_notifications_there_were_each_doc_source_is_asked_for_once(sources: list[str]) -> None:
    replay = NotificationsReplay("r1", RecordFilter(), FakeDirectory())
    requests: Any = Requests()

    async def replay_all() -> None:
        for source in sources:
            tenant = "other" if source == "theirs" else "acme"
            found = record(build_notification(source, tenant=tenant))
            if replay.judge_record(found) is None:
                await replay.send_record(requests, None, found)

    asyncio.run(replay_all())
    assert sorted(key for key, _ in requests.sent) == sorted({"active", "theirs"} & set(sources))


def test_a_request_of_one_replay_has_one_event_id_however_often_it_is_sent() -> None:
    requests: Any = Requests()
    for event in (build_notification("active"), replace(build_notification("active"), event_id="another")):
        replay = NotificationsReplay("r1", RecordFilter(), FakeDirectory())  # as after a kill
        found = record(event)
        assert isinstance(found.event, Notification)
        assert replay.judge_record(found) is None
        asyncio.run(replay.send_record(requests, None, found))
    assert len({event.event_id for _, event in requests.sent}) == 1
    assert replay.judge_record(record(build_notification("active"))) == REPEATED
