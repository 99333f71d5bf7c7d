"""Maps Gmail's JSON to our types.

Numbers come as strings, and sometimes do not; what is empty is left out. Source: providers/gmail.md 7, 8 and 12.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.message import Message as HeaderReader
from typing import Any

from mailroom_common.errors import ProviderUnavailable
from mailroom_common.providers.headers import FILTER_HEADERS, decode_words, parse_address, select_filter_headers
from mailroom_common.providers.types import Change, ChangeKind, Folder, MessageSummary, Part, PartKind
from mailroom_gmail.base64url import decode

# For format=metadata: what a summary and a filter need, and nothing else of the mail.
METADATA_HEADERS = ("From", "Subject", "Message-ID", "Importance", *sorted(FILTER_HEADERS))

# Any: Gmail's JSON, read member by member here and nowhere else.
Payload = Mapping[str, Any]


def build_summary(message: Payload) -> MessageSummary:
    payload = message.get("payload")
    headers = payload.get("headers") or [] if isinstance(payload, Mapping) else []
    address, name = parse_address(find_header(headers, "from") or "")
    labels = read_labels(message)
    return MessageSummary(
        message_id=read_required(message, "id"),
        labels=labels,
        received_at=parse_time(message.get("internalDate")),
        internet_message_id=find_header(headers, "message-id"),
        conversation_id=message.get("threadId"),
        subject=decode_words(find_header(headers, "subject") or "") if headers else None,
        sender_address=address,
        sender_name=name,
        is_read="UNREAD" not in labels,
        is_draft="DRAFT" in labels,
        importance="high" if "IMPORTANT" in labels else "normal",
        # format=metadata leaves out the parts: then nobody knows.
        has_attachments=_has_parts(payload),
        categories=tuple(sorted(label for label in labels if label.startswith("CATEGORY_"))),
        version=parse_number(message.get("historyId")),
        headers=select_filter_headers(headers) if headers else None,
    )


def build_folder(label: Payload) -> Folder:
    """`well_known` is set on Gmail's own labels, whose id is their name."""
    label_id = read_required(label, "id")
    return Folder(label_id, str(label.get("name") or label_id), label_id if label.get("type") == "system" else None)


def read_labels(message: Payload) -> frozenset[str]:
    return frozenset(str(label) for label in message.get("labelIds") or ())


def build_parts(payload: Payload) -> tuple[Part, ...]:
    """Every part that a mail program would offer as a file. A nested message is one part, not its contents."""
    return tuple(_build_part(part, is_related) for part, is_related in _iter_leaves(payload) if not _is_body(part))


def find_html_parts(payload: Payload) -> list[Payload]:
    return [part for part, _ in _iter_leaves(payload) if _is_body(part) and _read_type(part) == "text/html"]


def decode_text(part: Payload, content: bytes) -> str:
    """Gmail hands out text as UTF-8 whatever the mail's charset was; where it is not, the charset says."""
    for charset in ("utf-8", read_charset(part)):
        try:
            return content.decode(charset)
        except (LookupError, ValueError):  # ValueError: it is not in it, or has a NUL in its name
            continue
    return content.decode("latin-1")


def read_charset(part: Payload) -> str:
    reader = HeaderReader()
    reader["Content-Type"] = find_header(part.get("headers") or [], "content-type") or ""
    try:
        return reader.get_content_charset() or "latin-1"
    except (TypeError, ValueError):  # what the library makes of a parameter that is given twice or in broken pieces
        return "latin-1"


def read_handle(part: Payload) -> str | bytes | None:
    """The bytes themselves where the message brought them, else the id to fetch them by, which does not last."""
    body = part.get("body") or {}
    if isinstance(attachment_id := body.get("attachmentId"), str):
        return attachment_id
    if isinstance(data := body.get("data"), str):
        return decode(data)
    # Nothing at all is an empty part; but a nested message may be given by its parts alone.
    return None if body.get("size") or _read_type(part) == "message/rfc822" else b""


def build_changes(records: list[Payload]) -> tuple[Change, ...]:
    """The last word on each message, in the order of those words.

    Labels are given where the record has them: absent may mean none or unknown, and then the message is asked.
    """
    last: dict[str, Change] = {}
    for record in records:
        for kind, message in _iter_changes(record):
            message_id = read_required(message, "id")
            # Removed first, so that a repeated id moves to the end of the order.
            last.pop(message_id, None)
            last[message_id] = Change(
                kind,
                message_id,
                _build_labelled_summary(message) if kind is ChangeKind.PRESENT else None,
                revision=record.get("id"),
            )
    return tuple(last.values())


def _iter_changes(record: Payload) -> Iterator[tuple[ChangeKind, Payload]]:
    for name in ("messagesAdded", "labelsAdded", "labelsRemoved", "messagesDeleted"):
        kind = ChangeKind.REMOVED if name == "messagesDeleted" else ChangeKind.PRESENT
        for entry in record.get(name) or ():
            if isinstance(message := entry.get("message"), Mapping):
                yield kind, message


def _build_labelled_summary(message: Payload) -> MessageSummary | None:
    if not message.get("labelIds"):
        return None
    return MessageSummary(
        message_id=read_required(message, "id"), labels=read_labels(message), conversation_id=message.get("threadId")
    )


def _iter_leaves(payload: Payload) -> Iterator[tuple[Payload, bool]]:
    """(part, whether it is shown by its siblings): the children of multipart/related after the first."""
    ahead: list[tuple[Payload, bool]] = [(payload, False)]
    while ahead:
        part, is_related = ahead.pop()
        children = [child for child in part.get("parts") or () if isinstance(child, Mapping)]
        if not children or _read_type(part) == "message/rfc822":
            if not _read_type(part).startswith("multipart/"):
                yield part, is_related
            continue
        related = _read_type(part) == "multipart/related"
        ahead += [(child, related and index > 0) for index, child in reversed(list(enumerate(children)))]


def _build_part(part: Payload, is_related: bool) -> Part:
    headers = part.get("headers") or []
    disposition = read_disposition(part)
    content_id = (find_header(headers, "content-id") or "").strip().strip("<>") or None
    return Part(
        part_path=str(part.get("partId") or ""),
        kind=PartKind.MESSAGE if _read_type(part) == "message/rfc822" else PartKind.FILE,
        filename=part.get("filename") or None,
        content_type=_read_type(part) or None,
        size_bytes=(part.get("body") or {}).get("size"),
        is_inline=disposition == "inline" or (is_related and content_id is not None and disposition is None),
        content_id=content_id,
        disposition=disposition,
        handle=read_handle(part),
    )


def _is_body(part: Payload) -> bool:
    """Text that is shown rather than offered, and what only describes a delivery."""
    if part.get("filename") or read_disposition(part) == "attachment":
        return False
    kind = _read_type(part)
    return kind.startswith("text/") or (kind.startswith("message/") and kind != "message/rfc822")


def _has_parts(payload: object) -> bool | None:
    if not isinstance(payload, Mapping) or not ("body" in payload or "parts" in payload):
        return None
    return any(not _is_body(part) for part, _ in _iter_leaves(payload))


def _read_type(part: Payload) -> str:
    return str(part.get("mimeType") or "text/plain").lower()


def read_disposition(part: Payload) -> str | None:
    value = find_header(part.get("headers") or [], "content-disposition") or ""
    return value.partition(";")[0].strip().lower() or None


def find_header(headers: list[Payload], name: str) -> str | None:
    """Names keep the sender's case."""
    found = (entry.get("value") for entry in headers if str(entry.get("name")).lower() == name)
    value = next(found, None)
    return None if value is None else str(value)


def parse_time(milliseconds: object) -> datetime | None:
    digits = parse_number(milliseconds)
    return None if digits is None else datetime.fromtimestamp(int(digits) / 1000, UTC)


def parse_number(value: object) -> str | None:
    """A 64-bit number as Gmail writes it, a string of digits; a bare number is taken too."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return text if text.isascii() and text.isdigit() else None


def read_required(item: Payload, name: str) -> str:
    value = item.get(name)
    if not isinstance(value, str) or not value:
        raise ProviderUnavailable(f"Gmail left out {name}")
    return value
