"""Which way the row of a table went, by the row itself or its section: a word of a security's name is no side.

`02 Sep 2026  BEST BUY CO INC  US0865161014  Sell  20  214.60` is a sale.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from ingestion.domain.trade import Direction
from ingestion.extract.trades import labels
from ingestion.extract.trades.lines import ReadLine

_MAX_CELL = 30  # letters of a cell that says the side alone
_BEFORE = (
    r"(?:market|limit|online|order|trade|stock|your|ihre?|sparplan|savings\s+plan|plan|aktien|fonds|wertpapier"
    r"|ordre|orden|ordine|ordem)"
)
_BEHIND = (
    r"(?:to|open|close|opening|closing|order|market|limit|of|shares|stock|units|aktien|wertpapiere?|fonds|de|di|van"
    r"|von|titres|t[íi]tulos|titoli|effecten|aandelen)"
)
_ALONE = re.compile(
    rf"[^\w]{{0,4}}(?:{_BEFORE}[^\w\t]{{1,3}}){{0,2}}(?:{labels.DIRECTION.pattern})(?:[^\w\t]{{1,3}}{_BEHIND}){{0,3}}[^\w]{{0,4}}",
    re.IGNORECASE,
)
# Dates and codes are blanks in a masked text.
_CODE_BEFORE = re.compile(r"(?:^|\t|\d|\s{6})[^\w\t]{0,3}$")
_CODE_BEHIND = re.compile(r"[^\w\t]{0,3}(?:$|\t|[$€£]?\d|[A-Z]{3}\s?\d)|\s{6}")
# What else a row of an account may book.
_OTHER_BOOKING = (
    (
        r"(?:cash\s+|stock\s+|ordinary\s+|qualified\s+|special\s+)?(?:dividends?|div)(?:\s+(?:payment|received|tax))?|distributions?|(?:credit\s+|debit\s+|accrued\s+)?interest(?:\s+(?:payment|received|paid))?|coupons?|(?:return\s+of\s+capital|withholding(?:\s+tax)?)"
        r"|(?:transfer|deposit|journal|delivery|receipt)(?:\s+(?:in|out|of\s+\w+))?|withdrawal|contribution|(?:stock\s+|share\s+|reverse\s+)?split|spin-?off|merger|corporate\s+action|rights?\s+issue|bonus\s+(?:issue|shares)|name\s+change|adjustment|(?:custody\s+|account\s+)?fees?|tax(?:es)?"
    ),
    r"(?:bar)?dividenden?(?:gutschrift|zahlung)?|aussch[üu]ttung|ertr[äa]gnis(?:gutschrift)?|zins(?:en|gutschrift|zahlung)?|kupon|(?:depot)?[üu]bertrag|(?:ein|aus)(?:lieferung|buchung|zahlung|gang)|aktiensplit|kapitalma(?:ß|ss)nahme|fusion|umtausch|geb[üu]hr(?:en)?|entgelte?|steuern?|vorabpauschale",
    r"dividendes?|distribution|int[ée]r[êe]ts|coupon|transfert(?:\s+(?:entrant|sortant|de\s+titres))?|virement|versement|retrait|division|fusion|frais|imp[ôo]ts?|droits\s+de\s+garde",
    r"dividendos?|reparto|intereses|cup[óo]n|traspaso|transferencia|ingreso|retirada|desdoblamiento|fusi[óo]n|gastos|comisi[óo]n|impuestos?",
    r"dividend[oi]|distribuzione|interessi|cedol[ae]|trasferimento|bonifico|versamento|prelievo|frazionamento|fusione|spese|commissione|impost[ae]",
    r"dividend(?:uitkering)?|uitkering|rente|coupon|overboeking|storting|opname|splitsing|fusie|kosten|belasting",
    r"dividendos?|distribui[çc][ãa]o|juros|rendimentos?|proventos|cup[ãa]o|transfer[êe]ncia|dep[óo]sito|levantamento|desdobramento|fus[ãa]o|comiss[ãa]o|impostos?",
)
_OTHER_ALONE = re.compile(rf"[^\w]{{0,4}}(?:{'|'.join(_OTHER_BOOKING)})[^\w]{{0,4}}", re.IGNORECASE)
_OTHER_FIRST = re.compile(rf"[\W_]*(?:{'|'.join(_OTHER_BOOKING)})(?!\w)", re.IGNORECASE)


# What begins or ends a cell where it is no name of a fund: `Bond interest`, `Zinsen ABC Anleihe`.
_INCOME_OR_FEE = (
    r"(?:interest|int\.|int(?=\W*$)|coupons?|income|dividends?|distributions?|fees?|charges?|\w{0,20}zins(?:en|ertrag|ertr[äa]ge|zahlung|gutschrift)?|kupon\w{0,10}|dividenden?\w{0,10}|\w{0,12}aussch[üu]ttung\w{0,3}|ertrag|ertr[äa]ge|\w{0,20}geb[üu]hr(?:en)?|\w{0,20}entgelte?"
    r"|dividendes?|int[ée]r[êe]ts|revenus?|droits\s+de\s+garde|frais|intereses|cup[óo]n|rendimientos?|comisi[óo]n|dividendos?|interessi|cedol[ae]|provent[oi]|dividend[oi]|spese|commissioni?|\w{0,8}rente|uitkering|dividenduitkering|\w{0,12}kosten|bewaarloon|juros|rendimentos?|comiss[ãa]o"
    r"|r[äa]nt[ae]|utdelning|avgift|udbytte|gebyr|odsetki|dywidend[ay]|op[łl]at[ay]|prowizja|[úu]roky?|dividend[ay]|poplat(?:ek|ky))"
)
_BEGINS_WITH_INCOME = re.compile(rf"\W{{0,4}}{_INCOME_OR_FEE}(?!\w)", re.IGNORECASE)
_ENDS_WITH_INCOME = re.compile(
    rf"(?<!\w){_INCOME_OR_FEE}\W{{0,4}}(?:(?:on|f[üu]r|sur|auf|su|sobre|over|p[åa]|za)\s[^\W\d]{{1,30}}\W{{0,4}})?$",
    re.IGNORECASE,
)
_MAX_ENDING = 60  # letters
_FUND = re.compile(
    r"\b(?:\w*funds?|\w*fonds?|fondos?|fondi|fundos?|etfs?|ucits|sicav|oeic|trust|growth|index|equity|aristocrats?|shares|plc|inc)\b",
    re.IGNORECASE,
)

_NOT_DONE = re.compile(
    rf"\W{{0,4}}(?:{labels.ENDED}|pending|open|working|unexecuted|busted|reversed|offen|vorgemerkt|en\s+cours|en\s+attente|pendiente|abierta|in\s+corso"
    r"|pendente|lopend|openstaand|em\s+curso)\W{0,4}",
    re.IGNORECASE,
)


class SidePlace(IntEnum):
    """Where the word for the side stands: the more certain, the larger."""

    NOWHERE = 0
    IN_WORDS = 1  # between other words, as in a name
    BESIDE_VALUE = 2  # next to a number or a code, as in a column, or at the end of a name
    IN_COLUMN = 3  # in a cell of its own, or where the row begins, behind its dates


@dataclass(frozen=True, slots=True)
class RowSide:
    direction: Direction | None
    place: SidePlace


def is_side_alone(cell: str) -> bool:
    return len(cell) <= _MAX_CELL and _ALONE.fullmatch(cell.strip()) is not None


def find_row_side(line: ReadLine) -> RowSide:
    """None in one place where both sides stand in it."""
    found: dict[SidePlace, set[Direction]] = {}
    for place, direction in (*_list_alone(line), *_list_within(line)):
        found.setdefault(place, set()).add(direction)
    if not found:
        return RowSide(None, SidePlace.NOWHERE)
    best = max(found)
    # The first word of a row may be that of a name: `BUY-WRITE ETF  Sell 20`.
    beside = found.get(SidePlace.BESIDE_VALUE, set()) if not any(_list_alone(line)) else set()
    sides = found[best] | beside
    return RowSide(sides.pop() if len(sides) == 1 else None, best)


def books_something_else(line: ReadLine) -> bool:
    """Whether a row says itself that it is a dividend, a transfer, a fee or the like."""
    if not line.numbers or find_row_side(line).place is SidePlace.IN_COLUMN:
        return False
    cells = line.text.split("\t")
    if any(_OTHER_ALONE.fullmatch(cell.strip()) for cell in cells if len(cell) <= _MAX_CELL):
        return True
    return len(cells) == 1 and bool(line.dates) and _OTHER_FIRST.match(line.masked) is not None


def may_be_income(line: ReadLine) -> bool:
    """Whether a row that says no side may be of income or of a fee, by how one of its cells begins or ends."""
    if find_row_side(line).place >= SidePlace.BESIDE_VALUE:
        return False
    cells = (cell for cell in line.text.split("\t") if not _FUND.search(cell))
    return any(_BEGINS_WITH_INCOME.match(cell) or _ENDS_WITH_INCOME.search(cell[-_MAX_ENDING:]) for cell in cells)


def says_not_done(line: ReadLine) -> bool:
    """Whether a cell of a row says that an order was not executed, or that a trade was taken back."""
    cells = line.text.split("\t")
    return len(cells) > 1 and any(_NOT_DONE.fullmatch(cell.strip()) for cell in cells if len(cell) <= _MAX_CELL)


def _list_alone(line: ReadLine) -> Iterator[tuple[SidePlace, Direction]]:
    for cell in line.text.split("\t"):
        if len(cell) <= _MAX_CELL and (match := _ALONE.fullmatch(cell.strip())) is not None:
            yield SidePlace.IN_COLUMN, _name_side(match)


def _list_within(line: ReadLine) -> Iterator[tuple[SidePlace, Direction]]:
    if any(_list_alone(line)):
        return
    anchor = labels.ANCHOR.match(line.masked)
    for match in labels.DIRECTION.finditer(line.masked):
        if anchor is not None and anchor.end() == match.end():
            yield SidePlace.IN_COLUMN, _name_side(match)
            continue
        is_behind = _CODE_BEFORE.search(line.masked[: match.start()]) is not None
        is_before = _CODE_BEHIND.match(line.masked[match.end() :]) is not None
        if is_behind and is_before:
            yield SidePlace.IN_COLUMN, _name_side(match)
        else:
            yield SidePlace.BESIDE_VALUE if is_behind or is_before else SidePlace.IN_WORDS, _name_side(match)


def _name_side(match: re.Match[str]) -> Direction:
    return Direction.BUY if match["buy"] else Direction.SELL
