"""Pictures: how many pages they have, and whether they can be decoded. Their text is OCR's (`ocr`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from PIL import Image, UnidentifiedImageError

from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import JPEG, PNG, TIFF
from mailroom_common.parser import UnreadableFile

# 100 megapixels is an A2 page at 600 dpi; more is no scan of a document.
Image.MAX_IMAGE_PIXELS = 100_000_000

# Pillow is told the format: by itself it would try every decoder that it has, down to those nobody maintains.
_FORMATS = {PNG: "PNG", JPEG: "JPEG", TIFF: "TIFF"}


def count_image_pages(file: BinaryIO, content_type: str) -> int:
    """The number of pages of a picture that can be decoded.

    Raises:
        UnreadableFile: `unreadable` when it is damaged, or larger than any page.
    """
    with open_image(file, content_type) as image:
        image.load()
        return int(getattr(image, "n_frames", 1))


@contextmanager
def open_image(file: BinaryIO, content_type: str) -> Iterator[Image.Image]:
    """
    Raises:
        UnreadableFile: as `count_image_pages`, also from within the block.
    """
    try:
        with Image.open(file, formats=[_FORMATS[content_type]]) as image:
            yield image
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError, EOFError) as error:
        raise UnreadableFile(ReviewReason.UNREADABLE) from error
