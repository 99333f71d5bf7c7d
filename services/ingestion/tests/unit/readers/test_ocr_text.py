import math

from ingestion.readers.ocr_text import Quad, ReadText, build_read_text, build_text_lines


def quad(left: float, top: float, width: float, height: float = 20.0, *, degrees: float = 0.0) -> Quad:
    """A box on a page that was turned around its upper left corner."""
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    corners = [(left, top), (left + width, top), (left + width, top + height), (left, top + height)]
    return tuple((x * cosine - y * sine, x * sine + y * cosine) for x, y in corners)


def read(text: str, box: Quad) -> ReadText:
    return ReadText(box, text, (0.9,) * len(text.split()))


def list_rows(*texts: ReadText) -> list[list[str]]:
    return [[cell.text for cell in line.cells] for line in build_text_lines(0, texts, 0.5)]


def test_pieces_of_one_height_are_a_line_from_left_to_right() -> None:
    rows = list_rows(
        read("300.00", quad(500, 102, 60)), read("Total", quad(50, 100, 60)), read("Net", quad(50, 60, 40))
    )
    assert rows == [["Net"], ["Total", "300.00"]]


def test_a_page_that_lies_askew_has_level_lines() -> None:
    # Six degrees over 900 pixels are 94 pixels of height: four lines.
    rows = list_rows(
        *(read(f"item {row}", quad(50, 100 + row * 25, 200, degrees=6)) for row in range(4)),
        *(read(f"{row}.00", quad(950, 100 + row * 25, 60, degrees=6)) for row in range(4)),
    )
    assert rows == [[f"item {row}", f"{row}.00"] for row in range(4)]


def test_places_are_points_from_the_corner_of_the_picture() -> None:
    (line,) = build_text_lines(3, [read("Total", quad(50, 100, 60))], 0.5)
    assert (line.page, line.top, line.height, line.cells[0].left, line.cells[0].right) == (3, 50.0, 10.0, 25.0, 55.0)


def test_lines_that_stand_close_are_not_one() -> None:
    assert list_rows(read("a", quad(50, 100, 60)), read("b", quad(50, 112, 60))) == [["a"], ["b"]]


def test_each_word_is_as_certain_as_its_letters_are() -> None:
    letters = [("N", 0.9), ("o", 0.7), (" ", 0.1), ("7", 0.6), ("8", 0.4)]
    assert build_read_text(quad(0, 0, 9), letters) == ReadText(quad(0, 0, 9), "No 78", (0.8, 0.5))


def test_a_rate_is_a_word_of_its_own() -> None:
    for text, parted in (("BTW21 %", "BTW 21 %"), ("VAT19,6%", "VAT 19,6%"), ("A4 100%", "A4 100%")):
        found = build_read_text(quad(0, 0, 9), [(letter, 0.9) for letter in text])
        assert (found.text, len(found.word_confidences)) == (parted, len(parted.split()))


def test_a_capital_i_behind_small_letters_is_an_l() -> None:
    for text, mended in (("S.r.I.", "S.r.l."), ("S.r.I", "S.r.l"), ("I alt", "I alt"), ("AI Ponte", "AI Ponte")):
        assert build_read_text(quad(0, 0, 9), [(letter, 0.9) for letter in text]).text == mended


def test_a_cell_is_as_certain_as_its_least_certain_word() -> None:
    (line,) = build_text_lines(0, [ReadText(quad(0, 0, 90), "No 78", (0.8, 0.5))], 0.5)
    assert (line.cells[0].confidence, line.cells[0].word_confidences) == (0.5, (0.8, 0.5))
