"""One trade from the lines that speak of it, and how far they hold together."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal

from stdnum import isin as stdnum_isin

from ingestion.domain.trade import Direction, Trade
from ingestion.extract import kind_words, values
from ingestion.extract.trades import labels
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import (
    LabelPlace,
    ReadLine,
    list_dates_at,
    list_numbers_at,
    list_words_behind,
)
from ingestion.extract.trades.numbers import Number
from ingestion.extract.trades.rows import drop_total, find_product_rows
from ingestion.extract.trades.solver import (
    Candidates,
    Product,
    Settlement,
    build_product,
    find_product,
    find_single,
    find_settlement,
)

ISIN = re.compile(r"\b([A-Z]{2}[A-Z0-9]{9}\d)\b")
_GROUPED_ISIN = re.compile(r"[\W_]{0,8}([A-Z]{2}(?:[\s.-]?[A-Z0-9]){9}[\s.-]?\d)(?![A-Z0-9])")
_PARTED_ISIN = re.compile(r"\b([A-Z]{2})\s([A-Z0-9]{9}\d)\b")
_MAX_PROSE = 140  # letters of a line that may say which way a trade goes
_LONGEST_SETTLEMENT = timedelta(days=40)


@dataclass(frozen=True, slots=True)
class TradeReading:
    """`is_product_proven`: quantity × price is an amount of the note; `is_settlement_proven`: so are the costs."""

    trade: Trade
    is_product_proven: bool
    is_settlement_proven: bool
    is_date_certain: bool
    is_direction_certain: bool

    @property
    def confidence(self) -> float:
        if self.trade.list_missing_fields():
            return 0.4
        share = 0.97
        for is_sure, factor in (
            (self.is_product_proven, 0.8),
            (self.is_settlement_proven, 0.8),
            (self.is_date_certain, 0.85),
            (self.is_direction_certain, 0.85),
        ):
            share *= 1 if is_sure else factor
        return round(share, 2)


@dataclass(frozen=True, slots=True)
class SharedFacts:
    """What a document says once for all its trades."""

    currency: str | None
    account: str | None
    account_name: str | None
    year: int | None
    has_ticker_column: bool


def read_trade(lines: Sequence[ReadLine], shared: SharedFacts) -> TradeReading:
    direction, is_direction_certain = find_direction(lines)
    candidates = gather_candidates(lines)
    product, has_unexplained_rows = _choose_product(lines, candidates)
    gross = product.gross_value if product else _get_gross(candidates)
    settlement: Settlement | None = None
    if gross is not None:
        settlement = find_settlement(candidates, gross, _get_gross_currency(product, candidates), direction)
    if direction is None:
        direction = _infer_direction(lines, settlement)
    trade_date, is_date_certain = _find_trade_date(lines, shared)
    trade = Trade(
        direction=direction,
        trade_date=trade_date,
        trade_time=_find_time(lines, trade_date),
        settlement_date=_find_settlement_date(lines, trade_date),
        quantity=product.quantity if product else _get_quantity(candidates),
        price=product.price_value if product else next((n.value for n in candidates.prices), None),
        isin=find_isin(lines),
        wkn=_find_wkn(lines),
        ticker=_find_ticker(lines, shared),
        security_name=_find_name(lines),
        reference=_find_words(lines, Label.REFERENCE, _REFERENCE),
        account=shared.account,
        account_name=shared.account_name,
        is_cancellation=is_cancellation(lines),
    )
    trade = _add_amounts(trade, candidates, product, gross, settlement, shared)
    is_proven = settlement is not None and settlement.is_proven
    is_product_proven = product is not None and not has_unexplained_rows
    return TradeReading(trade, is_product_proven, is_proven, is_date_certain, is_direction_certain)


_MAX_UNNAMED = 4  # cost lines that no label names
_ROWS_OF_ANCHOR = 4  # lines that a row of a statement may be broken into


def _choose_product(lines: Sequence[ReadLine], candidates: Candidates) -> tuple[Product | None, bool]:
    """By labels, or by a row; and whether there are rows that say otherwise.

    An order that was filled in parts has a row for each: the trade is their sum, which a total or a label says.
    """
    product = find_product(candidates)
    if product is not None and not product.is_labelled and (rows := find_product_rows(lines[:_ROWS_OF_ANCHOR])):
        product = build_product(rows[:1])
    rows = find_product_rows(lines, {id(number) for number in candidates.quantities})
    parts = drop_total(rows)
    distinct = {(row.quantity, row.price, row.amount) for row in parts}
    if len(distinct) < 2 and len(parts) == len(rows):
        return product or (build_product(rows[:1]) if rows else None), False
    quantity, amount = sum(row.quantity for row in parts), sum(row.amount for row in parts)
    if product is not None and product.quantity not in {row.quantity for row in parts}:
        return product, False
    printed = {value for number in candidates.others for value in number.readings}
    if len(parts) < len(rows) or quantity in printed or amount in printed:
        return build_product(parts), False
    return product, True


def _add_amounts(
    trade: Trade,
    candidates: Candidates,
    product: Product | None,
    gross: Decimal | None,
    settlement: Settlement | None,
    shared: SharedFacts,
) -> Trade:
    if settlement is None:
        number = find_single(candidates.settled)
        currency = _choose_currency(number, product, candidates, shared)
        return replace(trade, currency=currency, settled_amount=number.value if number else None, gross_amount=gross)
    is_foreign = settlement.is_converted or (product is not None and product.is_foreign)
    price_currency = _get_price_currency(product, candidates)
    currency = _choose_currency(settlement.amount, None if is_foreign else product, candidates, shared)
    foreign = price_currency if is_foreign and price_currency != currency else None
    return replace(
        trade,
        currency=currency,
        settled_amount=settlement.value,
        gross_amount=settlement.gross,
        fees=_round(settlement.fees),
        taxes=_round(settlement.taxes),
        accrued_interest=_round(settlement.interest) if settlement.interest else None,
        foreign_currency=foreign,
        foreign_gross_amount=_round(product.amount) if product is not None and foreign else None,
    )


def _get_price_currency(product: Product | None, candidates: Candidates) -> str | None:
    """The currency in which the trade was priced."""
    if product is not None and product.price.currency is not None:
        return product.price.currency
    gross = product.gross if product is not None and not product.is_foreign else next(iter(candidates.gross), None)
    return gross.currency if gross is not None else None


def _get_gross_currency(product: Product | None, candidates: Candidates) -> str | None:
    """The currency of the gross amount: that of the settlement already, where the price was converted."""
    if product is not None and product.is_foreign and product.gross is not None and product.gross.currency is not None:
        return product.gross.currency
    return _get_price_currency(product, candidates)


def _round(amount: Decimal) -> Decimal:
    return amount.quantize(Decimal("0.01"))


def _choose_currency(
    settled: Number | None, product: Product | None, candidates: Candidates, shared: SharedFacts
) -> str | None:
    gross = product.gross if product else None
    for number in (settled, gross):
        if number is not None and number.currency is not None:
            return number.currency
    if shared.currency is not None and settled is not None and product is None:
        return shared.currency
    if product is not None and not product.is_foreign and product.price.currency is not None:
        return product.price.currency
    amounts = Counter(number.currency for number in candidates.others if number.currency and number.is_money)
    return shared.currency or (amounts.most_common(1)[0][0] if len(amounts) == 1 else None)


def _get_gross(candidates: Candidates) -> Decimal | None:
    money = [number for number in candidates.gross if number.is_money]
    return money[0].value if money else None


def _get_quantity(candidates: Candidates) -> Decimal | None:
    """Where no product chooses, only the one that is named."""
    values_named = {number.value for number in candidates.quantities}
    return values_named.pop() if len(values_named) == 1 else None


# Numbers


def gather_candidates(lines: Sequence[ReadLine]) -> Candidates:
    named = _name_numbers(lines)
    useless = {id(number) for number in named[Label.IGNORED]}
    others = [n for line in lines for n in line.numbers if id(n) not in useless and not n.is_percent]
    quantities = [*_list_quantities_by_unit(lines), *named[Label.QUANTITY]]
    prices = [*named[Label.PRICE], *_list_prices_by_unit(lines)]
    dated = [number for number in named[Label.SETTLEMENT_DATE] if number.is_money]
    return Candidates(
        _drop_repeats(number for number in quantities if not number.is_percent),
        _drop_repeats(prices),
        _drop_repeats(named[Label.GROSS]),
        _drop_repeats(named[Label.SETTLED]),
        _drop_repeats([*dated, *_list_amounts_of_anchor(lines)]),
        _drop_repeats(named[Label.FEE]),
        _drop_repeats(named[Label.TAX]),
        _drop_repeats(named[Label.INTEREST]),
        _drop_repeats(named[Label.EXCHANGE_RATE]),
        _drop_repeats(others),
        *_list_unnamed_costs(lines, named),
    )


def _list_unnamed_costs(
    lines: Sequence[ReadLine], named: dict[Label, list[Number]]
) -> tuple[tuple[Number, ...], tuple[Number, ...]]:
    """Fees and taxes, by their words, of the lines that no label names, between gross amount and settled amount."""
    gross = [number.line for number in named[Label.GROSS]]
    settled = [number.line for number in named[Label.SETTLED]]
    if not gross or not settled:
        return (), ()
    known = {id(number) for numbers in named.values() for number in numbers}
    fees: list[Number] = []
    taxes: list[Number] = []
    for line in lines:
        amounts = [number for number in line.numbers if number.is_money]
        is_between = min(gross) < line.index < max(settled)
        if not is_between or not amounts or id(amounts[-1]) in known or not re.search(r"[^\W\d_]{3}", line.text):
            continue
        (taxes if labels.TAX_WORD.search(line.text) else fees).append(amounts[-1])
    return tuple(fees[:_MAX_UNNAMED]), tuple(taxes[:_MAX_UNNAMED])


def _name_numbers(lines: Sequence[ReadLine]) -> dict[Label, list[Number]]:
    """The numbers by what labels call them. What was kept for a state is no fee as well."""
    named: dict[Label, list[Number]] = {label: [] for label in Label}
    for line in lines:
        for place in line.labels:
            if place.label is Label.QUANTITY and any(_is_unit_of(number, line, place) for number in line.numbers):
                continue
            numbers = list_numbers_at(lines, line, place)
            named[place.label] += _choose_numbers(place.label, numbers)
    taxes = {id(number) for number in named[Label.TAX]}
    named[Label.FEE] = [number for number in named[Label.FEE] if id(number) not in taxes]
    return named


def _is_unit_of(number: Number, line: ReadLine, place: LabelPlace) -> bool:
    """`4,250 shares`: the word belongs to the number in front of it, and to none behind."""
    return number.end <= place.start and number.currency is None and not line.masked[number.end : place.start].strip()


def _choose_numbers(label: Label, numbers: list[Number]) -> list[Number]:
    if label in (Label.FEE, Label.TAX, Label.INTEREST):
        # Rate and base stand in front of the amount.
        return [number for number in numbers if number.is_money][-1:]
    if label is Label.SETTLED:
        return [number for number in numbers if not number.is_percent and (number.is_money or len(numbers) == 1)]
    return numbers[:1] if label is Label.QUANTITY else numbers


def _drop_repeats(numbers: "Iterator[Number] | Sequence[Number]") -> tuple[Number, ...]:
    return tuple(dict.fromkeys(numbers))


def _list_quantities_by_unit(lines: Sequence[ReadLine]) -> Iterator[Number]:
    """`ST 132,80212`, `30 shares`."""
    for line in lines:
        for number in line.numbers:
            before, behind = line.masked[max(0, number.start - 24) : number.start], line.masked[number.end :][:40]
            if (number.currency is None and labels.QUANTITY_AFTER.match(behind)) or labels.QUANTITY_BEFORE.search(
                before
            ):
                yield number


def _list_prices_by_unit(lines: Sequence[ReadLine]) -> Iterator[Number]:
    for line in lines:
        for number in line.numbers:
            if labels.PRICE_AFTER.match(line.masked[number.end :][:40]) or line.masked[
                : number.start
            ].rstrip().endswith("@"):
                yield number


def _list_amounts_of_anchor(lines: Sequence[ReadLine]) -> list[Number]:
    """In a statement the line that begins a trade ends with what was paid, and a balance."""
    for position, line in enumerate(lines):
        if labels.ANCHOR.match(line.text):
            amounts = [number for number in line.numbers if number.is_money]
            if amounts or position + 1 == len(lines):
                return amounts
            return [number for number in lines[position + 1].numbers if number.is_money]
    return []


# Which way, and when


def find_direction(lines: Sequence[ReadLine]) -> tuple[Direction | None, bool]:
    weights = {Direction.BUY: 0, Direction.SELL: 0}
    for line in lines:
        if len(line.text) > _MAX_PROSE:
            continue
        has_label = any(place.label is Label.DIRECTION for place in line.labels)
        is_title = kind_words.CONTRACT_NOTE_TITLE.search(line.text) is not None
        matches = list(labels.DIRECTION.finditer(line.text))
        if len({match["buy"] is None for match in matches}) > 1 and not line.numbers:
            continue  # `Buy/Sell`: what the field is called, not what it says
        for match in matches:
            is_anchor = (anchor := labels.ANCHOR.match(line.text)) is not None and anchor.end() == match.end()
            weight = (
                6 if is_anchor or is_title else 5 if has_label else 3 if line.dates else 2 if match[0].isupper() else 1
            )
            weights[Direction.BUY if match["buy"] else Direction.SELL] += weight
    if not any(weights.values()):
        return None, False
    best = max(weights, key=lambda direction: weights[direction])
    least = min(weights.values())
    if least == weights[best]:
        return None, False
    return best, weights[best] >= 2 * least and weights[best] >= 2


def _infer_direction(lines: Sequence[ReadLine], settlement: Settlement | None) -> Direction | None:
    """Where no word says what was done: by what the costs did, or by whether the account paid."""
    if settlement is not None and settlement.is_proven and settlement.gross not in (None, settlement.value):
        return Direction.BUY if settlement.value > (settlement.gross or 0) else Direction.SELL
    texts = [line.text for line in lines if len(line.text) <= _MAX_PROSE and line.numbers]
    paid, received = any(map(labels.PAID.search, texts)), any(map(labels.RECEIVED.search, texts))
    if paid == received:
        return None
    return Direction.BUY if paid else Direction.SELL


def _find_trade_date(lines: Sequence[ReadLine], shared: SharedFacts) -> tuple[date | None, bool]:
    """The date, and whether the note calls it the trade's."""
    labelled = [
        found
        for line, place in _list_places(lines, Label.TRADE_DATE)
        for found in list_dates_at(lines, line, place)[:1]
    ]
    if labelled:
        return labelled[0], True
    for line in lines:
        if len(line.text) > _MAX_PROSE or not (match := labels.DIRECTION.search(line.text)):
            continue
        if line.dates:
            # The one that the line begins with, or the one beside the word: `Kauf am 15.01.`
            first = line.dates[0]
            near = min(line.dates, key=lambda found: abs(found.start - match.end()))
            is_beside = abs(near.start - match.end()) <= _BESIDE or labels.ANCHOR.match(line.text) is not None
            return (first.date, True) if first.start <= 3 else (near.date, is_beside)
        if (written := SHORT_DATE.match(line.text)) and shared.year is not None:
            return _build_date(shared.year, int(written[2]), int(written[1])), True
    settlement = set(_list_settlement_dates(lines))
    rest = [found.date for line in lines for found in line.dates if found.date not in settlement]
    if not rest:
        return None, False
    common = Counter(rest).most_common(2)
    is_clear = len(common) == 1 or common[0][1] > common[1][1]
    return (common[0][0] if is_clear else None), False


_BESIDE = 40  # letters between a date and the word that says what happened
SHORT_DATE = re.compile(r"\s*(\d{1,2})\.(\d{1,2})\.?\s")


def _build_date(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _list_settlement_dates(lines: Sequence[ReadLine]) -> Iterator[date]:
    for line, place in _list_places(lines, Label.SETTLEMENT_DATE):
        yield from list_dates_at(lines, line, place)[:1]


def _find_settlement_date(lines: Sequence[ReadLine], trade_date: date | None) -> date | None:
    for found in _list_settlement_dates(lines):
        if trade_date is None or trade_date <= found <= trade_date + _LONGEST_SETTLEMENT:
            return found
    return None


_TIME = re.compile(r"(?<![\d:.,])([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?![\d:])")


def _find_time(lines: Sequence[ReadLine], trade_date: date | None) -> str | None:
    """The first time of day that stands beside the trade date."""
    for line in lines:
        if any(found.date == trade_date for found in line.dates) and (match := _TIME.search(line.text)):
            return ":".join(part.zfill(2) for part in match.groups() if part is not None)
    return None


def is_cancellation(lines: Sequence[ReadLine]) -> bool:
    return any(
        len(line.text) <= 80 and labels.CANCELLATION.search(line.text) and not labels.FAILED_ORDER.search(line.text)
        for line in lines
    )


# What was traded


def list_isins(lines: Sequence[ReadLine]) -> list[str]:
    """The numbers of securities, with right check digits, without repeats."""
    found = [match[1] for line in lines for match in ISIN.finditer(line.text)]
    if not found:  # in groups, or close to its label
        found = [
            re.sub(r"[\s.-]", "", match[1])
            for line, place in _list_places(lines, Label.ISIN)
            if (match := _GROUPED_ISIN.match(line.text, place.end))
        ] or [match[1] + match[2] for line in lines for match in _PARTED_ISIN.finditer(line.text)]
    return [number for number in dict.fromkeys(found) if stdnum_isin.is_valid(number)][:40]


def find_isin(lines: Sequence[ReadLine]) -> str | None:
    """The number of the one security; where several are named, the one behind its label, or that is named most often."""
    found = list_isins(lines)
    if len(found) <= 1:
        return found[0] if found else None
    labelled = {
        match[1]
        for line, place in _list_places(lines, Label.ISIN)
        for match in ISIN.finditer(line.text[place.end :])
        if match[1] in found
    }
    if len(labelled) == 1:
        return labelled.pop()
    named = Counter(match[1] for line in lines for match in ISIN.finditer(line.text) if match[1] in found)
    (first, most), (_, next_most) = named.most_common(2)
    return first if most > next_most else None


_WKN = re.compile(r"\b(?=[A-Z0-9]*\d)[A-Z0-9]{6,7}\b")


_VALOR = re.compile(r"\d{5,9}(?![\w.,'’])|\d{1,3}(?:['’ .]\d{3}){1,2}(?![\w.,'’])")


def _find_wkn(lines: Sequence[ReadLine]) -> str | None:
    """Beside the ISIN where a table's head names both, or behind its label. In an ISIN of Germany it stands as well."""
    found = _find_wkn_beside(lines) or _find_wkn_behind(lines)
    isin = find_isin(lines)
    if found is not None and isin is not None and isin.startswith("DE000") and isin[5:11] != found:
        return None
    return found


def _find_wkn_behind(lines: Sequence[ReadLine]) -> str | None:
    for line, place in _list_places(lines, Label.WKN):
        words = list_words_behind(line, place)
        if (match := _WKN.match(words)) is not None:
            return match[0]
        is_swiss = line.text[place.start : place.end].lower().startswith("valor")
        if is_swiss and (match := _VALOR.match(words)) is not None:
            return re.sub(r"\D", "", match[0])
    return None


def _find_wkn_beside(lines: Sequence[ReadLine]) -> str | None:
    if not any(place.label is Label.WKN for line in lines for place in line.labels):
        return None
    for line in lines:
        if match := ISIN.search(line.text):
            beside = (
                line.text[max(0, match.start() - 9) : match.start()] + " " + line.text[match.end() : match.end() + 9]
            )
            if found := _WKN.search(re.sub(r"[()]", " ", beside)):
                return found[0]
    return None


_TICKER = re.compile(r"\W{0,3}([A-Z][A-Z0-9]{0,6})(?=\s)")


def _find_ticker(lines: Sequence[ReadLine], shared: SharedFacts) -> str | None:
    places = list(_list_places(lines, Label.TICKER))
    has_isin = bool(list_isins(lines))
    if shared.has_ticker_column and not has_isin:
        for line in lines:
            if (match := labels.ANCHOR.match(line.text)) and (symbol := _TICKER.match(line.text[match.end() :])):
                return symbol[1]
    # A word in brackets that is explained is an abbreviation: `Deferred sales charge (DSC): …`.
    inside = (re.search(r"\(([A-Z]{1,5})\)(?!\s*[:=])", line.text) for line in lines if len(line.text) < 100)
    symbols = {match[1] for match in inside if match} - _NO_TICKERS
    if len(symbols) == 1 and (places or not has_isin):
        return symbols.pop()
    for line, place in places:
        if match := re.match(r"[A-Z][A-Z0-9]{0,6}(?=$|[\s.)])", list_words_behind(line, place)):
            return match[0]
    return None


_NO_TICKERS = frozenset({"ISIN", "WKN", "BIC", "IBAN", "UTC", "XETRA", *values.CURRENCY_CODES})


def _find_name(lines: Sequence[ReadLine]) -> str | None:
    """Behind its label, else what stands in front of the security's numbers."""
    for line, place in _list_places(lines, Label.NAME):
        words = list_words_behind(line, place)
        is_title = kind_words.CONTRACT_NOTE_TITLE.search(line.text) is not None
        if not is_title and re.search(r"[^\W\d_]{3}", words) and len(words) > 4:
            return words[:120]
    for line in lines:
        if match := ISIN.search(line.text):
            front = line.text[: match.start()].strip(" ,(:-")
            front = re.sub(r"^(?:ST|St[üu]ck|Stk)\s+[\d.,]+\s+", "", re.sub(rf"\s*{_WKN.pattern}$", "", front))
            if re.search(r"[^\W\d_]{3}", front) and not any(place.start < match.start() for place in line.labels):
                return front[:120].strip()
    return None


_REFERENCE = re.compile(r"(?=[\w./-]*\d)[\w./-]{3,40}")


def _find_words(lines: Sequence[ReadLine], label: Label, pattern: re.Pattern[str]) -> str | None:
    for line, place in _list_places(lines, label):
        if match := pattern.match(list_words_behind(line, place)):
            return match[0].rstrip(".")
    return None


def find_account(lines: Sequence[ReadLine]) -> str | None:
    return _find_words(lines, Label.ACCOUNT, _REFERENCE)


def find_account_name(lines: Sequence[ReadLine]) -> str | None:
    return _find_words(lines, Label.ACCOUNT_NAME, re.compile(r"[^\W\d_][\w .,'’&-]{2,60}"))


def _list_places(lines: Sequence[ReadLine], label: Label) -> Iterator[tuple[ReadLine, LabelPlace]]:
    return ((line, place) for line in lines for place in line.labels if place.label is label)
