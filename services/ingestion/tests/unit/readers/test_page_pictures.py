from io import BytesIO

import pypdfium2
import pytest
from PIL import Image
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ingestion.domain.reasons import ReviewReason
from ingestion.readers.page_letters import read_letters
from ingestion.readers.page_pictures import find_unread_content, is_garbled

PICTURE = ImageReader(Image.new("L", (20, 20), 128))
WORDS = "These are the terms that apply to everything which is delivered by us. "


def look(*texts: str, pictures: list[tuple[float, float, float, float]] | None = None, strokes: int = 0) -> object:
    """The verdict on a page of 600 to 800 points with lines of text from its top, pictures and strokes."""
    file = BytesIO()
    canvas = Canvas(file, pagesize=(600, 800))
    for x, y, width, height in pictures or []:
        canvas.drawImage(PICTURE, x, y, width, height)
    for number, text in enumerate(texts):
        canvas.drawString(40, 760 - 14 * number, text)
    for number in range(strokes):
        canvas.line(40 + number, 100, 44 + number, 140)
    canvas.showPage()
    canvas.save()
    page = pypdfium2.PdfDocument(file.getvalue())[0]
    return find_unread_content(page, read_letters(page))


@pytest.mark.parametrize("text", ["", "Scanned by an app", "29.11.2026 10:31 +49 40 1234 S. 1/1"])
def test_a_scan_with_a_stamp_is_a_picture(text: str) -> None:
    assert look(text, pictures=[(0, 0, 600, 800)]) is ReviewReason.NO_TEXT_LAYER


def test_a_receipt_pasted_on_an_empty_page_is_a_picture() -> None:
    assert look("Receipt", pictures=[(200, 100, 250, 400)]) is ReviewReason.NO_TEXT_LAYER


def test_a_scan_under_a_letter_is_a_picture() -> None:
    assert look(*[WORDS] * 8, pictures=[(0, 0, 600, 500)]) is ReviewReason.NO_TEXT_LAYER


def test_a_scan_with_its_text_from_ocr_is_read() -> None:
    assert look(*[WORDS] * 8, pictures=[(0, 0, 600, 800)]) is None


def test_a_letter_with_a_logo_is_read() -> None:
    assert look(*[WORDS] * 8, pictures=[(400, 700, 150, 60)]) is None
    assert look("Hello", pictures=[(400, 700, 150, 60)]) is None


def test_letters_that_are_drawn_as_strokes_are_not_read() -> None:
    assert look("1", strokes=80) is ReviewReason.NO_TEXT_LAYER
    assert look(*[WORDS] * 8, strokes=80) is None


def test_a_blank_page_was_read() -> None:
    assert look() is None


@pytest.mark.parametrize("text", ["§$%&/()=?" * 10, "UHFKQXQJQXPPHU UHFKWVZHJ JHVDPW" * 4])
def test_letters_that_are_no_words_are_garbled(text: str) -> None:
    assert is_garbled(text.replace(" ", ""), lost=0)


def test_a_few_glyphs_without_a_meaning_are_no_text() -> None:
    assert is_garbled("1", lost=2)
    assert not is_garbled(WORDS, lost=2)


@pytest.mark.parametrize(
    "text",
    [
        WORDS,
        "Należność ogółem do zapłaty przelewem na rachunek bankowy w terminie czternastu dni od daty",
        "Zmrzlina čtvrt vlk prst skrz krk smrt plný hrst zrn strč prst skrz krk po celém městě Brno",
        "Τιμολόγιο παροχής υπηρεσιών προς τον πελάτη για τον μήνα Νοέμβριο σύμφωνα με τη σύμβαση μας",
        "請求書" * 40,
        "1.234,50 100,00 23,45 " * 10,
        "Total ............................................................. 300.00",
        "DE1",
    ],
)
def test_words_and_numbers_of_any_language_are_not(text: str) -> None:
    assert not is_garbled(text.replace(" ", ""), lost=0)
