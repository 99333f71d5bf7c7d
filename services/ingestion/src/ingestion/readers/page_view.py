"""One page of a document as a PNG that a person looks at, standing as its lines were read: boxes fit on it."""

from base64 import b64encode
from collections.abc import Mapping
from io import BytesIO
from typing import Any, BinaryIO

import pypdfium2
import pypdfium2.raw as pdfium
from PIL import Image

from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.transcript import HEAD_BYTES, PDF, detect_content_type
from ingestion.readers import pdf_text
from ingestion.readers.embedded_files import find_embedded_page, read_embedded_files
from ingestion.readers.image import open_image
from ingestion.readers.page_images import decode_image_page
from ingestion.readers.page_letters import find_quarter_turns
from mailroom_common.parser import JSON, UnreadableFile

_MAX_SCALE = 2.0  # pixels for a point: 144 dpi, which is enough to read small print on a screen
_PICTURE_WIDTH = 595.0  # points, as pictures are taken for when they are read
_COLOURS = 64  # of a page that is too large as a photograph


def draw_page(file: BinaryIO, arguments: Mapping[str, Any]) -> JSON:
    """Page `page` (from 0) with at most `max_side` pixels a side and `max_bytes`: `png` in Base64 and how many
    `pixels_per_point` it has, both null where there is no such page; `pages` is how many there are.

    Raises:
        UnreadableFile: `not_a_document`, `password_required` or `unreadable`.
    """
    content_type = detect_content_type(file.read(HEAD_BYTES))
    file.seek(0)
    if content_type is None:
        raise UnreadableFile(DocumentSkipReason.NOT_A_DOCUMENT)
    page, max_side = int(arguments["page"]), int(arguments["max_side"])
    if content_type == PDF:
        pages, picture, scale = _draw_pdf_page(file, page, max_side)
    else:
        pages, picture, scale = _decode_picture(file, content_type, page, max_side)
    if picture is None:
        return {"pages": pages, "png": None, "pixels_per_point": None}
    png, shrunk = _encode_png(picture, int(arguments["max_bytes"]))
    return {"pages": pages, "png": b64encode(png).decode(), "pixels_per_point": round(scale * shrunk, 5)}


def _draw_pdf_page(file: BinaryIO, number: int, max_side: int) -> tuple[int, Image.Image | None, float]:
    pages, picture, scale = _draw_own_page(file, number, max_side)
    if picture is not None:
        return pages, picture, scale
    # A page of a file in the PDF: where that is, reading the files in the order of the worker tells.
    file.seek(0)
    embedded = read_embedded_files(pdf_text.read_pdf_text(file).attachments, pages)
    found = find_embedded_page(embedded, number)
    if found is None:
        return embedded.pages, None, 0
    part, page = found
    content_type = detect_content_type(part[:HEAD_BYTES])
    if content_type == PDF:
        _, picture, scale = _draw_own_page(BytesIO(part), page, max_side)
    else:
        _, picture, scale = _decode_picture(BytesIO(part), str(content_type), page, max_side)
    return embedded.pages, picture, scale


def _draw_own_page(file: BinaryIO, number: int, max_side: int) -> tuple[int, Image.Image | None, float]:
    try:
        document = pypdfium2.PdfDocument(file)
    except pypdfium2.PdfiumError as error:
        is_locked = error.err_code in (pdfium.FPDF_ERR_PASSWORD, pdfium.FPDF_ERR_SECURITY)
        raise UnreadableFile(ReviewReason.PASSWORD_REQUIRED if is_locked else ReviewReason.UNREADABLE) from error
    try:
        pages = len(document)
        if number >= pages:
            return pages, None, 0
        page = document[number]
        scale = min(_MAX_SCALE, max_side / max(*page.get_size(), 1.0))
        bitmap = page.render(scale=scale, rotation=90 * find_quarter_turns(page), may_draw_forms=False)
        return pages, bitmap.to_pil().convert("RGB"), scale
    except pypdfium2.PdfiumError as error:
        raise UnreadableFile(ReviewReason.UNREADABLE) from error
    finally:
        document.close()


def _decode_picture(
    file: BinaryIO, content_type: str, number: int, max_side: int
) -> tuple[int, Image.Image | None, float]:
    with open_image(file, content_type) as image:
        pages = int(getattr(image, "n_frames", 1))
        if number >= pages:
            return pages, None, 0
        # As it is read: what shines through is paper, and pixels are square.
        picture = decode_image_page(image, number, max_side, enlarges=False)
        if picture is None:
            raise UnreadableFile(ReviewReason.UNREADABLE)
        return pages, picture, picture.width / _PICTURE_WIDTH


def _encode_png(picture: Image.Image, max_bytes: int) -> tuple[bytes, float]:
    """The PNG, and by how much the picture had to be shrunk: noise and photographs are large."""
    shrunk, colours = 1.0, picture
    while True:
        written = BytesIO()
        colours.save(written, "PNG")
        if written.tell() <= max_bytes or max(picture.size) <= 16:
            return written.getvalue(), shrunk
        if colours is picture:
            colours = picture.quantize(_COLOURS)
            continue
        width, height = picture.size
        smaller = picture.resize((max(width // 2, 1), max(height // 2, 1)))
        shrunk *= smaller.width / width
        picture = colours = smaller
