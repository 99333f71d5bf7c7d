from base64 import b64decode
from io import BytesIO
from typing import Any

import pytest
from generated_invoices import draw
from PIL import Image, ImageOps
from pypdf import PdfReader, PdfWriter
from pypdf.generic import RectangleObject
from reportlab.pdfgen.canvas import Canvas

from ingestion.readers import pdf_text
from ingestion.readers.page_view import draw_page
from mailroom_common.parser import UnreadableFile

PAGE = draw([(100, [(60, "Invoice 7")])])


def ask(content: bytes, page: int = 0, *, max_side: int = 1700, max_bytes: int = 4_000_000) -> Any:
    return draw_page(BytesIO(content), {"page": page, "max_side": max_side, "max_bytes": max_bytes})


def open_png(answer: Any) -> Image.Image:
    return Image.open(BytesIO(b64decode(answer["png"])))


def find_ink(picture: Image.Image) -> tuple[float, float, float, float]:
    """Left, top, right and bottom of what is not white."""
    box = ImageOps.invert(picture.convert("L")).getbbox()
    assert box is not None
    return box


def change_page(content: bytes, *, rotate: int = 0, crop: tuple[int, int, int, int] | None = None) -> bytes:
    writer = PdfWriter()
    writer.append(PdfReader(BytesIO(content)))
    if crop:
        writer.pages[0].cropbox = RectangleObject(crop)
    if rotate:
        writer.pages[0].rotate(rotate)
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def write_sideways() -> bytes:
    """Letters that run up a page which is not turned itself."""
    written = BytesIO()
    canvas = Canvas(written, pagesize=(500, 700))
    canvas.translate(300, 100)
    canvas.rotate(90)
    canvas.drawString(0, 0, "Invoice 7 of the second of March")
    canvas.save()
    return written.getvalue()


@pytest.mark.parametrize(
    "content",
    [
        PAGE,
        change_page(PAGE, rotate=90),
        change_page(PAGE, rotate=180),
        change_page(PAGE, crop=(40, 300, 500, 800)),
        change_page(PAGE, rotate=270, crop=(40, 300, 500, 800)),
        write_sideways(),
    ],
)
def test_what_was_read_stands_on_the_picture_where_its_line_says(content: bytes) -> None:
    answer = ask(content)
    scale = answer["pixels_per_point"]
    (line,) = pdf_text.read_pdf_text(BytesIO(content)).lines
    left, top, right, bottom = (edge / scale for edge in find_ink(open_png(answer)))
    assert line.cells[0].left - 2 < left < right < line.cells[-1].right + 2
    assert line.top - 2 < top < bottom < line.top + line.height + 2


def test_a_page_has_two_pixels_a_point_and_a_large_one_fewer() -> None:
    assert (ask(PAGE)["pixels_per_point"], ask(PAGE)["pages"]) == (2.0, 1)
    small = ask(PAGE, max_side=421)
    assert (small["pixels_per_point"], max(open_png(small).size)) == (pytest.approx(0.5, abs=0.01), 421)


def test_a_picture_is_shown_upright_and_is_as_wide_as_it_was_taken_for() -> None:
    written = BytesIO()
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter
    Image.new("RGB", (1190, 800), "white").save(written, "JPEG", exif=exif)
    answer = ask(written.getvalue())
    assert open_png(answer).size == (800, 1190)
    assert answer["pixels_per_point"] == pytest.approx(800 / 595, abs=0.001)


def save_picture(picture: Image.Image, kind: str = "PNG", **options: Any) -> bytes:
    written = BytesIO()
    picture.save(written, kind, **options)
    return written.getvalue()


@pytest.mark.parametrize(
    ("mode", "paper", "ink"),
    [("LA", (0, 0), (0, 255)), ("I;16", 65_535, 30_000)],
    ids=["see-through black", "sixteen bits"],
)
def test_whoever_looks_at_a_picture_sees_what_was_read(mode: str, paper: Any, ink: Any) -> None:
    """Behind what shines through another account may stand."""
    picture = Image.new(mode, (800, 400), paper)
    picture.paste(ink, (100, 100, 300, 200))
    shown = open_png(ask(save_picture(picture)))
    assert find_ink(shown) == (100, 100, 300, 200)


def test_a_fax_is_shown_with_square_pixels_as_it_was_read() -> None:
    assert open_png(ask(save_picture(Image.new("L", (800, 400)), "TIFF", dpi=(204, 102)))).size == (800, 800)


def test_a_picture_that_is_too_large_has_fewer_colours_and_then_fewer_pixels() -> None:
    written = BytesIO()
    Image.effect_noise((600, 600), 100).save(written, "PNG")
    whole = ask(written.getvalue())
    less = ask(written.getvalue(), max_bytes=100_000)
    assert len(b64decode(less["png"])) <= 100_000 < len(b64decode(whole["png"]))
    assert less["pixels_per_point"] < whole["pixels_per_point"]
    assert open_png(less).width == pytest.approx(595 * less["pixels_per_point"], abs=1)


def test_the_pages_of_a_pdf_in_the_pdf_are_drawn_behind_its_own() -> None:
    writer = PdfWriter()
    writer.append(PdfReader(BytesIO(PAGE)))
    writer.add_attachment("note.txt", b"text")
    writer.add_attachment("a.pdf", write_sideways())
    writer.add_attachment("b.pdf", PAGE)
    written = BytesIO()
    writer.write(written)
    drawn = [ask(written.getvalue(), number) for number in range(4)]
    assert [answer["pages"] for answer in drawn] == [1, 3, 3, 3]
    assert drawn[1]["png"] == ask(write_sideways())["png"]
    assert drawn[0]["png"] == drawn[2]["png"] == ask(PAGE)["png"]
    assert drawn[3]["png"] is None


def test_a_picture_in_the_pdf_is_drawn_behind_its_pages() -> None:
    writer = PdfWriter(clone_from=BytesIO(PAGE))
    writer.add_attachment("scan.png", photo := save_picture(Image.new("L", (1190, 800), 255)))
    written = BytesIO()
    writer.write(written)
    shown = ask(written.getvalue(), 1)
    assert (shown["pages"], shown["png"]) == (2, ask(photo)["png"])


def test_a_page_that_is_not_there_is_none() -> None:
    assert ask(PAGE, 1) == {"pages": 1, "png": None, "pixels_per_point": None}
    written = BytesIO()
    Image.new("L", (10, 10)).save(written, "TIFF")
    assert ask(written.getvalue(), 1)["png"] is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (draw([], encrypted="secret"), "password_required"),
        (PAGE[:300], "unreadable"),
        (b"\x89PNG\r\n\x1a\n and no picture", "unreadable"),
        (b"a text", "not_a_document"),
    ],
)
def test_what_cannot_be_opened_says_why(content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        ask(content)
    assert refused.value.reason == reason
