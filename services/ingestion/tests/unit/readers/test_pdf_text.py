from io import BytesIO

import pytest
from generated_invoices import CII, draw, text_page
from pypdf import PdfReader, PdfWriter
from reportlab.pdfgen.canvas import Canvas

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


def test_attachments_are_seen() -> None:
    assert pdf_text.read_pdf_text(BytesIO(CII().pdf())).has_attachments
    assert not pdf_text.read_pdf_text(BytesIO(CII().page())).has_attachments


@pytest.mark.parametrize(
    ("pdf", "reason"),
    [
        (draw(ROWS, encrypted="secret"), "encrypted"),
        (draw(ROWS)[:300], "unreadable"),
        (b"%PDF-1.7 and then nothing of the kind", "unreadable"),
    ],
)
def test_what_cannot_be_opened_says_why(pdf: bytes, reason: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        pdf_text.read_pdf_text(BytesIO(pdf))
    assert refused.value.reason == reason
