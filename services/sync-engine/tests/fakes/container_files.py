"""Containers of each kind, as small as they can be."""

import io
import struct
import zipfile
from collections.abc import Mapping, Sequence

PDF = b"%PDF-1.7\n" + b"a page of it" * 20
IDENTIFIER_START = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07"
SIGNED, ENVELOPED = b"\x02", b"\x03"

_Files = Mapping[str, bytes]
_CRLF = "\r\n"
_SECTOR = 512
_END, _FREE, _FAT = 0xFFFFFFFE, 0xFFFFFFFF, 0xFFFFFFFD


def make_mail(*parts: bytes, subject: str = "Facture") -> bytes:
    """`parts` are entities with their headers."""
    # No mail has the boundary of one in it.
    boundary = f"=_{sum(map(len, parts))}"
    # As long as headers are: a PDF that begins in the first kilobyte of a file makes it one.
    received = f"Received: from mx.supplier.example{f'{_CRLF} by mx.supplier.example' * 40}"
    kind = f'Content-Type: multipart/mixed; boundary="{boundary}"'
    lines = [received, "From: a@supplier.example", f"Subject: {subject}", kind]
    start = f"--{boundary}{_CRLF}".encode()
    body = b"".join(start + part + b"\r\n" for part in (b"\r\nSee below.", *parts))
    return _CRLF.join([*lines, "", ""]).encode() + body + f"--{boundary}--{_CRLF}".encode()


def make_part(content: bytes, *headers: str) -> bytes:
    """An entity of bytes as they are."""
    lines = [*headers, "Content-Transfer-Encoding: binary"]
    return _CRLF.join(lines).encode("utf-8", "surrogateescape") + b"\r\n\r\n" + content


def make_file(content: bytes, name: str, content_type: str = "application/octet-stream") -> bytes:
    return make_part(content, f"Content-Type: {content_type}", f'Content-Disposition: attachment; filename="{name}"')


def make_forward(mail: bytes) -> bytes:
    return make_part(mail, "Content-Type: message/rfc822")


def make_zip(files: _Files, *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2026, 11, 29, 0, 0, 0)), content, compress_type=compression)
    return packed.getvalue()


def lock_zip(archive: bytes) -> bytes:
    """All of its entries marked as encrypted, which none is."""
    locked = bytearray(archive)
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = archive.find(signature)
        while at >= 0:
            locked[at + offset] |= 1
            at = archive.find(signature, at + 4)
    return bytes(locked)


def make_tnef(files: _Files, nested: Mapping[str, bytes] | None = None) -> bytes:
    """`nested` are TNEF streams of attached mails."""
    found = [struct.pack("<IH", 0x223E9F78, 1), _make_attribute(1, 0x00069003, b"\x00" * 8)]
    for name, content in files.items():
        found += [
            _make_attribute(2, 0x00069002, bytes(14)),
            _make_attribute(2, 0x00018010, name.encode("cp1252", "replace")[:8] + b"\x00"),
            _make_attribute(2, 0x0006800F, content),
            _make_attribute(2, 0x00069005, _make_properties([(0x3707, 0x1F, name.encode("utf-16-le") + b"\0\0")])),
        ]
    for name, content in (nested or {}).items():
        properties = [(0x3001, 0x1F, name.encode("utf-16-le") + b"\0\0"), (0x3701, 0x0D, bytes(16) + content)]
        found += [
            _make_attribute(2, 0x00069002, bytes(14)),
            _make_attribute(2, 0x00069005, _make_properties(properties)),
        ]
    return b"".join(found)


def _make_attribute(level: int, attribute: int, value: bytes) -> bytes:
    return struct.pack("<BII", level, attribute, len(value)) + value + struct.pack("<H", sum(value) & 0xFFFF)


def _make_properties(properties: Sequence[tuple[int, int, bytes]]) -> bytes:
    found = [struct.pack("<I", len(properties) + 2)]
    # A number, and a named one that is a list of texts: what is passed over has to be measured right.
    found.append(struct.pack("<HHI", 3, 0x3705, 1))
    name = "n".encode("utf-16-le")
    named = struct.pack("<HH16sII", 0x101E, 0x8001, bytes(16), 1, len(name)) + name + b"\0\0"
    found.append(named + struct.pack("<II4sI4s", 2, 3, b"ab\0\0", 4, b"abc\0"))
    for key, kind, value in properties:
        found.append(struct.pack("<HHII", kind, key, 1, len(value)) + value + bytes(-len(value) % 4))
    return b"".join(found)


def make_cms(content: bytes | None, kind: bytes = SIGNED, *, is_open: bool = False) -> bytes:
    """`is_open`: with lengths left open and the content in pieces, as programs write that stream it."""
    wrap = _make_open if is_open else _make_value
    inner = IDENTIFIER_START + b"\x01"
    if content is not None:
        octets = _make_value(0x04, content)
        if is_open:
            pieces = [content[start : start + 50] for start in range(0, len(content), 50)]
            octets = _make_open(0x24, b"".join(_make_value(0x04, piece) for piece in pieces))
        inner += wrap(0xA0, octets)
    signed = b"\x02\x01\x01" + _make_value(0x31, b"") + wrap(0x30, inner) + _make_value(0x31, b"")
    return wrap(0x30, IDENTIFIER_START + kind + wrap(0xA0, wrap(0x30, signed)))


def _make_value(tag: int, content: bytes) -> bytes:
    if len(content) < 0x80:
        return bytes([tag, len(content)]) + content
    size = len(content).to_bytes(4, "big")
    return bytes([tag, 0x84]) + size + content


def _make_open(tag: int, content: bytes) -> bytes:
    return bytes([tag, 0x80]) + content + b"\0\0"


def make_msg(files: _Files, nested: Mapping[str, _Files] | None = None) -> bytes:
    """A mail that Outlook saved; `nested` are attached mails, by their subject."""
    return make_compound_file(_describe_msg(files, nested or {}))


def pad_stream(content: bytes) -> bytes:
    """As it is in the file: what is shorter would need a second kind of sectors."""
    return content + bytes(max(0, 4096 - len(content)))


def _describe_msg(files: _Files, nested: Mapping[str, _Files]) -> dict[str, object]:
    found: dict[str, object] = {"__properties_version1.0": b"p"}
    for name, content in files.items():
        found[f"__attach_version1.0_#{len(found) - 1:08X}"] = {
            "__properties_version1.0": b"p",
            "__substg1.0_3707001F": name.encode("utf-16-le"),
            "__substg1.0_37010102": content,
        }
    for subject, inner in nested.items():
        message = _describe_msg(inner, {}) | {"__substg1.0_0037001F": subject.encode("utf-16-le")}
        found[f"__attach_version1.0_#{len(found) - 1:08X}"] = {"__substg1.0_3701000D": message}
    return found


def make_compound_file(root: Mapping[str, object]) -> bytes:
    """A compound file of streams (bytes) in folders (mappings)."""
    entries: list[bytearray] = []
    streams: list[tuple[int, bytes]] = []
    _add_entry(entries, streams, "Root Entry", root, kind=5)
    sectors: list[bytes] = []
    chains: list[int] = []
    for number, content in streams:
        entries[number][116:120] = struct.pack("<I", len(sectors))
        _add_chain(sectors, chains, content)
    directory_start = len(sectors)
    _add_chain(sectors, chains, b"".join(map(bytes, entries)))
    fat_sectors = 1
    while fat_sectors * (_SECTOR // 4) < len(sectors) + fat_sectors:
        fat_sectors += 1
    fat_start = len(sectors)
    chains += [_FAT] * fat_sectors
    chains += [_FREE] * (fat_sectors * (_SECTOR // 4) - len(chains))
    sectors.append(struct.pack(f"<{len(chains)}I", *chains))
    header = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16)
    header += struct.pack(
        "<HHHHH6xIIIIIIIIII",
        0x3E,
        3,
        0xFFFE,
        9,
        6,
        0,
        fat_sectors,
        directory_start,
        0,
        4096,
        _END,
        0,
        _END,
        0,
        fat_start,
    )
    header = header[:76] + struct.pack(
        "<109I", *range(fat_start, fat_start + fat_sectors), *[_FREE] * (109 - fat_sectors)
    )
    return header + b"".join(sectors)


def _add_entry(
    entries: list[bytearray], streams: list[tuple[int, bytes]], name: str, content: object, *, kind: int
) -> int:
    number = len(entries)
    entry = bytearray(128)
    entries.append(entry)
    encoded = name.encode("utf-16-le")
    entry[: len(encoded)] = encoded
    struct.pack_into("<HBBIII", entry, 64, len(encoded) + 2, kind, 1, _FREE, _FREE, _FREE)
    struct.pack_into("<I", entry, 116, _END)
    if isinstance(content, bytes):
        padded = pad_stream(content)
        struct.pack_into("<Q", entry, 120, len(padded))
        streams.append((number, padded))
    elif isinstance(content, Mapping):
        before: int | None = None
        for child_name, child in content.items():
            child_kind = 2 if isinstance(child, bytes) else 1
            child_number = _add_entry(entries, streams, child_name, child, kind=child_kind)
            # A tree that leans to one side: each entry has the next one on its right.
            owner, offset = (entry, 76) if before is None else (entries[before], 72)
            struct.pack_into("<I", owner, offset, child_number)
            before = child_number
    return number


def _add_chain(sectors: list[bytes], chains: list[int], content: bytes) -> None:
    count = -(-len(content) // _SECTOR)
    first = len(sectors)
    padded = content + bytes(count * _SECTOR - len(content))
    sectors.extend(padded[start : start + _SECTOR] for start in range(0, len(padded), _SECTOR))
    chains.extend([*range(first + 1, first + count), _END])
