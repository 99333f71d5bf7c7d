from collections.abc import Sequence
from io import BytesIO
from typing import Any

import pytest
from PIL import Image, ImageDraw
from reportlab.pdfgen.canvas import Canvas

from ingestion.domain.transcript import JPEG, PNG, TIFF
from ingestion.readers import image as image_reader
from ingestion.readers.page_images import decode_image_pages, draw_pdf_pages

MAX_SIDE = 800
ZLIB_HEADER = b"x\x9c"


def save(picture: Image.Image, kind: str, **options: object) -> BytesIO:
    file = BytesIO()
    picture.save(file, kind, **options)
    file.seek(0)
    return file


def decode(file: BytesIO, content_type: str, pages: Sequence[int] = (0,)) -> list[Image.Image | None]:
    return [picture for _, picture, _ in decode_image_pages(file, content_type, pages, MAX_SIDE)]


def decode_page(file: BytesIO, content_type: str) -> Image.Image:
    (picture,) = decode(file, content_type)
    assert picture is not None
    return picture


def draw_mark(mode: str, ink: Any, paper: Any) -> Image.Image:
    picture = Image.new(mode, (800, 400), paper)
    ImageDraw.Draw(picture).rectangle((100, 100, 300, 200), fill=ink)
    return picture


@pytest.mark.parametrize(
    ("file", "content_type"),
    [
        (save(draw_mark("L", 0, 255), "PNG"), PNG),
        (save(draw_mark("1", 0, 1), "TIFF", compression="group4"), TIFF),
        (save(draw_mark("RGBA", (0, 0, 0, 255), (0, 0, 0, 0)), "PNG"), PNG),
        (save(draw_mark("LA", (0, 255), (0, 0)), "PNG"), PNG),
        (save(draw_mark("P", 1, 0), "PNG", transparency=0), PNG),
        (save(draw_mark("I;16", 2000, 65000), "PNG"), PNG),
        (save(draw_mark("CMYK", (0, 0, 0, 255), (0, 0, 0, 0)), "JPEG"), JPEG),
    ],
    ids=["grey", "fax", "see-through", "see-through grey", "see-through palette", "sixteen bits", "for printers"],
)
def test_a_page_is_dark_on_light_however_it_was_kept(file: BytesIO, content_type: str) -> None:
    picture = decode_page(file, content_type)
    assert picture.mode == "RGB"
    assert min(picture.getpixel((500, 300))) > 240  # type: ignore[arg-type]
    assert max(picture.getpixel((200, 150))) < 40  # type: ignore[arg-type]


def test_a_photograph_is_no_larger_than_ocr_reads_and_keeps_its_form() -> None:
    assert decode_page(save(Image.new("RGB", (4000, 3000)), "JPEG"), JPEG).size == (800, 600)
    assert decode_page(save(Image.new("RGB", (100, 3000)), "JPEG"), JPEG).size == (27, 800)


@pytest.mark.parametrize("size", [(13, 10_000), (10_000, 13), (1, 1), (100, 3600)])
def test_a_picture_that_is_too_narrow_for_a_line_of_letters_is_not_read(size: tuple[int, int]) -> None:
    """The engine fails at it, and the other pages with it."""
    assert decode(save(Image.new("L", size), "TIFF"), TIFF) == [None]


def test_a_page_that_is_too_narrow_for_a_line_of_letters_is_not_read() -> None:
    file = BytesIO()
    canvas = Canvas(file, pagesize=(14_000, 30))
    canvas.drawString(10, 10, "Invoice 7")
    canvas.save()
    file.seek(0)
    assert [picture for _, picture, _ in draw_pdf_pages(file, [0], MAX_SIDE, None)] == [None]


def test_a_photograph_stands_as_its_telephone_was_held() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    assert decode_page(save(Image.new("RGB", (1600, 1200)), "JPEG", exif=exif), JPEG).size == (600, 800)


def test_the_small_letters_of_a_small_picture_are_enlarged() -> None:
    assert decode_page(save(Image.new("L", (300, 380)), "PNG"), PNG).size == (600, 760)


def test_a_fax_whose_pixels_are_no_squares_is_stretched() -> None:
    assert decode_page(save(Image.new("L", (800, 400)), "TIFF", dpi=(204, 102)), TIFF).size == (800, 800)


def save_pages(*pages: Image.Image, **options: object) -> bytes:
    return save(pages[0], "TIFF", save_all=True, append_images=pages[1:], **options).getvalue()


def test_of_a_file_of_pages_those_are_decoded_that_are_asked_for_in_their_order() -> None:
    file = BytesIO(save_pages(*(Image.new("L", (720 + number, 720)) for number in range(3))))
    assert [picture and picture.width for picture in decode(file, TIFF, [2, 0])] == [722, 720]


def test_a_later_page_that_is_damaged_costs_no_other() -> None:
    page = Image.new("L", (720, 720), 255)
    before, _, rest = save_pages(page, page, compression="tiff_adobe_deflate").rpartition(ZLIB_HEADER)
    found = decode(BytesIO(before + b"\0\0" + rest), TIFF, [0, 1])
    assert found[0] is not None
    assert found[1] is None


def test_a_later_page_that_is_larger_than_any_page_is_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    file = BytesIO(save_pages(Image.new("L", (720, 720)), Image.new("L", (2000, 2000))))
    monkeypatch.setattr(image_reader, "MAX_PIXELS", 1_000_000)
    first, second = decode(file, TIFF, [0, 1])
    assert first is not None
    assert second is None
