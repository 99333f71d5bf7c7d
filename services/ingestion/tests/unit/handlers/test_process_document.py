import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from ingestion_fakes import NOW, FakeBlobs, FakeLeases, FakeReading, build_lease
from processing_fakes import DONE, FIELDS, PAGE, RETRIES, TRADES, Process, end

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.extraction_router import ExtractionRouter
from ingestion.domain.lanes import Lane
from ingestion.domain.ocr_turns import OCRBusy
from ingestion.domain.routing import Classification
from ingestion.domain.transcript import Transcript
from mailroom_common.errors import Rejected, Unavailable
from mailroom_common.events import Profile, ResultStatus
from mailroom_common.parser import ParserCrashed, ParserLimitReached, ParserUnconfined, UnreadableFile


async def test_false_when_there_is_nothing_to_claim(process: Process, leases: FakeLeases) -> None:
    leases.waiting.clear()
    assert not await process(FakeReading(PAGE)).process_next()


async def test_each_document_has_readers_of_its_own_closed_with_it(process: Process, leases: FakeLeases) -> None:
    reading = FakeReading(PAGE, extraction=DONE)
    processor = process(reading)
    for number in (1, 2):
        leases.waiting[:] = [build_lease()]
        assert await processor.process_next()
        assert (reading.opened, reading.closed) == (number, number)


async def test_a_document_is_read_routed_archived_and_finished(
    process: Process, leases: FakeLeases, blobs: FakeBlobs
) -> None:
    assert await process(FakeReading(PAGE, extraction=DONE)).process_next()
    outcome = end(leases)
    assert (outcome.status, outcome.extraction, outcome.reader) == (ResultStatus.COMPLETED, FIELDS, "reader/1")
    assert outcome.archive_path == leases.reserved[0]
    assert blobs.archived[leases.reserved[0]]["source"] == "gmail_push"


async def test_what_is_no_invoice_is_skipped_and_not_archived(
    process: Process, leases: FakeLeases, blobs: FakeBlobs
) -> None:
    await process(FakeReading(PAGE, Classification(None, 0.8))).process_next()
    assert (end(leases).status, end(leases).reason) == (ResultStatus.SKIPPED, "not_an_invoice")
    assert blobs.archived == {}


@pytest.mark.parametrize("profile", [Profile.INVOICE, Profile.CONTRACT_NOTE])
async def test_what_sync_engine_could_not_open_is_put_to_review_unread(
    process: Process, leases: FakeLeases, profile: Profile
) -> None:
    leases.waiting[:] = [build_lease(content_type="message/rfc822", profile=profile)]
    reading = FakeReading(PAGE)
    await process(reading).process_next()
    assert (end(leases).status, end(leases).reason) == (ResultStatus.NEEDS_REVIEW, "container_unreadable")
    assert reading.opened == 0


async def test_a_page_without_text_waits_for_a_person(process: Process, leases: FakeLeases) -> None:
    await process(FakeReading(Transcript("application/pdf", 1))).process_next()
    assert end(leases).reason == "no_text_layer"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (UnreadableFile("password_required"), "password_required"),
        (ParserLimitReached("memory"), "reader_limit"),
        (ParserCrashed("signal 11"), "reader_crashed"),
    ],
)
async def test_a_hostile_file_costs_one_attempt(
    process: Process, leases: FakeLeases, error: Exception, reason: str
) -> None:
    await process(FakeReading(error)).process_next()
    assert (end(leases).status, end(leases).reason) == (ResultStatus.NEEDS_REVIEW, reason)


async def test_a_reader_that_was_killed_from_outside_is_tried_again(process: Process, leases: FakeLeases) -> None:
    killed = FakeReading(ParserCrashed("signal 9", killed=True))
    await process(killed).process_next()
    assert leases.finished == []
    assert leases.releases[0][1] == NOW + timedelta(seconds=5)
    leases.waiting.append(build_lease(attempt=3))
    await process(killed).process_next()
    assert end(leases).reason == "reader_crashed"


async def test_a_missing_blob_is_looked_for_again_and_then_named(
    process: Process, leases: FakeLeases, blobs: FakeBlobs
) -> None:
    blobs.blobs.clear()
    await process(FakeReading(PAGE)).process_next()
    assert leases.releases[0][3]
    leases.waiting.append(build_lease(attempt=3))
    await process(FakeReading(PAGE)).process_next()
    assert (end(leases).status, end(leases).reason) == (ResultStatus.FAILED, "blob_missing")


@pytest.mark.parametrize("left", [None, b"%PDF-1.7 damaged"], ids=["gone", "of other content"])
async def test_a_document_whose_blob_is_not_what_it_was_is_read_from_a_copy_with_the_same_content(
    process: Process, leases: FakeLeases, blobs: FakeBlobs, left: bytes | None
) -> None:
    named = leases.waiting[0].blob_key
    leases.copies = ["documents/gone.pdf", "documents/other.pdf", "documents/copy.pdf"]
    blobs.blobs |= {"documents/other.pdf": b"%PDF-1.7 something else", "documents/copy.pdf": blobs.blobs.pop(named)}
    if left is not None:
        blobs.blobs[named] = left
    reading = FakeReading(PAGE, extraction=DONE)
    await process(reading).process_next()
    assert (end(leases).status, leases.releases) == (ResultStatus.COMPLETED, [])
    assert reading.opened == 1, "other bytes than the document's are never read"


async def test_a_blob_with_other_content_is_never_read(process: Process, leases: FakeLeases, blobs: FakeBlobs) -> None:
    blobs.blobs["documents/1.pdf"] = b"%PDF-1.7 something else"
    leases.waiting[:] = [build_lease(attempt=3)]
    await process(FakeReading(PAGE, extraction=DONE)).process_next()
    assert (end(leases).status, end(leases).reason) == (ResultStatus.FAILED, "blob_mismatch")


async def test_a_dependency_that_is_down_never_fails_a_document(process: Process, leases: FakeLeases) -> None:
    leases.waiting[:] = [build_lease(attempt=RETRIES.max_attempts)]
    await process(FakeReading(Unavailable("the store"))).process_next()
    assert leases.finished == []
    assert leases.releases[0][2:] == ("the store", False)


async def test_our_own_bug_is_tried_again_logged_without_its_text_and_then_failed(
    process: Process, leases: FakeLeases
) -> None:
    buggy = FakeReading(PAGE, extraction=ValueError("canary"))
    await process(buggy).process_next()
    assert "ValueError" in leases.releases[0][2]
    assert "canary" not in leases.releases[0][2]
    leases.waiting.append(build_lease(attempt=3))
    await process(buggy).process_next()
    assert (end(leases).status, end(leases).reason) == (ResultStatus.FAILED, "internal_error")


async def test_a_copy_that_the_archive_never_takes_ends_the_document_at_once_with_what_was_read(
    process: Process, leases: FakeLeases, blobs: FakeBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuses(*_: object, **__: object) -> None:
        raise Rejected("S3 answered MetadataTooLarge")

    monkeypatch.setattr(blobs, "write_archive_copy", refuses)
    await process(FakeReading(PAGE, extraction=DONE)).process_next()
    outcome = end(leases)
    assert (outcome.status, outcome.reason) == (ResultStatus.NEEDS_REVIEW, "archive_refused")
    assert (outcome.extraction, outcome.archive_path) == (FIELDS, None)
    assert leases.releases == []


async def test_a_blob_that_the_store_never_gives_out_is_given_up(
    process: Process, leases: FakeLeases, blobs: FakeBlobs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(_key: str) -> None:
        raise Rejected("S3 answered InvalidArgument")

    monkeypatch.setattr(blobs, "fetch_blob", refuses)
    await process(FakeReading(PAGE)).process_next()
    assert leases.releases[0][3]
    leases.waiting.append(build_lease(attempt=3))
    await process(FakeReading(PAGE)).process_next()
    assert (end(leases).status, end(leases).reason) == (ResultStatus.FAILED, "internal_error")


async def test_a_document_that_killed_its_workers_is_given_up(process: Process, leases: FakeLeases) -> None:
    leases.waiting[:] = [build_lease(attempt=4)]
    await process(FakeReading(AssertionError("must not be read"))).process_next()
    assert (end(leases).status, end(leases).reason) == (ResultStatus.FAILED, "internal_error")


async def test_a_lease_is_renewed_while_the_work_lasts(process: Process, leases: FakeLeases) -> None:
    class Slow(FakeReading):
        async def transcribe_file(self, file: Path, *, password: str | None = None) -> Transcript:
            await leases.renewed_thrice.wait()
            return PAGE

    await process(Slow(PAGE, extraction=DONE)).process_next()
    assert leases.renewals >= 3
    assert end(leases).status is ResultStatus.COMPLETED


async def test_a_renewal_that_fails_for_a_moment_ends_nothing(process: Process, leases: FakeLeases) -> None:
    class Slow(FakeReading):
        async def transcribe_file(self, file: Path, *, password: str | None = None) -> Transcript:
            await leases.renewed_thrice.wait()
            return PAGE

    leases.failing_renewals = 2
    await process(Slow(PAGE, extraction=DONE)).process_next()
    assert end(leases).status is ResultStatus.COMPLETED


async def test_a_pdf_that_waits_for_a_person_is_archived(
    process: Process, leases: FakeLeases, blobs: FakeBlobs
) -> None:
    await process(FakeReading(UnreadableFile("password_required"))).process_next()
    assert end(leases).archive_path == leases.reserved[0]
    assert list(blobs.archived) == leases.reserved


async def test_a_copy_is_not_written_once_the_lease_is_lost(
    process: Process, leases: FakeLeases, blobs: FakeBlobs
) -> None:
    leases.is_lost = True
    await process(FakeReading(PAGE, extraction=DONE)).process_next()
    assert blobs.archived == {}


async def test_work_stops_when_the_lease_is_lost(process: Process, leases: FakeLeases) -> None:
    class Endless(FakeReading):
        async def transcribe_file(self, file: Path, *, password: str | None = None) -> Transcript:
            await asyncio.Event().wait()
            raise AssertionError

    leases.is_lost = True
    await process(Endless(PAGE)).process_next()
    assert leases.finished == []
    assert leases.releases == []


async def test_a_failure_after_the_lease_was_lost_finishes_nothing(process: Process, leases: FakeLeases) -> None:
    leases.is_lost = True
    leases.waiting[:] = [build_lease(attempt=RETRIES.max_attempts)]
    assert await process(FakeReading(PAGE, extraction=ValueError("late"))).process_next()
    assert leases.finished == []


async def test_a_stopping_process_puts_its_document_back_at_once(process: Process, leases: FakeLeases) -> None:
    began = asyncio.Event()

    class Endless(FakeReading):
        async def transcribe_file(self, file: Path, *, password: str | None = None) -> Transcript:
            began.set()
            await asyncio.Event().wait()
            raise AssertionError

    work = asyncio.create_task(process(Endless(PAGE)).process_next())
    await began.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert [(put[1], put[3]) for put in leases.releases] == [(NOW, False)]


async def test_a_worker_whose_parser_is_not_confined_ends_and_its_document_waits(
    process: Process, leases: FakeLeases
) -> None:
    with pytest.raises(ParserUnconfined):
        await process(FakeReading(ParserUnconfined([]))).process_next()
    assert [(put[1], put[3]) for put in leases.releases] == [(NOW, False)]
    assert leases.finished == []


async def test_trades_are_confirmed_and_their_note_is_archived(
    process: Process, leases: FakeLeases, blobs: FakeBlobs
) -> None:
    leases.waiting[:] = [build_lease(profile=Profile.CONTRACT_NOTE)]
    reading = FakeReading(PAGE, Classification("contract_note", 0.97), TRADES)
    await process(reading).process_next()
    assert (end(leases).status, end(leases).document_type) == (ResultStatus.COMPLETED, "contract_note")
    assert reading.profiles == [Profile.CONTRACT_NOTE]
    assert list(blobs.archived) == leases.reserved


async def test_a_note_without_a_trade_is_skipped_and_archived_all_the_same(
    process: Process, leases: FakeLeases, blobs: FakeBlobs
) -> None:
    leases.waiting[:] = [build_lease(profile=Profile.CONTRACT_NOTE)]
    await process(FakeReading(PAGE, Classification(None, 0.9))).process_next()
    assert (end(leases).status, end(leases).reason) == (ResultStatus.SKIPPED, "no_trade")
    assert list(blobs.archived) == leases.reserved


async def test_a_language_model_is_asked_once_the_parser_process_is_free(
    leases: FakeLeases, blobs: FakeBlobs, process: Process
) -> None:
    reading = FakeReading(PAGE, extraction=DONE)

    class Assistant:
        async def assist_outcome(
            self, _lease: object, _file: object, outcome: DocumentOutcome, transcript: Transcript
        ) -> DocumentOutcome:
            assert reading.closed == 1
            assert transcript == PAGE
            return replace(outcome, reader="both/1")

    processor = process(reading)
    assistant: Any = Assistant()
    processor._assistant = assistant
    await processor.process_next()
    assert end(leases).reader == "both/1"
    assert list(blobs.archived) == [end(leases).archive_path]


async def test_what_a_language_model_completed_has_the_confidence_that_its_doc_source_asks_for(
    leases: FakeLeases, process: Process
) -> None:
    class Assistant:
        async def assist_outcome(
            self, _lease: object, _file: object, outcome: DocumentOutcome, _transcript: Transcript
        ) -> DocumentOutcome:
            return replace(outcome, confidence=0.8)

    processor = process(FakeReading(PAGE, extraction=DONE))
    assistant: Any = Assistant()
    processor._assistant = assistant
    processor._router = ExtractionRouter(by_doc_source={build_lease().doc_source_id: 0.85})
    await processor.process_next()
    assert (end(leases).status, end(leases).reason) == (ResultStatus.NEEDS_REVIEW, "confidence_low")


async def test_text_beside_a_picture_that_ends_its_ocr_process_is_kept(leases: FakeLeases, process: Process) -> None:
    class Pictures:
        async def read_pictures(
            self, _file: object, transcript: Transcript, *, password: str | None, queue: str
        ) -> AsyncGenerator[Transcript, None]:
            yield transcript
            raise ParserCrashed("signal 11")

    part = replace(DONE, fields={**FIELDS, "total_gross": None})
    processor = process(FakeReading(replace(PAGE, pictured_pages=(1,)), extraction=part))
    pictures: Any = Pictures()
    processor._pictures = pictures
    await processor.process_next()
    assert (end(leases).status, end(leases).reason) == (ResultStatus.NEEDS_REVIEW, "reader_crashed")
    assert end(leases).extraction == part.fields


async def test_a_picture_that_finds_no_ocr_process_waits_its_turn_and_loses_no_attempt(
    process: Process, leases: FakeLeases
) -> None:
    await process(FakeReading(OCRBusy(12.5))).process_next()
    ((_, not_before, _, count_attempt),) = leases.releases
    assert (not_before, count_attempt, leases.finished) == (NOW + timedelta(seconds=12.5), False, [])


async def test_a_picture_waits_its_turn_however_often_it_was_tried(process: Process, leases: FakeLeases) -> None:
    leases.waiting[:] = [build_lease(attempt=RETRIES.max_attempts)]
    await process(FakeReading(OCRBusy(1.0))).process_next()
    assert leases.finished == []


async def test_a_document_waits_for_ocr_in_the_queue_of_its_mailbox_and_lane(
    leases: FakeLeases, process: Process
) -> None:
    queues: list[str] = []
    part = replace(DONE, fields={**FIELDS, "total_gross": None})

    class Pictures:
        async def read_pictures(
            self, _file: object, transcript: Transcript, *, password: str | None, queue: str
        ) -> AsyncGenerator[Transcript, None]:
            queues.append(queue)
            yield transcript

    for lane in Lane:
        leases.waiting[:] = [build_lease(lane=lane)]
        processor = process(FakeReading(replace(PAGE, pictured_pages=(1,)), extraction=part))
        pictures: Any = Pictures()
        processor._pictures = pictures
        await processor.process_next()
    source = build_lease().doc_source_id
    assert queues == [f"live:{source}", f"backfill:{source}"]
