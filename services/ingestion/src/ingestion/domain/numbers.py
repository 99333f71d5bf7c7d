"""Amounts, numbers and dates as JSON has them: decimal strings and ISO dates, null where unknown."""

from datetime import date
from decimal import Decimal


def format_date(value: date | None) -> str | None:
    return None if value is None else value.isoformat()


def format_amount(value: Decimal | None) -> str | None:
    """Two decimals at least, as money is written; more where the document has them."""
    if value is None:
        return None
    shortened = value.normalize()
    exponent = shortened.as_tuple().exponent
    return f"{shortened:.2f}" if not isinstance(exponent, int) or exponent > -2 else f"{shortened:f}"


def format_number(value: Decimal | None) -> str | None:
    if value is None:
        return None
    return f"{value.normalize():f}" if value else "0"


def parse_decimal(value: str | None) -> Decimal | None:
    return None if value is None else Decimal(value)


def parse_date(value: str | None) -> date | None:
    return None if value is None else date.fromisoformat(value)
