"""Pages as pictures, of the size that OCR reads: a PDF's are drawn, those of a TIFF, a PNG or a JPEG are decoded."""

from collections.abc import Iterable, Iterator
from typing import BinaryIO

import pypdfium2
from PIL import Image, ImageOps

from ingestion.readers.image import PICTURE_ERRORS, open_image, require_page_size
from ingestion.readers.picture_decoding import draws_all_pictures

_PAGE_WIDTH = 595.0  # points: pictures have no size that can be trusted, and are taken for a page of A4
_MAX_SCALE = 2.75  # 200 dpi
_MIN_SIDE = 700  # pixels: the letters of a small photograph are too small otherwise
_MAX_ENLARGEMENT = 2.0
_MIN_READ_SIDE = 24

# Pixels that are not square, as a fax has them.
_MAX_STRETCH = 4.0

DrawnPage = tuple[int, Image.Image | None, float]
"""The number of a page, its picture, and how many points a pixel is wide. None: this page is damaged, or too
large, or too narrow for letters."""


def draw_pdf_pages(file: BinaryIO, pages: Iterable[int], max_side: int, password: str | None) -> Iterator[DrawnPage]:
    document = pypdfium2.PdfDocument(file, password=password)
    try:
        for number in pages:
            picture, points = _draw_page(document, number, max_side)
            yield number, _require_room(picture), points
    finally:
        document.close()


def _draw_page(document: pypdfium2.PdfDocument, number: int, max_side: int) -> tuple[Image.Image | None, float]:
    try:
        page = document[number]
    except pypdfium2.PdfiumError:
        return None, 1.0
    try:
        if not draws_all_pictures(page):
            return None, 1.0
        scale = min(_MAX_SCALE, max_side / max(*page.get_size(), 1.0))
        return page.render(scale=scale).to_pil().convert("RGB"), 1 / scale
    finally:
        page.close()


def decode_image_pages(file: BinaryIO, content_type: str, pages: Iterable[int], max_side: int) -> Iterator[DrawnPage]:
    """
    Raises:
        UnreadableFile: the file is no such picture.
    """
    with open_image(file, content_type) as image:
        for number in pages:
            picture = _require_room(decode_image_page(image, number, max_side, enlarges=True))
            yield number, picture, _PAGE_WIDTH / max(picture.width if picture else 1, 1)


def _require_room(picture: Image.Image | None) -> Image.Image | None:
    """A line of letters has no room on less, and of a narrower picture the engine makes one without pixels."""
    return None if picture is None or min(picture.size) < _MIN_READ_SIDE else picture


def decode_image_page(image: Image.Image, number: int, max_side: int, *, enlarges: bool) -> Image.Image | None:
    """A page as an eye sees it: upright, on paper, with square pixels. `enlarges`: a small one, too. None: it is
    damaged, or too large."""
    try:
        image.seek(number)
        require_page_size(image)
        # A JPEG is decoded at half, a quarter or an eighth of its size, where that is large enough: a photograph of
        # a telephone would take hundreds of megabytes otherwise.
        share = max_side / max(image.size)
        image.draft("RGB", (round(image.width * share), round(image.height * share)))
        # The smaller picture is turned and coloured: of a large one each step would be another copy.
        square = _make_square(_flatten(image))
        return ImageOps.exif_transpose(_scale(square, max_side, enlarges=enlarges)).convert("RGB")
    except PICTURE_ERRORS:
        return None


def _flatten(image: Image.Image) -> Image.Image:
    """In grey or colours of eight bits; what shines through is paper."""
    if image.has_transparency_data:
        on_paper = Image.new("RGBA", image.size, "white")
        on_paper.alpha_composite(image.convert("RGBA"))
        on_paper.info.update({key: image.info[key] for key in ("dpi", "exif") if key in image.info})
        return on_paper.convert("RGB")
    if image.mode.startswith("I;16"):  # a scanner's grey of sixteen bits
        return image.point(lambda level: level / 256).convert("L")
    if image.mode in ("L", "RGB"):
        return image
    return image.convert("L" if image.mode == "1" else "RGB")


def _make_square(image: Image.Image) -> Image.Image:
    """With as many pixels an inch across as down."""
    # A TIFF has them as fractions that cannot be divided by each other.
    across, down = map(float, image.info.get("dpi", (0, 0)))
    if not across or not down or not 1 / _MAX_STRETCH <= across / down <= _MAX_STRETCH or abs(across / down - 1) < 0.1:
        return image
    size = (image.width, round(image.height * across / down))
    if across < down:
        size = (round(image.width * down / across), image.height)
    return image.resize(size, Image.Resampling.BILINEAR)


def _scale(picture: Image.Image, max_side: int, *, enlarges: bool) -> Image.Image:
    shorter, longer = sorted(picture.size)
    largest = max(1.0, min(_MIN_SIDE / shorter, _MAX_ENLARGEMENT)) if enlarges else 1.0
    factor = min(max_side / longer, largest)
    if factor == 1.0:
        return picture
    size = (max(round(picture.width * factor), 1), max(round(picture.height * factor), 1))
    return picture.resize(size, Image.Resampling.LANCZOS if factor < 1 else Image.Resampling.BICUBIC)
