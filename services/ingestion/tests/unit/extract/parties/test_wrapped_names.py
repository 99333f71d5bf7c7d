"""A name that is broken over two lines is read whole, or is not certain: a part of it is another name."""

import pytest

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract.parties.supplier import find_supplier
from ingestion.extract.parties.wrapped_names import join_wrapped_name, may_go_on_below


def line(top: float, *cells: tuple[str, float], height: float = 13.0, size: float = 5.0) -> TextLine:
    written = tuple(TextCell(text, left, left + size * len(text)) for text, left in cells)
    return TextLine(0, top, height, written)


def build_club(rest: str, *, top: float = 70.0, left: float = 74.0, size: float = 8.0) -> list[TextLine]:
    """A club's letter head in large type, with its address at the right."""
    return [
        line(50, ("Watersportvereniging De Lange", 74), height=20, size=8),
        TextLine(0, top, 13, (*line(top, (rest, left), size=size).cells, *line(top, ("4205 XK Gorinchem", 429)).cells)),
        *(line(90 + number * 14, (f"Regel {number} van de nota", 74)) for number in range(9)),
    ]


def test_a_large_name_with_a_word_of_its_size_straight_below_is_no_whole_name() -> None:
    name = "Watersportvereniging De Lange"
    assert may_go_on_below(build_club("Wiel"), name)
    assert not may_go_on_below(build_club("Wiel", size=5), name)  # smaller: another thing is said there
    assert not may_go_on_below(build_club("Wiel", top=89), name)  # further down
    assert not may_go_on_below(build_club("Wiel", left=120), name)  # at another edge
    assert not may_go_on_below(build_club("Factuur"), name)  # a title


def test_a_name_with_its_legal_form_at_its_end_is_whole() -> None:
    page = [line(50, ("Lange Wiel B.V.", 74), height=20, size=8), *build_club("Wiel")[1:]]
    assert not may_go_on_below(page, "Lange Wiel B.V.")


def test_a_supplier_whose_name_may_go_on_is_not_certain() -> None:
    def read(rest: str) -> bool:
        page = build_club(rest)
        page[2] = line(90, ("KvK 12345678", 74), ("btw NL823456789B01", 200))
        supplier = find_supplier([*page, line(300, ("Klant: De heer C. Terpstra", 74))])
        assert supplier is not None
        assert supplier.name == "Watersportvereniging De Lange"
        return supplier.is_certain

    assert read("12 34")
    assert not read("Wiel")


@pytest.mark.parametrize(
    ("above", "rest", "expected"),
    [
        (
            "TERMOIDRAULICA BELLUCO",
            "di Belluco Sergio & C. S.n.c.",
            "TERMOIDRAULICA BELLUCO di Belluco Sergio & C. S.n.c.",
        ),
        ("Kranendonk", "en Zonen B.V.", "Kranendonk en Zonen B.V."),
        ("Southern Roast Coffee", "Pty Ltd", "Southern Roast Coffee Pty Ltd"),
        ("Rechnung", "von Holten GmbH", "von Holten GmbH"),
        ("Southern Roast Coffee", "Example Pty Ltd", "Example Pty Ltd"),
    ],
)
def test_the_rest_of_a_name_is_joined_to_what_stands_above_it(above: str, rest: str, expected: str) -> None:
    between = line(60, ("Idrotecnica Polesana", 303))  # of another column
    page = [line(50, (above, 35), height=17), between, line(67, (rest, 35))]
    assert join_wrapped_name(page, 2, 0) == expected


def test_what_stands_far_above_is_no_part_of_a_name() -> None:
    page = [line(50, ("TERMOIDRAULICA BELLUCO", 35), height=17), line(150, ("di Belluco Sergio S.n.c.", 35))]
    assert join_wrapped_name(page, 1, 0) == "di Belluco Sergio S.n.c."
