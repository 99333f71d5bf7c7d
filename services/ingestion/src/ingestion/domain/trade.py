"""A trade as Mailroom knows it: one buy or sale of one security, of which any field may be unknown."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any, Self

from ingestion.domain.numbers import format_amount, format_number, parse_date, parse_decimal

CONTRACT_NOTE = "contract_note"
ACTIVITY_STATEMENT = "activity_statement"
TRADE_DOCUMENT_TYPES = frozenset({CONTRACT_NOTE, ACTIVITY_STATEMENT})

# Without these nobody can book a trade, so without them only a person may say that it is complete.
REQUIRED_FIELDS = ("direction", "trade_date", "quantity", "currency", "settled_amount")
IDENTIFIERS = ("isin", "wkn", "ticker")


class Direction(StrEnum):
    BUY = "buy"  # the account gets the security and pays
    SELL = "sell"  # the account gives the security and is paid

    @property
    def sign_of_costs(self) -> int:
        """Costs are paid on top of what is bought, and out of what is sold."""
        return 1 if self is Direction.BUY else -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Trade:
    """`gross_amount` is quantity × price in `currency`, in which the trade was settled; where the price is in another
    one, `foreign_currency` and `foreign_gross_amount` say so. `fees` and `taxes` are sums of what the note lists, what
    is given back with a minus; what a supervisor takes (`SEC fee`) is a fee.

    `is_cancellation`: the note takes this trade back.
    """

    direction: Direction | None = None
    trade_date: date | None = None
    trade_time: str | None = None
    settlement_date: date | None = None
    quantity: Decimal | None = None
    price: Decimal | None = None
    isin: str | None = None
    wkn: str | None = None
    ticker: str | None = None
    security_name: str | None = None
    currency: str | None = None
    settled_amount: Decimal | None = None
    gross_amount: Decimal | None = None
    fees: Decimal | None = None
    taxes: Decimal | None = None
    accrued_interest: Decimal | None = None
    foreign_currency: str | None = None
    foreign_gross_amount: Decimal | None = None
    reference: str | None = None
    account: str | None = None
    account_name: str | None = None
    is_cancellation: bool = False

    def to_json(self) -> dict[str, Any]:
        return {name: _to_json(name, getattr(self, name)) for name in TRADE_FIELDS}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`: how a trade comes back from the parser process."""
        return cls(**{name: _from_json(name, value[name]) for name in TRADE_FIELDS})

    def list_missing_fields(self) -> list[str]:
        missing = [name for name in REQUIRED_FIELDS if getattr(self, name) is None]
        return missing + ([] if any(getattr(self, name) for name in IDENTIFIERS) else ["isin"])

    def sum_costs(self) -> Decimal:
        return (self.fees or Decimal(0)) + (self.taxes or Decimal(0))

    def adds_up(self) -> bool | None:
        """Whether gross and costs make what was settled, to a cent or two of rounding; None when one is unknown.

        Accrued interest goes to the seller of a bond. Where costs are more than what was sold, the rest is paid.
        """
        if self.direction is None or self.gross_amount is None or self.settled_amount is None:
            return None
        costs = self.direction.sign_of_costs * self.sum_costs()
        expected = abs(self.gross_amount + costs + (self.accrued_interest or Decimal(0)))
        return abs(expected - abs(self.settled_amount)) <= Decimal("0.02")

    def multiplies(self) -> bool | None:
        """Whether quantity × price is an amount of the trade; None when one is unknown.

        A price is of one piece, or in per cent (or pence); an average one is as exact as it is written.
        """
        amounts = [amount for amount in (self.gross_amount, self.foreign_gross_amount) if amount is not None]
        is_price_elsewhere = self.foreign_currency is not None and self.foreign_gross_amount is None
        if self.quantity is None or self.price is None or not amounts or is_price_elsewhere:
            return None
        product = self.quantity * self.price
        rounded_by = abs(self.quantity) * Decimal(1).scaleb(min(_count_exponent(self.price), -2)) / 2
        return any(
            abs(product / part - abs(amount)) <= Decimal("0.02") + rounded_by / part
            for amount in amounts
            for part in (Decimal(1), Decimal(100))
        )


TRADE_FIELDS = tuple(field.name for field in fields(Trade))
_MAX_DIGITS = 24  # of an amount or a quantity
_AMOUNTS = frozenset({"settled_amount", "gross_amount", "fees", "taxes", "accrued_interest", "foreign_gross_amount"})
_NUMBERS = frozenset({"quantity", "price"})
_DATES = frozenset({"trade_date", "settlement_date"})


def _count_exponent(number: Decimal) -> int:
    exponent = number.as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def _to_json(name: str, value: Any) -> Any:
    if name in _AMOUNTS:
        return format_amount(value)
    if name in _NUMBERS:
        return format_number(value)
    return value.isoformat() if isinstance(value, date) else value


def _from_json(name: str, value: Any) -> Any:
    if name in _AMOUNTS or name in _NUMBERS:
        return parse_decimal(value)
    if name in _DATES:
        return parse_date(value)
    return Direction(value) if name == "direction" and value is not None else value


def read_stored_trade(fields: Mapping[str, Any]) -> Trade:
    """As a document of any age has it: what a version before did not read is unknown, and so is a number that no trade
    has, which would compare with nothing."""
    trade = Trade.from_json({**dict.fromkeys(TRADE_FIELDS), "is_cancellation": False, **fields})
    numbers = {name: getattr(trade, name) for name in TRADE_FIELDS if isinstance(getattr(trade, name), Decimal)}
    unknown: dict[str, Any] = {name: None for name, number in numbers.items() if not _is_plausible(number)}
    return replace(trade, **unknown)


def _is_plausible(number: Decimal) -> bool:
    return number.is_finite() and number.adjusted() < _MAX_DIGITS and len(number.as_tuple().digits) <= _MAX_DIGITS
