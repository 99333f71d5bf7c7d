"""An amount as lists show it to people."""

from collections.abc import Mapping
from typing import Any


def join_money(amount: str | None, currency: str | None) -> str:
    """Nothing without an amount: a cancellation may name a currency alone."""
    return " ".join(part for part in (amount, currency) if part) if amount else ""


def format_total(extraction: Mapping[str, Any]) -> str:
    """Of an invoice; `?` is behind what its page calls the total though its own amounts speak against it."""
    currency, total = extraction.get("currency"), extraction.get("total_gross")
    if total:
        return join_money(total, currency)
    shown = join_money((extraction.get("page_totals") or {}).get("total_gross"), currency)
    return f"{shown} ?" if shown else ""
