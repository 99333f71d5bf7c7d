"""Which dates with a label of an invoice's day of issue are its own: a page also names the day of an order, of the
invoice before, of the next one."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from ingestion.domain.transcript import TextLine
from ingestion.extract import title_words, values
from ingestion.extract.value_places import find_first_parsed, list_labelled_texts


@dataclass(frozen=True, slots=True)
class LabelledDate:
    label: str
    day: date


def list_labelled_dates(
    page: Sequence[TextLine], label: re.Pattern[str], read: Callable[[str], date | None]
) -> list[LabelledDate]:
    """Not those whose label other words make that of another paper: `Permit issue date`, `Belegdatum Lieferschein`."""
    found = (
        (match[0], find_first_parsed(texts, read))
        for match, texts in list_labelled_texts(page, label)
        if _is_own_label(match)
    )
    return [LabelledDate(text, day) for text, day in found if day is not None]


def choose_issue_date(found: Sequence[LabelledDate]) -> date | None:
    """The only day, or the only one that is called an invoice's; None where nothing tells."""
    for among in (found, [one for one in found if _OF_INVOICE.search(one.label)]):
        days = {one.day for one in among}
        if len(days) == 1:
            return days.pop()
    return None


# `Rechnungsdatum` and not `Ausstellungsdatum`, which any paper has.
_OF_INVOICE = re.compile(r"invoice|rechnung|factu|fattura|fatura|faktur", re.IGNORECASE)
# What may stand directly in front of a label: `Our invoice date`, `Liefer- und Rechnungsdatum`.
_OWN_WORD = re.compile(
    r"(?<![^\W_])(?:our|your|the|unser|ihr|notre|votre|nuestra|su|nostra|vostra|onze|uw|vores|din|vår|er"
    r"|and|und|et|y|e|en|i|a|og|och|or|oder|ou|o|of|lub|nebo|eller)\s+$",
    re.IGNORECASE,
)
# What else may stand between a label and its date.
_BETWEEN = re.compile(
    r"\b(?:den|vom|am|le|du|de|del|della|la|il|el|em|da|do|dnia|dne|w\s+dniu|z|on|of|is|was|van|op|a)\b", re.IGNORECASE
)
_GOES_ON = re.compile(r"\s*(?:[/|(&=+,•·]|(?:and|und|et|y|e|en|i|a|og|och|or|oder)\b)", re.IGNORECASE)
# `Date: Monday, 3 November`, `Lyon, le 3 novembre`
_TOWN_OR_DAY_OF_WEEK = re.compile(r"\W*[^\W\d_]{2,30}(?:[ -][^\W\d_]{2,30}){0,2},\s*")


def _is_own_label(match: re.Match[str]) -> bool:
    before, behind = match.string[: match.start()], match.string[match.end() :]
    return _leaves_alone(before) and _goes_on_to_date(behind)


def _leaves_alone(before: str) -> bool:
    """Whether the words in front of a label are none, its own, or end before it: `Nr. 7 | Rechnungsdatum`."""
    rest = _OWN_WORD.sub("", before)
    rest = title_words.INVOICE_WORD.sub("", rest).rstrip() if rest != before else rest.rstrip()
    return not rest or not rest[-1].isalpha()


def _goes_on_to_date(behind: str) -> bool:
    if _GOES_ON.match(behind):
        return True  # a second label, or a remark
    day = values.DATES.search(behind)
    between = behind[: day.start()] if day else behind
    if any(letter.isdigit() for letter in between):
        return True
    between = _BETWEEN.sub(" ", title_words.INVOICE_WORD.sub(" ", between))
    if not any(letter.isalpha() for letter in between):
        return True
    label, colon, rest = between.rpartition(":")
    if any(letter.isalpha() for letter in label):
        return False
    return day is not None and (bool(colon) or _TOWN_OR_DAY_OF_WEEK.fullmatch(rest) is not None)
