"""Currencies as a person or a program types them."""

from collections.abc import Callable
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from ingestion.domain.currencies import CURRENCY_CODES, TRADE_CURRENCY_CODES


def _require_one_of(codes: frozenset[str]) -> Callable[[str], str]:
    def require_currency(code: str) -> str:
        if code not in codes:
            raise ValueError(f"{code} is no currency of ISO 4217: one is needed, as EUR")
        return code

    return require_currency


_Code = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[A-Z]{3}$")]
CurrencyCode = Annotated[_Code, AfterValidator(_require_one_of(CURRENCY_CODES))]
TradeCurrencyCode = Annotated[_Code, AfterValidator(_require_one_of(TRADE_CURRENCY_CODES))]
