"""What a line strikes out is not what a page says: the value beside it is, or none."""

from collections.abc import Callable
from io import BytesIO

import pytest
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import MarkupAnnotation
from pypdf.generic import ArrayObject, FloatObject, NameObject
from reportlab.lib.colors import white
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ingestion.readers.pdf_text import PDFText, read_pdf_text

LEFT, BASELINE, RIGHT = 100, 700, 166  # of `RE-2026-4471` in 10 points


def read(paint: Callable[[Canvas], object], *, turn: int = 0) -> PDFText:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4)
    canvas.setPageRotation(turn)
    if turn:  # as programs write what is printed across
        canvas.translate(A4[0], 0)
        canvas.rotate(90)
        canvas.translate(0, -300)
    canvas.saveState()
    paint(canvas)
    canvas.restoreState()
    canvas.setFont("Helvetica", 10)
    canvas.drawString(40, BASELINE, "Invoice no.")
    canvas.drawString(LEFT, BASELINE, "RE-2026-4471")
    canvas.drawString(200, BASELINE, "RE-2026-4472")
    canvas.save()
    return read_pdf_text(BytesIO(file.getvalue()))


def draw_path(canvas: Canvas, *points: tuple[float, float]) -> None:
    path = canvas.beginPath()
    path.moveTo(*points[0])
    for point in points[1:]:
        path.lineTo(*point)
    canvas.drawPath(path)


def strike_with_two_lines(canvas: Canvas) -> None:
    canvas.lines([(LEFT, BASELINE + 2.5, RIGHT, BASELINE + 2.5), (LEFT, BASELINE + 4.5, RIGHT, BASELINE + 4.5)])


def strike_with_a_box(canvas: Canvas) -> None:
    canvas.rect(LEFT - 2, BASELINE + 3, RIGHT - LEFT + 4, 1, stroke=0, fill=1)


def strike_in_a_form(canvas: Canvas) -> None:
    canvas.beginForm("struck")
    canvas.line(0, 3, RIGHT - LEFT, 3)
    canvas.endForm()
    canvas.translate(LEFT, BASELINE)
    canvas.doForm("struck")


def cross_out_in_a_form(canvas: Canvas) -> None:
    canvas.beginForm("crossed")
    draw_path(canvas, (0, 0), (RIGHT - LEFT, 7))
    draw_path(canvas, (0, 7), (RIGHT - LEFT, 0))
    canvas.endForm()
    canvas.beginForm("outer")
    canvas.translate(LEFT, 0)
    canvas.doForm("crossed")
    canvas.endForm()
    canvas.translate(0, BASELINE)
    canvas.doForm("outer")


def scribble(canvas: Canvas) -> None:
    draw_path(canvas, *((LEFT + 3 * step, BASELINE + 2 + 3 * (step % 2)) for step in range(22)))


def strike_with_dashes(canvas: Canvas) -> None:
    canvas.setDash(2, 2)
    canvas.line(LEFT, BASELINE + 3, RIGHT, BASELINE + 3)


def strike_thickly(canvas: Canvas) -> None:
    canvas.setLineWidth(3.5)
    canvas.line(LEFT, BASELINE + 3, RIGHT, BASELINE + 3)


def strike_with_a_pale_hairline(canvas: Canvas) -> None:
    canvas.setLineWidth(0.5)
    canvas.setStrokeColorRGB(1, 0.6, 0.6)
    canvas.line(LEFT, BASELINE + 3, RIGHT, BASELINE + 3)


STRIKES: list[Callable[[Canvas], object]] = [
    lambda canvas: canvas.line(LEFT, BASELINE + 3, RIGHT, BASELINE + 3),
    lambda canvas: canvas.line(LEFT, BASELINE, RIGHT + 6, BASELINE + 7),
    lambda canvas: draw_path(canvas, (LEFT, BASELINE), (RIGHT, BASELINE + 7), (LEFT, BASELINE + 7), (RIGHT, BASELINE)),
    strike_with_two_lines,
    strike_with_a_box,
    strike_in_a_form,
    cross_out_in_a_form,
    scribble,
    lambda canvas: canvas.bezier(LEFT, BASELINE + 2, LEFT + 20, BASELINE + 6, LEFT + 45, BASELINE, RIGHT, BASELINE + 4),
    strike_with_dashes,
    strike_thickly,
    strike_with_a_pale_hairline,
]


@pytest.mark.parametrize("strike", STRIKES)
def test_a_word_that_a_line_goes_through_is_in_no_line_of_the_page(strike: Callable[[Canvas], object]) -> None:
    found = read(strike)
    assert [line.text for line in found.lines] == ["Invoice no. RE-2026-4472"]
    assert found.marks.struck_out == ("RE-2026-4471",)


def test_a_word_is_struck_out_on_a_page_that_was_turned_too() -> None:
    found = read(lambda canvas: canvas.line(LEFT, BASELINE + 3, RIGHT, BASELINE + 3), turn=90)
    assert [line.text for line in found.lines] == ["Invoice no. RE-2026-4472"]
    assert found.marks.struck_out == ("RE-2026-4471",)


def test_a_comment_strikes_out_what_it_lies_on() -> None:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4)
    canvas.setFont("Helvetica", 10)
    canvas.drawString(LEFT, BASELINE, "RE-2026-4471")
    canvas.save()
    writer = PdfWriter(PdfReader(file))
    comment = MarkupAnnotation()
    edges = (LEFT, BASELINE - 2, RIGHT + 6, BASELINE + 8)
    comment[NameObject("/Subtype")] = NameObject("/StrikeOut")
    comment[NameObject("/Rect")] = ArrayObject(map(FloatObject, edges))
    left, bottom, right, top = edges
    corners = (left, top, right, top, left, bottom, right, bottom)
    comment[NameObject("/QuadPoints")] = ArrayObject(map(FloatObject, corners))
    comment[NameObject("/C")] = ArrayObject(map(FloatObject, (1, 0, 0)))
    writer.add_annotation(0, comment)
    written = BytesIO()
    writer.write(written)
    found = read_pdf_text(written)
    assert ([line.text for line in found.lines], found.marks.struck_out) == ([], ("RE-2026-4471",))


def draw_behind_a_white_box(canvas: Canvas) -> None:
    """The line of a heading, which ends in front of it and begins again behind it."""
    canvas.line(20, BASELINE + 3, 280, BASELINE + 3)
    canvas.setFillColor(white)
    canvas.rect(38, BASELINE - 3, 230, 14, stroke=0, fill=1)


def draw_in_white(canvas: Canvas) -> None:
    canvas.setStrokeColor(white)
    canvas.line(LEFT, BASELINE + 3, RIGHT, BASELINE + 3)


def draw_a_table(canvas: Canvas) -> None:
    canvas.grid([LEFT - 3, 196, 300], [BASELINE - 3, BASELINE + 9, BASELINE + 21])


def draw_lines_of_a_table(canvas: Canvas) -> None:
    """One of which the row below came too near to."""
    for height in (BASELINE + 27, BASELINE + 15, BASELINE + 3):
        canvas.line(40, height, 520, height)


def draw_half_on_a_box(canvas: Canvas) -> None:
    canvas.setFillColorRGB(0.7, 0.8, 1)
    canvas.rect(LEFT - 10, BASELINE + 3, 200, 40, stroke=0, fill=1)


NO_STRIKES: list[Callable[[Canvas], object]] = [
    lambda canvas: canvas.line(LEFT, BASELINE - 1, RIGHT, BASELINE - 1),  # underlined
    lambda canvas: canvas.line(LEFT, BASELINE + 0.3, RIGHT, BASELINE + 0.3),  # so that it touches their feet
    lambda canvas: canvas.line(LEFT, BASELINE + 7, RIGHT, BASELINE + 7),
    lambda canvas: canvas.line(LEFT + 67, BASELINE + 3, 195, BASELINE + 3),  # between two words
    lambda canvas: canvas.line(LEFT, BASELINE + 3, LEFT + 15, BASELINE + 3),  # through two letters of twelve
    draw_behind_a_white_box,
    draw_in_white,
    draw_a_table,
    draw_lines_of_a_table,
    draw_half_on_a_box,
]


@pytest.mark.parametrize("draw", NO_STRIKES)
def test_a_line_below_above_or_beside_a_word_strikes_out_nothing(draw: Callable[[Canvas], object]) -> None:
    found = read(draw)
    assert "RE-2026-4471" in found.lines[0].text
    assert found.marks.struck_out == ()


def cross_out(canvas: Canvas) -> None:
    canvas.lines([(40, 40, 555, 800), (40, 800, 555, 40)])


def cross_out_the_words(canvas: Canvas) -> None:
    for row in range(20):
        canvas.drawString(40, 640 - 20 * row, "a row of the positions of an invoice, as long as the page is wide")
    canvas.line(40, 300, 330, 660)


def cross_out_what_is_empty(canvas: Canvas) -> None:
    """As bookkeepers do, so that nobody adds a row."""
    canvas.line(40, 60, 500, 600)


def draw_a_mark_that_is_cut_off(canvas: Canvas) -> None:
    path = canvas.beginPath()
    path.rect(20, 20, 40, 40)
    canvas.clipPath(path, stroke=0)
    canvas.lines([(0, 0, *A4), (0, A4[1], A4[0], 0)])


@pytest.mark.parametrize(
    ("draw", "is_crossed_out"),
    [
        (cross_out, True),
        (cross_out_the_words, True),
        (cross_out_what_is_empty, False),
        (draw_a_mark_that_is_cut_off, False),
        (strike_with_a_box, False),
    ],
)
def test_a_line_across_a_page_crosses_it_out(draw: Callable[[Canvas], object], *, is_crossed_out: bool) -> None:
    assert read(draw).marks.is_crossed_out is is_crossed_out


def test_no_more_words_are_named_than_a_person_looks_at() -> None:
    def strike_out_many(canvas: Canvas) -> None:
        for row in range(40):
            canvas.drawString(LEFT, 680 - 14 * row, f"Total {row}")
            canvas.line(LEFT, 683 - 14 * row, LEFT + 40, 683 - 14 * row)

    assert len(read(strike_out_many).marks.struck_out) == 20


def scribble_widely(canvas: Canvas) -> None:
    draw_path(canvas, (LEFT, BASELINE + 3), *((LEFT + 6 * step, BASELINE + 6 * (step % 2)) for step in range(1, 12)))


def strike_with_a_picture(canvas: Canvas) -> None:
    canvas.drawImage(ImageReader(Image.new("RGB", (200, 2))), LEFT, BASELINE + 3, RIGHT - LEFT, 1)


@pytest.mark.parametrize("strike", [scribble_widely, strike_with_a_picture])
def test_a_wide_scribble_and_a_picture_of_a_line_strike_out_too(strike: Callable[[Canvas], object]) -> None:
    assert read(strike).marks.struck_out == ("RE-2026-4471",)
