"""One trade from the lines that speak of it, and how far they hold together."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

from ingestion.domain.trade import Direction, Trade
from ingestion.extract.trades.candidates import Candidates, add_unnamed_costs, gather_candidates
from ingestion.extract.trades.columns import (
    RowAmounts,
    goes_on_with_costs,
    list_currency_cells,
    resolve_amounts,
)
from ingestion.extract.trades.converted_currency import find_converted_currency, find_head_currency
from ingestion.extract.trades.currency_doubts import contradicts_currency
from ingestion.extract.trades.currency_names import is_of_other_country, names_currency_of_account
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.mixed_costs import has_mixed_costs, leaves_cost_of_other_kind
from ingestion.extract.trades.names import find_name
from ingestion.extract.trades.numbers import Number
from ingestion.extract.trades.onward_amounts import names_other_currency
from ingestion.extract.trades.products import PENNY, Product, build_product, find_product
from ingestion.extract.trades.rival_amounts import is_more_than_invested
from ingestion.extract.trades.rival_quantities import may_be_of_other_quantity
from ingestion.extract.trades.rows import ProductRow, are_of_several, drop_total, find_product_rows
from ingestion.extract.trades.security import find_isin, find_reference, find_wkn, list_isins
from ingestion.extract.trades.settlement import Settlement, find_settlement, find_single, list_currencies
from ingestion.extract.trades.shared_facts import SharedFacts
from ingestion.extract.trades.side import find_direction, infer_direction
from ingestion.extract.trades.symbols import find_ticker
from ingestion.extract.trades.taken_back import find_note_taken_back, find_replaced_note, is_cancellation
from ingestion.extract.trades.trade_dates import (
    find_second_day,
    find_settlement_date,
    find_time,
    find_trade_date,
)

_MAX_GROSS = 4  # amounts that may be the gross one
_MAX_RATES = 3
_ROWS_OF_ANCHOR = 4  # lines that a row of a statement may be broken into


@dataclass(frozen=True, slots=True)
class TradeReading:
    """`is_product_proven`: quantity × price is an amount of the note; `is_settlement_proven`: so are the costs."""

    trade: Trade
    is_product_proven: bool
    is_settlement_proven: bool
    is_date_certain: bool
    is_direction_certain: bool

    @property
    def is_solved(self) -> bool:
        """Whether its numbers hold together by themselves."""
        is_settled = None not in (self.trade.quantity, self.trade.settled_amount) and self.is_settlement_proven
        return self.is_product_proven or is_settled

    @property
    def confidence(self) -> float:
        share = 0.97
        # What could not be checked is right more often than not (docs/quality.md), and yet each takes it below 0.9.
        for is_sure, factor in (
            (not self.trade.list_missing_fields(), 0.6),
            (self.is_product_proven, 0.88),
            (self.is_settlement_proven, 0.88),
            (self.is_date_certain, 0.9),
            (self.is_direction_certain, 0.9),
        ):
            share *= 1 if is_sure else factor
        return round(share, 2)


def read_trade(lines: Sequence[ReadLine], shared: SharedFacts) -> TradeReading:
    direction, is_direction_certain = find_direction(lines)
    candidates = gather_candidates(lines)
    product, has_unexplained_rows = _choose_product(lines, candidates, direction)
    if product is not None and product.gross is not None:
        candidates = add_unnamed_costs(candidates, lines, product.gross)
    if product is not None:
        # In a row that begins with what was paid, the price is nothing that was.
        candidates = replace(candidates, settled=tuple(n for n in candidates.settled if n is not product.price))
        product = _name_price_currency(product, lines)
    gross = product.gross_value if product else _choose_gross(candidates, direction)
    settlement: Settlement | None = None
    if gross is not None:
        settlement = find_settlement(candidates, gross, _get_gross_currency(product, candidates), direction)
    if (row := _find_row_amounts(lines[0], shared, direction)) is not None:
        product, has_unexplained_rows, gross = _build_labelled_product(row), False, row.gross
        settlement = _build_settlement(row)
        if not row.fees and not row.taxes and goes_on_with_costs(lines[0], lines[1:], row.gross):
            settlement = replace(settlement, fees=None, taxes=None, is_proven=False)
    elif settlement is not None and not _has_named_costs(settlement):
        table_row = _find_row(lines, product)
        below = lines[table_row.index - lines[0].index + 1 :] if table_row is not None else ()
        is_left_out = table_row is not None and goes_on_with_costs(table_row, below, gross or settlement.value)
        if is_left_out or lines[0].index in shared.columns.with_costs:
            settlement = replace(settlement, fees=None, taxes=None, is_proven=False)
    if direction is None:
        direction = infer_direction(lines, settlement)
    trade_date, is_date_certain = find_trade_date(lines, shared.year)
    is_date_certain &= lines[0].index not in shared.columns.with_other_days
    trade_date = trade_date or shared.only_date
    takes_back = is_cancellation(lines) and find_replaced_note(lines) is None
    trade = Trade(
        direction=direction,
        trade_date=trade_date,
        trade_time=find_time(lines, trade_date),
        settlement_date=find_settlement_date(lines, trade_date) or find_second_day(lines[0], trade_date),
        quantity=(quantity := product.quantity if product else _get_quantity(candidates)),
        price=_get_price(product, lines) if product else next((n.value for n in candidates.prices), None),
        isin=(isin := find_isin(lines)),
        wkn=find_wkn(lines),
        ticker=find_ticker(lines, has_ticker_column=shared.has_ticker_column, has_isin=bool(list_isins(lines))),
        security_name=find_name(lines, isin, _find_row(lines, product), quantity),
        reference=(find_note_taken_back(lines) if takes_back else None) or find_reference(lines),
        account=shared.account,
        account_name=shared.account_name,
        is_cancellation=takes_back,
    )
    is_proven = settlement is not None and settlement.is_proven
    if product is not None and settlement is not None:
        is_proven = is_proven and not may_be_of_other_quantity(
            candidates, product, settlement, direction, is_of_column=row is not None
        )
        if direction is not Direction.SELL and settlement.value == settlement.gross and not settlement.is_converted:
            is_proven = is_proven and not is_more_than_invested(
                candidates, product.quantity, product.price_value, settlement.amount, settlement.value
            )
    is_product_proven = (
        product is not None and not has_unexplained_rows and _knows_quantity_from_price(product, candidates)
    )
    if settlement is not None:
        settlement = _drop_doubtful_costs(settlement, lines, candidates, is_product_proven=is_product_proven)
    if settlement is not None and settlement.is_unnamed_conversion:
        priced_in = _get_price_currency(product, candidates)
        own = shared.currency if shared.currency != priced_in else None
        shared = replace(shared, currency=find_converted_currency(lines, candidates.exchange_rates, priced_in) or own)
    of_trade = {line.index for line in lines if not names_currency_of_account(line.text)}
    candidates = replace(candidates, others=tuple(n for n in candidates.others if n.line in of_trade))
    trade = _add_amounts(trade, candidates, product, gross, settlement, shared)
    trade = replace(trade, currency=_check_currency(trade, lines, product, row, settlement, shared))
    settled = settlement.amount if settlement is not None else None
    is_proven = is_proven and not contradicts_currency(lines, trade, product, settled, shared.columns)
    if product is not None and product.price.line == lines[0].index:
        is_proven = is_proven and not names_other_currency(lines, trade)
    return TradeReading(trade, is_product_proven, is_proven, is_date_certain, is_direction_certain)


def _drop_doubtful_costs(
    settlement: Settlement, lines: Sequence[ReadLine], candidates: Candidates, *, is_product_proven: bool
) -> Settlement:
    """Without its fees and taxes where some are listed, or none, and others were paid; or where one amount is both."""
    is_doubtful = (not settlement.has_costs and is_product_proven) or has_mixed_costs(lines, settlement)
    is_doubtful = is_doubtful or leaves_cost_of_other_kind(lines, candidates, settlement)
    return replace(settlement, fees=None, taxes=None) if is_doubtful else settlement


def _find_row_amounts(row: ReadLine, shared: SharedFacts, direction: Direction | None) -> RowAmounts | None:
    columns = shared.columns.rows.get(row.index)
    return resolve_amounts(columns, direction) if columns is not None else None


def _name_price_currency(product: Product, lines: Sequence[ReadLine]) -> Product:
    """With the currency that the head above its row names, where row and price name none."""
    if product.gross is None or product.gross.currency is not None or product.price.currency is not None:
        return product
    currency = find_head_currency(lines, product.gross.line)
    return product if currency is None else replace(product, price=replace(product.price, currency=currency))


def _check_currency(
    trade: Trade,
    lines: Sequence[ReadLine],
    product: Product | None,
    row: RowAmounts | None,
    settlement: Settlement | None,
    shared: SharedFacts,
) -> str | None:
    """What the row or the head of its column says, where no amount does; None where the head of the table, which
    stands nearer to the trade, names another one than the document does, and where what the document names somewhere is
    not that of the security's country."""
    if row is not None and row.currency is not None:
        return row.currency
    if trade.currency != shared.currency or trade.foreign_currency is not None:
        return trade.currency
    line = lines[product.price.line - lines[0].index] if product is not None else lines[0]
    before_quantity = {n.currency for n in line.numbers if product is not None and product.quantity in n.readings}
    if of_row := (list_currency_cells(line) | before_quantity) - {None}:
        return of_row.pop() if len(of_row) == 1 else None
    if of_head := shared.columns.currencies.get(line.index, frozenset()):
        return trade.currency if trade.currency in of_head else None
    numbers = (settlement.amount if settlement else None, *((product.gross, product.price) if product else ()))
    if shared.is_currency_named or any(number is not None and number.currency for number in numbers):
        return trade.currency
    return None if is_of_other_country(trade.isin, trade.currency) else trade.currency


def _build_labelled_product(row: RowAmounts) -> Product:
    number = row.settled_number if row.settled == row.gross else None
    return Product(row.quantity, row.price, row.price_value, row.gross, number, row.gross, is_foreign=False, score=4)


def _build_settlement(row: RowAmounts) -> Settlement:
    return Settlement(
        row.settled_number,
        row.settled,
        row.gross,
        row.fees,
        row.taxes,
        Decimal(0),
        is_proven=True,
        is_converted=False,
    )


def _has_named_costs(settlement: Settlement) -> bool:
    return settlement.is_proven and bool(settlement.fees or settlement.taxes or settlement.interest)


def _find_row(lines: Sequence[ReadLine], product: Product | None) -> ReadLine | None:
    """The row of a table in which price and amount of the trade stand."""
    if product is None or product.gross is None or product.gross.line != product.price.line:
        return None
    return lines[product.price.line - lines[0].index]


def _get_price(product: Product, lines: Sequence[ReadLine]) -> Decimal:
    """In the currency of the trade: London's shares are priced in pence, and settled in pounds."""
    is_hundredfold = product.quantity * product.price_value > product.amount * _MIN_HUNDREDFOLD
    # A percentage has no currency.
    is_in_pence = product.price.currency == _POUND or any(_PENCE.search(line.text) for line in lines)
    if is_hundredfold and not product.price.is_percent and is_in_pence:
        return product.price_value / 100
    return product.price_value


# Between what is right and what is a hundred times too large, whatever was rounded.
_MIN_HUNDREDFOLD = 50
_POUND = "GBP"
_PENCE = re.compile(r"\(p\)|\b(?:pence|penny|GBX|GBp)\b|\d\s?p\b")


def _knows_quantity_from_price(product: Product, candidates: Candidates) -> bool:
    """Whether it is certain which factor is the price: labels say it, a currency, or cents beside whole shares."""
    is_sum = product.gross is None  # of rows, whose quantity no label names
    is_named = is_sum or any(product.quantity in number.readings for number in candidates.quantities)
    if product.price in candidates.prices and is_named:
        return True
    is_whole = product.quantity == product.quantity.to_integral_value()
    return product.price.currency is not None or product.price.is_percent or (is_whole and product.price.decimals > 1)


def _choose_product(
    lines: Sequence[ReadLine], candidates: Candidates, direction: Direction | None
) -> tuple[Product | None, bool]:
    """By labels, or by a row; and whether there are rows that say otherwise.

    An order that was filled in parts has a row for each: the trade is their sum, which a total or a label says.
    """
    product = find_product(candidates, direction)
    quantities = {id(number) for number in candidates.quantities}
    first_lines = lines[:_ROWS_OF_ANCHOR]
    if product is not None and not product.is_labelled and (rows := find_product_rows(first_lines, quantities)):
        product = build_product(rows[:1])
    rows = _drop_conversions(find_product_rows(lines, quantities), candidates)
    parts = drop_total(rows)
    distinct = {(row.quantity, row.price, row.amount) for row in parts}
    if len(distinct) < 2 and len(parts) == len(rows):
        return product or (build_product(rows[:1]) if rows else None), False
    quantity, amount = sum(row.quantity for row in parts), sum(row.amount for row in parts)
    if product is not None and product.quantity not in {row.quantity for row in parts}:
        return product, False
    printed = {value for number in candidates.others for value in number.readings}
    if len(parts) < len(rows) or quantity in printed or amount in printed:
        return build_product(parts), are_of_several(parts)
    return product, True


def _drop_conversions(rows: Sequence[ProductRow], candidates: Candidates) -> list[ProductRow]:
    """The rows without those that multiply an amount by an exchange rate."""
    rates = [rate for number in candidates.exchange_rates[:_MAX_RATES] for rate in number.readings if rate > 0]
    factors = [factor for rate in rates for factor in (rate, 1 / rate)]
    rest = [
        row
        for row in rows
        if not any(abs(part - factor) <= factor / 2000 for part in (row.quantity, row.price) for factor in factors)
    ]
    return rest or list(rows)


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
        is_in_two = number is None and len(list_currencies(candidates.settled)) > 1
        currency = None if is_in_two else _choose_currency(number, product, candidates, shared)
        if number is None and product is not None and product.gross in candidates.settled:
            gross = None  # one of several totals: what was paid, or what it was worth
        return replace(trade, currency=currency, settled_amount=number.value if number else None, gross_amount=gross)
    is_foreign = settlement.is_converted or (product is not None and product.is_foreign)
    price_currency = _get_price_currency(product, candidates)
    if settlement.is_unnamed_conversion:
        currency = shared.currency
    else:
        currency = _choose_currency(settlement.amount, None if is_foreign else product, candidates, shared)
    foreign = price_currency if is_foreign and price_currency != currency else None
    return replace(
        trade,
        currency=currency,
        settled_amount=settlement.value,
        gross_amount=settlement.gross,
        fees=_round(settlement.fees) if settlement.fees is not None else None,
        taxes=_round(settlement.taxes) if settlement.taxes is not None else None,
        accrued_interest=_round(settlement.interest) if settlement.interest else None,
        foreign_currency=foreign,
        foreign_gross_amount=_round(_get_foreign_gross(product, foreign, candidates))
        if product is not None and foreign
        else None,
    )


def _get_price_currency(product: Product | None, candidates: Candidates) -> str | None:
    """The currency in which the trade was priced."""
    if product is not None and product.price.currency is not None:
        return _POUND if product.price.currency == PENNY else product.price.currency
    gross = product.gross if product is not None and not product.is_foreign else next(iter(candidates.gross), None)
    return gross.currency if gross is not None else None


def _get_foreign_gross(product: Product, foreign: str, candidates: Candidates) -> Decimal:
    """As it is printed, where it is: quantity and price were rounded."""
    _, _, exponent = product.quantity.as_tuple()
    rounded = product.price_value.scaleb(int(exponent)) if int(exponent) < 0 else Decimal(0)
    near = [
        number.value
        for number in candidates.others
        if number.currency == foreign and number.is_money and abs(number.value - product.amount) <= rounded + _LEAST
    ]
    return min(near, key=lambda value: abs(value - product.amount), default=product.amount)


_LEAST = Decimal("0.01")


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


def _choose_gross(candidates: Candidates, direction: Direction | None) -> Decimal | None:
    """Where nothing multiplies: the one from which costs lead to what was settled, else the only one."""
    money = [number for number in candidates.gross[:_MAX_GROSS] if number.is_money]
    for number in money:
        found = find_settlement(candidates, number.value, number.currency, direction)
        if found is not None and found.is_proven and not found.is_converted:
            return number.value
    return money[0].value if len({number.value for number in money}) == 1 else None


def _get_quantity(candidates: Candidates) -> Decimal | None:
    """Where no product chooses, only the one that is named."""
    values_named = {number.value for number in candidates.quantities}
    return values_named.pop() if len(values_named) == 1 else None
