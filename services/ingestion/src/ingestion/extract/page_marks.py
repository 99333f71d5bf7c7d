"""Whether marks on a page are a reason that a person looks at it, and what is shown of them."""

import re
from collections.abc import Sequence
from statistics import median
from typing import Any

from ingestion.domain.page_marks import MAX_MARK_LETTERS, MAX_MARKS, PAGE_MARKS, PageMarks, Stamp
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract import stamp_words
from ingestion.extract.titles import title_words

_LARGE = 1.4  # times the usual height of a line
_MAX_LINES = 1500


def find_doubt_of_marks(transcript: Transcript) -> ReviewReason | None:
    """Who strikes out a value writes another one beside it, or means that it counts no more: no rule tells which. A
    stamp may take back all that the page says, and a comment stand in place of a part of it."""
    if transcript.marks.struck_out or transcript.marks.is_crossed_out:
        return ReviewReason.STRUCK_OUT
    return ReviewReason.STAMPED if transcript.marks.comments or _list_doubtful_stamps(transcript) else None


def may_be_invoice(marks: PageMarks) -> bool:
    """Whether a title is struck out without which the page is none: a person says what it is then."""
    return any(map(title_words.INVOICE_WORD.search, marks.struck_out))


def show_marks(transcript: Transcript) -> dict[str, Any]:
    """What an extraction has of them, nothing where there are none."""
    marks = transcript.marks
    stamps = _list_doubtful_stamps(transcript)
    found = {"struck_out": list(marks.struck_out), "stamps": stamps, "comments": list(marks.comments)}
    shown: dict[str, Any] = {name: words for name, words in found.items() if words}
    shown |= {"is_crossed_out": True} if marks.is_crossed_out else {}
    return {PAGE_MARKS: shown} if shown else {}


def _list_doubtful_stamps(transcript: Transcript) -> list[str]:
    lines = transcript.lines[:_MAX_LINES]
    stamps = [stamp.text for stamp in transcript.marks.stamps if _may_take_back(stamp, lines)]
    return [*stamps, *_list_stamped_lines(lines)][:MAX_MARKS]


def _may_take_back(stamp: Stamp, lines: Sequence[TextLine]) -> bool:
    """Any word in large letters does that is not known to say nothing, or to be somebody's name on the page."""
    if stamp_words.takes_back(stamp.text):
        return True
    if stamp_words.leaves_as_it_is(stamp.text) or any(_begins_name(stamp.text, line.text) for line in lines):
        return False
    return stamp.is_large or stamp_words.says_taken_back(stamp.text)


def _begins_name(words: str, line: str) -> bool:
    """Whether a line has words as a name: at its beginning, or with a capital letter, whatever stands between them."""
    letters = [(letter, place) for place, sign in enumerate(line) if sign.isalnum() for letter in sign.casefold()]
    name = "".join(sign.casefold() for sign in words if sign.isalnum())
    start = "".join(letter for letter, _ in letters).find(name)
    return start == 0 or (start > 0 and line[letters[start][1]].isupper())


def _list_stamped_lines(lines: Sequence[TextLine]) -> list[str]:
    """Lines of such a word alone, or beside a title, in capitals or large: `*** DRAFT ***`, `INVOICE   VOID`; with what
    came in the place of the paper; and what was not done, large or above all else."""
    usual = median(line.height for line in lines) if lines else 0.0
    return [
        line.text
        for number, line in enumerate(lines)
        if len(line.text) <= MAX_MARK_LETTERS
        and (
            _is_stamp(line.text, is_large=line.height >= _LARGE * usual)
            or _says_in_cell(line)
            or (
                (number < _ABOVE_ALL or line.height >= _LARGE * usual)
                and stamp_words.denies(line.text)
                and not any(_begins_name(line.text, other.text) for other in lines if other is not line)
            )
        )
    ]


def _is_stamp(text: str, *, is_large: bool) -> bool:
    is_marked = text.isupper() or is_large
    return is_marked and stamp_words.takes_back(text) and not stamp_words.is_title_of_its_own(text)


def _says_in_cell(line: TextLine) -> bool:
    """Not in a row, which has amounts."""
    is_row = len(line.cells) > _MAX_CELLS or _AMOUNT.search(line.text) is not None
    return not is_row and any(stamp_words.begins_as_taken_back(cell.text) for cell in line.cells)


_ABOVE_ALL = 2  # lines
_MAX_CELLS = 2
_AMOUNT = re.compile(r"\d[.,]\d\d(?!\d)")
