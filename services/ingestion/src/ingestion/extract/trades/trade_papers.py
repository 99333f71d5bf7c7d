"""Which papers may have a trade: what says that it is something else has none, and all others a person should see."""

from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import values
from ingestion.extract.titles import kind_words
from ingestion.extract.titles.document_kind import BANK_KINDS, DocumentKind, classify_lines, has_title, names_security
from ingestion.extract.trades import labels
from ingestion.extract.trades.columns import Columns, find_columns
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.later_papers import is_report_on_trades
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.no_trade import (
    has_valuation_title,
    is_called_no_trade,
    is_of_terms,
    is_read_as_trade,
    may_book_trade,
    may_list_what_was_done,
    names_costs_and_value,
    says_no_trade,
    tells_of_trade,
)
from ingestion.extract.trades.no_trade_words import LIKE_TRADE
from ingestion.extract.trades.row_side import SidePlace, find_row_side
from ingestion.extract.trades.rows import find_product_rows
from ingestion.extract.trades.sections import list_lines_without_trades
from ingestion.extract.trades.trade import TradeReading
from ingestion.extract.trades.trade_dates import SHORT_DATE
from ingestion.extract.trades.unfilled_orders import says_nothing_filled, tells_of_filled_order
from ingestion.extract.trades.unread_rows import has_day, list_rows_below_heads

_SEVERAL = 2  # trades that hold together by themselves
_CERTAIN = 0.9
_MAX_LINE = 140  # letters of one that may say what was done


def may_have_trades(
    page: Sequence[TextLine], lines: Sequence[ReadLine], kind: DocumentKind | None, readings: Sequence[TradeReading]
) -> bool:
    """Whether a person should see it at least. Skipped is only what says that it is something else: that nothing could
    be read says nothing."""
    texts = [line.text for line in lines if len(line.text) <= _MAX_LINE]
    speaks_of_trade = any(labels.DIRECTION.search(text) for text in texts)
    # Income has a quantity, a rate and an amount as well.
    is_read = speaks_of_trade and any(
        reading.is_solved and not reading.trade.list_missing_fields() for reading in readings
    )
    # A statement lists trades beside an order that found nobody.
    is_unfilled = kind is not DocumentKind.ACTIVITY_STATEMENT and says_nothing_filled(texts)
    if _is_order_only(lines) or is_unfilled:
        is_proven = is_read and any(reading.is_settlement_proven for reading in readings)
        return is_proven or (is_unfilled and tells_of_filled_order(lines, kind, readings))
    if is_report_on_trades(page, lines):
        return _is_settled_trade(lines, readings)
    is_list = len(readings) >= _SEVERAL and all(reading.confidence >= _CERTAIN for reading in readings)
    if kind is not DocumentKind.ACTIVITY_STATEMENT and not is_list and says_no_trade(page, lines, readings):
        return False
    begins_any = any(begins_trade(line, kind) for line in lines)
    if kind is DocumentKind.BANK_NOTICE:
        return (
            is_list
            or tells_of_trade(lines)
            or (is_read_as_trade(lines, readings) and not is_called_no_trade(page))
            or _lists_priced_rows(lines)
            or (begins_any and (is_read or has_title(page, DocumentKind.CONTRACT_NOTE)))
        )
    if kind is DocumentKind.ACTIVITY_STATEMENT:
        may_trade = _list_lines_that_may_trade(lines)
        begins_any = any(
            (begins_trade(line, kind) or _says_day_and_side(line)) and not is_of_terms(line) for line in may_trade
        )
        return begins_any or _lists_trades(page, may_trade, find_columns(lines))
    if kind is DocumentKind.CONTRACT_NOTE or begins_any or speaks_of_trade:
        return True
    if tells_of_trade(lines) or is_read_as_trade(lines, readings):
        return True
    return not _says_what_it_is(page, lines, texts)


def _is_settled_trade(lines: Sequence[ReadLine], readings: Sequence[TradeReading]) -> bool:
    """Whether what is called a report has all of one trade, with labels for its day and for what was settled: a field
    of a note may begin as the title of a report does, and a person tells them apart."""
    names_settled = any(place.label is Label.SETTLED for line in lines for place in line.labels)
    is_whole = len(readings) == 1 and not readings[0].trade.list_missing_fields()
    return is_whole and names_settled and is_read_as_trade(lines, readings)


def _is_order_only(lines: Sequence[ReadLine]) -> bool:
    """Whether it says that an order was received, and nothing of what became of it."""
    is_titled = any(labels.ORDER_ONLY.search(line.text) for line in lines[:30] if len(line.text) <= 90)
    return is_titled and not any(
        place.label in (Label.TRADE_DATE, Label.SETTLED, Label.SETTLEMENT_DATE)
        for line in lines
        for place in line.labels
    )


def _list_lines_that_may_trade(lines: Sequence[ReadLine]) -> list[ReadLine]:
    without_trades = list_lines_without_trades(lines)
    return [line for line in lines if line.index not in without_trades]


def _lists_trades(page: Sequence[TextLine], may_trade: Sequence[ReadLine], columns: Columns) -> bool:
    """Whether a row of a statement may be a trade: by a word, or because it has a day and multiplies, or stands below
    the heads of a trade's numbers."""
    if any(may_book_trade(line) for line in may_trade):
        return True
    multiplied = {row.line.index for row in find_product_rows(may_trade)}
    multiplied |= {row.index for row in list_rows_below_heads(may_trade)}
    dated = [line for line in may_trade if values.DATES.search(line.text)]
    rows = [line for line in dated if line.index in multiplied or line.index in columns.rows]
    days = {match[0] for row in rows for match in values.DATES.finditer(row.text)}
    names_day = any(place.label is Label.TRADE_DATE for line in may_trade for place in line.labels)
    if any(LIKE_TRADE.search(row.text) for row in rows):
        return True
    # What is held is worth so much on that day; beside what was once paid, on whichever day there was a price.
    is_of_holdings = names_costs_and_value(may_trade) or (has_valuation_title(page) and len(days) == 1)
    if not names_day and is_of_holdings and not may_list_what_was_done(page, may_trade, rows):
        return False
    return any(not kind_words.NO_TRADE_WORD.search(row.text) for row in rows)


def _lists_priced_rows(lines: Sequence[ReadLine]) -> bool:
    """Of an account, in which something was bought or sold: what is held has a cost beside its value."""
    rows = list_rows_below_heads(_list_lines_that_may_trade(lines))
    is_of_holdings = names_costs_and_value(lines)
    return not is_of_holdings and any(not kind_words.NO_TRADE_WORD.search(row.text) for row in rows)


_NAMED_BY_CHANCE = frozenset({*BANK_KINDS, DocumentKind.OTHER})  # a list of trades may be called so too


def _says_what_it_is(page: Sequence[TextLine], lines: Sequence[ReadLine], texts: Sequence[str]) -> bool:
    """Whether a document that speaks of no buy or sale is of a kind that has none."""
    if (kind := classify_lines(page)) is DocumentKind.UNKNOWN:
        return False
    if kind in _NAMED_BY_CHANCE and _lists_priced_rows(lines):
        return False
    if kind not in BANK_KINDS and not names_security(texts):
        return True
    return any(kind_words.NO_TRADE_WORD.search(text) for text in texts)


def begins_trade(line: ReadLine, kind: DocumentKind | None) -> bool:
    """In a statement that is a line with its date; elsewhere a heading may do."""
    if len(line.text) > 140 or labels.ANCHOR.match(line.text) is None:
        return False
    return kind is not DocumentKind.ACTIVITY_STATEMENT or bool(line.dates) or SHORT_DATE.match(line.text) is not None


def _says_day_and_side(line: ReadLine) -> bool:
    """A row that goes on in the lines below, perhaps."""
    return has_day(line) and find_row_side(line).place is SidePlace.IN_COLUMN
