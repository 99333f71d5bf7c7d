from collections.abc import Sequence
from io import BytesIO
from typing import Any

from generated_invoices import text_page
from PIL import Image, ImageDraw
from pypdf import PdfWriter

from ingestion.readers.document import transcribe_document
from ingestion.readers.document_pictures import draw_document_pages

MAX_SIDE = 800


def save(kind: str, *levels: int) -> bytes:
    """A picture of as many pages, each with its own grey in the middle."""
    pages = []
    for level in levels:
        pages.append(page := Image.new("L", (600, 800), 255))
        ImageDraw.Draw(page).rectangle((100, 100, 500, 700), fill=level)
    written = BytesIO()
    more = {"save_all": True, "append_images": pages[1:]} if len(pages) > 1 else {}
    pages[0].save(written, kind, **more)
    return written.getvalue()


def attach(page: bytes, *files: bytes, password: str | None = None) -> bytes:
    writer = PdfWriter(clone_from=BytesIO(page))
    for number, file in enumerate(files):
        writer.add_attachment(f"{number}", file)
    if password is not None:
        writer.encrypt(password, algorithm="AES-256")
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def read_greys(content: bytes, pages: Sequence[int], password: str | None = None) -> list[tuple[int, int | None]]:
    drawn = draw_document_pages(BytesIO(content), iter(pages), MAX_SIDE, password)
    return [(number, None if picture is None else _read_grey(picture)) for number, picture, _ in drawn]


def _read_grey(picture: Image.Image) -> int:
    middle = (picture.width // 2, picture.height // 2)
    return round(picture.convert("L").crop((*middle, middle[0] + 1, middle[1] + 1)).tobytes()[0], -1)


def test_pages_have_the_numbers_of_the_transcript_in_whatever_file_they_are() -> None:
    inner = attach(text_page("First"), save("PNG", 10))
    content = attach(save("PDF", 20), inner, b"a,b", save("TIFF", 30, 40), save("PDF", 50))
    transcript: Any = transcribe_document(BytesIO(content), {})
    assert read_greys(content, transcript["pictured_pages"]) == [(0, 20), (2, 10), (3, 30), (4, 40), (5, 50)]
    assert read_greys(content, [5, 0, 4]) == [(5, 50), (0, 20), (4, 40)]


def test_a_damaged_picture_costs_no_other() -> None:
    damaged = save("PNG", 10)
    content = attach(text_page("Cover"), damaged[: len(damaged) // 2], save("PNG", 20))
    assert read_greys(content, [1, 2, 3]) == [(1, None), (2, 20), (3, None)]


def test_pictures_in_a_locked_file_are_drawn_with_its_password() -> None:
    content = attach(text_page("Cover"), save("PNG", 20), password="secret")
    assert read_greys(content, [1], "secret") == [(1, 20)]
