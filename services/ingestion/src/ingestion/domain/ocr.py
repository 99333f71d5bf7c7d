"""Which pages OCR reads, and what a transcript is once they were read. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import PDF, TextLine, Transcript
from mailroom_common.events import ResultStatus

# Letters beside a picture from which on they are a page's own text, which OCR only adds to.
_OWN_TEXT = 250
# A page whose letters are less certain than this on the average is a photograph, or too poor a picture.
_READABLE = 0.8
_PICTURED = frozenset(
    {
        ReviewReason.NO_TEXT_LAYER,
        ReviewReason.TEXT_NOT_VISIBLE,
        ReviewReason.TEXT_GARBLED,
        ReviewReason.IMAGE_NEEDS_OCR,
    }
)


def needs_ocr(outcome: DocumentOutcome, transcript: Transcript) -> bool:
    """A look at the text layer comes first: what is whole and adds up needs no picture read that lies behind it."""
    is_open = outcome.status is ResultStatus.NEEDS_REVIEW and outcome.reason is not ReviewReason.PAGE_AND_XML_DISAGREE
    return is_open and bool(transcript.pictured_pages)


def choose_pages(pictured: Sequence[int], limit: int) -> list[int]:
    """As many as are read: an invoice is in front, or its total on the last page."""
    if len(pictured) <= limit:
        return list(pictured)
    last = limit // 3
    return [*pictured[: limit - last], *pictured[len(pictured) - last :]]


def add_read_pages(transcript: Transcript, pages: Sequence[int], lines: Iterable[TextLine]) -> Transcript:
    """The transcript with what OCR read on `pages`; what it could not read stays `unread`."""
    by_page: dict[int, list[TextLine]] = {page: [] for page in pages}
    for line in lines:
        by_page[line.page].append(line)
    found = [line for page, read in by_page.items() for line in _join_lines(_list_lines(transcript, page), read)]
    others = [line for line in transcript.lines if line.page not in by_page]
    unread = [reason for reason in transcript.unread if reason not in _PICTURED]
    if doubtful := [page for page in pages if not _is_readable(by_page[page])]:
        has_text = any(by_page[page] for page in doubtful)
        without_text = ReviewReason.NO_TEXT_LAYER if transcript.content_type == PDF else ReviewReason.IMAGE_NEEDS_OCR
        unread.insert(0, ReviewReason.OCR_UNCERTAIN if has_text else without_text)
    left = tuple(page for page in transcript.pictured_pages if page not in by_page)
    if left and ReviewReason.PAGES_NOT_READ not in unread:
        unread.append(ReviewReason.PAGES_NOT_READ)
    if not all(line.is_visible for line in others):
        unread.insert(0, ReviewReason.TEXT_NOT_VISIBLE)
    ordered = sorted([*others, *found], key=lambda line: line.page)
    return replace(transcript, lines=tuple(ordered), unread=tuple(unread), pictured_pages=left)


def _list_lines(transcript: Transcript, page: int) -> list[TextLine]:
    """What OCR has read takes the place of what nobody sees."""
    return [line for line in transcript.lines if line.page == page and line.is_visible]


def _join_lines(own: Sequence[TextLine], read: Sequence[TextLine]) -> list[TextLine]:
    """What a text layer says is exact, and is kept where it is a page's text; beside it OCR adds what it lacks."""
    if sum(len(line.text) for line in own) < _OWN_TEXT:
        return list(read)
    added = [line for line in read if not any(_overlap(line, other) for other in own)]
    return sorted([*own, *added], key=lambda line: line.top)


def _overlap(line: TextLine, other: TextLine) -> bool:
    middle = line.top + line.height / 2
    return other.top - other.height / 2 <= middle <= other.top + 1.5 * other.height


def _is_readable(lines: Sequence[TextLine]) -> bool:
    cells = [cell for line in lines for cell in line.cells]
    letters = sum(len(cell.text) for cell in cells)
    return letters > 0 and sum(cell.confidence * len(cell.text) for cell in cells) >= _READABLE * letters
