import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import fastavro
import pytest
from newer_build import write_new_symbol

from mailroom_common.events import Access, DocSource, DocSourceState, Profile, SourceFilter
from mailroom_common.kafka import directory
from mailroom_common.kafka.codec import MARKER, Codec
from mailroom_common.kafka.directory import DocSourceDirectory
from mailroom_common.kafka.record import RawRecord
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


@pytest.mark.parametrize("keeps_filters", [True, False])
def test_filter_is_kept_only_where_it_is_needed(keeps_filters: bool) -> None:
    codec = Codec()
    found = source(filter=SourceFilter(sender_deny=["news.example"]))
    directory = DocSourceDirectory(Settings(), codec, keeps_filters=keeps_filters)
    directory.apply_record(Record(b"ds-1", codec.encode(found)))
    assert directory.get_source("ds-1") == (found if keeps_filters else replace(found, filter=SourceFilter()))


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


def test_record_below_the_newest_version_is_outdated_until_that_one_is_the_last_again() -> None:
    reading = Reading()
    reported: list[str] = []
    reading.directory.on_outdated(reported.append)

    reading.read(source(6))
    assert reading.directory.list_outdated() == {}
    reading.read(source(5))
    assert reading.directory.list_outdated() == {"ds-1": 5}
    reading.read(source(6))
    assert reading.directory.list_outdated() == {}
    assert reported == ["ds-1"]


def test_tombstone_and_record_are_outdated_behind_each_other() -> None:
    reading = Reading()
    reading.read(source(7))
    reading.read_tombstone("ds-1", 6)
    assert reading.directory.list_outdated() == {"ds-1": 6}
    reading.read_tombstone("ds-1", 8)
    assert reading.directory.list_outdated() == {}
    reading.read(source(7))
    assert reading.directory.list_outdated() == {"ds-1": 7}


def test_corrupt_record_behind_a_readable_one_is_outdated_and_an_unknown_schema_is_not() -> None:
    reading = Reading()
    reading.read(source(3))
    reading.directory.apply_record(Record(b"ds-1", MARKER + bytes(8)))
    assert reading.directory.list_outdated() == {}
    reading.directory.apply_record(Record(b"ds-1", b"garbage"))
    reading.directory.apply_record(Record(b"ds-2", b"garbage"))
    assert reading.directory.list_outdated() == {"ds-1": -1}


def test_one_mailbox_can_belong_to_several_sources_by_address_or_alias() -> None:
    reading = Reading()
    first = source(1)
    second = source(1, doc_source_id="ds-2", address="me@example.com", aliases=["billing@EXAMPLE.com"])
    elsewhere = source(1, doc_source_id="ds-3", provider="outlook")

    for found in (first, second, elsewhere):
        reading.read(found)

    assert set(map(id_of, reading.directory.find_by_address("gmail", "BILLING@example.com"))) == {"ds-1", "ds-2"}
    assert reading.directory.find_by_address("gmail", "nobody@example.com") == ()


def test_only_active_sources_count_as_sharers_of_a_mailbox() -> None:
    reading = Reading()
    for number, state in enumerate(DocSourceState):
        reading.read(source(1, doc_source_id=f"ds-{number}", state=state))
    assert len(reading.directory.find_by_address("gmail", "billing@example.com")) == len(DocSourceState)
    assert reading.directory.count_active_sources("gmail", "billing@example.com") == 1


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


def test_an_address_that_one_of_two_sources_gave_up_still_leads_to_the_other() -> None:
    reading = Reading()
    reading.read(source(1))
    reading.read(source(1, doc_source_id="ds-2"))

    reading.read_tombstone("ds-1", 2)

    assert [found.doc_source_id for found in reading.directory.find_by_address("gmail", "billing@example.com")] == [
        "ds-2"
    ]


def test_the_same_version_once_more_is_taken_over_and_reported() -> None:
    """It may have been republished by a newer version of Mailroom, which says more."""
    reading = Reading()
    reading.read(source(3))

    reading.read(source(3, aliases=["sales@example.com"]))

    assert reading.directory.list_sources() == (source(3, aliases=["sales@example.com"]),)
    assert len(reading.changes) == 2


def write_with_newer_schema(found: DocSource) -> tuple[bytes, bytes, dict[str, Any]]:
    """The value of a record whose schema is not known yet, the schema's fingerprint, and the schema."""
    schema = json.loads(load_packaged_schemas()["doc-sources"][-1].text)
    schema["fields"].append({"name": "colour", "type": ["null", "string"], "default": None})
    out = BytesIO()
    values = {name: getattr(found, name) for name in found.__dataclass_fields__}
    values["filter"] = {"sender_allow": [], "sender_deny": [], "strictness": "lenient"}
    fastavro.schemaless_writer(out, fastavro.parse_schema(schema), {**values, "colour": "red"})
    fingerprint = compute_fingerprint(schema)
    return MARKER + fingerprint + out.getvalue(), fingerprint, schema


def test_sources_of_an_unknown_schema_are_read_once_that_is_learned() -> None:
    reading = Reading()
    sources = [source(1, doc_source_id=f"ds-{number}") for number in (1, 2)]
    for found in sources:
        value, fingerprint, schema = write_with_newer_schema(found)
        reading.directory.apply_record(Record(found.doc_source_id.encode(), value))
    assert reading.directory.list_sources() == ()

    reading.schemas.apply_record(Record(fingerprint.hex().encode(), json.dumps(schema).encode()))

    assert reading.directory.list_sources() == tuple(sources)


def test_a_source_with_a_symbol_of_a_newer_build_keeps_its_state_and_is_not_outdated() -> None:
    reading = Reading()
    reading.read(source(1))
    newer_record = write_new_symbol(source(2), "doc-sources", "profile", "payslip")
    reading.schemas.apply_record(Record(newer_record.fingerprint.hex().encode(), newer_record.schema.encode()))

    reading.directory.apply_record(Record(b"ds-1", newer_record.value))

    assert (reading.directory.list_sources(), reading.directory.list_outdated()) == ((source(1),), {})


class FakeReader:
    """A topic reader that has one record to load and one to follow with, and remembers what it was asked for."""

    def __init__(
        self, _settings: object, _topic: object, apply: Callable[[RawRecord], None], *, client_id: str
    ) -> None:
        self._apply = apply
        self.is_loaded = False
        self.is_closed = False
        self.caught_up_within_s: list[float] = []

    async def load_topic(self) -> None:
        self._apply(Record(b"ds-1", Codec().encode(source(1))))
        self.is_loaded = True

    async def follow_topic(self, stopping: asyncio.Event) -> None:
        self._apply(Record(b"ds-1", Codec().encode(source(2))))
        await stopping.wait()

    async def catch_up(self, timeout_s: float) -> bool:
        self.caught_up_within_s.append(timeout_s)
        return self.is_loaded

    async def close(self) -> None:
        self.is_closed = True


async def test_the_topic_is_loaded_then_followed_and_readiness_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "TopicReader", FakeReader)
    reading = Reading()
    reader: Any = reading.directory._reader
    assert reading.directory.check_readiness() == "doc-sources is not read to its end yet"
    assert not await reading.directory.catch_up(3)
    stopping = asyncio.Event()

    running = asyncio.create_task(reading.directory.load_and_follow(stopping))
    await asyncio.sleep(0.01)  # the reader follows without waiting for anything

    assert reading.directory.check_readiness() is None
    assert [found for _, found in reading.changes] == [source(1), source(2)]
    assert await reading.directory.catch_up(4)
    assert reader.caught_up_within_s == [3, 4]
    assert not running.done()
    stopping.set()
    await running
    await reading.directory.close()
    assert reader.is_closed


def test_a_schema_record_that_lies_is_not_learned() -> None:
    reading = Reading()

    reading.schemas.apply_record(Record(b"00" * 8, b'"int"'))
    reading.schemas.apply_record(Record(b"not hex", b'"int"'))
    reading.schemas.apply_record(Record(None, None))

    assert not reading.codec.knows_fingerprint(bytes(8))
