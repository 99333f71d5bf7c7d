"""Whether a page says in letters what it shows: pictures of text, drawn outlines and garbled layers do not."""

import ctypes
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.domain.reasons import ReviewReason
from ingestion.readers.page_letters import Letter, PageLetters

_MAX_OBJECTS = 5000
_MAX_PICTURES = 20
_MAX_DEPTH = 4

# Of the page: a picture so large may hold all of an invoice, beside a little text or beside much.
_PICTURE_BESIDE_LITTLE_TEXT = 0.15
_PICTURE_BESIDE_TEXT = 0.5
_LITTLE_TEXT = 250  # letters
# Letters on a picture of a whole page from which on they are its text: OCR put them there.
_LETTERS_OF_A_PICTURE = 300
# Strokes from which on they may be letters: a form has lines too, but beside its text.
_OUTLINES = 60

_MAX_LOST = 0.2  # of all characters
_MIN_WORDS = 0.5  # share of letters and digits among what is drawn
_MIN_VOWELS = 0.15  # among Latin letters; Polish has 0.35
_ENOUGH_TO_JUDGE = 80  # letters
_LEADERS = frozenset("._·…-–=*")
_VOWELS = frozenset("aeiouy")


@dataclass(slots=True)
class _Objects:
    """What is drawn on a page beside its letters; boxes are those of pictures, in the page's coordinates."""

    boxes: list[tuple[float, float, float, float]]
    texts: int = 0
    strokes: int = 0


def find_unread_content(page: pypdfium2.PdfPage, letters: PageLetters) -> ReviewReason | None:
    """Why the letters are not what the page shows; None where they are, and for a blank page."""
    found = letters.all_letters
    if is_garbled("".join(letter.text for letter in found), letters.lost):
        return ReviewReason.TEXT_GARBLED
    objects = _list_objects(page)
    if objects.texts > 5 and not found and not letters.lost and not any(letters.hidden):
        return ReviewReason.TEXT_GARBLED
    is_little = len(found) < _LITTLE_TEXT
    if is_little and objects.strokes >= _OUTLINES and len(found) < _OUTLINES:
        return ReviewReason.NO_TEXT_LAYER
    share = _sum_wordless_pictures(objects.boxes, page, found)
    if share >= (_PICTURE_BESIDE_LITTLE_TEXT if is_little else _PICTURE_BESIDE_TEXT):
        return ReviewReason.NO_TEXT_LAYER
    return None


def is_garbled(text: str, lost: int) -> bool:
    """Whether these are no words: a font that does not say what its glyphs mean gives other letters, or none."""
    drawn = len(text) + lost
    if lost > _MAX_LOST * drawn:
        return True
    said = [letter for letter in text if letter not in _LEADERS]
    if len(said) < _ENOUGH_TO_JUDGE:
        return False
    if sum(letter.isalnum() for letter in said) < _MIN_WORDS * len(said):
        return True
    folded = [unicodedata.normalize("NFD", letter)[0] for letter in text.lower() if letter.isalpha()]
    latin = [letter for letter in folded if "a" <= letter <= "z"]
    return len(latin) >= _ENOUGH_TO_JUDGE and sum(letter in _VOWELS for letter in latin) < _MIN_VOWELS * len(latin)


def _list_objects(page: pypdfium2.PdfPage) -> _Objects:
    objects = _Objects([])
    for number in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
        drawn = pdfium.FPDFPage_GetObject(page, number)
        kinds = set(_list_kinds(drawn, _MAX_DEPTH))
        if pdfium.FPDF_PAGEOBJ_IMAGE in kinds and (box := _find_bounds(drawn)) is not None:
            objects.boxes.append(box)
        objects.texts += pdfium.FPDF_PAGEOBJ_TEXT in kinds
        objects.strokes += pdfium.FPDF_PAGEOBJ_PATH in kinds
    return objects


def _list_kinds(drawn: object, depth: int) -> Iterator[int]:
    """Its kind, and those of what is in it."""
    kind = pdfium.FPDFPageObj_GetType(drawn)
    yield kind
    if kind == pdfium.FPDF_PAGEOBJ_FORM and depth:
        for number in range(min(pdfium.FPDFFormObj_CountObjects(drawn), 50)):
            yield from _list_kinds(pdfium.FPDFFormObj_GetObject(drawn, number), depth - 1)


def _find_bounds(drawn: object) -> tuple[float, float, float, float] | None:
    edges = [ctypes.c_float() for _ in range(4)]
    if not pdfium.FPDFPageObj_GetBounds(drawn, *map(ctypes.byref, edges)):
        return None
    left, bottom, right, top = (edge.value for edge in edges)
    return left, bottom, right, top


def _sum_wordless_pictures(
    boxes: Sequence[tuple[float, float, float, float]], page: pypdfium2.PdfPage, letters: Sequence[Letter]
) -> float:
    """The share of the page that pictures take whose text is not in the text layer."""
    width, height = page.get_size()
    upright = page.get_rotation() == 0
    x, y, *_ = page.get_bbox()  # of what is shown: programs that cut a page leave it where it was
    shown = [(left - x, bottom - y, right - x, top - y) for left, bottom, right, top in boxes]
    largest = sorted((_measure_share(box, width, height), box) for box in shown)[-_MAX_PICTURES:]
    total = 0.0
    for share, (left, bottom, right, top) in largest:
        # Places of letters are those of the page as it is read: on a turned page all of them count.
        on_it = sum(
            not upright or (left <= letter.left <= right and bottom <= height - letter.bottom <= top)
            for letter in letters
        )
        if on_it < _LETTERS_OF_A_PICTURE * share:
            total += share
    return min(total, 1.0)


def _measure_share(box: tuple[float, float, float, float], width: float, height: float) -> float:
    """Of the page, of which a picture may stick out."""
    left, bottom, right, top = box
    longest = max(width, height)
    across = max(min(right, longest) - max(left, 0.0), 0.0)
    up = max(min(top, longest) - max(bottom, 0.0), 0.0)
    return min(across * up / max(width * height, 1.0), 1.0)
