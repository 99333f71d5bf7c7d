"""Each switch is documented."""

import re
from pathlib import Path

from mailroom_sandbox.provider_doubles.faults import FAULTS

README = Path(__file__).parents[3] / "README.md"


def test_each_switch_has_its_row_in_the_readme() -> None:
    section = README.read_text().partition("## Faults")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(FAULTS)


def test_each_switch_says_what_it_does() -> None:
    own = [fault.__doc__ for fault in FAULTS.values()]
    assert all(own)
    assert len(set(own)) == len(FAULTS)


def test_one_word_stands_for_a_list_of_one() -> None:
    fault = FAULTS["item_fails"].model_validate({"items": "Bad", "where": "delta"})
    assert (fault.model_dump()["items"], fault.model_dump()["where"]) == (("Bad",), ("delta",))
