"""A pending order as it is sent: as JSON, or as a line of CSV."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from ingestion.api.currency_fields import TradeCurrencyCode
from ingestion.api.day_fields import PaperDay
from ingestion.api.trade_fields import ISIN, SecurityCode
from ingestion.domain.currencies import was_replaced_before
from ingestion.domain.pending_order import OrderTerms
from ingestion.domain.trade import Direction
from mailroom_common.web import describe_mistake

_FIRST_DAY, _LAST_DAY = date(1970, 1, 1), date(2199, 12, 31)


def _require_plausible_day(day: date) -> date:
    if not _FIRST_DAY <= day <= _LAST_DAY:
        raise ValueError(f"a day from {_FIRST_DAY} to {_LAST_DAY} is needed")
    return day


OrderText = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=100)]
OrderNumber = Annotated[Decimal, Field(gt=0, max_digits=24, decimal_places=10, allow_inf_nan=False)]
OrderDay = Annotated[date, AfterValidator(_require_plausible_day)]


class NewOrderRequest(BaseModel):
    """`external_id` is yours: an order that is sent again is the same one. A security is named by at least one of
    `isin`, `wkn` and `ticker`. `limit_price` is the worst price; `valid_until` the last day."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [
                {
                    "external_id": "2026-1187",
                    "direction": "buy",
                    "quantity": "10",
                    "isin": "DE0008404005",
                    "account": "1234567890",
                    "limit_price": "21",
                    "currency": "EUR",
                    "ordered_on": "2026-04-01",
                }
            ]
        },
    )

    external_id: OrderText
    direction: Direction
    quantity: OrderNumber
    ordered_on: PaperDay
    valid_until: OrderDay | None = None
    isin: ISIN | None = None
    wkn: SecurityCode | None = None
    ticker: SecurityCode | None = None
    account: OrderText | None = None
    limit_price: OrderNumber | None = None
    currency: TradeCurrencyCode | None = None

    @model_validator(mode="after")
    def _require_security_and_days(self) -> "NewOrderRequest":
        if not (self.isin or self.wkn or self.ticker):
            raise ValueError("isin, wkn or ticker is needed")
        if self.valid_until is not None and self.valid_until < self.ordered_on:
            raise ValueError("valid_until is before ordered_on")
        if was_replaced_before(self.currency, self.ordered_on):
            raise ValueError(f"{self.currency} was replaced before ordered_on")
        return self

    def to_order(self) -> OrderTerms:
        return OrderTerms(**{name: getattr(self, name) for name in type(self).model_fields})


def parse_row(row: Mapping[str, str | None]) -> OrderTerms | list[tuple[str | None, str]]:
    """The order of a line, or each column with what is wrong with it; None where it is of several."""
    try:
        given = {name: value for name, value in row.items() if value is not None}
        return NewOrderRequest.model_validate(given).to_order()
    except ValidationError as error:
        return [
            (str(mistake["loc"][0]) if mistake["loc"] else None, describe_mistake(mistake))
            for mistake in error.errors(include_url=False, include_input=False)
        ]
