"""Whether marks on a page are a reason that a person looks at it, and what is shown of them."""

from typing import Any

from ingestion.domain.page_marks import PAGE_MARKS, PageMarks
from ingestion.domain.reasons import ReviewReason
from ingestion.extract import title_words


def find_doubt_of_marks(marks: PageMarks) -> ReviewReason | None:
    """Who strikes out a value writes another one beside it, or means that it counts no more: no rule tells which."""
    return ReviewReason.STRUCK_OUT if marks.struck_out else None


def may_be_invoice(marks: PageMarks) -> bool:
    """Whether a title is struck out without which the page is none: a person says what it is then."""
    return any(map(title_words.INVOICE_WORD.search, marks.struck_out))


def show_marks(marks: PageMarks) -> dict[str, Any]:
    """What an extraction has of them, nothing where there are none."""
    shown = {name: words for name, words in marks.to_json().items() if words}
    return {PAGE_MARKS: shown} if shown else {}
