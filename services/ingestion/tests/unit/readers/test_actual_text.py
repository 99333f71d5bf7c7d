from io import BytesIO

import pytest
from reportlab.pdfgen.canvas import Canvas

from ingestion.readers import pdf_text
from ingestion.readers.actual_text import has_same_digits


def read_page(drawn: str, said: str) -> str:
    file = BytesIO()
    canvas = Canvas(file)
    canvas._code.append(f"/Span <</ActualText ({said})>> BDC")
    canvas.drawString(40, 700, drawn)
    canvas._code.append("EMC")
    canvas.drawString(40, 650, "Total 10,00")
    canvas.save()
    return pdf_text.read_pdf_text(file).lines[0].text


def test_a_number_is_the_one_that_is_drawn_whatever_is_said_in_its_place() -> None:
    """A person pays the account that he sees, and a machine is told another one."""
    assert read_page("IBAN DE88200800000970375700", "IBAN DE49370400440532013009") == "IBAN DE88200800000970375700"


@pytest.mark.parametrize(("drawn", "said"), [("oxyc 12", "office 12"), ("DE88 2008", "DE882008")])
def test_letters_may_be_said_for_what_is_drawn(drawn: str, said: str) -> None:
    """A font may not know what its glyphs are."""
    assert read_page(drawn, said) == said


@pytest.mark.parametrize(
    ("said", "drawn", "are_same"), [("1/2", "½", True), ("12", "1 2", True), ("１２", "12", True), ("12", "21", False)]
)
def test_digits_are_the_same_however_they_are_written(said: str, drawn: str, are_same: bool) -> None:
    assert has_same_digits(said, drawn) is are_same
