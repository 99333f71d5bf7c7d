import re
from pathlib import Path

import pytest

from ingestion.domain.reasons import DocumentSkipReason, Reason, ReviewReason, parse_reason

README = Path(__file__).parents[3] / "README.md"


@pytest.mark.parametrize("reason", [*DocumentSkipReason, *ReviewReason])
def test_a_reason_comes_back_from_its_column_as_what_it_was(reason: Reason) -> None:
    assert parse_reason(reason.value) is reason


def test_an_unknown_reason_is_refused() -> None:
    with pytest.raises(ValueError, match="is not a valid ReviewReason"):
        parse_reason("made_up")


def test_the_readme_explains_every_reason() -> None:
    explained = set(re.findall(r"`([a-z_]+)`", README.read_text()))
    assert {*DocumentSkipReason, *ReviewReason} <= explained
