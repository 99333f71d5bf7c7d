"""Maps Gmail's JSON to our types.

Numbers come as strings, and sometimes do not; what is empty is left out. Source: providers/gmail.md 7, 8 and 12.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message as HeaderReader
from itertools import islice
from typing import Any

from mailroom_common.errors import ProviderUnavailable
from mailroom_common.logs import get_logger
from mailroom_common.providers.charsets import find_codec
from mailroom_common.providers.headers import FILTER_HEADERS, decode_words, parse_address, select_filter_headers
from mailroom_common.providers.types import (
    OMITTED_PARTS,
    Change,
    ChangeKind,
    Folder,
    FollowUpFlag,
    LabelChanges,
    MessageSummary,
    Part,
    PartKind,
)
from mailroom_common.providers.untrusted_text import (
    MAX_ID_BYTES,
    MAX_PARTS,
    clean_text,
    read_filename,
    read_id,
    read_object,
    read_size,
    read_text,
)
from mailroom_gmail.base64url import decode

log = get_logger()

# For format=metadata: what a summary and a filter need, and nothing else of the mail.
METADATA_HEADERS = ("From", "Subject", "Message-ID", "Importance", *sorted(FILTER_HEADERS))

# Texts that mail programs show where they have no name: alternatives of the body, and what a report is about.
_SHOWN_TEXTS = frozenset(
    {"text/calendar", "text/enriched", "text/html", "text/plain", "text/rfc822-headers", "text/richtext"}
    | {"text/watch-html", "text/x-amp-html"}
)

_ELSEWHERE = "message/external-body"  # says where a file lies, and has no byte of it

_MAX_DIGITS = 20  # of a 64-bit number

# Any: Gmail's JSON, read member by member here and nowhere else.
Payload = Mapping[str, Any]


def build_summary(message: Payload) -> MessageSummary:
    payload = read_object(message, "payload")
    headers = _read_headers(payload)
    address, name = parse_address(find_header(headers, "from") or "")
    labels = read_labels(message)
    return MessageSummary(
        message_id=read_required(message, "id"),
        labels=labels,
        received_at=parse_time(message.get("internalDate")),
        internet_message_id=clean_text(find_header(headers, "message-id")),
        conversation_id=read_text(message.get("threadId")),
        subject=decode_words(find_header(headers, "subject") or "") if headers else None,
        sender_address=address,
        sender_name=name,
        is_read="UNREAD" not in labels,
        is_draft="DRAFT" in labels,
        flag=FollowUpFlag.FLAGGED if "STARRED" in labels else FollowUpFlag.NOT_FLAGGED,
        importance="high" if "IMPORTANT" in labels else "normal",
        # format=metadata leaves out the parts: then nobody knows.
        has_attachments=_has_parts(message),
        categories=tuple(sorted(label for label in labels if label.startswith("CATEGORY_"))),
        version=parse_number(message.get("historyId")),
        headers=select_filter_headers(headers) if headers else None,
    )


def build_folder(label: Payload) -> Folder:
    """`well_known` is set on Gmail's own labels, whose id is their name."""
    label_id = read_required(label, "id")
    well_known = label_id if label.get("type") == "system" else None
    return Folder(label_id, read_text(label.get("name")) or label_id, well_known)


def read_labels(message: Payload) -> frozenset[str]:
    labels = message.get("labelIds")
    return frozenset(label for label in map(read_id, labels if isinstance(labels, list) else ()) if label)


def build_parts(payload: Payload) -> tuple[Part, ...]:
    """Every part that a mail program would offer as a file. A nested message is one part, not its contents."""
    found = list(islice((leaf for leaf in _iter_leaves(payload) if not _is_body(leaf)), MAX_PARTS + 1))
    leaves = found[:MAX_PARTS]
    part_ids = [read_id(leaf.part.get("partId")) for leaf in leaves]
    # Gmail's part ids are positions: where it leaves one out or gives it twice, the positions stand for all.
    has_part_ids = None not in part_ids and len(set(part_ids)) == len(part_ids)
    parts = tuple(
        _build_part(leaf, str(part_id) if has_part_ids else _shorten_position(leaf.position))
        for leaf, part_id in zip(leaves, part_ids, strict=True)
    )
    return (*parts, OMITTED_PARTS) if len(found) > MAX_PARTS else parts


def _shorten_position(position: str) -> str:
    return position if len(position) <= MAX_ID_BYTES else hashlib.sha256(position.encode()).hexdigest()


def find_html_parts(payload: Payload) -> list[Payload]:
    bodies = (leaf.part for leaf in _iter_leaves(payload) if _is_body(leaf))
    return list(islice((part for part in bodies if _read_type(part) == "text/html"), MAX_PARTS))


def decode_text(part: Payload, content: bytes) -> str:
    """Gmail hands out text as UTF-8 whatever the mail's charset was; where it is not, the charset says."""
    try:
        return content.decode()
    except UnicodeError:
        codec = read_codec(part)
    try:
        return content.decode(codec)
    except UnicodeError:
        return content.decode("latin-1")


def read_codec(part: Payload) -> str:
    reader = HeaderReader()
    reader["Content-Type"] = clean_text(find_header(_read_headers(part), "content-type")) or ""
    try:
        # Not get_content_charset(), which looks up any codec that the parameter itself is said to be encoded in.
        charset = reader.get_param("charset")
        return find_codec(str(charset[2] if isinstance(charset, tuple) else charset)) or "latin-1"
    except (TypeError, ValueError):  # what the library makes of a parameter that is given twice or in broken pieces
        return "latin-1"


def read_handle(part: Payload) -> str | bytes | None:
    """The bytes themselves where the message brought them, else the id to fetch them by, which does not last.

    None where it has neither: a nested message may be given by its parts alone.
    """
    body = read_object(part, "body")
    if isinstance(attachment_id := body.get("attachmentId"), str):
        return attachment_id
    if isinstance(data := body.get("data"), str):
        return _try_decode(data)
    # Nothing at all is an empty part.
    return None if read_size(body.get("size")) or _read_type(part) == "message/rfc822" else b""


def _try_decode(data: str) -> bytes | None:
    try:
        return decode(data)
    except ProviderUnavailable:  # it is no base64url, which is this part's trouble and not its neighbours'
        return None


def list_ids(items: Iterable[object]) -> list[str]:
    """Of what has no id nothing can be fetched or recorded; it must not keep the page that shows it from being read."""
    ids = [read_id(item.get("id")) if isinstance(item, Mapping) else None for item in items]
    if None in ids:
        log.warning("listed_item_skipped", provider="gmail")
    return [message_id for message_id in ids if message_id is not None]


def build_changes(records: Iterable[Payload]) -> tuple[Change, ...]:
    """The last word on each message, in the order of those words.

    Labels are given where the record has them: absent may mean none or unknown, and then the message is asked.
    """
    last: dict[str, Change] = {}
    for record in records:
        for name, entry, message in _iter_changes(record):
            kind = ChangeKind.REMOVED if name == "messagesDeleted" else ChangeKind.PRESENT
            for message_id in list_ids([message]):
                # Removed first, so that a repeated id moves to the end of the order.
                before = last.pop(message_id, None)
                summary = _build_labelled_summary(message_id, message) if kind is ChangeKind.PRESENT else None
                last[message_id] = Change(
                    kind,
                    message_id,
                    summary,
                    revision=read_text(record.get("id")),
                    label_changes=_add_label_changes(before, name, read_labels(entry)),
                )
    return tuple(last.values())


def _iter_changes(record: Payload) -> Iterator[tuple[str, Payload, Payload]]:
    for name in ("messagesAdded", "labelsAdded", "labelsRemoved", "messagesDeleted"):
        entries = record.get(name)
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, Mapping) and isinstance(message := entry.get("message"), Mapping):
                yield name, entry, message


def _add_label_changes(before: Change | None, name: str, labels: frozenset[str]) -> LabelChanges | None:
    """None where the message may be new, or a record does not say which labels it is about."""
    known = LabelChanges() if before is None else before.label_changes
    if known is None or not labels:
        return None
    match name:
        case "labelsAdded":
            return LabelChanges(known.added | labels, known.removed)
        case "labelsRemoved":
            return LabelChanges(known.added, known.removed | labels)
        case _:
            return None


def _build_labelled_summary(message_id: str, message: Payload) -> MessageSummary | None:
    labels = read_labels(message)
    if not labels:
        return None
    return MessageSummary(message_id=message_id, labels=labels, conversation_id=read_text(message.get("threadId")))


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A part that holds no others, and where it stands. `is_related`: shown by a sibling, as the children of
    multipart/related after the first."""

    part: Payload
    position: str = ""
    is_related: bool = False


def _iter_leaves(payload: Payload) -> Iterator[_Leaf]:
    ahead = [_Leaf(payload)]
    while ahead:
        leaf = ahead.pop()
        children, kind = _list_children(leaf.part), _read_type(leaf.part)
        # Whatever is no multipart and has content is that content, though it may be given children too.
        is_container = kind.startswith("multipart/") or not (kind == "message/rfc822" or _has_content(leaf.part))
        if not (children and is_container):
            yield leaf
            continue
        prefix = f"{leaf.position}." if leaf.position else ""
        related = kind == "multipart/related"
        ahead += [
            _Leaf(child, f"{prefix}{index}", related and index > 0)
            for index, child in reversed(list(enumerate(children)))
        ]


def _list_children(part: Payload) -> list[Payload]:
    children = part.get("parts")
    return [child for child in children if isinstance(child, Mapping)] if isinstance(children, list) else []


def _build_part(leaf: _Leaf, part_path: str) -> Part:
    part = leaf.part
    headers, disposition, content_type = _read_headers(part), read_disposition(part), _read_type(part)
    content_id = clean_text((find_header(headers, "content-id") or "").strip().strip("<>")) or None
    is_message, handle = content_type == "message/rfc822", read_handle(part)
    return Part(
        part_path=part_path,
        kind=PartKind.MESSAGE if is_message else PartKind.FILE,
        # Exchange calls an attached mail by its subject: it has a name here too.
        filename=read_filename(part.get("filename")) or (_read_nested_subject(part) if is_message else None),
        content_type=content_type or None,
        size_bytes=read_size(read_object(part, "body").get("size")),
        is_inline=disposition == "inline" or (leaf.is_related and content_id is not None and disposition is None),
        content_id=content_id,
        disposition=disposition,
        is_within_source=is_message and handle is None,
        handle=handle,
    )


def _read_nested_subject(part: Payload) -> str | None:
    nested = next(iter(_list_children(part)), {})
    return decode_words(find_header(_read_headers(nested), "subject") or "") or None


def _is_body(leaf: _Leaf) -> bool:
    """What is shown and not offered as a file. A part with a name is offered, whatever its type, if its bytes are here;
    one without a name is shown if it is a text that mail programs show, only describes a delivery, or is an empty or
    broken container."""
    part = leaf.part
    kind = _read_type(part)
    if kind == _ELSEWHERE:
        return True
    if part.get("filename") or read_disposition(part) == "attachment":
        return False
    if kind.startswith("multipart/"):
        return leaf.position == "" or not _has_content(part) or _is_blank(part)
    return kind in _SHOWN_TEXTS or (kind.startswith("message/") and kind != "message/rfc822")


def _is_blank(part: Payload) -> bool:
    handle = read_handle(part)
    return isinstance(handle, bytes) and not handle.strip()


def _has_content(part: Payload) -> bool:
    body = read_object(part, "body")
    return bool(body.get("attachmentId") or body.get("data") or body.get("size"))


def _has_parts(message: Payload) -> bool | None:
    payload = message.get("payload")
    if not isinstance(payload, Mapping) or not ("body" in payload or "parts" in payload):
        return None
    return any(not _is_body(leaf) for leaf in _iter_leaves(payload))


def _read_type(part: Payload) -> str:
    """Without what some programs leave behind it (`text/plain>`)."""
    return (read_text(part.get("mimeType")) or "text/plain").lower().rstrip("<>")


def read_disposition(part: Payload) -> str | None:
    value = find_header(_read_headers(part), "content-disposition") or ""
    return clean_text(value.partition(";")[0].strip().lower()) or None


def _read_headers(part: Payload) -> list[Payload]:
    headers = part.get("headers")
    return [header for header in headers if isinstance(header, Mapping)] if isinstance(headers, list) else []


def find_header(headers: Iterable[Payload], name: str) -> str | None:
    """The value as it is. Names keep the sender's case."""
    found = (header.get("value") for header in headers if str(header.get("name")).lower() == name)
    value = next(found, None)
    return value if isinstance(value, str) else None


def parse_time(milliseconds: object) -> datetime | None:
    digits = parse_number(milliseconds)
    try:
        return None if digits is None else datetime.fromtimestamp(int(digits) / 1000, UTC)
    except (ValueError, OverflowError, OSError):  # beyond the year 9999
        return None


def parse_number(value: object) -> str | None:
    """A 64-bit number as Gmail writes it, a string of digits; a bare number is taken too."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None


def read_required(item: Payload, name: str) -> str:
    value = read_id(item.get(name))
    if value is None:
        raise ProviderUnavailable(f"Gmail left out {name}")
    return value
