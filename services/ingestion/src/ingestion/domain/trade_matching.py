"""Whether two documents state one trade: by what identifies a trade, as far as both of them state it.

A document seldom states all: a statement has no reference, a note no account name. What one of them leaves out proves
nothing; what both state and state differently makes them two trades.
"""

import re
from dataclasses import dataclass
from decimal import Decimal
from enum import IntEnum
from functools import lru_cache
from hashlib import sha256

import orjson

from ingestion.domain.search_words import fold_words
from ingestion.domain.trade import ACTIVITY_STATEMENT, Trade

_SHORTEST_REFERENCE = 4  # `1` and `12` are numbers of lines
_SHORTEST_ACCOUNT = 4
_LONGEST_TEXT = 200
_GERMAN_ISIN = re.compile(r"DE000([A-Z0-9]{6})[0-9]")


class Similarity(IntEnum):
    """How sure it is that two statements of a trade are about one trade."""

    DIFFERENT = 0  # two trades
    POSSIBLE = 1  # nothing contradicts, and too little confirms it: a person decides
    CERTAIN = 2  # one trade


@dataclass(frozen=True, slots=True, kw_only=True)
class StatedTrade:
    """A trade as a document states it."""

    trade: Trade
    document_type: str | None
    content_sha256: str


def build_match_key(trade: Trade) -> str:
    """What two statements of one trade always share: direction, quantity and day. Where one of them is unknown, all
    that was read: then only a reading that is the same in each field may be of the same trade."""
    if trade.direction is None or trade.quantity is None or trade.trade_date is None:
        fields = {**trade.to_json(), "is_cancellation": False}
        return "read:" + sha256(orjson.dumps(fields)).hexdigest()
    return f"{trade.direction}:{_format_quantity(trade.quantity)}:{trade.trade_date.isoformat()}"


def _format_quantity(quantity: Decimal) -> str:
    plain = f"{quantity.normalize():f}" if quantity else "0"
    return plain if len(plain) <= 60 else sha256(plain.encode()).hexdigest()


def compare_trades(one: StatedTrade, other: StatedTrade) -> Similarity:
    """Of two that have one `build_match_key`; the order of the two makes no difference.

    Certain: the same file came twice, or the reference is the same and nothing contradicts it, or a statement lists
    what a note says: with the account, the security and the price of it.
    """
    security = have_same_security(one.trade, other.trade)
    account = have_same_account(one.trade, other.trade)
    price = have_same_price(one.trade, other.trade)
    reference = _have_same_reference(one, other)
    if security is False:
        return Similarity.DIFFERENT
    if reference is True:
        # An order that is split over accounts, or a price that was rounded otherwise: not settled by the reference.
        return Similarity.POSSIBLE if account is False or price is False else Similarity.CERTAIN
    if reference is False or account is False or price is False:
        return Similarity.DIFFERENT
    if one.content_sha256 == other.content_sha256:
        return Similarity.CERTAIN
    if security is None:
        # An ISIN here and a ticker there: only the price speaks for one security.
        is_like = price is True or _is_same_reading(one.trade, other.trade)
        return Similarity.POSSIBLE if is_like else Similarity.DIFFERENT
    is_listed = (one.document_type == ACTIVITY_STATEMENT) != (other.document_type == ACTIVITY_STATEMENT)
    return Similarity.CERTAIN if is_listed and account is True and price is True else Similarity.POSSIBLE


def have_same_security(one: Trade, other: Trade) -> bool | None:
    """None where neither has an identifier of the kind that the other one has. Tickers are those of an exchange: two
    of them say nothing where they differ."""
    if one.isin and other.isin:
        return one.isin.upper() == other.isin.upper()
    one_wkn, other_wkn = find_wkn(one), find_wkn(other)
    if one_wkn and other_wkn:
        return one_wkn == other_wkn
    if one.ticker and other.ticker and one.ticker.upper() == other.ticker.upper():
        return True
    return None


def find_wkn(trade: Trade) -> str | None:
    """That of a German ISIN is in it."""
    if trade.wkn:
        return trade.wkn.upper()
    return None if trade.isin is None else _read_wkn(trade.isin)


def list_instrument_keys(trade: Trade) -> list[str]:
    """The keys by which a security is looked for, as the columns `instrument_keys` have them: `isin:…`, `wkn:…` and
    `ticker:…`. Two statements of one security share at least one."""
    named = {"isin": trade.isin, "wkn": find_wkn(trade), "ticker": trade.ticker}
    return [f"{kind}:{value.strip().upper()[:40]}" for kind, value in named.items() if value and value.strip()]


def have_same_account(one: Trade, other: Trade) -> bool | None:
    """By the number, of which one may be the end of the other (some are printed without branch or client), else by the
    name of the account or its user: the same words, or some of them. Names that share a word only say nothing, and a
    number that is the beginning of the other (without a sub-account, or read up to its first blank only) neither."""
    shorter, longer = compact_text(one.account), compact_text(other.account)
    if len(shorter) > len(longer):
        shorter, longer = longer, shorter
    if len(shorter) >= _SHORTEST_ACCOUNT and longer.endswith(shorter):
        return True
    if len(shorter) >= _SHORTEST_ACCOUNT and not longer.startswith(shorter):
        return False
    words = [_fold_name(trade.account_name) for trade in (one, other)]
    if not all(words):
        return None
    if words[0] <= words[1] or words[1] <= words[0]:
        return True
    return None if words[0] & words[1] else False


def have_same_price(one: Trade, other: Trade) -> bool | None:
    """To the decimals that both print; None where one has none, or where they may be of different currencies."""
    currencies = [trade.foreign_currency or trade.currency for trade in (one, other)]
    if one.price is None or other.price is None or (all(currencies) and currencies[0] != currencies[1]):
        return None
    return _round_alike(one.price, other.price)


def _round_alike(one: Decimal, other: Decimal) -> bool:
    decimals = min(_count_decimals(one), _count_decimals(other))
    # One of them was rounded to the decimals of the other: half a unit away at most.
    return abs(one - other) <= Decimal(5).scaleb(-decimals - 1) if one != other else True


@lru_cache(maxsize=4096)
def _count_decimals(number: Decimal) -> int:
    """Of prices two at least are printed: a price of 20 is 20.00, and not one that rounds 20.40."""
    exponent = number.normalize().as_tuple().exponent
    return min(max(2, -exponent), 12) if isinstance(exponent, int) else 2


def _have_same_reference(one: StatedTrade, other: StatedTrade) -> bool | None:
    """Different ones are two trades only among notes, or among statements: a statement may print a number of another
    kind (of the booking) than a note (of the order)."""
    is_same = have_same_printed_reference(one.trade, other.trade)
    return None if is_same is False and one.document_type != other.document_type else is_same


def have_same_printed_reference(one: Trade, other: Trade) -> bool | None:
    """None where one of them has none."""
    references = find_reference(one), find_reference(other)
    return None if None in references else references[0] == references[1]


def find_reference(trade: Trade) -> str | None:
    """Its letters and digits, by which a cancellation is looked for, or what it takes back."""
    reference = compact_text(trade.reference)
    return reference if len(reference) >= _SHORTEST_REFERENCE else None


def _is_same_reading(one: Trade, other: Trade) -> bool:
    return {**one.to_json(), "is_cancellation": None} == {**other.to_json(), "is_cancellation": None}


# Of many statements each is compared with many others: what one of them says is folded once.
@lru_cache(maxsize=4096)
def _read_wkn(isin: str) -> str | None:
    found = _GERMAN_ISIN.fullmatch(isin.upper())
    return found[1] if found else None


@lru_cache(maxsize=4096)
def _fold_name(name: str | None) -> frozenset[str]:
    return frozenset(fold_words((name or "")[:_LONGEST_TEXT]))


@lru_cache(maxsize=4096)
def compact_text(text: str | None) -> str:
    """Its letters and digits, of ASCII alone and before they are made capitals: `ß` would become two letters here and
    none where Postgres has the same rule (`FOLDED_REFERENCE` of adapters/similar_trades.py; a test compares them)."""
    return re.sub(r"[^A-Za-z0-9]", "", (text or "")[:_LONGEST_TEXT]).upper()
