"""A document that is read again: what stays of the former outcome, of a password, and of a person's decision."""

from dataclasses import replace
from typing import Any

import pytest
from ingestion_fakes import FakeBlobs, FakeLeases, FakeReading, build_lease
from processing_fakes import DONE, FIELDS, PAGE, Process, end

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.document_password import GivenPassword
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.routing import Classification
from ingestion.domain.transcript import Transcript
from mailroom_common.errors import Rejected
from mailroom_common.events import ResultStatus
from mailroom_common.parser import ParserCrashed, ParserLimitReached, UnreadableFile

READ_BEFORE = DocumentOutcome(
    status=ResultStatus.COMPLETED,
    document_type="invoice",
    extraction=FIELDS,
    confidence=0.9,
    reader="reader/1",
    archive_path="archive/before.pdf",
)


async def test_a_document_that_is_read_again_keeps_its_copy_in_the_archive(
    process: Process, leases: FakeLeases, blobs: FakeBlobs
) -> None:
    leases.waiting[:] = [build_lease(former=READ_BEFORE)]
    await process(FakeReading(PAGE, extraction=DONE)).process_next()
    assert (end(leases), leases.failed) == (READ_BEFORE, None)
    assert (leases.reserved, blobs.archived) == ([], {})


async def test_a_copy_stays_also_where_the_new_reading_skips_the_document(process: Process, leases: FakeLeases) -> None:
    leases.waiting[:] = [build_lease(former=READ_BEFORE)]
    await process(FakeReading(PAGE, Classification(None, 0.8))).process_next()
    assert (end(leases).status, end(leases).archive_path) == (ResultStatus.SKIPPED, "archive/before.pdf")


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (ParserLimitReached("memory"), ReviewReason.READER_LIMIT),
        (ParserCrashed("died"), ReviewReason.READER_CRASHED),
        (ValueError("a bug of ours"), ReviewReason.INTERNAL_ERROR),
        (Rejected("gone"), ReviewReason.INTERNAL_ERROR),
    ],
)
async def test_a_reading_that_fails_for_good_leaves_the_former_outcome_and_its_reason_is_kept(
    process: Process, leases: FakeLeases, trouble: Exception, reason: ReviewReason
) -> None:
    leases.waiting[:] = [build_lease(former=READ_BEFORE, attempt=3)]
    await process(FakeReading(trouble)).process_next()
    assert end(leases) == READ_BEFORE
    assert leases.failed is not None
    assert leases.failed.reason is reason


async def test_a_blob_that_retention_took_leaves_the_former_outcome_and_its_reason_is_kept(
    process: Process, leases: FakeLeases, blobs: FakeBlobs
) -> None:
    leases.waiting[:] = [build_lease(former=READ_BEFORE, attempt=3)]
    blobs.blobs.clear()
    await process(FakeReading(PAGE)).process_next()
    assert end(leases) == READ_BEFORE
    assert leases.failed is not None
    assert leases.failed.reason is ReviewReason.BLOB_MISSING


async def test_workers_that_died_of_a_reading_leave_the_former_outcome(process: Process, leases: FakeLeases) -> None:
    leases.waiting[:] = [build_lease(former=READ_BEFORE, attempt=4)]
    await process(FakeReading(PAGE)).process_next()
    assert end(leases) == READ_BEFORE


LOCKED = DocumentOutcome(
    status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.PASSWORD_REQUIRED, archive_path="archive/locked.pdf"
)
PASSWORD = GivenPassword(7, "open sesame")


async def test_a_locked_document_is_read_with_the_password_that_was_given(process: Process, leases: FakeLeases) -> None:
    leases.waiting[:] = [build_lease(former=LOCKED, password=PASSWORD)]
    reading = FakeReading(PAGE, extraction=DONE)
    await process(reading).process_next()
    assert reading.passwords == ["open sesame"]
    assert end(leases) == replace(READ_BEFORE, archive_path="archive/locked.pdf")


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [
        (UnreadableFile("password_wrong"), "password_wrong"),
        (ParserLimitReached("memory"), "reader_limit"),
        (ValueError("a bug of ours"), "password_required"),
    ],
)
async def test_of_a_locked_document_it_is_said_how_far_its_password_led(
    process: Process, leases: FakeLeases, trouble: Exception, reason: str
) -> None:
    leases.waiting[:] = [build_lease(former=LOCKED, password=PASSWORD, attempt=3)]
    await process(FakeReading(trouble)).process_next()
    assert end(leases).reason == reason


@pytest.mark.parametrize("reason", ["password_required", "password_wrong"])
async def test_what_a_password_opened_stands_when_it_is_read_again_without(
    process: Process, leases: FakeLeases, reason: str
) -> None:
    leases.waiting[:] = [build_lease(former=READ_BEFORE)]
    await process(FakeReading(UnreadableFile(reason))).process_next()
    assert end(leases) == READ_BEFORE


async def test_no_language_model_is_shown_what_a_password_opened(process: Process, leases: FakeLeases) -> None:
    leases.waiting[:] = [build_lease(former=LOCKED, password=PASSWORD)]
    processor = process(FakeReading(PAGE, extraction=DONE))
    assistant: Any = object()  # asked for anything it fails
    processor._assistant = assistant
    await processor.process_next()
    assert end(leases).reader == "reader/1"


def test_a_password_is_in_no_representation_of_what_holds_it() -> None:
    assert str(PASSWORD.text) not in repr(build_lease(password=PASSWORD))


@pytest.mark.parametrize("read", [FakeReading(PAGE, Classification(None, 0.8)), FakeReading(ParserCrashed("died"))])
async def test_what_a_person_made_an_invoice_of_is_archived_whatever_is_read(
    process: Process, leases: FakeLeases, blobs: FakeBlobs, read: FakeReading
) -> None:
    corrected = replace(READ_BEFORE, archive_path=None)
    leases.waiting[:] = [build_lease(former=corrected, is_decided=True)]
    await process(read).process_next()
    assert list(blobs.archived) == leases.reserved == [end(leases).archive_path]


async def test_what_a_person_rejected_is_not_archived_for_a_reading(
    process: Process, leases: FakeLeases, blobs: FakeBlobs
) -> None:
    rejected = DocumentOutcome(status=ResultStatus.SKIPPED, reason=DocumentSkipReason.REJECTED)
    leases.waiting[:] = [build_lease(former=rejected, is_decided=True)]
    await process(FakeReading(PAGE, extraction=DONE)).process_next()
    assert blobs.archived == {}


SCAN = Transcript("application/pdf", 1, pictured_pages=(0,))
READ_BY_OCR = replace(READ_BEFORE, reader="ocr+layout-rules/7")


async def test_what_ocr_had_read_stands_when_it_is_read_again_where_ocr_is_off(
    process: Process, leases: FakeLeases
) -> None:
    leases.waiting[:] = [build_lease(former=READ_BY_OCR)]
    await process(FakeReading(SCAN)).process_next()
    assert end(leases) == READ_BY_OCR
    assert leases.failed is not None
    assert leases.failed.reason is ReviewReason.NO_TEXT_LAYER
    assert "OCR" in (leases.failed.missing_readers.describe() or "")


async def test_what_was_skipped_by_its_picture_gets_no_copy_where_ocr_is_off(
    process: Process, leases: FakeLeases, blobs: FakeBlobs
) -> None:
    skipped = DocumentOutcome(status=ResultStatus.SKIPPED, reason=DocumentSkipReason.NOT_AN_INVOICE, confidence=0.8)
    leases.waiting[:] = [build_lease(former=skipped)]
    await process(FakeReading(SCAN)).process_next()
    assert end(leases) == skipped
    assert blobs.archived == {}


async def test_a_digital_document_is_read_again_where_ocr_is_off(process: Process, leases: FakeLeases) -> None:
    leases.waiting[:] = [build_lease(former=READ_BY_OCR)]
    await process(FakeReading(PAGE, extraction=DONE)).process_next()
    assert end(leases) == READ_BEFORE
    assert leases.failed is None


async def test_what_a_model_had_filled_in_stands_when_it_is_read_again_without_one(
    process: Process, leases: FakeLeases
) -> None:
    former = replace(READ_BEFORE, reader="reader/1+some-model")
    leases.waiting[:] = [build_lease(former=former)]
    await process(FakeReading(PAGE, extraction=replace(DONE, fields={**FIELDS, "issue_date": None}))).process_next()
    assert end(leases) == former
    assert leases.failed is not None
    assert leases.failed.reason is ReviewReason.FIELDS_MISSING
