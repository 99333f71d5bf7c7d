"""What a document says once for all its trades: its currency, the account, the year, the heads of its tables."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from ingestion.extract import values
from ingestion.extract.trades import labels
from ingestion.extract.trades.columns import Columns, find_columns, list_currency_cells
from ingestion.extract.trades.currency_doubts import says_currency_of_all
from ingestion.extract.trades.currency_names import names_base_currency, names_currency_of_account
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.numbers import CURRENCIES
from ingestion.extract.trades.security import find_account, find_account_name, list_isins

_SEVERAL = 2  # labels


@dataclass(frozen=True, slots=True)
class SharedFacts:
    """`is_currency_named`: not only beside an amount, or in a heading."""

    currency: str | None
    account: str | None
    account_name: str | None
    year: int | None
    only_date: date | None
    has_ticker_column: bool
    columns: Columns
    is_currency_named: bool


def find_shared_facts(lines: Sequence[ReadLine]) -> SharedFacts:
    days = {
        found.date for line in lines for found in line.dates if not labels.VALID_UNTIL.search(line.text, 0, found.start)
    }
    years = Counter(found.date.year for line in lines for found in line.dates)
    of_trades = [line for line in lines if not names_currency_of_account(line.text)]
    return SharedFacts(
        currency=_find_named_currency(of_trades) or values.determine_currency(line.text for line in of_trades),
        account=find_account(lines),
        account_name=find_account_name(lines),
        year=years.most_common(1)[0][0] if years else None,
        only_date=days.pop() if len(days) == 1 else None,
        has_ticker_column=any(place.label is Label.TICKER for line in lines for place in line.labels),
        columns=find_columns(lines),
        is_currency_named=any(map(_names_currency_of_all, of_trades)),
    )


def _names_currency_of_all(line: ReadLine) -> bool:
    """In a field for it, beside labels or the number of the security: a heading, `US shares (in USD)`, says that of its
    own rows."""
    if (list_isins([line]) and list_currency_cells(line)) or says_currency_of_all(line.text):
        return True
    if line.numbers and _CROWNS.search(line.text):
        return True  # written beside an amount, and whose they are says the language
    match = _NAMED_CURRENCY.search(line.text) if not names_base_currency(line.text) else None
    return match is not None and bool(match[1] or line.numbers or len(line.labels) >= _SEVERAL)


_CROWNS = re.compile(r"\bkr\b|\b(?:kronor|kroner)\b", re.IGNORECASE)
_NAMED_CURRENCY = re.compile(
    r"\b(?:currency|ccy|\w{0,14}w[äa]hrung|whg\.?|devise|divisa|moneda|valuta|moeda)\s*:?\s*([A-Z]{3})\b(?!/)"
    r"|[a-z]\s?\((?:in\s+)?([A-Z]{3}|[€£])\)",
    re.IGNORECASE,
)
_SIGNS = {"€": "EUR", "£": "GBP"}


def _find_named_currency(lines: Sequence[ReadLine]) -> str | None:
    words = {match[1] or match[2] for line in lines if (match := _NAMED_CURRENCY.search(line.text))}
    found = {_SIGNS.get(word, word) for word in words if word in _SIGNS or word in CURRENCIES}
    return found.pop() if len(found) == 1 else None
