"""Which pending order a trade executed: where only one fits, and never by a guess."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ingestion_fakes import build_trade

from ingestion.domain.order_matching import (
    ExecutedTrade,
    OrderMatch,
    OrderTolerance,
    OrderTolerances,
    fits_order,
    match_orders,
    sum_executions,
)
from ingestion.domain.pending_order import PendingOrder
from ingestion.domain.trade import Direction

DAY = date(2026, 4, 1)


def order(name: str = "o1", **changed: Any) -> PendingOrder:
    usual: dict[str, Any] = {
        "order_id": name,
        "external_id": f"E-{name}",
        "direction": Direction.BUY,
        "quantity": Decimal(10),
        "ordered_on": DAY,
        "isin": "DE0008404005",
        "limit_price": Decimal(21),
        "currency": "EUR",
    }
    return PendingOrder(**{**usual, **changed})


def executed(name: str = "t1", **changed: Any) -> ExecutedTrade:
    own = {field: changed.pop(field) for field in ("tolerance", "decided_order_id") if field in changed}
    return ExecutedTrade(trade_id=name, trade=build_trade(**changed), **{"tolerance": OrderTolerance(), **own})


def match(orders: list[PendingOrder], *trades: ExecutedTrade) -> dict[str, str | tuple[str, ...] | None]:
    """The order of each trade; the candidates of one that several may have."""
    return {name: one.order_id or (one.candidates or None) for name, one in match_orders(orders, trades).items()}


@pytest.mark.parametrize(
    ("of_order", "of_trade", "fits"),
    [
        ({}, {}, True),
        ({"isin": None, "wkn": "840400"}, {}, True),
        ({"isin": None, "ticker": "ALV"}, {}, False),
        ({"isin": "US0378331005"}, {}, False),
        ({"direction": Direction.SELL}, {}, False),
        ({"account": "12345678"}, {}, True),
        ({"account": "12345678"}, {"account": "87654321"}, False),
        ({}, {"quantity": Decimal("10.01")}, False),
        ({"limit_price": Decimal("20.49")}, {}, False),
        ({"limit_price": Decimal("20.49"), "currency": "USD"}, {}, True),
        ({"limit_price": None}, {}, True),
        ({}, {"price": None}, True),
        ({"ordered_on": date(2026, 4, 2)}, {}, True),  # a day before: another time zone
        ({"ordered_on": date(2026, 4, 3)}, {}, False),
        ({"ordered_on": date(2026, 3, 1)}, {}, True),
        ({"ordered_on": date(2026, 2, 27)}, {}, False),
        ({"ordered_on": date(2026, 3, 20), "valid_until": date(2026, 3, 31)}, {}, True),
        ({"ordered_on": date(2026, 3, 20), "valid_until": date(2026, 3, 30)}, {}, False),
        ({}, {"trade_date": None}, False),
    ],
)
def test_an_order_and_a_trade_fit_by_what_both_say(
    of_order: dict[str, Any], of_trade: dict[str, Any], fits: bool
) -> None:
    assert fits_order(executed(**of_trade), order(**of_order)) is fits


def test_tolerances_are_those_of_the_doc_source_of_the_tenant_or_of_all() -> None:
    wide, wider = OrderTolerance(quantity_percent=Decimal(5)), OrderTolerance(price_percent=Decimal(10), days=3)
    tolerances = OrderTolerances({"acme": wide, "source-1": wider, "*": OrderTolerance(open_days=5)})
    assert tolerances.find_tolerance("acme", "source-1") is wider
    assert tolerances.find_tolerance("acme", "source-2") is wide
    assert tolerances.find_tolerance("other", "source-2").open_days == 5
    assert OrderTolerances().find_tolerance("acme", "source-1") == OrderTolerance()
    assert fits_order(executed(quantity=Decimal("10.5"), tolerance=wide), order())
    assert not fits_order(executed(quantity=Decimal("10.51"), tolerance=wide), order())
    low = order(limit_price=Decimal("18.7"), ordered_on=date(2026, 4, 4))
    assert fits_order(executed(tolerance=wider), low)
    assert not fits_order(executed(tolerance=wider), order(limit_price=Decimal("18.6")))


def test_a_seller_gets_at_least_the_limit() -> None:
    sold = executed(direction=Direction.SELL)
    assert fits_order(sold, order(direction=Direction.SELL, limit_price=Decimal("20.5")))
    assert not fits_order(sold, order(direction=Direction.SELL, limit_price=Decimal("20.51")))


def test_one_order_has_all_its_partial_executions() -> None:
    parts = executed("t1", quantity=Decimal(4)), executed("t2", quantity=Decimal(6))
    assert match([order()], *parts) == {"t1": "o1", "t2": "o1"}


def test_an_order_that_would_be_executed_beyond_its_quantity_is_not_guessed() -> None:
    assert match([order()], executed("t1"), executed("t2")) == {"t1": ("o1",), "t2": ("o1",)}


def test_of_several_orders_that_fit_none_is_guessed() -> None:
    orders = [order("o1"), order("o2")]
    assert match(orders, executed()) == {"t1": ("o1", "o2")}
    assert match_orders(orders, [executed()])["t1"].match is OrderMatch.AMBIGUOUS
    assert match_orders([], [executed()])["t1"].match is OrderMatch.UNMATCHED


def test_an_order_that_is_filled_leaves_the_next_one_to_the_next_trade() -> None:
    orders = [order("monday"), order("tuesday", ordered_on=date(2026, 4, 3))]
    trades = executed("t1"), executed("t2", trade_date=date(2026, 4, 3))
    assert match(orders, *trades) == {"t1": "monday", "t2": "tuesday"}
    assert match([order("monday", executed=Decimal(10)), orders[1]], trades[1]) == {"t2": "tuesday"}


def test_a_reference_names_its_order() -> None:
    assert match([order("o1"), order("o2")], executed(reference="E o2")) == {"t1": "o2"}


def test_what_a_person_said_goes_before_everything() -> None:
    orders = [order("o1"), order("o2")]
    decided = executed("t1", decided_order_id="o1", quantity=Decimal(99))
    assert match(orders, decided, executed("t2")) == {"t1": "o1", "t2": "o2"}
    assert match_orders(orders, [decided])["t1"].match is OrderMatch.DECIDED
    assert match([order("o2")], decided)["t1"] is None  # the order is gone


ORDERS = st.lists(
    st.builds(
        lambda quantity, day, limit: {
            "quantity": Decimal(quantity),
            "ordered_on": date(2026, 4, day),
            "limit_price": limit,
        },
        st.integers(1, 12),
        st.integers(1, 5),
        st.sampled_from([None, Decimal(20), Decimal(21)]),
    ),
    max_size=5,
)
TRADES = st.lists(
    st.builds(
        lambda quantity, day, price: {
            "quantity": Decimal(quantity),
            "trade_date": date(2026, 4, day),
            "price": Decimal(price),
        },
        st.integers(1, 8),
        st.integers(1, 5),
        st.sampled_from(["19.5", "20.5"]),
    ),
    max_size=6,
)


@given(ORDERS, TRADES, st.randoms(use_true_random=False))
def test_links_fit_keep_to_the_quantity_and_do_not_depend_on_any_order(
    of_orders: list[dict[str, Any]], of_trades: list[dict[str, Any]], shuffle: Any
) -> None:
    orders = [order(f"o{number}", **fields) for number, fields in enumerate(of_orders)]
    trades = [executed(f"t{number}", **fields) for number, fields in enumerate(of_trades)]
    matched = match_orders(orders, trades)
    assert matched.keys() == {trade.trade_id for trade in trades}
    for one in orders:
        linked = [trade for trade in trades if matched[trade.trade_id].order_id == one.order_id]
        assert all(fits_order(trade, one) for trade in linked)
        assert sum(trade.trade.quantity or 0 for trade in linked) <= one.quantity
    for trade in trades:
        if not any(fits_order(trade, one) for one in orders):
            assert matched[trade.trade_id].match is OrderMatch.UNMATCHED
    shuffle.shuffle(orders)
    shuffle.shuffle(trades)
    assert match_orders(orders, trades) == matched


def sum_up(orders: list[PendingOrder], *trades: ExecutedTrade) -> dict[str, tuple[Decimal, str]]:
    executions = sum_executions(orders, trades, match_orders(orders, trades))
    return {one.order_id: (one.executed, one.state.value) for one in executions}


def test_an_order_is_executed_by_the_trades_that_are_linked_to_it() -> None:
    orders = [order(quantity=Decimal(30)), order("o2", isin="US0378331005")]
    trades = [executed("t1"), executed("t2", quantity=Decimal(15)), executed("t3", isin="FR0000120271")]
    assert sum_up(orders, *trades) == {"o1": (Decimal(25), "partial"), "o2": (Decimal(0), "unmatched")}


def test_what_older_trades_have_executed_of_an_order_counts_too() -> None:
    assert sum_up([order(quantity=Decimal(30), executed=Decimal(20))], executed()) == {"o1": (Decimal(30), "filled")}


def test_an_order_is_filled_within_the_widest_tolerance_of_its_trades() -> None:
    trades = [executed("t1"), executed("t2", tolerance=OrderTolerance(quantity_percent=Decimal(10)))]
    assert sum_up([order(quantity=Decimal(22))], *trades) == {"o1": (Decimal(20), "filled")}
