"""Days as a person or a program types them: a slip in the year is refused, since nothing else compares with it."""

from datetime import UTC, date, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator

_FIRST_DAY = date(1970, 1, 1)
# A paper is dated a little ahead at most; more than that is a wrong digit.
_YEARS_AHEAD = 5
_LONGEST_AHEAD = timedelta(days=366)


def _require_day_of_paper(day: date) -> date:
    last = date(datetime.now(UTC).year + _YEARS_AHEAD, 12, 31)
    if not _FIRST_DAY <= day <= last:
        raise ValueError(f"a day from {_FIRST_DAY} to {last} is needed")
    return day


def _require_past_day(day: date) -> date:
    # It is tomorrow somewhere.
    last = datetime.now(UTC).date() + timedelta(days=1)
    if not _FIRST_DAY <= day <= last:
        raise ValueError(f"a day from {_FIRST_DAY} to {last} is needed: it has been by now")
    return day


def _require_day_of_issue(day: date) -> date:
    # Nobody dates an invoice a year ahead; a day on which it is due may be.
    last = datetime.now(UTC).date() + _LONGEST_AHEAD
    if not _FIRST_DAY <= day <= last:
        raise ValueError(f"a day from {_FIRST_DAY} to {last} is needed: an invoice is not dated a year ahead")
    return day


PaperDay = Annotated[date, AfterValidator(_require_day_of_paper)]
InvoiceDay = Annotated[date, AfterValidator(_require_day_of_issue)]
PastDay = Annotated[date, AfterValidator(_require_past_day)]
