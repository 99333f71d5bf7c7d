"""TNEF, the form in which some mails have all their attachments in one `winmail.dat`.

A signature and a key, then attributes: level, id, length, bytes, checksum. An attachment begins with its rendering
data; its MAPI properties lie in an attribute of their own. Checksums are not looked at: some programs write wrong ones.
Source: [MS-OXTNEF] 2.1, [MS-OXCMSG] 2.2.2.
"""

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from mailroom_common.providers.untrusted_text import read_filename
from sync_engine.domain.content import ContainerKind
from sync_engine.readers.contained import ContainedFile, ContainerProblem, OpenedContainer, UnreadableContainer

_HEADER = struct.Struct("<IH")
_SIGNATURE = 0x223E9F78
_ATTRIBUTE = struct.Struct("<BII")
_CHECKSUM_BYTES = 2
_ATTACHMENT_LEVEL = 2

_RENDERING_DATA, _TITLE, _DATA, _PROPERTIES = 0x00069002, 0x00018010, 0x0006800F, 0x00069005

_DATA_PROPERTY, _LONG_NAME, _SHORT_NAME, _MIME_TYPE, _CONTENT_ID = 0x3701, 0x3707, 0x3704, 0x370E, 0x3712
_OBJECT, _TEXT8, _TEXT16, _BINARY = 0x0D, 0x1E, 0x1F, 0x0102
_MULTIPLE = 0x1000
_FIXED_SIZES = {2: 4, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 0x0A: 4, 0x0B: 4, 0x14: 8, 0x40: 8, 0x48: 16}  # padded to 4
_VARIABLE_TYPES = frozenset({_OBJECT, _TEXT8, _TEXT16, _BINARY})
_NAMED_PROPERTIES_START = 0x8000
_INTERFACE_ID_BYTES = 16  # before the bytes of an object
_MAX_PROPERTIES = 10_000


@dataclass(slots=True)
class _Attachment:
    title: bytes | None = None
    content: bytes | None = None
    properties: dict[int, bytes] = field(default_factory=dict)
    object_content: bytes | None = None  # of an attached mail


def open_tnef(content: bytes) -> OpenedContainer:
    if len(content) < _HEADER.size or _HEADER.unpack_from(content)[0] != _SIGNATURE:
        raise UnreadableContainer(ContainerProblem.BROKEN)
    return OpenedContainer(_iter_files(content))


def _iter_files(content: bytes) -> Iterator[ContainedFile]:
    attachment: _Attachment | None = None
    number = -1
    for attribute, value in _iter_attributes(content):
        if attribute == _RENDERING_DATA:
            if attachment:
                yield _build_file(attachment, number)
            attachment, number = _Attachment(), number + 1
        elif attachment:
            _add_attribute(attachment, attribute, value)
    if attachment:
        yield _build_file(attachment, number)
    # Whatever was found before it is given first: a mail that was cut short loses its end alone.
    if _find_end(content) != len(content):
        raise UnreadableContainer(ContainerProblem.BROKEN)


def _iter_attributes(content: bytes) -> Iterator[tuple[int, bytes]]:
    at = _HEADER.size
    while (end := _find_attribute_end(content, at)) is not None:
        level, attribute, _ = _ATTRIBUTE.unpack_from(content, at)
        if level == _ATTACHMENT_LEVEL:
            yield attribute, content[at + _ATTRIBUTE.size : end - _CHECKSUM_BYTES]
        at = end


def _find_end(content: bytes) -> int:
    at = _HEADER.size
    while (end := _find_attribute_end(content, at)) is not None:
        at = end
    # Some programs pad the file.
    return len(content) if not content[at:].strip(b"\x00\r\n") else at


def _find_attribute_end(content: bytes, at: int) -> int | None:
    if at + _ATTRIBUTE.size > len(content):
        return None
    end = at + _ATTRIBUTE.size + int(_ATTRIBUTE.unpack_from(content, at)[2]) + _CHECKSUM_BYTES
    return end if end <= len(content) else None


def _add_attribute(attachment: _Attachment, attribute: int, value: bytes) -> None:
    if attribute == _TITLE:
        attachment.title = value
    elif attribute == _DATA:
        attachment.content = value
    elif attribute == _PROPERTIES:
        try:
            _read_properties(attachment, value)
        except (struct.error, IndexError, _UnknownType) as error:
            raise UnreadableContainer(ContainerProblem.BROKEN) from error


class _UnknownType(Exception):
    """The size of what follows is not known."""


def _read_properties(attachment: _Attachment, content: bytes) -> None:
    for key, kind, value in _iter_properties(content):
        if key == _DATA_PROPERTY and kind == _OBJECT:
            attachment.object_content = value[_INTERFACE_ID_BYTES:]
        elif key == _DATA_PROPERTY:
            attachment.content = value
        elif kind in (_TEXT8, _TEXT16):
            attachment.properties[key] = _decode_text(value, kind).encode("utf-8", "replace")


def _iter_properties(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    (count,) = struct.unpack_from("<I", content)
    at = 4
    for _ in range(min(count, _MAX_PROPERTIES)):
        kind, key = struct.unpack_from("<HH", content, at)
        at += 4
        if key >= _NAMED_PROPERTIES_START:
            at = _skip_property_name(content, at)
        values = 1
        if kind & _MULTIPLE or kind in _VARIABLE_TYPES:
            (values,) = struct.unpack_from("<I", content, at)
            at += 4
        for _ in range(values):
            value, at = _read_value(content, at, kind & ~_MULTIPLE)
            yield key, kind, value


def _skip_property_name(content: bytes, at: int) -> int:
    (is_text,) = struct.unpack_from("<I", content, at + 16)
    if not is_text:
        return at + 24
    (size,) = struct.unpack_from("<I", content, at + 20)
    return int(at + 24 + size + -size % 4)


def _read_value(content: bytes, at: int, kind: int) -> tuple[bytes, int]:
    if kind in _FIXED_SIZES:
        size = _FIXED_SIZES[kind]
    elif kind in _VARIABLE_TYPES:
        (size,) = struct.unpack_from("<I", content, at)
        at += 4
    else:
        raise _UnknownType
    if at + size > len(content):
        raise IndexError
    return content[at : at + size], at + size + -size % 4


def _decode_text(value: bytes, kind: int) -> str:
    text = value.decode("utf-16-le", "replace") if kind == _TEXT16 else _decode_bytes(value)
    return text.partition("\x00")[0]


def _decode_bytes(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeError:
        return value.decode("cp1252", "replace")


def _build_file(attachment: _Attachment, number: int) -> ContainedFile:
    properties = {key: value.decode() for key, value in attachment.properties.items()}
    content = attachment.content if attachment.object_content is None else attachment.object_content
    is_nested = attachment.object_content is not None and _is_tnef(attachment.object_content)
    nested = attachment.object_content or b""
    return ContainedFile(
        position=str(number),
        filename=read_filename(_find_name(attachment, properties)),
        content_type=properties.get(_MIME_TYPE),
        content_id=properties.get(_CONTENT_ID),
        read=lambda size: (content or b"")[:size],
        nested_kind=ContainerKind.TNEF if is_nested else None,
        open_nested=(lambda: open_tnef(nested)) if is_nested else None,
    )


def _is_tnef(content: bytes) -> bool:
    return len(content) >= _HEADER.size and _HEADER.unpack_from(content)[0] == _SIGNATURE


def _find_name(attachment: _Attachment, properties: Mapping[int, str]) -> str | None:
    title = _decode_bytes(attachment.title or b"").partition("\x00")[0]
    return properties.get(_LONG_NAME) or title or properties.get(_SHORT_NAME)
