from collections.abc import Collection
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from ingestion_fakes import PDF, FakeBlobs, build_record

from ingestion.domain.lanes import Lane
from ingestion.handlers.record_attachment import AttachmentRecorder
from ingestion.handlers.remove_duplicate import DuplicateRemover
from ingestion.ports.housekeeping import SweptBlob
from ingestion.ports.intake import DuplicateBlob, RereadFilter, RereadPage
from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.events import AttachmentStored, Event, IngestionResult, ResultStatus
from mailroom_common.kafka.headers import REPLAY_ID
from mailroom_common.kafka.record import IncomingRecord
from mailroom_common.topics import ATTACHMENTS, ATTACHMENTS_BACKFILL, Topic

KEPT_KEY = "documents/1.pdf"


class FakeIntakeStore:
    """Knows one duplicate, which is remembered until it is forgotten."""

    def __init__(self, unneeded: str | None) -> None:
        self.unneeded = unneeded
        self.taken: list[AttachmentStored] = []
        self.lanes: list[Lane] = []
        self.undeleted: list[DuplicateBlob] = []

    async def record_attachment(self, stored: AttachmentStored, lane: Lane = Lane.LIVE) -> DuplicateBlob | None:
        self.taken.append(stored)
        self.lanes.append(lane)
        if self.unneeded is None:
            return None
        duplicate = DuplicateBlob(
            attachment_id=stored.attachment_id,
            tenant_id=stored.tenant_id,
            doc_source_id=stored.doc_source_id,
            content_sha256=stored.content_sha256,
            key=self.unneeded,
            kept_key=KEPT_KEY,
        )
        self.undeleted.append(duplicate)
        return duplicate

    async def claim_duplicate(self) -> DuplicateBlob | None:
        return next(iter(self.undeleted), None)

    async def count_duplicates(self, *, up_to: int) -> int:
        return min(len(self.undeleted), up_to)

    async def forget_duplicate(self, attachment_id: str) -> None:
        self.undeleted = [one for one in self.undeleted if one.attachment_id != attachment_id]


class FakeRereads:
    """Knows the attachments and contents given, and remembers what is read again."""

    def __init__(self, *attachment_ids: str, contents: Collection[str] = ()) -> None:
        self.attachment_ids = attachment_ids
        self.contents = contents
        self.requests: list[tuple[str, str]] = []
        self.read_from_copy: list[str] = []

    async def request_by_attachment(self, stored: AttachmentStored, replay_id: str) -> bool:
        if stored.attachment_id not in self.attachment_ids:
            return False
        self.requests.append((stored.attachment_id, replay_id))
        return True

    async def request_from_copy(self, copy: DuplicateBlob) -> None:
        self.read_from_copy.append(copy.attachment_id)

    async def has_content(self, doc_source_id: str, content_sha256: str) -> bool:
        return content_sha256 in self.contents

    async def request_document(self, tenant_id: str, document_id: str, replay_id: str) -> bool:
        raise NotImplementedError

    async def count_documents(self, tenant_id: str, wanted: RereadFilter, replay_id: str | None) -> int:
        raise NotImplementedError

    async def request_page(
        self, tenant_id: str, wanted: RereadFilter, replay_id: str, *, after: int, limit: int
    ) -> RereadPage:
        raise NotImplementedError


def record(event: Event | None, *, topic: Topic = ATTACHMENTS, replay_id: str | None = None) -> IncomingRecord:
    headers = {} if replay_id is None else {REPLAY_ID: replay_id}
    return IncomingRecord(topic, 0, 0, datetime.now(UTC), "key", None, headers, event)


async def test_the_blob_of_a_duplicate_is_deleted_after_its_row_is_committed(tmp_path: Path) -> None:
    intakes, blobs = (
        FakeIntakeStore("documents/2.pdf"),
        FakeBlobs(tmp_path, {"documents/2.pdf": PDF, "documents/1.pdf": PDF}),
    )
    event = build_record()
    await AttachmentRecorder(intakes, FakeRereads(), blobs)(record(event))
    assert intakes.taken == [event]
    assert (list(blobs.blobs), intakes.undeleted) == (["documents/1.pdf"], [])


@pytest.mark.parametrize("error", [Unavailable("S3 answered AccessDenied"), Rejected("S3 answered InvalidArgument")])
async def test_a_duplicate_whose_blob_the_store_does_not_delete_holds_up_no_record(
    tmp_path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    blobs = FakeBlobs(tmp_path, {"documents/2.pdf": PDF, KEPT_KEY: PDF})

    async def refuse(_key: str) -> None:
        raise error

    monkeypatch.setattr(blobs, "delete_blob", refuse)
    intakes = FakeIntakeStore("documents/2.pdf")
    await AttachmentRecorder(intakes, FakeRereads(), blobs)(record(build_record()))
    assert len(intakes.taken) == len(intakes.undeleted) == 1
    remover = DuplicateRemover(intakes, FakeRereads(), blobs)
    assert await remover.sweep_blob() is SweptBlob.POSTPONED
    monkeypatch.undo()
    assert [await remover.sweep_blob() for _ in range(2)] == [SweptBlob.DELETED, None]
    assert list(blobs.blobs) == [KEPT_KEY]


@pytest.mark.parametrize(
    ("blob", "kept", "swept"),
    [
        (None, PDF, SweptBlob.DELETED),
        (PDF, b"%PDF-1.7 damaged", SweptBlob.KEPT),
        (PDF, None, SweptBlob.KEPT),
        (b"%PDF- other", PDF, SweptBlob.KEPT),
    ],
    ids=["gone", "the only good copy", "the only copy", "of other content than recorded"],
)
async def test_a_duplicate_that_was_left_behind_is_looked_at_with_what_both_blobs_say_then(
    tmp_path: Path, blob: bytes | None, kept: bytes | None, swept: SweptBlob
) -> None:
    there = {"documents/2.pdf": blob, KEPT_KEY: kept}
    blobs = FakeBlobs(tmp_path, {key: content for key, content in there.items() if content is not None})
    before = dict(blobs.blobs)
    intakes, rereads = FakeIntakeStore("documents/2.pdf"), FakeRereads()
    await intakes.record_attachment(duplicate := build_record())
    assert await DuplicateRemover(intakes, rereads, blobs).sweep_blob() is swept
    assert (blobs.blobs, intakes.undeleted) == (before, [])
    assert rereads.read_from_copy == ([duplicate.attachment_id] if blob == PDF else [])


@pytest.mark.parametrize("unreadable_key", ["documents/2.pdf", KEPT_KEY])
async def test_a_duplicate_that_the_store_does_not_give_to_be_compared_holds_up_no_record_and_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unreadable_key: str
) -> None:
    blobs = FakeBlobs(tmp_path, {"documents/2.pdf": PDF, KEPT_KEY: PDF})
    compute_sha256 = blobs.compute_sha256

    async def refuse_one(key: str) -> str | None:
        if key == unreadable_key:
            raise Unavailable("S3 answered AccessDenied")
        return await compute_sha256(key)

    monkeypatch.setattr(blobs, "compute_sha256", refuse_one)
    intakes, rereads = FakeIntakeStore("documents/2.pdf"), FakeRereads()
    await AttachmentRecorder(intakes, rereads, blobs)(record(build_record()))
    remover = DuplicateRemover(intakes, rereads, blobs)
    assert await remover.sweep_blob() is SweptBlob.POSTPONED
    assert (len(intakes.undeleted), set(blobs.blobs)) == (1, {"documents/2.pdf", KEPT_KEY})
    monkeypatch.undo()
    assert (await remover.sweep_blob(), intakes.undeleted) == (SweptBlob.DELETED, [])


async def test_a_duplicate_is_looked_at_again_where_postgres_is_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sweep must not take that for an answer of the store."""
    intakes = FakeIntakeStore("documents/2.pdf")
    blobs = FakeBlobs(tmp_path, {"documents/2.pdf": PDF, KEPT_KEY: PDF})
    await intakes.record_attachment(build_record())

    async def fail(_attachment_id: str) -> None:
        raise Unavailable("Postgres")

    monkeypatch.setattr(intakes, "forget_duplicate", fail)
    with pytest.raises(Unavailable, match="Postgres"):
        await DuplicateRemover(intakes, FakeRereads(), blobs).sweep_blob()
    assert len(intakes.undeleted) == 1


async def test_a_blob_with_other_content_than_its_record_says_is_kept_and_the_record_dead_lettered(
    tmp_path: Path,
) -> None:
    blobs = FakeBlobs(tmp_path, {"documents/2.pdf": b"%PDF- the only copy", KEPT_KEY: PDF})
    with pytest.raises(Rejected, match="it is kept"):
        await AttachmentRecorder(FakeIntakeStore("documents/2.pdf"), FakeRereads(), blobs)(record(build_record()))
    assert list(blobs.blobs) == ["documents/2.pdf", KEPT_KEY]


@pytest.mark.parametrize("kept", [None, b"%PDF-1.7 damaged", b""], ids=["missing", "of other content", "empty"])
async def test_the_only_good_copy_that_is_left_is_never_deleted(tmp_path: Path, kept: bytes | None) -> None:
    others = {} if kept is None else {KEPT_KEY: kept}
    blobs = FakeBlobs(tmp_path, {"documents/2.pdf": PDF, **others})
    duplicate = build_record()
    rereads = FakeRereads(duplicate.attachment_id)
    await AttachmentRecorder(FakeIntakeStore("documents/2.pdf"), rereads, blobs)(record(duplicate))
    assert blobs.blobs == {"documents/2.pdf": PDF, **others}
    assert rereads.read_from_copy == [duplicate.attachment_id]


async def test_a_known_attachment_that_comes_with_other_bytes_keeps_them_beside_those_of_its_document(
    tmp_path: Path,
) -> None:
    event = build_record(b"%PDF-1.7 another version")
    blobs = FakeBlobs(tmp_path, {"documents/2.pdf": b"%PDF-1.7 another version", KEPT_KEY: PDF})
    await AttachmentRecorder(FakeIntakeStore("documents/2.pdf"), FakeRereads(), blobs)(record(event))
    assert set(blobs.blobs) == {"documents/2.pdf", KEPT_KEY}


async def test_a_duplicate_whose_blob_is_gone_already_is_done(tmp_path: Path) -> None:
    blobs = FakeBlobs(tmp_path, {KEPT_KEY: PDF})
    rereads = FakeRereads(build_record().attachment_id)
    await AttachmentRecorder(FakeIntakeStore("documents/2.pdf"), rereads, blobs)(record(build_record()))
    assert (list(blobs.blobs), rereads.requests) == ([KEPT_KEY], [])


OTHER = build_record(source="source-of-another-tenant", tenant="globex")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"blob_key": OTHER.blob_key}, "not its own"),
        ({"blob_key": f"archive/{build_record().attachment_id}.pdf"}, "not its own"),
        ({"blob_key": f"documents/{build_record().attachment_id}.pdf/../x.pdf"}, "not its own"),
        ({"blob_key": f"documents/{build_record().attachment_id}"}, "not its own"),
        ({"blob_key": OTHER.blob_key, "attachment_id": OTHER.attachment_id}, "does not belong"),
    ],
)
@pytest.mark.parametrize("replay_id", [None, "r1"])
async def test_a_record_that_names_the_blob_of_another_attachment_is_dead_lettered_before_anything_is_done(
    tmp_path: Path, changed: dict[str, Any], said: str, replay_id: str | None
) -> None:
    intakes, rereads = FakeIntakeStore(OTHER.blob_key), FakeRereads(OTHER.attachment_id)
    blobs = FakeBlobs(tmp_path, {OTHER.blob_key: PDF})
    with pytest.raises(Rejected, match=said):
        await AttachmentRecorder(intakes, rereads, blobs)(record(build_record(**changed), replay_id=replay_id))
    assert (intakes.taken, rereads.requests, list(blobs.blobs)) == ([], [], [OTHER.blob_key])


async def test_the_blob_of_a_document_stays(tmp_path: Path) -> None:
    blobs = FakeBlobs(tmp_path, {"documents/1.pdf": b""})
    await AttachmentRecorder(FakeIntakeStore(None), FakeRereads(), blobs)(record(build_record()))
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
        await AttachmentRecorder(FakeIntakeStore(None), FakeRereads(), FakeBlobs(tmp_path))(record(other))


async def test_a_tombstone_means_nothing_here(tmp_path: Path) -> None:
    intakes = FakeIntakeStore(None)
    await AttachmentRecorder(intakes, FakeRereads(), FakeBlobs(tmp_path))(record(None))
    assert intakes.taken == []


async def test_a_replayed_attachment_is_read_again_and_recorded_no_second_time(tmp_path: Path) -> None:
    event = build_record()
    intakes, rereads = FakeIntakeStore(None), FakeRereads(event.attachment_id)
    await AttachmentRecorder(intakes, rereads, FakeBlobs(tmp_path))(
        record(event, topic=ATTACHMENTS_BACKFILL, replay_id="r1")
    )
    assert (rereads.requests, intakes.taken) == ([(event.attachment_id, "r1")], [])


async def test_a_replayed_attachment_that_was_never_recorded_is_recorded_now(tmp_path: Path) -> None:
    event = build_record()
    intakes = FakeIntakeStore(None)
    blobs = FakeBlobs(tmp_path, {event.blob_key: b""})
    await AttachmentRecorder(intakes, FakeRereads(), blobs)(record(event, topic=ATTACHMENTS_BACKFILL, replay_id="r1"))
    assert (intakes.taken, intakes.lanes) == ([event], [Lane.BACKFILL])


async def test_a_replayed_duplicate_whose_blob_was_deleted_is_recorded(tmp_path: Path) -> None:
    event, intakes = build_record(), FakeIntakeStore(None)
    rereads = FakeRereads(contents=[event.content_sha256])
    await AttachmentRecorder(intakes, rereads, FakeBlobs(tmp_path))(record(event, replay_id="r1"))
    assert intakes.taken == [event]


async def test_a_replay_brings_nothing_back_whose_rows_and_blob_were_deleted(tmp_path: Path) -> None:
    intakes = FakeIntakeStore(None)
    await AttachmentRecorder(intakes, FakeRereads(), FakeBlobs(tmp_path))(record(build_record(), replay_id="r1"))
    assert intakes.taken == []


@pytest.mark.parametrize("replay_id", ["", "two words", "x" * 65, "\x00"])
async def test_a_replay_id_of_another_form_is_dead_lettered(tmp_path: Path, replay_id: str) -> None:
    with pytest.raises(Rejected, match="mr-replay-id"):
        await AttachmentRecorder(FakeIntakeStore(None), FakeRereads(), FakeBlobs(tmp_path))(
            record(build_record(), replay_id=replay_id)
        )


async def test_only_the_backfill_topic_leads_to_the_backfill_lane(tmp_path: Path) -> None:
    intakes = FakeIntakeStore(None)
    recorder = AttachmentRecorder(intakes, FakeRereads(), FakeBlobs(tmp_path))
    await recorder(record(build_record()))
    await recorder(record(build_record(), topic=ATTACHMENTS_BACKFILL))
    assert intakes.lanes == [Lane.LIVE, Lane.BACKFILL]
