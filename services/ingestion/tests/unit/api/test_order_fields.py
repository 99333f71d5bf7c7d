"""What a line of a file of orders may say."""

from datetime import date
from decimal import Decimal

import pytest

from ingestion.api.order_fields import parse_row
from ingestion.domain.pending_order import OrderTerms
from ingestion.domain.trade import Direction

ROW: dict[str, str | None] = {
    "external_id": "2026-1187",
    "direction": "buy",
    "quantity": "10.5",
    "isin": "de0008404005",
    "ordered_on": "2026-04-01",
    "valid_until": None,
}


def test_a_line_is_an_order() -> None:
    assert parse_row(ROW) == OrderTerms(
        external_id="2026-1187",
        direction=Direction.BUY,
        quantity=Decimal("10.5"),
        isin="DE0008404005",
        ordered_on=date(2026, 4, 1),
    )


@pytest.mark.parametrize(
    ("changed", "column"),
    [
        ({"isin": "DE0008404006"}, "isin"),
        ({"isin": None}, None),
        ({"quantity": "10,5"}, "quantity"),
        ({"quantity": "-1"}, "quantity"),
        ({"quantity": "NaN"}, "quantity"),
        ({"quantity": "1e30"}, "quantity"),
        ({"direction": "hold"}, "direction"),
        ({"ordered_on": "01.04.2026"}, "ordered_on"),
        ({"ordered_on": "0001-01-01"}, "ordered_on"),
        ({"ordered_on": "2126-04-01"}, "ordered_on"),
        ({"valid_until": "9999-12-31"}, "valid_until"),
        ({"valid_until": "2026-03-31"}, None),
        ({"external_id": None}, "external_id"),
        ({"currency": "euro"}, "currency"),
        ({"currency": "DEM"}, None),
    ],
)
def test_a_mistake_is_named_by_its_column(changed: dict[str, str | None], column: str | None) -> None:
    mistakes = parse_row({**ROW, **changed})
    assert isinstance(mistakes, list)
    assert [name for name, _ in mistakes] == [column]
