"""In which order a note writes day and month: by its dates, its language, or the country that it names.

Dollars say nothing: Canada, Australia, New Zealand, Singapore and Hong Kong have some too. Where nothing does say it,
the dates of the note are not read, and a person sees it.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta

from ingestion.domain.transcript import TextLine
from ingestion.extract import values
from ingestion.extract.amounts.other_dollars import may_be_other_dollar, names_american_dollar, names_other_dollar
from ingestion.extract.days.date_order import find_said_orders, may_write_day_first
from ingestion.extract.parties.american_address import has_american_address
from ingestion.extract.trades.american_broker import is_american_broker
from ingestion.extract.trades.lines import read_lines
from ingestion.extract.trades.named_days import list_settlement_dates
from ingestion.extract.trades.trade_dates import LATEST_POSSIBLE_SETTLEMENT, find_trade_date

_MONTH_FIRST = re.compile(
    r"\b(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)\.?\s+\d{1,2},\s+\d{4}"
)
_DAY_FIRST_LANGUAGE = re.compile(
    r"\b(?:kauf|verkauf|zeichnung|rücknahme|betrag|achat|vente|souscription|rachat|montant|cours|compra|venta|reembolso|importe"
    r"|suscripción|acquisto|vendita|sottoscrizione|rimborso|importo|prezzo|aankoop|verkoop|inschrijving|bedrag|koers|venda|subscrição"
    r"|resgate|montante|preço|købt|solgt|datum|fecha"
    r"|køb|kjøp|salg|handelsdato|afregningsdato|oppgjørsdato|kurtage|kurtasje|kursværdi|kupno|sprzedaż|kwota|nákup|prodej|částka)\b"
)
_DAY_FIRST_COUNTRY = re.compile(r"\b(?:fca|gbp|united kingdom|london|england|ireland|australia|eur)\b|£|€")
_ISIN = re.compile(r"\b([A-Z]{2})[A-Z0-9]{9}\d\b")
# What an American note may carry, and another one as well: it is against the day first, and not for the month.
_MAY_BE_AMERICAN = re.compile(r"\b(?:finra|sipc|fdic|cusip|usd|usa|u\.s\.a\.|united\s+states|llc|new\s+york)(?!\w)|\$")
_SENT_ON = re.compile(
    r"\b(?:terms?|effective|version|agreement|conditions|since|act|rules?|amended|revis\w+|matur\w+|due|until|before)\b",
    re.IGNORECASE,
)
_IN_NAME = re.compile(r"%|\b(?:due|matur\w+|expir\w+|call|put|ex-?div\w*)\b", re.IGNORECASE)
_DAYS_OF_WEEK = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_DAY_OF_WEEK = re.compile(rf"\b({'|'.join(_DAYS_OF_WEEK)})(?:[a-z]{{0,6}}day)?\.?,?\s{{1,3}}$", re.IGNORECASE)
_USUAL_DAYS = 3  # on which exchanges are open
_AFTER_STATEMENT = timedelta(days=20)
_SOON = timedelta(days=5)
_SATURDAY = 5


def determine_day_first(page: Sequence[TextLine]) -> bool | None:
    """None: nothing tells it, or one sign speaks against another."""
    is_american = is_american_broker(page)
    text = "\n".join(line.text for line in page).lower()
    said = {*_list_said_orders(page), *find_said_orders(text)}
    said = said or {*_list_orders_by_week(page), *_list_orders_by_words(page)}
    says_day_first = _DAY_FIRST_LANGUAGE.search(text) or _DAY_FIRST_COUNTRY.search(text)
    if said:
        order = said.pop()
        # A client's address there speaks against the day first already.
        has_address = has_american_address(line.text for line in page)
        is_against = has_address if order else says_day_first and not is_american
        return None if said or is_against else order
    if _DAY_FIRST_LANGUAGE.search(text):
        return True
    if is_american:
        return None if may_write_day_first(text) else False
    if _MAY_BE_AMERICAN.search(text):
        if _MONTH_FIRST.search(text) and not may_write_day_first(text) and _is_later_day_first(page):
            return False
        may_be_first = may_write_day_first(text) or names_other_dollar(text)
        return _determine_by_settlement(page, may_be_first=may_be_first)
    return True if _DAY_FIRST_COUNTRY.search(text) else None


def may_be_dollar_of_other_country(page: Sequence[TextLine]) -> bool:
    """Whether `$` may be that of another country than the United States: unless an American broker writes it, or all
    securities are American and the note names no other country that has dollars or pesos."""
    countries = {match[1] for line in page for match in _ISIN.finditer(line.text)}
    is_american = is_american_broker(page)
    if may_be_other_dollar(page, is_american=is_american, securities=countries):
        return True
    is_named = is_american or names_american_dollar(page)
    # `02/28/2025` is written in America.
    return not is_named and countries != {"US"} and set(_list_said_orders(page)) != {False}


def _list_said_orders(page: Sequence[TextLine]) -> Iterator[bool]:
    """By dates that only one order makes a day; one in a security's name is as its country writes it."""
    for match, written, text in _list_written(page):
        order = written.says_day_first
        if order is not None and not _is_in_name(text, match.start()):
            yield order


def _is_in_name(text: str, end: int) -> bool:
    """Whether what stands in front of a date begins a security's name, or words in brackets."""
    opened = text.find("(", text.rfind(")", 0, end) + 1, end)
    return _IN_NAME.search(text, 0, end) is not None or (opened >= 0 and any(map(str.isalnum, text[opened:end])))


def _list_orders_by_words(page: Sequence[TextLine]) -> Iterator[bool]:
    """`April 3, 2026` beside `03/04/2026`: the day that the note writes in words, too."""
    dates = [written for _, written, _ in _list_written(page)]
    in_words = {written.resolve_date(day_first=None) for written in dates if written.is_settled} - {None}
    for written in dates:
        if written.is_settled or written.says_day_first is not None or written.first == written.second:
            continue
        orders = [order for order in (True, False) if written.resolve_date(day_first=order) in in_words]
        yield from orders


def _list_written(page: Sequence[TextLine]) -> Iterator[tuple[re.Match[str], values.WrittenDate, str]]:
    for line in page:
        text = line.text
        for match, written in values.match_dates(text):
            yield match, written, text


def _is_later_day_first(page: Sequence[TextLine]) -> bool:
    """Whether dates would be weeks later than the day in words on which the document was written, and not so with the
    month first: a statement lists no trade that was made after it."""
    written = [each for line in page for each in values.find_dates(line.text)]
    sent = [each for line in page if not _SENT_ON.search(line.text) for each in values.find_dates(line.text)]
    last = _find_latest([each for each in sent if each.is_settled], day_first=True)
    if last == date.min:
        return False
    latest = {order: _find_latest(written, day_first=order) for order in (True, False)}
    return latest[True] > last + _AFTER_STATEMENT and latest[False] <= last + _SOON


def _find_latest(written: Sequence[values.WrittenDate], *, day_first: bool) -> date:
    found = (each.resolve_date(day_first=day_first) for each in written)
    return max((day for day in found if day is not None), default=date.min)


def _list_orders_by_week(page: Sequence[TextLine]) -> Iterator[bool]:
    """`Wed 03/04/2026`: what only one of the two orders makes a Wednesday."""
    for match, written, text in _list_written(page):
        named = _DAY_OF_WEEK.search(text[: match.start()])
        if named is None or written.is_settled:
            continue
        day = _DAYS_OF_WEEK.index(named[1].lower())
        orders = [order for order in (True, False) if _falls_on(written.resolve_date(day_first=order), day)]
        if len(orders) == 1 and written.first != written.second:
            yield orders[0]


def _falls_on(found: date | None, day: int) -> bool:
    return found is not None and found.weekday() == day


def _determine_by_settlement(page: Sequence[TextLine], *, may_be_first: bool) -> bool | None:
    """The order in which the trade was settled some days later, where the other one makes it impossible: on a day of a
    weekend, before it, or after more than a quarter of a year. A new issue may be settled a month later.

    `may_be_first`: the note names who writes the day first; then this is what the settlement has to agree with.
    """
    lasted = {order: _find_settlement(page, day_first=order) for order in (True, False)}
    usual = [order for order, days in lasted.items() if days is not None and _is_usual(*days)]
    if len(usual) != 1:
        return None
    if may_be_first:
        return True if usual[0] else None
    other = lasted[not usual[0]]
    return usual[0] if other is not None and not _is_possible(*other) else None


def _find_settlement(page: Sequence[TextLine], *, day_first: bool) -> tuple[date, date] | None:
    lines, _ = read_lines(page, day_first)
    traded, _ = find_trade_date(lines, None)
    settled = set(list_settlement_dates(lines))
    return (traded, settled.pop()) if traded is not None and len(settled) == 1 else None


def _is_usual(traded: date, settled: date) -> bool:
    days = (traded + timedelta(days=later) for later in range(1, (settled - traded).days + 1))
    is_soon = sum(day.weekday() < _SATURDAY for day in days) <= _USUAL_DAYS
    return traded <= settled and is_soon and _is_possible(traded, settled)


def _is_possible(traded: date, settled: date) -> bool:
    is_open = max(traded.weekday(), settled.weekday()) < _SATURDAY
    return is_open and timedelta() <= settled - traded <= LATEST_POSSIBLE_SETTLEMENT
