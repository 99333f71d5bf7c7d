"""The file of a form (`multipart/form-data`, RFC 7578), streamed as it comes: nothing of it is held but a few chunks.

A form has one file; its other parts are small, and none of them is a setting of the upload or another file, which would
be lost. FastAPI's own forms are kept on disk until they are whole, and need a library more; a form that is only looked
through for the end of its file does not.
"""

import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from email.message import Message

MAX_FORM_BYTES = 64 * 1024  # of a form beside its file
_MAX_PARTS = 20
_MAX_HEAD = 8 * 1024
# What the address says. A field of this name would be taken for heard.
_PARAMETERS = frozenset({"profile", "filename"})
_BOUNDARY = re.compile(r"[0-9A-Za-z'()+_,\-./:=? ]{0,69}[0-9A-Za-z'()+_,\-./:=?]")


class BadForm(Exception):
    """It is no form with a file; the message says why."""


@dataclass(frozen=True, slots=True)
class FormFile:
    """`chunks` end with the form, and raise BadForm where it is cut off, or has more behind the file than it may."""

    filename: str | None
    chunks: AsyncIterator[bytes]


def find_boundary(content_type: str | None) -> bytes | None:
    """What parts a form; None where the body is none.

    Raises:
        BadForm: it is one that does not say.
    """
    header = Message()
    header["Content-Type"] = (content_type or "")[:1000].replace("\r", "").replace("\n", "")
    if header.get_content_type() != "multipart/form-data":
        return None
    boundary = header.get_param("boundary")
    if not isinstance(boundary, str) or not _BOUNDARY.fullmatch(boundary):
        raise BadForm("its boundary is missing or wrong")
    return boundary.encode()


async def read_form_file(body: AsyncIterator[bytes], boundary: bytes) -> FormFile:
    """The first part that is a file.

    Raises:
        BadForm
    """
    reader = _FormReader(body, b"\r\n--" + boundary)
    await reader.skip_preamble()
    for _ in range(_MAX_PARTS):
        head = await reader.read_head()
        if head is None:
            break
        filename = _read_filename(head)
        if filename is not None:
            return FormFile(filename or None, _stream_only_file(reader))
        await _skip_field(reader, head)
    raise BadForm("it has no file")


async def _stream_only_file(reader: "_FormReader") -> AsyncIterator[bytes]:
    """The part that begins here, if no other file follows: the caller would believe that both were taken."""
    async for chunk in reader.stream_part():
        yield chunk
    for _ in range(_MAX_PARTS):
        head = await reader.read_head()
        if head is None:
            return
        if _read_filename(head):
            raise BadForm("it has more than one: send each by a call of its own")
        await _skip_field(reader, head)
    raise BadForm("it has too many fields")


async def _skip_field(reader: "_FormReader", head: Message) -> None:
    name = head.get_param("name", header="content-disposition")
    if name in _PARAMETERS:
        raise BadForm(f"it has a field {name}: that is a parameter of the address, as in ?profile=contract_note")
    async for _chunk in reader.stream_part(MAX_FORM_BYTES):
        pass


def _read_filename(head: Message) -> str | None:
    """As text that can be stored: a name may say that it is written in any of Python's encodings, some of which decode
    nothing, or make halves of characters."""
    try:
        filename = head.get_filename()
    except UnicodeError as error:
        raise BadForm("names its file in an encoding that is none") from error
    return None if filename is None else filename.encode("utf-8", "replace").decode()


class _FormReader:
    """Reads on in one body: what was read and belongs to what follows is kept."""

    def __init__(self, body: AsyncIterator[bytes], delimiter: bytes) -> None:
        self._body = body
        self._delimiter = delimiter
        # The first delimiter has no line before it.
        self._read = b"\r\n"

    async def skip_preamble(self) -> None:
        async for _chunk in self.stream_part(MAX_FORM_BYTES):
            pass

    async def read_head(self) -> Message | None:
        """The head of the next part, from behind its delimiter; None behind the last one."""
        while b"\r\n\r\n" not in self._read:
            if self._read.startswith(b"--"):
                return None
            if len(self._read) > _MAX_HEAD or not await self._read_more():
                raise BadForm("a part of it has no head")
        written, _, self._read = self._read.partition(b"\r\n\r\n")
        if len(written) > _MAX_HEAD:
            raise BadForm("a part of it has no head")
        return _parse_head(written)

    async def stream_part(self, limit: int | None = None) -> AsyncIterator[bytes]:
        """What stands before the next delimiter, which is read with it."""
        size = 0
        while (found := self._read.find(self._delimiter)) < 0:
            # The end of what was read may be the beginning of a delimiter.
            sure = max(len(self._read) - len(self._delimiter), 0)
            chunk, self._read = self._read[:sure], self._read[sure:]
            size += len(chunk)
            if limit is not None and size > limit:
                raise BadForm("a part of it that is no file is too large")
            if chunk:
                yield chunk
            if not await self._read_more():
                raise BadForm("it ends within a part")
        last, self._read = self._read[:found], self._read[found + len(self._delimiter) :]
        if last:
            yield last

    async def _read_more(self) -> bool:
        async for chunk in self._body:
            if chunk:
                self._read += chunk
                return True
        return False


def _parse_head(written: bytes) -> Message:
    """The one line of it that says anything here: `form-data; name="file"; filename="scan.pdf"`."""
    head = Message()
    for line in written.decode("utf-8", "replace").split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-disposition" and "content-disposition" not in head:
            head["Content-Disposition"] = value.strip().replace("\n", " ").replace("\r", " ")
    return head
