"""Which note a document takes back: a cancellation names it, or a corrected note stands in its place."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ingestion.domain.trade import Trade
from ingestion.extract.titles import kind_words
from ingestion.extract.trades import correction_signs, labels, taken_back_words
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.void_words import is_term_of_cancellation

_MAX_SENTENCE = 200  # letters
_MAX_LINE = 80  # letters of one that says that a trade is cancelled
_MAX_TITLE = 90  # letters
_HEAD_LINES = 40


@dataclass(frozen=True, slots=True)
class ReplacedNote:
    """`number` None: the document says that it stands in place of another one, and does not name it. `line` is where it
    says so."""

    number: str | None
    line: int


def is_cancellation(lines: Sequence[ReadLine]) -> bool:
    return any(
        len(line.text) <= _MAX_LINE
        and labels.CANCELLATION.search(line.text)
        and not labels.FAILED_ORDER.search(line.text)
        and not is_term_of_cancellation(line.text)
        for line in lines
    )


def find_note_taken_back(lines: Sequence[ReadLine]) -> str | None:
    """The number of the note that a cancellation names."""
    for text, below, _ in _list_sentences(lines):
        for pattern in (taken_back_words.TAKES_BACK_NUMBER, taken_back_words.NUMBER_TAKEN_BACK):
            if (number := taken_back_words.find_number(pattern, text, below)) is not None:
                return number
    return None


def find_replaced_note(lines: Sequence[ReadLine]) -> ReplacedNote | None:
    """The note in whose place this one stands, with a trade of its own; none below the title of a cancellation, which
    has none."""
    if any(map(_is_title_of_cancellation, lines[:_HEAD_LINES])):
        return None
    is_cancelled = any(labels.CANCELLATION.search(line.text) for line in lines)
    for text, _, line in _list_sentences(lines):
        if not is_cancelled and (number := correction_signs.find_number_replaced(text)) is not None:
            return ReplacedNote(number, line.index)
    for text, below, line in _list_sentences(lines):
        if taken_back_words.may_happen(text):
            continue
        for pattern in (taken_back_words.IN_PLACE_OF_NUMBER, taken_back_words.NUMBER_REPLACED):
            if (number := taken_back_words.find_number(pattern, text, below)) is not None:
                return ReplacedNote(number, line.index)
    for text, below, line in _list_sentences(lines):
        if taken_back_words.says_in_place_of_earlier(text, below) or correction_signs.says_correction(text, below):
            return ReplacedNote(None, line.index)
    titles = [line for line in lines[:_HEAD_LINES] if _is_title_of_correction(line.text)]
    return ReplacedNote(None, titles[0].index) if titles else None


def build_cancellation(trade: Trade, number: str | None) -> Trade:
    """What the note of that number stated, as far as a corrected one tells: its price and its amounts were others."""
    return replace(
        trade,
        reference=number,
        is_cancellation=True,
        price=None,
        gross_amount=None,
        settled_amount=None,
        fees=None,
        taxes=None,
        accrued_interest=None,
        foreign_currency=None,
        foreign_gross_amount=None,
    )


def _is_title_of_cancellation(line: ReadLine) -> bool:
    return (
        len(line.text) <= _MAX_TITLE
        and labels.CANCELLATION.match(line.text) is not None
        and taken_back_words.CORRECTED.search(line.text) is None
        and not taken_back_words.says_in_place_of_earlier(line.text, "")
    )


def _is_title_of_correction(text: str) -> bool:
    if len(text) > _MAX_TITLE or taken_back_words.CORRECTED.search(text) is None:
        return False
    if taken_back_words.is_title_of_correction(text):
        return True
    is_title = kind_words.CONTRACT_NOTE_TITLE.search(text) or kind_words.STATEMENT_TITLE.search(text)
    return is_title is not None and not taken_back_words.may_happen(text)


def _list_sentences(lines: Sequence[ReadLine]) -> Iterator[tuple[str, str, ReadLine]]:
    """Each line with the one below it, where a sentence may go on."""
    texts = [line.text[:_MAX_SENTENCE] for line in lines]
    yield from zip(texts, [*texts[1:], ""], lines, strict=True)
