"""Avro for records without lists or records in them: the bytes that fastavro writes, at a third of its price (ADR 20).

fastavro stays the measure, the tests hold these bytes against its own; and it writes everything else and reads it all.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from typing import Any

# Any: values are whatever the fields of an event hold. One of a wrong type or size raises, as it does in fastavro.
_Write = Callable[[Any], bytes]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


def flat_encoder(
    schema: Mapping[str, Any], attributes: Mapping[str, str], head: bytes
) -> Callable[[Any], bytes] | None:
    """What makes `head` and the record of an object; None when the schema is not flat.

    `attributes` are the object's, by the names that the schema gives them.
    """
    writes = [_write_of(field["type"]) for field in schema["fields"]]
    known = [write for write in writes if write is not None]
    if len(known) < max(2, len(writes)):  # attrgetter of one name gives no tuple
        return None
    values_of = attrgetter(*(attributes[field["name"]] for field in schema["fields"]))

    def encode(record: Any) -> bytes:
        return b"".join([head, *[write(value) for write, value in zip(known, values_of(record), strict=True)]])

    return encode


def _write_of(kind: Any) -> _Write | None:
    if kind == ["null", "string"]:
        return _optional_text
    if isinstance(kind, list):
        return _optional(_write_of(kind[1])) if len(kind) == 2 and kind[0] == "null" else None
    if not isinstance(kind, dict):
        return _PRIMITIVES.get(kind)
    if kind["type"] == "enum":
        return {symbol: _long(index) for index, symbol in enumerate(kind["symbols"])}.__getitem__
    return _moment if (kind["type"], kind.get("logicalType")) == ("long", "timestamp-millis") else None


def _optional(write: _Write | None) -> _Write | None:
    if write is None:
        return None
    return lambda value: b"\x00" if value is None else b"\x02" + write(value)


def _long(value: int) -> bytes:
    """Zigzag, then seven bits a byte, the lowest first."""
    if not -(1 << 63) <= value < 1 << 63:
        raise OverflowError("the number has more than 64 bits")
    left = value << 1 ^ value >> 63
    written = bytearray()
    while left > 0x7F:
        written.append(left & 0x7F | 0x80)
        left >>= 7
    written.append(left)
    return bytes(written)


_LENGTHS = tuple(map(_long, range(1024)))


def _text(value: str) -> bytes:
    data = value.encode()
    size = len(data)
    return (_LENGTHS[size] if size < len(_LENGTHS) else _long(size)) + data


def _optional_text(value: str | None) -> bytes:
    """As `_optional(_text)`, without the calls: half the fields of a notification are this."""
    if value is None:
        return b"\x00"
    data = value.encode()
    size = len(data)
    return b"\x02" + (_LENGTHS[size] if size < len(_LENGTHS) else _long(size)) + data


@lru_cache(maxsize=8)  # the events of one push or transaction happened at one time
def _moment(value: datetime) -> bytes:
    return _long((value - _EPOCH) // _MILLISECOND)


def _boolean(value: bool) -> bytes:
    return b"\x01" if value else b"\x00"


_PRIMITIVES: dict[str, _Write] = {"string": _text, "long": _long, "boolean": _boolean}
