"""Reading one document whose pages may be pictures: its text layer first, then OCR for what that leaves open."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, aclosing
from dataclasses import replace
from pathlib import Path

from ingestion.domain.missing_readers import MissingReaders
from ingestion.domain.ocr import is_scan, needs_ocr, wants_pictures
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import Transcript
from ingestion.handlers.read_document import DocumentReading, ReadingPurpose, read_document, read_transcript
from ingestion.ports.readers import DocumentReaders, PictureReader
from mailroom_common.errors import Rejected
from mailroom_common.events import ResultStatus
from mailroom_common.parser import ParserCrashed, ParserLimitReached


async def read_document_with_pictures(
    open_readers: Callable[[], AbstractAsyncContextManager[DocumentReaders]],
    pictures: PictureReader | None,
    file: Path,
    purpose: ReadingPurpose | None = None,
    *,
    password: str | None = None,
) -> DocumentReading:
    """`pictures` is None where OCR is switched off; `password` opens a locked file. The outcome names the pages that
    were left.

    The parser process of the first look is given back before OCR begins: a digital document may have it meanwhile.
    Pictures are read until the document is whole, and of a scan all of them: papers of several suppliers are laid into
    one scanner. A picture that ends its OCR process costs what it shows, and not what was read beside it.

    Raises:
        OCRBusy: a picture has to be read, and all OCR processes are taken.
        UnreadableFile, ParserLimitReached, ParserCrashed: as `read_document`; of OCR only the crash of a process that
            something else killed.
    """
    reading = await _read_text_and_pictures(open_readers, pictures, file, purpose or ReadingPurpose(), password)
    transcript = reading.transcript
    pictures_left = tuple(sorted({*transcript.pictured_pages, *transcript.cut_pages}))
    left = tuple(sorted({*pictures_left, *transcript.looked_over}))
    missing = _find_missing(reading, pictures_left)
    return replace(reading, outcome=replace(reading.outcome, pages_not_read=left, missing_readers=missing))


def _find_missing(reading: DocumentReading, left: tuple[int, ...]) -> MissingReaders:
    """What is whole, or is for a person whatever its pictures show, lacks nothing."""
    transcript = reading.transcript
    is_cut = bool(transcript.cut_pages) and wants_pictures(reading.outcome)
    if not is_cut and not needs_ocr(reading.outcome, transcript):
        return MissingReaders()
    return MissingReaders(pictures=left, has_text=bool(transcript.lines))


async def _read_text_and_pictures(
    open_readers: Callable[[], AbstractAsyncContextManager[DocumentReaders]],
    pictures: PictureReader | None,
    file: Path,
    purpose: ReadingPurpose,
    password: str | None,
) -> DocumentReading:
    async with open_readers() as readers:
        reading = await read_document(readers, file, purpose, password=password)
    if pictures is None or not needs_ocr(reading.outcome, reading.transcript):
        return reading
    are_all_pictures = is_scan(reading.transcript)
    try:
        reader = pictures.read_pictures(file, reading.transcript, password=password, queue=purpose.queue)
        async with aclosing(reader) as transcripts:
            async for transcript in transcripts:
                reading = await _read_again(open_readers, transcript, purpose)
                if not needs_ocr(reading.outcome, transcript) and not are_all_pictures:
                    break
    except ParserLimitReached as error:
        return _leave_to_person(reading, ReviewReason.READER_LIMIT, error)
    except ParserCrashed as error:
        if error.killed:
            raise  # another process killed it: the next attempt may do better
        return _leave_to_person(reading, ReviewReason.READER_CRASHED, error)
    if are_all_pictures and _has_unread_pages(reading) and reading.outcome.status is ResultStatus.COMPLETED:
        return _leave_to_person(reading, ReviewReason.PAGES_NOT_READ)
    return reading


def _has_unread_pages(reading: DocumentReading) -> bool:
    return bool(reading.transcript.pictured_pages or reading.transcript.cut_pages)


async def _read_again(
    open_readers: Callable[[], AbstractAsyncContextManager[DocumentReaders]],
    transcript: Transcript,
    purpose: ReadingPurpose,
) -> DocumentReading:
    async with open_readers() as readers:
        return DocumentReading(await read_transcript(readers, transcript, purpose), transcript)


def _leave_to_person(reading: DocumentReading, reason: ReviewReason, error: Rejected | None = None) -> DocumentReading:
    """It is open, or may hold more than it says. What was read of it until then is shown."""
    outcome = replace(reading.outcome, status=ResultStatus.NEEDS_REVIEW, reason=reason)
    return replace(reading, outcome=outcome, pictures_error=error)
