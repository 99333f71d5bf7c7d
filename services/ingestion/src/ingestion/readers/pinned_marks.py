"""What is pinned to a page and says something of it: stamps by their names, comments that each program draws by itself,
and those with a number, which may stand in place of what the page says."""

import ctypes
import re

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.domain.page_marks import MAX_MARK_LETTERS, PageMarks, Stamp

_MAX_ANNOTATIONS = 200
_MAX_BYTES = 1000  # of a text, in UTF-16
_MAX_COMMENTS = 5  # with numbers, of a page: an invoice that was filled in by a viewer has more
_WORD = re.compile(r"[A-Z]?[a-z]+")


def read_pinned_marks(page: pypdfium2.PdfPage) -> PageMarks:
    """Before they are drawn on the page: then all of them look alike."""
    stamps: list[Stamp] = []
    comments: list[str] = []
    for number in range(min(pdfium.FPDFPage_GetAnnotCount(page), _MAX_ANNOTATIONS)):
        annotation = pdfium.FPDFPage_GetAnnot(page, number)
        if not annotation:
            continue
        kind = pdfium.FPDFAnnot_GetSubtype(annotation)
        contents = _read_text(annotation, b"Contents")
        if kind == pdfium.FPDF_ANNOT_STAMP:
            # What was written to a stamp may be somebody's remark; the name is what it shows.
            stamps += [
                Stamp(contents, is_large=False),
                Stamp(_split_name(_read_text(annotation, b"Name")), is_large=True),
            ]
        elif kind == pdfium.FPDF_ANNOT_TEXT:
            stamps.append(Stamp(contents, is_large=False))
        elif kind == pdfium.FPDF_ANNOT_FREETEXT and not pdfium.FPDFAnnot_HasKey(annotation, b"AP"):
            stamps.append(Stamp(contents, is_large=True))
        elif kind == pdfium.FPDF_ANNOT_FREETEXT and any(map(str.isdigit, contents)):
            comments.append(contents)
        pdfium.FPDFPage_CloseAnnot(annotation)
    said = tuple(stamp for stamp in stamps if any(map(str.isalpha, stamp.text)))
    return PageMarks(stamps=said, comments=tuple(comments) if len(comments) <= _MAX_COMMENTS else ())


def _split_name(name: str) -> str:
    """`NotApproved` as `Not Approved`, `SBVoid` as `Void`; nothing of one that a program made up: `#cGWBzk2`."""
    return " ".join(_WORD.findall(name)) if name.isalpha() else ""


def _read_text(annotation: pdfium.FPDF_ANNOTATION, key: bytes) -> str:
    written = ctypes.create_string_buffer(_MAX_BYTES)
    place = ctypes.cast(written, ctypes.POINTER(ctypes.c_ushort))
    length = pdfium.FPDFAnnot_GetStringValue(annotation, key, place, _MAX_BYTES)
    if not 2 <= length <= _MAX_BYTES:
        return ""  # none, or a letter: no stamp
    text = written.raw[: length - 2].decode("utf-16-le", errors="replace")
    return " ".join(text.split())[:MAX_MARK_LETTERS]
