"""Records as a newer build writes them: with an enum symbol that this build does not have."""

import json
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import fastavro

from mailroom_common.events import Event
from mailroom_common.kafka.codec import MARKER, Codec
from mailroom_common.kafka.schema_files import compute_fingerprint, load_packaged_schemas


@dataclass(frozen=True)
class NewerRecord:
    """`schema` is in the topic `schemas` by the time that `value` is written: its producer announces it first."""

    value: bytes
    fingerprint: bytes
    schema: str


def write_new_symbol(event: Event, folder: str, field_name: str, symbol: str) -> NewerRecord:
    """`event` with `symbol` in a field of an enum type; `folder` is that of its schema."""
    schema: dict[str, Any] = json.loads(load_packaged_schemas()[folder][-1].text)
    body = BytesIO(Codec().encode(event)[len(MARKER) + 8 :])
    values: Any = fastavro.schemaless_reader(body, fastavro.parse_schema(schema), None)  # a record is a dict
    enum = next(field["type"] for field in schema["fields"] if field["name"] == field_name)
    enum["symbols"] = [*enum["symbols"], symbol]
    out = BytesIO()
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), {**values, field_name: symbol})
    fingerprint = compute_fingerprint(schema)
    return NewerRecord(MARKER + fingerprint + out.getvalue(), fingerprint, json.dumps(schema))
