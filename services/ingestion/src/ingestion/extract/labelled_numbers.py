"""Which of several numbers with a label of an invoice's is this one's: a page also names the invoice of a part, the
one of a supplier before, the one that is corrected."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels
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
        numbers = (number for text in sorted(texts, key=rank) if (number := parse(text)) is not None)
        if (number := next(numbers, None)) is not None:
            yield LabelledNumber(match[0], number)


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
