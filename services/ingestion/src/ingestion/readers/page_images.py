"""Pages as pictures, of the size that OCR reads: a PDF's are drawn, those of a TIFF, a PNG or a JPEG are decoded."""

from collections.abc import Iterator, Sequence
from typing import BinaryIO

import pypdfium2
from PIL import Image, ImageOps

from ingestion.readers.image import open_image

_PAGE_WIDTH = 595.0  # points: pictures have no size that can be trusted, and are taken for a page of A4
_MAX_SCALE = 2.75  # 200 dpi
_MIN_SIDE = 700  # pixels: the letters of a small photograph are too small otherwise
_MAX_ENLARGEMENT = 2.0

# Pixels that are not square, as a fax has them.
_MAX_STRETCH = 4.0


def draw_pdf_pages(
    file: BinaryIO, pages: Sequence[int], max_side: int, password: str | None
) -> Iterator[tuple[int, Image.Image, float]]:
    """The number of each page, its picture, and how many points a pixel is wide."""
    document = pypdfium2.PdfDocument(file, password=password)
    try:
        for number in pages:
            page = document[number]
            try:
                scale = min(_MAX_SCALE, max_side / max(*page.get_size(), 1.0))
                yield number, page.render(scale=scale).to_pil().convert("RGB"), 1 / scale
            finally:
                page.close()
    finally:
        document.close()


def decode_image_pages(
    file: BinaryIO, content_type: str, pages: Sequence[int], max_side: int
) -> Iterator[tuple[int, Image.Image, float]]:
    with open_image(file, content_type) as image:
        for number in pages:
            image.seek(number)
            picture = _scale(ImageOps.exif_transpose(_make_square(image)).convert("RGB"), max_side)
            yield number, picture, _PAGE_WIDTH / max(picture.width, 1)


def _make_square(image: Image.Image) -> Image.Image:
    """With as many pixels an inch across as down."""
    across, down = image.info.get("dpi", (0, 0))
    if not across or not down or not 1 / _MAX_STRETCH <= across / down <= _MAX_STRETCH or abs(across / down - 1) < 0.1:
        return image
    size = (image.width, round(image.height * across / down))
    if across < down:
        size = (round(image.width * down / across), image.height)
    return image.convert("L").resize(size, Image.Resampling.BILINEAR)


def _scale(picture: Image.Image, max_side: int) -> Image.Image:
    shorter, longer = sorted(picture.size)
    factor = min(max_side / longer, max(1.0, min(_MIN_SIDE / shorter, _MAX_ENLARGEMENT)))
    if factor == 1.0:
        return picture
    size = (max(round(picture.width * factor), 1), max(round(picture.height * factor), 1))
    return picture.resize(size, Image.Resampling.LANCZOS if factor < 1 else Image.Resampling.BICUBIC)
