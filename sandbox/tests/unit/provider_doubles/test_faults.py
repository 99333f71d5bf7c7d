"""Each switch is documented."""

import re
from pathlib import Path

from mailroom_sandbox.provider_doubles.faults import FAULTS, Notifications

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


def test_posts_of_a_change_are_planned_by_the_mode() -> None:
    def plan(**fields: object) -> list[float]:
        return Notifications.model_validate(fields).plan_posts(now_s=1007.0, chance=0.25)

    assert plan(mode="off") == []
    assert plan(mode="duplicated", copies=3) == [0.0, 0.0, 0.0]
    assert plan(mode="delayed", delay_s=8) == [8.0]
    assert plan(mode="reordered", delay_s=8) == [2.0]
    assert plan(mode="mixed", delay_s=10) == [3.0]
