"""Trades as a review gives them."""

from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from stdnum import isin as stdnum_isin

from ingestion.api.currency_fields import TradeCurrencyCode
from ingestion.api.day_fields import PaperDay, PastDay
from ingestion.domain.trade import Direction, Trade

MAX_TRADES = 1000


def require_isin(text: str) -> str:
    """
    Raises:
        ValueError
    """
    capitals = text.strip().upper()
    if not stdnum_isin.is_valid(capitals):
        raise ValueError("its check digit or its length is not that of an ISIN")
    return capitals


# A list that is asked for by an ISIN which cannot be one is empty, as if nobody traded it.
ISINFilter = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]{12}$"), AfterValidator(require_isin)]
ISIN = Annotated[str, StringConstraints(max_length=20), AfterValidator(require_isin)]
TradeText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
SecurityCode = Annotated[
    str, StringConstraints(strip_whitespace=True, to_upper=True, pattern=r"^[A-Za-z0-9.:/ -]{1,20}$")
]
TradeNumber = Annotated[Decimal, Field(max_digits=24, decimal_places=10, allow_inf_nan=False)]
TradeQuantity = Annotated[Decimal, Field(max_digits=24, decimal_places=10, allow_inf_nan=False, gt=0)]


class CorrectedTrade(BaseModel):
    """A whole trade: what is left out, the document does not say."""

    model_config = ConfigDict(extra="forbid")

    direction: Direction | None = None
    trade_date: PastDay | None = None
    trade_time: Annotated[str, StringConstraints(pattern=r"^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d)?$")] | None = None
    settlement_date: PaperDay | None = None
    quantity: TradeQuantity | None = None
    price: TradeNumber | None = None
    isin: ISIN | None = None
    wkn: SecurityCode | None = None
    ticker: SecurityCode | None = None
    security_name: TradeText | None = None
    currency: TradeCurrencyCode | None = None
    settled_amount: TradeNumber | None = None
    gross_amount: TradeNumber | None = None
    fees: TradeNumber | None = None
    taxes: TradeNumber | None = None
    accrued_interest: TradeNumber | None = None
    foreign_currency: TradeCurrencyCode | None = None
    foreign_gross_amount: TradeNumber | None = None
    reference: TradeText | None = None
    account: TradeText | None = None
    account_name: TradeText | None = None
    is_cancellation: bool = False

    def to_json(self) -> dict[str, Any]:
        """As `extraction` has it."""
        return Trade(**{name: getattr(self, name) for name in type(self).model_fields}).to_json()
