"""Mails that a mail program saved as `.msg`: compound files with a folder for each attachment.

Source: [MS-OXMSG] 2.1 and 2.2; the numbers are those of its properties, in hexadecimal, and of their types.
"""

import io
import re
import struct
from collections.abc import Callable, Iterator
from typing import TypeVar

import olefile

from mailroom_common.providers.untrusted_text import read_filename
from sync_engine.domain.content import ContainerKind
from sync_engine.domain.parts import SkipReason
from sync_engine.readers.contained import (
    ContainedFile,
    ContainerProblem,
    NoContainer,
    OpenedContainer,
    UnreadableContainer,
)

_PROPERTIES = "__properties_version1.0"
_ATTACHMENT = "__attach_version1.0_#"
_NUMBER = re.compile(r"[0-9A-Fa-f]{8}", re.ASCII)
_VALUE = "__substg1.0_"
_CONTENT, _NESTED_MESSAGE = "37010102", "3701000D"
_LONG_NAME, _SHORT_NAME, _MIME_TYPE, _CONTENT_ID, _SUBJECT = "3707", "3704", "370E", "3712", "0037"
_TEXT16, _TEXT8 = "001F", "001E"
_MAX_TEXT_BYTES = 4000
_ERRORS = (OSError, ValueError, IndexError, KeyError, TypeError, AttributeError, struct.error)

T = TypeVar("T")


def open_msg(content: bytes) -> OpenedContainer:
    """Raises NoContainer: another compound file, as those of old office programs."""
    file = _try_read(lambda: olefile.OleFileIO(io.BytesIO(content)))
    if not file.exists(_PROPERTIES):
        raise NoContainer(SkipReason.NOT_A_DOCUMENT)
    return OpenedContainer(_iter_files(file, ()))


def _iter_files(file: olefile.OleFileIO, folder: tuple[str, ...]) -> Iterator[ContainedFile]:
    # The name of a folder has the attachment's number: it does not depend on the order of the listing.
    for path in sorted(_list_attachments(file, folder)):
        yield _build_file(file, path)


def _list_attachments(file: olefile.OleFileIO, folder: tuple[str, ...]) -> list[tuple[str, ...]]:
    found = _try_read(lambda: file.listdir(streams=False, storages=True))
    return [
        tuple(path)
        for path in found
        if len(path) == len(folder) + 1 and tuple(path[:-1]) == folder and path[-1].startswith(_ATTACHMENT)
    ]


def _build_file(file: olefile.OleFileIO, path: tuple[str, ...]) -> ContainedFile:
    nested = (*path, f"{_VALUE}{_NESTED_MESSAGE}")
    is_message = bool(file.exists([*nested, _PROPERTIES]))
    name = _read_text(file, path, _LONG_NAME) or _read_text(file, path, _SHORT_NAME)
    return ContainedFile(
        position=str(_read_number(path[-1])),
        filename=read_filename(_read_text(file, nested, _SUBJECT) or name if is_message else name),
        content_type=_read_text(file, path, _MIME_TYPE),
        content_id=_read_text(file, path, _CONTENT_ID),
        read=lambda size: _read_stream(file, (*path, f"{_VALUE}{_CONTENT}"), size),
        nested_kind=ContainerKind.MSG if is_message else None,
        open_nested=(lambda: OpenedContainer(_iter_files(file, nested))) if is_message else None,
    )


def _read_number(folder_name: str) -> int:
    number = folder_name.removeprefix(_ATTACHMENT)
    # In one form only: two attachments of one number would be one part.
    if not _NUMBER.fullmatch(number):
        raise UnreadableContainer(ContainerProblem.BROKEN)
    return int(number, 16)


def _read_text(file: olefile.OleFileIO, path: tuple[str, ...], number: str) -> str | None:
    for kind, codec in ((_TEXT16, "utf-16-le"), (_TEXT8, "cp1252")):
        stream = (*path, f"{_VALUE}{number}{kind}")
        if file.exists(list(stream)):
            return _read_stream(file, stream, _MAX_TEXT_BYTES).decode(codec, "replace").partition("\x00")[0] or None
    return None


def _read_stream(file: olefile.OleFileIO, path: tuple[str, ...], size: int) -> bytes:
    if not file.exists(list(path)):
        return b""

    def read_first_bytes() -> bytes:
        with file.openstream(list(path)) as stream:
            return bytes(stream.read(size))

    return _try_read(read_first_bytes)


def _try_read(read: Callable[[], T]) -> T:
    try:
        return read()
    except _ERRORS as error:
        raise UnreadableContainer(ContainerProblem.BROKEN) from error
