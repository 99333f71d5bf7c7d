"""Detects what kind of file a part is by its first bytes, since names and declared types may be wrong."""

import re
from enum import StrEnum

HEAD_BYTES = 4096
"""How much `detect_content_kind` needs to see; less is enough when the part is shorter."""

_PDF_HEADER = re.compile(rb"%PDF-\d")
_PDF_HEADER_WITHIN_BYTES = 1024
_ZIP_STARTS = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_MIN_ZIP_BYTES = 22  # an end record and nothing else
_ZIP_NAME_OFFSET = 30
# Office documents, e-books and programs are zip files too, but no archives of files that somebody packed.
_ZIP_BASED_FORMATS = (
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


class ContentKind(StrEnum):
    PDF = "pdf"  # begins with %PDF
    PNG = "png"  # a PNG picture
    JPEG = "jpeg"  # a JPEG picture
    TIFF = "tiff"  # a TIFF picture
    ZIP = "zip"  # an archive, or a file format that is one, as docx
    TNEF = "tnef"  # a winmail.dat
    EMPTY = "empty"  # no bytes
    OTHER = "other"  # anything else

    @property
    def media_type(self) -> str:
        return "application/pdf" if self is ContentKind.PDF else f"image/{self.value}"

    @property
    def file_extension(self) -> str:
        return {ContentKind.JPEG: "jpg", ContentKind.TIFF: "tif"}.get(self, self.value)


def detect_content_kind(head: bytes) -> ContentKind:
    """`head` is the first HEAD_BYTES of the part, or all of it."""
    if not head:
        return ContentKind.EMPTY
    # Archives come before PDF: `%PDF-` may well stand in the first kilobyte of one that holds a document.
    if head.startswith(_ZIP_STARTS):
        return _zip_kind(head)
    if head.startswith(_TNEF):
        return ContentKind.TNEF
    for magic, name in _PICTURES:
        if head.startswith(magic):
            return ContentKind(name)
    # After the pictures and before PDF, since a PDF header may stand within any of these.
    if head.startswith(_OTHER_CONTAINERS):
        return ContentKind.OTHER
    return ContentKind.PDF if _PDF_HEADER.search(head[:_PDF_HEADER_WITHIN_BYTES]) else ContentKind.OTHER


def _zip_kind(head: bytes) -> ContentKind:
    if len(head) < _MIN_ZIP_BYTES or head[_ZIP_NAME_OFFSET:].startswith(_ZIP_BASED_FORMATS):
        return ContentKind.OTHER
    return ContentKind.ZIP
