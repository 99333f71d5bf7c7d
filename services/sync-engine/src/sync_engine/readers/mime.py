"""Mails, by the standard library's parser: the tree of parts, and names of files in every form that mails have them in.

The library's old policy (`compat32`) takes a mail apart best: it finds boundaries that are not quoted as they should.
Names are decoded here: it gives them with RFC 2231 pieces joined, and leaves encoded words and raw bytes to its caller.
"""

import base64
import binascii
import quopri
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from email import message_from_bytes, policy
from email.errors import MessageError
from email.message import Message
from typing import Any, TypeVar

from mailroom_common.providers.charsets import find_codec
from mailroom_common.providers.headers import MAX_RAW_CHARACTERS, decode_words
from mailroom_common.providers.untrusted_text import MAX_HTML_CHARACTERS, clean_text, read_filename
from sync_engine.domain.content import ContainerKind
from sync_engine.readers.contained import ContainedFile, ContainerProblem, OpenedContainer, UnreadableContainer

_MESSAGE_TYPES = frozenset({"message/rfc822", "message/global"})
# Texts that mail programs show where they have no name: alternatives of the body, and what a report is about.
_SHOWN_TEXTS = frozenset(
    {"text/calendar", "text/enriched", "text/html", "text/plain", "text/rfc822-headers", "text/richtext"}
    | {"text/watch-html", "text/x-amp-html"}
)
_ELSEWHERE = "message/external-body"  # says where a file lies, and has no byte of it
_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]+/[a-z0-9!#$&^_.+-]+")
# What the library raises over hopeless headers.
_HEADER_ERRORS = (MessageError, ValueError, LookupError, AttributeError, TypeError, AssertionError)
_HEADER_START = re.compile(rb"\s*(?:From |[A-Za-z][A-Za-z0-9-]*[ \t]*:)")
_ONLY_ROOT = "0"  # the position of a mail that is one part

T = TypeVar("T")


def open_message(content: bytes) -> OpenedContainer:
    # Blank lines and a byte-order mark before the headers would make all of them its text.
    return _open_parsed(message_from_bytes(content.lstrip(b"\xef\xbb\xbf\r\n"), policy=policy.compat32))


def is_mime_entity(content: bytes) -> bool:
    """Whether it begins as headers do."""
    return _HEADER_START.match(content) is not None


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A part that holds no others. `is_related`: shown by a sibling, as the children of multipart/related after the
    first."""

    message: Message
    position: str
    content_type: str
    filename: str | None
    disposition: str | None
    is_related: bool

    @property
    def is_message(self) -> bool:
        return self.content_type in _MESSAGE_TYPES

    @property
    def is_body(self) -> bool:
        """What is shown and not offered as a file: a text without a name, what only describes a delivery, and a
        container that is too broken to be taken apart."""
        if self.content_type == _ELSEWHERE:
            return True
        if self.filename or self.disposition == "attachment":
            return False
        if self.content_type.startswith("multipart/"):
            return not self.position or not _decode_content(self.message).strip()
        return self.content_type in _SHOWN_TEXTS or (self.content_type.startswith("message/") and not self.is_message)


def _open_parsed(root: Message) -> OpenedContainer:
    leaves = list(_iter_leaves(root))
    files = (_build_file(leaf) for leaf in leaves if not leaf.is_body)
    html = "\n".join(_read_text(leaf) for leaf in leaves if leaf.is_body and leaf.content_type == "text/html")
    return OpenedContainer(files, html[:MAX_HTML_CHARACTERS])


def _iter_leaves(root: Message) -> Iterator[_Leaf]:
    ahead = [(root, "", False)]
    while ahead:
        message, position, is_related = ahead.pop()
        content_type = _read_content_type(message)
        children = message.get_payload()
        if not (isinstance(children, list) and content_type.startswith("multipart/")):
            filename, disposition = _find_filename(message), _try_read(message.get_content_disposition)
            yield _Leaf(message, position, content_type, filename, disposition, is_related)
            continue
        prefix = f"{position}." if position else ""
        related = content_type == "multipart/related"
        ahead += [
            (child, f"{prefix}{index}", related and index > 0)
            for index, child in reversed(list(enumerate(children)))
            if isinstance(child, Message)
        ]


def _read_content_type(message: Message) -> str:
    """Without what some programs leave behind it (`text/plain>`)."""
    found = _TYPE.match(_try_read(message.get_content_type) or "")
    return found[0] if found else "text/plain"


def _build_file(leaf: _Leaf) -> ContainedFile:
    content_id = clean_text((_read_raw_header(leaf.message, "content-id") or "").strip().strip("<>")) or None
    nested = _find_nested_message(leaf)
    return ContainedFile(
        position=leaf.position or _ONLY_ROOT,
        # Exchange calls an attached mail by its subject: it has a name here too.
        filename=leaf.filename or (_read_subject(nested) if nested else None),
        content_type=leaf.content_type,
        read=lambda size: _decode_content(leaf.message)[:size],
        is_message=leaf.is_message,
        is_inline=leaf.disposition == "inline"
        or (leaf.is_related and content_id is not None and leaf.disposition is None),
        content_id=content_id,
        disposition=leaf.disposition,
        nested_kind=ContainerKind.MESSAGE if nested else None,
        open_nested=(lambda: _open_parsed(nested)) if nested else None,
    )


def _find_nested_message(leaf: _Leaf) -> Message | None:
    payload = leaf.message.get_payload()
    if not leaf.is_message or not isinstance(payload, list) or len(payload) != 1 or not isinstance(payload[0], Message):
        return None
    # No standard allows it, and mails have it: then what was parsed is the encoded form, and `read` has the mail.
    return None if _read_encoding(leaf.message) in ("base64", "quoted-printable") else payload[0]


def _decode_content(message: Message) -> bytes:
    payload = message.get_payload()
    if isinstance(payload, list):
        source = b"\r\n".join(_write_source(child) for child in payload if isinstance(child, Message))
        return _decode_transfer(source, _read_encoding(message))
    decoded = message.get_payload(decode=True)
    return decoded if isinstance(decoded, bytes) else b""


def _decode_transfer(source: bytes, encoding: str) -> bytes:
    if encoding == "quoted-printable":
        return quopri.decodestring(source)
    if encoding != "base64":
        return source
    try:
        return base64.b64decode(source)
    except binascii.Error:
        return source


def _write_source(message: Message) -> bytes:
    try:
        return message.as_bytes(policy=policy.compat32)
    except _HEADER_ERRORS as error:
        raise UnreadableContainer(ContainerProblem.BROKEN) from error


def _read_encoding(message: Message) -> str:
    return (_read_raw_header(message, "content-transfer-encoding") or "").strip().lower()


def _read_text(leaf: _Leaf) -> str:
    content = _decode_content(leaf.message)[:MAX_HTML_CHARACTERS]
    codec = find_codec(_read_parameter(leaf.message, "content-type", "charset") or "") or "utf-8"
    try:
        return content.decode(codec)
    except UnicodeError:
        return content.decode("latin-1")


def _read_subject(message: Message) -> str | None:
    return read_filename(decode_words((_read_raw_header(message, "subject") or "").strip()))


def _find_filename(message: Message) -> str | None:
    """That of the disposition counts, then that of the type."""
    for header, parameter in (("content-disposition", "filename"), ("content-type", "name")):
        if name := (_read_parameter(message, header, parameter) or "").strip():
            return read_filename(name)
    return None


def _read_parameter(message: Message, header: str, name: str) -> str | None:
    value = _read_raw_header(message, header)
    if value is None:
        return None
    reader = Message()
    reader[header] = value
    # Any: typed as texts, and those in pieces are tuples.
    parameters: list[tuple[str, Any]] = _try_read(lambda: reader.get_params(failobj=[], header=header)) or []
    values = [value for key, value in parameters if key.strip().lower() == name]
    # Of `filename` and `filename*` the second counts: the first is for programs that do not know it.
    found = next((value for value in values if isinstance(value, tuple)), values[0] if values else None)
    return None if found is None else decode_words(_decode_pieces(found) if isinstance(found, tuple) else found)


def _decode_pieces(parameter: tuple[str | None, str | None, str]) -> str:
    charset, _, value = parameter
    try:
        # The library has undone the percent signs, each byte now a character.
        return value.encode("latin-1").decode(find_codec(charset or "") or "utf-8", "replace")
    except UnicodeError:
        return value


def _read_raw_header(message: Message, name: str) -> str | None:
    """The first of that name on one line, raw bytes in it decoded."""
    raw = next((value for key, value in message.raw_items() if key.lower() == name), None)
    if raw is None:
        return None
    content = str(raw)[:MAX_RAW_CHARACTERS].replace("\r", "").replace("\n", "").encode("utf-8", "surrogateescape")
    for codec in ("utf-8", "cp1252"):
        try:
            return content.decode(codec)
        except UnicodeError:
            continue
    return content.decode("latin-1")


def _try_read(read: Callable[[], T]) -> T | None:
    try:
        return read()
    except _HEADER_ERRORS:
        return None
