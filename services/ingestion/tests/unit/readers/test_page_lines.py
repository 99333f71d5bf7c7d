import pytest

from ingestion.readers import page_lines
from ingestion.readers.page_letters import Letter
from ingestion.readers.page_lines import RowIndex, build_lines


def write(text: str, left: float, top: float, size: float = 10) -> list[Letter]:
    width = size / 2
    return [
        Letter(left + at * width, left + (at + 1) * width, top, top + size, letter)
        for at, letter in enumerate(text)
        if letter != " "
    ]


def cells(*letters: Letter) -> list[list[str]]:
    return [[cell.text for cell in line.cells] for line in build_lines(0, letters).lines]


def test_what_stands_at_one_height_is_a_line_and_a_wide_gap_parts_its_cells() -> None:
    assert cells(*write("Total", 40, 100), *write("300.00", 200, 101), *write("Net", 40, 80)) == [
        ["Net"],
        ["Total", "300.00"],
    ]


@pytest.mark.parametrize(("across", "down"), [(0.4, 0.0), (0.0, 0.4), (0.5, 0.5)])
def test_letters_that_are_drawn_twice_are_read_once(across: float, down: float) -> None:
    again = write("1100.11", 40 + across, 100 + down)
    assert cells(*write("1100.11", 40, 100), *again) == [["1100.11"]]


@pytest.mark.parametrize("leaders", ["....", " . . . . . ", "________", "--------"])
def test_leaders_are_a_gap(leaders: str) -> None:
    assert cells(*write(f"Total {leaders} 300.00", 40, 100)) == [["Total", "300.00"]]


def test_small_print_beside_large_letters_is_a_line_of_its_own_and_says_how_small_it_is() -> None:
    """Else a line would say that all of it is large."""
    lines = build_lines(0, [*write("INVOICE", 40, 100, 20), *write("DE0212030000000000", 120, 116, 4)]).lines
    assert [(line.text, line.height) for line in lines] == [("INVOICE", 20), ("DE0212030000000000", 4)]


def test_a_short_note_stays_in_its_line() -> None:
    assert cells(*write("INVOICE", 40, 100, 20), *write("No. 17", 120, 112, 8)) == [["INVOICE", "No. 17"]]


def test_a_few_dots_are_what_is_written() -> None:
    assert cells(*write("a...b", 40, 100)) == [["a...b"]]


def test_a_letter_is_held_against_a_bounded_number_of_rows() -> None:
    """However the heights are chosen: here each letter has one of its own, and the large ones are near to all."""
    index = RowIndex()
    letters = [Letter(1, 2, number * 0.01, number * 0.01 + 0.005, "x") for number in range(1500)]
    letters += [Letter(1, 2, number * 0.01 - 500, number * 0.01 + 500, "y") for number in range(1500)]
    for letter in letters:
        index.add_letter(letter)
    assert index.comparisons <= 60 * len(letters)


def test_on_a_page_as_it_should_be_few_rows_are_looked_at() -> None:
    index = RowIndex()
    for letter in [letter for row in range(300) for letter in write("seven words", 40, row * 12.0)]:
        index.add_letter(letter)
    assert len(index.rows) == 300
    assert index.comparisons < 6 * 300 * 11


def test_more_rows_than_a_page_has_are_cut_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_lines, "MAX_ROWS", 3)
    built = build_lines(0, [letter for row in range(5) for letter in write("x", 40, row * 12.0)])
    assert (len(built.lines), built.is_cut) == (3, True)
    assert not build_lines(0, write("x", 40, 0)).is_cut
