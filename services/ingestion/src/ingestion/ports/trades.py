"""The trades of a tenant, and what people decide about them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeFilter:
    """A trade of the ledger has to match all that is given."""

    document_id: str | None = None
    doc_source_id: str | None = None
    state: str | None = None
    isin: str | None = None
    traded_from: date | None = None
    traded_to: date | None = None
    changed_since: datetime | None = None
    order_match: str | None = None
    order_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeDecision:
    """What a person says about a trade and another one: `is_same`, or two. `other_trade_id` None: the one that the
    ledger names beside it. `version` is the one that the person saw."""

    is_same: bool
    other_trade_id: str | None
    version: int
    comment: str | None
    reviewer: str | None
    api_key_id: str


class TradeDecisionRefused(Exception):
    """The decision makes no sense for this trade; the message says why."""


class ForeignCursor(Exception):
    """The cursor is of a list in another order than the one that is asked for."""


class TradeLedger(Protocol):
    """The trades of a tenant as the API shows them (`domain/trade_views.py`)."""

    async def list_trades(
        self, tenant_id: str, wanted: TradeFilter, *, before: int | None, limit: int
    ) -> tuple[Sequence[dict[str, Any]], int | None]:
        """The newest first, by the day or the change that is asked for, else as they were read; and the position where
        the next page begins."""
        ...

    async def find_trade(self, tenant_id: str, trade_id: str) -> dict[str, Any] | None:
        """With all statements of the trade, and what was decided about them."""
        ...

    async def decide_trade(self, tenant_id: str, trade_id: str, decision: TradeDecision) -> bool:
        """Keep the decision, and judge all similar trades again. False when the tenant has no such trade.

        Raises:
            StaleVersion: it has changed since the person looked.
            TradeDecisionRefused
        """
        ...
