"""An ISIN that stands only beside words for another security is not the note's."""

import pytest
from note_texts import ENGLISH, read_only


def test_the_isin_of_the_underlying_is_not_the_security_s() -> None:
    note = ENGLISH.replace("ISIN: DE0008404005", "WKN: HG1ABC\nUnderlying: Allianz SE, ISIN DE0008404005")
    assert read_only(note)["isin"] is None


@pytest.mark.parametrize(
    "line",
    ["Referenzaktie DE0008404005", "Masterfonds: Index (ISIN DE0008404005)", "Neue ISIN ab 01.03.2026 DE0008404005"],
)
def test_an_isin_among_other_words_is_not_the_one_of_a_security_with_another_number(line: str) -> None:
    assert read_only(ENGLISH.replace("ISIN: DE0008404005", f"WKN: 840400\n{line}"))["isin"] is None


@pytest.mark.parametrize(
    "lines", ["WKN: 840400\nISIN: DE0008404005", "WKN 840400 / DE0008404005", "WKN: 840400\nALLIANZ SE DE0008404005"]
)
def test_an_isin_beside_its_label_another_number_or_the_name_is_the_security_s(lines: str) -> None:
    assert read_only(ENGLISH.replace("ISIN: DE0008404005", lines))["isin"] == "DE0008404005"
