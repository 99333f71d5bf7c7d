import pytest

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.ocr import add_read_pages, choose_pages, needs_ocr
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import JPEG, PDF, TextCell, TextLine, Transcript
from mailroom_common.events import ResultStatus

REVIEW = DocumentOutcome(status=ResultStatus.NEEDS_REVIEW, reason=ReviewReason.NO_TEXT_LAYER)
SCAN = Transcript(PDF, 1, unread=(ReviewReason.NO_TEXT_LAYER,), pictured_pages=(0,))


def line(text: str, *, page: int = 0, top: float = 10.0, confidence: float = 0.95) -> TextLine:
    return TextLine(page, top, 10.0, (TextCell(text, 0.0, 50.0, confidence),))


def test_a_page_that_is_a_picture_needs_ocr() -> None:
    assert needs_ocr(REVIEW, SCAN)
    assert not needs_ocr(REVIEW, Transcript(PDF, 1))


def test_pictures_behind_an_invoice_that_is_whole_are_not_read() -> None:
    assert not needs_ocr(DocumentOutcome(status=ResultStatus.COMPLETED), SCAN)


@pytest.mark.parametrize(
    ("pages", "limit", "chosen"), [(3, 10, [0, 1, 2]), (20, 6, [0, 1, 2, 3, 18, 19]), (4, 2, [0, 1]), (4, 1, [0])]
)
def test_of_many_pages_the_first_and_the_last_are_read(pages: int, limit: int, chosen: list[int]) -> None:
    assert choose_pages(range(pages), limit) == chosen


def test_a_page_that_was_read_is_no_longer_unread() -> None:
    read = add_read_pages(SCAN, [0], [line("Invoice 7")])
    assert (read.text, read.unread, read.pictured_pages) == ("Invoice 7", (), ())


def test_pages_with_text_stand_as_they_were_among_those_that_were_read() -> None:
    mixed = Transcript(PDF, 3, (line("first"), line("third", page=2)), pictured_pages=(1,))
    assert add_read_pages(mixed, [1], [line("second", page=1)]).text == "first\nsecond\nthird"


def test_a_stamp_on_a_scan_gives_way_to_what_the_picture_shows() -> None:
    stamped = Transcript(PDF, 1, (line("Received"),), pictured_pages=(0,))
    assert add_read_pages(stamped, [0], [line("RECEIVED Invoice 7")]).text == "RECEIVED Invoice 7"


def test_beside_a_text_of_its_own_a_page_gets_only_what_it_lacks() -> None:
    own = line("exact " * 50, top=10.0)
    page = Transcript(PDF, 1, (own,), pictured_pages=(0,))
    read = add_read_pages(page, [0], [line("exaot", top=11.0), line("in the picture", top=80.0)])
    assert [found.text for found in read.lines] == [own.text, "in the picture"]


def test_a_picture_without_text_is_still_not_read() -> None:
    assert add_read_pages(SCAN, [0], []).unread == (ReviewReason.NO_TEXT_LAYER,)
    assert add_read_pages(Transcript(JPEG, 1, pictured_pages=(0,)), [0], []).unread == (ReviewReason.IMAGE_NEEDS_OCR,)


def test_a_picture_whose_letters_are_guessed_is_read_with_doubt() -> None:
    assert add_read_pages(SCAN, [0], [line("lnv0ice", confidence=0.5)]).unread == (ReviewReason.OCR_UNCERTAIN,)


def test_pictures_beyond_the_limit_are_said() -> None:
    long = Transcript(PDF, 2, unread=(ReviewReason.NO_TEXT_LAYER,), pictured_pages=(0, 1))
    assert add_read_pages(long, [0], [line("Invoice 7")]).unread == (ReviewReason.PAGES_NOT_READ,)
