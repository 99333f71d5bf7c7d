"""A mail's source as a tree of parts: parsed leniently and never refused, as a provider has to.

The standard library has two readers, and neither is enough. The old one (`compat32`) takes a mail apart best: it finds
boundaries that are not quoted as they should be. The new one (`default`) reads names in every form that mail programs
write: RFC 2231 pieces, encoded words in parameters, raw UTF-8. What it raises on hopeless headers is caught one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email import message_from_bytes, policy
from email.header import decode_header, make_header
from email.message import Message
from email.utils import getaddresses, parsedate_to_datetime
from functools import lru_cache, partial

# Header parsing fails on hostile input in all of these ways; the raw text is then better than no mail at all.
_HEADER_ERRORS = (ValueError, LookupError, AttributeError, TypeError, AssertionError)
_LARGE_BYTES = 256 * 1024
_AS_RECEIVED = policy.default.clone(refold_source="none", linesep="\r\n")


_SHOWN_TEXTS = frozenset(
    {"text/calendar", "text/enriched", "text/html", "text/plain", "text/rfc822-headers", "text/richtext"}
    | {"text/watch-html", "text/x-amp-html"}
)


@dataclass(frozen=True, slots=True)
class MimePart:
    """`part_id` is Gmail's: empty for the root, then `0`, `0.1`. `content` is decoded, or a nested message's source."""

    part_id: str
    content_type: str
    headers: tuple[tuple[str, str], ...]
    filename: str | None
    disposition: str | None
    content_id: str | None
    charset: str | None
    content: bytes
    parts: tuple["MimePart", ...] = ()
    is_related_child: bool = False

    @property
    def is_multipart(self) -> bool:
        return self.content_type.startswith("multipart/") and bool(self.parts)

    @property
    def is_message(self) -> bool:
        return self.content_type == "message/rfc822"

    def read_header(self, name: str) -> str | None:
        wanted = name.lower()
        return next((value for key, value in self.headers if key.lower() == wanted), None)

    def text(self) -> str:
        for charset in (self.charset, "utf-8", "cp1252"):
            if charset:
                try:
                    return self.content.decode(charset).replace("\x00", "")
                except (LookupError, ValueError):
                    continue
        return self.content.decode("latin-1").replace("\x00", "")


@dataclass(frozen=True, slots=True)
class MailAddress:
    name: str
    address: str


def parse_mail(source: bytes) -> MimePart:
    """The same mail is looked at again and again; of large ones only a few are kept."""
    return _parse_small(source) if len(source) < _LARGE_BYTES else _parse_large(source)


@lru_cache(maxsize=256)
def _parse_small(source: bytes) -> MimePart:
    return _build_part(message_from_bytes(source, policy=policy.compat32), "", is_related_child=False)


@lru_cache(maxsize=3)
def _parse_large(source: bytes) -> MimePart:
    return _build_part(message_from_bytes(source, policy=policy.compat32), "", is_related_child=False)


def list_people(root: MimePart, header: str) -> list[MailAddress]:
    values = [value for name, value in root.headers if name.lower() == header]
    return [MailAddress(name or address, address) for name, address in getaddresses(values) if name or address]


def read_sent_time(root: MimePart) -> datetime | None:
    value = root.read_header("date")
    try:
        moment = parsedate_to_datetime(value) if value else None
    except (ValueError, TypeError):
        return None
    if moment is None:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)


def list_leaves(part: MimePart) -> list[MimePart]:
    """Everything that is not a mere container, in order; a nested message is one leaf."""
    if part.is_multipart:
        return [leaf for child in part.parts for leaf in list_leaves(child)]
    return [part]


def body_part(root: MimePart, content_type: str) -> MimePart | None:
    return next((leaf for leaf in list_leaves(root) if leaf.content_type == content_type and is_body(leaf)), None)


def is_body(leaf: MimePart) -> bool:
    """Text that a mail program shows rather than offers as a file, what only describes a delivery, and a container
    that is too broken to be taken apart. What has a name is offered, whatever its type."""
    if leaf.content_type == "message/external-body":
        return True  # it says where a file lies, and has no byte of it
    if leaf.filename or leaf.disposition == "attachment":
        return False
    if leaf.content_type.startswith("multipart/"):
        return not leaf.part_id or not leaf.content.strip()
    return leaf.content_type in _SHOWN_TEXTS or (leaf.content_type.startswith("message/") and not leaf.is_message)


def _build_part(message: Message, part_id: str, *, is_related_child: bool) -> MimePart:
    content_type = (_read_or_none(message.get_content_type) or "text/plain").rstrip("<>")
    nested = message.get_payload()
    children: tuple[MimePart, ...] = ()
    if isinstance(nested, list) and not _is_opaque(content_type):
        related = content_type == "multipart/related"
        children = tuple(
            _build_part(child, f"{part_id}.{index}" if part_id else str(index), is_related_child=related and index > 0)
            for index, child in enumerate(nested)
            if isinstance(child, Message)
        )
    content_id = _drop_surrogates(_read_or_none(lambda: str(message.get("content-id") or "")) or "").strip().strip("<>")
    return MimePart(
        part_id=part_id,
        content_type=content_type,
        headers=tuple(_decode_headers(message)),
        filename=_find_filename(message),
        disposition=_read_or_none(message.get_content_disposition),
        content_id=content_id or None,
        charset=_read_or_none(message.get_content_charset),
        content=_decode_content(message, content_type),
        parts=children,
        is_related_child=is_related_child,
    )


def _is_opaque(content_type: str) -> bool:
    """Python takes every message/* apart; only a nested message really has parts."""
    return content_type.startswith("message/") and content_type != "message/rfc822"


def _decode_content(message: Message, content_type: str) -> bytes:
    payload = message.get_payload()
    if isinstance(payload, list):
        if not content_type.startswith("message/"):
            return b""
        return b"\r\n".join(_write_source(child) for child in payload if isinstance(child, Message))
    decoded = message.get_payload(decode=True)
    return decoded if isinstance(decoded, bytes) else b""


def _write_source(message: Message) -> bytes:
    try:
        return message.as_bytes(policy=_AS_RECEIVED)
    except _HEADER_ERRORS:
        return message.as_bytes(policy=policy.compat32)


def _decode_headers(message: Message) -> list[tuple[str, str]]:
    return [
        (_drop_surrogates(name), _drop_surrogates(str(_read_header(name, raw)))) for name, raw in message.raw_items()
    ]


def _find_filename(message: Message) -> str | None:
    """That of the disposition counts, then that of the type."""
    for header, parameter in (("content-disposition", "filename"), ("content-type", "name")):
        raw = next((raw for name, raw in message.raw_items() if name.lower() == header), None)
        if raw is None:
            continue
        strict = getattr(_read_header(header, raw), "params", {}).get(parameter)
        name = _drop_surrogates(str(strict or "")).strip()
        # Where a name is not quoted, the strict reader stops at the first blank, and sees no encoded word at all.
        lenient = _read_or_none(partial(_read_parameter, message, header, parameter)) or ""
        if not name or lenient.startswith(f"{name} "):
            name = _drop_surrogates(_read_or_none(partial(_decode_encoded_words, lenient)) or lenient).strip()
        if name or strict is not None:
            return name or None
    return None


def _read_parameter(message: Message, header: str, parameter: str) -> str | None:
    value = message.get_param(parameter, header=header)
    return value if isinstance(value, str) else None


def _decode_encoded_words(text: str) -> str:
    return str(make_header(decode_header(text)))


def _read_header(name: str, raw: str) -> object:
    """The header as the new reader has it, or its raw text."""
    try:
        return policy.default.header_fetch_parse(name, raw)
    except _HEADER_ERRORS:
        return raw


def _read_or_none(read: Callable[[], str | None]) -> str | None:
    try:
        return read()
    except _HEADER_ERRORS:
        return None


def _drop_surrogates(text: str) -> str:
    """No lone surrogates: JSON cannot carry the bytes that no charset explained."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace").replace("\x00", "")
