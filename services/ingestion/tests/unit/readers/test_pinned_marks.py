from io import BytesIO

import pytest
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, StreamObject, TextStringObject
from reportlab.pdfgen.canvas import Canvas

from ingestion.domain.page_marks import PageMarks, Stamp
from ingestion.readers.pdf_text import read_pdf_text

FONT = {"/Type": "/Font", "/Subtype": "/Type1", "/BaseFont": "/Helvetica"}


def build_dictionary(names: dict[str, str]) -> DictionaryObject:
    return DictionaryObject({NameObject(key): NameObject(value) for key, value in names.items()})


def pin(subtype: str, *, name: str = "", contents: str = "", shown: str = "", times: int = 1) -> BytesIO:
    """A page with a comment on it, or several; `shown` is what it draws."""
    file = BytesIO()
    canvas = Canvas(file)
    canvas.drawString(60, 700, "Invoice no. RE-2026-4471")
    canvas.save()
    writer = PdfWriter(PdfReader(file))
    comment = build_dictionary({"/Type": "/Annot", "/Subtype": subtype})
    comment[NameObject("/Rect")] = ArrayObject(map(FloatObject, (60, 600, 260, 640)))
    comment[NameObject("/F")] = FloatObject(4)
    if name:
        comment[NameObject("/Name")] = NameObject(name)
    if contents:
        comment[NameObject("/Contents")] = TextStringObject(contents)
    if shown:
        form = StreamObject()
        form.set_data(b"BT /F1 20 Tf 5 10 Td (%b) Tj ET" % shown.encode())
        form.update(build_dictionary({"/Type": "/XObject", "/Subtype": "/Form"}))
        form[NameObject("/BBox")] = ArrayObject(map(FloatObject, (0, 0, 200, 40)))
        fonts = DictionaryObject({NameObject("/F1"): build_dictionary(FONT)})
        form[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
        comment[NameObject("/AP")] = DictionaryObject({NameObject("/N"): writer._add_object(form)})
    for _ in range(times):
        writer.add_annotation(0, comment)
    written = BytesIO()
    writer.write(written)
    return written


@pytest.mark.parametrize(("name", "text"), [("/Draft", "Draft"), ("/NotApproved", "Not Approved"), ("/SBVoid", "Void")])
def test_a_stamp_that_is_a_picture_says_its_name(name: str, text: str) -> None:
    assert read_pdf_text(pin("/Stamp", name=name)).marks.stamps == (Stamp(text, is_large=True),)


def test_a_name_that_a_program_made_up_says_nothing() -> None:
    assert read_pdf_text(pin("/Stamp", name="/#cGWBzk2JzOlOQ1")).marks.stamps == ()


def test_what_was_written_to_a_stamp_is_a_remark() -> None:
    assert read_pdf_text(pin("/Stamp", contents="seen by Jo")).marks.stamps == (Stamp("seen by Jo", is_large=False),)


def test_a_comment_that_the_file_does_not_draw_says_what_it_holds() -> None:
    found = read_pdf_text(pin("/FreeText", contents="VOID - do not pay"))
    assert found.marks.stamps == (Stamp("VOID - do not pay", is_large=True),)


def test_what_a_comment_draws_is_a_line_of_the_page() -> None:
    found = read_pdf_text(pin("/FreeText", contents="VOID", shown="VOID"))
    assert ([line.text for line in found.lines], found.marks.stamps) == (["Invoice no. RE-2026-4471", "VOID"], ())


def test_a_comment_with_a_number_is_named_beside_the_lines() -> None:
    """It may be the amount that counts instead."""
    found = read_pdf_text(pin("/FreeText", contents="1,000.00", shown="1,000.00"))
    assert ([line.text for line in found.lines][1:], found.marks.comments) == (["1,000.00"], ("1,000.00",))
    assert read_pdf_text(pin("/FreeText", contents="thank you", shown="thank you")).marks == PageMarks()


def test_an_invoice_that_was_filled_in_by_a_viewer_is_no_page_with_comments() -> None:
    assert read_pdf_text(pin("/FreeText", contents="1,000.00", shown="1,000.00", times=6)).marks == PageMarks()


def test_a_note_that_is_pinned_to_a_page_is_a_remark() -> None:
    assert read_pdf_text(pin("/Text", contents="VOID")).marks.stamps == (Stamp("VOID", is_large=False),)
