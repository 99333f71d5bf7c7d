from dataclasses import replace

import pytest

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.ocr import ReadPages, add_read_pages, needs_ocr, plan_reading
from ingestion.domain.page_orientation import PageOrientation
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import JPEG, PDF, TextCell, TextLine, Transcript
from mailroom_common.events import ResultStatus

REVIEW = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.NO_TEXT_LAYER)
SCAN = Transcript(PDF, 1, unread=(ReviewReason.NO_TEXT_LAYER,), pictured_pages=(0,))
# A page of text with a scan attached.
PORTFOLIO = Transcript(PDF, 2, unread=(ReviewReason.EMBEDDED_FILES_NOT_READ,), pictured_pages=(1,), part_starts=(1,))


def line(text: str, *, page: int = 0, top: float = 10.0, confidence: float = 0.99) -> TextLine:
    return TextLine(page, top, 10.0, (TextCell(text, 0.0, 50.0, confidence),))


def test_a_page_that_is_a_picture_needs_ocr() -> None:
    assert needs_ocr(REVIEW, SCAN)
    assert not needs_ocr(REVIEW, Transcript(PDF, 1))


def test_pictures_behind_an_invoice_that_is_whole_are_not_read() -> None:
    assert not needs_ocr(DocumentOutcome(status=ResultStatus.COMPLETED), SCAN)


def test_e_invoices_of_which_a_person_chooses_one_need_no_picture_read() -> None:
    outcome = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.SEVERAL_E_INVOICES)
    assert not needs_ocr(outcome, SCAN)


@pytest.mark.parametrize(
    ("reason", "is_needed"),
    [(ReviewReason.EMBEDDED_FILES_NOT_READ, True), (ReviewReason.IBAN_NOT_ON_PAGE, False)],
)
def test_a_picture_in_a_file_in_the_file_is_read_only_where_it_is_missed(
    reason: ReviewReason, *, is_needed: bool
) -> None:
    """An attached scan could otherwise contradict an e-invoice of which an earlier one settles the account."""
    outcome = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=reason)
    assert needs_ocr(outcome, PORTFOLIO) is is_needed


@pytest.mark.parametrize(("has_unread_files", "unread"), [(False, ()), (True, (ReviewReason.EMBEDDED_FILES_NOT_READ,))])
def test_files_in_the_file_are_read_once_their_pictures_are_unless_nothing_reads_one_of_them(
    unread: tuple[ReviewReason, ...], *, has_unread_files: bool
) -> None:
    transcript = replace(PORTFOLIO, has_unread_files=has_unread_files)
    assert add_read_pages(transcript, ReadPages([1], [line("Invoice 7", page=1)])).unread == unread


def test_a_picture_in_a_file_in_the_file_without_letters_is_no_reason_against_the_pages() -> None:
    """What is said of a page of the document's own would make its e-invoice one that nobody can compare."""
    assert add_read_pages(PORTFOLIO, ReadPages([1])).unread == (ReviewReason.EMBEDDED_FILES_NOT_READ,)


def test_the_first_page_of_each_file_in_the_file_is_read_first() -> None:
    """Two scanned invoices are two: none completes before the other was seen."""
    assert plan_reading([1, 2, 3, 4, 5], 10, part_starts=[1, 3, 5]) == [[1, 3, 5], [4, 2]]
    assert plan_reading(range(1, 30), 4, part_starts=range(1, 30)) == [[1, 2, 3, 4]]
    assert plan_reading([0, 1, 2, 7, 8, 9], 5, part_starts=[5, 7]) == [[0, 7], [9, 1, 2]]


@pytest.mark.parametrize(
    ("pages", "limit", "parts"),
    [
        (1, 10, [[0]]),
        (2, 10, [[0], [1]]),
        (4, 10, [[0], [3, 1, 2]]),
        (20, 6, [[0], [19, 1, 2, 3, 18]]),
        (4, 2, [[0], [1]]),
        (4, 1, [[0]]),
    ],
)
def test_the_first_page_is_read_then_the_last_and_of_many_only_some_between(
    pages: int, limit: int, parts: list[list[int]]
) -> None:
    assert plan_reading(range(pages), limit) == parts


def test_a_page_that_was_read_is_no_longer_unread() -> None:
    read = add_read_pages(SCAN, ReadPages([0], [line("Invoice 7")]))
    assert (read.text, read.unread, read.pictured_pages) == ("Invoice 7", (), ())


def test_pages_with_text_stand_as_they_were_among_those_that_were_read() -> None:
    mixed = Transcript(PDF, 3, (line("first"), line("third", page=2)), pictured_pages=(1,))
    assert add_read_pages(mixed, ReadPages([1], [line("second", page=1)])).text == "first\nsecond\nthird"


def test_a_stamp_on_a_scan_gives_way_to_what_the_picture_shows() -> None:
    stamped = Transcript(PDF, 1, (line("Received"),), pictured_pages=(0,))
    assert add_read_pages(stamped, ReadPages([0], [line("RECEIVED Invoice 7")])).text == "RECEIVED Invoice 7"


def test_beside_a_text_of_its_own_a_page_gets_only_what_it_lacks() -> None:
    own = line("exact " * 50, top=10.0)
    page = Transcript(PDF, 1, (own,), pictured_pages=(0,))
    read = add_read_pages(page, ReadPages([0], [line("exaot", top=11.0), line("in the picture", top=80.0)]))
    assert [found.text for found in read.lines] == [own.text, "in the picture"]


def test_a_picture_without_text_is_still_not_read() -> None:
    assert add_read_pages(SCAN, ReadPages([0])).unread == (ReviewReason.NO_TEXT_LAYER,)
    photograph = Transcript(JPEG, 1, pictured_pages=(0,))
    assert add_read_pages(photograph, ReadPages([0])).unread == (ReviewReason.IMAGE_NEEDS_OCR,)


def test_the_empty_back_of_a_sheet_was_read() -> None:
    sheet = replace(SCAN, pages=2, pictured_pages=(0, 1))
    assert add_read_pages(sheet, ReadPages([0, 1], [line("Invoice 7")], blank=[1])).unread == ()


def test_a_picture_whose_letters_are_guessed_is_read_with_doubt() -> None:
    read = ReadPages([0], [line("lnv0ice", confidence=0.97)])
    assert add_read_pages(SCAN, read).unread == (ReviewReason.OCR_UNCERTAIN,)


def test_pictures_that_were_not_read_are_said() -> None:
    long = replace(SCAN, pages=2, pictured_pages=(0, 1))
    read = add_read_pages(long, ReadPages([0], [line("Invoice 7")]))
    assert (read.unread, read.pictured_pages) == ((ReviewReason.PAGES_NOT_READ,), (1,))


def test_a_page_of_which_a_part_was_read_is_said() -> None:
    read = ReadPages([0], [line("Invoice 7")], cut=[0])
    found = add_read_pages(SCAN, read)
    assert (found.unread, found.cut_pages) == ((ReviewReason.PAGES_NOT_READ,), (0,))


def test_what_a_page_hid_is_still_hidden_once_the_next_one_was_read() -> None:
    long = replace(SCAN, pages=2, pictured_pages=(0, 1))
    read = ReadPages([0]) + ReadPages([1], [line("Terms", page=1)])
    assert add_read_pages(long, read).unread == (ReviewReason.NO_TEXT_LAYER,)


def test_what_ocr_reads_takes_the_place_of_what_nobody_sees_and_the_rest_stays_a_proposal() -> None:
    hidden = [TextLine(page, 10.0, 10.0, (TextCell("x" * 300, 0.0, 90.0),)).hide() for page in (0, 1)]
    seen = TextLine(0, 10.0, 10.0, (TextCell("what the picture shows", 0.0, 90.0, 0.99),))
    transcript = Transcript(
        PDF, 2, tuple(hidden), unread=(ReviewReason.TEXT_NOT_VISIBLE, ReviewReason.NO_TEXT_LAYER), pictured_pages=(0, 1)
    )
    half = add_read_pages(transcript, ReadPages([0], [seen]))
    assert half.lines == (seen, hidden[1])
    assert half.unread[0] is ReviewReason.TEXT_NOT_VISIBLE
    whole = add_read_pages(transcript, ReadPages([0, 1], [seen]))
    assert whole.lines == (seen,)
    assert ReviewReason.TEXT_NOT_VISIBLE not in whole.unread


def test_a_page_that_was_cut_before_its_first_letter_is_said_to_be_unread_and_not_to_have_none() -> None:
    photograph = Transcript(JPEG, 1, pictured_pages=(0,))
    assert add_read_pages(photograph, ReadPages([0], cut=[0])).unread == (ReviewReason.PAGES_NOT_READ,)


def test_a_page_whose_own_text_stays_is_shown_as_it_stands() -> None:
    orientation = PageOrientation(1, 0.0, 842.0, 595.0)
    read = ReadPages([0], [line("in the picture", top=80.0)], orientations={0: orientation})
    assert add_read_pages(SCAN, read).orientations == {0: orientation}
    with_text = Transcript(PDF, 1, (line("exact " * 50, top=10.0),), pictured_pages=(0,))
    assert add_read_pages(with_text, read).orientations == {}
