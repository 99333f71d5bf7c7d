"""A pending order: what its sender may say, and how much of it was executed."""

from dataclasses import fields
from datetime import date
from decimal import Decimal

from ingestion.api.order_fields import NewOrderRequest
from ingestion.domain.pending_order import ORDER_FIELDS, OrderState, OrderTerms, PendingOrder, find_order_state
from ingestion.domain.trade import Direction


def test_how_much_of_an_order_was_executed() -> None:
    order = PendingOrder(
        order_id="o1", external_id="E-1", direction=Direction.BUY, quantity=Decimal(10), ordered_on=date(2026, 4, 1)
    )
    states = [find_order_state(order, Decimal(executed), Decimal("0.5")) for executed in ("0", "9.4", "9.5", "11")]
    assert states == [OrderState.UNMATCHED, OrderState.PARTIAL, OrderState.FILLED, OrderState.FILLED]


def test_a_request_and_a_file_have_the_same_fields() -> None:
    assert set(NewOrderRequest.model_fields) == set(ORDER_FIELDS) == {field.name for field in fields(OrderTerms)}
