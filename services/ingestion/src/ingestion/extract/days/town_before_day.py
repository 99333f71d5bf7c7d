"""What may stand before a day and say nothing of it: the day of the week, or the town in which the page was written.

`Date: Order, 14 October` looks like `Date: Leeds, 14 October`. A town is believed where an address of the page has it.
"""

import re
from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels
from ingestion.extract.parties.sender_line import is_town

_DAY_OF_WEEK = labels.match_any(
    r"\b(?:mon|tues|wednes|thurs|fri|satur|sun)day\b|\b(?:mon|tue|wed|thu|fri|sat|sun)\b",
    r"\b(?:mon|diens|donners|frei|sams|sonn)tag\b|\b(?:mittwoch|sonnabend)\b|\b(?:mo|di|mi|do|fr|sa|so)\b",
    r"\b(?:lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche)\b",
    r"\b(?:lunes|martes|miércoles|jueves|viernes|sábado|domingo)\b",
    r"\b(?:luned|marted|mercoled|gioved|venerd)[iì]\b|\b(?:sabato|domenica)\b",
    r"\b(?:maan|dins|woens|donder|vrij|zater|zon)dag\b|\b(?:segunda|terça|quarta|quinta|sexta)(?:-feira)?\b",
    r"\b(?:poniedziałek|wtorek|środa|czwartek|piątek|sobota|niedziela|pondělí|úterý|středa|čtvrtek|pátek|neděle)\b",
    r"\b(?:man|tirs|ons|tors|fre|lør|søn|mån|tis|lör|sön)dag\b",
)
_PARTS = re.compile(r"[,;●•|·]|\s[-–—]\s")
_MAX_TEXT = 300  # letters of a cell
_MAX_CELLS = 12  # of a line


def is_town_or_day_of_week(words: str, page: Sequence[TextLine]) -> bool:
    name = words.strip(" ,.:").lower()
    return _DAY_OF_WEEK.fullmatch(name) is not None or any(name in town for town in _list_towns(page))


def _list_towns(page: Sequence[TextLine]) -> set[str]:
    """The parts of the page that end an address."""
    parts = (
        part.strip()
        for line in page
        for cell in line.cells[:_MAX_CELLS]
        for part in _PARTS.split(cell.text[:_MAX_TEXT])
    )
    return {part.lower() for part in parts if is_town(part)}
