"""Which way each row of a table went: by the row, by the heading of its section, by its signs, or by the document.

Where one of them has its side in a column, a row without one has none: a dividend may be listed among trades.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingestion.domain.trade import Direction
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.row_side import (
    RowSide,
    SidePlace,
    books_something_else,
    find_row_side,
    may_be_income,
    says_not_done,
)
from ingestion.extract.trades.rows import ProductRow
from ingestion.extract.trades.sections import Section, SectionKind, find_sections


@dataclass(frozen=True, slots=True)
class TradeSide:
    direction: Direction | None
    is_certain: bool


def find_sides(
    rows: Sequence[ProductRow], lines: Sequence[ReadLine], of_document: Direction | None, *, is_certain: bool
) -> list[TradeSide]:
    """`of_document` is what the document says of all its rows."""
    own = [find_row_side(row.line) for row in rows]
    sections = find_sections(lines)
    of_rows = [sections[row.line.index - lines[0].index] for row in rows]
    least = min((side.place for side in own), default=SidePlace.NOWHERE)
    shared = TradeSide(of_document, is_certain)
    if any(side.place >= SidePlace.BESIDE_VALUE for side in own) or any(section.direction for section in of_rows):
        shared = TradeSide(None, is_certain=False)
    signs = list(_read_signs(rows))
    return [
        _choose_side(
            side,
            section,
            sign,
            shared,
            is_beside_enough=least >= SidePlace.BESIDE_VALUE,
            is_done=not (says_not_done(row.line) or books_something_else(row.line) or may_be_income(row.line)),
        )
        for row, side, section, sign in zip(rows, own, of_rows, signs, strict=True)
    ]


def _choose_side(
    own: RowSide,
    section: Section,
    sign: Direction | None,
    shared: TradeSide,
    *,
    is_beside_enough: bool,
    is_done: bool,
) -> TradeSide:
    is_taken_back = section.kind is SectionKind.TAKEN_BACK or not is_done
    if own.place >= SidePlace.BESIDE_VALUE:
        is_certain = own.place is SidePlace.IN_COLUMN or is_beside_enough
        is_denied = any(other not in (None, own.direction) for other in (section.direction, sign))
        return TradeSide(own.direction, is_certain and not is_denied and not is_taken_back)
    if section.kind is SectionKind.DOUBTED:
        return TradeSide(None, is_certain=False)
    if section.direction is not None:
        return TradeSide(section.direction, is_certain=not is_taken_back)
    if own.direction is not None:
        return TradeSide(own.direction, own.direction is shared.direction and shared.is_certain and is_done)
    if shared.direction is None:
        return TradeSide(sign, is_certain=False)
    return TradeSide(shared.direction, shared.is_certain and is_done)


def _read_signs(rows: Sequence[ProductRow]) -> Iterator[Direction | None]:
    """A quantity with a minus was given away; else money with a minus was paid."""
    has_signed_quantities = any(row.quantity_number.is_negative for row in rows)
    has_signed_amounts = any(row.amount_number.is_negative for row in rows)
    for row in rows:
        if has_signed_quantities:
            yield Direction.SELL if row.quantity_number.is_negative else Direction.BUY
        elif has_signed_amounts:
            yield Direction.BUY if row.amount_number.is_negative else Direction.SELL
        else:
            yield None
