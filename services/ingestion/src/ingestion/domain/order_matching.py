"""Which pending order each trade executed: linked where only one fits, and never guessed.

The result follows from the sets of orders and trades, so it is the same whichever came first.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from enum import StrEnum

from ingestion.domain.pending_order import OrderState, PendingOrder, find_order_state
from ingestion.domain.trade import Direction, Trade
from ingestion.domain.trade_matching import compact_text, have_same_account, have_same_security

MAX_CANDIDATES = 20  # shown of a trade that several orders fit
MAX_TOLERATED_DAYS = 31


class OrderMatch(StrEnum):
    """What is known of the order behind a trade that counts."""

    UNMATCHED = "unmatched"  # no order fits
    AMBIGUOUS = "ambiguous"  # several orders fit, or one that would be executed beyond its quantity: a person says
    LINKED = "linked"  # only one order fits
    DECIDED = "decided"  # a person named the order


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderTolerance:
    """How far a trade may be from its order. `days` before the order and after its last day; `open_days` is how long an
    order is open that names no last day."""

    quantity_percent: Decimal = Decimal(0)
    price_percent: Decimal = Decimal(0)
    days: int = 1
    open_days: int = 30


@dataclass(frozen=True, slots=True)
class OrderTolerances:
    """By doc source id, by tenant, or `*` for all others: the first of these that is there holds for a trade."""

    by_name: Mapping[str, OrderTolerance] = field(default_factory=dict)

    def find_tolerance(self, tenant_id: str, doc_source_id: str) -> OrderTolerance:
        names = (doc_source_id, tenant_id, "*")
        return next((self.by_name[name] for name in names if name in self.by_name), OrderTolerance())


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutedTrade:
    """A trade that counts. `decided_order_id` is the order that a person named."""

    trade_id: str
    trade: Trade
    tolerance: OrderTolerance
    decided_order_id: str | None = None


@dataclass(frozen=True, slots=True)
class MatchedTrade:
    match: OrderMatch
    order_id: str | None = None
    candidates: tuple[str, ...] = ()


def match_orders(orders: Sequence[PendingOrder], trades: Sequence[ExecutedTrade]) -> dict[str, MatchedTrade]:
    """What is known of the order of each trade, by the trade's id.

    A trade that only one order fits is that order's, together with all others of which the same is true, if the order
    has room for them. That may leave another trade with one order that fits, and so on.
    """
    by_id = {order.order_id: order for order in orders}
    room = {order.order_id: order.quantity - order.executed for order in orders}
    matched: dict[str, MatchedTrade] = {}
    fitting: dict[str, list[str]] = {}
    stated = [(order, order.as_trade) for order in orders]
    for trade in trades:
        if trade.decided_order_id in by_id:
            matched[trade.trade_id] = MatchedTrade(OrderMatch.DECIDED, trade.decided_order_id)
            room[str(trade.decided_order_id)] -= trade.trade.quantity or Decimal(0)
        else:
            fitting[trade.trade_id] = _list_fitting(stated, trade)
    waiting = [trade for trade in trades if trade.trade_id not in matched]
    while True:
        linked = _link_single(waiting, fitting, by_id, room)
        if not linked:
            break
        matched |= {trade_id: MatchedTrade(OrderMatch.LINKED, order_id) for trade_id, order_id in linked.items()}
        waiting = [trade for trade in waiting if trade.trade_id not in linked]
    for trade in waiting:
        candidates = _list_with_room(trade, fitting, by_id, room) or fitting[trade.trade_id]
        match = OrderMatch.AMBIGUOUS if candidates else OrderMatch.UNMATCHED
        matched[trade.trade_id] = MatchedTrade(match, candidates=tuple(sorted(candidates)[:MAX_CANDIDATES]))
    return matched


@dataclass(frozen=True, slots=True)
class OrderExecution:
    """How much of an order its trades have executed."""

    order_id: str
    executed: Decimal
    state: OrderState


def sum_executions(
    orders: Iterable[PendingOrder], trades: Iterable[ExecutedTrade], matched: Mapping[str, MatchedTrade]
) -> list[OrderExecution]:
    """By the orders that `match_orders` has found for the trades."""
    by_order: dict[str, list[ExecutedTrade]] = {}
    for trade in trades:
        if (order_id := matched[trade.trade_id].order_id) is not None:
            by_order.setdefault(order_id, []).append(trade)
    return [_sum_execution(order, by_order.get(order.order_id, [])) for order in orders]


def _sum_execution(order: PendingOrder, linked: Sequence[ExecutedTrade]) -> OrderExecution:
    executed = order.executed + _sum_quantities(linked)
    slack = max((_find_slack(order, trade.tolerance) for trade in linked), default=Decimal(0))
    return OrderExecution(order.order_id, executed, find_order_state(order, executed, slack))


def _sum_quantities(trades: Iterable[ExecutedTrade]) -> Decimal:
    return sum((trade.trade.quantity or Decimal(0) for trade in trades), Decimal(0))


def _link_single(
    waiting: Sequence[ExecutedTrade],
    fitting: Mapping[str, list[str]],
    orders: Mapping[str, PendingOrder],
    room: dict[str, Decimal],
) -> dict[str, str]:
    """Of one round: the trades that only one order has room for, and their orders, from which room is taken."""
    only: dict[str, list[ExecutedTrade]] = {}
    for trade in waiting:
        candidates = _list_with_room(trade, fitting, orders, room)
        if len(candidates) == 1:
            only.setdefault(candidates[0], []).append(trade)
    linked: dict[str, str] = {}
    for order_id, trades in only.items():
        executed = _sum_quantities(trades)
        slack = min(_find_slack(orders[order_id], trade.tolerance) for trade in trades)
        if executed <= room[order_id] + slack:
            room[order_id] -= executed
            linked |= {trade.trade_id: order_id for trade in trades}
    return linked


def _list_with_room(
    trade: ExecutedTrade,
    fitting: Mapping[str, list[str]],
    orders: Mapping[str, PendingOrder],
    room: Mapping[str, Decimal],
) -> list[str]:
    quantity = trade.trade.quantity or Decimal(0)
    return [
        order_id
        for order_id in fitting[trade.trade_id]
        if quantity <= room[order_id] + _find_slack(orders[order_id], trade.tolerance)
    ]


def _find_slack(order: PendingOrder, tolerance: OrderTolerance) -> Decimal:
    return order.quantity * tolerance.quantity_percent / 100


def _list_fitting(orders: Iterable[tuple[PendingOrder, Trade]], trade: ExecutedTrade) -> list[str]:
    """All orders that the trade may have executed; those that its reference names, where it names one."""
    fitting = [order for order, stated in orders if fits_order(trade, order, stated)]
    reference = compact_text(trade.trade.reference)
    named = [order for order in fitting if reference and compact_text(order.external_id) == reference]
    return [order.order_id for order in named or fitting]


def fits_order(executed: ExecutedTrade, order: PendingOrder, stated: Trade | None = None) -> bool:
    """Whether a trade may be an execution of the order, or a part of one: security, direction, quantity and day have
    to agree; of the rest only what both state and state differently speaks against it. `stated` is `order.as_trade`,
    built once for many trades."""
    trade, tolerance = executed.trade, executed.tolerance
    if trade.direction is not order.direction or trade.quantity is None or trade.trade_date is None:
        return False
    if trade.quantity > order.quantity + _find_slack(order, tolerance):
        return False
    last_day = order.valid_until or order.ordered_on + timedelta(days=tolerance.open_days)
    margin = timedelta(days=tolerance.days)
    if not order.ordered_on - margin <= trade.trade_date <= last_day + margin:
        return False
    stated = stated or order.as_trade
    if have_same_security(trade, stated) is not True or have_same_account(trade, stated) is False:
        return False
    return _keeps_limit(trade, order, tolerance)


def _keeps_limit(trade: Trade, order: PendingOrder, tolerance: OrderTolerance) -> bool:
    """A limit is the worst price, so a better one fits always."""
    currency = trade.foreign_currency or trade.currency
    if order.limit_price is None or trade.price is None:
        return True
    if order.currency is not None and currency is not None and order.currency != currency:
        return True  # which says nothing about the price
    allowance = abs(order.limit_price) * tolerance.price_percent / 100
    if order.direction is Direction.BUY:
        return trade.price <= order.limit_price + allowance
    return trade.price >= order.limit_price - allowance
