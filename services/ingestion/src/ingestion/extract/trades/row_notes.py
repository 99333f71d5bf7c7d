"""Whether a list says of one of its rows what it says of no other: `Draft` among what was `Settled`, `Buy*`, `b/f`.

Which words say that a row is no trade of this list never ends. A row whose note is another one than that of the rest
is left to a person, unless both say that it was done.
"""

from collections.abc import Iterator, Sequence

from ingestion.extract.labels import match_any
from ingestion.extract.trades import labels
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.numbers import CURRENCIES
from ingestion.extract.trades.row_side import is_side_alone

_MIN_CELLS = 4
_MIN_NUMBERS = 2
_MARKS = "*†‡¹²³⁴⁵)"
_HEAD = match_any(
    r"^\W*(?:(?:order|trade|trans\w*|auftrags?)[\s-]?)?(?:notes?|status|state|remarks?|comments?|bemerkung(?:en)?|hinweise?|vermerk|zustand|statuts?|[ée]tat|remarques?|observations?|estado|situaci[óo]n|observaciones|notas?|stato|note|annotazioni|opmerking(?:en)?|situa[çc][ãa]o|observa[çc][õo]es|anm[äa]rkning|bem[æa]rkning|merknad|stan|uwagi|stav|pozn[áa]mka)\W*$"
)
DONE = match_any(
    r"^\W*(?:(?:fully|pending|vollst[äa]ndig)\s+)?(?:settled|executed|done|filled|booked|complet(?:ed?|e)|confirmed|final|traded|dealt|settlement|closed|ok|abgerechnet|ausgef[üu]hrt|gebucht|erledigt|beliefert|abgewickelt|best[äa]tigt|vollst[äa]ndig|abgeschlossen)\W*$",
    r"^\W*(?:ex[ée]cut[ée]e?|r[ée]gl[ée]e?|d[ée]nou[ée]e?|comptabilis[ée]e?|termin[ée]e?|confirm[ée]e?|ejecutad[oa]|liquidad[oa]|completad[oa]|confirmad[oa]|realizad[oa]|finalizad[oa]|eseguit[oa]|regolat[oa]|completat[oa]|confermat[oa]|contabilizzat[oa])\W*$",
    r"^\W*(?:uitgevoerd|afgewikkeld|verwerkt|voltooid|afgerekend|executad[oa]|conclu[íi]d[oa]|utf[öo]rd|avslutad|klar|udf[øo]rt|afsluttet|afviklet|utf[øo]rt|zrealizowan[eya]|rozliczon[eya]|wykonan[eya]|proveden[oaáýé]?|vypo[řr][áa]d[áa]n[oaáýé]?)\W*$",
)


def has_row_of_other_note(lines: Sequence[ReadLine]) -> bool:
    rows = [line for line in lines if line.dates and len(line.numbers) >= _MIN_NUMBERS]
    rows = [row for row in rows if len(row.text.split("\t")) >= _MIN_CELLS]
    return len(rows) > 1 and any(
        (_differs(list(_list_notes(rows, lines))), _has_tail(rows), _has_mark(rows), _has_other_side(rows))
    )


def _list_notes(rows: Sequence[ReadLine], lines: Sequence[ReadLine]) -> Iterator[str]:
    """What stands in the column of a note, in the rows that have all of their cells."""
    heads = [line.text.split("\t") for line in lines if not line.numbers and not line.dates]
    places = {(len(cells), place) for cells in heads for place, cell in enumerate(cells) if _HEAD.search(cell)}
    for row in rows:
        cells = row.text.split("\t")
        yield from (cells[place].strip().casefold() for width, place in places if width == len(cells) >= _MIN_CELLS)


def _differs(notes: Sequence[str]) -> bool:
    """Whether the notes are not all the same, and not all of what was done."""
    return len(set(notes)) > 1 and not all(map(DONE.search, notes))


def _has_tail(rows: Sequence[ReadLine]) -> bool:
    """Whether words stand behind the last number of some rows and not of others: `2,250.00 b/f`."""
    tails = [row.text[row.numbers[-1].end :].strip(" \t()") for row in rows]
    said = [any(letter.isalpha() for letter in tail) and tail not in CURRENCIES for tail in tails]
    return any(said) and not all(said)


def _has_mark(rows: Sequence[ReadLine]) -> bool:
    """Whether the side of some rows is marked, as that of others is not: `Buy*`."""
    sides = [cell.strip() for row in rows for cell in row.text.split("\t") if is_side_alone(cell)]
    marked = [side[-1:] in _MARKS for side in sides]
    return any(marked) and not all(marked)


def _has_other_side(rows: Sequence[ReadLine]) -> bool:
    """Whether the side of a row has words beside it that say neither a kind of order nor that it was done, where that
    of others stands alone: `Buy (pending)`, `Kauf geplant`; and `Buy order` beside `Buy`."""
    cells = [row.text.split("\t") for row in rows]
    places = {(len(row), place) for row in cells for place, cell in enumerate(row) if is_side_alone(cell)}
    for width, place in places:
        sides = [row[place].strip() for row in cells if len(row) == width]
        alone = [side for side in sides if is_side_alone(side)]
        is_order = [_ORDER.search(side) is not None for side in alone]
        if any(is_order) and not all(is_order):
            return True
        if any(_says_more(side) for side in sides):
            return True
    return False


def _says_more(side: str) -> bool:
    match = labels.DIRECTION.search(side)
    if match is None or is_side_alone(side) or len(side) > _MAX_SIDE:
        return False
    rest = f"{side[: match.start()]} {side[match.end() :]}"
    return not any(pattern.search(rest) for pattern in (DONE, _KIND))


_MAX_SIDE = 40  # letters
_ORDER = match_any(r"\b(?:order|auftrag|ordre|orden|ordine|opdracht|ordem)\b")
_KIND = match_any(
    r"^\W*(?:(?:sparplan|savings|regular|monthly|plan|aktien?|shares?|etfs?|fonds|funds?|anteile|bonds?|anleihen?|actions|parts|acciones|participaciones|azioni|quote|a[çc][õo]es|comptant|contado|contanti|contant|drip|reinvest\w*|wiederanlage|b[öo]rse|xetra|online|ausland|inland)\W*){1,3}$"
)
