import pytest

from ingestion.domain.page_marks import PageMarks, Stamp
from ingestion.domain.transcript import TextCell, TextLine, Transcript, detect_content_type


@pytest.mark.parametrize(
    ("head", "content_type"),
    [
        (b"%PDF-1.7", "application/pdf"),
        (b"\r\n junk before it %PDF-1.4", "application/pdf"),
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"II*\x00", "image/tiff"),
        (b"MM\x00*", "image/tiff"),
        (b"PK\x03\x04 invoice.pdf %PDF-1.7", None),
        (b"\x78\x9f\x3e\x22 winmail.dat with a %PDF-1.7", None),
        (b" " * 2000 + b"%PDF-1.7", None),
        (b"<html>", None),
        (b"", None),
    ],
)
def test_bytes_are_known_by_their_beginning(head: bytes, content_type: str | None) -> None:
    assert detect_content_type(head) == content_type


def test_a_plain_row_has_a_cell_for_each_piece_between_two_blanks_where_it_stands() -> None:
    transcript = Transcript.from_rows(["ab  cd ef", "", "  ab  ab"])
    assert transcript == Transcript(
        "text/plain",
        1,
        (
            TextLine(0, 0.0, 10.0, (TextCell("ab", 0.0, 10.0), TextCell("cd ef", 20.0, 45.0))),
            TextLine(0, 24.0, 10.0, (TextCell("ab", 10.0, 20.0), TextCell("ab", 30.0, 40.0))),
        ),
    )
    assert transcript.text == "ab cd ef\nab ab"
    assert Transcript.from_json(transcript.to_json()) == transcript


def test_how_certain_each_word_is_comes_back_with_the_transcript() -> None:
    cell = TextCell("No 78", 0.0, 40.0, 0.5, (0.8, 0.5))
    transcript = Transcript("image/png", 1, (TextLine(0, 0.0, 10.0, (cell,)),))
    assert Transcript.from_json(transcript.to_json()) == transcript


def test_marks_come_back_with_the_transcript_and_are_bounded() -> None:
    stamps = (Stamp("VOID", is_large=True), Stamp("VOID", is_large=True), Stamp("copy", is_large=False))
    marks = PageMarks(("RE-1", "x" * 200), stamps) + PageMarks(tuple(map(str, range(40))), stamps)
    marks += PageMarks(is_crossed_out=True, comments=("1,000.00",))
    transcript = Transcript("application/pdf", 1, marks=marks)
    assert Transcript.from_json(transcript.to_json()) == transcript
    assert marks.struck_out[:3] == ("RE-1", "x" * 60, "0")
    assert len(marks.struck_out) == 20
    assert marks.stamps == stamps[1:]
