"""Which of several numbers with a label of an invoice's is this one's: a page also names the invoice of a part, the
one of a supplier before, the one that is corrected."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels
from ingestion.extract.titles import title_words
from ingestion.extract.value_places import list_labelled_texts


@dataclass(frozen=True, slots=True)
class LabelledNumber:
    label: str
    number: str

    def is_titled(self, titles: Sequence[str]) -> bool:
        """Whether a title has all words of the label: `Rechnungsnummer` below `Rechnung`, not `Eingangsrechnung Nr.`"""
        words = [*_list_words(self.label)]
        return bool(words) and any(_has_words(title, words) for title in titles)

    @property
    def is_compound(self) -> bool:
        """Whether it is one kind of invoices': `Hotelrechnung`, `Inkoopfactuur`."""
        return _COMPOUND.search(self.label) is not None


_COMPOUND = re.compile(r"[^\W\d_]{2}(?:rechnung|factuur|faktura)", re.IGNORECASE)


def list_labelled_numbers(
    page: Sequence[TextLine], parse: Callable[[str], str | None], rank: Callable[[str], bool]
) -> Iterator[LabelledNumber]:
    """The number of each label of an invoice's number; where `rank` is true for a text another one is likelier."""
    for match, texts in list_labelled_texts(page, labels.OWN_NUMBER):
        for text in sorted(filter(None, (_take_own_part(match, text) for text in texts)), key=rank):
            if (number := parse(text)) is not None:
                yield LabelledNumber(match[0], number)
                yield from (LabelledNumber(match[0], other) for other in _list_alike(text, number))
                break


# `Delivery note / Invoice no.`, `Invoice no. / Delivery note`: a second name in the label.
_NAME_BEFORE = re.compile(r"[^\W\d_][.\s]{0,3}[/&+]\s*$")
_NAME_BEHIND = re.compile(r"\s*[/&+]\s*[^\W\d_]")
_PARTS = re.compile(r"\s[/|&+–-]\s")


def _take_own_part(match: re.Match[str], text: str) -> str | None:
    """Of `A / B` behind a label of two names what the first is called; None where nothing tells which part it is."""
    before, behind = match.string[: match.start()], match.string[match.end() :]
    is_second = _NAME_BEFORE.search(before) is not None and title_words.INVOICE_WORD.search(before) is None
    is_first = _NAME_BEHIND.match(behind) is not None and labels.OWN_NUMBER.search(behind) is None
    if not is_second and not is_first:
        return text
    parts = _PARTS.split(text)
    if len(parts) == 1:
        return None if "/" in text else text
    return parts[0] if is_first and len(parts) == 2 else None


# What a cell may say between two numbers of one kind: no other label.
_BETWEEN_ALIKE = re.compile(r"[\s,;/&+()–-]*(?:[^\W\d_]+[\s,;/&+()–-]+){0,5}")
_NUMBER_LABEL = re.compile(r"\b(?:no|nr|num|number|nummer|numer|id|ref|numéro|numero|número|číslo)\b", re.IGNORECASE)
_TOKEN = re.compile(r"[^\s,;()&+]+")
_MAX_TOKENS = 12


def _list_alike(text: str, number: str) -> Iterator[str]:
    """`HM-20390 replaced by HM-20441`: other numbers of the same form, between which and this one no label stands."""
    begin = text.find(number)
    form = _write_form(number)
    if begin < 0 or form.isdecimal():
        return
    end = begin + len(number)
    for token in islice(_TOKEN.finditer(text, end), _MAX_TOKENS):
        other = token[0].strip(".:")
        between = text[end : token.start()]
        if other == number or _write_form(other) != form:
            continue
        if _BETWEEN_ALIKE.fullmatch(between) and not _NUMBER_LABEL.search(between):
            yield other


def _write_form(number: str) -> str:
    return re.sub(r"[^\W\d_]", "A", re.sub(r"\d", "9", number))


def choose_own_number(
    found: Sequence[LabelledNumber], titles: Sequence[str], behind_title: str | None = None
) -> str | None:
    """The only number, also of that behind a title, or the only one whose label has the words of a title; None where
    nothing tells."""
    is_plain = any(_COMPOUND.search(title) is None for title in titles)
    others = {one.number for one in found if is_plain and one.is_compound and not one.is_titled(titles)}
    titled = {one.number for one in found if one.is_titled(titles)}
    numbers = ({one.number for one in found} | {behind_title}) - others - {None}
    for among in (numbers, titled):
        if len(among) == 1:
            return next(iter(among))
    return None


_WORD = re.compile(r"[^\W\d_]{4,}")
# What only says that a number follows, whole or behind the word for the paper.
_NUMBER_WORD = re.compile(r"^(?:number|nummer|numéro|numero|número|numer|číslo)$|s?nummer$")
_SAME_LETTERS = 6  # `Faktura` and `faktury`


def _list_words(text: str) -> Iterator[str]:
    for match in _WORD.finditer(text.lower()):
        if word := _NUMBER_WORD.sub("", match[0]):
            yield word[:_SAME_LETTERS]


def _has_words(title: str, words: Sequence[str]) -> bool:
    titled = {*_list_words(title)}
    return all(word in titled for word in words)
