"""The reader that an OCR process is asked for: the pages of a file that are pictures become lines of text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, BinaryIO

from PIL import Image

from ingestion.domain.ocr_alphabet import build_alphabet
from ingestion.domain.transcript import HEAD_BYTES, PDF, TextLine, detect_content_type
from ingestion.readers.ocr_engine import MAX_SIDE_PIXELS, read_picture
from ingestion.readers.ocr_text import build_text_lines
from ingestion.readers.page_images import decode_image_pages, draw_pdf_pages
from mailroom_common.parser import JSON


def read_pictured_pages(file: BinaryIO, arguments: Mapping[str, Any]) -> JSON:
    """The lines of `pages`, as `Transcript.to_json` has them.

    Raises:
        UnreadableFile: `unreadable` when a picture is damaged.
    """
    alphabet = build_alphabet(arguments["languages"])
    lines: list[TextLine] = []
    for number, picture, points in _list_pictures(file, arguments["pages"], arguments.get("password")):
        texts = read_picture(picture, alphabet)
        lines += build_text_lines(number, texts, points)
    return [
        [line.page, line.top, line.height, [[c.text, c.left, c.right, c.confidence] for c in line.cells]]
        for line in lines
    ]


def _list_pictures(
    file: BinaryIO, pages: Sequence[int], password: str | None
) -> Iterator[tuple[int, Image.Image, float]]:
    content_type = detect_content_type(file.read(HEAD_BYTES))
    file.seek(0)
    if content_type == PDF:
        return draw_pdf_pages(file, pages, MAX_SIDE_PIXELS, password)
    return decode_image_pages(file, str(content_type), pages, MAX_SIDE_PIXELS)
