"""Writes records that no retry can help to `<topic>.dlq`, unchanged, with the cause in headers (kafka.md 3.4)."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from mailroom_common.errors import MailroomError
from mailroom_common.kafka.headers import RawHeaders
from mailroom_common.kafka.record import RawRecord
from mailroom_common.topics import Topic

DEAD_LETTER_HEADER_PREFIX = "dlq-"
_MAX_ERROR_CHARS = 300


@dataclass(frozen=True, slots=True)
class RecordFailure:
    """Why a record is dead-lettered. `first_failed_at` is by our clock."""

    error: BaseException
    attempts: int
    first_failed_at: datetime


class DeadLetterSender(Protocol):
    """`EventProducer` of `producer.py`."""

    def dead_letter_topic_name(self, topic: Topic) -> str: ...
    async def send_raw(
        self, topic_name: str, key: bytes | None, value: bytes | None, headers: RawHeaders, *, timeout_s: float
    ) -> object: ...


class DeadLetterWriter:
    """`service` is named in the headers as the one that dead-lettered the record."""

    def __init__(self, producer: DeadLetterSender, service: str) -> None:
        self._producer = producer
        self._service = service

    async def write_dead_letter(self, topic: Topic, record: RawRecord, failure: RecordFailure) -> None:
        """Returns once Kafka has acknowledged it: only then may the record's offset count as done.

        Raises:
            Unavailable: not acknowledged in time; the record must not be stepped over.
        """
        await self._producer.send_raw(
            self._producer.dead_letter_topic_name(topic),
            record.key,
            record.value,
            build_dead_letter_headers(record, failure, self._service),
            timeout_s=10.0,
        )


def build_dead_letter_headers(record: RawRecord, failure: RecordFailure, service: str) -> RawHeaders:
    """The record's own headers unchanged; `dlq-` headers of an earlier dead-lettering are replaced."""
    facts = {
        "topic": record.topic,
        "partition": str(record.partition),
        "offset": str(record.offset),
        "timestamp": str(record.timestamp),
        "error-class": type(failure.error).__name__,
        "error": _describe_safely(failure.error),
        "attempts": str(failure.attempts),
        "service": service,
        "first-failed-at": failure.first_failed_at.isoformat(timespec="milliseconds"),
    }
    original = [(name, value) for name, value in record.headers if not name.startswith(DEAD_LETTER_HEADER_PREFIX)]
    return original + [(DEAD_LETTER_HEADER_PREFIX + name, text.encode()) for name, text in facts.items()]


def _describe_safely(error: BaseException) -> str:
    """The text of our own errors has ids and never contents. Other errors may quote the record that they failed on,
    so of those only the place in the code is given."""
    if isinstance(error, MailroomError):
        return str(error)[:_MAX_ERROR_CHARS]
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return "raised nowhere"
    code = place.tb_frame.f_code
    return f"in {code.co_name}, {place.tb_frame.f_globals.get('__name__', '?')}:{place.tb_lineno}"
