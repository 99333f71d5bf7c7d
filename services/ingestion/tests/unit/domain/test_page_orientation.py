from math import pi

import pytest

from ingestion.domain.page_orientation import PageOrientation

# As it is shown the page is 100 points wide and 200 high, and what was read stands at its upper left corner.
SHOWN = (10.0, 20.0, 40.0, 30.0)


@pytest.mark.parametrize(
    ("orientation", "read"),
    [
        (PageOrientation(0, 0.0, 100.0, 200.0), (10.0, 20.0, 40.0, 30.0)),
        (PageOrientation(1, 0.0, 200.0, 100.0), (20.0, 60.0, 30.0, 90.0)),
        (PageOrientation(2, 0.0, 100.0, 200.0), (60.0, 170.0, 90.0, 180.0)),
        (PageOrientation(3, 0.0, 200.0, 100.0), (170.0, 10.0, 180.0, 40.0)),
    ],
)
def test_a_box_of_a_turned_page_is_shown_where_it_stands_on_the_page(
    orientation: PageOrientation, read: tuple[float, float, float, float]
) -> None:
    assert orientation.place_box(*read) == pytest.approx(SHOWN)


def test_a_box_of_a_page_that_lay_askew_holds_what_was_read() -> None:
    left, top, right, bottom = PageOrientation(0, pi / 180, 100.0, 200.0).place_box(50.0, 100.0, 90.0, 110.0)
    # A degree to the right of it: further down, and a little more to the left.
    assert (round(left), round(top), round(right), round(bottom)) == (48, 101, 88, 112)


@pytest.mark.parametrize(
    "values", [[4, 0.0, 1.0, 1.0], [0, 9.0, 1.0, 1.0], [0, 0.0, float("nan"), 1.0], [0, 0.0, 1.0], [True, 0, 1, 1]]
)
def test_an_orientation_that_no_page_has_is_refused(values: list[float]) -> None:
    with pytest.raises((ValueError, TypeError)):
        PageOrientation.from_list(values)
