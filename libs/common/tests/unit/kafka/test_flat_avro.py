import dataclasses
import json
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mailroom_common.kafka.codec import EVENT_TYPES, wire_name
from mailroom_common.kafka.flat_avro import flat_encoder
from mailroom_common.kafka.schema_files import load_packaged_schemas, parse_schema


def of_fastavro(schema: dict[str, Any], values: dict[str, Any]) -> bytes:
    out = BytesIO()
    fastavro.schemaless_writer(out, schema, values)
    return out.getvalue()


@pytest.mark.parametrize("folder", ["notifications", "lifecycle-events"])
def test_what_the_gateway_writes_is_flat(folder: str) -> None:
    names = {wire_name(field.name): field.name for field in dataclasses.fields(EVENT_TYPES[folder])}

    assert flat_encoder(load_packaged_schemas()[folder][-1].parsed, names, b"") is not None


@dataclasses.dataclass
class Sample:
    text: str | None = "t"
    number: int | None = 1
    yes: bool | None = True
    at: datetime | None = datetime(2026, 11, 28, tzinfo=UTC)


SAMPLE = parse_schema(
    json.dumps(
        {
            "type": "record",
            "name": "Sample",
            "fields": [
                {"name": "text", "type": ["null", "string"]},
                {"name": "number", "type": ["null", "long"]},
                {"name": "yes", "type": ["null", "boolean"]},
                {"name": "at", "type": ["null", {"type": "long", "logicalType": "timestamp-millis"}]},
            ],
        }
    )
)
ENCODE = flat_encoder(SAMPLE, {name: name for name in ("text", "number", "yes", "at")}, b"")


@given(
    st.builds(
        Sample,
        st.none() | st.text(st.characters(codec="utf-8"), max_size=20),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | st.booleans(),
        st.none() | st.datetimes(datetime(1900, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
    )
)
def test_any_value_of_a_flat_field_is_written_as_fastavro_does(sample: Sample) -> None:
    assert ENCODE is not None
    assert ENCODE(sample) == of_fastavro(SAMPLE, dataclasses.asdict(sample))


@pytest.mark.parametrize("size", [0, 1, 63, 64, 1_023, 1_024, 1_025, 8_191, 8_192, 70_000])
def test_texts_of_any_length_are_written_as_fastavro_does(size: int) -> None:
    assert ENCODE is not None
    sample = Sample(text="x" * size)

    assert ENCODE(sample) == of_fastavro(SAMPLE, dataclasses.asdict(sample))


@pytest.mark.parametrize(
    "wrong",
    [
        {"number": 2**63},
        {"number": -(2**63) - 1},
        {"number": "1"},
        {"text": 7},
        {"text": "\ud800"},
        {"at": datetime(2026, 11, 28)},  # noqa: DTZ001  # of which time zone?
        {"at": 1},
    ],
)
def test_what_the_schema_cannot_carry_is_refused(wrong: dict[str, Any]) -> None:
    assert ENCODE is not None
    with pytest.raises((OverflowError, TypeError, AttributeError, UnicodeEncodeError)):
        ENCODE(Sample(**wrong))


@pytest.mark.parametrize(
    "kind",
    [
        {"type": "array", "items": "string"},
        {"type": "record", "name": "Inner", "fields": []},
        {"type": "long", "logicalType": "timestamp-micros"},
        ["string", "null"],
        ["null", "string", "long"],
        ["null", "double"],
        "bytes",
    ],
)
def test_a_schema_with_anything_else_is_left_to_fastavro(kind: object) -> None:
    schema = {"fields": [{"name": "a", "type": "string"}, {"name": "b", "type": kind}]}

    assert flat_encoder(schema, {"a": "a", "b": "b"}, b"") is None
