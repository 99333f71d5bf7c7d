"""Whether a list says of one of its rows what it says of no other: `Draft` among what was `Settled`, `Buy*`, `b/f`.

Which words say that a row is no trade of this list never ends. A row whose note is another one than that of the rest
is left to a person, unless both say that it was done.
"""

from collections.abc import Iterator, Sequence

from ingestion.extract.labels import match_any
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
    return len(rows) > 1 and (_differs(list(_list_notes(rows, lines))) or _has_tail(rows) or _has_mark(rows))


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
