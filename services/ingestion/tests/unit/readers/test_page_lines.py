from dataclasses import replace

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


def space_out(text: str, left: float, apart: float, word_gap: float = 7, *, is_typed: bool = False) -> list[Letter]:
    """Letters of 5 points with gaps between them; where a word ends the gap is wider."""
    letters: list[Letter] = []
    for word in text.split():
        for at, letter in enumerate(word):
            right = left + 5
            letters.append(Letter(left, right, 100, 110, letter, follows_blank=is_typed and (at > 0 or bool(letters))))
            left = right + apart
        left += word_gap - apart
    return letters


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


@pytest.mark.parametrize("is_typed", [False, True])
@pytest.mark.parametrize("apart", [1.3, 2.0, 3.5])
@pytest.mark.parametrize(
    "text", ["FACTUUR", "RECHNUNG Nr. 4711", "Total 1.234,56", "1.234,56", "€ 12,50", "RE-2026-17 INVOICE"]
)
def test_letters_that_are_spaced_evenly_are_one_word(text: str, apart: float, is_typed: bool) -> None:
    assert cells(*space_out(text, 40, apart, apart + 3, is_typed=is_typed)) == [[text]]


def test_a_kerning_pair_in_a_spaced_word_is_no_word() -> None:
    first, second, *others = space_out("FACTUUR", 40, 2)
    rest = [replace(letter, left=letter.left - 1.4, right=letter.right - 1.4) for letter in (second, *others)]
    assert cells(first, *rest) == [["FACTUUR"]]


@pytest.mark.parametrize(
    "text",
    ["1 2 3 4 5", "2 0 2 6", "a b", "S M L", "7 5 , 0", "Pos 1 2 3 4", "pos. A 1 2 3 EUR", "A + B + C - D", "S M L 1"],
)
def test_letters_and_digits_that_stand_alone_are_joined_to_a_word_or_an_amount_only(text: str) -> None:
    """They may be those of several columns."""
    assert cells(*write(text, 40, 100)) == [[text]]


@pytest.mark.parametrize(
    ("text", "expected"), [("I N V O I C E No. 4 5", "INVOICE No. 4 5"), ("T o t a l 300,00", "Total 300,00")]
)
def test_a_spaced_word_ends_where_letters_have_no_gap(text: str, expected: str) -> None:
    assert cells(*write(text, 40, 100)) == [[expected]]


@pytest.mark.parametrize("is_typed", [False, True])
def test_four_letters_with_typed_blanks_may_be_a_name(is_typed: bool) -> None:
    name = space_out("ABCD", 40, 3, is_typed=is_typed)
    trading = [replace(letter, follows_blank=at == 0) for at, letter in enumerate(write("Trading", 75, 100))]
    assert cells(*name, *trading) == [["A B C D Trading" if is_typed else "ABCD Trading"]]


def test_narrow_blanks_between_words_are_no_spacing() -> None:
    placed, left = [], 40.0
    for word in ("A", "B", "C", "Rechnung", "12"):
        placed += write(word, left, 100)
        left += 5 * len(word) + 1.3
    assert cells(*placed) == [["A B C Rechnung 12"]]


def test_a_written_blank_parts_spaced_words_however_narrow_it_is() -> None:
    letters = space_out("NETTO BETRAG", 40, 2, 2.5)
    letters[5] = replace(letters[5], follows_blank=True)
    assert cells(*letters) == [["NETTO BETRAG"]]


def test_a_blank_that_kerning_took_back_parts_no_number() -> None:
    number = [*write("2026-", 40, 100), *write("4471", 65.5, 100)]
    number[5] = replace(number[5], follows_blank=True)
    assert cells(*number) == [["2026-4471"]]


def test_spaced_values_of_two_columns_stay_two() -> None:
    assert cells(*space_out("12,50", 40, 2), *space_out("99,00", 78, 2)) == [["12,50 99,00"]]
    assert cells(*space_out("12,50", 40, 2), *space_out("99,00", 83, 2)) == [["12,50", "99,00"]]
    assert cells(*space_out("NETTO BETRAG", 40, 2), *write("300,00", 140, 100)) == [["NETTO BETRAG", "300,00"]]


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
