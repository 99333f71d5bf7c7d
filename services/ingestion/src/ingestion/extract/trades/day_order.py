"""In which order a note writes day and month: by its dates, its language, or the country that it names.

Dollars say nothing: Canada, Australia, New Zealand, Singapore and Hong Kong have some too. Where nothing does say it,
the dates of the note are not read, and a person sees it.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from ingestion.domain.transcript import TextLine
from ingestion.extract import values
from ingestion.extract.date_order import may_write_day_first
from ingestion.extract.trades.lines import read_lines
from ingestion.extract.trades.side_and_dates import find_trade_date, list_settlement_dates

_MONTHS = (
    r"jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?"
)
_MONTH_FIRST = re.compile(rf"\b(?:{_MONTHS})\.?\s+\d{{1,2}},\s+\d{{4}}")
_DAY_FIRST_LANGUAGE = re.compile(
    r"\b(?:kauf|verkauf|zeichnung|rücknahme|betrag|achat|vente|souscription|rachat|montant|cours|compra|venta|reembolso|importe"
    r"|suscripción|acquisto|vendita|sottoscrizione|rimborso|importo|prezzo|aankoop|verkoop|inschrijving|bedrag|koers|venda|subscrição"
    r"|resgate|montante|preço|købt|solgt|datum|fecha)\b"
)
_DAY_FIRST_COUNTRY = re.compile(r"\b(?:fca|gbp|united kingdom|london|england|ireland|australia|eur)\b|£|€")
_OTHER_DOLLARS = re.compile(
    r"\b(?:australia|new\s+zealand|singapore|hong\s+kong|canad(?:a|ian)|toronto|vancouver|montr[ée]al|calgary|ontario|cad|ciro|iiroc|cipf|tsxv?|aud|asx|sydney|melbourne|brisbane|abn|afsl|nzd|nzx"
    r"|auckland|wellington|sgd|sgx|hkd|hkex|sehk)\b|\b(?:c|ca|a|nz|s|hk)\$"
)
_STATES = (
    "AL|AK|AZ|AR|CA|CO|CT|DC|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|NH|NJ|NM|NY|NC|ND|OH|OK|OR|PA|RI|SC"
    "|SD|TN|TX|UT|VT|VA|WA|WV|WI|WY"
)
# Where a broker is, and who watches it. An exchange or a fee that is passed on says only where the trade was made.
_AMERICAN = re.compile(
    rf"\b(?:FINRA|SIPC|FDIC)\b|[A-Za-z]{{3}},?\s+(?:{_STATES}|Delaware|New\s+York)\s+\d{{5}}(?:-\d{{4}})?(?!\d)|\bNew\s+York,\s+N\.?Y\b"
)
_AMERICA = re.compile(r"\b(?:usa|u\.s\.a\.|united\s+states(?:\s+of\s+america)?)(?!\w)", re.IGNORECASE)
_OF_OTHERS = re.compile(
    r"\b(?:market|exchange|venue|stock|equit\w*|shares?|securit\w+|listing|listed|issuer|domicile|tax\w*|withh\w+|treaty|persons?|residents?|citizens?|act|law|dollars?|etf|fund|index|region)\b",
    re.IGNORECASE,
)
_DAYS_OF_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY_OF_WEEK = re.compile(rf"\b({'|'.join(_DAYS_OF_WEEK)})(?:[a-z]{{0,6}}day)?\.?,?\s{{1,3}}$", re.IGNORECASE)
_USUAL_SETTLEMENT = timedelta(days=5)
_LONG_SETTLEMENT = timedelta(days=20)
_SATURDAY = 5


def determine_day_first(page: Sequence[TextLine]) -> bool | None:
    """None: nothing tells it."""
    said = {written.says_day_first for line in page for written in values.find_dates(line.text)} - {None}
    said = said or set(_list_orders_by_week(page))
    if said:
        return said.pop() if len(said) == 1 else None
    text = "\n".join(line.text for line in page).lower()
    if _DAY_FIRST_LANGUAGE.search(text):
        return True
    if any(_AMERICAN.search(line.text) for line in page):
        return None if may_write_day_first(text) else False
    if _MONTH_FIRST.search(text) or any(map(_names_america, page)):
        may_be_other = may_write_day_first(text) or _OTHER_DOLLARS.search(text) is not None
        return None if may_be_other and not _is_later_day_first(page) else False
    if "$" in text:
        may_be_first = may_write_day_first(text) or _OTHER_DOLLARS.search(text) is not None
        by_settlement = _determine_by_settlement(page)
        return by_settlement if by_settlement or not may_be_first else None
    return True if _DAY_FIRST_COUNTRY.search(text) else None


def may_be_other_dollar(page: Sequence[TextLine]) -> bool:
    """Whether `$` may be that of another country than the United States, which the note names."""
    if any(_AMERICAN.search(line.text) for line in page):
        return False
    return any(_OTHER_DOLLARS.search(line.text.lower()) for line in page)


def _is_later_day_first(page: Sequence[TextLine]) -> bool:
    """Whether dates would be weeks later than the last one that is written in words, and not so with the month first: a
    statement lists no trade that was made after it."""
    written = [each for line in page for each in values.find_dates(line.text)]
    last = _find_latest([each for each in written if each.is_settled], day_first=True)
    if last == date.min:
        return False
    latest = {order: _find_latest(written, day_first=order) for order in (True, False)}
    return latest[True] > last + _LONG_SETTLEMENT and latest[False] <= last + _USUAL_SETTLEMENT


def _find_latest(written: Sequence[values.WrittenDate], *, day_first: bool) -> date:
    found = (each.resolve_date(day_first=day_first) for each in written)
    return max((day for day in found if day is not None), default=date.min)


def _names_america(line: TextLine) -> bool:
    return _AMERICA.search(line.text) is not None and _OF_OTHERS.search(line.text) is None


def _list_orders_by_week(page: Sequence[TextLine]) -> Iterator[bool]:
    """`Wed 03/04/2026`: what only one of the two orders makes a Wednesday."""
    for line in page:
        for match, written in zip(values.DATES.finditer(line.text), values.find_dates(line.text), strict=True):
            named = _DAY_OF_WEEK.search(line.text[: match.start()])
            if named is None or written.is_settled:
                continue
            day = _DAYS_OF_WEEK.index(named[1].lower())
            orders = [order for order in (True, False) if _falls_on(written.resolve_date(day_first=order), day)]
            if len(orders) == 1 and written.first != written.second:
                yield orders[0]


def _falls_on(found: date | None, day: int) -> bool:
    return found is not None and found.weekday() == day


def _determine_by_settlement(page: Sequence[TextLine]) -> bool | None:
    """The order in which the trade was settled some days later, where by the other one it was not within weeks."""
    lasted = {order: _find_settlement(page, day_first=order) for order in (True, False)}
    usual = [order for order, days in lasted.items() if days is not None and _is_usual(*days)]
    if len(usual) != 1:
        return None
    other = lasted[not usual[0]]
    is_long = other is not None and not timedelta() <= other[1] - other[0] <= _LONG_SETTLEMENT
    return usual[0] if is_long else None


def _find_settlement(page: Sequence[TextLine], *, day_first: bool) -> tuple[date, date] | None:
    lines, _ = read_lines(page, day_first)
    traded, _ = find_trade_date(lines, None)
    settled = set(list_settlement_dates(lines))
    return (traded, settled.pop()) if traded is not None and len(settled) == 1 else None


def _is_usual(traded: date, settled: date) -> bool:
    is_soon = timedelta() < settled - traded <= _USUAL_SETTLEMENT
    return is_soon and max(traded.weekday(), settled.weekday()) < _SATURDAY
