"""The rules of a template: each is tried on the page that it is learned from, and kept if it reads the confirmed value
there, and nothing else."""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal

from ingestion.domain.layout_template import (
    AMOUNT_FIELDS,
    DATE_FIELDS,
    MAX_LABEL_CHARACTERS,
    MAX_RULES,
    RULE_KINDS,
    TEXT_FIELDS,
    PlaceRule,
)
from ingestion.extract import values
from ingestion.extract.layout_features import Page, PageCell, join_label

Value = str | date | Decimal

_SAME_PLACE = 8.0  # points
_MAX_PLACES = 12  # of one value on a page: what is printed more often is no one's place
_MIN_LABEL = 2  # letters

# Where a currency has no cents, or nobody prints them, a whole number with its currency is money: `152 400 Ft`. The
# general rules do not take it for that; behind a label that was learned it is one.
_CURRENCY = r"(?:EUR|USD|GBP|CHF|PLN|CZK|DKK|SEK|NOK|ISK|HUF|RON|JPY|KRW|Ft\.?|Kč|kr\.?|zł|[€$£¥])"
_NUMBER = r"[-−–]?\d[\d\s.,'’]{0,30}"
_WITH_CURRENCY = re.compile(rf"{_CURRENCY}\s?(?P<behind>{_NUMBER})|(?P<before>{_NUMBER}?)\s?{_CURRENCY}", re.IGNORECASE)


def learn_rules(page: Page, field: str, value: Value) -> tuple[PlaceRule, ...]:
    """The rules that read this value, the likeliest to last first."""
    found: dict[PlaceRule, None] = {}
    for rule in _list_candidates(page, field, value):
        if rule not in found and read_rule(page, field, rule) == value:
            found[rule] = None
    ranked = sorted(found, key=lambda rule: RULE_KINDS.index(rule.kind))
    # Where a label says it, a place of its own says nothing more, and is wrong as soon as there is a line more.
    labelled = [rule for rule in ranked if rule.kind != "place"]
    return tuple((labelled or ranked)[:MAX_RULES])


def list_readings(page: Page, field: str, rules: Sequence[PlaceRule]) -> set[Value]:
    """The values that they find: several where they contradict each other."""
    return {value for rule in rules if (value := read_rule(page, field, rule)) is not None}


def read_rule(page: Page, field: str, rule: PlaceRule) -> Value | None:
    found = {value for text in _find_texts(page, rule) if (value := _parse_value(field, text, rule)) is not None}
    return found.pop() if len(found) == 1 else None


def _list_candidates(page: Page, field: str, value: Value) -> Iterator[PlaceRule]:
    places = 0
    for row in page:
        for cell in row:
            for start, number in _list_value_starts(cell):
                text = _join_from(row, cell, start)
                forms = [form for form in _list_forms(field, value, text) if _parse_value(field, text, form) == value]
                if not forms:
                    continue
                places += 1
                if places > _MAX_PLACES:
                    return
                for place in _list_places(page, cell, number):
                    yield from (
                        PlaceRule(
                            place.kind,
                            place.label,
                            place.cells_behind,
                            place.left,
                            place.top,
                            form.shape,
                            form.day_first,
                        )
                        for form in forms
                    )
                break


def _list_value_starts(cell: PageCell) -> Iterator[tuple[int, int]]:
    """Where a value may begin in a cell, and how many words stand before it."""
    yield 0, 0
    yield from ((token.start, number) for number, token in enumerate(cell.tokens) if number)


def _list_forms(field: str, value: Value, text: str) -> Iterator[PlaceRule]:
    if field in TEXT_FIELDS and isinstance(value, str):
        yield PlaceRule("place", shape=_describe_shape(value))
    elif field in DATE_FIELDS:
        # The order of day and month is learned where this date tells it.
        written = values.find_dates(text)[:1]
        ambiguous = written and written[0].resolve_date(day_first=None) is None
        yield from (PlaceRule("place", day_first=order) for order in ((True, False) if ambiguous else (None,)))
    else:
        yield PlaceRule("place")


def _list_places(page: Page, cell: PageCell, words_before: int) -> Iterator[PlaceRule]:
    if words_before:
        label = join_label(cell.tokens[:words_before])
        if _is_label(label):
            yield PlaceRule("inside", label)
        return
    row = page[cell.row]
    if cell.column and _is_label(row[cell.column - 1].label):
        yield PlaceRule("left", row[cell.column - 1].label)
    if cell.column > 1 and _is_label(row[0].label):
        yield PlaceRule("row", row[0].label, cells_behind=len(row) - 1 - cell.column)
    yield from (PlaceRule("above", label) for label in cell.above if _is_label(label))
    yield PlaceRule("place", left=round(cell.cell.left, 1), top=round(cell.line.top, 1))


def _is_label(label: str) -> bool:
    return sum(letter.isalpha() for letter in label) >= _MIN_LABEL and len(label) < MAX_LABEL_CHARACTERS


def _find_texts(page: Page, rule: PlaceRule) -> Iterator[str]:
    for row in page:
        for cell in row:
            if (start := _find_value_start(row, cell, rule)) is not None:
                yield _join_from(row, cell, start)


def _find_value_start(row: Sequence[PageCell], cell: PageCell, rule: PlaceRule) -> int | None:
    """Where in this cell the value of the rule begins; None where it does not stand in it."""
    match rule.kind:
        case "inside":
            words = rule.label.count(" ") + 1
            is_found = len(cell.tokens) > words and join_label(cell.tokens[:words]) == rule.label
            return cell.tokens[words].start if is_found else None
        case "left":
            is_found = cell.column > 0 and row[cell.column - 1].label == rule.label
        case "row":
            is_found = cell.column > 1 and row[0].label == rule.label
            is_found = is_found and len(row) - 1 - cell.column == rule.cells_behind
        case "above":
            is_found = rule.label in cell.above
        case "place":
            is_found = cell.line.page == 0 and abs(cell.cell.left - rule.left) <= _SAME_PLACE
            is_found = is_found and abs(cell.line.top - rule.top) <= _SAME_PLACE
    return 0 if is_found else None


def _join_from(row: Sequence[PageCell], cell: PageCell, start: int) -> str:
    """The text from there on; the cells behind it after a wide gap, which only an account number is read across."""
    return "\t".join([cell.text[start:], *(other.text for other in row[cell.column + 1 :])])


def _parse_value(field: str, text: str, form: PlaceRule) -> Value | None:
    if field == "iban":
        whole = text.replace("\t", " ").lstrip(" :")
        return next((iban for iban in values.find_ibans(whole) if _begins_with(whole, iban)), None)
    own = text.partition("\t")[0].strip(" :")
    if field in TEXT_FIELDS:
        return _parse_number(own, form.shape)
    if field in DATE_FIELDS:
        return _parse_date(own, form.day_first)
    return _parse_amount(own) if field in AMOUNT_FIELDS else None


def _parse_amount(text: str) -> Decimal | None:
    if values.is_money(text) and (amount := values.parse_amount(text)) is not None:
        return amount
    match = _WITH_CURRENCY.fullmatch(text)
    found = values.find_amounts(match["behind"] or match["before"]) if match else []
    return found[0] if len(found) == 1 else None


def _begins_with(text: str, iban: str) -> bool:
    return re.sub(r"\s", "", text).startswith(iban)


def _parse_date(text: str, day_first: bool | None) -> date | None:
    match = values.DATES.match(text)
    written = values.find_dates(match[0]) if match else []
    return written[0].resolve_date(day_first=day_first) if written else None


def _describe_shape(number: str) -> str:
    """What a supplier's numbers have in common: letters and signs as they are, each row of digits as one."""
    return re.sub(r"\d+", "9", number)


def _parse_number(text: str, shape: str | None) -> str | None:
    """As many words as the learned number has, if they have its shape."""
    if shape is None:
        return None
    number = " ".join(text.split()[: shape.count(" ") + 1]).rstrip(".,;:")
    return number if _describe_shape(number) == shape and any(letter.isdigit() for letter in number) else None
