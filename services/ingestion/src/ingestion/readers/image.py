"""Pictures: how many pages they have, and whether they can be decoded. Their text is OCR's (`ocr`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from PIL import Image, UnidentifiedImageError

from ingestion.domain.reasons import DocumentSkipReason, ReviewReason
from ingestion.domain.transcript import JPEG, PNG, TIFF
from mailroom_common.parser import UnreadableFile

# 100 megapixels is an A2 page at 600 dpi; more is no scan of a document. Pillow itself lets twice as many pass, and
# looks at the first page of a file only.
MAX_PIXELS = 100_000_000
Image.MAX_IMAGE_PIXELS = MAX_PIXELS

# Pillow is told the format: by itself it would try every decoder that it has, down to those nobody maintains.
_FORMATS = {PNG: "PNG", JPEG: "JPEG", TIFF: "TIFF"}

# What Pillow raises of a picture that is damaged, or larger than any page.
PICTURE_ERRORS = (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError, EOFError)


# Pixels: an icon has room for ten letters in a row, a line that parts or counts has none.
_ICON, _RULE = 64, 12


def count_image_pages(file: BinaryIO, content_type: str, *, decodes: bool = True) -> int:
    """The number of pages of a picture whose first one can be decoded, which only `decodes` tells.

    Raises:
        UnreadableFile: `unreadable` when it is damaged, or larger than any page; `not_a_document` when it is too small
            to say anything.
    """
    with open_image(file, content_type) as image:
        if content_type != TIFF and (max(image.size) <= _ICON or min(image.size) <= _RULE):
            raise UnreadableFile(DocumentSkipReason.NOT_A_DOCUMENT)
        require_page_size(image)
        if decodes:
            image.load()
        # What a telephone puts behind its photograph is a smaller copy of it, or how bright it is.
        return int(getattr(image, "n_frames", 1)) if content_type == TIFF else 1


def require_page_size(image: Image.Image) -> None:
    """
    Raises:
        Image.DecompressionBombError: the picture that is now the image's is larger than any page.
    """
    if image.width * image.height > MAX_PIXELS:
        raise Image.DecompressionBombError("larger than any page")


@contextmanager
def open_image(file: BinaryIO, content_type: str) -> Iterator[Image.Image]:
    """
    Raises:
        UnreadableFile: as `count_image_pages`, also from within the block.
    """
    try:
        with Image.open(file, formats=[_FORMATS[content_type]]) as image:
            yield image
    except PICTURE_ERRORS as error:
        raise UnreadableFile(ReviewReason.UNREADABLE) from error
