import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import fastavro

from mailroom_common.events import Access, DocSource, DocSourceState, Profile
from mailroom_common.kafka.codec import MARKER, Codec
from mailroom_common.kafka.directory import DocSourceDirectory
from mailroom_common.kafka.schema_files import compute_fingerprint, load_packaged_schemas
from mailroom_common.kafka.schemas_topic import SchemaDirectory
from mailroom_common.kafka.security import UNSECURED, KafkaSecurity

AT = datetime(2026, 11, 28, tzinfo=UTC)


@dataclass(frozen=True)
class Settings:
    kafka_bootstrap: str = "nowhere:1"
    topic_prefix: str = ""
    kafka_security: KafkaSecurity = UNSECURED


@dataclass(frozen=True)
class Record:
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...] = ()
    topic: str = "doc-sources"
    partition: int = 0
    offset: int = 0
    timestamp: int = 0


def source(version: int = 1, **changes: Any) -> DocSource:
    usual = DocSource(
        event_id="e",
        occurred_at=AT,
        tenant_id="acme",
        doc_source_id="ds-1",
        version=version,
        provider="gmail",
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        address="Billing@Example.com",
        state=DocSourceState.ACTIVE,
    )
    return replace(usual, **changes)


class Reading:
    def __init__(self) -> None:
        self.codec = Codec()
        self.schemas = SchemaDirectory(Settings(), self.codec)
        self.directory = DocSourceDirectory(Settings(), self.codec, schemas=self.schemas)
        self.changes: list[tuple[str, DocSource | None]] = []
        self.directory.on_change(lambda key, found: self.changes.append((key, found)))

    def read(self, found: DocSource) -> None:
        self.directory.apply_record(Record(found.doc_source_id.encode(), self.codec.encode(found)))

    def read_tombstone(self, doc_source_id: str, version: int | None) -> None:
        headers = () if version is None else (("version", str(version).encode()),)
        self.directory.apply_record(Record(doc_source_id.encode(), None, headers))


def test_an_older_version_that_comes_late_changes_nothing() -> None:
    reading = Reading()
    newest = source(3, state=DocSourceState.PAUSED)

    reading.read(newest)
    reading.read(source(2))

    assert reading.directory.get_source("ds-1") == newest


def test_a_tombstone_deletes_and_nothing_older_comes_back() -> None:
    reading = Reading()
    reading.read(source(3))

    reading.read_tombstone("ds-1", 4)
    reading.read(source(3))

    assert reading.directory.get_source("ds-1") is None
    assert reading.directory.find_by_address("gmail", "billing@example.com") == ()
    assert reading.changes[-1] == ("ds-1", None)


def test_a_tombstone_older_than_what_is_known_deletes_nothing() -> None:
    reading = Reading()
    reading.read(source(5))

    reading.read_tombstone("ds-1", 4)

    assert reading.directory.get_source("ds-1") == source(5)


def test_a_tombstone_without_a_version_is_taken_at_its_word() -> None:
    reading = Reading()
    reading.read(source(5))

    reading.read_tombstone("ds-1", None)

    assert reading.directory.get_source("ds-1") is None


def test_one_mailbox_can_belong_to_several_sources_by_address_or_alias() -> None:
    reading = Reading()
    first = source(1)
    second = source(1, doc_source_id="ds-2", address="me@example.com", aliases=["billing@EXAMPLE.com"])
    elsewhere = source(1, doc_source_id="ds-3", provider="outlook")

    for found in (first, second, elsewhere):
        reading.read(found)

    assert set(map(id_of, reading.directory.find_by_address("gmail", "BILLING@example.com"))) == {"ds-1", "ds-2"}
    assert reading.directory.find_by_address("gmail", "nobody@example.com") == ()


def id_of(found: DocSource) -> str:
    return found.doc_source_id


def test_an_address_that_a_source_gave_up_leads_to_it_no_more() -> None:
    reading = Reading()
    reading.read(source(1))

    reading.read(source(2, address="new@example.com"))

    assert reading.directory.find_by_address("gmail", "billing@example.com") == ()
    assert len(reading.directory.find_by_address("gmail", "new@example.com")) == 1


def test_what_cannot_be_read_is_stepped_over_and_the_rest_is_read() -> None:
    reading = Reading()

    reading.directory.apply_record(Record(b"ds-9", b"garbage"))
    reading.directory.apply_record(Record(b"\xff", b"garbage"))
    reading.directory.apply_record(Record(b"ds-9", None, (("version", b"no number"),)))
    reading.read(source(1))

    assert reading.directory.get_source("ds-9") is None
    assert len(reading.directory) == 1


def test_a_source_of_an_unknown_schema_is_read_once_that_is_learned() -> None:
    reading = Reading()
    schema = json.loads(load_packaged_schemas()["doc-sources"][-1].text)
    schema["fields"].append({"name": "colour", "type": ["null", "string"], "default": None})
    out = BytesIO()
    values = {name: getattr(source(1), name) for name in source(1).__dataclass_fields__}
    values["filter"] = {"sender_allow": [], "sender_deny": [], "strictness": "lenient"}
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), {**values, "colour": "red"})
    fingerprint = compute_fingerprint(schema)
    reading.directory.apply_record(Record(b"ds-1", MARKER + fingerprint + out.getvalue()))
    assert reading.directory.get_source("ds-1") is None

    reading.schemas.apply_record(Record(fingerprint.hex().encode(), json.dumps(schema).encode()))

    assert reading.directory.get_source("ds-1") == source(1)


def test_a_schema_record_that_lies_is_not_learned() -> None:
    reading = Reading()

    reading.schemas.apply_record(Record(b"00" * 8, b'"int"'))
    reading.schemas.apply_record(Record(b"not hex", b'"int"'))
    reading.schemas.apply_record(Record(None, None))

    assert not reading.codec.knows_fingerprint(bytes(8))
