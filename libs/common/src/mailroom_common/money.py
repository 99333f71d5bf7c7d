"""An amount as lists show it to people."""


def join_money(amount: str | None, currency: str | None) -> str:
    """Nothing without an amount: a cancellation may name a currency alone."""
    return " ".join(part for part in (amount, currency) if part) if amount else ""
