"""The bytes in a JSON answer's base64url member, decoded as they arrive.

Gmail has no streamed download: an attachment of 25 MB comes as one JSON string of 33 MB. Read this way it costs the
memory of one chunk. Padding may be missing; both alphabets are taken; JSON may escape any character.
"""

import binascii
import re
from collections.abc import AsyncIterable, AsyncIterator

from mailroom_common.errors import ProviderUnavailable

_TO_STANDARD = bytes.maketrans(b"-_", b"+/")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|([^u]))", re.DOTALL)
_LONGEST_ESCAPE = 6
# Before the member come a size and perhaps an id; an object that goes on for longer is not what was asked for.
_MAX_BEFORE_BYTES = 256 * 1024


def decode(text: str | bytes) -> bytes:
    """A whole value at once: small parts and bodies come within the message."""
    decoder = Decoder()
    raw = text.encode("ascii", "replace") if isinstance(text, str) else text
    return decoder.feed(raw) + decoder.end()


async def member_bytes(chunks: AsyncIterable[bytes], name: str) -> AsyncIterator[bytes]:
    """The decoded value of the top-level string member `name`; nothing when the object ends without it.

    Raises:
        ProviderUnavailable: the answer ends within the value, or is no such object.
    """
    finder, decoder, escapes = _MemberFinder(name.encode()), Decoder(), b""
    found = False
    async for chunk in chunks:
        if not found:
            start = finder.feed(chunk)
            if start is None:
                continue
            found, chunk = True, start  # the rest of this chunk belongs to the value
        text, escapes, is_end = _string_content(escapes + chunk)
        if decoded := decoder.feed(text):
            yield decoded
        if is_end:
            if rest := decoder.end():
                yield rest
            return
    if found or not finder.is_complete:
        raise ProviderUnavailable("Gmail's answer ended within an attachment")


class Decoder:
    """base64 or base64url in pieces of any length."""

    def __init__(self) -> None:
        self._left = b""
        self._is_padded = False

    def feed(self, text: bytes) -> bytes:
        text = text.translate(_TO_STANDARD, b" \t\r\n")
        unpadded = text.rstrip(b"=")
        if (unpadded and self._is_padded) or unpadded.translate(None, _ALPHABET):
            raise ProviderUnavailable("Gmail's answer holds something other than base64url")
        self._is_padded = self._is_padded or len(unpadded) < len(text)
        ready = self._left + unpadded
        whole = len(ready) - len(ready) % 4
        self._left = ready[whole:]
        return binascii.a2b_base64(ready[:whole])

    def end(self) -> bytes:
        if len(self._left) == 1:
            raise ProviderUnavailable("Gmail's answer ends within a base64url character group")
        rest = self._left + b"=" * (-len(self._left) % 4)
        return binascii.a2b_base64(rest)


class _MemberFinder:
    """Walks a JSON object up to the value of one top-level member."""

    def __init__(self, name: bytes) -> None:
        self._name = name
        self._seen = b""

    @property
    def is_complete(self) -> bool:
        """The object came to its end, so that the member is truly not there."""
        return self._seen.rstrip().endswith(b"}")

    def feed(self, chunk: bytes) -> bytes | None:
        """What follows the opening quote of the value, once that has come."""
        self._seen += chunk
        found = self._value_start()
        if found is None and len(self._seen) > _MAX_BEFORE_BYTES:
            raise ProviderUnavailable("Gmail's answer is no attachment")
        return None if found is None else self._seen[found:]

    def _value_start(self) -> int | None:
        seen, at, depth, key = self._seen, 0, 0, None
        while at < len(seen):
            char = seen[at : at + 1]
            if char == b'"':
                end = _string_end(seen, at + 1)
                is_value = key == self._name and depth == 1
                if is_value:
                    return at + 1
                if end is None:
                    return None
                text, at = seen[at + 1 : end], end + 1
                follows = seen[at:].lstrip()
                if not follows:
                    return None
                key = text if follows.startswith(b":") else None
                continue
            depth += (char in b"{[") - (char in b"}]")
            key = None if char == b"," else key
            at += 1
        return None


def _string_end(seen: bytes, at: int) -> int | None:
    while at < len(seen):
        if seen[at] == 0x5C:
            at += 2
        elif seen[at] == 0x22:
            return at
        else:
            at += 1
    return None


def _string_content(raw: bytes) -> tuple[bytes, bytes, bool]:
    """(text, an escape cut off at the end, whether the string ended), of what follows within a JSON string."""
    if b"\\" not in raw:
        text, quote, _ = raw.partition(b'"')
        return text, b"", bool(quote)
    end = _string_end(raw, 0)
    if end is not None:
        return _unescape(raw[:end]), b"", True
    last = raw.rfind(b"\\", max(0, len(raw) - _LONGEST_ESCAPE))
    cut = len(raw)
    if last >= 0 and not _is_escaped(raw, last) and not _ESCAPE.match(raw, last):
        cut = last
    return _unescape(raw[:cut]), raw[cut:], False


def _is_escaped(raw: bytes, at: int) -> bool:
    """Whether the backslash at `at` is itself escaped: an odd number of them stands before it."""
    before = raw[:at]
    return (len(before) - len(before.rstrip(b"\\"))) % 2 == 1


def _unescape(raw: bytes) -> bytes:
    def char(match: re.Match[bytes]) -> bytes:
        if match[1]:
            return chr(int(match[1], 16)).encode(errors="replace")  # half a surrogate pair is no base64url either
        return {b"n": b"\n", b"r": b"\r", b"t": b"\t"}.get(match[2], match[2])

    return _ESCAPE.sub(char, raw)
