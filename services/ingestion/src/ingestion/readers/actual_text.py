"""What a PDF says in place of what it draws (`ActualText`): letters for a drawing, a hyphen that joins.

A sender may write any number there. So numbers are held against those that are drawn: where they differ the page is
read as if it said nothing, since that is what an eye sees.
"""

import unicodedata
from collections.abc import Iterable
from typing import Any

import pypdfium2.raw as pdfium

_MAX_MARKS = 20  # of one text


def drop_actual_text(drawn: Iterable[Any]) -> bool:
    """Whether one of these texts had any. They keep none."""
    found = False
    for text in drawn:
        marks = [pdfium.FPDFPageObj_GetMark(text, number) for number in range(_count_marks(text))]
        for mark in marks:
            if pdfium.FPDFPageObjMark_GetParamValueType(mark, b"ActualText") != pdfium.FPDF_OBJECT_UNKNOWN:
                found |= bool(pdfium.FPDFPageObj_RemoveMark(text, mark))
    return found


def _count_marks(text: Any) -> int:
    return min(int(pdfium.FPDFPageObj_CountMarks(text)), _MAX_MARKS)


def has_same_digits(said: str, drawn: str) -> bool:
    return _list_digits(said) == _list_digits(drawn)


def _list_digits(text: str) -> list[int]:
    plain = (part for letter in text for part in unicodedata.normalize("NFKC", letter))
    return [unicodedata.digit(letter) for letter in plain if letter.isdigit()]
