from dataclasses import replace
from pathlib import Path

import pytest
from ingestion_fakes import FakeReading

from ingestion.domain.ocr_turns import OCRBusy
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.routing import Classification
from ingestion.domain.transcript import Transcript
from ingestion.handlers.read_pictures import read_document_with_pictures

SCAN = Transcript("image/png", 1, pictured_pages=(0,))
TEXT = Transcript.from_rows(["Minutes"])
NO_INVOICE = Classification(None, 0.8)


class FakePictures:
    def __init__(self, answer: Transcript | OCRBusy, reading: FakeReading) -> None:
        self.asked = 0
        self.passwords: list[str | None] = []
        self._answer = answer
        self._reading = reading

    async def read_pictures(self, file: Path, transcript: Transcript, *, password: str | None = None) -> Transcript:
        self.asked += 1
        self.passwords.append(password)
        assert self._reading.opened == self._reading.closed, "the parser process is held while OCR works"
        if isinstance(self._answer, OCRBusy):
            raise self._answer
        return self._answer


async def test_a_picture_is_read_while_no_parser_process_waits_for_it() -> None:
    reading = FakeReading(SCAN, NO_INVOICE)
    pictures = FakePictures(TEXT, reading)
    found = await read_document_with_pictures(reading.open_readers, pictures, Path("scan.png"))
    assert (found.transcript, pictures.asked) == (TEXT, 1)


async def test_a_digital_document_needs_no_ocr() -> None:
    reading = FakeReading(TEXT, NO_INVOICE)
    pictures = FakePictures(TEXT, reading)
    await read_document_with_pictures(reading.open_readers, pictures, Path("digital.pdf"))
    assert pictures.asked == 0


async def test_with_ocr_switched_off_a_picture_ends_as_one() -> None:
    found = await read_document_with_pictures(FakeReading(SCAN).open_readers, None, Path("scan.png"))
    assert found.outcome.reason is ReviewReason.IMAGE_NEEDS_OCR


async def test_whoever_finds_all_ocr_processes_taken_is_told() -> None:
    reading = FakeReading(replace(SCAN, pages=1))
    with pytest.raises(OCRBusy):
        await read_document_with_pictures(reading.open_readers, FakePictures(OCRBusy(5.0), reading), Path("scan.png"))


async def test_the_pictures_of_a_locked_file_are_read_with_its_password_too() -> None:
    reading = FakeReading(SCAN, NO_INVOICE)
    pictures = FakePictures(TEXT, reading)
    await read_document_with_pictures(reading.open_readers, pictures, Path("scan.pdf"), password="secret")
    assert (reading.passwords, pictures.passwords) == (["secret"], ["secret"])
