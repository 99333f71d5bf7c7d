from io import BytesIO
from typing import Any

import pytest
from generated_invoices import text_page
from pypdf import PdfReader, PdfWriter

from ingestion.readers import joined_files
from ingestion.readers.document import transcribe_document
from ingestion.readers.joined_files import holds_several_pdfs


@pytest.mark.parametrize("between", [b"", b"\n", b"\r\n\r\n"])
def test_two_pdfs_one_behind_the_other_are_several(between: bytes) -> None:
    file = BytesIO(text_page("Invoice 7").rstrip() + between + text_page("Invoice 8"))
    assert holds_several_pdfs(file)
    assert file.tell() == 0
    read: Any = transcribe_document(file, {})
    assert read["unread"] == ["several_invoices"]


def test_they_are_found_wherever_the_file_is_cut_in_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    one = text_page("Invoice 7").rstrip()
    for chunk in range(len(one) - 12, len(one) + 12):
        monkeypatch.setattr(joined_files, "_CHUNK", chunk)
        assert holds_several_pdfs(BytesIO(one + b"\n" + text_page("Invoice 8")))


def test_what_was_saved_again_or_has_a_pdf_in_it_is_one() -> None:
    page = text_page("Invoice 7")
    writer = PdfWriter(BytesIO(page), incremental=True)
    writer.add_metadata({"/Title": "saved again"})
    again = BytesIO()
    writer.write(again)
    assert again.getvalue().count(b"%%EOF") == 2
    holder = PdfWriter()
    holder.append(PdfReader(BytesIO(page)))
    holder.add_attachment("terms.pdf", page)
    with_attachment = BytesIO()
    holder.write(with_attachment)
    assert with_attachment.getvalue().count(b"%PDF-") == 2
    assert not any(map(holds_several_pdfs, (BytesIO(page), again, with_attachment)))
