"""Beside a large letter stand two rows, or more: their letters never mix."""

import pytest

from ingestion.readers.page_letters import Letter
from ingestion.readers.page_lines import build_lines


def write(text: str, left: float, bottom: float, size: float = 9) -> list[Letter]:
    width = size / 2
    return [
        Letter(left + at * width, left + (at + 1) * width, bottom - size, bottom, letter)
        for at, letter in enumerate(text)
        if letter != " "
    ]


def read(*letters: Letter) -> list[str]:
    return [line.text for line in build_lines(0, letters).lines]


HEAD = write("KD", 40, 130, 32)


@pytest.mark.parametrize("shift", [-3, -1.5, 0, 1.5, 3])
def test_digits_of_two_rows_beside_a_large_head_do_not_mix(shift: float) -> None:
    upper = write("Account number 88410273", 300, 118 + shift)
    lower = write("Invoice number 20261188", 302, 130 + shift)
    lines = read(*HEAD, *upper, *lower)
    assert [line.split()[-3:] for line in lines if "number" in line] == [
        ["Account", "number", "88410273"],
        ["Invoice", "number", "20261188"],
    ]


def test_a_row_in_the_blank_of_another_one_is_a_line_of_its_own() -> None:
    upper = [*write("Total 1", 300, 118), *write("00", 350, 118)]
    assert read(*HEAD, *upper, *write("9", 338, 130)) == ["KD", "Total 1 00", "9"]


def test_large_letters_under_a_row_are_no_part_of_it() -> None:
    assert read(*write("COPY", 60, 130, 40), *write("Total 100.00 EUR", 62, 120)) == ["COPY", "Total 100.00 EUR"]


def test_raised_cents_and_a_row_at_the_foot_of_a_headline_stay_in_its_line() -> None:
    assert read(*write("Sum", 40, 130, 20), *write("12", 80, 130, 20), *write("99", 101, 122, 9)) == ["Sum 1299"]
    assert read(*HEAD, *write("Invoice", 300, 130)) == ["KD Invoice"]
