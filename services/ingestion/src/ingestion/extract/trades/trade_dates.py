"""When a trade was made and when it was settled, with its time of day."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta
from itertools import islice

from ingestion.domain.trade import Direction
from ingestion.extract import values
from ingestion.extract.trades import labels
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import LabelPlace, ReadLine, list_dates_at, list_places
from ingestion.extract.trades.named_days import drop_days_of_others, list_settlement_dates, names_other_side
from ingestion.extract.trades.side import find_direction
from ingestion.extract.trades.time_of_dealing import SAID_OF_OTHER

_MAX_PROSE = 140  # letters of a line that may say what was done
LONGEST_SETTLEMENT = timedelta(days=40)  # that is read
LATEST_POSSIBLE_SETTLEMENT = timedelta(days=92)  # of a new issue, say: what is later is another trade's
_SOON = timedelta(days=10)  # most trades are settled
_TRADED_AND_SETTLED = 2
_USUAL_DAYS = 2  # on which exchanges are open, between a trade and its settlement
_FRIDAY = 4
_MONTHS = 12  # of a year: a larger number is that of a day
_LINES_TO_TIME = 2
_MAX_TIMES = 5  # in one line


def find_trade_date(lines: Sequence[ReadLine], year: int | None) -> tuple[date | None, bool]:
    """The date, and whether the note calls it the trade's."""
    direction = find_direction(lines)[0]
    of_day = direction if names_other_side(lines) else None
    found, is_certain = _find_trade_date(drop_days_of_others(lines, of_day), year, direction)
    return found, is_certain and not _may_be_unread_date(lines, found)


def _may_be_unread_date(lines: Sequence[ReadLine], traded_on: date | None) -> bool:
    """Whether a date whose order of day and month nothing tells may be the trade's instead of the one that was read."""
    named = [line for line, _ in list_places(lines, Label.TRADE_DATE)]
    is_named = any(found.date == traded_on for line in named for found in line.dates)
    return any(map(_has_unread_date, named if is_named else lines))


def _has_unread_date(line: ReadLine) -> bool:
    written = values.find_dates(line.text)
    may_be = [
        each for each in written if each.resolve_date(day_first=None) is None and each.resolve_date(day_first=True)
    ]
    return bool(may_be) and len(line.dates) < len(written)


def _find_trade_date(
    lines: Sequence[ReadLine], year: int | None, direction: Direction | None
) -> tuple[date | None, bool]:
    labelled = [
        (found, line, place)
        for line, place in list_places(lines, Label.TRADE_DATE)
        for found in list_dates_at(lines, line, place)[:1]
    ]
    if labelled:
        traded_on = labelled[0][0]
        # Of two days that the note calls so, `Trade date` and `Execution date`, either may be meant.
        is_one = all(found == traded_on or _is_time_of_table(line, place) for found, line, place in labelled)
        is_one = is_one and all(found == traded_on for found in _list_days_of_glued_labels(lines))
        # Nothing is settled before it was traded: then one of the two dates is another one.
        return traded_on, is_one and all(_may_settle(traded_on, found) for found in list_settlement_dates(lines))
    if (said := _find_said_day(lines)) is not None:
        return said, all(_may_settle(said, found) for found in list_settlement_dates(lines))
    for line in lines:
        if len(line.text) > _MAX_PROSE or not (match := labels.DIRECTION.search(line.text)):
            continue
        if direction is not None and _is_of_other_side(line, direction):
            continue  # `Acquired 22/12/2025` of what is sold
        dates = [found for found in line.dates if not _ORDERED_ON.search(line.text, 0, found.start)]
        if dates:
            # The one that the line begins with, or the one beside the word: `Kauf am 15.01.`
            first = dates[0]
            near = min(dates, key=lambda found: abs(found.start - match.end()))
            is_beside = (
                abs(near.start - match.end()) <= _BESIDE
                or labels.ANCHOR.match(line.text) is not None
                or (len(dates) == 1 and _ON_DAY.search(line.text, 0, near.start) is not None)
                or (len(dates) == 1 and _TIME.search(line.text) and not _ORDERED.search(line.text))
            )
            found = first.date if first.start <= 3 else near.date
            is_priced_before = any(found - _SOON <= day < found for day in _list_pricing_days(lines))
            is_of_order = _ORDERED.search(line.text) is not None and _ORDER_GIVEN.search(line.text) is not None
            is_trade = not is_priced_before and not is_of_order and not _is_before_first(line)
            return found, (first.start <= 3 or bool(is_beside)) and is_trade
        if (written := SHORT_DATE.match(line.text)) and year is not None:
            return values.build_date(year, int(written[2]), int(written[1])), True
    in_row = _find_date_of_quantity(lines)
    return (in_row, True) if in_row is not None else _choose_other_date(lines)


def _is_of_other_side(line: ReadLine, direction: Direction) -> bool:
    is_buy = direction is Direction.BUY
    return all((match["buy"] is not None) is not is_buy for match in labels.DIRECTION.finditer(line.text))


def _is_before_first(line: ReadLine) -> bool:
    """Whether a row begins with two days of which the second is the earlier: the first is not the trade's."""
    if len(line.dates) < _TRADED_AND_SETTLED:
        return False
    first, second = line.dates[:_TRADED_AND_SETTLED]
    is_head = re.search(r"[^\W\d]", line.text[: second.start]) is None
    return is_head and second.date < first.date


def _find_said_day(lines: Sequence[ReadLine]) -> date | None:
    """`Wir haben für Sie am 13. Mai 2024 im außerbörslichen Handel abgerechnet`: the one day on which a sentence, over
    two lines at most, says that the order was carried out; no day of an order, of money or of what is to come."""
    days: set[date] = set()
    for line, below in zip(lines, [*lines[1:], None], strict=True):
        dates = [found for found in line.dates if _ON_DAY.search(line.text, 0, found.start)]
        if len(dates) != 1 or labels.WE_CONFIRM.search(line.text, 0, dates[0].start) is None:
            continue
        behind = f"{line.text[dates[0].end :]} {below.text if below is not None else ''}"
        sentence = _SENTENCE_END.split(behind)[0][:_MAX_PROSE]
        between = labels.WE_CONFIRM.split(line.text[: dates[0].start])[-1]
        said = [between, sentence]
        if any(map(_CARRIED_OUT.search, said)) and not any(map(_ORDER_GIVEN.search, said)):
            days.add(dates[0].date)
    return days.pop() if len(days) == 1 else None


_SENTENCE_END = re.compile(r"(?<=[^\W\d])[.!?](?:\s|$)|:")
_CARRIED_OUT = re.compile(
    r"\b(?:abgerechnet|ausgef[üu]hrt|gehandelt|abgeschlossen|get[äa]tigt|vorgenommen|durchgef[üu]hrt|executed|traded|dealt|transacted|carried\s+out|ex[ée]cut[ée]e?s?|r[ée]alis[ée]e?s?|effectu[ée]e?s?|n[ée]goci[ée]e?s?|ejecutad[oa]s?|realizad[oa]s?|efectuad[oa]s?"
    r"|eseguit[oaie]|effettuat[oaie]|negoziat[oaie]|uitgevoerd|verhandeld|afgerekend|executad[oa]s?|efetuad[oa]s?|utf[öo]rt|genomf[öo]rt|udf[øo]rt|gennemf[øo]rt|utf[øo]rt|gjennomf[øo]rt|handlet|handlat|wykona(?:li[śs]my|no)|zrealizowa(?:li[śs]my|no)|zawar(?:li[śs]my|to)|provedli|uskute[čc]nili)\b",
    re.IGNORECASE,
)

# The day of a sentence that speaks of the order's coming is perhaps that one, whatever else it says.
_ORDER_GIVEN = re.compile(
    r"\b(?:erteil\w+|eingegangen\w*|eingereicht\w*|erhalten\w*|aufgegeben\w*|[üu]bermittel\w+|platziert\w*|gestellt\w*|gegeben\w*"
    r"|received|placed|gave|given|submitted|entered|lodged|instruct\w+|sent|dated|issued|requested"
    r"|transmis\w*|re[çc]u\w*|pass[ée]\w*|donn[ée]\w*|saisi\w*|confi[ée]\w*|d[ée]pos[ée]\w*|adress[ée]\w*|envoy[ée]\w*"
    r"|curs\w+|recib\w+|dio|dada|dado|solicit\w+|present[óao]\w*|remiti\w+|envi[óao]\w*|transmiti\w+|orden[óao]\w*"
    r"|conferi\w+|imparti\w+|ricevut\w+|trasmess\w+|inoltrat\w+|inserit\w+|inviat\w+|ontvangen|opgegeven|geplaatst\w*|ingelegd\w*|doorgegeven|verstrekt\w*|ingediend\w*"
    r"|recebid\w+|transmitid\w+|enviad\w+|colocad\w+|l[äa]mna\w+|lagts?|lades?|lagd\w*|mottag\w+|mottog\w*|inkom\w+|skickat\w*|afgiv\w+|afgav|modtag\w+|modtog|indsend\w+|indg[åa]e\w*|avgitt|avga|mottatt"
    r"|z[łl]o[żz]on\w+|przyj[ęe]t\w+|otrzyman\w+|przekazan\w+|wydan\w+|podan\w+|zadan\w+|p[řr]ijat\w+|obdr[žz]en\w+|doru[čc]en\w+)\b",
    re.IGNORECASE,
)


def _may_settle(traded_on: date, settled_on: date) -> bool:
    """Not before, nor on the same day of another month: then day and month are read the wrong way round. Nor years
    later: then the day is that of another trade."""
    is_other_month = traded_on.day == settled_on.day and traded_on != settled_on
    is_within = traded_on <= settled_on <= traded_on + LATEST_POSSIBLE_SETTLEMENT
    return is_within and not (is_other_month and settled_on.day <= _MONTHS)


def _is_time_of_table(line: ReadLine, place: LabelPlace) -> bool:
    """Whether a label names a time, and no day stands behind it: below it may stand another column's."""
    is_time = _TIME_LABEL.search(line.text, place.start, place.end) is not None
    return is_time and not any(found.start >= place.end for found in line.dates)


def _list_days_of_glued_labels(lines: Sequence[ReadLine]) -> Iterator[date]:
    """What a column's label says that its page writes close to the word before it: `DetailsTrade date 15.01.2026`."""
    for line in lines:
        yield from (found.date for found in line.dates if _GLUED_LABEL.search(line.text, 0, found.start))


_GLUED_LABEL = re.compile(
    r"(?<=[a-zà-ÿ])(?:(?:Trade|Deal|Execution|Transaction)\s[Dd]ate|Handelstag|Schlusstag|Ausführungstag|Date\s(?:d['’](?:exécution|opération)|de\snégociation)"
    r"|Fecha\s(?:de\s)?(?:ejecución|operación)|Data\s(?:di\s|da\s|de\s)?(?:esecuzione|operazione|operação|execução)|Transactiedatum)\W{0,3}$"
)
_TIME_LABEL = re.compile(r"(?:time(?:stamp)?|zeit(?:punkt)?)$", re.IGNORECASE)


def _list_pricing_days(lines: Sequence[ReadLine]) -> Iterator[date]:
    """What funds are settled by: a line that begins with another day may say when it was booked."""
    for line in lines:
        yield from (found.date for found in line.dates if _PRICED_ON.search(line.text, 0, found.start))


_PRICED_ON = re.compile(r"\babrechnungs-?(?:tag|datum)\W{0,4}$", re.IGNORECASE)


def _find_date_of_quantity(lines: Sequence[ReadLine]) -> date | None:
    """Of the row of a table that begins with heads for a date and a quantity: `Date  Quantity  Description`."""
    for position, line in enumerate(lines):
        is_head = not line.numbers and any(place.label is Label.QUANTITY for place in line.labels)
        heads = lines[max(0, position - 1) : position + 1]  # in two lines, where they are long
        if not is_head or not any(_DATE_HEAD.match(head.text) for head in heads):
            continue
        for row in lines[position + 1 : position + 1 + _ROWS_BELOW_HEAD]:
            if row.dates and row.numbers and row.dates[0].start == 0:
                return row.dates[0].date
    return None


def _choose_other_date(lines: Sequence[ReadLine]) -> tuple[date | None, bool]:
    """A date that nothing names: the most common one; certain if it is the only one and stands beside a time of day."""
    settlement = set(list_settlement_dates(lines))
    booked = {
        found.date for line in lines for found in line.dates if _BOOKED_ON.search(line.text, 0, found.start)
    } - settlement
    if len(booked) == 1:
        return booked.pop(), False  # nearer to the trade than the day of the letter
    rest = [
        (found, line)
        for line in lines
        for found in line.dates
        if found.date not in settlement
        and not _ORDERED_ON.search(line.text, 0, found.start)
        and not labels.VALID_UNTIL.search(line.text, 0, found.start)
    ]
    printed = {found.date for found, line in rest if _PRINTED_ON.search(line.text, 0, found.start)}
    unprinted = {found.date for found, _ in rest} - printed
    if printed and len(unprinted) == 1:
        return unprinted.pop(), False  # a copy is printed later; the day of the letter may be another one
    common = Counter(found.date for found, _ in rest).most_common(2)
    if not common or (len(common) > 1 and common[0][1] == common[1][1]):
        return None, False
    if len(common) == 1 and _is_day_of_order(lines, common[0][0]):
        return common[0][0], True
    has_time = any(_has_time_beside(line, lines) for _, line in rest)
    is_certain = has_time or _is_usual_before(common[0], settlement)
    return common[0][0], len(common) == 1 and is_certain


def _has_time_beside(line: ReadLine, lines: Sequence[ReadLine]) -> bool:
    """A time of day in the line of a date, or at the beginning of one below a date that begins its own."""
    if _TIME.search(line.text) and not _PRINTED.search(line.text):
        return True
    position = line.index - lines[0].index
    below = lines[position + 1 : position + 1 + _LINES_TO_TIME]
    return line.dates[0].start == 0 and any(_TIME.match(other.text) for other in below)


def _is_usual_before(common: tuple[date, int], settlement: Collection[date]) -> bool:
    """Whether a day that stands there more than once is the one on which it was traded, by when it was settled."""
    day, times = common
    usual = day
    for _ in range(_USUAL_DAYS):
        usual += timedelta(days=3 if usual.weekday() == _FRIDAY else 1)
    return times > 1 and len(settlement) == 1 and usual in settlement and day.weekday() <= _FRIDAY


def _is_day_of_order(lines: Sequence[ReadLine], day: date) -> bool:
    """Ordered and reported on one day, as done: so it was done on that day."""
    ordered = [found.date for line in lines for found in line.dates if _ORDERED_ON.search(line.text, 0, found.start)]
    return bool(ordered) and set(ordered) == {day} and any(_DONE.search(line.text) for line in lines)


_DONE = re.compile(
    r"\b(?:wir\s+haben|haben\s+wir|ausgef[üu]hrt|we\s+have|executed|nous\s+avons|ex[ée]cut[ée]e?|abbiamo|eseguit[oa]|hemos|ejecutad[oa]"
    r"|hebben\s+wij|wij\s+hebben|uitgevoerd|executad[oa])\b",
    re.IGNORECASE,
)
_DATE_HEAD = re.compile(r"\W{0,3}(?:date|datum|data|fecha|dato|dag)\b(?![^\t]{0,3}:)(?!.{0,20}\d)", re.IGNORECASE)
_ROWS_BELOW_HEAD = 3
_PRINTED = re.compile(
    r"\b(?:erstellt|gedruckt|printed|generated|created|issued|[ée]dit[ée]|imprim|emitid|stampat|generato|afgedrukt|auftrag|order)",
    re.IGNORECASE,
)
_PRINTED_ON = re.compile(
    r"\b(?:erstellt|gedruckt|ausgedruckt|printed|generated|created|[ée]dit[ée]e?|imprim[ée]e?|impres[oa]|emitid[oa]|generad[oa]|gerad[oa]|stampat[oa]"
    r"|generat[oa]|afgedrukt|gegenereerd|udskrevet|utskriven)(?:\s+(?:am|on|le|el|il|em|op|den))?\W{0,4}$",
    re.IGNORECASE,
)
# The day on which an order was given is not that of the trade.
_ORDERED = re.compile(
    r"(?:auftr[aä]g|\border|\bordre|\borden|\bordine|\bordem|opdracht|\bzlecen|\bdyspozyc|\bpokyn|\bp[řr][íi]kaz)",
    re.IGNORECASE,
)
_ORDERED_ON = re.compile(
    r"(?:auftrag|order|ordre|orden|ordine|ordem|opdracht)\w{0,8}\s+(?:vom|v\.|from|of|dated|du|del|de|di|van|d\.d\.)?\s*$",
    re.IGNORECASE,
)
_BOOKED_ON = re.compile(
    r"\b(?:buchungs?-?(?:datum|tag)|abrechnungs-?tag|(?:booking|posting)\s+date|booked\s+on|fecha\s+(?:de\s+)?(?:contable|contabilizaci[óo]n)"
    r"|data\s+(?:contabile|di\s+contabilizzazione)|data\s+(?:de\s+|do\s+)?(?:lan[çc]amento|movimento)|bogf[øo]ringsdato|date\s+(?:de\s+)?comptabilisation|boekings?datum)\W{0,4}$",
    re.IGNORECASE,
)
_ON_DAY = re.compile(r"\b(?:am|on|le|el|il|op|em|den|dnia|w\s+dniu|dne)\s$", re.IGNORECASE)
_BESIDE = 40  # letters between a date and the word that says what happened
SHORT_DATE = re.compile(r"\s*(\d{1,2})\.(\d{1,2})\.?\s")


def find_settlement_date(lines: Sequence[ReadLine], trade_date: date | None) -> date | None:
    for found in list_settlement_dates(lines):
        if trade_date is None or trade_date <= found <= trade_date + LONGEST_SETTLEMENT:
            return found
    return None


def find_second_day(row: ReadLine, trade_date: date | None) -> date | None:
    """Of a row that begins with two days, the trade's and the one on which it was settled."""
    if trade_date is None or len(row.dates) != _TRADED_AND_SETTLED:
        return None
    first, second = row.dates
    is_head = re.search(r"[^\W\d]", row.text[: second.start]) is None
    is_soon = trade_date <= second.date <= trade_date + _SOON
    return second.date if is_head and is_soon and first.date == trade_date else None


_TIME = re.compile(r"(?<![\d:.,])([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?![\d:])")


def find_time(lines: Sequence[ReadLine], trade_date: date | None) -> str | None:
    """The first time of day beside the trade date, better in a line that a label calls the trade's, else in one that
    says what was done; else what a label calls its time. None that is said of an order, a price or the paper."""
    dated = [line for line in lines if any(found.date == trade_date for found in line.dates)]
    labelled = [line for line in dated if any(place.label is Label.TRADE_DATE for place in line.labels)]
    said = [line for line in dated if labels.DIRECTION.search(line.text) or _CARRIED_OUT.search(line.text)]
    for time in (*_list_times_of_trade(labelled), *_list_times_of_trade(said)):
        return _build_time(time)
    # `Handelszeit 16:47 Uhr`, in a line of its own.
    for line, place in list_places(lines, Label.TRADE_DATE):
        if not line.dates and (match := _TIME.search(line.text, place.end)):
            return _build_time(match)
    return None


def _list_times_of_trade(lines: Sequence[ReadLine]) -> Iterator[re.Match[str]]:
    for line in lines:
        text = _hide_labels(line)
        end = 0  # of the time before
        for match in islice(_TIME.finditer(text), _MAX_TIMES):
            if not SAID_OF_OTHER.search(text, end, match.start()) and not _PRINTED.search(text, match.end()):
                yield match
            end = match.end()


def _hide_labels(line: ReadLine) -> str:
    """`Schlusstag` is the trade's day, a `Schlusskurs` a price."""
    text = line.text
    for place in line.labels:
        if place.label is Label.TRADE_DATE:
            text = f"{text[: place.start]}{' ' * (place.end - place.start)}{text[place.end :]}"
    return text


def _build_time(match: re.Match[str]) -> str:
    return ":".join(part.zfill(2) for part in match.groups() if part is not None)
