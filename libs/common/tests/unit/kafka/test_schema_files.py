"""The schema files: they are the classes, they only ever grow, and old records stay readable."""

import dataclasses
import json
import types
import typing
from datetime import datetime
from enum import StrEnum
from itertools import combinations, permutations
from typing import Any

import avro.schema
import pytest
from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType

from mailroom_common.kafka.codec import EVENT_TYPES, wire_name
from mailroom_common.kafka.schema_files import AvroSchema, SchemaVersion, compute_fingerprint, load_packaged_schemas
from mailroom_common.topics import TOPICS

FOLDERS = sorted(load_packaged_schemas())

# A schema is any JSON, hence the many Any below.
PLAIN = {str: "string", bool: "boolean", int: "long", float: "double"}


def read(version: SchemaVersion) -> AvroSchema:
    return typing.cast("AvroSchema", json.loads(version.text))


def test_every_topic_that_carries_events_has_a_schema_and_a_class() -> None:
    named = {topic.event for topic in TOPICS if topic.event is not None}

    assert named == set(FOLDERS) == set(EVENT_TYPES)


@pytest.mark.parametrize("folder", FOLDERS)
def test_versions_are_numbered_without_a_gap(folder: str) -> None:
    numbers = [version.number for version in load_packaged_schemas()[folder]]

    assert numbers == list(range(1, len(numbers) + 1))


@pytest.mark.parametrize("folder", FOLDERS)
def test_the_newest_schema_is_the_event_class(folder: str) -> None:
    assert_is_class(read(load_packaged_schemas()[folder][-1]), EVENT_TYPES[folder], {})


def assert_is_class(schema: AvroSchema, record: type[Any], named: dict[str, Any]) -> None:
    fields = {field["name"]: field for field in schema["fields"]}
    hints = typing.get_type_hints(record)
    assert schema["name"] == record.__name__
    assert list(fields) == [wire_name(name) for name in hints]
    for field in dataclasses.fields(record):
        wire = fields[wire_name(field.name)]
        assert_is_type(wire["type"], hints[field.name], named)
        assert ("default" in wire) == has_default(field), field.name
        if "default" in wire:
            assert wire["default"] == default_of(field)


def has_default(field: "dataclasses.Field[Any]") -> bool:
    return field.default is not dataclasses.MISSING or field.default_factory is not dataclasses.MISSING


def default_of(field: "dataclasses.Field[Any]") -> object:
    if field.default_factory is dataclasses.MISSING:
        return field.default
    made = field.default_factory()
    return dataclasses.asdict(made) if dataclasses.is_dataclass(made) and not isinstance(made, type) else made


def assert_is_type(avro_type: Any, hint: Any, named: dict[str, Any]) -> None:
    if isinstance(avro_type, str) and avro_type in named:
        avro_type = named[avro_type]
    if isinstance(avro_type, dict) and "name" in avro_type:
        named[avro_type["name"]] = avro_type
    if typing.get_origin(hint) is types.UnionType:
        inner, nothing = typing.get_args(hint)
        assert nothing is type(None)
        assert avro_type[0] == "null"
        assert_is_type(avro_type[1], inner, named)
    elif typing.get_origin(hint) is list:
        assert avro_type["type"] == "array"
        assert_is_type(avro_type["items"], typing.get_args(hint)[0], named)
    elif hint is datetime:
        assert avro_type == {"type": "long", "logicalType": "timestamp-millis"}
    elif dataclasses.is_dataclass(hint):
        assert_is_class(avro_type, typing.cast("type[Any]", hint), named)
    elif issubclass(hint, StrEnum):
        members = [str(member) for member in hint]
        # `unknown` is what an older reader makes of a symbol that it does not have; no member, so never written.
        assert avro_type["symbols"] in (members, [*members, "unknown"])
        assert avro_type["default"] in avro_type["symbols"]
    else:
        assert avro_type == PLAIN[hint]


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_version_reads_every_other(folder: str) -> None:
    """Fully transitive and both ways: a new reader meets old records in a replay, an old reader meets new writers."""
    for reader, writer in permutations(load_packaged_schemas()[folder], 2):
        assert_reads(read(reader), read(writer))
    assert_reads(read(load_packaged_schemas()[folder][-1]), read(load_packaged_schemas()[folder][-1]))


def assert_reads(reader: AvroSchema, writer: AvroSchema) -> None:
    checker = ReaderWriterCompatibilityChecker()  # type: ignore[no-untyped-call]  # avro is half typed
    verdict = checker.get_compatibility(avro.schema.parse(json.dumps(reader)), avro.schema.parse(json.dumps(writer)))
    assert verdict.compatibility is SchemaCompatibilityType.compatible, verdict.messages


@pytest.mark.parametrize("folder", FOLDERS)
def test_later_versions_keep_the_rules(folder: str) -> None:
    versions = [read(version) for version in load_packaged_schemas()[folder]]

    for version in versions:
        assert lint(version) == []
    for earlier, later in combinations(versions, 2):
        assert lint_step(earlier, later) == []


def lint(schema: Any) -> list[str]:
    """Enums have a default, or an added symbol breaks every older reader."""
    return [f"enum {found['name']} has no default" for found in enums_in(schema) if "default" not in found]


def enums_in(schema: Any) -> list[Any]:
    if isinstance(schema, list):
        return [found for part in schema for found in enums_in(part)]
    if not isinstance(schema, dict):
        return []
    own = [schema] if schema.get("type") == "enum" else []
    return own + [found for part in schema.values() if isinstance(part, dict | list) for found in enums_in(part)]


def lint_step(earlier: AvroSchema, later: AvroSchema) -> list[str]:
    """What the compatibility checker lets through, and must not be: see kafka.md 3.8."""
    before = {field["name"]: field for field in earlier["fields"]}
    found = []
    if earlier.get("namespace") != later.get("namespace") or earlier["name"] != later["name"]:
        found.append("the record has another name")
    for field in later["fields"]:
        known = before.get(field["name"])
        if known is None and "default" not in field:
            found.append(f"new field {field['name']} has no default")
        if known is not None and logical_types(known["type"]) != logical_types(field["type"]):
            found.append(f"field {field['name']} has another logical type")
    return found


def logical_types(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [found for part in schema for found in logical_types(part)]
    if isinstance(schema, dict):
        own = [schema["logicalType"]] if "logicalType" in schema else []
        return own + logical_types(schema.get("type")) + logical_types(schema.get("items"))
    return []


RECORD: AvroSchema = {
    "type": "record",
    "name": "Thing",
    "namespace": "mailroom.v1",
    "fields": [{"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}}],
}


def with_field(**field: Any) -> AvroSchema:
    return {**RECORD, "fields": [*RECORD["fields"], field]}


def test_the_lint_finds_what_the_checker_lets_through() -> None:
    bare_enum = {"type": "enum", "name": "Kind", "symbols": ["a"]}
    plain_long = {**RECORD, "fields": [{"name": "at", "type": "long"}]}

    assert lint(with_field(name="kind", type=["null", bare_enum])) == ["enum Kind has no default"]
    assert lint_step(RECORD, with_field(name="new", type="string")) == ["new field new has no default"]
    assert lint_step(RECORD, plain_long) == ["field at has another logical type"]
    assert lint_step(RECORD, {**RECORD, "namespace": "mailroom.v2"}) == ["the record has another name"]
    assert lint_step(RECORD, with_field(name="new", type="string", default="")) == []


@pytest.mark.parametrize(
    ("schema", "expected"),
    [("int", "8f5c393f1ad57572"), ("null", "8a8f25cce724dd63"), ("long", "b71df49344e154d0")],
)
def test_fingerprints_match_the_published_vectors(schema: str, expected: str) -> None:
    assert compute_fingerprint(schema).hex() == expected


def test_a_logical_type_does_not_change_a_fingerprint() -> None:
    """The specification's canonical form drops it; avro 1.12 does not, which is why fastavro computes ours."""
    stamped = {"type": "long", "logicalType": "timestamp-millis"}

    assert compute_fingerprint(stamped) == compute_fingerprint("long")
    assert avro.schema.parse(json.dumps(stamped)).fingerprint("CRC-64-AVRO") != compute_fingerprint(stamped)


def test_the_fingerprints_of_our_schemas_are_pinned() -> None:
    """A change here means that records already written need the old file: add a version, never edit one."""
    found = {f"{v.folder}/v{v.number}": v.fingerprint.hex() for vs in load_packaged_schemas().values() for v in vs}

    assert found == PINNED


PINNED = {
    "attachments/v1": "3dced020d195eee0",
    "connection-events/v1": "12b75e32e6f4c010",
    "connection-events/v2": "038dc110efe7791d",
    "connection-events/v3": "7816e0333426a21a",
    "doc-sources/v1": "abf16f7458c83358",
    "doc-sources/v2": "6c386c00a51446cc",
    "doc-sources/v3": "dc79352920f1f10c",
    "ingestion-results/v1": "50d3d0f9a034176b",
    "lifecycle-events/v1": "0f96ff914501736a",
    "mail-events/v1": "4525c75da54258dc",
    "mail-events/v2": "d81c239bad244ad5",
    "notifications/v1": "b850f48dd246ed14",
    "sync-requests/v1": "7b1ebff6f3dfab24",
}
