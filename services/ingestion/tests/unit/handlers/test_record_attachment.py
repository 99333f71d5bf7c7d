from datetime import UTC, datetime
from pathlib import Path

import pytest
from ingestion_fakes import FakeBlobs, build_record

from ingestion.handlers.record_attachment import AttachmentRecorder
from mailroom_common.errors import Rejected
from mailroom_common.events import AttachmentStored, Event, IngestionResult, ResultStatus
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.topics import ATTACHMENTS


class FakeIntakeStore:
    def __init__(self, unneeded: str | None) -> None:
        self.unneeded = unneeded
        self.taken: list[AttachmentStored] = []

    async def record_attachment(self, stored: AttachmentStored) -> str | None:
        self.taken.append(stored)
        return self.unneeded


def record(event: Event | None) -> IncomingRecord:
    return IncomingRecord(ATTACHMENTS, 0, 0, datetime.now(UTC), "key", None, {}, event)


async def test_the_blob_of_a_duplicate_is_deleted_after_its_row_is_committed(tmp_path: Path) -> None:
    intakes, blobs = (
        FakeIntakeStore("documents/2.pdf"),
        FakeBlobs(tmp_path, {"documents/2.pdf": b"", "documents/1.pdf": b""}),
    )
    event = build_record()
    await AttachmentRecorder(intakes, blobs)(record(event))
    assert intakes.taken == [event]
    assert list(blobs.blobs) == ["documents/1.pdf"]


async def test_the_blob_of_a_document_stays(tmp_path: Path) -> None:
    blobs = FakeBlobs(tmp_path, {"documents/1.pdf": b""})
    await AttachmentRecorder(FakeIntakeStore(None), blobs)(record(build_record()))
    assert list(blobs.blobs) == ["documents/1.pdf"]


async def test_a_record_of_another_kind_is_dead_lettered(tmp_path: Path) -> None:
    other = IngestionResult(
        event_id="e",
        occurred_at=datetime.now(UTC),
        tenant_id="acme",
        doc_source_id="s",
        attachment_id="a",
        document_id="d",
        status=ResultStatus.COMPLETED,
    )
    with pytest.raises(Rejected):
        await AttachmentRecorder(FakeIntakeStore(None), FakeBlobs(tmp_path))(record(other))


async def test_a_tombstone_means_nothing_here(tmp_path: Path) -> None:
    intakes = FakeIntakeStore(None)
    await AttachmentRecorder(intakes, FakeBlobs(tmp_path))(record(None))
    assert intakes.taken == []
