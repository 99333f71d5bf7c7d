"""A pending order as the API shows it."""

from collections.abc import Mapping
from typing import Any

from ingestion.domain.document import format_rfc3339
from ingestion.domain.numbers import format_date, format_number

_TEXTS = ("external_id", "direction", "isin", "wkn", "ticker", "account", "currency", "state")
_NUMBERS = ("quantity", "limit_price", "executed_quantity")
_DATES = ("ordered_on", "valid_until")


def build_order_view(row: Mapping[str, Any]) -> dict[str, Any]:
    """`row` has the columns of `ingestion.pending_order`."""
    return {
        "id": row["order_id"],
        **{name: row[name] for name in _TEXTS},
        **{name: format_number(row[name]) for name in _NUMBERS},
        **{name: format_date(row[name]) for name in _DATES},
        "created_at": format_rfc3339(row["created_at"]),
        "updated_at": format_rfc3339(row["updated_at"]),
    }
