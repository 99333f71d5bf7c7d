from io import BytesIO

import pytest
from reportlab.pdfgen.canvas import Canvas

from ingestion.readers import pdf_text
from ingestion.readers.letter_room import find_crowded

Box = tuple[float, float, float, float]


def place(step: float, width: float = 4.0, count: int = 8, height: float = 7.0) -> list[Box]:
    return [(index * step, 0.0, index * step + width, height) for index in range(count)]


@pytest.mark.parametrize("boxes", [place(5.5), place(2.2, width=0.7), place(0.5, count=4)])
def test_letters_with_room_beside_each_other_are_read(boxes: list[Box]) -> None:
    """Digits, a row of `l`, and too few to be sure."""
    assert not find_crowded(boxes).any()


@pytest.mark.parametrize("boxes", [place(0.5, width=0.4), place(1.0)])
def test_letters_on_a_heap_are_not_and_neither_is_what_is_squeezed_to_strokes(boxes: list[Box]) -> None:
    turned = [(bottom, left, top, right) for left, bottom, right, top in boxes]
    for either in (boxes, turned):
        assert find_crowded(either).all()
        assert find_crowded([*place(5.5), *((x0 + 100, y0, x1 + 100, y1) for x0, y0, x1, y1 in either)]).sum() == 8


def test_a_word_has_room_for_letters_that_stand_for_it_and_a_dot_has_none() -> None:
    assert not find_crowded([(0.0, 0.0, 40.0, 7.0)] * 8).any()
    assert find_crowded([(0.0, 0.0, 5.0, 5.0)] * 22).all()


def draw_accounts(scale: float, spacing: float) -> bytes:
    """A first account, of which an eye sees a stroke, and a second one that it reads."""
    file = BytesIO()
    canvas = Canvas(file)
    text = canvas.beginText(40, 700)
    text.setFont("Helvetica", 10)
    text.textOut("IBAN ")
    text.setHorizScale(scale)
    text.setCharSpace(spacing)
    text.textLine("DE02120300000000202051")
    text.setHorizScale(100)
    text.setCharSpace(0)
    text.textLine("IBAN DE88200800000970375700")
    canvas.drawText(text)
    canvas.save()
    return file.getvalue()


@pytest.mark.parametrize(("scale", "spacing"), [(5, 0), (10, 0), (20, 0), (100, -4.5)])
def test_an_account_that_an_eye_takes_for_a_stroke_is_none(scale: float, spacing: float) -> None:
    read = pdf_text.read_pdf_text(BytesIO(draw_accounts(scale, spacing)))
    text = " ".join(line.text for line in read.lines)
    assert "DE88200800000970375700" in text
    assert "DE021" not in text


def test_narrow_print_is_read() -> None:
    read = pdf_text.read_pdf_text(BytesIO(draw_accounts(50, 0)))
    assert "DE02120300000000202051" in " ".join(line.text for line in read.lines)


@pytest.mark.parametrize(("drawn", "is_read"), [("x", False), ("4937 0400 4405 3201 3009", True)])
def test_an_account_that_stands_for_a_dot_is_none(drawn: str, is_read: bool) -> None:
    """ActualText says what is drawn, and may say more."""
    file = BytesIO()
    canvas = Canvas(file)
    canvas._code.append("/Span <</ActualText (DE49370400440532013009)>> BDC")
    canvas.drawString(40, 700, drawn)
    canvas._code.append("EMC")
    canvas.save()
    text = " ".join(line.text for line in pdf_text.read_pdf_text(file).lines)
    assert ("DE49370400440532013009" in text) is is_read
