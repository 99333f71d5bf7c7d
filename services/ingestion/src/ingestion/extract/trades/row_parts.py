"""The parts of a list of trades: the rows below one heading, or below the head of a table that stands there again.

What a heading means that no rule knows nobody can tell: `Disposals` are sales, `Proposed trades` are none.
"""

import re
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from itertools import pairwise, takewhile

from ingestion.extract.trades import labels
from ingestion.extract.trades import section_words as words
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.row_side import SidePlace, find_row_side
from ingestion.extract.trades.sections import (
    SIDE_ALONE,
    is_heading,
    is_table_head,
    list_lines_without_trades,
    names_part,
)
from ingestion.extract.trades.security import ISIN

_NEAR = 6.0  # points to the right of where the rows begin
_VALUE = re.compile(r"(?<!\d)(?!(?:19|20)\d\d\b)\d{3}|:\s?\w*\d")  # of an account, say
_OTHER_THAN_DONE = re.compile(
    r"\b(?:awaiting|proposed?|planned|scheduled|upcoming|future|previous|last|example|sample|specimen|how\s+to|recurring|expected|unsettled|preview|not\s+yet|geplant\w*|vorgesehen\w*|anstehend\w*|vorherig\w*|vormonat\w*|muster|beispiel\w*|nachrichtlich|vorschau|(?:noch\s+)?nicht|pas\s+encore|a[úu]n\s+no|non\s+ancora|nog\s+niet|ainda\s+n[ãa]o|[äa]nnu\s+inte|(?:enn[åa]|endnu)\s+ikke|jeszcze\s+nie|dosud|pr[ée]vu\w*|venir|pr[ée]c[ée]dent\w*|rappel|exemple|programm[ée]\w*"
    r"|previst\w+|pr[óo]xim\w+|prossim\w+|anterior\w*|ejemplo|esempio|gepland\w*|komende|vorige|voorbeeld|kommande|kommende|exempel|tidigare|forrige|planlag\w+|planowan\w+|przysz[łl]\w+|poprzedni\w*|pl[áa]novan\w+|budouc[íi]\w*|p[řr]edchoz[íi]\w*)\b",
    re.IGNORECASE,
)


def _list_headings_of_rows(lines: Sequence[ReadLine]) -> list[tuple[ReadLine, str | None]]:
    """Each row that begins with a day, with the heading above it; None above the first one."""
    texts = [_fold(line.text) for line in lines]
    without_trades = list_lines_without_trades(lines)
    has_names_below = _has_line_below_each_row(lines)
    repeated = {text for text, times in Counter(texts).items() if times > 1}  # the head of each page
    found: list[tuple[ReadLine, str | None]] = []
    heading: str | None = None
    left: float | None = None
    for position, line in enumerate(lines):
        if _is_row(line):
            left = line.source.cells[0].left
            if line.index not in without_trades:
                found.append((line, heading))
        elif _may_be_heading(line) and _is_own(texts[position], repeated) and not names_part(texts[position]):
            below = [line for line in lines[position + 1 : position + 3] if not names_part(_fold(line.text))][:1]
            is_below_head = left is None and any(map(is_table_head, lines[max(0, position - 1) : position]))
            is_beside_head = is_below_head or any(map(is_table_head, below))
            is_between = left is not None and line.source.cells[0].left <= left + _NEAR
            if is_beside_head or (is_between and not has_names_below and any(map(_is_row, below))):
                heading = texts[position]
    return found


def _is_own(text: str, repeated: Container[str]) -> bool:
    """`Purchases` may stand above several parts."""
    return text not in repeated or bool(
        words.PURCHASES.fullmatch(text) or words.SALES.fullmatch(text) or SIDE_ALONE.fullmatch(text)
    )


def _has_line_below_each_row(lines: Sequence[ReadLine]) -> bool:
    """Then it goes on there: with the name of the security, say."""
    below = [other for line, other in pairwise(lines) if _is_row(line)]
    is_last_row = bool(lines) and _is_row(lines[-1])
    return bool(below) and not is_last_row and all(map(_may_be_heading, below))


def has_unknown_part(lines: Sequence[ReadLine]) -> bool:
    """Whether rows stand below a heading that says not, in words that are known, that its rows were trades, while
    others stand elsewhere."""
    headings = {heading for _, heading in _list_headings_of_rows(lines)}
    if len(headings) <= 1:
        return any(heading is not None and _OTHER_THAN_DONE.search(heading) for heading in headings)
    return any(heading is not None and not _is_known(heading) for heading in headings)


def has_rows_of_orders(lines: Sequence[ReadLine]) -> bool:
    """Whether rows with a side stand below a heading that says that they are no trades. Only of what is known to be a
    statement they are left out."""
    without_trades = list_lines_without_trades(lines)
    return any(line.index in without_trades and _is_row(line) and _says_side(line) for line in lines)


def has_parts_without_side(lines: Sequence[ReadLine]) -> bool:
    """Whether rows without a side of their own stand below several headings of which not each says it."""
    parts = {heading for line, heading in _list_headings_of_rows(lines) if not _says_side(line)}
    return len(parts) > 1 and any(heading is None or not _names_one_side(heading) for heading in parts)


def _says_side(line: ReadLine) -> bool:
    return find_row_side(line).place >= SidePlace.BESIDE_VALUE


def _names_one_side(heading: str) -> bool:
    if words.PURCHASES.fullmatch(heading) or words.SALES.fullmatch(heading):
        return True
    return len({match["buy"] is None for match in labels.DIRECTION.finditer(heading)}) == 1


def _is_row(line: ReadLine) -> bool:
    return bool(line.dates) and line.dates[0].start <= 1 and len(line.numbers) > 1


def _may_be_heading(line: ReadLine) -> bool:
    if len(line.source.cells) > 1 or not is_heading(line) or is_table_head(line):
        return False
    has_value = any(place.start == 0 for place in line.labels) and ":" in line.text
    has_value = has_value or _VALUE.search(line.text) is not None or ISIN.search(line.text) is not None
    return not has_value and re.search(r"[^\W\d_]{3}", line.text) is not None


def _is_known(heading: str) -> bool:
    if _OTHER_THAN_DONE.search(heading) or words.NOT_DONE.search(heading):
        return False
    patterns = (words.WITH_TRADES, words.KINDS_OF_SECURITIES, words.CURRENCY, words.WITHOUT_TRADES, words.ORDERS)
    if any(pattern.fullmatch(heading) for pattern in (*patterns, words.TAKEN_BACK)):
        return True
    return any(_list_known_words(heading))


def _list_known_words(heading: str) -> Iterator[object]:
    yield labels.DIRECTION.search(heading)
    yield words.NAMES_TRADES.search(heading)
    yield from (words.KINDS_OF_SECURITIES.fullmatch(word) for word in heading.split())


def _fold(text: str) -> str:
    return " ".join(text.split())


def names_several_accounts(lines: Sequence[ReadLine]) -> bool:
    """Whether a table says how much of a trade each account had: `Account  Quantity  Amount` above several of them."""
    for position, line in enumerate(lines):
        called = line.source.cells[0].text.strip() if line.source.cells else ""
        if not is_table_head(line) or _ACCOUNT.fullmatch(called) is None:
            continue
        rows = takewhile(lambda row: len(row.source.cells) > 1 and bool(row.numbers), lines[position + 1 :])
        accounts = {row.source.cells[0].text.strip() for row in rows}
        if sum(re.search(r"\d", account) is not None for account in accounts) > 1:
            return True
    return False


_ACCOUNT = re.compile(
    r"(?:client\s+)?(?:account|a/c|portfolio|client|(?:wertpapier)?depot|konto|kunde|compte|cliente?|cuenta|cartera|conto|dossier|rekening|klant|conta|carteira|dep[åa]|rachunek|[úu][čc]et)(?:-?\s?(?:no\.?|number|nr\.?|nummer|n[°º]))?",
    re.IGNORECASE,
)
