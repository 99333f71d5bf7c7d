from datetime import timedelta

import pytest

from ingestion.domain.document import Outcome, RetryRule
from mailroom_common.events import ResultStatus

RULE = RetryRule(attempts=3, first_pause=timedelta(seconds=5), longest_pause=timedelta(seconds=60))


def test_pauses_double_up_to_the_longest() -> None:
    assert [RULE.pause_after(n).total_seconds() for n in (1, 2, 3, 5, 50)] == [5, 10, 20, 60, 60]


def test_the_last_attempt_is_the_last() -> None:
    assert [RULE.is_spent(n) for n in (1, 2, 3, 4)] == [False, False, True, True]


@pytest.mark.parametrize("status", [ResultStatus.PENDING, ResultStatus.PROCESSING])
def test_only_an_end_is_an_outcome(status: ResultStatus) -> None:
    with pytest.raises(ValueError, match="no end"):
        Outcome(status=status, reason="why")


def test_every_end_but_completed_has_a_reason() -> None:
    with pytest.raises(ValueError, match="reason"):
        Outcome(status=ResultStatus.SKIPPED)
    with pytest.raises(ValueError, match="reason"):
        Outcome(status=ResultStatus.COMPLETED, reason="because")


def test_a_failed_document_shows_its_reason_where_people_look() -> None:
    failed = Outcome(status=ResultStatus.FAILED, reason="blob_missing")
    assert (failed.review_reason, failed.skip_reason) == ("blob_missing", None)
