"""Where a number ends that blanks divide."""

import pytest
from invoice_rows import read_number


@pytest.mark.parametrize(
    "written",
    [
        "RE 2026 0441",
        "FA 2026 11 0118",
        "0000 4471 2",
        "HM-204 41-B",
        "2026 - 11 - 4471",
        "F2026 - 0118",
        "118 / A",
        "118 bis",
        "26/000118 A",
        "FT 2026A 1/118",
    ],
)
def test_a_number_with_blanks_is_read_to_its_end(written: str) -> None:
    assert read_number("Example", f"Rechnung Nr. {written}") == written
    assert read_number("Example", f"Rechnung Nr. {written} vom 03.11.2026") == written


def test_a_number_is_none_where_nothing_tells_where_it_ends() -> None:
    assert read_number("Example", "Rechnung Nr. RE 2026 0441 Montage") is None
    assert read_number("Example", "Rechnung Nr. 4711 Montage") == "4711"
    assert read_number("Example", "Rechnung Nr. 4711 03.11.2026") == "4711"
    assert read_number("Example", "Rechnung Nr. 4711 2026-11-03") == "4711"
    assert read_number("Example", "Rechnung Nr. 4711 15,00 EUR") == "4711"
    assert read_number("Example", "Rechnung Nr. 4711 15 EUR") == "4711"


def test_two_long_numbers_with_a_slash_between_them_may_be_two() -> None:
    assert read_number("Example", "Rechnung Nr. HM-20441 / 88213") is None
    assert read_number("Example", "Rechnung Nr. FT 2026 / 10118") == "FT 2026 / 10118"
