import pytest

from ingestion.domain.missing_readers import MissingReaders, ReadingTraits, is_less_for_want
from ingestion.domain.reasons import DocumentSkipReason, Reason, ReviewReason
from ingestion.extract.rule_based import E_INVOICE_READER, LAYOUT_READER, OCR_READER
from ingestion.extract.trades.note import OCR_TRADE_READER, TRADE_READER

PICTURE_LEFT = MissingReaders(pictures=(0,), has_text=False)
NOTHING_READ = ReadingTraits(None, ReviewReason.NO_TEXT_LAYER)


@pytest.mark.parametrize(
    ("reader", "reason"),
    [
        (OCR_READER, None),
        (OCR_TRADE_READER, ReviewReason.TRADES_NOT_READ),
        ("ocr+layout-rules/3+gpt-9", None),
        (None, ReviewReason.OCR_UNCERTAIN),
        (None, DocumentSkipReason.NOT_AN_INVOICE),
        (None, DocumentSkipReason.NO_TRADE),
    ],
)
def test_a_reading_without_ocr_is_less_than_what_ocr_read(reader: str | None, reason: Reason | None) -> None:
    assert is_less_for_want(PICTURE_LEFT, NOTHING_READ, ReadingTraits(reader, reason))


@pytest.mark.parametrize(
    ("reader", "reason"),
    [
        (LAYOUT_READER, None),
        (None, ReviewReason.IMAGE_NEEDS_OCR),
        (None, ReviewReason.READER_LIMIT),
        (None, DocumentSkipReason.NOT_A_DOCUMENT),
    ],
)
def test_it_is_no_less_than_what_was_read_without_ocr(reader: str | None, reason: Reason | None) -> None:
    assert not is_less_for_want(PICTURE_LEFT, NOTHING_READ, ReadingTraits(reader, reason))


def test_a_newer_reader_that_finds_a_picture_beside_text_takes_back_that_the_document_was_skipped() -> None:
    reading = ReadingTraits(None, ReviewReason.TEXT_NOT_VISIBLE)
    former = ReadingTraits(None, DocumentSkipReason.NOT_AN_INVOICE)
    assert not is_less_for_want(MissingReaders(pictures=(1,)), reading, former)


def test_an_xml_whose_page_ocr_had_read_is_known_by_the_same_rules() -> None:
    reading = ReadingTraits(E_INVOICE_READER, ReviewReason.NO_TEXT_LAYER)
    left = MissingReaders(pictures=(0,))
    assert is_less_for_want(left, reading, ReadingTraits(E_INVOICE_READER, None))
    assert not is_less_for_want(left, reading, ReadingTraits("e-invoice/1", None))


def test_pages_that_ocr_had_left_before_are_no_loss_and_one_more_is() -> None:
    reading, former = ReadingTraits(OCR_READER, ReviewReason.PAGES_NOT_READ), ReadingTraits(OCR_READER, None, (7, 8))
    assert not is_less_for_want(MissingReaders(pictures=(7, 8)), reading, former)
    assert is_less_for_want(MissingReaders(pictures=(6, 7, 8)), reading, former)


@pytest.mark.parametrize("reader", ["layout-rules/7+gpt-9", "gpt-9", "ocr+layout-rules/7+vendor/model-2"])
def test_a_reading_without_a_model_is_less_than_what_a_model_helped_with(reader: str) -> None:
    missing, reading = MissingReaders(model=True), ReadingTraits(LAYOUT_READER, None)
    assert is_less_for_want(missing, reading, ReadingTraits(reader, None))
    assert not is_less_for_want(MissingReaders(), reading, ReadingTraits(reader, None))


@pytest.mark.parametrize(
    "reader",
    [None, LAYOUT_READER, OCR_READER, E_INVOICE_READER, TRADE_READER, OCR_TRADE_READER, "layout-rules/7+template/2"],
)
def test_our_own_readers_are_no_model(reader: str | None) -> None:
    missing = MissingReaders(model=True)
    assert not is_less_for_want(missing, ReadingTraits(LAYOUT_READER, None), ReadingTraits(reader, None))


def test_what_was_missing_is_said_in_a_sentence() -> None:
    assert MissingReaders().describe() is None
    assert "OCR" in (PICTURE_LEFT.describe() or "")
    assert "language model" in (MissingReaders(model=True).describe() or "")
