from dataclasses import replace
from decimal import Decimal

import pytest
from ingestion_fakes import build_trade

from ingestion.domain.trade import Direction, Trade, read_stored_trade


def test_a_trade_comes_back_from_its_json() -> None:
    trade = build_trade(trade_time="10:42:18", is_cancellation=True, foreign_gross_amount=Decimal("1.5"))
    assert Trade.from_json(trade.to_json()) == trade
    assert trade.to_json()["fees"] == "4.95"
    assert trade.to_json()["quantity"] == "10"


@pytest.mark.parametrize("name", ["direction", "trade_date", "quantity", "currency", "settled_amount", "isin"])
def test_a_trade_without_what_books_it_is_not_whole(name: str) -> None:
    assert build_trade().list_missing_fields() == []
    assert build_trade(**{name: None}).list_missing_fields() == [name]


def test_any_number_of_a_security_identifies_it() -> None:
    assert build_trade(isin=None, ticker="VEQT").list_missing_fields() == []


def test_costs_are_added_to_what_is_bought_and_taken_off_what_is_sold() -> None:
    bought = build_trade()
    assert bought.adds_up() is True
    assert replace(bought, direction=Direction.SELL).adds_up() is False
    assert replace(bought, direction=Direction.SELL, settled_amount=Decimal("200.05")).adds_up() is True
    assert replace(bought, accrued_interest=Decimal(1), settled_amount=Decimal("210.95")).adds_up() is True


def test_costs_that_are_more_than_what_was_sold_are_paid() -> None:
    sold = replace(build_trade(), direction=Direction.SELL, gross_amount=Decimal("3.00"))
    assert replace(sold, settled_amount=Decimal("1.95")).adds_up() is True
    assert replace(sold, settled_amount=Decimal("1.90")).adds_up() is False


def test_accrued_interest_goes_to_the_seller() -> None:
    sold = replace(build_trade(), direction=Direction.SELL, accrued_interest=Decimal(1))
    assert replace(sold, settled_amount=Decimal("201.05")).adds_up() is True
    assert replace(sold, settled_amount=Decimal("199.05")).adds_up() is False


def test_nothing_adds_up_to_an_unknown_amount() -> None:
    assert build_trade(gross_amount=None).adds_up() is None


@pytest.mark.parametrize(
    ("changed", "multiplies"),
    [
        ({}, True),
        ({"quantity": Decimal(1)}, False),
        ({"quantity": Decimal(100)}, False),
        ({"price": Decimal("20.05")}, False),
        ({"quantity": Decimal(750), "price": Decimal("12.489333"), "gross_amount": Decimal("9367.00")}, True),
        ({"quantity": Decimal(15000), "price": Decimal("101.34"), "gross_amount": Decimal("15201.00")}, True),
        ({"foreign_currency": "USD", "foreign_gross_amount": Decimal(205), "gross_amount": Decimal("188.94")}, True),
        ({"foreign_currency": "USD", "foreign_gross_amount": Decimal(250), "gross_amount": Decimal("188.94")}, False),
        ({"foreign_currency": "USD", "gross_amount": Decimal("188.94")}, None),
        ({"price": None}, None),
        ({"gross_amount": None}, None),
    ],
)
def test_quantity_times_price_is_an_amount_of_the_trade(changed: dict[str, object], multiplies: bool | None) -> None:
    assert build_trade(**changed).multiplies() is multiplies


def test_a_trade_of_an_older_version_has_the_fields_that_were_read_then() -> None:
    stored = {"direction": "buy", "quantity": "10"}
    assert read_stored_trade(stored) == Trade(direction=Direction.BUY, quantity=Decimal(10))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1E+999999", "1" * 30])
def test_a_number_that_no_trade_has_is_unknown(number: str) -> None:
    assert read_stored_trade({"quantity": number, "price": "20.5"}) == Trade(price=Decimal("20.5"))
