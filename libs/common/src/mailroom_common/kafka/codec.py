"""Encodes events to bytes and back: Avro single-object encoding (marker, 8-byte schema fingerprint, body).

Only `Codec` knows the framing, so that a Confluent-framed codec can be written beside it.
"""

import dataclasses
import re
import types
import typing
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from io import BytesIO
from operator import attrgetter
from typing import Any

import fastavro

from mailroom_common.errors import Undecodable, UnknownSchema, UnknownSymbol
from mailroom_common.events import (
    AttachmentStored,
    ConnectionEvent,
    DocSource,
    Event,
    IngestionResult,
    LifecycleEvent,
    MailEvent,
    Notification,
    SyncRequest,
)
from mailroom_common.kafka.schema_files import (
    AvroSchema,
    SchemaVersion,
    compute_fingerprint,
    load_packaged_schemas,
    parse_schema,
)
from mailroom_common.topics import Topic

MARKER = b"\xc3\x01"
_HEAD_BYTES = len(MARKER) + 8
_UNKNOWN_SYMBOL = "unknown"  # the default of each enum that has no harmless reading; no build writes it

EVENT_TYPES: dict[str, type[Event]] = {
    "notifications": Notification,
    "lifecycle-events": LifecycleEvent,
    "doc-sources": DocSource,
    "sync-requests": SyncRequest,
    "connection-events": ConnectionEvent,
    "attachments": AttachmentStored,
    "ingestion-results": IngestionResult,
    "mail-events": MailEvent,
}
"""By schema folder, which is `Topic.event`."""


@dataclass(frozen=True, slots=True)
class EventKind:
    """One event class with its newest schema. `ce_type` and `schema_urn` are what headers say of it."""

    event_type: type[Event]
    head: bytes
    schema: AvroSchema
    ce_type: bytes
    schema_urn: bytes
    encode: Callable[[Any], bytes]  # Any: an instance of `event_type`
    from_wire: Callable[[dict[str, Any]], Event]


class Codec:
    """Encodes with the newest schema of this build; decodes values that were written with any known schema.

    Known are the schemas of this build and those learned from the `schemas` topic.
    """

    def __init__(self) -> None:
        self._by_folder: dict[str, EventKind] = {}
        self._by_type: dict[type[Event], EventKind] = {}
        self._writers: dict[bytes, AvroSchema] = {}
        for folder, versions in load_packaged_schemas().items():
            kind = _build_kind(EVENT_TYPES[folder], versions[-1])
            self._by_folder[folder] = kind
            self._by_type[kind.event_type] = kind
            self._writers.update({version.fingerprint: version.parsed for version in versions})
        self._packaged = frozenset(self._writers)

    def encode(self, event: Event) -> bytes:
        return self._by_type[type(event)].encode(event)

    def decode(self, topic: Topic, value: bytes) -> Event:
        """
        Raises:
            UnknownSchema: the fingerprint is not known yet: wait for the `schemas` topic to have it.
            UnknownSymbol: a newer build wrote an enum symbol that this one lacks: wait for the upgrade.
            Undecodable: these bytes are no event of this topic, whichever schema is learned later.
        """
        if not value.startswith(MARKER) or len(value) < _HEAD_BYTES:
            raise Undecodable(f"a value of {topic.name} does not begin as single-object encoding")
        fingerprint = value[len(MARKER) : _HEAD_BYTES]
        writer = self._writers.get(fingerprint)
        if writer is None:
            raise UnknownSchema(fingerprint)
        if topic.event is None:
            raise Undecodable(f"{topic.name} carries no events")
        kind = self._by_folder[topic.event]
        body = BytesIO(value[_HEAD_BYTES:])
        # Resolution costs 2.5 times a plain read, so it is asked for only where the writer was another build.
        reader = None if value.startswith(kind.head) else kind.schema
        try:
            data = fastavro.schemaless_reader(body, writer, reader)
            left_over = body.read(1)
            event = kind.from_wire(typing.cast("dict[str, Any]", data))
        except Exception as error:
            # No build writes the default symbol into a schema of its own: there it is corrupt like other damage.
            if isinstance(error, UnknownSymbol) and fingerprint not in self._packaged:
                raise
            # Whatever corrupt bytes provoke in fastavro or in a conversion, it says the same. The cause is not
            # chained: its text may quote the value.
            raise Undecodable(
                f"a value of {topic.name} is not what its schema {fingerprint.hex()} says ({type(error).__name__})"
            ) from None
        if left_over:
            raise Undecodable(f"a value of {topic.name} goes on after its end")
        return event

    def find_kind(self, event: Event) -> EventKind:
        return self._by_type[type(event)]

    def knows_fingerprint(self, fingerprint: bytes) -> bool:
        return fingerprint in self._writers

    def learn_schema(self, fingerprint: bytes, text: str) -> bool:
        """Add a schema of the `schemas` topic; False when the text is no schema or has another fingerprint."""
        if fingerprint in self._writers:
            return True
        try:
            parsed = parse_schema(text)
            matches = compute_fingerprint(parsed) == fingerprint
        except Exception:  # noqa: BLE001  # json and fastavro raise many kinds of errors for what is no schema
            return False
        if matches:
            self._writers[fingerprint] = parsed
        return matches


def _build_kind(event_type: type[Event], newest: SchemaVersion) -> EventKind:
    snake = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", event_type.__name__).lower()
    head = MARKER + newest.fingerprint
    return EventKind(
        event_type,
        head,
        newest.parsed,
        f"mailroom.{snake}.v{newest.number}".encode(),
        f"urn:avro:crc64:{newest.fingerprint.hex()}".encode(),
        _build_encoder(newest.parsed, _build_to_wire(event_type), head),
        _create_record_decoder(event_type),
    )


def _build_encoder(schema: AvroSchema, to_wire: Callable[[Any], dict[str, Any]], head: bytes) -> Callable[[Any], bytes]:
    def encode(event: Any) -> bytes:
        out = BytesIO()
        out.write(head)
        fastavro.schemaless_writer(out, schema, to_wire(event))
        return out.getvalue()

    return encode


def wire_name(field_name: str) -> str:
    """`from_` is `from` on the wire: Python keeps that word for itself."""
    return field_name.rstrip("_")


# Conversions are built once per class, since the gateway encodes thousands of events a second. Any below: values are
# whatever Avro carries, and the schema tests hold them against the classes.

_Convert = Callable[[Any], Any]


def _build_to_wire(record: type[Any]) -> Callable[[Any], dict[str, Any]]:
    hints = typing.get_type_hints(record)
    wires = [wire_name(name) for name in hints]
    converted = [
        (wire_name(name), convert)
        for name, hint in hints.items()
        if (convert := _find_wire_converter(hint)) is not None
    ]
    values_of = attrgetter(*hints)

    def to_wire(event: Any) -> dict[str, Any]:
        values = dict(zip(wires, values_of(event), strict=True))
        for wire, convert in converted:
            values[wire] = convert(values[wire])
        return values

    return to_wire


def _find_wire_converter(hint: Any) -> _Convert | None:
    """None where fastavro takes the value as it is: it does text, numbers, datetimes and the symbols of a StrEnum."""
    if dataclasses.is_dataclass(hint):
        return _build_to_wire(typing.cast("type[Any]", hint))
    if typing.get_origin(hint) is list:
        of_item = _find_wire_converter(typing.get_args(hint)[0])
        return None if of_item is None else lambda values: [of_item(value) for value in values]
    return None


def _create_record_decoder(record: type[Any]) -> Callable[[dict[str, Any]], Any]:
    fields = [
        (wire_name(name), name, _find_domain_converter(hint)) for name, hint in typing.get_type_hints(record).items()
    ]

    def from_wire(values: dict[str, Any]) -> Any:
        return record(
            **{name: values[wire] if convert is None else convert(values[wire]) for wire, name, convert in fields}
        )

    return from_wire


def _find_domain_converter(hint: Any) -> _Convert | None:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        of_value = _find_domain_converter(next(part for part in typing.get_args(hint) if part is not type(None)))
        return None if of_value is None else lambda value: None if value is None else of_value(value)
    if typing.get_origin(hint) is list:
        of_item = _find_domain_converter(typing.get_args(hint)[0])
        return None if of_item is None else lambda values: [of_item(value) for value in values]
    if dataclasses.is_dataclass(hint):
        return _create_record_decoder(typing.cast("type[Any]", hint))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return _create_symbol_reader(hint)
    if hint is datetime:
        return _as_utc
    return None


def _create_symbol_reader(enum: type[StrEnum]) -> _Convert:
    def read_symbol(symbol: str) -> StrEnum:
        try:
            return enum(symbol)
        except ValueError:
            # A symbol that this build does not have arrives as the schema's default, which is no member: acting upon it
            # would be in a way that its writer did not mean, and a dead letter is overtaken by what comes behind it.
            if symbol == _UNKNOWN_SYMBOL:
                raise UnknownSymbol(enum.__name__) from None
            raise

    return read_symbol


def _as_utc(value: datetime) -> datetime:
    return value if value.tzinfo is UTC else value.astimezone(UTC)
