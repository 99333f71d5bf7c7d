"""An ISIN that stands only beside words for another security is not the note's."""

from note_texts import ENGLISH, read_only


def test_the_isin_of_the_underlying_is_not_the_security_s() -> None:
    note = ENGLISH.replace("ISIN: DE0008404005", "WKN: HG1ABC\nUnderlying: Allianz SE, ISIN DE0008404005")
    assert read_only(note)["isin"] is None
