"""Who strikes out by hand draws from corner to corner; charts and logos have slanted lines too."""

from collections.abc import Callable
from io import BytesIO

import pytest
from reportlab.lib.colors import white
from reportlab.lib.pagesizes import A4
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen.canvas import Canvas

from ingestion.readers.pdf_text import PDFText, read_pdf_text

AMOUNT, LABEL = (300, 640), (100, 640)  # where `4,539.90` stands, 35 points wide, and its label
ROWS = 8


def read(paint: Callable[[Canvas], object]) -> PDFText:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4)
    canvas.setFont("Helvetica", 9)
    for row in range(ROWS):
        canvas.drawString(LABEL[0], LABEL[1] + 14 * row, "Total payable")
        canvas.drawString(AMOUNT[0], AMOUNT[1] + 14 * row, "4,539.90" if row == 0 else "100")
    paint(canvas)
    canvas.save()
    return read_pdf_text(BytesIO(file.getvalue()))


@pytest.mark.parametrize(
    "lines",
    [
        [(297, 635, 338, 651)],
        [(297, 651, 338, 635)],
        [(297, 622, 338, 663)],
        [(297, 636, 338, 650), (297, 650, 338, 636)],
    ],
)
def test_a_stroke_or_a_cross_over_a_value_strikes_it_out(lines: list[tuple[float, float, float, float]]) -> None:
    assert read(lambda canvas: canvas.lines(lines)).marks.struck_out == ("4,539.90",)


@pytest.mark.parametrize(
    "lines",
    [
        [(90, 635, 400, 750), (90, 750, 400, 635)],
        [(105, 635, 117, 750), (305, 635, 317, 750)],
    ],
)
def test_a_cross_or_strokes_over_several_rows_cross_out_the_page(
    lines: list[tuple[float, float, float, float]],
) -> None:
    assert read(lambda canvas: canvas.lines(lines)).marks.is_crossed_out


@pytest.mark.parametrize("digits", ["4", "4,5", "4,53"])
def test_a_line_through_some_digits_of_a_number_strikes_it_out(digits: str) -> None:
    start, end = AMOUNT[0], AMOUNT[0] + stringWidth(digits, "Helvetica", 9)
    assert read(lambda canvas: canvas.line(start, 643, end, 643)).marks.struck_out == ("4,539.90",)


def draw_chart(canvas: Canvas) -> None:
    for step in range(12):
        canvas.line(250 + 8 * step, 600 + 30 * (step % 2), 258 + 8 * step, 630 - 30 * (step % 2))


def draw_cross_beside(canvas: Canvas) -> None:
    canvas.lines([(200, 640, 210, 650), (200, 650, 210, 640)])


def draw_behind_a_box(canvas: Canvas) -> None:
    canvas.line(297, 635, 338, 651)
    canvas.setFillColor(white)
    canvas.rect(290, 630, 60, 30, stroke=0, fill=1)
    canvas.setFillGray(0)
    canvas.drawString(*AMOUNT, "4,539.90")


@pytest.mark.parametrize(
    "paint",
    [
        draw_chart,
        draw_cross_beside,
        draw_behind_a_box,
        lambda canvas: canvas.line(200, 600, 320, 638),
        lambda canvas: canvas.line(336, 640, 370, 670),
        lambda canvas: canvas.line(315, 643, 520, 643),
        lambda canvas: canvas.line(300, 638.5, 310, 638.5),
    ],
)
def test_slanted_lines_beside_words_of_drawings_and_underlines_strike_out_nothing(
    paint: Callable[[Canvas], object],
) -> None:
    marks = read(paint).marks
    assert (marks.struck_out, marks.is_crossed_out) == ((), False)


def test_a_page_with_many_slanted_lines_is_a_drawing() -> None:
    lines = [(297, 635, 338, 651), *((50 + 5 * step, 100, 60 + 5 * step, 140) for step in range(60))]
    assert read(lambda canvas: canvas.lines(lines)).marks.struck_out == ()
