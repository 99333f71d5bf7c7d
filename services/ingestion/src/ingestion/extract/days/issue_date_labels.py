"""Which dates with a label of an invoice's day of issue are its own: a page also names the day of an order, of the
invoice before, of the next one."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.days.town_before_day import is_town_or_day_of_week
from ingestion.extract.titles import title_words
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
        (match[0], find_first_parsed((text for text in texts if not _has_days_of_two(match, text)), read))
        for match, texts in list_labelled_texts(page, label)
        if _is_own_label(match, page)
    )
    return [LabelledDate(text, day) for text, day in found if day is not None]


def choose_issue_date(found: Sequence[LabelledDate]) -> date | None:
    """The only day, the only one that is called an invoice's, or that is not only called one of the tax; None where
    nothing tells."""
    by_label = (
        [one for one in found if _OF_INVOICE.search(one.label)],
        [one for one in found if not _OF_TAX.search(one.label)],
    )
    for among in (found, *by_label):
        days = {one.day for one in among}
        if len(days) == 1:
            return days.pop()
    return None


def are_only_of_tax(found: Sequence[LabelledDate]) -> bool:
    return all(_OF_TAX.search(one.label) and not _OF_INVOICE.search(one.label) for one in found)


# `Rechnungsdatum` and not `Ausstellungsdatum`, which any paper has.
_OF_INVOICE = re.compile(r"invoice|rechnung|factu|fattura|fatura|faktur", re.IGNORECASE)
_OF_TAX = re.compile(r"\btax\b", re.IGNORECASE)
# What may stand directly in front of a label: `Our invoice date`, `Liefer- und Rechnungsdatum`.
_OWN_WORD = re.compile(
    r"(?<![^\W_])(?:our|your|the|unser|ihr|notre|votre|nuestra|su|nostra|vostra|onze|uw|vores|din|vår|er"
    r"|and|und|et|y|e|en|i|a|og|och|or|oder|ou|o|of|lub|nebo|eller)\s+$",
    re.IGNORECASE,
)
# What else may stand between a label and its date.
_BETWEEN = re.compile(
    r"\b(?:date|datum|data|dato|fecha|den|vom|am|le|du|de|del|della|la|il|el|em|da|do|dnia|dne|w\s+dniu|z|on|of|is|was|van|op|a)\b",
    re.IGNORECASE,
)
# A second label, or how a date is written: `Rechnungsdatum / Lieferdatum`, `Date (dd/mm/yyyy)`.
_SECOND_LABEL = re.compile(
    r"\s*(?:[/|(&=+,•·]|(?:and|und|et|y|e|en|i|a|og|och|or|oder)\b)[^\d\n]{0,40}?(?:date|datum|data|dato|fecha|point|\bdd|\btt|\bjj|\bgg)",
    re.IGNORECASE,
)
# `Data wystawienia, z zastrzeżeniem art. 106na ust. 1 ustawy:`
_LEGAL_CLAUSE = re.compile(r"^,[^:\d]{0,40}(?:\bart\.|§|\bpar\.)\s?[^:]{1,40}(?=:)", re.IGNORECASE)
_BAR = frozenset("|•·;")
# `Date: Monday, 3 November`, `Lyon, le 3 novembre`
_TOWN_OR_DAY_OF_WEEK = re.compile(r"\W*([^\W\d_]{2,30}(?:[ -][^\W\d_]{2,30}){0,2}),\s*")
_BEHIND_TOWN = re.compile(r",\s?(?:den|le|the|li|lì|dnia|em|el)\s+$", re.IGNORECASE)
_NUMBERED = re.compile(r"(?<!\S)[^\s\d]*\d\S*|\b(?:no|nr|num|number|nummer|id)\b|\bn(?=\W)", re.IGNORECASE)


def _is_own_label(match: re.Match[str], page: Sequence[TextLine]) -> bool:
    before, behind = match.string[: match.start()], match.string[match.end() :]
    is_invoices = _OF_INVOICE.search(match[0]) is not None
    is_shared = match.re is labels.ISSUE_DATE and _WITH_ANOTHER.match(behind) and len(values.find_dates(behind)) == 1
    return _leaves_alone(before, is_invoices=is_invoices) and (bool(is_shared) or _goes_on_to_date(behind, page))


def _has_days_of_two(match: re.Match[str], text: str) -> bool:
    """`Lieferdatum / Rechnungsdatum: 28.10. / 03.11.`: the first is that of the label's first name."""
    is_second = _NAME_BEFORE.search(match.string[: match.start()]) is not None
    return is_second and _TWO_DAYS.search(values.mask_dates(text)) is not None


_AND = r"(?:and|und|et|y|e|en|i|a|og|och|or|oder|ou|o|of|lub|nebo|eller)"
_NAME_BEFORE = re.compile(rf"[^\W\d_][-\s.]{{0,3}}(?:[/&+,]|\b{_AND})\s*$", re.IGNORECASE)
_TWO_DAYS = re.compile(rf"\u2022\s*(?:[/&+,;|–-]|{_AND}\b)\s*[\d\u2022]", re.IGNORECASE)
# `Data wystawienia i sprzedaży: 03.11.2026`
_WITH_ANOTHER = re.compile(r"\s*(?:and|und|et|y|e|en|i|a|og|och)\b[^\d:]{3,40}:", re.IGNORECASE)


def _leaves_alone(before: str, *, is_invoices: bool) -> bool:
    """Whether the words in front of a label are none, its own, or end before it: `Nr. 7 | Rechnungsdatum`. Behind
    `Lieferschein 88213,` only what is called an invoice's date is not that paper's."""
    rest = _OWN_WORD.sub("", before).rstrip()
    if not rest or rest[-1] in _BAR:
        return True
    if is_invoices and not rest[-1].isalpha():
        return True
    return not any(letter.isalpha() for letter in _NUMBERED.sub(" ", title_words.INVOICE_WORD.sub(" ", rest)))


def _goes_on_to_date(behind: str, page: Sequence[TextLine]) -> bool:
    if _SECOND_LABEL.match(behind):
        return True
    day = values.DATES.search(behind)
    words = _LEGAL_CLAUSE.sub("", behind[: day.start()] if day else behind)
    between = _BETWEEN.sub(" ", title_words.INVOICE_WORD.sub(" ", words))
    if not any(letter.isalnum() for letter in between):
        return True
    label, colon, rest = between.rpartition(":")
    if any(letter.isalnum() for letter in label):
        return False
    if day is None:
        return False
    before_day = _TOWN_OR_DAY_OF_WEEK.fullmatch(rest)
    if before_day is None or _BEHIND_TOWN.search(behind[: day.start()]):
        return bool(colon or before_day)
    return is_town_or_day_of_week(before_day[1], page)
