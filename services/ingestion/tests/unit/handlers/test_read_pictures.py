from collections.abc import AsyncGenerator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
from ingestion_fakes import FakeReading

from ingestion.domain.invoice import Invoice
from ingestion.domain.missing_readers import MissingReaders
from ingestion.domain.ocr_turns import OCRBusy
from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.routing import Classification, Extraction
from ingestion.domain.transcript import Transcript
from ingestion.handlers.read_document import DocumentReading
from ingestion.handlers.read_pictures import read_document_with_pictures
from mailroom_common.events import ResultStatus
from mailroom_common.parser import ParserCrashed, ParserLimitReached

SCAN = Transcript("image/png", 1, pictured_pages=(0,))
TEXT = Transcript.from_rows(["Minutes"])
NO_INVOICE = Classification(None, 0.8)


INVOICE = Invoice(
    supplier_name="Harbour Books Ltd",
    invoice_number="34-32054",
    issue_date=date(2026, 11, 10),
    currency="GBP",
    total_gross=Decimal("116.85"),
)
WHOLE = Extraction("invoice", INVOICE.to_json(), 0.8, "ocr")


class FakePictures:
    """Gives one transcript after the other, or fails."""

    def __init__(self, reading: FakeReading, *answers: Transcript | Exception) -> None:
        self.given = 0
        self.passwords: list[str | None] = []
        self._reading = reading
        self._answers = answers

    async def read_pictures(
        self, file: Path, transcript: Transcript, *, password: str | None = None, queue: str = ""
    ) -> AsyncGenerator[Transcript, None]:
        self.passwords.append(password)
        for answer in self._answers:
            assert self._reading.opened == self._reading.closed, "the parser process is held while OCR works"
            if isinstance(answer, Exception):
                raise answer
            self.given += 1
            yield answer


async def read(reading: FakeReading, pictures: FakePictures | None, *, password: str | None = None) -> DocumentReading:
    return await read_document_with_pictures(reading.open_readers, pictures, Path("scan.png"), password=password)


async def test_a_picture_is_read_while_no_parser_process_waits_for_it() -> None:
    reading = FakeReading(SCAN, NO_INVOICE)
    found = await read(reading, FakePictures(reading, TEXT))
    assert found.transcript == TEXT


async def test_a_digital_document_needs_no_ocr() -> None:
    reading = FakeReading(TEXT, NO_INVOICE)
    pictures = FakePictures(reading, TEXT)
    await read(reading, pictures)
    assert pictures.given == 0


async def test_with_ocr_switched_off_a_picture_ends_as_one() -> None:
    found = await read(FakeReading(SCAN), None)
    assert found.outcome.reason is ReviewReason.IMAGE_NEEDS_OCR


async def test_whoever_finds_all_ocr_processes_taken_is_told() -> None:
    reading = FakeReading(SCAN)
    with pytest.raises(OCRBusy):
        await read(reading, FakePictures(reading, OCRBusy(5.0)))


async def test_pictures_behind_text_are_read_until_the_document_is_whole() -> None:
    reading = FakeReading(replace(SCAN, pages=3, pictured_pages=(1, 2)), Classification("invoice", 0.8), WHOLE)
    pictures = FakePictures(reading, replace(TEXT, pages=3, pictured_pages=(2,)), TEXT)
    found = await read(reading, pictures)
    assert (found.outcome.status, pictures.given) == (ResultStatus.COMPLETED, 1)


async def test_of_a_scan_all_pages_are_read_since_each_may_be_another_paper() -> None:
    reading = FakeReading(replace(SCAN, pages=2, pictured_pages=(0, 1)), Classification("invoice", 0.8), WHOLE)
    pictures = FakePictures(reading, replace(TEXT, pages=2, pictured_pages=(1,)), TEXT)
    found = await read(reading, pictures)
    assert (found.outcome.status, pictures.given) == (ResultStatus.COMPLETED, 2)


@pytest.mark.parametrize(("pictured", "cut"), [((1,), ()), ((), (1,))])
async def test_a_scan_of_which_a_page_was_left_is_for_a_person_though_the_first_is_whole(
    pictured: tuple[int, ...], cut: tuple[int, ...]
) -> None:
    reading = FakeReading(replace(SCAN, pages=2, pictured_pages=(0, 1)), Classification("invoice", 0.8), WHOLE)
    found = await read(reading, FakePictures(reading, replace(TEXT, pages=2, pictured_pages=pictured, cut_pages=cut)))
    assert (found.outcome.status, found.outcome.reason) == (ResultStatus.NEEDS_REVIEW, ReviewReason.PAGES_NOT_READ)
    assert found.outcome.extraction == INVOICE.to_json()


async def test_an_end_of_ocr_behind_a_page_that_is_whole_leaves_a_scan_to_a_person() -> None:
    reading = FakeReading(replace(SCAN, pages=2, pictured_pages=(0, 1)), Classification("invoice", 0.8), WHOLE)
    pictures = FakePictures(reading, replace(TEXT, pages=2, pictured_pages=(1,)), ParserLimitReached("cpu"))
    found = await read(reading, pictures)
    assert (found.outcome.status, found.outcome.reason) == (ResultStatus.NEEDS_REVIEW, ReviewReason.READER_LIMIT)


async def test_pages_behind_one_that_leaves_something_open_are_read() -> None:
    reading = FakeReading(SCAN, NO_INVOICE)
    pictures = FakePictures(reading, replace(TEXT, pictured_pages=(1,), unread=(ReviewReason.PAGES_NOT_READ,)), TEXT)
    found = await read(reading, pictures)
    assert (found.outcome.reason, pictures.given) == (DocumentSkipReason.NOT_AN_INVOICE, 2)


async def test_the_outcome_names_the_pages_that_were_left_and_those_that_were_read_in_part() -> None:
    reading = FakeReading(SCAN, NO_INVOICE)
    left = replace(TEXT, pages=5, pictured_pages=(4, 2), cut_pages=(1,), unread=(ReviewReason.PAGES_NOT_READ,))
    found = await read(reading, FakePictures(reading, left))
    assert (found.outcome.reason, found.outcome.pages_not_read) == (ReviewReason.PAGES_NOT_READ, (1, 2, 4))


async def test_with_ocr_switched_off_the_outcome_names_the_pages_that_are_pictures() -> None:
    reading = FakeReading(replace(TEXT, pictured_pages=(3,), unread=(ReviewReason.NO_TEXT_LAYER,)), NO_INVOICE)
    assert (await read(reading, None)).outcome.pages_not_read == (3,)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ParserLimitReached("cpu"), ReviewReason.READER_LIMIT),
        (ParserCrashed("signal 11"), ReviewReason.READER_CRASHED),
    ],
)
async def test_a_picture_that_ends_its_process_costs_what_it_shows_and_not_the_text_beside_it(
    error: Exception, reason: ReviewReason
) -> None:
    part = replace(WHOLE, fields=replace(INVOICE, total_gross=None).to_json())
    reading = FakeReading(replace(TEXT, pictured_pages=(1,)), Classification("invoice", 0.8), part)
    found = await read(reading, FakePictures(reading, error))
    assert (found.outcome.status, found.outcome.reason) == (ResultStatus.NEEDS_REVIEW, reason)
    assert (found.outcome.extraction, found.pictures_error) == (part.fields, error)


async def test_an_ocr_process_that_somebody_killed_is_tried_again() -> None:
    reading = FakeReading(SCAN)
    with pytest.raises(ParserCrashed):
        await read(reading, FakePictures(reading, ParserCrashed("signal 9", killed=True)))


async def test_the_pictures_of_a_locked_file_are_read_with_its_password_too() -> None:
    reading = FakeReading(SCAN, NO_INVOICE)
    pictures = FakePictures(reading, TEXT)
    await read(reading, pictures, password="secret")
    assert (reading.passwords, pictures.passwords) == (["secret"], ["secret"])


async def test_pictures_that_were_to_be_read_and_were_not_are_missed() -> None:
    without_ocr = await read(FakeReading(SCAN), None)
    assert without_ocr.outcome.missing_readers == MissingReaders(pictures=(0,), has_text=False)
    cut = replace(TEXT, pages=3, cut_pages=(1,), unread=(ReviewReason.PAGES_NOT_READ,))
    reading = FakeReading(SCAN, NO_INVOICE)
    stopped = await read(reading, FakePictures(reading, cut))
    assert stopped.outcome.missing_readers == MissingReaders(pictures=(1,))


async def test_a_document_that_is_whole_without_its_pictures_misses_none() -> None:
    beside = replace(TEXT, pages=2, pictured_pages=(1,))
    found = await read(FakeReading(beside, extraction=WHOLE), None)
    assert (found.outcome.pages_not_read, found.outcome.missing_readers) == ((1,), MissingReaders())
