from io import BytesIO
from pathlib import Path

import pytest
from reading_quality.page_drawing import draw_text, read_text_file

from ingestion.readers.pdf_text import read_pdf_text


@pytest.mark.parametrize("text", ["Total:     300.00", "Należność ogółem     316,83"])
def test_a_text_becomes_a_page_with_the_same_columns(text: str) -> None:
    (line,) = read_pdf_text(BytesIO(draw_text(text))).lines
    assert [cell.text for cell in line.cells] == text.split("     ")


def test_a_long_text_goes_on_on_the_next_page() -> None:
    assert read_pdf_text(BytesIO(draw_text("line\n" * 100))).pages == 2


def test_texts_in_an_old_encoding_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("Gebühr".encode("cp1252"))
    assert read_text_file(tmp_path / "a.txt") == "Gebühr"
