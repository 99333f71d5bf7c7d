"""Detects what kind of file a part is by its first bytes, since names and declared types may be wrong."""

import re
from dataclasses import dataclass
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
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
# RFC 5652: a sequence that begins with an object identifier of PKCS #7, in DER or with lengths left open (BER).
_CMS_START = re.compile(
    rb"\x30(?:\x80|\x81.|\x82..|\x83...|\x84....|[\x00-\x7f])\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07[\x01-\x06]",
    re.DOTALL,
)
_CALENDAR_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*BEGIN:V(?:CALENDAR|CARD)\b", re.IGNORECASE)
# These may hold a PDF in their first kilobyte and are none: AppleDouble and AppleSingle, archives.
_OTHER_CONTAINERS = (
    b"\x00\x05\x16\x07",
    b"\x00\x05\x16\x00",
    b"\x1f\x8b",
    b"7z\xbc\xaf\x27\x1c",
    b"Rar!",
)


# Pictures that are not read: GIF, Windows bitmap, WebP, and HEIC and its kin, whose first four bytes are a length.
_UNREAD_PICTURE = re.compile(rb"GIF8|BM|RIFF....WEBP|....ftyp", re.DOTALL)
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
# What is still encoded has words that nobody writes.
_ENCODED = re.compile(rb"\S{60}|%PDF-\d")


class ContentKind(StrEnum):
    PDF = "pdf"  # begins with %PDF
    PNG = "png"  # a PNG picture
    JPEG = "jpeg"  # a JPEG picture
    TIFF = "tiff"  # a TIFF picture
    ZIP = "zip"  # an archive, or a file format that is one, as docx
    TNEF = "tnef"  # a winmail.dat
    OLE = "ole"  # a compound file of Microsoft's: an Outlook message, or an old office document
    CMS = "cms"  # signed or encrypted content: S/MIME, or a signed file
    CALENDAR_OR_CARD = "calendar_or_card"  # iCalendar or vCard
    EMPTY = "empty"  # no bytes
    OTHER = "other"  # text, or a file of another kind that is known
    UNKNOWN = "unknown"  # of no kind that is known: damaged, cut off, still encoded, or of a rare kind


class ContainerKind(StrEnum):
    """What holds files that are judged one by one."""

    MESSAGE = "message"  # an attached mail
    ZIP = "zip"  # an archive
    TNEF = "tnef"  # a winmail.dat, in which Outlook wraps attachments
    SMIME = "smime"  # a signed mail in one piece, or a signed file
    MSG = "msg"  # a mail that Outlook saved


@dataclass(frozen=True, slots=True)
class StoredType:
    """How bytes of one kind are stored."""

    media_type: str
    file_extension: str


_STORED_TYPES: dict[ContentKind | ContainerKind, StoredType] = {
    ContentKind.PDF: StoredType("application/pdf", "pdf"),
    ContentKind.PNG: StoredType("image/png", "png"),
    ContentKind.JPEG: StoredType("image/jpeg", "jpg"),
    ContentKind.TIFF: StoredType("image/tiff", "tif"),
    # What could not be opened whole: for a person to look at.
    ContainerKind.MESSAGE: StoredType("message/rfc822", "eml"),
    ContainerKind.ZIP: StoredType("application/zip", "zip"),
    ContainerKind.TNEF: StoredType("application/vnd.ms-tnef", "dat"),
    ContainerKind.SMIME: StoredType("application/pkcs7-mime", "p7m"),
    ContainerKind.MSG: StoredType("application/vnd.ms-outlook", "msg"),
}


def find_stored_type(kind: ContentKind | ContainerKind) -> StoredType:
    """Raises KeyError: bytes of this kind are never stored."""
    return _STORED_TYPES[kind]


def detect_content_kind(head: bytes) -> ContentKind:
    """`head` is the first HEAD_BYTES of the part, or all of it."""
    if not head:
        return ContentKind.EMPTY
    # Archives come before PDF: `%PDF-` may well stand in the first kilobyte of one that holds a document.
    if head.startswith(_ZIP_STARTS):
        return _zip_kind(head)
    if head.startswith(_TNEF):
        return ContentKind.TNEF
    if head.startswith(_OLE):
        return ContentKind.OLE
    if _CMS_START.match(head):
        return ContentKind.CMS
    for magic, name in _PICTURES:
        if head.startswith(magic):
            return ContentKind(name)
    # After the pictures and before PDF, since a PDF header may stand within any of these.
    if head.startswith(_OTHER_CONTAINERS):
        return ContentKind.OTHER
    if _PDF_HEADER.search(head[:_PDF_HEADER_WITHIN_BYTES]):
        return ContentKind.PDF
    if _CALENDAR_START.match(head):
        return ContentKind.CALENDAR_OR_CARD
    return ContentKind.OTHER if _UNREAD_PICTURE.match(head) or _is_whole_text(head) else ContentKind.UNKNOWN


def _is_whole_text(head: bytes) -> bool:
    """Text that was seen to its end: a document may stand behind the beginning of a longer one."""
    if len(head) >= HEAD_BYTES or _NO_TEXT.search(head) or _ENCODED.search(head):
        return False
    try:
        head.decode()
    except UnicodeDecodeError:
        return False
    return True


def _zip_kind(head: bytes) -> ContentKind:
    if len(head) < _MIN_ZIP_BYTES or head[_ZIP_NAME_OFFSET:].startswith(_ZIP_BASED_FORMATS):
        return ContentKind.OTHER
    return ContentKind.ZIP
