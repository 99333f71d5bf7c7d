"""The dates that a person may give a document: a slip in one digit makes another century."""

from datetime import UTC, date, datetime
from typing import Annotated

from pydantic import AfterValidator

# Nobody mailed an attachment before there were any (RFC 1341 is of 1992), and nobody writes an invoice a year ahead.
_FIRST_YEAR = 1990
_YEARS_AHEAD = 1
_YEARS_UNTIL_DUE = 10


def _require_year(day: date, ahead: int) -> date:
    last = datetime.now(UTC).year + ahead
    if not _FIRST_YEAR <= day.year <= last:
        raise ValueError(f"a day from {_FIRST_YEAR}-01-01 to {last}-12-31 is accepted, or null")
    return day


DateOfDocument = Annotated[date, AfterValidator(lambda day: _require_year(day, _YEARS_AHEAD))]
DateOfPayment = Annotated[date, AfterValidator(lambda day: _require_year(day, _YEARS_UNTIL_DUE))]
