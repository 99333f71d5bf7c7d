"""Whoever sends a page may tell a machine one account and a person another: what nobody sees is not the page's."""

from collections.abc import Callable
from io import BytesIO
from string import ascii_letters
from typing import Any
from unittest.mock import Mock

import orjson
import pytest
from generated_invoices import CII, text_page
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, NumberObject, StreamObject
from reportlab.lib.colors import Color
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from ingestion.domain.transcript import Transcript
from ingestion.extract.rule_based import extract_invoice
from ingestion.readers import letter_layers, page_visibility
from ingestion.readers.document import transcribe_document
from ingestion.readers.pdf_text import read_pdf_text

ACCOUNT = "DE02120300000000202051"
_WHITE, _BLACK = Color(1, 1, 1), Color(0, 0, 0)


def draw_page(paint: Callable[[Canvas], None]) -> bytes:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4, invariant=True)
    canvas.setFont("Helvetica", 10)
    canvas.drawString(40, 760, "Invoice RE-1")
    paint(canvas)
    canvas.save()
    return file.getvalue()


def write_white_on_white(canvas: Canvas) -> None:
    canvas.setFillColor(_WHITE)
    canvas.drawString(40, 700, ACCOUNT)


def write_almost_white(canvas: Canvas) -> None:
    canvas.setFillColor(Color(0.97, 0.97, 0.97))
    canvas.drawString(40, 700, ACCOUNT)


def write_pale(canvas: Canvas) -> None:
    """Whoever looks for it finds it, and nobody looks for it."""
    canvas.setFillColor(Color(0.86, 0.86, 0.86))
    canvas.drawString(40, 700, ACCOUNT)


def write_transparent(canvas: Canvas) -> None:
    canvas.setFillAlpha(0)
    canvas.drawString(40, 700, ACCOUNT)


def write_in_invisible_mode(canvas: Canvas) -> None:
    canvas.drawString(40, 700, ACCOUNT, mode=3)


def write_behind_a_box(canvas: Canvas) -> None:
    canvas.drawString(40, 700, ACCOUNT)
    canvas.setFillColor(Color(0.9, 0.9, 1))
    canvas.rect(30, 690, 300, 30, stroke=0, fill=1)


def write_behind_a_picture(canvas: Canvas) -> None:
    canvas.drawString(40, 700, ACCOUNT)
    canvas.drawImage(ImageReader(Image.effect_noise((60, 6), 90)), 30, 690, 300, 30)


def write_beside_the_page(canvas: Canvas) -> None:
    canvas.drawString(A4[0] + 40, 700, ACCOUNT)


def write_outside_of_the_clip(canvas: Canvas) -> None:
    path = canvas.beginPath()
    path.rect(0, 0, 10, 10)
    canvas.clipPath(path, stroke=0, fill=0)
    canvas.drawString(40, 700, ACCOUNT)


def write_as_small_as_a_dot(canvas: Canvas) -> None:
    canvas.setFont("Helvetica", 0.4)
    canvas.drawString(40, 700, ACCOUNT)


def write_too_small_to_be_read(canvas: Canvas) -> None:
    canvas.setFont("Helvetica", 3)
    canvas.drawString(40, 700, ACCOUNT)


def write_under_another_line(canvas: Canvas) -> None:
    """White letters among those of a line that is seen: the ink at their place is not theirs."""
    canvas.setFillColor(_WHITE)
    canvas.drawString(40, 704.5, ACCOUNT)
    canvas.setFillColor(_BLACK)
    canvas.drawString(38, 700, "Goods stay ours until they are paid in full")


def write_with_the_feet_on_another_line(canvas: Canvas) -> None:
    """A quarter of their place has ink that is not theirs."""
    canvas.setFillColor(_WHITE)
    canvas.drawString(40, 705.8, ACCOUNT)
    canvas.setFillColor(_BLACK)
    canvas.drawString(40, 700, "MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM")


def write_under_a_stamp(canvas: Canvas) -> None:
    canvas.setFillColor(_WHITE)
    canvas.drawString(60, 708, ACCOUNT)
    canvas.setFont("Helvetica-Bold", 60)
    canvas.setFillColor(Color(0, 0, 0.6))
    canvas.drawString(40, 695, "MMMMM")


def write_below_a_thick_line_of_text(canvas: Canvas) -> None:
    """A mark hides as well as a letter does: the place looks another way without both, as it would without the mark."""
    canvas.drawString(60, 700, ACCOUNT)
    canvas.setFont("Helvetica-Bold", 200)
    canvas.drawString(40, 649, "\u2014\u2014")


def write_below_a_huge_letter(canvas: Canvas) -> None:
    """It has room for more than the account, so that most of its own place is free."""
    canvas.setFont("Helvetica", 7)
    canvas.drawString(95, 200, ACCOUNT)
    canvas.drawString(40, 700, "Payable within ten days")
    canvas.setFont("Helvetica-Bold", 900)
    canvas.drawString(20, 60, "H")


@pytest.mark.parametrize(
    "write",
    [
        write_below_a_thick_line_of_text,
        write_below_a_huge_letter,
        write_white_on_white,
        write_almost_white,
        write_pale,
        write_transparent,
        write_in_invisible_mode,
        write_behind_a_box,
        write_behind_a_picture,
        write_beside_the_page,
        write_outside_of_the_clip,
        write_as_small_as_a_dot,
        write_too_small_to_be_read,
        write_under_another_line,
        write_with_the_feet_on_another_line,
        write_under_a_stamp,
    ],
)
def test_text_that_nobody_sees_is_not_the_pages(write: Callable[[Canvas], None]) -> None:
    text = read_visible_text(draw_page(write))
    assert "Invoice RE-1" in text
    assert ACCOUNT not in text.replace(" ", "")


def read_visible_text(pdf: bytes) -> str:
    return " ".join(line.text for line in read_pdf_text(BytesIO(pdf)).lines if line.is_visible)


def add_content(page: bytes, content: bytes, charprocs: dict[str, bytes]) -> bytes:
    """The page with more drawn upon it; `charprocs` are the letters of a font of its own, `/Own`."""
    writer = PdfWriter(clone_from=BytesIO(page))
    names = {name: writer._add_object(_stream(drawing)) for name, drawing in charprocs.items()}
    font = DictionaryObject()
    font.update(
        {
            NameObject("/Type"): NameObject("/Font"),
            NameObject("/Subtype"): NameObject("/Type3"),
            NameObject("/FontBBox"): ArrayObject([NumberObject(n) for n in (0, 0, 1000, 1000)]),
            NameObject("/FontMatrix"): ArrayObject([FloatObject(n) for n in (0.001, 0, 0, 0.001, 0, 0)]),
            NameObject("/CharProcs"): DictionaryObject({NameObject(name): names[name] for name in names}),
            NameObject("/Encoding"): DictionaryObject(
                {
                    NameObject("/Type"): NameObject("/Encoding"),
                    NameObject("/Differences"): ArrayObject([NumberObject(32), *map(NameObject, names)]),
                }
            ),
            NameObject("/FirstChar"): NumberObject(32),
            NameObject("/LastChar"): NumberObject(31 + len(names)),
            NameObject("/Widths"): ArrayObject([NumberObject(1000)] * len(names)),
        }
    )
    target = writer.pages[0]
    fonts = target["/Resources"]["/Font"].get_object()  # type: ignore[index]  # the stubs know objects only
    fonts[NameObject("/Own")] = writer._add_object(font)
    more = _stream(target.get_contents().get_data() + b"\n" + content)  # type: ignore[union-attr]
    target[NameObject("/Contents")] = writer._add_object(more)
    writer.write(file := BytesIO())
    return file.getvalue()


def _stream(content: bytes) -> StreamObject:
    stream = StreamObject()
    stream.set_data(content)
    return stream


BLOCK = b"1000 0 0 0 1000 1000 d1 0 0 1000 1000 re f"


def test_what_a_blank_covers_is_not_seen_where_its_font_draws_blanks_as_blocks() -> None:
    """The text layer has no letter there, so that nothing would be known to stand on the account."""
    plain = draw_page(lambda canvas: canvas.drawString(40, 700, ACCOUNT))
    covered = add_content(plain, b"BT /Own 20 Tf 30 695 Td (" + b" " * 12 + b") Tj ET", {"/space": BLOCK})
    assert ACCOUNT in read_visible_text(plain)
    assert "Invoice RE-1" in read_visible_text(covered)
    assert ACCOUNT not in read_visible_text(covered)


def write_white_on_black(canvas: Canvas) -> None:
    canvas.rect(30, 690, 300, 30, stroke=0, fill=1)
    write_white_on_white(canvas)


def write_twice_for_bold(canvas: Canvas) -> None:
    canvas.drawString(40, 700, ACCOUNT)
    canvas.drawString(40.4, 700, ACCOUNT)


def write_in_grey(canvas: Canvas) -> None:
    canvas.setFillColor(Color(0.7, 0.7, 0.7))
    canvas.setFont("Helvetica", 6)
    canvas.drawString(40, 700, ACCOUNT)


def write_over_a_watermark(canvas: Canvas) -> None:
    canvas.setFont("Helvetica-Bold", 80)
    canvas.setFillColor(Color(0.85, 0.85, 0.85))
    canvas.drawString(20, 680, "COPY")
    canvas.setFont("Helvetica", 10)
    canvas.setFillColor(_BLACK)
    canvas.drawString(40, 700, ACCOUNT)


@pytest.mark.parametrize("write", [write_white_on_black, write_twice_for_bold, write_in_grey, write_over_a_watermark])
def test_text_that_is_seen_is_the_pages_however_it_is_drawn(write: Callable[[Canvas], None]) -> None:
    assert ACCOUNT in " ".join(line.text for line in read_pdf_text(BytesIO(draw_page(write))).lines).replace(" ", "")


@pytest.mark.parametrize("font", ["Helvetica", "Courier"])
def test_small_print_has_all_its_letters(font: str) -> None:
    """Those without ascenders are half as high as those of an account, and so are raised ones."""
    terms = "we serve our mouse a xenon cruise, n.º 17 - see www.example.com"

    def write(canvas: Canvas) -> None:
        canvas.setFont(font, 5)
        canvas.drawString(40, 700, terms)

    assert terms in [line.text for line in read_pdf_text(BytesIO(draw_page(write))).lines]


def write_glyph_by_glyph(canvas: Canvas, x: float, y: float, text: str, font: str, size: float) -> None:
    """As Chrome does where a size is no whole number of pixels: each glyph is a text object of its own."""
    canvas.setFont(font, size)
    for glyph in text:
        canvas.drawString(x, y, glyph)
        x += canvas.stringWidth(glyph, font, size)


@pytest.mark.parametrize("size", [6, 6.5, 7, 8, 9.5])
@pytest.mark.parametrize("font", ["Helvetica", "Times-Roman"])
def test_no_glyph_is_lost_beside_others_that_are_drawn_by_themselves(font: str, size: float) -> None:
    """Narrow ones share pixels with their neighbours, and stand on none of them."""
    written = ["Invoice RE111-11 of 11/11/2026", "Total 1,111.11 IT11I1111", "fatturato attivit al capital till Rif."]

    def write(canvas: Canvas) -> None:
        for number, line in enumerate(written):
            write_glyph_by_glyph(canvas, 40, 700 - number * 12, line, font, size)

    assert [line.text for line in read_pdf_text(BytesIO(draw_page(write))).lines][1:] == written


@pytest.mark.parametrize("size", [3.4, 3.5, 3.52, 3.55, 3.6])
def test_a_number_in_the_smallest_print_is_read_with_all_its_digits_or_with_none(size: float) -> None:
    def write(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", size)
        canvas.drawString(40, 700, "1100117")

    assert read_visible_text(draw_page(write)) in ("Invoice RE-1", "Invoice RE-1 1100117")


def test_pale_glyphs_that_are_drawn_by_themselves_are_seen_as_those_of_a_whole_word_are() -> None:
    """One that shares pixels with a neighbour is not taken for one that may be hidden below another."""
    small_print = "Wir liefern nach unseren Bedingungen, Rif. 1171"

    def write(canvas: Canvas) -> None:
        canvas.setFillColor(Color(0.6, 0.6, 0.6))
        write_glyph_by_glyph(canvas, 40, 700, small_print, "Times-Roman", 5)

    assert read_visible_text(draw_page(write)) == f"Invoice RE-1 {small_print}"


@pytest.mark.parametrize(("below", "above", "beside"), [("F", "E", 0.0), ("3", "8", 0.0), ("3", "8", 0.1)])
def test_black_glyphs_below_black_ones_are_not_seen_by_their_edges(below: str, above: str, beside: float) -> None:
    def write(canvas: Canvas) -> None:
        canvas.setFont("Helvetica-Bold", 9.8)
        for at in range(12):
            canvas.drawString(40 + at * 11 + beside, 700, below)
            canvas.drawString(40 + at * 11, 700, above)

    assert read_visible_text(draw_page(write)).count(below) == 0


def test_a_line_with_a_word_that_may_have_lost_a_letter_is_no_more_than_a_proposal() -> None:
    """So many letters lie on the last digits that nobody knows which of them are seen."""

    def write(canvas: Canvas) -> None:
        canvas.drawString(40, 740, "Number RE111-1")
        canvas.drawString(40 + canvas.stringWidth("Number RE111-1"), 740, "1")
        for glyph in "ABCDEFGH":
            canvas.drawString(40 + canvas.stringWidth("Number RE111-1"), 740, glyph)
        canvas.drawString(40, 700, "Total 12.00")

    answer: Any = transcribe_document(BytesIO(draw_page(write)), {})
    transcript = Transcript.from_json(answer)
    assert [line.text for line in transcript.lines if line.is_visible] == ["Invoice RE-1", "Total 12.00"]
    assert (transcript.unread, transcript.pictured_pages) == (("text_not_visible",), (0,))


def test_a_white_account_between_glyphs_that_are_drawn_by_themselves_is_not_seen() -> None:
    shown = "fill till the bill is illicit, little Lilli"

    def write(canvas: Canvas) -> None:
        canvas.setFillColor(_WHITE)
        write_glyph_by_glyph(canvas, 40, 700, "DE11 1111 1111 1111 1111 11", "Helvetica", 6.5)
        canvas.setFillColor(_BLACK)
        write_glyph_by_glyph(canvas, 41, 700, shown, "Helvetica", 6.5)

    assert read_visible_text(draw_page(write)) == f"Invoice RE-1 {shown}"


def test_a_white_digit_between_digits_that_are_seen_makes_no_larger_amount() -> None:
    """It stands where a blank parts the thousands."""

    def write(canvas: Canvas) -> None:
        canvas.drawString(40, 700, "Total 2")
        canvas.drawString(40 + canvas.stringWidth("Total 2 "), 700, "000.00")
        canvas.setFillColor(_WHITE)
        canvas.drawString(40 + canvas.stringWidth("Total 2") - 1, 700, "1")

    assert "21000" not in read_visible_text(draw_page(write)).replace(" ", "")


def add_account(page: bytes, hidden: str) -> bytes:
    """The page with an account that is seen, and another one that is not."""
    canvas = Canvas(over := BytesIO(), pagesize=A4, invariant=True)
    canvas.drawString(40, 300, "IBAN DE89370400440532013000")
    canvas.setFillColor(_WHITE)
    canvas.drawString(40, 280, f"IBAN {hidden}")
    canvas.save()
    writer = PdfWriter(clone_from=BytesIO(page))
    writer.pages[0].merge_page(PdfReader(over).pages[0])
    writer.write(file := BytesIO())
    return file.getvalue()


def find_doubts(pdf: bytes) -> Any:
    transcript = orjson.dumps(transcribe_document(BytesIO(pdf), {}))
    answer: Any = extract_invoice(BytesIO(transcript), {})
    return answer["doubts"]


def test_an_xml_that_agrees_with_nothing_but_hidden_text_is_not_believed() -> None:
    """Otherwise an account of the sender's is paid, and the page that was approved shows another one."""
    shown, hidden = CII(iban="DE89370400440532013000"), CII(iban=ACCOUNT)
    assert find_doubts(shown.pdf(add_account(CII(iban=None).page(), ACCOUNT))) == []
    assert find_doubts(hidden.pdf(add_account(CII(iban=None).page(), ACCOUNT))) == ["iban"]


@pytest.mark.parametrize("top", [760, 820])
def test_an_account_in_tiny_print_is_not_the_one_that_is_paid(top: int) -> None:
    """Where a machine looks first, beside the headline too, and as pale as it can be seen."""

    def write_two_accounts(canvas: Canvas) -> None:
        canvas.drawString(40, 300, "IBAN DE89 3704 0044 0532 0130 00")
        canvas.setFont("Helvetica", 4)
        canvas.setFillColor(Color(0.8, 0.8, 0.8))
        canvas.drawString(104, top, "IBAN DE02 1203 0000 0000 2020 51")

    transcript = orjson.dumps(transcribe_document(BytesIO(draw_page(write_two_accounts)), {}))
    answer: Any = extract_invoice(BytesIO(transcript), {})
    assert answer["extraction"]["iban"] == "DE89370400440532013000"


def test_letters_that_nobody_sees_on_a_picture_are_a_proposal_for_a_person() -> None:
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4, invariant=True)
    canvas.drawImage(ImageReader(Image.new("L", (60, 80), 230)), 0, 0, *A4)
    for number in range(30):
        canvas.drawString(40, 780 - number * 20, f"Line {number} of what somebody's OCR has read", mode=3)
    canvas.save()
    answer: Any = transcribe_document(BytesIO(file.getvalue()), {})
    transcript = Transcript.from_json(answer)
    assert transcript.unread[0] == "text_not_visible"
    assert transcript.pictured_pages == (0,)
    assert len(transcript.lines) == 30
    assert not transcript.drop_hidden_lines().lines


def test_a_page_of_plain_text_has_nothing_hidden() -> None:
    assert [line.text for line in read_pdf_text(BytesIO(text_page("Total  1,234.56 EUR"))).lines] == [
        "Total 1,234.56 EUR"
    ]


def test_where_no_text_stands_on_another_no_letter_is_looked_at_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    look_at = Mock(return_value=[])
    monkeypatch.setattr(letter_layers, "_find_others", look_at)
    assert read_pdf_text(BytesIO(text_page("Invoice  RE-1\nTotal  1,234.56 EUR"))).lines
    assert not look_at.called
    read_pdf_text(BytesIO(draw_page(write_under_another_line)))
    assert look_at.called


def test_points_that_lead_from_a_label_to_its_amount_are_seen() -> None:
    """Each is hardly drawn; without them the label and its amount would be two cells, and the total is not read."""
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4, invariant=True)
    canvas.setFont("Courier", 9.5)
    canvas.drawString(40, 760, "Total amount due ........................ 284.48")
    canvas.save()
    (line,) = read_pdf_text(BytesIO(file.getvalue())).lines
    assert line.text == "Total amount due 284.48"


def test_a_page_of_letters_as_large_as_itself_on_each_other_is_not_believed_and_not_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each drawing of thousands of them takes seconds of a processor, and so does the search for those below others."""

    def write_huge_letters(canvas: Canvas) -> None:
        canvas.setFont("Helvetica", 700)
        for number in range(200):
            canvas.drawString(20 + number, 40, ascii_letters[number * 7 % 52])

    drawn: list[Any] = []
    monkeypatch.setattr(page_visibility, "_draw", drawn.append)
    assert (read_pdf_text(BytesIO(draw_page(write_huge_letters))).lines, drawn) == ([], [])
