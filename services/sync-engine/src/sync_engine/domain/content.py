"""What the first bytes of a part are. Names and declared types lie, so this is what decides."""

import re
from enum import StrEnum

HEAD_BYTES = 4096
"""As much as `sniff` wants to see; less is enough when the part is no longer."""

_PDF_HEADER = re.compile(rb"%PDF-\d")
_PDF_WITHIN_BYTES = 1024
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_SHORTEST_ZIP_BYTES = 22  # an end record and nothing else
_ZIP_NAME_AT = 30
# Office documents, e-books and programs are zips as well, but no folders of files that somebody sent.
_FILES_THAT_ARE_ZIPS = (
    b"[Content_Types].xml",
    b"_rels/",
    b"docProps/",
    b"word/",
    b"xl/",
    b"ppt/",
    b"mimetype",
    b"META-INF/",
)
_TNEF = b"\x78\x9f\x3e\x22"
_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"II+\x00", "tiff"),
    (b"MM\x00+", "tiff"),
)
# These may hold a PDF in their first kilobyte and are none: AppleDouble and AppleSingle, OLE (.doc, .msg), archives.
_OTHER_CONTAINERS = (
    b"\x00\x05\x16\x07",
    b"\x00\x05\x16\x00",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"\x1f\x8b",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!",
)


class Content(StrEnum):
    PDF = "pdf"
    PNG = "png"
    JPEG = "jpeg"
    TIFF = "tiff"
    ZIP = "zip"
    TNEF = "tnef"
    EMPTY = "empty"
    OTHER = "other"

    @property
    def is_picture(self) -> bool:
        return self in {Content.PNG, Content.JPEG, Content.TIFF}

    @property
    def media_type(self) -> str:
        return "application/pdf" if self is Content.PDF else f"image/{self.value}"

    @property
    def file_extension(self) -> str:
        return {Content.JPEG: "jpg", Content.TIFF: "tif"}.get(self, self.value)


def sniff(head: bytes) -> Content:
    """`head` is the first HEAD_BYTES of the part, or all of it."""
    if not head:
        return Content.EMPTY
    # Archives come before PDF: `%PDF-` may well stand in the first kilobyte of one that holds a document.
    if head.startswith(_ZIP_STARTS):
        return _zip_or_other(head)
    if head.startswith(_TNEF):
        return Content.TNEF
    for magic, name in _PICTURES:
        if head.startswith(magic):
            return Content(name)
    if head.startswith(_OTHER_CONTAINERS):
        return Content.OTHER
    return Content.PDF if _PDF_HEADER.search(head[:_PDF_WITHIN_BYTES]) else Content.OTHER


def _zip_or_other(head: bytes) -> Content:
    if len(head) < _SHORTEST_ZIP_BYTES or head[_ZIP_NAME_AT:].startswith(_FILES_THAT_ARE_ZIPS):
        return Content.OTHER
    return Content.ZIP
