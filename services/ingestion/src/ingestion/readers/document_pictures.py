"""The pages of a document as pictures for OCR: its own and those of files in it, numbered as in its transcript."""

from collections.abc import Iterator
from io import BytesIO
from itertools import groupby
from typing import BinaryIO

import pypdfium2

from ingestion.domain.transcript import HEAD_BYTES, PDF, detect_content_type
from ingestion.readers import pdf_text
from ingestion.readers.embedded_files import EmbeddedContent, find_embedded_page, read_embedded_files
from ingestion.readers.page_images import DrawnPage, decode_image_pages, draw_pdf_pages
from mailroom_common.parser import UnreadableFile


def draw_document_pages(
    file: BinaryIO, pages: Iterator[int], max_side: int, password: str | None
) -> Iterator[DrawnPage]:
    """Of `pages` each one is drawn before the next is asked for.

    Raises:
        UnreadableFile: the file is damaged.
    """
    content_type = detect_content_type(file.read(HEAD_BYTES))
    file.seek(0)
    if content_type != PDF:
        yield from decode_image_pages(file, str(content_type), pages, max_side)
        return
    own_pages = _count_pages(file, password)
    for is_own, numbers in groupby(pages, key=lambda number: number < own_pages):
        file.seek(0)
        if is_own:
            yield from draw_pdf_pages(file, numbers, max_side, password)
        else:
            yield from _draw_embedded_pages(_read_files(file, own_pages, password), numbers, max_side)


def _count_pages(file: BinaryIO, password: str | None) -> int:
    document = pypdfium2.PdfDocument(file, password=password)
    try:
        return len(document)
    finally:
        document.close()


def _read_files(file: BinaryIO, own_pages: int, password: str | None) -> EmbeddedContent:
    """As the transcript was made, so that each page has the same number."""
    return read_embedded_files(pdf_text.read_pdf_text(file, password).attachments, own_pages)


def _draw_embedded_pages(files: EmbeddedContent, numbers: Iterator[int], max_side: int) -> Iterator[DrawnPage]:
    for number in numbers:
        found = find_embedded_page(files, number)
        yield from [(number, None, 1.0)] if found is None else _draw_part_page(number, *found, max_side)


def _draw_part_page(number: int, part: bytes, page: int, max_side: int) -> Iterator[DrawnPage]:
    content_type = detect_content_type(part[:HEAD_BYTES])
    drawing = (
        draw_pdf_pages(BytesIO(part), [page], max_side, None)
        if content_type == PDF
        else decode_image_pages(BytesIO(part), str(content_type), [page], max_side)
    )
    try:
        for _, picture, points in drawing:
            yield number, picture, points
    except UnreadableFile:
        yield number, None, 1.0  # a damaged one costs no other
