"""Which parts of a mail are stored, and why the others are skipped. Reasons are the words of the samples' index.

The first bytes decide. What the provider says of a part lets a few be left unread, and words the reason of the others.
"""

import re
from enum import StrEnum
from itertools import islice
from urllib.parse import unquote

from mailroom_common.providers.types import Part, PartKind
from mailroom_common.providers.untrusted_text import MAX_TEXT_CHARACTERS
from sync_engine.domain.content import ContainerKind, ContentKind
from sync_engine.domain.untrusted_text import file_extension

MAX_PART_BYTES = 25 * 1024 * 1024
MAX_CONTAINER_BYTES = 50 * 1024 * 1024  # an attached mail holds its files in base64
_MAX_SHOWN_IDS = 10_000  # of an HTML body


class SkipReason(StrEnum):
    NOT_A_DOCUMENT = "not_a_document"  # its bytes are of no type that we read
    INLINE_PICTURE = "inline_picture"  # a picture that the mail marks as part of its layout
    REFERENCED_BY_BODY = "referenced_by_body"  # a picture that the HTML body shows by its content id
    SIGNATURE = "signature"  # a PGP or S/MIME signature
    EMPTY = "empty"  # no bytes
    # Name and type say that it is a PDF or an attached picture, and it has no bytes, or those of no kind that is known.
    DAMAGED = "damaged"
    CALENDAR_OR_CARD = "calendar_or_card"  # an invitation or a contact card
    TOO_LARGE = "too_large"  # more than 25 MB; what holds other files more than 50 MB
    CLOUD_LINK = "cloud_link"  # a link to a file in a cloud store, not a file
    # Beyond the first 500 parts of a mail, or 2,000 with what containers hold; these are not looked at.
    TOO_MANY_PARTS = "too_many_parts"
    UNAVAILABLE = "unavailable"  # the provider shows it in a form that names no way to its bytes
    GONE = "gone"  # it could not be fetched, and then the mail had it no longer
    DONE_BY_OTHER_JOB = "done_by_other_job"  # it could not be fetched, and then another claimant did its mail


# Nobody has seen what such a part says: it may be the invoice, and no document tells of it.
NOT_TAKEN = frozenset({SkipReason.TOO_LARGE, SkipReason.TOO_MANY_PARTS, SkipReason.UNAVAILABLE, SkipReason.DAMAGED})

_SIGNATURE_TYPES = frozenset(
    {"application/pgp-signature", "application/pkcs7-signature", "application/x-pkcs7-signature"}
)
_SIGNATURE_ENDINGS = frozenset({"asc", "p7s", "sig", "smime"})
_CALENDAR_TYPES = frozenset(
    {"application/ics", "text/calendar", "text/directory", "text/vcard", "text/x-vcalendar", "text/x-vcard"}
)
_CALENDAR_ENDINGS = frozenset({"ical", "icalendar", "ics", "vcard", "vcf", "vcs"})
# `multipart/signed`: so Exchange shows a mail that is signed beside its text, all of it in one file.
_SMIME_TYPES = frozenset({"application/pkcs7-mime", "application/x-pkcs7-mime", "multipart/signed"})
_CONTAINER_TYPES = frozenset(
    {"application/ms-tnef", "application/vnd.ms-tnef", "application/vnd.ms-outlook"}
    | {"application/zip", "application/x-zip", "application/x-zip-compressed"}
)
_CLOSED_DECLARATIONS = (SkipReason.SIGNATURE, SkipReason.CALENDAR_OR_CARD)
_MESSAGE_TYPES = frozenset({"message/global", "message/rfc822"})
_MAX_OVERHEAD_BYTES = 1024
# Files that are never documents by their name alone: nobody attaches one without its ending.
_UNREAD_ENDINGS = frozenset({"ics", "p7s", "sig", "vcf"})
_PDF_TYPES = frozenset({"application/pdf", "application/x-pdf"})
# Of a file in an archive nothing is said, and some programs say this of every file.
_TYPES_THAT_SAY_NOTHING = frozenset({"", "application/octet-stream", "binary/octet-stream"})
_READ_PICTURE_TYPES = frozenset({"image/jpeg", "image/jpg", "image/pjpeg", "image/png", "image/tif", "image/tiff"})
_READ_PICTURE_ENDINGS = frozenset({"jfif", "jpe", "jpeg", "jpg", "png", "tif", "tiff"})
_ZIPPED_OFFICE_ENDINGS = frozenset({"docm", "docx", "odp", "ods", "odt", "pptx", "xlsm", "xlsx"})
_PICTURE_ENDINGS = frozenset({"bmp", "gif", "heic", "jfif", "jpe", "jpeg", "jpg", "png", "svg", "tif", "tiff", "webp"})

# What a declared type and a file name that agree say of a part. It never decides, but words the reason where the bytes
# are no document's.
_NON_DOCUMENT_TYPES = re.compile(
    r"(text|audio|video|font|model)/|image/(bmp|gif|heic|heif|svg\+xml|webp|x-icon)"
    r"|application/(json|msword|rtf|xml|vnd\.(ms-|oasis|openxmlformats))"
)
_CONTENT_ID_IN_HTML = re.compile(r"""cid:([^"'\s<>)]+)""", re.IGNORECASE)
_NON_DOCUMENT_ENDINGS = frozenset(
    {"avi", "bmp", "css", "csv", "doc", "docm", "docx", "gif", "heic", "heif", "htm", "html", "ico", "json", "log"}
    | {"m4a", "md", "mov", "mp3", "mp4", "odp", "ods", "odt", "ogg", "ppt", "pptx", "rtf", "svg", "text", "tsv", "txt"}
    | {"wav", "webm", "webp", "wmv", "xls", "xlsm", "xlsx", "xml", "yaml", "yml"}
)


def skip_reason_by_name(part: Part) -> SkipReason | None:
    """Of the few parts whose bytes need not be looked at. None: only the bytes can tell, whatever name and type say."""
    if part.kind is PartKind.LINK:
        return SkipReason.CLOUD_LINK
    if part.kind is PartKind.OMITTED:
        return SkipReason.TOO_MANY_PARTS
    if part.kind is PartKind.UNAVAILABLE:
        return SkipReason.UNAVAILABLE
    if part.kind is PartKind.FILE and part.size_bytes == 0:
        return _choose_empty_reason(part)
    if file_extension(part.filename) in _UNREAD_ENDINGS and not _may_be_empty(part):
        return skip_reason_by_declaration(part)
    if is_declared_inline_picture(part) and file_extension(part.filename) in _PICTURE_ENDINGS:
        return _picture_skip_reason(part, frozenset())
    # Providers count the stored form, which is a little more than the bytes: near the limit only counting tells.
    if part.size_bytes is not None and part.size_bytes > find_size_limit(part) * 21 // 20:
        # A film is none of the documents that somebody may miss.
        return skip_reason_by_declaration(part) or SkipReason.TOO_LARGE
    return None


def find_size_limit(part: Part) -> int:
    return MAX_CONTAINER_BYTES if is_declared_container(part) else MAX_PART_BYTES


def skip_reason_by_declaration(part: Part) -> SkipReason | None:
    """What the provider's word on a part makes of it. None: it may be a document."""
    declared, ending = _declared_type(part), file_extension(part.filename)
    if declared in _SIGNATURE_TYPES or ending in _SIGNATURE_ENDINGS:
        return SkipReason.SIGNATURE
    if declared in _CALENDAR_TYPES or ending in _CALENDAR_ENDINGS:
        return SkipReason.CALENDAR_OR_CARD
    if _NON_DOCUMENT_TYPES.match(declared) and ending in _NON_DOCUMENT_ENDINGS:
        return SkipReason.NOT_A_DOCUMENT
    return None


def is_declared_inline_picture(part: Part) -> bool:
    return part.is_inline and _declared_type(part).startswith("image/")


def may_be_document(part: Part) -> bool:
    """As far as name and type tell: the mail of such a part is read, whatever it looks like.

    What nobody can look into may be one too. An inline picture is part of any mail's layout.
    """
    by_name = skip_reason_by_name(part)
    is_left = (by_name is not None and by_name not in NOT_TAKEN) or skip_reason_by_declaration(part) is not None
    return not is_left and not is_declared_inline_picture(part)


def skip_reason_by_content(part: Part, content: ContentKind, *, shown_ids: frozenset[str]) -> SkipReason | None:
    """By the first bytes of what is no container. None: the part is stored. `shown_ids`: see find_shown_ids.

    A PDF is stored wherever it stands: some programs send every document inline, and none sends a logo as PDF.
    """
    match content:
        case ContentKind.EMPTY:
            return _choose_empty_reason(part)
        case ContentKind.CALENDAR_OR_CARD:
            return SkipReason.CALENDAR_OR_CARD
        case ContentKind.ZIP | ContentKind.TNEF | ContentKind.OLE | ContentKind.CMS | ContentKind.OTHER:
            return skip_reason_by_declaration(part) or SkipReason.NOT_A_DOCUMENT
        case ContentKind.UNKNOWN:
            otherwise = SkipReason.DAMAGED if _is_said_to_be_document(part) else SkipReason.NOT_A_DOCUMENT
            return skip_reason_by_declaration(part) or otherwise
        case ContentKind.PDF:
            return None
        case _:
            return _picture_skip_reason(part, shown_ids)


def find_container_kind(part: Part, content: ContentKind) -> ContainerKind | None:
    """What the part is opened as, by its first bytes; its name and type tell where bytes look like any text.

    A zip that an office program opens is no archive of files, and a detached signature holds none.
    """
    declaration = skip_reason_by_declaration(part)
    match content:
        case ContentKind.ZIP:
            return None if _is_declared_office_file(part) else ContainerKind.ZIP
        case ContentKind.TNEF:
            return ContainerKind.TNEF
        case ContentKind.OLE:
            return None if declaration is SkipReason.NOT_A_DOCUMENT else ContainerKind.MSG
        case ContentKind.CMS | ContentKind.OTHER | ContentKind.UNKNOWN if declaration in _CLOSED_DECLARATIONS:
            return None
        case ContentKind.CMS:
            return ContainerKind.SMIME
        case ContentKind.OTHER | ContentKind.UNKNOWN:
            return _find_declared_container(part)
        case _:
            return None


def is_declared_container(part: Part) -> bool:
    return _find_declared_container(part) is not None or _declared_type(part) in _CONTAINER_TYPES


def is_attached_message(part: Part) -> bool:
    return _find_declared_container(part) is ContainerKind.MESSAGE


def _find_declared_container(part: Part) -> ContainerKind | None:
    declared, ending = _declared_type(part), file_extension(part.filename)
    if declared in _SMIME_TYPES or ending == "p7m":
        return ContainerKind.SMIME
    if part.kind is PartKind.MESSAGE or declared in _MESSAGE_TYPES or ending == "eml":
        return ContainerKind.MESSAGE
    return None


def _choose_empty_reason(part: Part) -> SkipReason:
    return SkipReason.DAMAGED if _is_said_to_be_document(part) else SkipReason.EMPTY


def _is_said_to_be_document(part: Part) -> bool:
    """Of a kind that is read, by name and type; of a PDF by one of them where the other says nothing.

    A picture that the body may show is part of the layout.
    """
    declared, ending = _declared_type(part), file_extension(part.filename)
    if declared in _PDF_TYPES:
        return ending == "pdf" or part.filename is None
    if ending == "pdf":
        return declared in _TYPES_THAT_SAY_NOTHING
    is_attached = not part.is_inline and part.content_id is None and part.disposition != "inline"
    return is_attached and declared in _READ_PICTURE_TYPES and ending in _READ_PICTURE_ENDINGS


def _may_be_empty(part: Part) -> bool:
    """Providers count a few hundred bytes for an attachment without any."""
    return part.size_bytes is not None and part.size_bytes < _MAX_OVERHEAD_BYTES


def needs_html_body(part: Part) -> bool:
    """Whether the body decides on this part: a Content-ID by itself means nothing, on an attachment it is common."""
    is_said_to_be_pdf = _declared_type(part) == "application/pdf" and file_extension(part.filename) == "pdf"
    return part.content_id is not None and not part.is_inline and not is_said_to_be_pdf


def find_shown_ids(html: str) -> frozenset[str]:
    """The content ids that an HTML body shows: found once for all parts of its mail, which may be hundreds."""
    # What is longer than any text that is kept of a part is no part's id.
    found = islice(_CONTENT_ID_IN_HTML.finditer(html), _MAX_SHOWN_IDS)
    shown = (match[1] for match in found if match.end(1) - match.start(1) <= MAX_TEXT_CHARACTERS)
    return frozenset(map(_normalize_content_id, shown))


def _picture_skip_reason(part: Part, shown_ids: frozenset[str]) -> SkipReason | None:
    if part.disposition == "inline":
        return SkipReason.INLINE_PICTURE
    if part.is_inline:
        return SkipReason.REFERENCED_BY_BODY if part.content_id else SkipReason.INLINE_PICTURE
    content_id = _normalize_content_id((part.content_id or "").strip().strip("<>"))
    return SkipReason.REFERENCED_BY_BODY if content_id and content_id in shown_ids else None


def _normalize_content_id(content_id: str) -> str:
    return unquote(content_id).casefold()


def _is_declared_office_file(part: Part) -> bool:
    """A zip of XML files that an office program opens; name and type agree on it."""
    return (
        file_extension(part.filename) in _ZIPPED_OFFICE_ENDINGS
        and skip_reason_by_declaration(part) is SkipReason.NOT_A_DOCUMENT
    )


def _declared_type(part: Part) -> str:
    return (part.content_type or "").partition(";")[0].strip().lower()
