"""Whether what a note says of its side is said of the trade: in a heading, a sentence, or a field for the side.

A word of a side stands in names and terms as well: `Best Buy Co`, `Option d'achat`, `Redemption charge  None`. Where
nothing else says the side, and where the field for it holds a letter for the other one, nothing is known of it.
"""

import re
from collections.abc import Iterator, Sequence

from ingestion.domain.trade import Direction
from ingestion.extract.labels import match_any
from ingestion.extract.titles import kind_words
from ingestion.extract.trades import labels
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine, is_long_sentence
from ingestion.extract.trades.row_side import SidePlace, find_row_side, is_side_alone

_MAX_CELL = 60  # letters
_MAX_CELLS_OF_FIELD = 3
_BOTH = 2
_MIN_WORDS_OF_NAME = 3
_FIELD = re.compile(r"^([^\t:]{1,40})(?:\t|:\s*)(.*)$")
_CODE = re.compile(r"\W{0,3}([A-Z])\W{0,3}")
_CODES = {
    **dict.fromkeys("ABCK", Direction.BUY),
    **dict.fromkeys("SV", Direction.SELL),
}
_SIDE_FIELD = match_any(
    r"^\W*(?:b\s?/\s?s|k\s?/\s?v|a\s?/\s?v|c\s?/\s?v|side|sens|segno|signo|sentido|natureza|richtung|gesch[äa]ft|vorgang|signe|kierunek|strona|sm[ěe]r|zijde)\W*$"
)
_EITHER_WORD = re.compile(
    r"\b(?:or|oder|ou|of|bzw|und|and|yes|no|ja|nein|nee|oui|non|nej|tak|nie|ano|ne|sim|não|sì|si|sí)\b"
)
_WORD = re.compile(r"[^\W\d_]{2,}")
_SHORT_POSITION = match_any(
    r"\bshort\b|leerverk|d[ée]couvert\b|\bscoperto\b|\ben\s+corto\b|\bgeschreven\b|\bkr[óo]tk|\bclos(?:ing|e)\s+(?:a|the|your|of|out)\b|schlie(?:ß|ss)ung|glattstell|\bcl[ôo]ture\b|\bcierre\b|\bchiusura\b|\bricopertura\b|\bzamkni[ęe]"
)
_SAYS_SHORT = match_any(
    r"\b(?:buy|bought|purchased?|sell|sold)\s+(?:to\s+(?:close|cover|open)|short)\b|\bshort\s+sale\b"
)


def is_side_unsaid(lines: Sequence[ReadLine], direction: Direction, name: str | None) -> bool:
    """Whether nothing on the note says the side for certain, or something may say another one."""
    if any(code not in (None, direction) for code in map(_read_code, lines)):
        return True
    short = [line for line in lines if not is_long_sentence(line) and labels.DIRECTION.search(line.text)]
    return (
        any(map(_names_both_sides, short)) or any(map(_speaks_of_short_position, short)) or _has_only_words(short, name)
    )


def says_side_of_all(lines: Sequence[ReadLine]) -> bool:
    """Whether a line that is no row says what was done; False also where nothing does."""
    short = [line for line in lines if not is_long_sentence(line) and labels.DIRECTION.search(line.text)]
    return any(len(line.source.cells) <= _MAX_CELLS_OF_FIELD and _says_side(line.text, line, None) for line in short)


def has_coded_side(row: ReadLine) -> bool:
    """`03/11/2026  S  Best Buy Co`: the letter is the row's side, whatever its name says."""
    if find_row_side(row).place is SidePlace.IN_COLUMN:
        return False
    return any((code := _CODE.fullmatch(cell)) and code[1] in _CODES for cell in row.text.split("\t"))


def _read_code(line: ReadLine) -> Direction | None:
    """What a letter in the field for the side says."""
    if (field := _FIELD.match(line.text)) is None or (code := _CODE.fullmatch(field[2])) is None:
        return None
    is_field = _SIDE_FIELD.search(field[1]) is not None or any(
        place.label is Label.DIRECTION and place.start < field.end(1) for place in line.labels
    )
    is_field = is_field or len(set(_list_sides(field[1]))) == _BOTH
    return _CODES.get(code[1]) if is_field else None


def _names_both_sides(line: ReadLine) -> bool:
    """`[ ] Kauf  [X] Verkauf`, `Purchase or sale  S`: marks or a letter tell, if anything does."""
    sides = list(_list_sides(line.text))
    if len(sides) != _BOTH or len(set(sides)) != _BOTH or "=" in line.text:
        return False
    rest = _EITHER_WORD.sub(" ", labels.DIRECTION.sub(" ", line.text).lower())
    return not re.search(r"\w\s?/\s?\w", line.text) and _WORD.search(rest) is None


def _list_sides(text: str) -> Iterator[Direction]:
    for match in labels.DIRECTION.finditer(text):
        yield Direction.BUY if match["buy"] else Direction.SELL


def _speaks_of_short_position(line: ReadLine) -> bool:
    """What closes a position is the other side of what the position is called after."""
    cells = (cell for cell in line.text.split("\t") if len(cell) <= _MAX_CELL and labels.DIRECTION.search(cell))
    return any(_SHORT_POSITION.search(cell) and not _SAYS_SHORT.search(cell) for cell in cells)


def _has_only_words(lines: Sequence[ReadLine], name: str | None) -> bool:
    """Whether words of a side stand only in names and in other fields."""
    return bool(lines) and not any(_says_side(line.text, line, name) for line in lines)


def _says_side(text: str, line: ReadLine, name: str | None) -> bool:
    if name:
        text = text.replace(name, "")
    if labels.DIRECTION.search(text) is None:
        return False
    if kind_words.CONTRACT_NOTE_TITLE.search(text) or labels.WE_CONFIRM.search(text):
        return True
    if any(place.label is Label.DIRECTION for place in line.labels):
        return True
    if (field := _FIELD.match(text)) is None or not field[2].strip():
        return True
    anchor = labels.ANCHOR.match(text)
    if anchor is not None and anchor.end() > field.start(2) and "\t" not in text:
        return True  # `Abrechnung: Kauf von Wertpapieren`
    if any(map(is_side_alone, field[2].split("\t"))) or line.dates:
        return True
    # `Kauf  10 Stück` says what was done, `Rücknahme  jederzeit` what may be.
    if is_side_alone(field[1]):
        is_named = (bool(name) and str(name) in line.text) or len(field[2].split()) >= _MIN_WORDS_OF_NAME
        return is_named or re.search(r"\d", field[2]) is not None
    return anchor is not None and re.search(r"\d", field[2]) is not None
