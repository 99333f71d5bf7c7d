"""Messages between a service and its parser processes, and the errors that a service makes of the answers.

On the wire a message is four bytes of length (big-endian) and that much JSON; the bytes of a file that is given by
value follow its request. A reader that takes contents out of a file answers with several messages: `content` begins
one and says what it is, `bytes` says how many of its bytes follow, and what is neither of them is the end.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import orjson

from mailroom_common.errors import Rejected

JSON: TypeAlias = Mapping[str, "JSON"] | Sequence["JSON"] | str | int | float | bool | None

LENGTH_PREFIX = struct.Struct(">I")
MAX_CHUNK_BYTES = 256 * 1024  # of a content, between two messages

# What the fork server says of a process: that the fork failed (and its errno), or how the process ended (its exit code,
# negative for a signal).
ENDING = struct.Struct(">ci")
FORK_FAILED, ENDED = b"F", b"E"


def encode_message(message: JSON) -> bytes:
    """Raises ValueError for a number that JSON does not have."""
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # A lone surrogate in an untrusted text is no reason to lose the rest of it: it is replaced as it is decoded.
    body = text.encode("utf-8", "surrogatepass")
    return LENGTH_PREFIX.pack(len(body)) + body


def decode_message(body: bytes) -> JSON:
    """
    Raises:
        ValueError: it is no JSON, nests too deeply, or holds what `encode_message` never writes: NaN, or a lone
            surrogate in another form, which no database takes.
    """
    message: JSON = orjson.loads(body.decode("utf-8", "replace"))
    return message


class UnreadableFile(Rejected):
    """A reader's own judgement that it cannot read this file: `reason` is one of the reasons that our APIs show."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"unreadable: {reason}")
        self.reason = reason


class ParserLimitReached(Rejected):
    """The file asked for more than a file may have: `limit` is memory, cpu, time, depth or output."""

    def __init__(self, limit: str) -> None:
        super().__init__(f"the parser process reached its limit of {limit}")
        self.limit = limit


class ParserCrashed(Rejected):
    """The process died, or the reader raised an error of an unexpected kind.

    `killed` says that another process killed it (the kernel short of memory, an operator): the one kind of death that
    says nothing about the file.
    """

    def __init__(self, cause: str, *, killed: bool = False) -> None:
        super().__init__(f"the parser process crashed: {cause}")
        self.killed = killed
