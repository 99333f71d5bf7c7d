"""The name of a security without what stands in columns beside it: days, the side, numbers and a quantity."""

import re

from ingestion.extract.trades import labels
from ingestion.extract.trades.numbers import mask_codes
from ingestion.extract.trades.row_side import is_side_alone

_LETTERS = re.compile(r"[^\W\d_]{2}")
_NAME = re.compile(r"[^\W\d_]{3}")
_MARKS = " \t,:;-"
_COUNTED = re.compile(r"\W{0,3}\d[\d.,'’]{0,20}\s?")
# `Kauf, Ref.: 403747782`: a number of the bank, and no name.
_REFERENCE = re.compile(r"\W*(?:ref|r[ée]f|nr|no|n[°º])\b", re.IGNORECASE)


def clean_name(text: str) -> str | None:
    """None where nothing of it is a name."""
    cells = [cell for part in text.split("\t") if (cell := _clean_cell(part)) is not None]
    name = " ".join(" ".join(cells).split())
    return name if _NAME.search(name) is not None and _REFERENCE.match(name) is None else None


def _clean_cell(cell: str) -> str | None:
    """Without the days and the side that it begins with; None where there is nothing else."""
    if is_side_alone(cell):
        return None
    masked = mask_codes(cell)
    anchor = labels.ANCHOR.match(masked)
    start = anchor.end() if anchor is not None else len(masked) - len(masked.lstrip())
    rest = cell[start:].strip(_MARKS)
    if anchor is not None and _NAME.search(rest) is None:
        rest = cell[len(masked) - len(masked.lstrip()) :].strip(_MARKS)
    if (taken_back := labels.CANCELLATION.match(rest)) is not None:
        rest = rest[taken_back.end() :].strip(_MARKS)
    if _LETTERS.search(mask_codes(rest)) is None or _is_quantity(rest):
        return None
    return rest


def _is_quantity(cell: str) -> bool:
    """`20 Stk.`"""
    counted = _COUNTED.match(cell)
    unit = labels.QUANTITY_AFTER.match(cell[counted.end() :]) if counted is not None else None
    return counted is not None and unit is not None and not cell[counted.end() + unit.end() :].strip(" .")
