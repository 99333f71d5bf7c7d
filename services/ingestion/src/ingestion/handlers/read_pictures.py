"""Reading one document whose pages may be pictures: its text layer first, then OCR for what that leaves open."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from ingestion.domain.ocr import needs_ocr
from ingestion.handlers.read_document import DocumentReading, ReadingPurpose, read_document, read_transcript
from ingestion.ports import DocumentReaders, PictureReader


async def read_document_with_pictures(
    open_readers: Callable[[], AbstractAsyncContextManager[DocumentReaders]],
    pictures: PictureReader | None,
    file: Path,
    purpose: ReadingPurpose | None = None,
    *,
    password: str | None = None,
) -> DocumentReading:
    """`pictures` is None where OCR is switched off; `password` opens a locked file.

    The parser process of the first look is given back before OCR begins: a digital document may have it meanwhile.

    Raises:
        OCRBusy: a picture has to be read, and all OCR processes are taken.
        UnreadableFile, ParserLimitReached, ParserCrashed: as `read_document`.
    """
    purpose = purpose or ReadingPurpose()
    async with open_readers() as readers:
        reading = await read_document(readers, file, purpose, password=password)
    if pictures is None or not needs_ocr(reading.outcome, reading.transcript):
        return reading
    transcript = await pictures.read_pictures(file, reading.transcript, password=password)
    async with open_readers() as readers:
        return DocumentReading(await read_transcript(readers, transcript, purpose), transcript)
