"""The fields of an invoice as a review gives them."""

import pytest
from pydantic import ValidationError

from ingestion.api.review import CorrectedFields


@pytest.mark.parametrize("name", ["issue_date", "due_date"])
@pytest.mark.parametrize("day", ["1926-12-09", "2206-11-09", "0001-01-01"])
def test_a_day_of_another_century_is_refused_with_those_that_there_are(name: str, day: str) -> None:
    with pytest.raises(ValidationError, match="a day from 1970-01-01 to"):
        CorrectedFields.model_validate({name: day})
    assert CorrectedFields.model_validate({name: "2026-12-09"}).to_json() == {name: "2026-12-09"}
