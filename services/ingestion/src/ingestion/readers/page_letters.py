"""The letters of a PDF's page with their places, upright as an eye sees them, whichever way the page was drawn."""

import ctypes
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pypdfium2
import pypdfium2.raw as pdfium

from ingestion.domain.page_marks import Stamp
from ingestion.readers.actual_text import drop_actual_text, has_same_digits
from ingestion.readers.doubted_words import find_doubted_words
from ingestion.readers.letter_layers import PlacedLetter
from ingestion.readers.letter_room import Box
from ingestion.readers.page_visibility import find_visible
from ingestion.readers.slanted_text import SlantedLetter, find_stamps
from ingestion.readers.struck_letters import find_struck
from ingestion.readers.text_objects import get_address, list_text_objects

MAX_CHARACTERS = 40_000

_LEVEL = 0.1  # sine of the angle up to which a letter counts as level
_NONE = 0.01  # points
_ASCENT, _DESCENT = 0.94, 0.22  # of the size of a usual font
# A direction of writing beside that of the page is read too, if it has a page's worth of letters: a stamp has not.
_MANY_LETTERS = 100
# Hyphens that are not broken at, and soft ones that are drawn all the same, as programs for the Web have them.
_HYPHENS = {"\u00ad": "-", "\u2010": "-", "\u2011": "-"}


@dataclass(frozen=True, slots=True)
class Letter:
    """`top` and `bottom` count points downwards from the top of the page.

    `continues_glyph`: one glyph is drawn for this letter and the one before it (the second `f` of a ligature).
    `follows_blank`: the text has a blank in front of it, however narrow it looks.
    `is_doubtful`: it may be one that nobody sees, and stands in a word that is seen, which would be another one without
    it.
    """

    left: float
    right: float
    top: float
    bottom: float
    text: str
    continues_glyph: bool = False
    follows_blank: bool = False
    is_doubtful: bool = False

    @property
    def height(self) -> float:
        return self.bottom - self.top


@dataclass(frozen=True, slots=True)
class PageLetters:
    """`groups` have the letters of one direction of writing each, the page's own first; `hidden` likewise those that
    nobody sees on it. `struck_out` are words through which a line goes, and `stamps` those that run across the page;
    their letters are in no group. `is_crossed_out` is whether a line goes across all of it.

    `lost` counts characters that the page draws and its text layer does not name; `is_cut` says that there are more
    than `MAX_CHARACTERS`.
    """

    groups: tuple[tuple[Letter, ...], ...]
    lost: int
    is_cut: bool
    hidden: tuple[tuple[Letter, ...], ...] = ()
    struck_out: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()
    is_crossed_out: bool = False

    @property
    def all_letters(self) -> tuple[Letter, ...]:
        return tuple(letter for group in self.groups for letter in group)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """A letter in the page's own coordinates, upwards, and the quarter turn (counterclockwise) it is written in, None
    where it runs across. `source` is the address of the text object that draws it, `ink` the box of what that draws.
    `angle` is that of what runs across."""

    quarter: int | None
    box: Box
    text: str
    source: int
    ink: Box
    continues_glyph: bool = False
    follows_blank: bool = False
    size: float = 0.0
    angle: float = 0.0
    is_doubtful: bool = False


def find_quarter_turns(page: pypdfium2.PdfPage) -> int:
    """By how many quarters, clockwise, the page as it is shown has to be turned so that it stands as its first group of
    letters does."""
    found, _ = _read_drawn(page)
    upright = int(page.get_rotation()) // 90
    drawn = [letter for letter in found if isinstance(letter, _Drawn)]
    return (_choose_quarters(drawn, upright)[0] - upright) % 4


def _read_drawn(page: pypdfium2.PdfPage) -> tuple[list[_Drawn | str | None], int]:
    """The letters, and how many the page has."""
    said = _read_text(page)
    if not drop_actual_text(list_text_objects(page).values()):
        return said
    drawn = _read_text(page)
    return said if has_same_digits(_join_letters(said[0]), _join_letters(drawn[0])) else drawn


def _join_letters(found: Sequence[_Drawn | str | None]) -> str:
    return "".join(letter.text for letter in found if isinstance(letter, _Drawn))


def _read_text(page: pypdfium2.PdfPage) -> tuple[list[_Drawn | str | None], int]:
    text = page.get_textpage()
    try:
        count = text.count_chars()
        reader = _LetterReader(text)
        return [reader.read_letter(index) for index in range(min(count, MAX_CHARACTERS))], count
    finally:
        text.close()


def read_letters(page: pypdfium2.PdfPage) -> PageLetters:
    found, count = _read_drawn(page)
    drawn = [letter for letter in _close_gaps(found) if isinstance(letter, _Drawn)]
    lost = sum(letter is _LOST for letter in found)
    placed = [PlacedLetter(letter.text, letter.ink, letter.source) for letter in drawn]
    visibility = find_visible(page, placed)
    is_seen = visibility.is_seen
    doubtful = find_doubted_words(placed, visibility)
    seen = [letter for letter, visible in zip(drawn, is_seen, strict=True) if visible]
    hidden = [
        letter
        for index, (letter, visible) in enumerate(zip(drawn, is_seen, strict=True))
        if not (visible or index in doubtful)
    ]
    struck = find_struck(
        page,
        [letter for letter, visible in zip(placed, is_seen, strict=True) if visible],
        [letter.quarter for letter in seen],
    )
    words = tuple("".join(seen[index].text for index in word) for word in struck.words)
    left_out = {index for word in struck.words for index in word}
    left = [letter for index, letter in enumerate(seen) if index not in left_out]
    left += [replace(drawn[index], is_doubtful=True) for index in doubtful]
    return PageLetters(
        _group_letters(left, page),
        lost,
        count > MAX_CHARACTERS,
        _group_letters(hidden, page),
        struck_out=words,
        is_crossed_out=struck.is_page,
        stamps=_find_stamps(drawn, is_seen, page),
    )


def _find_stamps(drawn: Sequence[_Drawn], is_seen: Sequence[bool], page: pypdfium2.PdfPage) -> tuple[Stamp, ...]:
    """What a person sees who looks at the whole page, and not for each letter: pale ones are as large."""
    quarters = _choose_quarters(drawn, page.get_rotation() // 90)
    across = [
        SlantedLetter(
            letter.text,
            (letter.ink[0] + letter.ink[2]) / 2,
            (letter.ink[1] + letter.ink[3]) / 2,
            letter.size,
            letter.angle if letter.quarter is None else letter.quarter * 90.0,
            letter.follows_blank,
            visible,
        )
        for letter, visible in zip(drawn, is_seen, strict=True)
        if letter.quarter not in quarters
    ]
    return find_stamps(across, [letter.size for letter in drawn if letter.quarter in quarters]) if across else ()


def _group_letters(drawn: Sequence[_Drawn], page: pypdfium2.PdfPage) -> tuple[tuple[Letter, ...], ...]:
    """A stamp across the page is none of its lines."""
    shown = _measure_page(page)
    return tuple(
        tuple(_turn_upright(letter, shown) for letter in drawn if letter.quarter == quarter)
        for quarter in _choose_quarters(drawn, page.get_rotation() // 90)
    )


_LOST = "lost"


class _LetterReader:
    """The letters of one page. pdfium writes its answers into the same memory for each: a page has thousands."""

    def __init__(self, text: pypdfium2.PdfTextPage) -> None:
        self._text = text.raw
        self._matrix = pdfium.FS_MATRIX()
        self._loose = pdfium.FS_RECTF()
        self._edges = tuple(ctypes.c_double() for _ in range(4))  # left, right, bottom and top
        self._origin = tuple(ctypes.c_double() for _ in range(2))
        self._matrix_out, self._loose_out = ctypes.byref(self._matrix), ctypes.byref(self._loose)
        self._edges_out = tuple(map(ctypes.byref, self._edges))
        self._origin_out = tuple(map(ctypes.byref, self._origin))
        self._before: _Drawn | None = None
        self._blank: tuple[float, float] | None = None  # where one begins, behind the letter before

    def read_letter(self, index: int) -> _Drawn | str | None:
        """None for what is no letter: blanks come back as gaps."""
        code = pdfium.FPDFText_GetUnicode(self._text, index)
        character = _HYPHENS.get(chr(code), chr(code))
        if character.isspace() or pdfium.FPDFText_IsHyphen(self._text, index) == 1:
            # A hyphen that pdfium adds at a line's end is none of the writer's, and so are blanks that it adds.
            if pdfium.FPDFText_IsGenerated(self._text, index) == 0:
                self._blank = self._find_origin(index)
            return None
        if not character.isprintable():
            return _LOST
        matrix = self._matrix
        matrix.a = matrix.b = matrix.c = matrix.d = 0.0  # where pdfium has none it writes none
        pdfium.FPDFText_GetMatrix(self._text, index, self._matrix_out)
        quarter = _find_quarter(matrix.a, matrix.b)
        size = pdfium.FPDFText_GetFontSize(self._text, index) * math.hypot(matrix.c, matrix.d)
        ink = self._find_ink(index)
        box = ink if quarter is None else self._find_box(index, quarter, size, ink)
        source = get_address(pdfium.FPDFText_GetTextObject(self._text, index))
        if ink[0] >= ink[2] or ink[1] >= ink[3]:
            ink = box
        # pdfium gives all letters of one glyph its box, and leaves out what one text draws twice at one place.
        before = self._before
        continues_glyph = before is not None and before.ink == ink and before.source == source != 0
        follows_blank = self._blank is not None and _begins_behind(self._blank, box, quarter, size)
        self._blank = None
        angle = 0.0 if quarter is not None else math.degrees(math.atan2(matrix.b, matrix.a))
        self._before = _Drawn(quarter, box, character, source, ink, continues_glyph, follows_blank, size, angle)
        return self._before

    def _find_origin(self, index: int) -> tuple[float, float] | None:
        if not pdfium.FPDFText_GetCharOrigin(self._text, index, *self._origin_out):
            return None
        x, y = self._origin
        return x.value, y.value

    def _find_ink(self, index: int) -> Box:
        left, right, bottom, top = self._edges
        left.value = right.value = bottom.value = top.value = 0.0
        pdfium.FPDFText_GetCharBox(self._text, index, *self._edges_out)
        return left.value, bottom.value, right.value, top.value

    def _find_box(self, index: int, quarter: int, size: float, ink: Box) -> Box:
        left, bottom, right, top = ink
        if quarter == 0:
            # The loose box is as wide as the letter advances and as high as its font: a comma stands in its line, and
            # narrow letters have no gaps beside them. pdfium has none of letters that are turned, and none of text that
            # stands for what is drawn (ActualText): there it gives the ink's own box.
            loose = self._loose
            loose.left = loose.top = loose.right = loose.bottom = 0.0
            pdfium.FPDFText_GetLooseCharBox(self._text, index, self._loose_out)
            if abs(loose.top - top) > _NONE or abs(loose.bottom - bottom) > _NONE:
                return loose.left, loose.bottom, loose.right, loose.top
        origin = self._find_origin(index) if size else None
        if origin is None:
            return left, bottom, right, top
        x, y = origin
        above, below = _ASCENT * size, _DESCENT * size
        match quarter:
            case 0:
                return left, y - below, right, y + above
            case 1:
                return x - above, min(y, bottom), x + below, top
            case 2:
                return left, y - above, max(x, right), y + below
            case _:
                return x - below, bottom, x + above, max(y, top)


def _begins_behind(blank: tuple[float, float], box: Box, quarter: int | None, size: float) -> bool:
    """Whether a letter stands right behind a blank, and not somewhere else on the page."""
    (x, y), (left, bottom, right, top) = blank, box
    match quarter:
        case 0:
            return 0 < left - x <= size and bottom <= y <= top
        case 1:
            return 0 < bottom - y <= size and left <= x <= right
        case 2:
            return 0 < x - right <= size and bottom <= y <= top
        case 3:
            return 0 < y - top <= size and left <= x <= right
        case _:
            return math.hypot((left + right) / 2 - x, (bottom + top) / 2 - y) <= 1.5 * size


def _find_quarter(right: float, up: float) -> int | None:
    """The quarter turn of a direction of writing, None for what runs across."""
    size = (right * right + up * up) ** 0.5
    if not size:
        return 0
    if abs(up) / size <= _LEVEL:
        return 0 if right > 0 else 2
    if abs(right) / size <= _LEVEL:
        return 1 if up > 0 else 3
    return None


def _close_gaps(found: Sequence[_Drawn | str | None]) -> Iterator[_Drawn | str | None]:
    """Letters that are turned have no advance: where nothing parts two of them, the first reaches to the second."""
    for letter, after in zip(found, [*found, None][1:], strict=True):
        if (
            isinstance(letter, _Drawn)
            and isinstance(after, _Drawn)
            and letter.quarter == after.quarter
            and letter.quarter
        ):
            yield replace(letter, box=_reach(letter, after))
        else:
            yield letter


def _reach(letter: _Drawn, after: _Drawn) -> Box:
    (left, bottom, right, top), (_, next_bottom, next_right, next_top) = letter.box, after.box
    size = right - left if letter.quarter in (1, 3) else top - bottom  # of the font, across the direction of writing
    match letter.quarter:
        case 1 if top < next_bottom < top + size / 2:
            top = next_bottom
        case 2 if left - size / 2 < next_right < left:
            left = next_right
        case 3 if bottom - size / 2 < next_top < bottom:
            bottom = next_top
        case _:
            pass
    return left, bottom, right, top


def _choose_quarters(letters: Sequence[_Drawn], upright: int) -> list[int]:
    """The direction that the page is read in, then others that have many letters. What stands upright as the page is
    shown is its direction, unless most of it is written otherwise."""
    counts = Counter(letter.quarter for letter in letters if letter.quarter is not None)
    most = max(counts, key=lambda quarter: counts[quarter], default=upright)
    main = most if counts[most] > 2 * counts[upright] else upright
    others = [quarter for quarter in counts if quarter != main and counts[quarter] >= _MANY_LETTERS]
    return [main, *sorted(others, key=lambda quarter: -counts[quarter])]


@dataclass(frozen=True, slots=True)
class _ShownPage:
    """`left` and `bottom` are the corner of what is shown (programs that cut a page leave it where it was), `width` and
    `height` its size before it is turned."""

    left: float
    bottom: float
    width: float
    height: float


def _measure_page(page: pypdfium2.PdfPage) -> _ShownPage:
    left, bottom, *_ = page.get_bbox()
    width, height = page.get_size()
    if page.get_rotation() % 180:
        width, height = height, width
    return _ShownPage(left, bottom, width, height)


def _turn_upright(letter: _Drawn, page: _ShownPage) -> Letter:
    left, bottom, right, top = letter.box
    left, right = left - page.left, right - page.left
    bottom, top = bottom - page.bottom, top - page.bottom
    match letter.quarter:
        case 0:
            place = left, right, page.height - top, page.height - bottom
        case 1:
            place = bottom, top, left, right
        case 2:
            place = page.width - right, page.width - left, bottom, top
        case _:
            place = page.height - top, page.height - bottom, page.width - right, page.width - left
    return Letter(*place, letter.text, letter.continues_glyph, letter.follows_blank, letter.is_doubtful)
