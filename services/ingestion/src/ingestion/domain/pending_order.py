"""A pending order: what its sender says of it, how much of it was executed, and how the API shows it."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Any

from ingestion.domain.document import format_rfc3339
from ingestion.domain.numbers import format_date, format_number
from ingestion.domain.trade import Direction, Trade

_TEXT_COLUMNS = ("external_id", "direction", "isin", "wkn", "ticker", "account", "currency", "state")
_NUMBER_COLUMNS = ("quantity", "limit_price", "executed_quantity")
_DATE_COLUMNS = ("ordered_on", "valid_until")


class OrderState(StrEnum):
    """How much of a pending order was executed, as far as trades are known."""

    UNMATCHED = "unmatched"  # no trade is linked to it
    PARTIAL = "partial"  # trades make up less than its quantity
    FILLED = "filled"  # trades make up its quantity, within the tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTerms:
    """An order as it is sent; `external_id` names it, whatever it says."""

    external_id: str
    direction: Direction
    quantity: Decimal
    isin: str | None = None
    wkn: str | None = None
    ticker: str | None = None
    account: str | None = None
    limit_price: Decimal | None = None
    currency: str | None = None
    ordered_on: date
    valid_until: date | None = None

    @property
    def as_trade(self) -> Trade:
        return Trade(isin=self.isin, wkn=self.wkn, ticker=self.ticker, account=self.account)


ORDER_FIELDS = tuple(field.name for field in fields(OrderTerms))
"""Also the columns of a CSV file, and of `ingestion.pending_order`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingOrder(OrderTerms):
    """`executed` is what trades that are not looked at here have executed of it already."""

    order_id: str
    executed: Decimal = Decimal(0)


def find_order_state(order: PendingOrder, executed: Decimal, slack: Decimal) -> OrderState:
    """`executed` is what all trades have executed of it."""
    if not executed:
        return OrderState.UNMATCHED
    return OrderState.FILLED if executed >= order.quantity - slack else OrderState.PARTIAL


def build_order_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """`row` has the columns of `ingestion.pending_order`."""
    return {
        "id": row["order_id"],
        **{name: row[name] for name in _TEXT_COLUMNS},
        **{name: format_number(row[name]) for name in _NUMBER_COLUMNS},
        **{name: format_date(row[name]) for name in _DATE_COLUMNS},
        "created_at": format_rfc3339(row["created_at"]),
        "updated_at": format_rfc3339(row["updated_at"]),
    }
