"""What goes over the pipes: four bytes of length (big-endian), then that much JSON; after a request the file's bytes,
if it is given by value."""

import json
import struct
from collections.abc import Mapping, Sequence
from typing import TypeAlias

JSON: TypeAlias = Mapping[str, "JSON"] | Sequence["JSON"] | str | int | float | bool | None

LENGTH = struct.Struct(">I")


def framed(message: JSON) -> bytes:
    body = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return LENGTH.pack(len(body)) + body


def unframed(body: bytes) -> JSON:
    # A lone surrogate in a stranger's text is no reason to lose the rest of it.
    message: JSON = json.loads(body.decode("utf-8", "replace"))
    return message
