"""Where on a page an account stands, and which cell beside it is its label."""

import re

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import values

FAR_BESIDE = 150.0  # points: what is farther from an account is in another column of the page
MAX_TEXT = 160  # letters before an account, or behind it
# An account or a bank's code: what is said before it is said of that one.
OTHER_NUMBER = re.compile(r"\b[A-Z]{2}\d{2}(?:\s?[A-Z0-9]{2,4}){3,8}\b|\b[A-Z]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?\b")


def locate_account(line: TextLine, iban: str) -> tuple[int, int, int]:
    """In which cell an account stands, and from where to where."""
    written = re.compile(r"\s?".join(map(re.escape, iban)))
    begun = re.compile(r"\s?".join(map(re.escape, iban[:8])))
    for pattern in (written, begun):
        for number, cell in enumerate(line.cells):
            if match := pattern.search(cell.text):
                return number, match.start(), match.end()
    return 0, len(line.cells[0].text), len(line.cells[0].text)


def find_label_beside(line: TextLine, number: int) -> TextCell | None:
    """The cell to the left of an account's, unless it is far away or has an account itself."""
    left = line.cells[number - 1] if number else None
    if left is None or line.cells[number].left - left.right >= FAR_BESIDE:
        return None
    return None if next(values.find_ibans(left.text), None) is not None else left
