"""The supplier of an invoice: the one name on the page that is not the customer's."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from statistics import median

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import kind_words, labels
from ingestion.extract.account_holder import find_account_holder
from ingestion.extract.company_names import begins_alike, normalize_name, parse_name
from ingestion.extract.tax_ids import find_tax_ids
from ingestion.extract.values import is_money

_WEB = re.compile(r"(?:www\.|https?://(?:www\.)?|@)([a-z0-9][a-z0-9-]{2,40})\.[a-z]{2,}", re.IGNORECASE)
# Mail providers that give addresses to anybody: such a domain names no supplier. By its first label, since each has
# one domain in many countries.
_FREE_MAIL = {
    domain.partition(".")[0]
    for domain in files("ingestion.extract").joinpath("free_mail_domains.txt").read_text().split()
}
_MAIL = re.compile(r"(?P<local>[\w.+-]{1,60})@(?P<domain>[\w-]{1,60})\.")
_NAME_LABEL = re.compile(r"^\W*(?:name|firma|company|nom|naam|nazwa|nome|nombre|název|navn|namn)\W*$", re.IGNORECASE)

_SENDER_PARTS = re.compile(r"[,●•|·]|\s[-–—]\s")
_HOUSE = re.compile(r"\s\d{1,4}\s?[a-zA-Z]?$")  # a street's number ends it
_TOWN = re.compile(r"(?:[A-Z]{1,2}-)?\d{4,5}\s+[^\W\d]")  # a postcode and its town

_FAR_BESIDE = 150.0  # points: what is farther from a label is in another column of the page
_HEAD_LINES = 8
_MAX_CELLS = 12  # of a line
_MAX_LINE = 400  # letters
_BLOCK_LINES = 7
_COLUMN_LINES = 12
_SAME_COLUMN = 3.0  # points
_FOOT = 0.8  # of the lines stand above it
_MIN_REGISTER_DIGITS = 5
_BLOCK_GAP = 1.8  # of a line's height: more between two lines parts their blocks

# How sure a name must be, and how far ahead of the next.
_ENOUGH = 3.0
_AHEAD = 1.0
_LARGE = 1.3  # of the height of most lines: the type of a letter head

# What says that a name is the supplier's. Where it stands, and how large, says little: a slogan is larger, and some
# begin with whom they write to.
_SIGNS = frozenset(
    {"label", "sender line", "number", "column", "domain", "domain in foot", "mail", "company", "holder", "imprint"}
)
_ENOUGH_SIGNS = 2
# The page calls it the seller; or begins with the name, and has its tax number and no other, or says who the customer
# is, who is another; or its letter head has the name of who holds the account; or a
# till printed it, whose receipts name nobody else.
_CERTAIN = (
    frozenset({"named"}),
    frozenset({"top", "number", "only number"}),
    frozenset({"top", "company", "other customer"}),
    frozenset({"letter head", "holder"}),
    frozenset({"top", "company", "till"}),
)
# A customer has a legal form, a tax number and a domain too, and stands in an envelope's window, which begins 4 cm
# below the edge. So there must be a place or a sign that no customer has.
_NO_CUSTOMERS = frozenset(
    {
        "till",
        "letter head",
        "foot",
        "label",
        "named",
        "sender line",
        "holder",
        "imprint",
        "domain in foot",
        "other customer",
    }
)
_LETTER_HEAD = 110.0  # points
# `From` and `Remit to` name stations and branches too.
_NO_NAMING = re.compile(r"^\W*(?:from|remit|service)\b", re.IGNORECASE)


@dataclass(slots=True)
class _Candidate:
    written: str
    score: float = 0.0
    reasons: set[str] = field(default_factory=set)

    def add_reason(self, reason: str, score: float) -> None:
        if reason not in self.reasons:
            self.reasons.add(reason)
            self.score += score


@dataclass(frozen=True, slots=True)
class Supplier:
    """`reasons` are what on the page speaks for the name."""

    name: str
    reasons: frozenset[str]

    @property
    def is_certain(self) -> bool:
        """Whether two signs agree: of one alone nobody knows whether it is a slogan's, a customer's or a partner's."""
        signs = self.reasons & _SIGNS
        if not self.reasons & _NO_CUSTOMERS:
            return False
        if "number" in signs:
            signs -= {"column"}  # the same number
        return len(signs) >= _ENOUGH_SIGNS or any(some <= self.reasons for some in _CERTAIN)


def find_supplier_name(page: Sequence[TextLine]) -> str | None:
    supplier = find_supplier(page)
    return None if supplier is None else supplier.name


def find_supplier(page: Sequence[TextLine]) -> Supplier | None:
    """Whose invoice it is; None unless one name is clearly ahead of all others."""
    return _choose_supplier(_gather_candidates(page))


def _gather_candidates(page: Sequence[TextLine]) -> dict[str, _Candidate]:
    candidates: dict[str, _Candidate] = {}
    customers: set[str] = set()
    domains = _find_domains(page)
    domains_in_foot = _find_domains(page[int(len(page) * _FOOT) :])
    last = max((line.page for line in page), default=0)
    usual = median(line.height for line in page) if page else 0.0
    for index, line in enumerate(page):
        # A row of a table names no supplier, and each of its cells would be compared with all others.
        for number, cell in enumerate(line.cells if len(line.cells) <= _MAX_CELLS else ()):
            labelled = _find_labelled_seller(page, index, number)
            if labelled:
                _get_candidate(candidates, labelled).add_reason("label", 4.0)
                if not _NO_NAMING.match(cell.text):
                    _get_candidate(candidates, labelled).add_reason("named", 0.0)
            if is_buyer_cell(page, index, number):
                if (customer := _parse_customer(cell.text)) is not None:
                    customers.add(normalize_name(customer))
                continue
            name = parse_name(_join_wrapped_name(page, index, number))
            if name and not _is_below_sender_line(page, index, number) and not _is_street(page, index, number):
                candidate = _get_candidate(candidates, name)
                _score_candidate(candidate, page, index, domains, last)
                if normalize_name(name) in domains_in_foot:
                    candidate.add_reason("domain in foot", 0.0)
                is_head = index < _HEAD_LINES and line.page == page[0].page
                # A line is as high as what it begins with.
                if is_head and number == 0 and line.height > _LARGE * usual:
                    candidate.add_reason("large", 1.5)
            if sender := _find_sender(line, number):
                _get_candidate(candidates, sender).add_reason("sender line", 4.0)
            if holder := find_account_holder(page, index, number):
                _get_candidate(candidates, holder).add_reason("holder", 2.0)
    is_from_till = not customers and _is_from_till(page)
    for key, candidate in candidates.items():
        if customers and key not in customers:
            candidate.add_reason("other customer", 0.0)
        if is_from_till:
            candidate.add_reason("till", 0.0)
    return candidates


def _parse_customer(text: str) -> str | None:
    """Below a heading, or behind a label: `Thank you for your visit` names nobody."""
    return parse_name(text.partition(":")[2].strip() if labels.BUYER.search(text) else text)


def _is_from_till(page: Sequence[TextLine]) -> bool:
    """Whether an amount was paid there and then."""
    return any(
        kind_words.PAID_AT_TILL.match(line.cells[0].text) and is_money(line.cells[1].text)
        for line in page
        if len(line.cells) > 1
    )


def _choose_supplier(candidates: dict[str, _Candidate]) -> Supplier | None:
    numbered = [candidate for candidate in candidates.values() if "number" in candidate.reasons]
    if len(numbered) == 1:
        numbered[0].add_reason("only number", 1.0)
    ranked = sorted(candidates.values(), key=lambda candidate: -candidate.score)
    if not ranked or ranked[0].score < _ENOUGH:
        return None
    best, *others = ranked
    # `Lumen` over the letter, and `Lumen Software Limited` in its foot.
    longer = [other for other in others if other.written.lower().startswith(f"{best.written} ".lower())]
    rivals = [other for other in others if other not in longer]
    if rivals and best.score - rivals[0].score < _AHEAD:
        return None
    companies = [other for other in longer if labels.COMPANY.search(other.written)]
    if not labels.COMPANY.search(best.written) and len(companies) == 1:
        return Supplier(companies[0].written, frozenset(best.reasons | companies[0].reasons))
    return Supplier(best.written, frozenset(best.reasons))


def _join_wrapped_name(page: Sequence[TextLine], index: int, number: int) -> str:
    """A cell, with what is above it where it is the rest of a name: `Pty Ltd` below `Southern Roast Coffee`."""
    cell = page[index].cells[number]
    match = labels.COMPANY.search(cell.text)
    if not match or re.sub(r"\W", "", labels.COMPANY.sub("", cell.text)) or index == 0:
        return cell.text
    above = page[index - 1]
    names = [other.text for other in above.cells if abs(other.left - cell.left) < 3 and above.page == page[index].page]
    return f"{names[0]} {cell.text}" if names else cell.text


def is_buyer_cell(page: Sequence[TextLine], line_index: int, cell_index: int) -> bool:
    """Whether a cell belongs to the customer: by a word beside it, or by the nearest heading above in its column."""
    line = page[line_index]
    cell = line.cells[cell_index]
    near = [other for other in line.cells[max(0, cell_index - 1) : cell_index] if cell.left - other.right < _FAR_BESIDE]
    beside = " ".join(other.text for other in (*near, cell))
    if labels.SELLER.search(cell.text):
        return False
    if labels.BUYER.search(beside):
        return True
    if cell_index == 1 and _NAME_LABEL.match(line.cells[0].text):
        return is_buyer_cell(page, line_index, 0)  # of a form, whose labels stand below the heading
    lowest = line.top
    for above in reversed(page[max(0, line_index - 8) : line_index]):
        height = max(line.height, above.height)
        if above.page != line.page or line.top - above.top > 9 * height:
            return False
        for other in above.cells:
            if abs(other.left - cell.left) > 12:
                continue
            if labels.SELLER.search(other.text):
                return False
            is_apart = lowest - above.top > _BLOCK_GAP * height
            lowest = above.top
            if (match := labels.BUYER.search(other.text)) and len(other.text) < 40:
                # A heading alone may stand apart from its block; `Client: Northern` is a block that has ended.
                return not is_apart or not other.text[match.end() :].strip(" :")
            if is_apart:
                return False
    return False


def _find_sender(line: TextLine, number: int) -> str | None:
    """In a cell; or over several, which marks between its parts make of a line."""
    cell = line.cells[number]
    if number == 0 and any(re.fullmatch(r"[●•|·–—-]", other.text) for other in line.cells[1:3]):
        return _find_sender_in_line(" ".join(other.text for other in line.cells[:_MAX_CELLS]))
    return _find_sender_in_line(cell.text)


def _find_sender_in_line(text: str) -> str | None:
    """`Malerbetrieb Kunz, Hauptstr. 1, 10115 Berlin`: the line over an envelope's window begins with the sender."""
    parts = [part.strip() for part in _SENDER_PARTS.split(text)]
    town = next((number for number, part in enumerate(parts) if number and _TOWN.match(part)), None)
    # A company with a postcode of its own names no street.
    least = 2 if labels.COMPANY.search(parts[0]) else 3
    if len(parts) < least or town is None:
        return None
    # `Kwekerijweg 8, 2691 KP …`: without a street in between the first part is the street.
    if _HOUSE.search(parts[0]) and not any(_HOUSE.search(part) for part in parts[1:town]):
        return None
    return parse_name(parts[0])


def _is_street(page: Sequence[TextLine], line_index: int, cell_index: int) -> bool:
    """`Langestraat 88` over `3811 AK Amersfoort`."""
    cell = page[line_index].cells[cell_index]
    below = next(_list_block(page, line_index, cell, 1), None)
    return _HOUSE.search(cell.text) is not None and below is not None and _TOWN.match(below[1].text) is not None


def _is_below_sender_line(page: Sequence[TextLine], line_index: int, cell_index: int) -> bool:
    """Whether a cell stands in an envelope's window, close below the sender's line: it is the addressee."""
    line = page[line_index]
    cell = line.cells[cell_index]
    for above in reversed(page[max(0, line_index - 4) : line_index]):
        if above.page != line.page or line.top - above.top > 6 * line.height:
            return False
        if any(abs(other.left - cell.left) < 40 and _find_sender_in_line(other.text) for other in above.cells):
            return True
    return False


def _score_candidate(
    candidate: _Candidate, page: Sequence[TextLine], index: int, domains: set[str], last_page: int
) -> None:
    line = page[index]
    if labels.COMPANY.search(candidate.written):
        candidate.add_reason("company", 3.0)
    if normalize_name(candidate.written) in domains:
        candidate.add_reason("domain", 3.0)
    elif any(begins_alike(candidate.written, domain) for domain in domains):
        candidate.add_reason("domain", 0.0)
    if index < 3 and line.page == page[0].page:
        candidate.add_reason("top", 1.0)
    if line.top < _LETTER_HEAD and line.page == page[0].page:
        candidate.add_reason("letter head", 0.0)
    if line.page in (page[0].page, last_page) and index > len(page) * _FOOT:
        candidate.add_reason("foot", 0.5)
        if _is_imprint(page, index, candidate.written):
            candidate.add_reason("imprint", 0.0)
    if "seen" in candidate.reasons:
        candidate.add_reason("again", 1.0)
    candidate.add_reason("seen", 0.0)
    if _has_own_number_near(page, index, candidate.written):
        candidate.add_reason("number", 2.0)
    elif _has_own_number_in_column(page, index, candidate.written):
        candidate.add_reason("column", 0.0)
    if _has_address_with_last_name_below(page, index, candidate.written):
        candidate.add_reason("mail", 2.0)


# What stands beside a business's name in the foot of its paper.
_OF_IMPRINT = labels.match_any(
    r"\b(?:tel|phone|fon|telefon|tél|www|iban|bic|bankgiro|capital|kapital|krs|c\.?s\.?v|registered|inscrita|amtsgericht|rcs|sitz)\b|@",
    r"\b(?:geschäftsführ\w{1,4}|vorstand|managing\s+director|directeur|gérant|bestuurder)\b",
    labels.REGISTER.pattern,
    labels.VAT_ID.pattern,
)


def _is_imprint(page: Sequence[TextLine], index: int, name: str) -> bool:
    cell = next((cell for cell in page[index].cells if name in cell.text), None)
    if cell is None:
        return False
    own = [page[index].text, *(found.text for _, found in _list_block(page, index, cell, 1))]
    return any(_OF_IMPRINT.search(text[:_MAX_LINE]) for text in own)


def _has_own_number_near(page: Sequence[TextLine], index: int, name: str) -> bool:
    """A tax number in the same line, or below in the block that the name heads: who has one there is a business."""
    cell = next((cell for cell in page[index].cells if name in cell.text), page[index].cells[0])
    own = [index] if any(map(_is_own_number, page[index].cells)) else []
    if index > len(page) * _FOOT and labels.COMPANY.search(name):
        # A foot has the numbers in columns of their own.
        own += [at for at in range(index, min(index + 3, len(page))) if any(map(_is_own_number, page[at].cells))]
    below = _list_block(page, index, cell, 1)
    own += [at for at, found in below if _is_own_number(found)]
    if not own:
        return False
    # A street below the name has the number below it too.
    above = next(_list_block(page, index, cell, -1), None)
    is_first = above is None or labels.BARE_DOCUMENT.match(above[1].text) is not None
    return is_first or (labels.COMPANY.search(name) is not None and own[0] - index <= 2)


_ENDS_COLUMN = labels.match_any(
    labels.BUYER.pattern,
    labels.COMPANY.pattern,
    labels.INVOICE_WORD.pattern,
    labels.INVOICE_NUMBER.pattern,
    r"\d[.,]\d{2}\b",
)


def _has_own_number_in_column(page: Sequence[TextLine], index: int, name: str) -> bool:
    """A tax number farther below in the column that a company heads, with gaps between address, web and numbers."""
    cell = next((cell for cell in page[index].cells if name in cell.text), None)
    if cell is None or not labels.COMPANY.search(name):
        return False
    for line in page[index + 1 : index + _COLUMN_LINES]:
        if line.page != page[index].page:
            return False
        for other in line.cells[:_MAX_CELLS]:
            if abs(other.left - cell.left) > _SAME_COLUMN:
                continue
            if _is_own_number(other):
                return True
            if _ENDS_COLUMN.search(other.text):
                return False
    return False


def _list_block(page: Sequence[TextLine], index: int, cell: TextCell, step: int) -> Iterator[tuple[int, TextCell]]:
    """The cells below a cell (or above it, with `step` -1) that no gap parts from it, at its left or right edge."""
    near = page[index]
    for at in range(index + step, index + step * _BLOCK_LINES, step):
        if not 0 <= at < len(page) or page[at].page != near.page:
            return
        line = page[at]
        found = next(
            (o for o in line.cells if abs(o.left - cell.left) < 12 or abs(o.right - cell.right) < 3),
            None,
        )
        if abs(line.top - near.top) > _BLOCK_GAP * max(line.height, near.height):
            return
        if found is not None:
            near = line
            yield at, found


def _is_own_number(cell: TextCell) -> bool:
    if labels.BUYER.search(cell.text):
        return False
    match = labels.REGISTER.search(cell.text)
    if match and sum(letter.isdigit() for letter in cell.text[match.end() :]) >= _MIN_REGISTER_DIGITS:
        return True
    return bool(labels.VAT_ID.search(cell.text) and find_tax_ids(cell.text))


def _has_address_with_last_name_below(page: Sequence[TextLine], index: int, name: str) -> bool:
    """`Sammy Maystone` over `smaystone4@…` or `sammy@maystone.example`: an address that the last word is in."""
    words = [word.lower() for word in re.findall(r"[^\W\d_]{4,}", name)]
    cell = next((cell for cell in page[index].cells if name in cell.text), None)
    if not words or cell is None:
        return False
    below = [line.text[:_MAX_LINE] for line in page[index + 1 : index + 3]]
    below += [other.text for _, other in _list_block(page, index, cell, 1)]
    return any(
        words[-1] in match["local"].lower()
        or any(word in match["domain"].lower() not in _FREE_MAIL for word in (*words[:1], words[-1]))
        or (words[0] == match["local"].lower() and match["domain"].lower() not in _FREE_MAIL)
        for text in below
        for match in _MAIL.finditer(text)
    )


def _get_candidate(candidates: dict[str, _Candidate], name: str) -> _Candidate:
    candidate = candidates.setdefault(normalize_name(name), _Candidate(name))
    if labels.COMPANY.search(name) and not labels.COMPANY.search(candidate.written):
        candidate.written = name  # the one with its legal form is the whole name
    return candidate


def _find_domains(page: Sequence[TextLine]) -> set[str]:
    """Those of web and mail addresses, without those of the customer."""
    found = {
        match[1].lower()
        for index, line in enumerate(page)
        for number, cell in enumerate(line.cells[:_MAX_CELLS])
        for match in _WEB.finditer(cell.text)
        if not is_buyer_cell(page, index, number)
    }
    return {re.sub(r"[^a-z0-9]", "", domain) for domain in found - _FREE_MAIL}


def _find_labelled_seller(page: Sequence[TextLine], index: int, number: int) -> str | None:
    cell = page[index].cells[number]
    match = labels.SELLER.search(cell.text)
    if not match or labels.BUYER.search(cell.text):
        return None
    for text in _list_texts_for_label(page, index, number, match.end()):
        if name := parse_name(text.lstrip(" :")):
            return name
    return None


def _list_texts_for_label(page: Sequence[TextLine], index: int, number: int, end: int) -> Iterator[str]:
    line = page[index]
    cell = line.cells[number]
    rest = cell.text[end:].strip(" :")
    if len(rest) > 1:
        yield rest
        return
    if cell.text.rstrip().endswith(":") and number + 1 < len(line.cells):
        yield line.cells[number + 1].text
    for below in page[index + 1 : index + 5]:
        for position, other in enumerate(below.cells):
            if abs(other.left - cell.left) < 12:
                # A form: `Name:` and the name beside it.
                is_form = _NAME_LABEL.match(other.text) and position + 1 < len(below.cells)
                yield below.cells[position + 1].text if is_form else other.text
