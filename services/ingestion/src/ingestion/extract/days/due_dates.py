"""Until when an invoice is to be paid in full: not until when there is a discount for who pays early."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels, values
from ingestion.extract.amounts.cash_discounts import (
    NOTHING_ASKED,
    AskedAmounts,
    count_discounts,
    count_offers,
    denies_discount,
    has_days,
    has_large_rate,
    offers_cash_discount,
    split_sentences,
)
from ingestion.extract.days.other_days import is_of_other_thing
from ingestion.extract.page_blocks import BLOCK_GAP, overlap_across

_SAME_LEFT = 12.0  # points
_ROWS_BELOW = 5
_MAX_ROWS = 6  # of a table of terms
_MAX_CELLS = 10  # of a line
_MAX_LABELLED = 100  # cells of a page that speak of when to pay


# Names of the day itself: `payment by` and `zahlbar bis` may begin a sentence on a discount as well.
_NAMED_DAY = re.compile(
    r"due\s+(?:date|on)|date\s+due|^\W*due\b|fällig|zahlungs(?:ziel|frist)|échéance|date\s+limite|verval|betaal\s?datum|termin|vencim|vence|scad|splatn|forfald|förfall"
    r"|betalings(?:dag|dato|frist)|rettidige|data\s+limite",
    re.IGNORECASE,
)
_CLAUSE = re.compile(
    r"[,;()]\s|\s[–—|/-]\s|\s\(|\)$|\b(?:oder|or|ou|of|lub|nebo|eller|otherwise|sonst|sinon)\s", re.IGNORECASE
)
_UNTIL = re.compile(
    r"\b(?:bis(?:\s+zum)?|by|before|until|due|fällig|avant(?:\s+le)?|entro(?:\s+il)?|hasta(?:\s+el)?|antes\s+de(?:l|\s+\w+)?|vóór|voor|uiterlijk|até|senest|senast|inden|före)\W*$",
    re.IGNORECASE,
)
# A day that is no day of payment.
_OTHER_DAY = labels.match_any(
    r"liefer|leistung|zeitraum|gültig|deliver|shipp|\bperiod|\bvalid|livr|validité|période|consegn|entreg|envío|\blever|dostaw|dodán|doruč|\bservice|wartung|faktura\w{0,12}dat|invoice\s+date|rechnungsdatum"
)


@dataclass(frozen=True, slots=True)
class _Term:
    """A text that begins with a day, what is said of it, and how the line below goes on; `earlier` has a day of payment
    in front of the label."""

    text: str
    said: str
    below: str = ""
    earlier: str = ""
    is_named: bool = False


def find_due_date(
    page: Sequence[TextLine],
    day_first: bool | None,
    amounts: AskedAmounts = NOTHING_ASKED,
    invoice_number: str | None = None,
) -> date | None:
    """None where the page names several, and none is that of a discount or of something else."""
    labelled = (
        (index, cell, match)
        for index, line in enumerate(page)
        for cell in line.cells
        if (match := labels.DUE_DATE.search(cell.text))
    )
    found = {
        day
        for index, cell, match in islice(labelled, _MAX_LABELLED)
        if not is_of_other_thing(page, index, cell, match, invoice_number)
        and (day := _find_beside_label(page, index, cell, match, day_first, amounts))
    }
    return found.pop() if len(found) == 1 else None


def _find_beside_label(
    page: Sequence[TextLine],
    index: int,
    cell: TextCell,
    match: re.Match[str],
    day_first: bool | None,
    amounts: AskedAmounts,
) -> date | None:
    for term in _list_terms(page, index, cell, match, amounts):
        if found := _read_term(term, day_first, amounts):
            return found
    # `Invoice date / Delivery date`: what has no digit is still the label.
    is_heading = not any(letter.isdigit() for letter in cell.text[match.end() :])
    return _read_column(page, index, cell, day_first, amounts) if is_heading else None


def _list_terms(
    page: Sequence[TextLine], index: int, cell: TextCell, match: re.Match[str], amounts: AskedAmounts
) -> Iterator[_Term]:
    """What stands behind a label and to its right."""
    line = page[index]
    number = line.cells.index(cell)
    is_named = _NAMED_DAY.search(match[0]) is not None
    before, rest = _split_before(cell.text[: match.start()]), cell.text[match.end() :].strip(" :.#*\t")
    said = f"{_read_end_above(page, index, cell, is_named=is_named)} {''.join(before)}{cell.text[match.start() :]}"
    beside = line.cells[number + 1] if number + 1 < len(line.cells) else None
    if any(letter.isdigit() for letter in rest) or beside is None or labels.DUE_DATE.search(beside.text):
        others = _join_others(line, (cell,), amounts, is_named=is_named)
        below = _read_beginning_below(page, index, cell, is_named=is_named)
        yield _Term(rest, f"{said} {others}", below, before[1], is_named)
    else:
        others = _join_others(line, (cell, beside), amounts, is_named=is_named)
        below = _read_beginning_below(page, index, beside, is_named=is_named)
        yield _Term(beside.text.lstrip(" :"), f"{said} {beside.text} {others}", below, is_named=is_named)


def _split_before(text: str) -> tuple[str, str]:
    """What the sentence says before a label: without a day, and from the first day on until which is to be paid."""
    sentence = (split_sentences(text) or [""])[-1] if text.strip() else ""
    days = list(values.DATES.finditer(sentence))
    payment = next((day for day in days if _UNTIL.search(sentence[: day.start()])), None)
    if payment is not None:
        return sentence[: payment.start()], sentence[payment.start() :]
    return sentence[days[-1].end() :] if days else sentence, ""


def _read_end_above(page: Sequence[TextLine], index: int, cell: TextCell, *, is_named: bool) -> str:
    """What the line above says at its end, if its sentence goes on in this cell and names no day of its own."""
    above = _find_next(page, index, cell, -1)
    if above is None or re.search(r"[.!?:]\W*$", above[1].text):
        return ""
    end = (split_sentences(above[1].text) or [""])[-1]
    return "" if values.find_dates(end) or _is_row(above, end, is_named=is_named) else end


def _read_beginning_below(page: Sequence[TextLine], index: int, cell: TextCell, *, is_named: bool) -> str:
    """What the line below says at its beginning, if the sentence of this cell goes on there."""
    below = _find_next(page, index, cell, 1)
    if below is None or re.search(r"[.!?]\W*$", cell.text):
        return ""
    beginning = (split_sentences(below[1].text) or [""])[0]
    return "" if _is_row(below, beginning, is_named=is_named) else beginning


def _find_next(page: Sequence[TextLine], index: int, cell: TextCell, step: int) -> tuple[TextLine, TextCell] | None:
    line = page[index]
    if not 0 <= index + step < len(page):
        return None
    other = page[index + step]
    if other.page != line.page or abs(other.top - line.top) > BLOCK_GAP * max(line.height, other.height):
        return None
    found = (near for near in other.cells if abs(near.left - cell.left) < _SAME_LEFT)
    return next(((other, near) for near in found), None)


def _is_row(place: tuple[TextLine, TextCell], text: str, *, is_named: bool) -> bool:
    """Whether a line says something of its own: `Discount 5 %   -20.00` between the totals, `Rabatt: 5 %`."""
    line, cell = place
    if offers_cash_discount(text):
        return False
    return (is_named and text[:1].isupper()) or any(
        values.is_money(other.text) for other in line.cells if other != cell
    )


def _join_others(line: TextLine, own: Sequence[TextCell], amounts: AskedAmounts, *, is_named: bool) -> str:
    """The other cells of a line that may say of its day that less is to be paid until then."""
    texts = [cell.text for cell in line.cells[:_MAX_CELLS] if cell not in own]
    return " ".join(text for text in texts if not is_named or offers_cash_discount(text) or amounts.has_less(text))


def _read_term(term: _Term, day_first: bool | None, amounts: AskedAmounts) -> date | None:
    """The first day, but where there is a discount that of which there is none: `bis 3.5. mit 2 % Skonto, bis 1.6.
    ohne Abzug`."""
    days = [each.resolve_date(day_first=day_first) for each in values.find_dates(term.text)]
    if not days:
        return None
    said = f"{term.said} {_drop_earlier(term.below, days[0], day_first)}"
    discounts = count_discounts(said, amounts)
    if not discounts:
        return _choose_only_day(term.text, day_first)
    payment = _list_payment_days(f"{term.earlier} {term.text}", day_first)
    if len(payment) == 1:
        return days[0] if _is_without_discount(term, amounts) else None
    known = [day for day in payment if day is not None]
    is_of_discounts = discounts < len(known) == len(payment) and not has_large_rate(said)
    return max(known) if is_of_discounts else None


# `Zahlungsziel 30 Tage ab Rechnungsdatum 03.11.2026, spätestens 03.12.2026`: of what one counts from, and of what else
# a line has.
_NO_TERM = re.compile(
    r"\b(?:ab|vom|nach(?:\s+dem)?|seit|from|of|after|following|since|du|à\s+compter\s+du|dès(?:\s+le)?|depuis(?:\s+le)?|dal|dalla(?:\s+data)?|del|desde(?:\s+el)?"
    r"|a\s+partir\s+del?|após|depois\s+de|van(?:af)?|na|od(?:\s+dnia)?|po|ode?(?:\s+dne)?|fra|efter|från|z\s+dnia)\W*$",
    re.IGNORECASE,
)
_AT_LAST = re.compile(
    r"(?:[,=(:–—]|\b(?:bis(?:\s+zum)?|zum|am|spätestens(?:\s+am)?|by|on|before|soit(?:\s+le)?|le|d\.\s?h\.|entro\s+il|il|el|op|vóór|voor|uiterlijk|até|do|termin|senest|senast|den))\W*$",
    re.IGNORECASE,
)


def _choose_only_day(text: str, day_first: bool | None) -> date | None:
    """The first day, unless it is the beginning of a term or another day of payment stands behind it."""
    matches = list(values.DATES.finditer(text))
    starts = [0, *(match.end() for match in matches)]
    before = [text[start : match.start()] for start, match in zip(starts, matches, strict=False)]
    is_term = [
        not (_OTHER_DAY.search(words) or _NO_TERM.search(words) or (place and words.rstrip().endswith(":")))
        and (_AT_LAST.search(words) is not None or not has_days(words))
        for place, words in enumerate(before)
    ]
    days = {
        each.resolve_date(day_first=day_first)
        for each, counts in zip(values.find_dates(text), is_term, strict=True)
        if counts
    }
    return days.pop() if len(days) == 1 else None


def _list_payment_days(text: str, day_first: bool | None) -> list[date | None]:
    return [
        each.resolve_date(day_first=day_first)
        for clause in _split_clauses(text)
        if not _OTHER_DAY.search(clause)
        for each in values.find_dates(clause)
    ]


def _drop_earlier(below: str, day: date | None, day_first: bool | None) -> str:
    """What the line below says, unless it is of a day before this one: then its discount is of that day."""
    match = values.DATES.search(below)
    if match is None:
        return below
    other = values.find_dates(below)[0].resolve_date(day_first=day_first)
    return "" if day is None or other is None or other < day else below[: match.start()]


def _is_without_discount(term: _Term, amounts: AskedAmounts) -> bool:
    """Whether the clause that names the day says that all is to be paid, or each discount has days of its own."""
    clauses = _split_clauses(term.said)
    own = [clause for clause in clauses if values.find_dates(clause)]
    others = [clause for clause in clauses if not values.find_dates(clause) and count_offers(clause, amounts)]
    if len(own) != 1 or count_discounts(own[0], amounts) or count_discounts(term.below):
        return False
    return denies_discount(own[0]) or (term.is_named and bool(others) and all(map(has_days, others)))


def _split_clauses(text: str) -> list[str]:
    return [clause for clause in _CLAUSE.split(text) if clause.strip()]


def _read_column(
    page: Sequence[TextLine], index: int, cell: TextCell, day_first: bool | None, amounts: AskedAmounts
) -> date | None:
    """The day below a heading; of several that of which the row offers no discount."""
    if _heads_positions(page[index], cell):
        return None
    heads_discount = any(count_discounts(other.text) for other in page[index].cells[:_MAX_CELLS])
    found: set[date | None] = set()
    for line, below in _list_column(page, index, cell):
        days = values.find_dates(below.text)
        if not days:
            break
        said = (
            " ".join(cell.text for cell in line.cells[:_MAX_CELLS])
            if heads_discount
            else _join_others(line, (), amounts, is_named=True)
        )
        term = _Term(below.text, f"{cell.text} {below.text} {said}", is_named=True)
        if (day := _read_term(term, day_first, amounts)) is not None or not count_discounts(term.said, amounts):
            found.add(day)
    return found.pop() if len(found) == 1 else None


def _heads_positions(line: TextLine, cell: TextCell) -> bool:
    """`Lotto  Scadenza  Quantità`: below stand days of what was sold."""
    others = [other.text for other in line.cells[:_MAX_CELLS] if other != cell]
    return any(map(labels.DESCRIPTION.search, others)) and any(map(labels.QUANTITY.search, others))


def _list_column(page: Sequence[TextLine], index: int, cell: TextCell) -> Iterator[tuple[TextLine, TextCell]]:
    """The rows below a cell, the first as far down as a table's row or two, the others close below each other."""
    last = page[index]
    for line in page[index + 1 : index + 1 + _ROWS_BELOW + _MAX_ROWS]:
        reach = 4 * max(page[index].height, line.height)
        if line.page != last.page or line.top - last.top > reach:
            return
        under = next((other for other in line.cells if overlap_across(other, cell)), None)
        if under is not None:
            last = line
            yield line, under
