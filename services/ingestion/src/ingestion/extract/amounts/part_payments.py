"""Invoices of parts that an invoice names: what was paid in advance has a number, a date and amounts of its own."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels
from ingestion.extract.amounts import change_labels
from ingestion.extract.amounts.labelled_amounts import list_row_amounts
from ingestion.extract.amounts.payment_evidence import IssueDay, is_planned
from ingestion.extract.amounts.sum_rows import CENT, SumRow

_PART = labels.match_any(
    r"\b(?:abschlags?|teil|anzahlungs|vorauszahlungs|akonto|a-conto-?)-?(?:rechnung|zahlung)",
    r"\b(?:advance|deposit|interim|progress|stage|instal+ment|pro[\s-]?forma)\s+invoice\b|\bfacture\s+(?:d['’]acompte|intermédiaire)\b",
    r"\bfactura\s+de\s+anticipo\b|\bfattura\s+(?:d['’]|di\s+)acconto\b|\bvoorschot(?:factuur|nota)\b|\bfatura\s+de\s+adiantamento\b",
    r"\b(?:faktur[aęy])\s+(?:vat\s+)?zaliczkow|\bzálohov\w{1,3}\s+faktur|\b(?:aconto|a\s*conto|acontofaktura|förskottsfaktura)\b",
)
_FINAL = labels.match_any(
    r"\b(?:schlu(?:ss|ß)|end)-?(?:ab)?rechnung\b|\bfinal\s+(?:invoice|bill|account)\b|\bfacture\s+(?:de\s+(?:solde|clôture)|finale)\b",
    r"\bfactura\s+final\b|\bfattura\s+a\s+saldo\b|\b(?:eind|slot)factuur\b|\bfatura\s+final\b|\bfaktura\s+(?:vat\s+)?(?:końcowa|rozliczeniowa)\b",
    r"\bkonečná\s+faktura\b|\bslut(?:faktura|afregning|räkning)\b",
)
# `zu unserer Rechnung Nr. 4`: another document is meant. `Ihre Rechnung Nr. 4` is this one.
_REFERENCE = re.compile(
    r"\b(?:zu[rm]?|vgl\.?|siehe|see|refers?\s+to|dotyczy|relative\s+à|relativa\s+a|betreft)\s+(?:[^\W\d]{1,12}\s+){0,2}$",
    re.IGNORECASE,
)
# `Abschlag 1`, `2e termijn`, `Acompte n° 3`: one of several, which a row takes off.
_PART_WORD = (
    r"(?:abschlag|teil(?:rechnung|zahlung|betrag)|akonto|(?:part(?:ial)?|stage|interim|progress)\s+(?:payment|invoice|claim|bill(?:ing)?)"
    r"|(?:payment|interim)\s+application|stage|instal+ment|acompte|situation|certificaci[óo]n|anticipo|pago\s+parcial|factura\s+parcial"
    r"|acconto|s\.?a\.?l\.?|termijn|deelfactuur|voorschot|adiantamento|auto(?:\s+de\s+mediç[ãa]o)?|presta[çc][ãa]o"
    r"|zaliczka|etap|faktura\s+(?:zaliczkowa|częściowa)|záloha|(?:zálohová|dílčí)\s+faktura|a-?\s?conto(?:faktura)?|delfaktura|rate)"
)
_NUMBERED_PART = labels.match_any(
    rf"^\W*{_PART_WORD}\s{{1,3}}(?:(?:nr?|č)[\Wº]{{0,3}}|#)?\d{{1,2}}\b(?![.,]\d)",
    rf"^\W*\d{{1,2}}(?:\.|e|er|re|st|nd|rd|th|[aºª°])?\W{{0,3}}{_PART_WORD}\b",
)
_MAX_TITLE = 60
_MAX_PARTS = 24


def is_part_payment(text: str) -> bool:
    return _PART.search(text) is not None


def is_final_invoice(head: Sequence[TextLine]) -> bool:
    """Whether a title says that parts were invoiced before."""
    return any(_FINAL.search(cell.text) for line in head for cell in line.cells if len(cell.text) <= _MAX_TITLE)


def is_reference(before: str) -> bool:
    """Whether the words in front of `Rechnung Nr.` tell of another document."""
    return _REFERENCE.search(before) is not None


def is_part_row(label: str) -> bool:
    """Whether a row is that of a part payment: a title of one, or one of several by its number."""
    return any(pattern.search(label) for pattern in (_PART, _NUMBERED_PART, change_labels.PREPAID))


def drop_part_rows(page: Sequence[TextLine]) -> list[TextLine]:
    """Without the rows whose net, tax and gross are those of a part payment. An invoice of a part alone has no amounts
    but them: there they stay."""
    parts: list[TextLine] = []
    own: list[TextLine] = []
    for line in page:
        (parts if _has_amounts_of_part(line) else own).append(line)
    others = {amount for line in own for amount in list_row_amounts(line)}
    is_alone = len(parts) == 1 and others <= {abs(amount) for amount in list_row_amounts(parts[0])}
    return list(page) if is_alone else own


def _has_amounts_of_part(line: TextLine) -> bool:
    amounts = list_row_amounts(line)
    if not amounts or not is_part_row(line.cells[0].text):
        return False
    return len(amounts) > 1 or labels.TOTAL_GROSS.search(line.text) is not None


@dataclass(frozen=True, slots=True)
class PartsTaken:
    """Parts that rows take off `whole`, so that `rest` is left. No `whole`: nobody can tell parts from a correction."""

    whole: SumRow | None
    rest: Decimal
    parts: tuple[SumRow, ...]

    def may_be_planned(self, page: Sequence[TextLine], issued: IssueDay) -> bool:
        return any(is_planned(page[part.index], issued) for part in self.parts)


def find_parts_taken(page: Sequence[TextLine], rows: Sequence[SumRow], due: Sequence[Decimal]) -> PartsTaken | None:
    """Where rows of net, tax and gross go from a whole down to what is left; `due` has what is called so.

    Rows of positions and rates do not: they lead up to their sum.
    """
    printed = {amount for line in page for amount in list_row_amounts(line)}
    for start, whole in enumerate(rows):
        rest = (whole.net, whole.tax, whole.gross)
        for number, part in enumerate(rows[start + 1 : start + 1 + _MAX_PARTS], start + 1):
            taken = (abs(part.net), abs(part.tax), abs(part.gross))
            rest = (rest[0] - taken[0], rest[1] - taken[1], rest[2] - taken[2])
            if rest[2] < 0 or part.index == whole.index or _says_it_again(part, whole):
                break
            left = next((row for row in rows[number + 1 : number + 2] if _is_same(rest, row)), None)
            if left is None and rest[2] not in due:
                continue
            end = number + 1 if left is None else number + 2
            is_last = all(abs(row.gross) <= rest[2] + CENT for row in rows[end:])
            if is_last and not _lead_up(rows[:end], start, printed):
                return _weigh_parts(whole, rows[start + 1 : number + 1], left, rest[2])
    return None


def _says_it_again(row: SumRow, whole: SumRow) -> bool:
    """Whether a row sums up what the only rate has above it: no part that is as much as the whole."""
    return row.is_named and _is_same((whole.net, whole.tax, whole.gross), row)


def _is_same(rest: tuple[Decimal, Decimal, Decimal], row: SumRow) -> bool:
    pairs = zip(rest, (row.net, row.tax, row.gross), strict=True)
    return all(abs(one - other) <= CENT for one, other in pairs)


def _lead_up(rows: Sequence[SumRow], start: int, printed: set[Decimal]) -> bool:
    """Whether the page prints what these rows add up to, from the whole on or from one above it."""
    if any(row.gross < 0 for row in rows[start + 1 :]):
        return False  # down to what is left they lead as well
    total = sum((row.gross for row in rows[start + 1 :]), Decimal(0))
    for row in reversed(rows[: start + 1]):
        total += row.gross
        if total in printed:
            return True
    return False


def _weigh_parts(whole: SumRow, parts: Sequence[SumRow], left: SumRow | None, rest: Decimal) -> PartsTaken | None:
    """None where what is taken off makes the invoice less: a discount, or corrections in a column with its sum."""
    if all(change_labels.DISCOUNT.search(part.label) for part in parts):
        return None
    if all(is_part_row(part.label) for part in parts):
        return None if is_part_row(whole.label) else PartsTaken(whole, rest, tuple(parts))
    is_sum = left is not None and left.is_named
    if is_sum and not whole.is_named and all(part.gross < 0 for part in parts):
        return None
    return PartsTaken(whole if whole.is_named and not is_sum else None, rest, tuple(parts))
