"""What a paper says of itself that makes its trades doubted, however well they were read."""

from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract.trades.before_trade import may_be_before_trade
from ingestion.extract.trades.first_titles import (
    is_of_costs_or_taxes,
    is_of_transfer_or_fiction,
    says_that_it_is_corrected,
)
from ingestion.extract.trades.later_papers import may_be_report_of_costs, may_come_after_note
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.repeated_trades import says_all_again
from ingestion.extract.trades.row_notes import has_row_of_other_note
from ingestion.extract.trades.row_parts import (
    has_parts_without_side,
    has_rows_of_orders,
    has_unknown_part,
    names_several_accounts,
)
from ingestion.extract.trades.second_trades import has_second_trade
from ingestion.extract.trades.told_trades import tells_of_other_trade
from ingestion.extract.trades.trade import TradeReading
from ingestion.extract.trades.undone_rows import takes_row_back
from ingestion.extract.trades.void_words import says_void


def find_paper_doubts(
    page: Sequence[TextLine], lines: Sequence[ReadLine], readings: Sequence[TradeReading], *, is_statement: bool
) -> list[str]:
    """`corrected`: it counts no more; `made`: its trades were perhaps never made; `parts`: not all of its rows may be
    trades, or of the side that was read; `again`: it says all of its trades more than once; `earlier`: notes of their
    own came before it, perhaps; `trades`: a sentence, or labels, tell of one more."""
    trades = [reading.trade for reading in readings]
    if not trades or any(trade.is_cancellation for trade in trades):
        return []
    is_single = len(trades) == 1 and not is_statement
    is_list = is_statement or len(trades) > 1
    doubts = {
        "corrected": (not is_statement and says_void(lines))
        or (is_single and says_that_it_is_corrected(lines))
        or (is_list and takes_row_back(lines, trades)),
        "made": may_be_before_trade(page, lines, is_single=is_single)
        or (is_single and is_of_transfer_or_fiction(page, lines)),
        "parts": _has_doubtful_parts(lines, is_list=is_list, is_single=is_single, is_statement=is_statement),
        "trades": is_single and (tells_of_other_trade(lines, trades[0]) or has_second_trade(lines, trades[0])),
        "again": says_all_again(trades, is_statement=is_statement),
        "earlier": may_come_after_note(page, lines)
        or (is_single and is_of_costs_or_taxes(page, lines))
        or (is_list and may_be_report_of_costs(page, lines)),
    }
    return [name for name, is_doubted in doubts.items() if is_doubted]


def _has_doubtful_parts(lines: Sequence[ReadLine], *, is_list: bool, is_single: bool, is_statement: bool) -> bool:
    if is_list and (has_unknown_part(lines) or has_parts_without_side(lines) or has_row_of_other_note(lines)):
        return True
    return (is_list and not is_statement and has_rows_of_orders(lines)) or (is_single and names_several_accounts(lines))
