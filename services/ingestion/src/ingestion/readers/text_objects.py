"""The texts that a page of a PDF draws, as pdfium has them, and the page without some of them."""

import ctypes
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

_MAX_OBJECTS = 20_000
_MAX_DEPTH = 8


def list_text_objects(page: pypdfium2.PdfPage) -> dict[int, Any]:
    """By their addresses."""
    found: dict[int, Any] = {}
    for number in range(_count_objects(page)):
        for drawn in _list_texts(pdfium.FPDFPage_GetObject(page, number), _MAX_DEPTH):
            found[get_address(drawn)] = drawn
            if len(found) >= _MAX_OBJECTS:
                return found
    return found


def list_addresses(page: pypdfium2.PdfPage) -> set[int]:
    """Of all that the page draws itself, texts or not, without what is part of a form."""
    return {get_address(pdfium.FPDFPage_GetObject(page, number)) for number in range(_count_objects(page))}


def _count_objects(page: pypdfium2.PdfPage) -> int:
    return min(int(pdfium.FPDFPage_CountObjects(page)), _MAX_OBJECTS)


def _list_texts(drawn: Any, depth: int) -> Iterator[Any]:
    """Itself where it is text, and the texts in it."""
    kind = pdfium.FPDFPageObj_GetType(drawn)
    if kind == pdfium.FPDF_PAGEOBJ_TEXT:
        yield drawn
    elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth:
        for number in range(min(pdfium.FPDFFormObj_CountObjects(drawn), _MAX_OBJECTS)):
            yield from _list_texts(pdfium.FPDFFormObj_GetObject(drawn, number), depth - 1)


def get_address(drawn: Any) -> int:
    return ctypes.addressof(drawn.contents) if drawn else 0


@contextmanager
def without_texts(objects: Iterable[Any]) -> Iterator[None]:
    """The page without some of its texts, for as long as the block takes."""
    modes = [(drawn, pdfium.FPDFTextObj_GetTextRenderMode(drawn)) for drawn in objects]
    for drawn, _ in modes:
        pdfium.FPDFTextObj_SetTextRenderMode(drawn, pdfium.FPDF_TEXTRENDERMODE_INVISIBLE)
    try:
        yield
    finally:
        for drawn, mode in modes:
            pdfium.FPDFTextObj_SetTextRenderMode(drawn, mode)
