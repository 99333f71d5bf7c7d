from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from mailroom_common.errors import Unavailable, Undecodable
from mailroom_common.kafka.dead_letters import DeadLetterWriter, RecordFailure, build_dead_letter_headers
from mailroom_common.kafka.headers import RawHeaders
from mailroom_common.topics import ATTACHMENTS, Topic

AT = datetime(2026, 11, 28, 1, 2, 3, tzinfo=UTC)


@dataclass(frozen=True)
class Record:
    topic: str = "x.attachments"
    partition: int = 7
    offset: int = 42
    timestamp: int = 1_795_000_000_000
    key: bytes | None = b"ds-1:m-1"
    value: bytes | None = b"\xff\x00garbage"
    headers: tuple[tuple[str, bytes], ...] = (("traceparent", b"00-1"), ("odd", b"\xff"))


@dataclass
class Sender:
    sent: list[tuple[str, bytes | None, bytes | None, RawHeaders]] = field(default_factory=list)
    is_down: bool = False

    def dead_letter_topic_name(self, topic: Topic) -> str:
        return "x." + topic.dead_letter_topic

    async def send_raw(
        self, topic_name: str, key: bytes | None, value: bytes | None, headers: RawHeaders, *, timeout_s: float
    ) -> object:
        if self.is_down:
            raise Unavailable("Kafka is away")
        self.sent.append((topic_name, key, value, headers))
        return None


async def test_bytes_key_and_headers_stay_as_they_came() -> None:
    sender = Sender()
    record = Record()

    await DeadLetterWriter(sender, "ingestion").write_dead_letter(
        ATTACHMENTS, record, RecordFailure(Undecodable("no schema"), 1, AT)
    )

    [(topic, key, value, headers)] = sender.sent
    assert (topic, key, value) == ("x.attachments.dlq", record.key, record.value)
    assert headers[:2] == list(record.headers)


def test_headers_tell_where_it_came_from_and_why() -> None:
    headers = dict(build_dead_letter_headers(Record(), RecordFailure(Undecodable("no schema"), 3, AT), "ingestion"))

    assert headers["dlq-topic"] == b"x.attachments"
    assert headers["dlq-partition"] == b"7"
    assert headers["dlq-offset"] == b"42"
    assert headers["dlq-timestamp"] == b"1795000000000"
    assert headers["dlq-error-class"] == b"Undecodable"
    assert headers["dlq-error"] == b"no schema"
    assert headers["dlq-attempts"] == b"3"
    assert headers["dlq-service"] == b"ingestion"
    assert headers["dlq-first-failed-at"] == b"2026-11-28T01:02:03.000+00:00"


def test_a_second_death_replaces_the_headers_of_the_first() -> None:
    record = Record(headers=(("dlq-offset", b"1"), ("keep", b"me")))

    headers = build_dead_letter_headers(record, RecordFailure(Undecodable("again"), 1, AT), "ingestion")

    assert [value for name, value in headers if name == "dlq-offset"] == [b"42"]
    assert ("keep", b"me") in headers


def test_the_text_of_a_foreign_error_is_not_told() -> None:
    """It may quote what it choked on: a body, a name, a token."""
    try:
        int("the secret content of a mail")
    except ValueError as error:
        headers = dict(build_dead_letter_headers(Record(), RecordFailure(error, 5, AT), "ingestion"))

    assert headers["dlq-error-class"] == b"ValueError"
    assert b"secret" not in headers["dlq-error"]
    assert b"test_dead_letters" in headers["dlq-error"]


async def test_a_dead_letter_that_is_not_acknowledged_is_an_error() -> None:
    with pytest.raises(Unavailable):
        await DeadLetterWriter(Sender(is_down=True), "s").write_dead_letter(
            ATTACHMENTS, Record(), RecordFailure(Undecodable("x"), 1, AT)
        )
