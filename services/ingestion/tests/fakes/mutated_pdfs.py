"""PDFs that were damaged at random: flipped bits, lost pieces, references and numbers that mean something else.

A mutant follows from its number alone, so that one that was seen once can be made again.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from random import Random

from generated_invoices import CII, CONTRACT_NOTE, text_page
from pypdf import PdfWriter
from pypdf.generic import NameObject, StreamObject

_REFERENCE = re.compile(rb"\b\d{1,5} 0 R\b")
_NUMBER = re.compile(rb"(?<=[ \[/(<])-?\d{1,10}(?:\.\d+)?(?=[ \]/>\n\r])")
_NAME = re.compile(rb"/[A-Za-z]{1,20}")
_STREAM = re.compile(rb"stream\r?\n(.*?)endstream", re.DOTALL)
_ODD_NUMBERS = (b"0", b"-1", b"2147483647", b"-2147483648", b"4294967296", b"99999999999", b"1e9", b"0.0000001")
_ODD_OPERATORS = (
    *(b"q ", b"Q ", b"BT ", b"ET ", b"EMC ", b"3 Tr ", b"7 Tr ", b"0 Tz ", b"-100 Tz ", b"/X Do ", b"W n "),
    *(b"0 0 0 0 0 0 cm ", b"1e9 0 0 1e9 0 0 cm ", b"1 0 0 1 99999 99999 Tm ", b"[(a) -99999999 (b)] TJ "),
    *(b"BI /W 9999 /H 9999 /BPC 8 /CS /G ID x EI ", b"/Span <</ActualText (INV-9)>> BDC ", b"0 -1 1 0 0 0 cm "),
)


def build_originals() -> Mapping[str, bytes]:
    """One of each kind that is read in a way of its own, each with what is packed in it, and once unpacked."""
    cover = PdfWriter(clone_from=BytesIO(text_page("Dear all\nplease see the attached invoice")))
    cover.add_attachment("invoice.pdf", CII().page())
    locked = PdfWriter(clone_from=BytesIO(CII().page()))
    locked.encrypt("", "owner", algorithm="AES-256")
    originals = {
        "e-invoice": CII().pdf(),
        "page": CII().page(),
        "note": text_page(CONTRACT_NOTE),
        "portfolio": _write(cover),
        "encrypted": _write(locked),
    }
    return originals | {f"{name}, unpacked": _unpack(original) for name, original in originals.items()}


def mutate_pdf(original: bytes, random: Random) -> bytes:
    mutant = original
    for _ in range(random.choice((1, 1, 1, 2, 3))):
        mutant = random.choice(_MUTATIONS)(mutant, random)
    return mutant


def _write(writer: PdfWriter) -> bytes:
    file = BytesIO()
    writer.write(file)
    return file.getvalue()


def _unpack(pdf: bytes) -> bytes:
    """With its streams as they are once they are read: a flipped bit would lose a whole packed one."""
    writer = PdfWriter(clone_from=BytesIO(pdf))
    for kept in writer._objects:
        stream = None if kept is None else kept.get_object()
        if isinstance(stream, StreamObject) and stream.get("/Filter") is not None and "/DecodeParms" not in stream:
            content = stream.get_data()
            del stream[NameObject("/Filter")]
            stream._data = content
    return _write(writer)


def _flip_bits(pdf: bytes, random: Random) -> bytes:
    mutant = bytearray(pdf)
    for _ in range(random.choice((1, 2, 5, 20, 100))):
        mutant[random.randrange(len(mutant))] ^= 1 << random.randrange(8)
    return bytes(mutant)


def _write_bytes(pdf: bytes, random: Random) -> bytes:
    mutant = bytearray(pdf)
    for _ in range(random.choice((1, 3, 10))):
        mutant[random.randrange(len(mutant))] = random.choice(b"\x00\xff ()<>[]/09\n")
    return bytes(mutant)


def _cut_end(pdf: bytes, random: Random) -> bytes:
    return pdf[: random.randrange(20, len(pdf))]


def _cut_piece(pdf: bytes, random: Random) -> bytes:
    start = random.randrange(len(pdf))
    return pdf[:start] + pdf[start + random.choice((1, 10, 100, 1000)) :]


def _repeat_piece(pdf: bytes, random: Random) -> bytes:
    start, place = random.randrange(len(pdf)), random.randrange(len(pdf))
    piece = pdf[start : start + random.choice((10, 100, 1000))]
    return pdf[:place] + piece * random.choice((1, 5, 200)) + pdf[place:]


def _exchange(pattern: re.Pattern[bytes], others: Sequence[bytes] = ()) -> Callable[[bytes, Random], bytes]:
    """One of what `pattern` finds becomes another of them, or one of `others`."""

    def exchange(pdf: bytes, random: Random) -> bytes:
        found = list(pattern.finditer(pdf))
        if not found:
            return _flip_bits(pdf, random)
        replaced = random.choice(found)
        other = random.choice(others or [match[0] for match in found])
        # No longer than it was, mostly: the places of all that follows stay right.
        return pdf[: replaced.start()] + other.ljust(len(replaced[0])) + pdf[replaced.end() :]

    return exchange


def _insert_operators(pdf: bytes, random: Random) -> bytes:
    drawn = [match for match in _STREAM.finditer(pdf) if b"BT" in match[1]]
    if not drawn:
        return _flip_bits(pdf, random)
    match = random.choice(drawn)
    place = random.choice([blank.start() for blank in re.finditer(rb"[\n ]", match[1])]) + match.start(1)
    return pdf[:place] + b" " + random.choice(_ODD_OPERATORS) * random.choice((1, 1, 50)) + pdf[place:]


def change_digit(pdf: bytes, random: Random) -> bytes:
    """Of what is drawn, or of an XML."""
    said = [match for match in _STREAM.finditer(pdf) if b"BT" in match[1] or b"</" in match[1]]
    digits = [digit.start() + match.start(1) for match in said for digit in re.finditer(rb"\d", match[1])]
    if not digits:
        return _flip_bits(pdf, random)
    place = random.choice(digits)
    return pdf[:place] + b"%d" % random.randrange(10) + pdf[place + 1 :]


_MUTATIONS = (
    *(change_digit, _flip_bits, _write_bytes, _cut_end, _cut_piece, _repeat_piece, _insert_operators),
    *(_exchange(_REFERENCE), _exchange(_NAME), _exchange(_NUMBER), _exchange(_NUMBER, _ODD_NUMBERS)),
)
