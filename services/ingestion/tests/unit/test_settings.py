"""How far a trade may be from its order, as a site sets it."""

from decimal import Decimal

import pytest

from ingestion.domain.order_matching import OrderTolerance
from ingestion.settings import OrderMatchingSettings
from mailroom_common.errors import SettingsError
from mailroom_common.settings import load_settings


def test_what_is_not_set_is_as_usual(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings(OrderMatchingSettings).order_tolerances == {}
    monkeypatch.setenv("MAILROOM_ORDER_TOLERANCES", '{"acme": {"quantity_percent": 0.5, "open_days": 90}}')
    assert load_settings(OrderMatchingSettings).order_tolerances == {
        "acme": OrderTolerance(quantity_percent=Decimal("0.5"), open_days=90)
    }


@pytest.mark.parametrize(
    "one",
    [
        {"quantity_percents": 1},
        {"quantity_percent": 101},
        {"price_percent": -1},
        {"days": 32},
        {"open_days": 367},
        {"days": "many"},
    ],
)
def test_a_tolerance_that_is_none_is_a_mistake_that_names_its_variable(one: dict[str, object]) -> None:
    with pytest.raises(SettingsError, match="MAILROOM_ORDER_TOLERANCES"):
        load_settings(OrderMatchingSettings, order_tolerances={"acme": one})
