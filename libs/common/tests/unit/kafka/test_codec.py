import dataclasses
import json
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st
from newer_build import write_new_symbol

from mailroom_common.errors import Undecodable, UnknownSchema, UnknownSymbol
from mailroom_common.events import Event, LifecycleEvent, LifecycleKind, MailEvent, MailKind, Notification
from mailroom_common.kafka.codec import EVENT_TYPES, MARKER, Codec, wire_name
from mailroom_common.kafka.schema_files import compute_fingerprint, load_packaged_schemas
from mailroom_common.topics import LIFECYCLE_EVENTS, MAIL_EVENTS, NOTIFICATIONS, SCHEMAS, TOPICS, Topic

CARRIERS = {topic.event: topic for topic in TOPICS if topic.event is not None}

# The wire keeps milliseconds (timestamp-millis), 64-bit integers, and any text that UTF-8 can carry.
st.register_type_strategy(
    datetime,
    st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001
        lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000)
    ),
)
st.register_type_strategy(int, st.integers(-(2**63), 2**63 - 1))
st.register_type_strategy(float, st.floats(allow_nan=False))
st.register_type_strategy(str, st.text(st.characters(codec="utf-8")))


def any_event() -> st.SearchStrategy[tuple[Topic, Event]]:
    return st.one_of(
        [st.tuples(st.just(CARRIERS[folder]), st.from_type(event_type)) for folder, event_type in EVENT_TYPES.items()]
    )


@given(any_event())
def test_every_event_round_trips(carried: tuple[Topic, Event]) -> None:
    topic, event = carried
    codec = Codec()

    assert codec.decode(topic, codec.encode(event)) == event


@given(any_event())
def test_a_body_is_what_fastavro_writes(carried: tuple[Topic, Event]) -> None:
    topic, event = carried
    values = {wire_name(name): value for name, value in dataclasses.asdict(event).items()}
    schema = load_packaged_schemas()[topic.event or ""][-1].parsed
    body = BytesIO()
    fastavro.schemaless_writer(body, schema, values)

    assert Codec().encode(event)[10:] == body.getvalue()


def a_notification() -> Notification:
    return Notification(
        event_id="e-1",
        occurred_at=datetime(2026, 11, 28, 1, 2, 3, 4000, UTC),
        tenant_id="acme",
        doc_source_id="ds-1",
        provider="outlook",
        provider_event="sub|item|etag",
    )


def test_a_value_is_marker_fingerprint_body() -> None:
    value = Codec().encode(a_notification())

    assert value[:2] == MARKER
    assert value[2:10] == load_packaged_schemas()["notifications"][-1].fingerprint


@given(st.binary(max_size=64))
def test_garbage_is_undecodable(garbage: bytes) -> None:
    with pytest.raises(Undecodable):
        Codec().decode(NOTIFICATIONS, b"\x00" + garbage)


@given(st.data())
def test_a_damaged_body_is_undecodable_or_an_event_and_nothing_else(data: st.DataObject) -> None:
    value = Codec().encode(a_notification())
    damaged = value[:10] + data.draw(st.binary(max_size=200))

    try:
        event = Codec().decode(NOTIFICATIONS, damaged)
    except Undecodable:
        return
    assert isinstance(event, Notification)


def test_the_error_of_damaged_bytes_does_not_quote_them() -> None:
    with pytest.raises(Undecodable) as refused:
        Codec().decode(NOTIFICATIONS, Codec().encode(a_notification())[:10] + b"\x10\xffsecret")

    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is None  # its text may quote the value


@pytest.mark.parametrize("cut", [0, 1, 9, 10, -1])
def test_a_cut_off_value_is_undecodable(cut: int) -> None:
    with pytest.raises(Undecodable):
        Codec().decode(NOTIFICATIONS, Codec().encode(a_notification())[:cut])


def test_bytes_after_the_end_are_undecodable() -> None:
    with pytest.raises(Undecodable, match="goes on after its end"):
        Codec().decode(NOTIFICATIONS, Codec().encode(a_notification()) + b"\x00")


def test_an_event_of_another_topic_is_undecodable() -> None:
    with pytest.raises(Undecodable):
        Codec().decode(LIFECYCLE_EVENTS, Codec().encode(a_notification()))


def test_a_topic_without_events_decodes_nothing() -> None:
    with pytest.raises(Undecodable, match="carries no events"):
        Codec().decode(SCHEMAS, Codec().encode(a_notification()))


# Another build


def newer(folder: str, **field: Any) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads(load_packaged_schemas()[folder][-1].text)
    return {**schema, "fields": [*schema["fields"], field]}


def written_by(schema: dict[str, Any], values: dict[str, Any]) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), values)
    return MARKER + compute_fingerprint(schema) + out.getvalue()


def values_of(event: Event) -> dict[str, Any]:
    return {field: getattr(event, field) for field in event.__dataclass_fields__}


def test_an_unknown_fingerprint_is_read_once_its_schema_is_learned() -> None:
    codec = Codec()
    schema = newer("notifications", name="colour", type=["null", "string"], default=None)
    value = written_by(schema, {**values_of(a_notification()), "colour": "red"})

    with pytest.raises(UnknownSchema) as unknown:
        codec.decode(NOTIFICATIONS, value)
    learned = codec.learn_schema(unknown.value.fingerprint, json.dumps(schema))

    assert learned
    assert codec.decode(NOTIFICATIONS, value) == a_notification()


def test_a_schema_under_a_wrong_fingerprint_is_not_learned() -> None:
    codec = Codec()
    schema = newer("notifications", name="colour", type="string", default="")

    assert not codec.learn_schema(b"12345678", json.dumps(schema))
    assert not codec.learn_schema(b"12345678", "no JSON")
    assert not codec.learn_schema(b"12345678", '{"type": "no such type"}')
    assert not codec.knows_fingerprint(b"12345678")


def a_moved_mail() -> MailEvent:
    return MailEvent(
        event_id="e",
        occurred_at=a_notification().occurred_at,
        tenant_id="acme",
        doc_source_id="ds-1",
        kind=MailKind.MOVED,
        message_id="m",
    )


def test_a_new_lifecycle_kind_reads_as_other() -> None:
    event = LifecycleEvent(
        event_id="e",
        occurred_at=a_notification().occurred_at,
        tenant_id="acme",
        doc_source_id="ds-1",
        provider="outlook",
        subscription_id="s",
        kind=LifecycleKind.MISSED,
        raw_kind="renamed",
    )
    newer_record = write_new_symbol(event, "lifecycle-events", "kind", "renamed")
    codec = Codec()
    assert codec.learn_schema(newer_record.fingerprint, newer_record.schema)

    read = codec.decode(LIFECYCLE_EVENTS, newer_record.value)

    assert isinstance(read, LifecycleEvent)
    assert read.kind is LifecycleKind.OTHER


def test_a_new_symbol_that_has_no_harmless_reading_is_not_decodable_before_the_upgrade() -> None:
    newer_record = write_new_symbol(a_moved_mail(), "mail-events", "kind", "archived")
    codec = Codec()
    with pytest.raises(UnknownSchema):
        codec.decode(MAIL_EVENTS, newer_record.value)
    assert codec.learn_schema(newer_record.fingerprint, newer_record.schema)

    with pytest.raises(UnknownSymbol, match="a symbol of MailKind"):
        codec.decode(MAIL_EVENTS, newer_record.value)


def test_the_symbol_unknown_itself_is_corrupt_in_a_schema_of_this_build() -> None:
    """No build writes it: a partition must not wait for an upgrade that would not help."""
    schema: dict[str, Any] = json.loads(load_packaged_schemas()["mail-events"][-1].text)
    values = {wire_name(name): value for name, value in values_of(a_moved_mail()).items()}

    with pytest.raises(Undecodable):
        Codec().decode(MAIL_EVENTS, written_by(schema, {**values, "kind": "unknown"}))
