"""The clock that compositions hand to whoever needs one."""

from datetime import UTC, datetime


def utc_now() -> datetime:
    return datetime.now(UTC)
