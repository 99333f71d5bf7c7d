"""Pictures: whether they open. Their text needs OCR, which comes later; until then a person reads them."""

from typing import BinaryIO

from PIL import Image, UnidentifiedImageError

from mailroom_common.parser import UnreadableFile

# 100 megapixels is an A2 page at 600 dpi; more is no scan of a document.
Image.MAX_IMAGE_PIXELS = 100_000_000

_FORMATS = {"image/png": "PNG", "image/jpeg": "JPEG", "image/tiff": "TIFF"}


def pages_of(file: BinaryIO, content_type: str) -> int:
    """The number of pages of a picture that can be decoded.

    Raises:
        UnreadableFile: `unreadable` when it is damaged, or larger than any page.
    """
    try:
        with Image.open(file, formats=[_FORMATS[content_type]]) as image:
            image.load()
            return int(getattr(image, "n_frames", 1))
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, ValueError, SyntaxError, EOFError) as error:
        raise UnreadableFile("unreadable") from error
