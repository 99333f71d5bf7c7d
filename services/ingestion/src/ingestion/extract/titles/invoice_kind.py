"""Whether an invoice's pages ask for money or give it back: their titles say so.

A credit note that is taken for an invoice is paid. So a word for what is given back counts where it is a title, and
beside another title nobody can tell.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from statistics import median

from ingestion.domain.invoice import CORRECTED_INVOICE, CREDIT_NOTE, INVOICE, Invoice
from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.page_head import limit_to_head
from ingestion.extract.titles import title_words


@dataclass(frozen=True, slots=True)
class InvoiceKind:
    document_type: str
    is_certain: bool = True


class _Title(Enum):
    PLAIN = auto()
    CREDIT = auto()
    CORRECTION = auto()
    REVERSAL = auto()  # a word for what is undone, which may be any of them


_TYPE_OF = {_Title.CREDIT: CREDIT_NOTE, _Title.CORRECTION: CORRECTED_INVOICE}


@dataclass(frozen=True, slots=True)
class _PrintedTitle:
    title: _Title
    text: str
    height: float

    @property
    def is_bare(self) -> bool:
        return self.title is _Title.PLAIN and labels.BARE_DOCUMENT.match(self.text) is not None


def determine_invoice_kind(page: Sequence[TextLine], invoice: Invoice) -> InvoiceKind:
    lines = limit_to_head(page)
    is_negative = invoice.total_gross is not None and invoice.total_gross < 0
    by_amount = invoice.determine_document_type() if invoice.total_gross is not None else INVOICE
    if any(map(_names_both_in_line, lines)):
        return InvoiceKind(by_amount, is_certain=is_negative)
    titles = list(_list_titles(lines))
    plain = next((number for number, title in enumerate(titles) if title.is_bare), None)
    others = [(number, title) for number, title in enumerate(titles) if title.title in _TYPE_OF]
    is_undone = any(title.title is _Title.REVERSAL for title in titles)
    head = [cell.text for line in lines for cell in line.cells]
    if plain is None:
        if others:
            return InvoiceKind(_TYPE_OF[others[0][1].title])
        # Where no title stands alone, any cell may be it.
        is_undone |= _tells_of_another(head) or any(map(_may_give_back, head))
        is_undone |= any(map(_tells_of_state, head)) or _has_unknown_title(page, lines, invoice.supplier_name)
    elif others:
        first, other = others[0]
        # The number of a credit note that was sent before stands over the title too, and is no title as large as it.
        if first < plain and other.height >= titles[plain].height * _AS_LARGE:
            return InvoiceKind(_TYPE_OF[other.title])
        is_undone = True
    is_undone |= any(_tells_of_state(title.text) for title in titles if title.is_bare)
    is_undone |= any(title_words.NO_DEMAND.search(line.text) for line in page)
    return InvoiceKind(by_amount, is_certain=is_negative or not is_undone)


def _list_titles(lines: Iterable[TextLine]) -> Iterator[_PrintedTitle]:
    for line in lines:
        for cell in line.cells:
            if (title := _read_title(cell.text)) is not None:
                yield _PrintedTitle(title, cell.text, line.height)


# The box in front of what a form may be, ticked or not.
_BOX = re.compile(r"[\[(]\s?[xX✓✔✗✘]?\s?[\])]|[☐☑☒▢□■✓✔✗✘]")


def _names_both_in_line(line: TextLine) -> bool:
    """Whether a line has boxes for what a paper may be, or titles of two kinds: nobody can tell which of them it is."""
    if _BOX.search(line.text) and any(word.search(line.text) for _, word in _WORDS[:2]):
        return True
    titles = {title.title for title in _list_titles([line])}
    return _Title.PLAIN in titles and not titles.isdisjoint(_TYPE_OF)


def _tells_of_another(head: Sequence[str]) -> bool:
    """Where no title stands alone: whether a line begins with a credit note, or any tells of what is corrected. It may
    be what was deducted from an invoice as well."""
    if any(map(title_words.CORRECTION_WORD.search, head)):
        return True
    return any(
        labels.HEADLINE.match(text) and title_words.CREDIT_WORD.search(text) and not _names_both(text) for text in head
    )


_AS_LARGE = 0.95  # times the height of another line
_HEADLINE_HEIGHT = 1.2  # times that of the usual line
_LETTERS_OF_WORD = re.compile(r"[^\W\d_]{2,}")


def _tells_of_state(text: str) -> bool:
    """Whether a title says that the invoice is none yet or none any more, was paid, or was asked for before."""
    is_title = len(text) <= _MAX_TITLE and len(text.split()) <= _WORDS_OF_STATE and ":" not in text
    return is_title and title_words.STATE_OF_INVOICE.search(text) is not None and not values.is_money(text)


_WORDS_OF_STATE = 10


def _has_unknown_title(page: Sequence[TextLine], head: Sequence[TextLine], supplier: str | None) -> bool:
    """Whether a line is drawn as a title, none names an invoice, and it is nobody's name: `Vergütung`, `CN`."""
    usual = median(line.height for line in page) if page else 0.0
    large = [line for line in head if line.height >= usual * _HEADLINE_HEIGHT]
    if any(title_words.ASKING_TITLE.search(line.text) for line in large):
        return False
    return any(len(line.cells) == 1 and _is_unknown_title(line.text, supplier or "") for line in large)


def _is_unknown_title(text: str, supplier: str) -> bool:
    words = {word.casefold() for word in _LETTERS_OF_WORD.findall(text)}
    if not words or len(text.split()) > _WORDS_OF_TITLE or values.is_money(text) or labels.COMPANY.search(text):
        return False
    name = supplier.casefold()
    return not (any(word in name for word in words) or words <= set(values.MONTH_NAMES))


_MAX_TITLE = 90  # letters
_WORDS_OF_TITLE = 5
# The first that a title has says what it is: `Gutschrift zur Rechnung 4711`.
_WORDS = (
    (_Title.CORRECTION, title_words.CORRECTION_WORD),
    (_Title.CREDIT, title_words.CREDIT_WORD),
    (_Title.REVERSAL, title_words.REVERSAL_WORD),
    (_Title.PLAIN, title_words.INVOICE_WORD),
)
# Of which paper, of which day, for whom a copy is.
_BESIDE_TITLE = re.compile(
    r"\b(?:zu[rm]?|für|for|of|to|von|vom|der|die|das|du|de|des|del|della|di|da|do|dos|a|à|k|ke|til|till|af|av|van|op|bij|our|your"
    r"|ihrer?|unserer?|notre|votre|original|kopie|copy|duplicate|sales|tax|vat|commercial|service|z|dnia|dne|and|und|et|y|e|en|i|og|och)\b",
    re.IGNORECASE,
)
_WITH_DIGITS = re.compile(r"(?<!\S)[^\s\d]*\d\S*")  # from the beginning of a word: once for each
_NUMBER_WORDS = labels.match_any(
    r"\b(?:numbers?|no|nr|num|id|nummer|numéro|numero|número|núm|numer|číslo)\b|\bn(?=\W)|\bč(?=\W)"
)


def _read_title(text: str) -> _Title | None:
    """None where more stands in a cell than a title, its number and its day: `Gutschrift 90 liegt bei`."""
    if len(text) > _MAX_TITLE:
        return None
    named = [title for title, word in _WORDS if word.search(text)]
    if not named:
        return None
    rest = text
    for _, word in _WORDS:
        rest = word.sub(" ", rest)
    rest = _BESIDE_TITLE.sub(" ", _NUMBER_WORDS.sub(" ", _WITH_DIGITS.sub(" ", rest)))
    if any(letter.isalpha() for letter in rest):
        return None
    is_either = named[0] in _TYPE_OF and (_EITHER.search(text) is not None or _names_both(text))
    # `Correctiefactuur`: a word for an invoice, made up with one for what is undone.
    is_made_up = named[0] is _Title.PLAIN and title_words.GIVEN_BACK.search(text) is not None
    return _Title.REVERSAL if is_either or is_made_up else named[0]


def gives_back(text: str) -> bool:
    """Whether a cell is the title of what gives something back, or stands in an invoice's place."""
    return _read_title(text) in _TYPE_OF


def _may_give_back(text: str) -> bool:
    """Whether a cell could be the title of what gives something back: a few words, and no amount."""
    is_title = len(text) <= _MAX_TITLE and len(text.split()) <= _WORDS_OF_TITLE and not values.is_money(text)
    return is_title and title_words.GIVEN_BACK.search(text) is not None


# `Rechnung/Gutschrift`: one form for both.
_EITHER = re.compile(r"[^\W\d_]\s*/\s*[^\W\d_]")
# `Invoice and credit note`, `Rechnung (keine Gutschrift)`: an invoice first, and the other beside it.
_BESIDE = re.compile(r"[(\[&+;,–—]|\b(?:and|or|und|oder|et|ou|y|o|e|en|of|i|lub|a|nebo|og|eller|och)\b", re.IGNORECASE)


def _names_both(text: str) -> bool:
    given = next(filter(None, (word.search(text) for _, word in _WORDS[:2])), None)
    invoice = title_words.INVOICE_WORD.search(text[: given.start()]) if given else None
    return bool(given and invoice and _BESIDE.search(text[invoice.end() : given.start()]))
