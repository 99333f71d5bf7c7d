"""Which parts of a mail are taken, and why the others are left. Reasons are the words of the samples' index.

Two looks: at what the provider says of a part, which costs nothing, then at its first bytes.
"""

import re
from enum import StrEnum
from urllib.parse import unquote

from mailroom_common.providers.types import Part, PartKind
from sync_engine.domain.content import Content
from sync_engine.domain.filenames import extension

LARGEST_BYTES = 25 * 1024 * 1024
# Providers count the stored form, which is a little more than the bytes: near the limit only counting tells.
_CLEARLY_TOO_LARGE_BYTES = LARGEST_BYTES * 21 // 20


class Left(StrEnum):
    NOT_A_DOCUMENT = "not_a_document"
    INLINE_PICTURE = "inline_picture"
    REFERENCED_BY_BODY = "referenced_by_body"
    SIGNATURE = "signature"
    EMPTY = "empty"
    CALENDAR_OR_CARD = "calendar_or_card"
    TOO_LARGE = "too_large"
    CLOUD_LINK = "cloud_link"
    UNOPENED_MESSAGE = "unopened_message"
    UNOPENED_ZIP = "unopened_zip"
    UNOPENED_TNEF = "unopened_tnef"
    UNOPENED_SMIME = "unopened_smime"
    UNAVAILABLE = "unavailable"


_SIGNATURE_TYPES = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
)
_SIGNATURE_ENDINGS = frozenset({"asc", "p7s", "sig", "smime"})
_CALENDAR_TYPES = frozenset(
    {"application/ics", "text/calendar", "text/directory", "text/vcard", "text/x-vcalendar", "text/x-vcard"}
)
_CALENDAR_ENDINGS = frozenset({"ical", "icalendar", "ics", "vcard", "vcf", "vcs"})
_SMIME_TYPES = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime"})
_MESSAGE_TYPES = frozenset({"message/global", "message/rfc822"})
_PICTURE_ENDINGS = frozenset({"bmp", "gif", "heic", "jfif", "jpe", "jpeg", "jpg", "png", "svg", "tif", "tiff", "webp"})

# Type and name that agree are believed, and nobody fetches a video to see that it is no invoice. A lie in one of them
# alone is looked into.
_OTHER_TYPES = re.compile(
    r"(text|audio|video|font|model)/|image/(bmp|gif|heic|heif|svg\+xml|webp|x-icon)"
    r"|application/(json|msword|rtf|xml|vnd\.(ms-|oasis|openxmlformats))"
)
_OTHER_ENDINGS = frozenset(
    {"avi", "bmp", "css", "csv", "doc", "docm", "docx", "gif", "heic", "heif", "htm", "html", "ico", "json", "log"}
    | {"m4a", "md", "mov", "mp3", "mp4", "odp", "ods", "odt", "ogg", "ppt", "pptx", "rtf", "svg", "text", "tsv", "txt"}
    | {"wav", "webm", "webp", "wmv", "xls", "xlsm", "xlsx", "xml", "yaml", "yml"}
)


def judge_by_name(part: Part) -> Left | None:
    """The first look. None: only the bytes can tell."""
    declared, ending = _media_type(part), extension(part.filename)
    if part.kind is PartKind.LINK:
        return Left.CLOUD_LINK
    if part.kind is PartKind.FILE and part.size_bytes == 0:
        return Left.EMPTY
    if declared in _SIGNATURE_TYPES or ending in _SIGNATURE_ENDINGS:
        return Left.SIGNATURE
    if declared in _CALENDAR_TYPES or ending in _CALENDAR_ENDINGS:
        return Left.CALENDAR_OR_CARD
    if declared in _SMIME_TYPES or ending == "p7m":
        return Left.UNOPENED_SMIME
    if part.kind is PartKind.MESSAGE or declared in _MESSAGE_TYPES or ending == "eml":
        return Left.UNOPENED_MESSAGE
    if _OTHER_TYPES.match(declared) and ending in _OTHER_ENDINGS:
        return Left.NOT_A_DOCUMENT
    if part.is_inline and declared.startswith("image/") and ending in _PICTURE_ENDINGS:
        return _picture_in_body(part, html="")
    if part.size_bytes is not None and part.size_bytes > _CLEARLY_TOO_LARGE_BYTES:
        return Left.TOO_LARGE
    return None


def judge_by_content(part: Part, content: Content, *, html: str) -> Left | None:
    """The second look, at what the first bytes are. None: it is taken.

    A PDF is taken wherever it stands: some programs send every document inline, and none sends a logo as PDF.
    """
    match content:
        case Content.EMPTY:
            return Left.EMPTY
        case Content.ZIP:
            return Left.UNOPENED_ZIP
        case Content.TNEF:
            return Left.UNOPENED_TNEF
        case Content.OTHER:
            return Left.NOT_A_DOCUMENT
        case Content.PDF:
            return None
        case _:
            return _picture_in_body(part, html)


def needs_html(part: Part) -> bool:
    """Whether the body decides on this part: a Content-ID by itself means nothing, on an attachment it is common."""
    is_said_to_be_pdf = _media_type(part) == "application/pdf" and extension(part.filename) == "pdf"
    return part.content_id is not None and not part.is_inline and not is_said_to_be_pdf


def _picture_in_body(part: Part, html: str) -> Left | None:
    if part.disposition == "inline":
        return Left.INLINE_PICTURE
    if part.is_inline:
        return Left.REFERENCED_BY_BODY if part.content_id else Left.INLINE_PICTURE
    return Left.REFERENCED_BY_BODY if part.content_id and _shows(html, part.content_id) else None


def _shows(html: str, content_id: str) -> bool:
    wanted = unquote(content_id.strip().strip("<>")).casefold()
    return any(
        unquote(shown).casefold() == wanted for shown in re.findall(r"""cid:([^"'\s<>)]+)""", html, re.IGNORECASE)
    )


def _media_type(part: Part) -> str:
    return (part.content_type or "").partition(";")[0].strip().lower()
