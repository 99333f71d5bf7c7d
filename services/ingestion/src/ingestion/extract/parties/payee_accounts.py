"""The account that an invoice is to be paid to."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.parties.account_names import is_below_another_company, is_of_customer
from ingestion.extract.parties.account_words import (
    AccountWords,
    is_account_of_assignee,
    is_page_of_assignment,
    is_plain_label,
    weigh_words,
)
from ingestion.extract.parties.bare_addresses import list_addressee_lines
from ingestion.extract.parties.customer_accounts import (
    is_below_debit,
    is_customers_account,
    tells_of_debit,
    tells_of_own_account,
)
from ingestion.extract.parties.customer_cells import is_buyer_cell

_MAX_ACCOUNTS = 50  # of a page: no supplier has more, and each has its surroundings
_MIN_SHARE_OF_HEIGHT = 0.6  # of that of the largest account on the page
_FOOT = 0.75  # of a page
_SAME_COLUMN = 12.0  # points
_LIST_GAP = 8.0  # of a line's height: what stands farther below is another block of accounts


def list_read_lines(page: Sequence[TextLine], lines: Sequence[TextLine]) -> list[TextLine]:
    """Those of `lines` that a person reads for the account: not what is much smaller than an account on the page that
    is not the customer's. Whoever wants to be paid in a supplier's place may write his own where a machine looks first
    and no eye does."""
    tallest = max((page[place.line].height for place in _list_accounts(page)), default=0.0)
    return [line for line in lines if line.height >= _MIN_SHARE_OF_HEIGHT * tallest]


@dataclass(frozen=True, slots=True)
class PayeeAccounts:
    """The accounts that a page may ask to pay to, the likeliest first. Where they are not certain, nothing tells which
    of them is meant."""

    ibans: tuple[str, ...] = ()
    is_certain: bool = True


@dataclass(frozen=True, slots=True)
class _Place:
    line: int
    iban: str


def find_iban(page: Sequence[TextLine], currency: str | None = None, supplier_name: str | None = None) -> str | None:
    accounts = find_payee_accounts(page, currency, supplier_name)
    return accounts.ibans[0] if accounts.ibans and accounts.is_certain else None


def find_payee_accounts(
    page: Sequence[TextLine], currency: str | None = None, supplier_name: str | None = None
) -> PayeeAccounts:
    """Those whose check digits are right and that are not the customer's. Suppliers list several of theirs: in one
    block the first counts. In two places one of them may be the old one, or somebody else's."""
    accounts = list(_list_accounts(page))
    tallest = max((page[place.line].height for place in accounts), default=0.0)
    read = [place for place in accounts if page[place.line].height >= _MIN_SHARE_OF_HEIGHT * tallest][:_MAX_ACCOUNTS]
    if not read:
        polish = (iban for index in range(len(page)) for iban in _find_polish_account(page, index, currency))
        return PayeeAccounts(tuple(polish)[:1])
    read = [place for place in read if not is_of_customer(page, place.line, place.iban, supplier_name)]
    is_assigned = is_page_of_assignment(page)
    distinct = tuple(dict.fromkeys(place.iban for place in read))
    weigh = partial(weigh_words, page, currency=currency, is_assigned=is_assigned, supplier_name=supplier_name)
    if is_assigned and len(distinct) > 1:
        of_assignee = {place.iban for place in read if is_account_of_assignee(page, place.line, place.iban)}
        read = [place for place in read if place.iban in of_assignee]
        if len(of_assignee) != 1 or not all(weigh(place.line, place.iban) is AccountWords.PLAIN for place in read):
            return PayeeAccounts(distinct, is_certain=False)
    weighed = [(place, weigh(place.line, place.iban)) for place in read]
    possible = [place for place, words in weighed if words in (AccountWords.PLAIN, AccountWords.UNKNOWN)]
    in_sentence = {place.iban for place, words in weighed if words is AccountWords.IN_SENTENCE}
    if in_sentence and any(place.iban not in in_sentence for place in possible):
        return PayeeAccounts(distinct, is_certain=False)
    plain = tuple(dict.fromkeys(place.iban for place, words in weighed if words is AccountWords.PLAIN))
    if len({place.iban for place in possible}) <= 1 or not plain:
        return PayeeAccounts(plain)
    return _choose_among(page, possible, plain, supplier_name)


def _choose_among(
    page: Sequence[TextLine], places: Sequence[_Place], plain: tuple[str, ...], supplier_name: str | None
) -> PayeeAccounts:
    places = [place for place in places if not is_below_another_company(page, place.line, place.iban, supplier_name)]
    if not places:
        return PayeeAccounts(plain, is_certain=False)
    everywhere = set.intersection(*({place.iban for place in block} for block in _list_blocks(page, places)))
    listed = (place for place in places if place.iban in everywhere)
    first = next((place for place in listed if is_plain_label(page, place.line, place.iban, supplier_name)), None)
    own = tuple(dict.fromkeys(place.iban for place in places))
    if first is None or first.iban not in plain:
        return PayeeAccounts(own, is_certain=False)
    return PayeeAccounts(tuple(dict.fromkeys((first.iban, *own))))


def _list_blocks(page: Sequence[TextLine], places: Sequence[_Place]) -> list[list[_Place]]:
    """Accounts that stand close below each other: a list of the banks, or a foot."""
    blocks: list[list[_Place]] = []
    for place in places:
        last = page[blocks[-1][-1].line] if blocks else None
        line = page[place.line]
        is_near = last is not None and last.page == line.page and abs(line.top - last.top) <= _LIST_GAP * line.height
        if is_near:
            blocks[-1].append(place)
        else:
            blocks.append([place])
    return blocks


def _list_accounts(page: Sequence[TextLine]) -> Iterator[_Place]:
    """Those that are not the customer's, with the numbers of their lines."""
    is_debited = tells_of_debit(page)
    lowest = max((line.top for line in page), default=0.0)
    addressee = list_addressee_lines(page)
    for index, line in enumerate(page):
        if index in addressee or _is_buyers_line(page, index):
            continue
        # Of whom money is taken may stand anywhere, and who takes it in the foot.
        if is_debited and line.top < _FOOT * lowest and not tells_of_own_account(line.text):
            continue
        for iban in [*values.find_ibans(line.text), *_find_broken(page, index)]:
            if not is_customers_account(page, index, line.text.find(iban[:4])):
                yield _Place(index, iban)


def _is_buyers_line(page: Sequence[TextLine], index: int) -> bool:
    if _TO_US.search(page[index].text):
        return False
    return any(labels.BUYER.search(cell.text) for cell in page[index].cells) or is_buyer_cell(page, index, 0)


_TO_US = re.compile(r"\binvoice\s+to\s+our\b", re.IGNORECASE)  # `Please pay this invoice to our account`


_REST_OF_ACCOUNT = re.compile(r"[A-Z0-9 ]{1,24}")


def _find_broken(page: Sequence[TextLine], index: int) -> Iterator[str]:
    """Accounts of which the line below, in the same cell, has the end and nothing else."""
    line = page[index]
    below = page[index + 1] if index + 1 < len(page) and page[index + 1].page == line.page else None
    for cell in line.cells if below is not None else ():
        rest = next(
            (other.text for other in (below.cells if below else ()) if abs(other.left - cell.left) < _SAME_COLUMN), ""
        )
        if not _REST_OF_ACCOUNT.fullmatch(rest) or is_below_debit(page, index):
            continue
        if next(values.find_ibans(cell.text), None) is None:
            yield from values.find_ibans(f"{cell.text} {rest}")


# An account of Poland, as it is written at home: without its country.
_POLISH_ACCOUNT = re.compile(
    r"\b(?:kont[ao]|rachun\w{1,4}|nrb|bank\w{0,3})\b\D{0,40}(\d{2}(?: ?\d{4}){6})(?!\d)", re.IGNORECASE
)


def _find_polish_account(page: Sequence[TextLine], index: int, currency: str | None) -> Iterator[str]:
    line = page[index]
    match = _POLISH_ACCOUNT.search(line.text)
    if match is None or _is_buyers_line(page, index) or is_customers_account(page, index, match.start(1)):
        return
    for iban in values.find_ibans(f"PL{match[1]}"):
        words = weigh_words(page, index, iban[2:], currency=currency, is_assigned=is_page_of_assignment(page))
        if words is AccountWords.PLAIN:
            yield iban
