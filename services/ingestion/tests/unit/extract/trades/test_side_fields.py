"""A word for a side counts only in a heading, a sentence or a field for the side."""

import pytest
from note_texts import ENGLISH, read_only


def _say_side(*lines: str) -> str | None:
    """The English note without costs, whose side only these lines say."""
    rest = ENGLISH.replace("You have PURCHASED", "\n".join(lines))
    rest = rest.replace("Commission: €4.95\n", "").replace("€209.95", "€205.00")
    side: str | None = read_only(rest)["direction"]
    return side


@pytest.mark.parametrize(
    "lines",
    [
        ("B/S: S", "Subscription shares: yes"),
        ("Type: Option d'achat", "Sens: V"),
        ("Redemption charge: None",),
        ("Purchase channel: Online",),
    ],
)
def test_a_word_of_the_terms_says_no_side(lines: tuple[str, ...]) -> None:
    assert _say_side(*lines) is None


@pytest.mark.parametrize(
    "line", ["[ ] Buy  [X] Sell", "Bought: no   Sold: yes", "Purchase or sale: S", "☐ Kauf ☒ Verkauf"]
)
def test_a_line_that_names_both_sides_says_none(line: str) -> None:
    assert _say_side(line) is None


@pytest.mark.parametrize("line", ["Closing a sold position", "Rückkauf einer Leerverkaufsposition"])
def test_what_closes_a_short_position_leaves_the_side_open(line: str) -> None:
    assert _say_side(line) is None


@pytest.mark.parametrize("line", ["Side: Buy", "Bought", "Sold short: no\nYou bought", "Transaction: Purchase"])
def test_a_heading_or_the_field_for_the_side_says_it(line: str) -> None:
    assert _say_side(line) == "buy"
