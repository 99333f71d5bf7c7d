"""One reading of a contract note held against the trades that are known to be in it. Pure: no file is opened here."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from reading_quality.judging import Judgement, Verdict

# A fixed split. No rule was made for one of these; their documents are judged, and only the sums are looked at.
LEFT_OUT_BROKERS = frozenset(
    {
        "creditmutuelalliancefederale",
        "deutschebank",
        "direkt1822bank",
        "freiburgerkantonalbank",
        "limetradingcorp",
        "raisinbankag",
        "umweltbankag",
    }
)
# Documents whose truth is odd: it gives no trade, or says skip, where purchases, sales or cancellations are printed,
# since the program that it was made for does not import them from there.
ODD_TRUTHS = frozenset(
    {
        *(f"consorsbank-Kontoauszug0{number}" for number in (1, 2, 3)),
        *(f"deutschebank-Kauf0{number}" for number in (3, 4, 5, 6)),
        *(f"quirinbankag-Depotauszug0{number}" for number in (5, 6)),
        "dadatbankenhaus-StornoKontoauszug01",
        "oldenburgischelandesbankag-Kontoauszug01",
    }
)
# What a trade is booked by.
MAIN_FIELDS = ("isin", "direction", "trade_date", "quantity", "settled_amount")
TRADE_FIELDS = (*MAIN_FIELDS, "currency", "gross_amount", "fees", "taxes", "wkn", "ticker")
_NUMBERS = frozenset({"quantity", "settled_amount", "gross_amount", "fees", "taxes"})


def judge_single_trade(truth: Mapping[str, Any], reading: Mapping[str, Any]) -> Judgement:
    """A document with one trade, by the fields that are printed in it. More trades than one are none of it."""
    (expected,) = truth["trades"]
    read = list_trades(reading)
    found = read[0] if len(read) == 1 else {}
    asked = {"direction", *(truth.get("printed") or ())}
    verdicts = {
        field: _judge_field(field, expected[field], found.get(field))
        for field in TRADE_FIELDS
        if field in asked and expected.get(field) is not None
    }
    return Judgement(verdicts, reading["status"], reading["reason"], reading["confidence"], None)


def list_trades(reading: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [trade for trade in (reading["extraction"] or {}).get("trades", []) if not trade["is_cancellation"]]


def has_same_trades(expected: Sequence[Mapping[str, Any]], read: Sequence[Mapping[str, Any]]) -> bool:
    """Direction, quantity and amount of each, in any order: the truth does not say more of several."""
    return _build_keys(expected) == _build_keys(read)


def _build_keys(trades: Sequence[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    names = ("direction", "quantity", "settled_amount")
    return sorted(tuple(str(_normalize(name, trade[name])) for name in names) for trade in trades)


def _judge_field(field: str, expected: Any, read: Any) -> Verdict:
    if read is None:
        return Verdict.MISSING
    return Verdict.RIGHT if _normalize(field, expected) == _normalize(field, read) else Verdict.WRONG


def _normalize(field: str, value: Any) -> Any:
    return None if value is None else abs(Decimal(value)).normalize() if field in _NUMBERS else value
