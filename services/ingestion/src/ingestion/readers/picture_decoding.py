"""Whether the pictures of a PDF's page can be drawn at all: of one that cannot, pdfium draws nothing, and what a
person sees elsewhere would be taken for empty paper."""

import ctypes
from collections.abc import Iterator
from typing import Any

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.readers.image import MAX_PIXELS

_MAX_PICTURES = 200  # of a page
_MAX_OBJECTS = 5000
_MAX_DEPTH = 4
# A mark, a shadow: nobody misses it.
_SMALL = 64 * 64


def draws_all_pictures(page: pypdfium2.PdfPage) -> bool:
    """False also where they are more than a page has."""
    pixels = 0
    for number, picture in enumerate(_list_pictures(page)):
        size = _count_pixels(picture)
        if size <= _SMALL:
            continue
        pixels += size
        if number >= _MAX_PICTURES or pixels > 2 * MAX_PIXELS or size > MAX_PIXELS or not _is_decoded(picture):
            return False
    return True


def _list_pictures(page: pypdfium2.PdfPage) -> Iterator[Any]:
    for number in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
        yield from _list_pictures_in(pdfium.FPDFPage_GetObject(page, number), _MAX_DEPTH)


def _list_pictures_in(drawn: Any, depth: int) -> Iterator[Any]:
    kind = pdfium.FPDFPageObj_GetType(drawn)
    if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
        yield drawn
    elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth:
        for number in range(min(pdfium.FPDFFormObj_CountObjects(drawn), _MAX_OBJECTS)):
            yield from _list_pictures_in(pdfium.FPDFFormObj_GetObject(drawn, number), depth - 1)


def _count_pixels(picture: Any) -> int:
    width, height = ctypes.c_uint(), ctypes.c_uint()
    pdfium.FPDFImageObj_GetImagePixelSize(picture, ctypes.byref(width), ctypes.byref(height))
    return width.value * height.value


def _is_decoded(picture: Any) -> bool:
    bitmap = pdfium.FPDFImageObj_GetBitmap(picture)
    if not bitmap:
        return False
    pdfium.FPDFBitmap_Destroy(bitmap)
    return True
