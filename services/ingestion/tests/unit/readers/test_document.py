import gzip
from io import BytesIO
from typing import Any

import pytest
from generated_invoices import CII, draw, text_page
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, StreamObject, TextStringObject
from reportlab.pdfgen.canvas import Canvas

from ingestion.readers import embedded_files
from ingestion.readers.document import transcribe_document
from mailroom_common.parser import UnreadableFile


def read(content: bytes) -> Any:
    return transcribe_document(BytesIO(content), {})


def picture(kind: str) -> bytes:
    file = BytesIO()
    Image.new("L", (80, 120), 255).save(file, kind)
    return file.getvalue()


def test_a_page_becomes_lines() -> None:
    answer = read(text_page("Invoice 7"))
    assert answer["content_type"] == "application/pdf"
    assert answer["lines"][0][3][0][0] == "Invoice 7"
    assert answer["e_invoice"] is None


def test_an_e_invoice_comes_with_its_page() -> None:
    answer = read(CII(number="RE-5").pdf())
    assert answer["e_invoice"]["invoice"]["invoice_number"] == "RE-5"
    assert answer["lines"]


def attach(*files: tuple[str, bytes], page: bytes | None = None) -> bytes:
    writer = PdfWriter()
    writer.append(PdfReader(BytesIO(page or CII().page())))
    for name, content in files:
        writer.add_attachment(name, content)
    file = BytesIO()
    writer.write(file)
    return file.getvalue()


@pytest.mark.parametrize(
    "xml",
    [
        b"<broken",
        CII().xml()[:400],
        CII().xml("<!DOCTYPE x [<!ENTITY e 'a'>]>"),
        gzip.compress(CII().xml(), mtime=0),
        b"x" + CII().xml(),
        CII().xml().decode().encode("cp037"),
        CII().xml() + b" " * 8 * 1024 * 1024,
    ],
    ids=["broken", "cut", "dtd", "packed", "something before", "ebcdic", "too long"],
)
def test_an_e_invoice_that_cannot_be_read_is_said_and_its_page_is_read(xml: bytes) -> None:
    answer = read(attach(("factur-x.xml", xml)))
    assert answer["lines"]
    assert (answer["e_invoice"], answer["unread"]) == (None, ["xml_unreadable"])


def test_what_is_struck_out_in_a_file_in_the_file_is_a_mark_of_the_document() -> None:
    file = BytesIO()
    canvas = Canvas(file)
    canvas.drawString(100, 700, "RE-2026-4471")
    canvas.line(100, 703, 185, 703)
    canvas.save()
    answer = read(attach(("invoice.pdf", file.getvalue()), page=text_page("Cover")))
    assert answer["marks"] == {"struck_out": ["RE-2026-4471"], "stamps": [], "is_crossed_out": False, "comments": []}


def test_an_attachment_that_breaks_its_reader_loses_the_attachment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_file: object) -> None:
        raise KeyError("in the depths of a library")

    monkeypatch.setattr("ingestion.readers.einvoice.parse_invoice_xml", broken)
    answer = read(CII().pdf())
    assert answer["lines"]
    assert answer["unread"] == ["xml_unreadable"]


@pytest.mark.parametrize("content", [b"a,b,c", picture("PNG")[:20], b"%PDF-1.7 damaged", draw([], encrypted="secret")])
def test_a_file_in_the_file_that_nothing_reads_is_said(content: bytes) -> None:
    answer = read(attach(("more", content)))
    assert (answer["unread"], answer["has_unread_files"]) == (["embedded_files_not_read"], True)


def test_a_picture_in_the_pdf_is_a_page_that_ocr_may_read() -> None:
    scan = BytesIO()
    Image.new("L", (600, 800), 255).save(scan, "PDF")
    pages = BytesIO()
    Image.new("L", (80, 120), 255).save(pages, "TIFF", save_all=True, append_images=[Image.new("L", (80, 120), 255)])
    inner = attach(("photo.png", picture("PNG")), page=text_page("First"))
    answer = read(attach(("a.pdf", inner), ("b.pdf", scan.getvalue()), ("c.tiff", pages.getvalue())))
    assert (answer["pages"], answer["part_starts"]) == (6, [1, 2, 3, 4])
    assert answer["pictured_pages"] == [2, 3, 4, 5]
    assert (answer["unread"], answer["has_unread_files"]) == (["embedded_files_not_read"], False)


def test_an_icon_in_the_pdf_has_nothing_to_say() -> None:
    icon = BytesIO()
    Image.new("L", (32, 32)).save(icon, "PNG")
    answer = read(attach(("logo.png", icon.getvalue())))
    assert (answer["pages"], answer["unread"]) == (1, [])


def test_of_a_long_file_of_pictures_in_the_pdf_the_first_pages_count(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = BytesIO()
    page = Image.new("L", (80, 120), 255)
    page.save(pages, "TIFF", save_all=True, append_images=[page] * 4)
    monkeypatch.setattr(embedded_files, "MAX_PAGES", 3)
    answer = read(attach(("long.tiff", pages.getvalue())))
    assert (answer["pages"], answer["pictured_pages"], answer["has_unread_files"]) == (4, [1, 2, 3], True)


def test_the_pages_of_a_pdf_in_the_pdf_follow_on_its_own() -> None:
    answer = read(attach(("a.pdf", text_page("First")), ("b.pdf", text_page("Second")), page=text_page("Cover")))
    assert [(line[0], line[3][0][0]) for line in answer["lines"]] == [(0, "Cover"), (1, "First"), (2, "Second")]
    assert (answer["pages"], answer["part_starts"], answer["unread"]) == (3, [1, 2], [])


def test_a_pdf_in_the_pdf_is_an_e_invoice_too() -> None:
    answer = read(attach(("invoice.pdf", CII(number="RE-9").pdf()), page=text_page("Your documents")))
    assert answer["e_invoice"]["invoice"]["invoice_number"] == "RE-9"
    assert answer["unread"] == []


def test_pdfs_in_pdfs_are_read_two_deep() -> None:
    nested = text_page("Deepest")
    for name in ("third", "second", "first"):
        nested = attach((f"{name}.pdf", nested), page=text_page(name))
    answer = read(nested)
    assert [line[3][0][0] for line in answer["lines"]] == ["first", "second", "third"]
    assert answer["unread"] == ["embedded_files_not_read"]


def test_more_pdfs_in_a_pdf_than_are_read_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    three = attach(*((f"{number}.pdf", text_page(str(number))) for number in range(3)), page=text_page("Cover"))
    assert read(three)["unread"] == []
    for limit, most in (("MAX_PARTS", 2), ("MAX_PAGES", 2), ("MAX_PART_BYTES", 4000)):
        with monkeypatch.context() as patch:
            patch.setattr(embedded_files, limit, most)
            answer = read(three)
        assert (len(answer["part_starts"]) < 3, answer["unread"]) == (True, ["embedded_files_not_read"])


def test_a_file_that_is_pinned_to_a_place_on_a_page_is_read() -> None:
    assert read(pin(text_page("Cover"), CII(number="RE-8").xml()))["e_invoice"]["invoice"]["invoice_number"] == "RE-8"


def pin(page: bytes, content: bytes) -> bytes:
    """The page with a file that is attached to a place on it, and not to the document."""
    writer = PdfWriter()
    writer.append(PdfReader(BytesIO(page)))
    stream = StreamObject()
    stream.set_data(content)
    file = DictionaryObject({NameObject("/F"): writer._add_object(stream)})
    spec = {"/Type": NameObject("/Filespec"), "/F": TextStringObject("invoice.xml"), "/EF": file}
    annotation = {
        "/Type": NameObject("/Annot"),
        "/Subtype": NameObject("/FileAttachment"),
        "/Rect": ArrayObject([FloatObject(place) for place in (10, 10, 30, 30)]),
        "/FS": DictionaryObject({NameObject(name): value for name, value in spec.items()}),
    }
    dictionary = DictionaryObject({NameObject(name): value for name, value in annotation.items()})
    writer.pages[0][NameObject("/Annots")] = ArrayObject([writer._add_object(dictionary)])
    written = BytesIO()
    writer.write(written)
    return written.getvalue()


def test_two_different_e_invoices_in_one_file_are_one_too_many() -> None:
    xml = CII().xml()
    assert read(attach(("a.xml", xml), ("b.xml", xml)))["unread"] == []
    assert read(attach(("a.xml", xml), ("b.xml", CII(number="RE-2").xml())))["unread"] == ["several_e_invoices"]


def test_an_e_invoice_that_is_too_large_is_not_read_off_its_page_instead() -> None:
    with pytest.raises(UnreadableFile) as refused:
        read(CII(lines=[("Beratung", "1", "100.00", "100.00", "19")] * 7700).pdf())
    assert refused.value.reason == "extraction_too_large"


def test_a_picture_has_pages_and_no_lines() -> None:
    answer = read(picture("PNG"))
    assert (answer["content_type"], answer["pages"], answer["lines"]) == ("image/png", 1, [])


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (picture("PNG")[:60], "unreadable"),
        (picture("JPEG")[:200], "unreadable"),
        (b"II*\x00 and no picture", "unreadable"),
        (b"a text called .pdf", "not_a_document"),
        (b"", "not_a_document"),
    ],
)
def test_what_is_no_document_or_a_damaged_one_says_so(content: bytes, reason: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        read(content)
    assert refused.value.reason == reason
