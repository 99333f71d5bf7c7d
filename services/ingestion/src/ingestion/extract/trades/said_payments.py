"""A sentence of a note that says what the account paid or was paid, where that is another amount than the one that was
read: `We have debited GBP 4,551.90 from your account, including a custody charge.`"""

import re
from collections.abc import Sequence
from decimal import Decimal

from ingestion.domain.trade import Trade
from ingestion.extract.trades import labels
from ingestion.extract.trades.lines import ReadLine

_MAX_SENTENCE = 300  # letters
_MIN_WORDS = 4  # fewer are a label
_WORD = re.compile(r"[^\W\d_]{2,40}")
_NEAREST = 3  # the part of the amount by which what was paid in the end may be more or less
# Of the languages in which labels and sentences say it by other forms.
_PAID = re.compile(
    r"\b(?:(?:d[ée]bit|credit|cr[ée]dit|carga|abona|preleva|(?:af|bij)geschr|schrijv|schrev|abgebucht|eingezogen|charged|paid|collected|withdrawn|trukket|dragit|pobra)\w{0,8})",
    re.IGNORECASE,
)


def says_other_payment(lines: Sequence[ReadLine], trade: Trade) -> bool:
    settled = trade.settled_amount
    if settled is None or trade.currency is None:
        return False
    known = _list_known(trade)
    return any(
        number.is_money
        and number.currency == trade.currency
        and number.value not in known
        and abs(number.value - settled) * _NEAREST <= settled
        for line in lines
        if _says_payment(line.text)
        for number in line.numbers
    )


def _says_payment(text: str) -> bool:
    if len(text) > _MAX_SENTENCE or len(_WORD.findall(text)) < _MIN_WORDS:
        return False
    return any(words.search(text) is not None for words in (labels.PAID, labels.RECEIVED, _PAID))


def _list_known(trade: Trade) -> set[Decimal | None]:
    """The amounts of the trade, and what its costs leave of them on the way from one to the other."""
    gross = trade.gross_amount
    known = {trade.settled_amount, gross, trade.foreign_gross_amount}
    if gross is not None:
        costs = (trade.fees or Decimal(0), trade.taxes or Decimal(0), trade.accrued_interest or Decimal(0))
        known |= {gross + sign * cost for cost in costs for sign in (1, -1)}
    return known
