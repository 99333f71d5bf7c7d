"""Which pages OCR reads, and what a transcript is once they were read. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.page_orientation import PageOrientation
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import PDF, TextLine, Transcript
from mailroom_common.events import ResultStatus

# Letters beside a picture from which on they are a page's own text, which OCR only adds to.
_OWN_TEXT = 250
# A page whose letters are less certain than this on the average has words with other letters than were printed: labels
# that nobody knows again, and names that look right. Clear pages have 0.985 and more.
_READABLE = 0.98
_PICTURED = frozenset(
    {
        ReviewReason.NO_TEXT_LAYER,
        ReviewReason.TEXT_NOT_VISIBLE,
        ReviewReason.TEXT_GARBLED,
        ReviewReason.IMAGE_NEEDS_OCR,
    }
)


# A person has to see these, whatever a picture says.
_FOR_A_PERSON = frozenset(
    {ReviewReason.PAGE_AND_XML_DISAGREE, ReviewReason.SEVERAL_E_INVOICES, ReviewReason.EXTRACTION_TOO_LARGE}
)


def needs_ocr(outcome: DocumentOutcome, transcript: Transcript) -> bool:
    """A look at what can be read at once comes first: what is whole and adds up needs no picture read that lies behind
    it, whether that was read in a text layer or on the first page. A picture in a file in the file is read where that
    it was not read is the reason: to an invoice that a person has to see for another one it adds nothing but doubt."""
    if not wants_pictures(outcome):
        return False
    may_be_in_files = outcome.reason in transcript.unread
    return any(may_be_in_files or transcript.is_own_page(page) for page in transcript.pictured_pages)


def wants_pictures(outcome: DocumentOutcome) -> bool:
    """Whether what pictures show may change the outcome."""
    return outcome.status is ResultStatus.NEEDS_REVIEW and outcome.reason not in _FOR_A_PERSON


def is_scan(transcript: Transcript) -> bool:
    """Whether all pages are pictures, of a document that nothing was read of yet: any of them may be a paper of its
    own."""
    return len({*transcript.pictured_pages}) >= transcript.pages


@dataclass(frozen=True, slots=True)
class ReadPages:
    """What OCR made of some pages of a document: `pages` were looked at, and of those in `cut` only a part was read.
    In `blank` there is nothing to read. `orientations` say how they were turned."""

    pages: Sequence[int]
    lines: Sequence[TextLine] = ()
    cut: Sequence[int] = ()
    blank: Sequence[int] = ()
    orientations: Mapping[int, PageOrientation] = field(default_factory=dict)

    def __add__(self, other: "ReadPages") -> "ReadPages":
        return ReadPages(
            [*self.pages, *other.pages],
            [*self.lines, *other.lines],
            [*self.cut, *other.cut],
            [*self.blank, *other.blank],
            {**self.orientations, **other.orientations},
        )


def plan_reading(pictured: Sequence[int], limit: int, part_starts: Sequence[int] = ()) -> list[list[int]]:
    """The pages that are read, in parts: the first one may say all that is asked, and spare the others. With it comes
    the first page of each file in the file: they may be different invoices, of which none is passed over.

    Of many pages as many as are allowed: an invoice is in front, or its total on the last page, which is read second.
    """
    first = [page for place, page in enumerate(pictured) if not place or page in part_starts][:limit]
    pages = [page for page in pictured if page not in first]
    if len(pages) > (left := limit - len(first)):
        last = min(limit // 3, left)
        pages = [*pages[: left - last], *pages[len(pages) - last :]]
    return [part for part in (first, [*pages[-1:], *pages[:-1]]) if part]


def add_read_pages(transcript: Transcript, read: ReadPages) -> Transcript:
    """The transcript with all that OCR read so far, as it was without any; what it could not read stays `unread`."""
    by_page: dict[int, list[TextLine]] = {page: [] for page in read.pages}
    for line in read.lines:
        by_page[line.page].append(line)
    found = [line for page, new in by_page.items() for line in _join_lines(_list_lines(transcript, page), new)]
    others = [line for line in transcript.lines if line.page not in by_page]
    left = tuple(page for page in transcript.pictured_pages if page not in by_page)
    ordered = sorted([*others, *found], key=lambda line: line.page)
    return replace(
        transcript,
        lines=tuple(ordered),
        unread=tuple(dict.fromkeys(_list_unread(transcript, read, by_page, is_all=not left))),
        pictured_pages=left,
        cut_pages=tuple(sorted(read.cut)),
        orientations=_find_orientations(by_page, transcript, read),
    )


def _find_orientations(
    by_page: Mapping[int, Sequence[TextLine]], transcript: Transcript, read: ReadPages
) -> Mapping[int, PageOrientation]:
    """Not of a page that has lines of its text layer too: those stand as the page is shown."""
    own = {line.page for line in transcript.lines if line.is_visible and not _gives_way(transcript, line.page)}
    return {page: orientation for page, orientation in read.orientations.items() if page in by_page and page not in own}


def _gives_way(transcript: Transcript, page: int) -> bool:
    """Whether so little of a page is text of its own that OCR takes its place."""
    return sum(len(line.text) for line in _list_lines(transcript, page)) < _OWN_TEXT


def _list_unread(
    transcript: Transcript, read: ReadPages, by_page: Mapping[int, Sequence[TextLine]], *, is_all: bool
) -> list[ReviewReason]:
    solved = _PICTURED if transcript.has_unread_files else _PICTURED | {ReviewReason.EMBEDDED_FILES_NOT_READ}
    unread = [reason for reason in transcript.unread if reason not in solved]
    # Of a page that was cut before any of its text was read, nobody knows whether it has letters.
    silent = {*read.blank, *(page for page in read.cut if not by_page[page])}
    if doubtful := [page for page in read.pages if page not in silent and not _is_readable(by_page[page])]:
        unread.insert(0, _name_doubt(transcript, doubtful, has_text=any(by_page[page] for page in doubtful)))
    if (read.cut or not is_all) and ReviewReason.PAGES_NOT_READ not in unread:
        unread.append(ReviewReason.PAGES_NOT_READ)
    if not all(line.is_visible for line in transcript.lines if line.page not in by_page):
        unread.insert(0, ReviewReason.TEXT_NOT_VISIBLE)
    return unread


def _name_doubt(transcript: Transcript, doubtful: Sequence[int], *, has_text: bool) -> ReviewReason:
    if has_text:
        return ReviewReason.OCR_UNCERTAIN
    if not any(map(transcript.is_own_page, doubtful)):
        return ReviewReason.EMBEDDED_FILES_NOT_READ
    return ReviewReason.NO_TEXT_LAYER if transcript.content_type == PDF else ReviewReason.IMAGE_NEEDS_OCR


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
    words = [word for line in lines for cell in line.cells for word in cell.list_words()]
    letters = sum(len(word) for word, _ in words)
    return letters > 0 and sum(confidence * len(word) for word, confidence in words) >= _READABLE * letters
