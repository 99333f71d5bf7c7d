"""What a language model answered about trades, and what that and a local reading make: it settles nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Any

from ingestion.domain import routing
from ingestion.domain.document import DocumentOutcome
from ingestion.domain.model_answer import read_form, read_number, read_text
from ingestion.domain.model_question import OTHER
from ingestion.domain.model_reading import CONFIRMED, CURABLE, DOUBTED, PRINTED, name_reader, put_to_review
from ingestion.domain.model_trade_question import TRADE_DATES, TRADE_NUMBERS, TRADE_TEXTS
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.routing import Extraction
from ingestion.domain.trade import CONTRACT_NOTE, TRADE_DOCUMENT_TYPES, Direction, Trade

_MAX_TRADES = 200
_CENT = Decimal("0.02")
# Two readers write the name of a security, or of an account, in two ways.
_DISPUTED = (
    "direction", "trade_date", "quantity", "isin", "wkn", "ticker", "currency", "settled_amount", "gross_amount",
    "fees", "taxes", "is_cancellation",
)  # fmt: skip
_FILLED = (*TRADE_TEXTS, *TRADE_DATES, *TRADE_NUMBERS, "direction")


@dataclass(frozen=True, slots=True)
class ModelTrades:
    """`document_type` None: nothing with a trade."""

    document_type: str | None
    trades: tuple[Trade, ...]


def parse_trades(text: str) -> ModelTrades:
    """
    Raises:
        ModelUnusable: it is not of the form that was asked for.
    """
    return read_form(text, _read_answer)


def _read_answer(answer: Mapping[str, Any]) -> ModelTrades:
    kind, trades = answer["document_type"], answer["trades"]
    if (
        (kind != OTHER and kind not in TRADE_DOCUMENT_TYPES)
        or not isinstance(trades, list)
        or len(trades) > _MAX_TRADES
    ):
        raise ValueError("the trades are not as asked for")
    return ModelTrades(None if kind == OTHER else kind, tuple(map(_read_trade, trades)))


def _read_trade(trade: Mapping[str, Any]) -> Trade:
    if not isinstance(trade["is_cancellation"], bool):
        raise ValueError("a trade is taken back, or not")
    values: dict[str, Any] = {name: read_text(trade[name]) for name in TRADE_TEXTS}
    values |= {name: _read_date(trade[name]) for name in TRADE_DATES}
    values |= {name: read_number(trade[name]) for name in TRADE_NUMBERS}
    direction = None if trade["direction"] is None else Direction(trade["direction"])
    return Trade(direction=direction, is_cancellation=trade["is_cancellation"], **values)


def _read_date(value: object) -> date | None:
    text = read_text(value)
    return None if text is None else date.fromisoformat(text)


def combine_trades(
    local: DocumentOutcome,
    answer: ModelTrades,
    unprinted: Sequence[frozenset[str]],
    *,
    unread: Sequence[ReviewReason],
    model: str,
) -> DocumentOutcome:
    """As `combine_outcome`: `unprinted` names, for each trade of the answer, the fields whose value is not on the page.

    Where the two see other trades, those of the local reader stand, and a person decides.
    """
    theirs = [_drop_fields(trade, names) for trade, names in zip(answer.trades, unprinted, strict=True)]
    if local.extraction is None:
        return _route_skipped(local, answer, theirs, unread, model)
    ours = [Trade.from_json(trade) for trade in local.extraction["trades"]]
    pairs = _pair_trades(ours, theirs)
    if pairs is None or answer.document_type is None:
        return _show_model_trades(local, ours, theirs, unread, model)
    merged = [_merge_trades(one, other) for one, other in pairs]
    if not any(added or disputed for _, added, disputed in merged) and not any(unprinted):
        return local  # nothing new, and nothing to doubt
    fields: dict[str, Any] = {**local.extraction, "trades": [trade.to_json() for trade, _, _ in merged]}
    if any(disputed for _, _, disputed in merged):
        fields["model_values"] = {"trades": [disputed for _, _, disputed in merged]}
    doubt = _find_doubt(merged, unprinted)
    confidence = min(local.confidence or 0.0, DOUBTED) if doubt else _estimate_confidence(local, pairs, merged)
    return _route(local, fields, confidence, doubt, unread, model)


def _drop_fields(trade: Trade, names: frozenset[str]) -> Trade:
    left_out: dict[str, Any] = dict.fromkeys(names & {*_FILLED})
    return replace(trade, **left_out)


Merged = tuple[Trade, frozenset[str], dict[str, Any]]
"""A trade of both readings, the fields that only the model has, and its values that differ."""


def _pair_trades(ours: Sequence[Trade], theirs: Sequence[Trade]) -> list[tuple[Trade, Trade]] | None:
    """The same trades of both readings, in the order of the page; None where their numbers differ."""
    return list(zip(ours, theirs, strict=True)) if len(ours) == len(theirs) and ours else None


def _merge_trades(ours: Trade, theirs: Trade) -> Merged:
    values = {name: (getattr(ours, name), getattr(theirs, name)) for name in (*_FILLED, "is_cancellation")}
    # Zero is seldom printed, and stands in many numbers.
    added = {name: other for name, (one, other) in values.items() if one is None and other}
    disputed = [
        name
        for name in _DISPUTED
        if values[name][0] is not None and values[name][1] is not None and values[name][0] != values[name][1]
    ]
    shown = theirs.to_json()
    return replace(ours, **added), frozenset(added), {name: shown[name] for name in disputed}


def _find_doubt(merged: Sequence[Merged], unprinted: Sequence[frozenset[str]]) -> ReviewReason | None:
    if any(disputed for _, _, disputed in merged):
        return ReviewReason.READERS_DISAGREE
    if any(unprinted):
        # It made one value up: who knows what else.
        return ReviewReason.MODEL_UNCONFIRMED
    for trade, added, _ in merged:
        # Which way it goes no word on a page proves; a sum of money needs the others to make it.
        if "direction" in added or ("settled_amount" in added and trade.adds_up() is not True):
            return ReviewReason.MODEL_UNCONFIRMED
    return None


def _estimate_confidence(
    local: DocumentOutcome, pairs: Sequence[tuple[Trade, Trade]], merged: Sequence[Merged]
) -> float:
    """Confirmed is what the arithmetic of the note proves, if both readers saw the same day and direction."""
    is_proven = all(
        not added or (_multiplies(trade) and trade.adds_up() is True and _agree_on_day_and_direction(one, other))
        for (one, other), (trade, added, _) in zip(pairs, merged, strict=True)
    )
    return max(local.confidence or 0.0, CONFIRMED if is_proven else PRINTED)


def _agree_on_day_and_direction(ours: Trade, theirs: Trade) -> bool:
    return (ours.trade_date, ours.direction) == (theirs.trade_date, theirs.direction)


def _multiplies(trade: Trade) -> bool:
    if trade.quantity is None or trade.price is None or trade.gross_amount is None:
        return False
    return abs(trade.quantity * trade.price - trade.gross_amount) <= _CENT


def _route_skipped(
    local: DocumentOutcome,
    answer: ModelTrades,
    theirs: Sequence[Trade],
    unread: Sequence[ReviewReason],
    model: str,
) -> DocumentOutcome:
    """What the rules skip and a model sees a trade in: one is wrong, and skipping it is the worse mistake."""
    if not theirs:
        return local
    fields = {"trades": [trade.to_json() for trade in theirs]}
    kind = answer.document_type or CONTRACT_NOTE
    extraction = Extraction(kind, fields, DOUBTED, name_reader(local.reader, model))
    return put_to_review(routing.route_extraction(extraction, unread), ReviewReason.READERS_DISAGREE)


def _show_model_trades(
    local: DocumentOutcome, ours: Sequence[Trade], theirs: Sequence[Trade], unread: Sequence[ReviewReason], model: str
) -> DocumentOutcome:
    found = [trade.to_json() for trade in theirs]
    if ours:
        fields: dict[str, Any] = {**(local.extraction or {}), "model_values": {"trades": found}}
        return _route(local, fields, DOUBTED, ReviewReason.READERS_DISAGREE, unread, model)
    if not theirs:
        return local
    return _route(local, {"trades": found}, DOUBTED, ReviewReason.MODEL_UNCONFIRMED, unread, model)


def _route(
    local: DocumentOutcome,
    fields: dict[str, Any],
    confidence: float,
    doubt: ReviewReason | None,
    unread: Sequence[ReviewReason],
    model: str,
) -> DocumentOutcome:
    kind = local.document_type or CONTRACT_NOTE
    extraction = Extraction(kind, fields, confidence, name_reader(local.reader, model))
    kept = local.reason if local.reason not in CURABLE and local.reason not in unread else None
    return put_to_review(routing.route_extraction(extraction, unread), kept or doubt)
