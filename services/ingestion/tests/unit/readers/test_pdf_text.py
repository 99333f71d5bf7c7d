from io import BytesIO

import pytest
from generated_invoices import CII, draw, text_page
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas

from ingestion.domain.reasons import ReviewReason
from ingestion.readers import pdf_text
from mailroom_common.parser import UnreadableFile

ROWS = [
    (60, [(40, "Invoice"), (300, "Example Ltd")]),
    (100, [(40, "Total"), (200, "1,234.56"), (300, "EUR")]),
]


def texts(pdf: bytes) -> list[list[str]]:
    return [[cell.text for cell in line.cells] for line in pdf_text.read_pdf_text(BytesIO(pdf)).lines]


def test_lines_are_those_of_the_page_in_whatever_order_it_was_written() -> None:
    expected = [["Invoice", "Example Ltd"], ["Total", "1,234.56", "EUR"]]
    assert texts(draw(ROWS)) == expected
    assert texts(draw(ROWS, shuffled=True)) == expected


def test_of_a_file_whose_table_of_contents_is_broken_nobody_knows_what_is_gone() -> None:
    """What is left of it may be no invoice, and is not skipped for that; what is whole counts."""
    whole = draw(ROWS)
    assert pdf_text.read_pdf_text(BytesIO(whole)).unread == set()
    for broken in (whole.replace(b"startxref\n", b"startxref\n1"), whole.replace(b"\n", b"\r\n")):
        read = pdf_text.read_pdf_text(BytesIO(broken))
        assert (len(read.lines), read.unread) == (2, {ReviewReason.PAGES_NOT_READ})


def test_a_headline_does_not_swallow_the_small_print_beside_it() -> None:
    file = BytesIO()
    canvas = Canvas(file)
    canvas.setFont("Helvetica", 28)
    canvas.drawString(40, 700, "INVOICE")
    canvas.setFont("Helvetica", 8)
    canvas.drawString(300, 712, "Weena 664")
    canvas.drawString(300, 700, "Rotterdam")
    canvas.save()
    lines = texts(file.getvalue())
    assert ["Weena 664"] in lines
    assert any("Rotterdam" in line for line in lines)


def test_a_stamp_that_runs_up_the_margin_is_no_line() -> None:
    file = BytesIO()
    canvas = Canvas(file)
    canvas.drawString(40, 700, "Invoice 1")
    canvas.rotate(90)
    canvas.drawString(100, -20, "COPYRIGHT")
    canvas.save()
    assert texts(file.getvalue()) == [["Invoice 1"]]


def test_pages_are_counted_and_keep_their_numbers() -> None:
    writer = PdfWriter()
    for text in ("one", "two"):
        writer.append(PdfReader(BytesIO(text_page(text))))
    file = BytesIO()
    writer.write(file)
    read = pdf_text.read_pdf_text(BytesIO(file.getvalue()))
    assert read.pages == 2
    assert [(line.page, line.text) for line in read.lines] == [(0, "one"), (1, "two")]


def test_attachments_come_with_their_names_and_bytes() -> None:
    (attachment,) = pdf_text.read_pdf_text(BytesIO(CII().pdf())).attachments
    assert attachment.name == "factur-x.xml"
    assert b"CrossIndustryInvoice" in (attachment.content or b"")
    assert pdf_text.read_pdf_text(BytesIO(CII().page())).attachments == []


def test_the_first_and_the_last_pages_of_a_long_document_are_read_and_the_limit_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pdf_text, "FIRST_PAGES", 2)
    monkeypatch.setattr(pdf_text, "LAST_PAGES", 1)
    writer = PdfWriter()
    for number in range(1, 5):
        writer.append(PdfReader(BytesIO(text_page(f"page {number}"))))
    file = BytesIO()
    writer.write(file)
    read = pdf_text.read_pdf_text(file)
    assert [line.text for line in read.lines] == ["page 1", "page 2", "page 4"]
    assert read.unread == {ReviewReason.PAGES_NOT_READ}
    assert {page: text.strip() for page, text in read.looked_over.items()} == {2: "page 3"}


def test_of_more_pages_than_are_looked_over_one_stands_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf_text, "_MAX_LOOKED_OVER", 1)
    writer = PdfWriter()
    for number in range(1, 7):
        writer.append(PdfReader(BytesIO(text_page(f"page {number}"))))
    file = BytesIO()
    writer.write(file)
    read = pdf_text.read_pdf_text(file, max_pages=3)
    assert {page: text.strip() for page, text in read.looked_over.items()} == {2: "page 3", 3: ""}


def test_a_placeholder_for_a_form_is_not_what_the_form_says() -> None:
    shown = "Please wait... If this message is not eventually replaced by the proper contents"
    assert pdf_text.read_pdf_text(BytesIO(text_page(shown))).unread == {ReviewReason.FORM_NOT_READ}


def test_what_was_filled_into_a_form_is_part_of_its_page() -> None:
    file = BytesIO()
    canvas = Canvas(file)
    canvas.drawString(40, 700, "Invoice number:")
    canvas.acroForm.textfield(value="RE-77", x=140, y=690, width=120, height=20, borderWidth=0)
    canvas.save()
    read = pdf_text.read_pdf_text(BytesIO(file.getvalue()))
    assert "RE-77" in " ".join(line.text for line in read.lines)


@pytest.mark.parametrize(
    ("pdf", "password", "reason"),
    [
        (draw(ROWS, encrypted="secret"), None, "password_required"),
        (draw(ROWS, encrypted="secret"), "Secret", "password_wrong"),
        (draw(ROWS)[:300], None, "unreadable"),
        (draw(ROWS)[:300], "secret", "unreadable"),
        (b"%PDF-1.7 and then nothing of the kind", None, "unreadable"),
    ],
)
def test_what_cannot_be_opened_says_why(pdf: bytes, password: str | None, reason: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        pdf_text.read_pdf_text(BytesIO(pdf), password)
    assert refused.value.reason == reason


def test_a_password_opens_a_locked_file() -> None:
    locked = draw(ROWS, encrypted="secret")
    assert pdf_text.read_pdf_text(BytesIO(locked), "secret").lines == pdf_text.read_pdf_text(BytesIO(draw(ROWS))).lines
