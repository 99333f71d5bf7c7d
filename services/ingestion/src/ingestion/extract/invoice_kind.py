"""Whether an invoice's pages ask for money or give it back: their titles say so.

A credit note that is taken for an invoice is paid. So a word for what is given back counts where it is a title, and
beside another title nobody can tell.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from ingestion.domain.invoice import CORRECTED_INVOICE, CREDIT_NOTE, INVOICE, Invoice
from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, title_words, values
from ingestion.extract.page_head import limit_to_head


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


def determine_invoice_kind(page: Sequence[TextLine], invoice: Invoice) -> InvoiceKind:
    head = [cell.text for line in limit_to_head(page) for cell in line.cells]
    titles = [(title, text) for text in head if (title := _read_title(text)) is not None]
    is_negative = invoice.total_gross is not None and invoice.total_gross < 0
    bare = (title is _Title.PLAIN and labels.BARE_DOCUMENT.match(text) is not None for title, text in titles)
    plain = next((number for number, is_bare in enumerate(bare) if is_bare), None)
    is_undone = any(title is _Title.REVERSAL for title, _ in titles)
    others = [(number, _TYPE_OF[title]) for number, (title, _) in enumerate(titles) if title in _TYPE_OF]
    by_amount = invoice.determine_document_type() if invoice.total_gross is not None else INVOICE
    if plain is None:
        found = next((kind for _, kind in others), None) or (None if is_undone else _find_in_words(head))
    else:
        found = next((kind for number, kind in others if number < plain), None)
        if found is None and others:
            return InvoiceKind(by_amount, is_certain=is_negative)
    if found is not None:
        return InvoiceKind(found)
    # Where no title stands alone, any cell may be it.
    is_undone |= plain is None and any(map(_may_give_back, head))
    return InvoiceKind(by_amount, is_certain=is_negative or not is_undone)


def _find_in_words(head: Sequence[str]) -> str | None:
    """Where no title stands alone: of which kind what a line begins with is, or any line tells of."""
    if any(map(title_words.CORRECTION_WORD.search, head)):
        return CORRECTED_INVOICE
    is_credit = any(
        labels.HEADLINE.match(text) and title_words.CREDIT_WORD.search(text) and not _names_both(text) for text in head
    )
    return CREDIT_NOTE if is_credit else None


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
