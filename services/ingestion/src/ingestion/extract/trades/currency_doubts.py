"""Whether a note names other currencies for a trade than those it was read in: `Price USD` beside `Amount EUR`, and no
exchange rate between them, or a dollar account where all is in euros."""

import re
from collections.abc import Iterator, Sequence

from ingestion.domain.trade import Trade
from ingestion.extract.trades.columns import Columns
from ingestion.extract.trades.currency_names import NAME, PENNY, list_named
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import LabelPlace, ReadLine, list_numbers_at
from ingestion.extract.trades.numbers import DOLLARS, Number
from ingestion.extract.trades.products import Product

_SEVERAL = 2
_MAX_GAP = 40  # letters between a label and its number
_AMOUNTS = frozenset({Label.PRICE, Label.GROSS, Label.SETTLED})
_BEHIND = re.compile(rf"\s{{0,3}}{NAME}(?!\w)", re.IGNORECASE)
_IN_FRONT = re.compile(rf"(?<!\w){NAME}\s{{0,3}}$", re.IGNORECASE)
_IN = r"(?:in|en|em|i|w|di|de|of)\s+"
_ACCOUNT = (
    r"(?:(?:verrechnungs|geld)?kontos?|account|compte(?:[-\s]esp[èe]ces)?|cuenta|conto|rekening|conta|rachunku?"
    r"|rachunek)"
)
# The account that paid or was paid, and what the note says of all its amounts.
_SAID_OF_ALL = re.compile(
    rf"(?<!\w)(?:(?P<front>{NAME})[-\s]{{0,2}}(?:{_ACCOUNT})(?!\w)|{_ACCOUNT}\s+{_IN}(?:the\s+|los\s+)?(?P<account>{NAME})(?!\w)"
    r"|(?:(?:settlement|account|payment)\s+currency|(?:konto|abrechnungs|verrechnungs|zahlungs)-?w[äa]hrung|devise\s+(?:du\s+compte|de\s+r[èe]glement)|(?:divisa|moneda)\s+de\s+(?:la\s+cuenta|liquidaci[óo]n)|valuta\s+(?:del\s+conto|di\s+regolamento)"
    rf"|(?:rekening|afrekenings?)-?valuta|moeda\s+(?:da\s+conta|de\s+liquida[çc][ãa]o)|(?:konto|afregnings|avr[äa]knings)valuta|waluta\s+(?:rachunku|rozliczenia))\W{{1,4}}(?P<currency>{NAME})(?!\w)"
    r"|(?:amounts|values|figures|prices|betr[äa]ge|angaben|montants|importes|importi|bedragen|valores|bel[øo]b|belopp|kwoty)(?:\s+(?:are|sind|zijn|sont|exprim[ée]s|expresados|espressi|expressos|shown|stated|expressed)){0,2}"
    rf"\s+{_IN}(?P<amounts>{NAME})(?!\w))",
    re.IGNORECASE,
)
_MAY_SAY = re.compile(
    r"account|konto|compte|cuenta|conto|rekening|conta|rachun|currency|w[äa]hrung|devise|divisa|moneda|valuta|moeda|waluta|(?:amounts|values|figures|prices|betr[äa]ge|angaben|montants|importes|importi|bedragen|valores|bel[øo]b|belopp|kwoty)\s",
    re.IGNORECASE,
)


def contradicts_currency(
    lines: Sequence[ReadLine], trade: Trade, product: Product | None, settled: Number | None, columns: Columns
) -> bool:
    """Whether price, amount or account are said to be in a currency that the trade does not have there."""
    if trade.currency is None:
        return False
    price = product.price if product is not None and not product.price.is_percent else None
    of_amounts = list(_list_named(lines, settled, columns))
    of_price = list(_list_named(lines, price, columns))
    if trade.foreign_currency is not None:
        return not (
            _may_be(trade.currency, of_amounts + _list_said(lines)) and _may_be(trade.foreign_currency, of_price)
        )
    of_gross = list(_list_named(lines, product.gross if product is not None else None, columns))
    if price is not None and not of_price and _has_head_of_several(price, columns):
        return True
    return not _may_be(trade.currency, of_amounts + of_gross + of_price + _list_said(lines))


def _may_be(own: str, named: Sequence[frozenset[str]]) -> bool:
    """Whether one currency is all that is named. `$` is read as that of the United States, and may be another one."""
    possible = DOLLARS if own in DOLLARS and DOLLARS in named else frozenset({own})
    return bool(possible.intersection(*named))


def _has_head_of_several(price: Number, columns: Columns) -> bool:
    return len({"GBP" if code == PENNY else code for code in columns.currencies.get(price.line, ())}) >= _SEVERAL


def says_currency_of_all(text: str) -> bool:
    """Of its account, or of all its amounts."""
    return _MAY_SAY.search(text) is not None and _SAID_OF_ALL.search(text) is not None


def _list_said(lines: Sequence[ReadLine]) -> list[frozenset[str]]:
    """What is said of the account, or of all amounts: one of several may be that of the trade."""
    said = [
        codes
        for line in lines
        if _MAY_SAY.search(line.text)
        for match in _SAID_OF_ALL.finditer(line.text)
        for codes in list_named(match["front"] or match["account"] or match["currency"] or match["amounts"])
    ]
    return [frozenset[str]().union(*said)] if said else []


def _list_named(lines: Sequence[ReadLine], number: Number | None, columns: Columns) -> Iterator[frozenset[str]]:
    """What stands beside a number, in what its label says, or above it in the head of its column."""
    if number is None:
        return
    line = lines[number.line - lines[0].index]
    yield from _list_beside(line, number)
    if (row := columns.rows.get(number.line)) is not None:
        yield from (
            codes
            for _, currency, own in row.numbers
            if own is number and currency is not None
            for codes in list_named(currency)
        )
    for named in lines:
        for place in named.labels:
            if place.label in _AMOUNTS and any(own is number for own in list_numbers_at(lines, named, place)):
                yield from list_named(_get_words_of_label(named, place, number))


def _list_beside(line: ReadLine, number: Number) -> Iterator[frozenset[str]]:
    if number.currency is not None:
        beside = line.text[max(0, number.start - 4) : number.end + 4]
        is_any_dollar = number.currency in DOLLARS and number.currency not in beside and "US$" not in beside
        yield DOLLARS if is_any_dollar else frozenset({"GBP" if number.currency == PENNY else number.currency})
        return
    front = line.text[max(0, number.start - _MAX_GAP) : number.start]
    if match := _BEHIND.match(line.text, number.end) or _IN_FRONT.search(front):
        yield from list_named(match[0])


def _get_words_of_label(line: ReadLine, place: LabelPlace, number: Number) -> str:
    """Between label and number, or of the cell in which the label stands alone."""
    if number.line == line.index:
        first = min((own.start for own in line.numbers if own.start >= place.end), default=place.end)
        return line.text[place.end : min(first, place.end + _MAX_GAP)]
    end = min((other.start for other in line.labels if other.start >= place.end), default=len(line.text))
    return line.text[place.end : min(end, place.end + _MAX_GAP)].partition("\t")[0]
