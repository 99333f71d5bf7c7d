from datetime import UTC, datetime, timedelta

import pytest

from mailroom_cli.record_ranges import RecordSelection, parse_moment
from mailroom_common.errors import Rejected

NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2h", NOW - timedelta(hours=2)),
        ("90s", NOW - timedelta(seconds=90)),
        ("1w", NOW - timedelta(weeks=1)),
        ("2026-11-01", datetime(2026, 11, 1, tzinfo=UTC)),
        ("2026-11-01T10:00+02:00", datetime(2026, 11, 1, 8, tzinfo=UTC)),
    ],
)
def test_a_time_is_a_date_or_how_long_ago(text: str, moment: datetime) -> None:
    assert parse_moment(text, NOW) == moment


@pytest.mark.parametrize("text", ["", "yesterday", "2", "h", "-2h"])
def test_what_is_no_time_is_an_error(text: str) -> None:
    with pytest.raises(ValueError):  # the command says what a time is
        parse_moment(text, NOW)


def test_offsets_without_a_partition_select_nothing() -> None:
    with pytest.raises(Rejected, match="--partition"):
        RecordSelection(from_offset=1)


def test_an_end_before_the_start_selects_nothing() -> None:
    with pytest.raises(Rejected, match="--until"):
        RecordSelection(since=NOW, until=NOW)
