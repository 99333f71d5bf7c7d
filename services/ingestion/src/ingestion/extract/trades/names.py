"""The name of what was traded: behind or below its label, in front of its number, or beside the quantity.

It is left empty where that is not clear: the head of another column, another row's name and the numbers of the security
are none of it.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import islice

from ingestion.domain.transcript import TextCell
from ingestion.extract.titles import kind_words
from ingestion.extract.trades import labels
from ingestion.extract.trades.labels import LABELS_OF_SECURITY, Label
from ingestion.extract.trades.lines import (
    LabelPlace,
    ReadLine,
    find_label_places,
    get_text_behind,
    list_places,
    list_words_behind,
)
from ingestion.extract.trades.name_cells import clean_name
from ingestion.extract.trades.no_names import BankNames, do_contradict, is_no_name
from ingestion.extract.trades.numbers import Number
from ingestion.extract.trades.security import ISIN

_MIN_NAME = 4  # letters
_MAX_NAME = 120
_MAX_LABELS = 200  # of a document
_MAX_SAID = 160  # letters of a line that says what was bought
_LINES_TO_ISIN = 2
_MIN_NUMBERS = 2  # of the row of a trade
_TYPE_OF = re.compile(r"\b(?:types?|tipo|soort|art|class|clase)\b[^:]{0,12}$", re.IGNORECASE)
_PLACE = (
    r"exchange|venues?|market|marknad|marked|markedsplads|b[öo]rse(?:nplatz)?|(?:handels|ausf[üu]hrungs|b[öo]rsen)?platz|handels|b[öo]rsen|ort|der|ausf[üu]hrung|place|of|execution|trading|lieu|ex[ée]cution|bourse|march[ée]"
    r"|mercado|lugar|de|ejecuci[óo]n|mercato|sede|di|esecuzione|beurs|markt|plaats|van|uitvoering|local|execu[çc][ãa]o|miejsce|wykonania|rynek|gie[łl]da|trh|burza"
)
_HEAD = re.compile(
    rf"(?:{_PLACE}|d[ée]bits?|cr[ée]dits?|d[ée]bito|cr[ée]dito|debet|soll|haben|amount|montant|informations?|sur|[dl])",
    re.IGNORECASE,
)
_NUMBER_OF_SECURITY = re.compile(r"\w{0,20}(?:code|nummer|number|nr|kenn\w*)\W*", re.IGNORECASE)
_WORDS = re.compile(r"\w+")
_CODE = re.compile(r"\(?(?=[A-Z0-9]*\d)[A-Z0-9]{6,12}\)?")
_LAST_CODE = re.compile(r"\s+\(?(?=[A-Z0-9]*\d)([A-Z0-9]{5,9})\)?$")
_UNIT = (
    r"(?:ST|STK|St[üu]cke?|Stk|Anteile|Nominale?|Nom|shares?|units?|titres|parts|azioni|quote|aantal|antal|szt|ks)\.?"
)
_COUNTED = re.compile(rf"^(?:{_UNIT}\s+)?\d[\d.,'’ ]*(?:\s+{_UNIT}(?:\s+of)?)?(?:\s+|$)", re.IGNORECASE)
# `Aankoop van 395 HAVEN NV aan 38,32 EUR`
_SAID_NAME = re.compile(
    rf"{labels.DIRECTION.pattern}(?:\s+(?:of|van|von|de|di|af|av))?\s+\d[\d.,]{{0,20}}\s+(?P<name>[^\W\d_][^\t(]{{1,80}}?)\s(?:\([^()]{{1,20}}\)\s)?"
    r"(?:at|aan|zu|à|a|al|till|til|por|@)\s[^\W\d_$€£]{0,3}[$€£]?\s?\d",
    re.IGNORECASE,
)


def find_name(
    lines: Sequence[ReadLine], isin: str | None, row: ReadLine | None = None, quantity: Decimal | None = None
) -> str | None:
    """Behind its label, or in its column; else where a line says what was bought; else in front of the security's own
    number; else beside the quantity; else in front of the trade's numbers, in their row."""
    labelled = [*_list_at_labels(lines)]
    if labelled:
        return labelled[0] if not any(do_contradict(labelled[0], other) for other in labelled[1:]) else None
    for line in lines:
        if (match := _SAID_NAME.search(line.text[:_MAX_SAID])) and not is_no_name(match["name"]):
            return match["name"][:_MAX_NAME].strip()
    for line in lines:
        if (name := _find_before_isin(lines, line, isin)) is not None:
            return name
    for position, line in enumerate(lines):
        if quantity is not None and (name := _find_beside_quantity(lines, position, line, quantity)) is not None:
            return name
    return _find_in_row(lines, row) if row is not None else None


def _list_at_labels(lines: Sequence[ReadLine]) -> Iterator[str]:
    bank = BankNames(lines)
    for line, place in islice(list_places(lines, Label.NAME), _MAX_LABELS):
        is_title = kind_words.CONTRACT_NOTE_TITLE.search(line.text) is not None
        if is_title or not _is_field(line, place):
            continue
        cell = line.text[place.end :].strip(" \t:").split("\t")[0]
        if cell and is_no_name(cell):
            continue
        if (name := _find_at_label(lines, line, place)) is not None and name not in bank:
            yield name


def _find_at_label(lines: Sequence[ReadLine], line: ReadLine, place: LabelPlace) -> str | None:
    below = _find_cell_below(lines, line, place)
    if below is not None:
        return _finish(lines, ISIN.split(below)[0])
    words = list_words_behind(line, place)
    if not _may_be_name(words):
        return None
    text = ISIN.sub("\t", get_text_behind(line, place)).strip(" \t:#").removeprefix(".")
    return _finish(lines, text)


def _finish(lines: Sequence[ReadLine], text: str) -> str | None:
    """Without the numbers of the security, of whatever country."""
    cells = [cell for cell in text.split("\t") if _CODE.fullmatch(cell.strip()) is None]
    name = clean_name("\t".join(cells))
    if name is None:
        return None
    if (code := _LAST_CODE.search(name)) is not None and (_names_code(lines) or _is_in_isin(lines, code[1])):
        name = name[: code.start()]
    name = _close_brackets(name.strip(" ,:;-"))
    return name[:_MAX_NAME].strip() if _may_be_name(name) and not is_no_name(name) else None


def _names_code(lines: Sequence[ReadLine]) -> bool:
    return any(place.label is Label.WKN for line in lines for place in line.labels)


def _is_in_isin(lines: Sequence[ReadLine], code: str) -> bool:
    return any(code in match[1] for line in lines for match in ISIN.finditer(line.text))


def _close_brackets(name: str) -> str:
    """A bracket that was opened in another place, or is closed there, is none of a name."""
    if name.count(")") > name.count("(") and name.endswith(")"):
        name = name[:-1]
    if name.count("(") > name.count(")"):
        opened = name.rindex("(")
        name = name[:opened] if len(name) - opened <= 1 else f"{name})"
    return name.strip()


def _find_cell_below(lines: Sequence[ReadLine], line: ReadLine, place: LabelPlace) -> str | None:
    """The cell in the column of a label that stands alone in its own, where the row below speaks of a trade: it has
    numbers, a day or the security's number. In a form the cell below is another label."""
    position = line.index - lines[0].index
    rows = lines[position + 1 : position + 1 + _LINES_TO_ISIN]
    cell = _find_cell(line, place)
    if cell is None or not rows or rows[0].source.page != line.source.page:
        return None
    row = rows[0]
    is_row = len(row.numbers) >= _MIN_NUMBERS or bool(row.dates) or ISIN.search(row.text) is not None
    is_alone = len(line.source.cells) == 1 and any(ISIN.search(below.text) for below in rows)
    if not is_row and not is_alone:
        return None
    if len(row.source.cells) == 1 < len(line.source.cells):
        return None
    found = [below.text for below in row.source.cells if below.left < cell.right and below.right > cell.left]
    if len(found) != 1 or any(own.start == 0 for own in find_label_places(found[0])):
        return None
    return found[0] if _may_be_name(found[0]) else None


def _find_cell(line: ReadLine, place: LabelPlace) -> TextCell | None:
    """The cell of a label, if nothing but labels stands in it."""
    start = 0
    for cell in line.source.cells:
        end = start + len(cell.text)
        if start <= place.start and place.end <= end:
            rest = list(cell.text)
            for own in line.labels:
                if start <= own.start and own.end <= end:
                    rest[own.start - start : own.end - start] = " " * (own.end - own.start)
            is_alone = re.search(r"\w", "".join(rest)) is None and not cell.text.rstrip().endswith(":")
            return cell if is_alone else None
        start = end + 1
    return None


def _find_before_isin(lines: Sequence[ReadLine], line: ReadLine, isin: str | None) -> str | None:
    match = ISIN.search(line.text)
    if match is None or (isin is not None and match[1] != isin):
        return None  # the row of another security
    end = min((place.start for place in line.labels if place.label in LABELS_OF_SECURITY), default=match.start())
    front = line.text[: min(end, match.start())].strip(" \t,:-")
    number = _find_first_number(line)
    start = number[1] if number is not None else 0
    if any(place.start < end and place.start >= start and _is_field(line, place) for place in line.labels):
        return None
    name = _finish(lines, front[start:])
    return name if name is not None and not _NUMBER_OF_SECURITY.fullmatch(name) else None


def _find_first_number(line: ReadLine) -> tuple[Number, int] | None:
    """What a line begins with, if it is a number without a currency, and where it ends with its unit; no day is one."""
    counted = _COUNTED.match(line.text.replace("\t", " "))
    if counted is None or not line.numbers or line.numbers[0].end > counted.end():
        return None
    return (line.numbers[0], counted.end()) if line.numbers[0].currency is None else None


def _find_beside_quantity(lines: Sequence[ReadLine], position: int, line: ReadLine, quantity: Decimal) -> str | None:
    """`60  Namenaktien Johnson & Johnson`, where the security's number stands in the line or soon below, or the line
    has the price as well: the quantity begins the line, and one cell is no number."""
    counted = _find_first_number(line)
    if counted is None or quantity not in counted[0].readings:
        return None
    below = lines[position + 1 : position + 1 + _LINES_TO_ISIN]
    if len(line.numbers) < _MIN_NUMBERS and not any(ISIN.search(row.text) for row in (line, *below)):
        return None
    rest = line.text[counted[1] :].split("\t")
    named = [cell for cell in rest if _finish(lines, cell) is not None and not _is_value(cell)]
    if len(named) != 1 or line.dates or labels.DIRECTION.search(line.text):
        return None
    return _finish(lines, named[0])


def _is_value(cell: str) -> bool:
    """An amount with its currency, or what a label says."""
    is_labelled = any(place.start == 0 for place in find_label_places(cell))
    return is_labelled or re.fullmatch(r"\W*(?:[A-Z]{3}|[€$£])?\W*[\d.,'’ ]+(?:[A-Z]{3}|[€$£%])?\W*", cell) is not None


def _is_field(line: ReadLine, place: LabelPlace) -> bool:
    """Whether a label stands where a field is named, and not within a sentence: at the beginning of its cell, or before
    a colon; `Type of instrument: …` names another one."""
    front = line.text[: place.start].rpartition("\t")[2]
    has_colon = line.text[place.end :].lstrip().startswith(":")
    if line.text[place.end : place.end + 1] == "-":
        return False  # `Stock-Exchange`
    return not front.strip(" ¢•*-") or (has_colon and _TYPE_OF.search(front) is None)


def _may_be_name(words: str) -> bool:
    """Not what a sentence goes on with, nor the other heads of a table."""
    is_long = len(words) > _MIN_NAME and re.search(r"[^\W\d_]{3}", words) is not None
    if not is_long or words.split()[0].islower() or all(map(_HEAD.fullmatch, _WORDS.findall(words))):
        return False
    rest = [*words]
    for amount in _AMOUNT.finditer(words):
        rest[amount.start() : amount.end()] = " " * len(amount[0])
    for place in find_label_places(words):
        if place.label is not Label.QUANTITY:
            rest[place.start : place.end] = " " * (place.end - place.start)
    return re.search(r"[^\W\d_]{2}", "".join(rest)) is not None


_AMOUNT = re.compile(r"\b[A-Z]{3} [-+]?\d[\d.,'’]{0,30}|\d[\d.,'’]{0,30} [A-Z]{3}\b")


def _find_in_row(lines: Sequence[ReadLine], row: ReadLine) -> str | None:
    front = row.text[: row.numbers[0].start].strip(" \t,:-") if row.numbers else ""
    if row.labels or row.dates or ISIN.search(front) or labels.DIRECTION.search(front):
        return None
    if re.search(r"[^\W\d_]{3}", front) is None or len(front) <= _MIN_NAME:
        return None
    return _finish(lines, front)
