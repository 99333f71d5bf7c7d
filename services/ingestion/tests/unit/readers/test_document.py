from io import BytesIO
from typing import Any

import pytest
from generated_invoices import CII, text_page
from PIL import Image
from pypdf import PdfReader, PdfWriter

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


@pytest.mark.parametrize("xml", [b"<broken", CII().xml()[:400], CII().xml("<!DOCTYPE x [<!ENTITY e 'a'>]>")])
def test_an_e_invoice_that_cannot_be_read_is_said_and_its_page_is_read(xml: bytes) -> None:
    answer = read(attach(("factur-x.xml", xml)))
    assert answer["lines"]
    assert (answer["e_invoice"], answer["unread"]) == (None, ["xml_unreadable"])


def test_an_attachment_that_breaks_its_reader_loses_the_attachment_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_file: object) -> None:
        raise KeyError("in the depths of a library")

    monkeypatch.setattr("ingestion.readers.einvoice.parse_invoice_xml", broken)
    answer = read(CII().pdf())
    assert answer["lines"]
    assert answer["unread"] == ["xml_unreadable"]


def test_a_file_in_the_file_that_nothing_reads_is_said() -> None:
    assert read(attach(("more.pdf", CII().page())))["unread"] == ["embedded_files_not_read"]


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
