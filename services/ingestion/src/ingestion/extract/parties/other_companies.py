"""Companies on a page that may be whose invoice it is, in place of the name that is ahead: those of a group, all in one
line of its letter head, and the one behind a trade name, whose numbers the foot has.
"""

import re
from collections.abc import Iterator, Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels
from ingestion.extract.parties import business_marks
from ingestion.extract.parties.bare_addresses import list_bare_addresses
from ingestion.extract.parties.company_names import list_long_words, normalize_name, parse_name
from ingestion.extract.parties.customer_cells import is_buyer_cell
from ingestion.extract.parties.third_parties import is_financier, is_third_party

_HEAD_LINES = 8
_MAX_TEXT = 400  # letters of a cell
_MAX_CELLS = 12  # of a line
_NEAR_LINES = 3  # of a foot
_SEPARATOR = re.compile(r"\s*[●•∙|·;]\s*|\s[-–—]\s|,\s(?=[^\W\d_a-z])")
# The words in front of a legal form: `of Marlow Services Ltd`.
_WORDS_AND_FORM = re.compile(rf"(?<![\w&.'’-])(?:[\w&.'’-]{{1,30}}\s){{1,3}}{labels.COMPANY.pattern}")


def has_companies_beside(page: Sequence[TextLine], name: str) -> bool:
    """`Muster Strom GmbH · Muster Wasser GmbH` in the letter head: which of a group's companies it is, it does not
    say."""
    ours = normalize_name(name)
    # A customer stands beside, in a cell of his own.
    for cell in (cell for line in page[:_HEAD_LINES] for cell in line.cells[:_MAX_CELLS]):
        names = {normalize_name(part) for part in _SEPARATOR.split(cell.text[:_MAX_TEXT]) if _is_company(part)}
        if ours in names and len(names) > 1:
            return True
    return False


def _is_company(part: str) -> bool:
    return labels.COMPANY.search(part) is not None and not any(letter.isdigit() for letter in part)


def has_other_owner(page: Sequence[TextLine], name: str) -> bool:
    """Whether a foot names, with its numbers, a company that has no word of this name, which is none of a company:
    `Blitzblank` may be a brand of whoever has these numbers."""
    if labels.COMPANY.search(name):
        return False
    words = list_long_words(name)
    if any(not words & list_long_words(company) for text in _list_feet(page) for company in _list_companies(text)):
        return True
    near = list(_list_names_near_feet(page))
    return any(map(labels.COMPANY.search, near)) and not any(words & list_long_words(text) for text in near)


def _list_names_near_feet(page: Sequence[TextLine]) -> Iterator[str]:
    """What heads a column, or a line of its own, near the numbers of a foot: of names in several lines the numbers are
    those of whichever it is."""
    begin = int(len(page) * business_marks.FOOT)
    numbered = [at for at in range(begin, len(page)) if any(map(business_marks.is_own_number, page[at].cells))]
    for at in range(begin, len(page)):
        line = page[at]
        if not any(abs(at - number) <= _NEAR_LINES and page[number].page == line.page for number in numbered):
            continue
        for number, cell in enumerate(line.cells[:_MAX_CELLS]):
            name = parse_name(cell.text[:_MAX_TEXT])
            if name is None or is_financier(name):
                continue
            if is_third_party(line, number, name) or is_buyer_cell(page, at, number):
                continue
            yield name


def is_addressed_below_another(page: Sequence[TextLine], name: str) -> bool:
    """Whether this is whom the letter is written to, and another company stands above: that the foot names it again, as
    a slip does, makes it no supplier."""
    addressed = next((address.line for address in list_bare_addresses(page) if address.is_of(name)), None)
    if addressed is None:
        return False
    ours = normalize_name(name)
    above = (cell.text[:_MAX_TEXT] for line in page[:addressed] for cell in line.cells[:_MAX_CELLS])
    return any(_is_company(text) and ours not in normalize_name(text) for text in above)


def _list_feet(page: Sequence[TextLine]) -> Iterator[str]:
    """The cells of the lower half that have a number of a business."""
    for line in page[len(page) // 2 :]:
        for cell in line.cells[:_MAX_CELLS]:
            if business_marks.is_own_number(cell):
                yield cell.text[:_MAX_TEXT]


def _list_companies(text: str) -> Iterator[str]:
    """Not a bank, nor what a part of a foot calls one: `Bank: Lakeland Trust Ltd`."""
    for part in _SEPARATOR.split(text):
        if not is_financier(part):
            yield from (match[0] for match in _WORDS_AND_FORM.finditer(part))
