"""A slip in a digit of a year is told at once, with what is accepted."""

from datetime import UTC, datetime

import pytest
from pydantic import ValidationError

from ingestion.api.review import CorrectedFields

NEXT_YEAR = datetime.now(UTC).year + 1


@pytest.mark.parametrize(
    ("field", "day"),
    [
        ("due_date", "1926-12-09"),
        ("issue_date", "1989-12-31"),
        ("issue_date", f"{NEXT_YEAR + 1}-01-01"),
        ("due_date", f"{NEXT_YEAR + 10}-01-01"),
    ],
)
def test_a_day_of_another_century_is_refused_by_the_name_of_its_field(field: str, day: str) -> None:
    with pytest.raises(ValidationError, match="a day from 1990-01-01 to") as refused:
        CorrectedFields.model_validate({field: day})
    assert refused.value.errors()[0]["loc"] == (field,)


def test_what_is_due_in_years_and_what_is_old_are_accepted() -> None:
    given = CorrectedFields.model_validate({"issue_date": f"{NEXT_YEAR}-12-31", "due_date": f"{NEXT_YEAR + 9}-12-31"})
    assert given.to_json()["issue_date"] == f"{NEXT_YEAR}-12-31"
    assert CorrectedFields.model_validate({"issue_date": "1990-01-01", "due_date": None}).to_json()["due_date"] is None
