"""Words across a page are none of its lines, and are kept: a stamp may take back what the lines say."""

from io import BytesIO
from typing import Any

import pytest
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

from ingestion.domain.page_marks import Stamp
from ingestion.readers.pdf_text import PDFText, read_pdf_text


def read(text: str, *, angle: float = 45, size: float = 60, grey: float = 0.4, again: int = 1) -> PDFText:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4)
    canvas.setFont("Helvetica", 10)
    for row in range(12):
        canvas.drawString(60, 780 - 20 * row, "Invoice no. RE-2026-4471")
    canvas.setFillGray(grey)
    canvas.setFont("Helvetica", size)
    for number in range(again):
        canvas.saveState()
        canvas.translate(300, 200 + 250 * number)
        canvas.rotate(angle)
        canvas.drawCentredString(0, 0, text)
        canvas.restoreState()
    canvas.save()
    return read_pdf_text(BytesIO(file.getvalue()))


@pytest.mark.parametrize("angle", [45, -30, 12, 135, 200])
@pytest.mark.parametrize("text", ["VOID", "NOT FOR PAYMENT"])
def test_large_words_across_the_page_are_a_stamp(text: str, angle: float) -> None:
    found = read(text, angle=angle, size=36)
    assert found.marks.stamps == (Stamp(text, is_large=True),)
    assert {line.text for line in found.lines} == {"Invoice no. RE-2026-4471"}


def test_a_watermark_that_stands_on_the_page_often_is_one_stamp() -> None:
    assert read("DRAFT", again=2).marks.stamps == (Stamp("DRAFT", is_large=True),)


@pytest.mark.parametrize("form", [{"size": 12}, {"angle": 90, "size": 20}, {"grey": 0.9, "size": 14}])
def test_small_words_those_up_the_margin_and_small_pale_ones_are_not_large(form: dict[str, Any]) -> None:
    assert read("DRAFT", **form).marks.stamps == (Stamp("DRAFT", is_large=False),)


@pytest.mark.parametrize("form", [{"grey": 0.9}, {"angle": 90}, {"size": 14, "angle": 12}])
def test_a_pale_watermark_large_words_up_the_margin_and_a_small_stamp_alone_are_large(form: dict[str, Any]) -> None:
    assert read("DRAFT", **form).marks.stamps == (Stamp("DRAFT", is_large=True),)


def test_words_side_by_side_in_one_direction_are_labels_of_a_chart() -> None:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4)
    canvas.setFont("Helvetica", 10)
    for row in range(12):
        canvas.drawString(60, 780 - 20 * row, "Invoice no. RE-2026-4471")
    canvas.setFont("Helvetica", 14)
    for number, month in enumerate(("January", "February", "March")):
        canvas.saveState()
        canvas.translate(100 + 60 * number, 300)
        canvas.rotate(45)
        canvas.drawString(0, 0, month)
        canvas.restoreState()
    canvas.save()
    assert not any(stamp.is_large for stamp in read_pdf_text(BytesIO(file.getvalue())).marks.stamps)


def test_letters_each_of_which_has_its_own_direction_are_no_word() -> None:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4)
    canvas.setFont("Helvetica", 30)
    for number, letter in enumerate("SEAL OF THE COMPANY"):
        canvas.saveState()
        canvas.translate(300, 400)
        canvas.rotate(200 - 15 * number)
        canvas.drawString(80, 0, letter)
        canvas.restoreState()
    canvas.save()
    assert read_pdf_text(BytesIO(file.getvalue())).marks.stamps == ()
