"""Pending orders: what trades are expected to execute."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ingestion.domain.pending_order import OrderTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFilter:
    """A pending order has to match all that is given."""

    state: str | None = None
    external_id: str | None = None
    isin: str | None = None


@dataclass(frozen=True, slots=True)
class StoredOrders:
    """How many orders were new, were changed, and were stored already."""

    created: int
    updated: int
    unchanged: int


class PendingOrders(Protocol):
    """Pending orders as the API shows them (`domain/pending_order.py`): always those of one tenant."""

    async def store_orders(self, tenant_id: str, orders: Sequence[OrderTerms]) -> StoredOrders:
        """All or none; an order that is stored already is replaced."""
        ...

    async def list_orders(
        self, tenant_id: str, wanted: OrderFilter, *, before: int | None, limit: int
    ) -> tuple[Sequence[dict[str, Any]], int | None]:
        """The newest first, and the position where the next page begins."""
        ...

    async def find_order(self, tenant_id: str, order_id: str) -> dict[str, Any] | None: ...

    async def find_external(self, tenant_id: str, external_id: str) -> dict[str, Any] | None: ...

    async def delete_order(self, tenant_id: str, order_id: str) -> dict[str, Any] | None:
        """The order as it was; its trades are matched anew. None when the tenant has no such order."""
        ...

    async def link_trade(self, tenant_id: str, trade_id: str, order_id: str | None, *, version: int) -> bool:
        """Link a trade to the order that a person names; None: the rules find it again. False when the tenant has no
        such trade.

        Raises:
            StaleVersion: it has changed since the person looked.
            TradeDecisionRefused: there is no such order, or it does not fit the trade.
        """
        ...
