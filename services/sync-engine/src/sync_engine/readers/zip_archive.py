"""Zip archives: what a bomb would unpack to is bounded before it is read; an entry is read as far as it is needed."""

import io
import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import TypeVar

from mailroom_common.providers.untrusted_text import read_filename
from sync_engine.domain.mail_allowance import FREE_BYTES, MAX_RATIO
from sync_engine.readers.contained import ContainedFile, ContainerProblem, OpenedContainer, UnreadableContainer

MAX_ENTRIES = 500
_HEAD_BYTES = 64 * 1024  # that much may be read of any entry
_ENCRYPTED = 0x1
_UTF8_NAME = 0x800
_MAC_FILE = re.compile(r"__MACOSX/(?:.*/)?\._[^/]*", re.DOTALL)  # what macOS adds beside each file

# zipfile passes on what the libraries beneath it raise, and NotImplementedError for methods that it does not know.
_ERRORS = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError, RuntimeError),
    *(IndexError, OverflowError, UnicodeError, struct.error, lzma.LZMAError),
)

T = TypeVar("T")


def open_zip(content: bytes) -> OpenedContainer:
    archive = _try_read(lambda: zipfile.ZipFile(io.BytesIO(content)))
    if len(archive.infolist()) > MAX_ENTRIES:
        raise UnreadableContainer(ContainerProblem.LIMIT)
    return OpenedContainer(_iter_files(archive))


def _iter_files(archive: zipfile.ZipFile) -> Iterator[ContainedFile]:
    for number, entry in enumerate(archive.infolist()):
        # A folder has no bytes; one that has some is a file to other programs.
        if (entry.file_size or not entry.is_dir()) and not _MAC_FILE.fullmatch(entry.filename):
            yield _build_file(archive, entry, number)


def _build_file(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, number: int) -> ContainedFile:
    return ContainedFile(
        position=str(number),
        filename=read_filename(_read_name(entry)),
        read=lambda size: _read_entry(archive, entry, size),
    )


def _read_entry(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, size: int) -> bytes:
    if entry.flag_bits & _ENCRYPTED:
        raise UnreadableContainer(ContainerProblem.ENCRYPTED)
    # Before a byte of it is unpacked; smaller ones are counted together, with all that the mail holds.
    is_bomb = entry.file_size > FREE_BYTES and entry.file_size > MAX_RATIO * max(entry.compress_size, 1)
    if is_bomb and size > _HEAD_BYTES:
        raise UnreadableContainer(ContainerProblem.LIMIT)

    def read_first_bytes() -> bytes:
        with archive.open(entry) as file:
            return file.read(size)

    return _try_read(read_first_bytes)


def _read_name(entry: zipfile.ZipInfo) -> str:
    """Names are in the character set of DOS where no flag says UTF-8; many programs write UTF-8 without the flag."""
    if entry.flag_bits & _UTF8_NAME:
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode("utf-8")
    except UnicodeError:
        return entry.filename


def _try_read(read: Callable[[], T]) -> T:
    try:
        return read()
    except _ERRORS as error:
        raise UnreadableContainer(ContainerProblem.BROKEN) from error
