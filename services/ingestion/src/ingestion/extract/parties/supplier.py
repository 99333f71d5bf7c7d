"""The supplier of an invoice: the one name on the page that is not the customer's, nor anybody else's."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels
from ingestion.extract.page_blocks import find_cell, list_block
from ingestion.extract.parties import business_marks as marks
from ingestion.extract.parties.account_holder import find_account_holder
from ingestion.extract.parties.addressing_words import is_addressee
from ingestion.extract.parties.bare_addresses import BareAddress, list_bare_addresses
from ingestion.extract.parties.company_names import begins_alike, contains_name, is_domain, normalize_name, parse_name
from ingestion.extract.parties.customer_cells import (
    NAME_IN_FORM,
    NAME_LABEL,
    SURNAME_IN_FORM,
    find_buyer_label,
    names_customer,
    parse_customer,
)
from ingestion.extract.parties.other_companies import (
    has_companies_beside,
    has_other_owner,
    is_addressed_below_another,
)
from ingestion.extract.parties.sender_line import (
    HOUSE,
    TOWN,
    find_sender,
    is_below_sender_line,
    is_town,
    stands_over_window,
)
from ingestion.extract.parties.supplier_signs import Candidate, Sign, has_legal_form, is_contradicted, is_enough
from ingestion.extract.parties.third_parties import is_third_party, is_written_for_another, names_other_contractor
from ingestion.extract.parties.wrapped_names import join_wrapped_name, may_go_on_below
from ingestion.extract.titles import kind_words
from ingestion.extract.values import is_money, mask_dates

_HEAD_LINES = 8
_MAX_CELLS = 12  # of a line
_NEAR_LABEL = 5  # lines
_NARROW = 30.0  # times a line's height: what a till prints on

# How sure a name must be, and how far ahead of the next.
_ENOUGH = 3.0
_AHEAD = 1.0
_NUMBER_OF_SELLER = re.compile(
    rf"(?:{labels.REGISTER.pattern}|\b(?:steuer-?\s?(?:nummer|nr)|st\.?-?\s?nr)\b)\W{{0,12}}\d[\d ./-]{{4,}}",
    re.IGNORECASE,
)
_BRAND_LINES, _LONGEST_BRAND = 3, 40  # letters
_MAX_CERTAIN = 8  # of a page with more nobody knows which it is
_LARGE = 1.3  # of the height of most lines: the type of a letter head

_IN_HEAD = frozenset({Sign.LETTER_HEAD, Sign.TOP, Sign.HEADS_BLOCK})
_IN_FOOT = frozenset({Sign.IMPRINT, Sign.NUMBER_OF_FOOT})
_LETTER_HEAD = 110.0  # points: a customer stands in an envelope's window, which begins 4 cm below the edge
_UPPER_PART = 300.0  # points
# Below the invoice a slip to pay with names who pays as well, and whom.
_SLIP = re.compile(
    r"\b(?:remittance\s+(?:advice|slip)|payment\s+slip|(?:please\s+)?detach|bank\s+giro\s+credit|zahlschein|zahlteil|empfangsschein|überweisungsträger|talon|bulletin\s+de\s+(?:versement|paiement)"
    r"|section\s+paiement|tilisiirto|inn?betal(?:nings|ings)kort|girokort|giroindbetaling|bollettino|polizza\s+di\s+versamento|sezione\s+pagamento|acceptgiro|polecenie\s+przelewu|složenka)\b",
    re.IGNORECASE,
)
# Who sold it may be one of the seller's people: `Verkäufer: Anna Kunz`.
_SALESPERSON = re.compile(
    r"^\W*(?:verkäufer(?:in)?|verkauft\s+(?:durch|von)|vendeu(?:r|se)|vendue?s?\s+par|vendedora?|vendid[oa]\s+por|venditore|vendut[oa]\s+da|verkoper|verkocht\s+door|s[æä]lger|säljare"
    r"|s[æä]lj?[egt]s?\s+a[fv]|(?:sold|issued)\s+by|sprzedawca|sprzedawan[ey]\s+przez|wystawca|prodávající|emitente|emisor)\b",
    re.IGNORECASE,
)
_CAPITAL = re.compile(r"\b(?:\w{0,6}kapital|capitale?|kapitał\w?)\b", re.IGNORECASE)
# `From` and `Remit to` name stations and branches too.
_NO_NAMING = re.compile(r"^\W*(?:from|remit|service)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Supplier:
    """`signs` are what on the page speaks for the name. `is_certain`: enough of them agree, and none contradicts."""

    name: str
    signs: frozenset[Sign]
    is_certain: bool


@dataclass(frozen=True, slots=True)
class _Page:
    """A page with what is looked for once."""

    lines: Sequence[TextLine]
    domains: set[str]
    domains_in_foot: set[str]
    domains_of_mail: set[str]
    domains_of_web: set[str]
    addresses: Sequence[BareAddress]
    slip: int
    last_page: int
    usual_height: float

    def is_on_first(self, line: TextLine) -> bool:
        return line.page == self.lines[0].page

    def is_in_foot(self, index: int) -> bool:
        is_outer = self.lines[index].page in (self.lines[0].page, self.last_page) and index < self.slip
        return is_outer and index > len(self.lines) * marks.FOOT


def find_supplier(page: Sequence[TextLine]) -> Supplier | None:
    """Whose invoice it is; None unless one name is clearly ahead of all others."""
    supplier = _choose_supplier(_gather_names(page))
    if supplier is None or not supplier.is_certain or Sign.NAMED in supplier.signs:
        return supplier
    is_doubtful = (
        # A marketplace writes invoices for its sellers under its own head.
        is_written_for_another(page)
        or names_other_contractor(page, supplier.name)
        or has_companies_beside(page, supplier.name)
        or has_other_owner(page, supplier.name)
        or may_go_on_below(page, supplier.name)
        or is_addressed_below_another(page, supplier.name)
    )
    return replace(supplier, is_certain=False) if is_doubtful else supplier


@dataclass(slots=True)
class _Names:
    """Those of a page, by what they are without their legal form. `customers` are all that may be the customer's;
    `has_customer`: one of them is for certain."""

    candidates: dict[str, Candidate] = field(default_factory=dict)
    customers: set[str] = field(default_factory=set)
    tax_ids: set[str] = field(default_factory=set)
    has_customer: bool = False

    def get_candidate(self, name: str) -> Candidate:
        candidate = self.candidates.setdefault(normalize_name(name), Candidate(name))
        if labels.COMPANY.search(name) and not has_legal_form(candidate):
            candidate.written = name  # the one with its legal form is the whole name
        return candidate


def _gather_names(lines: Sequence[TextLine]) -> _Names:
    page = _look_over(lines)
    names = _Names()
    for index, line in enumerate(lines):
        # A row of a table names no supplier, and each of its cells would be compared with all others.
        for number, cell in enumerate(line.cells if len(line.cells) <= _MAX_CELLS else ()):
            _add_labelled(names, lines, index, number)
            if _add_customer(names, lines, index, number):
                continue
            names.tax_ids.update(marks.list_tax_ids(cell))
            _add_name(names, page, index, number)
            if holder := find_account_holder(lines, index, number):
                names.get_candidate(holder).add(Sign.HOLDER, 2.0)
                if not page.is_in_foot(index):
                    names.get_candidate(holder).add(Sign.HOLDER_ABOVE_FOOT)
    _join_head_and_foot(names)
    _add_brand(names, page)
    _add_signs_of_page(names, lines)
    return names


def _add_customer(names: _Names, lines: Sequence[TextLine], index: int, number: int) -> bool:
    label = find_buyer_label(lines, index, number)
    is_addressed = label is None and is_addressee(lines, index, number)
    if label is None and not is_addressed:
        return False
    if (customer := parse_customer(lines[index].cells[number].text)) is not None:
        names.customers.add(normalize_name(customer))
        names.has_customer |= label is None or names_customer(label)
    return True


def _look_over(lines: Sequence[TextLine]) -> _Page:
    foot = int(len(lines) * marks.FOOT)
    upper = [line for line in lines[:foot] if line.page == lines[0].page and line.top < _UPPER_PART]
    return _Page(
        lines,
        marks.find_domains(lines),
        marks.find_domains(lines[foot:]),
        marks.find_domains(upper, only_mail=True),
        marks.find_domains(lines) - marks.find_domains(lines, only_mail=True),
        list_bare_addresses(lines),
        _find_slip(lines),
        max((line.page for line in lines), default=0),
        median(line.height for line in lines) if lines else 0.0,
    )


def _find_slip(lines: Sequence[TextLine]) -> int:
    lower = range(len(lines) // 2 + 1, len(lines))
    return next((index for index in lower if _SLIP.search(lines[index].text)), len(lines))


def _add_labelled(names: _Names, lines: Sequence[TextLine], index: int, number: int) -> None:
    labelled = _find_labelled_seller(lines, index, number)
    label = lines[index].cells[number].text
    if labelled is None or (_SALESPERSON.match(label) and not _is_business(lines, index, labelled)):
        return
    names.get_candidate(labelled).add(Sign.LABEL, 4.0)
    if not _NO_NAMING.match(label):
        names.get_candidate(labelled).add(Sign.NAMED)


def _is_business(lines: Sequence[TextLine], index: int, name: str) -> bool:
    """Whether a name behind such a label has a legal form, an address or a number: a clerk has none of them."""
    # A heading with a name below it is the seller's; a clerk stands in the label's line.
    if labels.COMPANY.search(name) or find_cell(lines[index], name) is None:
        return True
    for at in range(index, min(index + _NEAR_LABEL, len(lines))):
        if (cell := find_cell(lines[at], name)) is not None:
            below = [other for _, other in list_block(lines, at, cell, 1)]
            return any(is_town(other.text) or marks.is_own_number(other) for other in below)
    return False


def _add_name(names: _Names, page: _Page, index: int, number: int) -> None:
    lines, line = page.lines, page.lines[index]
    name = parse_name(join_wrapped_name(lines, index, number))
    sender = find_sender(line, number)
    is_over_window = sender is not None and stands_over_window(lines, index, number)
    if name and is_third_party(line, number, name):
        return
    if name and _is_street_of_line(line.cells[number].text, name):
        name = None
    if name and not is_below_sender_line(lines, index, number) and not _is_street(lines, index, number):
        candidate = names.get_candidate(name)
        candidate.rows.add(index)
        _score_name(candidate, page, index, number)
        # The line over a window is one sign; a letter head may be one line too.
        if not is_over_window and not _is_street_or_row(candidate, line):
            _add_own_signs(candidate, page, index, number)
    if sender and not _is_address_of_company(lines, index, number, sender):
        candidate = names.get_candidate(sender)
        candidate.add(Sign.ADDRESS, 4.0)
        if is_over_window:
            candidate.add(Sign.SENDER_LINE)
        elif page.is_in_foot(index):
            candidate.add(Sign.IMPRINT)


def _is_street_or_row(candidate: Candidate, line: TextLine) -> bool:
    """`Ring 3` stands in head and foot as well, and so may what was sold, with its price; a company's capital is
    none."""
    is_street = HOUSE.search(candidate.written) is not None and not has_legal_form(candidate)
    return is_street or any(is_money(mask_dates(cell.text)) and not _CAPITAL.search(cell.text) for cell in line.cells)


def _score_name(candidate: Candidate, page: _Page, index: int, number: int) -> None:
    """What decides which name is ahead."""
    line, name = page.lines[index], candidate.written
    if has_legal_form(candidate):
        candidate.add(Sign.COMPANY, 3.0)
    if normalize_name(name) in page.domains:
        candidate.add(Sign.DOMAIN, 3.0)
    elif any(begins_alike(name, domain) for domain in page.domains):
        candidate.add(Sign.DOMAIN)
    if index < 3 and page.is_on_first(line):
        candidate.add(Sign.TOP, 1.0)
    # A line is as high as what it begins with.
    is_large = number == 0 and line.height > _LARGE * page.usual_height
    if is_large and index < _HEAD_LINES and page.is_on_first(line):
        candidate.add(Sign.LARGE, 1.5)
    if page.is_in_foot(index):
        candidate.add(Sign.FOOT, 0.5)
    if Sign.SEEN in candidate.signs:
        candidate.add(Sign.AGAIN, 1.0)
    candidate.add(Sign.SEEN)
    if marks.has_number_near(page.lines, index, name):
        candidate.add(Sign.NUMBER, 2.0)
    elif marks.has_number_in_column(page.lines, index, name):
        candidate.add(Sign.COLUMN)
    if marks.has_mail_below(page.lines, index, name):
        candidate.add(Sign.MAIL, 2.0)


def _add_own_signs(candidate: Candidate, page: _Page, index: int, number: int) -> None:
    """What decides whether the name is believed: nothing of it is somebody else's."""
    lines, line, name = page.lines, page.lines[index], candidate.written
    if index == 0 and number == 0:
        candidate.add(Sign.FIRST)
    is_in_head = line.top < _LETTER_HEAD and page.is_on_first(line)
    if page.is_in_foot(index) and not is_in_head:
        if marks.has_imprint(lines, index):
            candidate.add(Sign.IMPRINT)
        if marks.list_numbers_of_foot(lines, index):
            candidate.add(Sign.NUMBER_OF_FOOT)
        if marks.has_whole_foot(lines, index, name) and all(begins_alike(name, domain) for domain in page.domains):
            candidate.add(Sign.WHOLE_FOOT)
        if any(begins_alike(name, domain) for domain in page.domains_of_mail):
            candidate.add(Sign.DOMAIN_OF_MAIL)
    elif line.top < _UPPER_PART and page.is_on_first(line):
        _add_signs_of_head(candidate, page, index, number)
    if normalize_name(name) in page.domains_in_foot:
        candidate.add(Sign.DOMAIN_IN_FOOT)
    own = marks.list_own_cells(lines, index, line.cells[number], name)
    if any(map(marks.has_tax_id, own)):
        candidate.add(Sign.OWN_TAX_ID)
    of_own = set[str]().union(*map(marks.list_domains, own))
    if any(begins_alike(name, domain) for domain in of_own & page.domains):
        candidate.add(Sign.OWN_DOMAIN)
    if any(begins_alike(name, domain) for domain in page.domains_of_web - of_own):
        candidate.add(Sign.DOMAIN_OF_WEB)


def _add_signs_of_head(candidate: Candidate, page: _Page, index: int, number: int) -> None:
    line, name = page.lines[index], candidate.written
    cell = line.cells[number]
    own = marks.list_own_cells(page.lines, index, cell, name)
    candidate.add(Sign.UPPER)
    if any(address.line == index and address.is_of(name) for address in page.addresses):
        candidate.add(Sign.HAS_BARE_ADDRESS)
    if any(map(marks.is_own_number, own)):
        candidate.add(Sign.OWN_NUMBER)
    if marks.heads_its_block(page.lines, index, cell, name):
        candidate.add(Sign.HEADS_BLOCK)
    if line.top >= _LETTER_HEAD:
        return
    candidate.add(Sign.LETTER_HEAD)
    if any(map(marks.tells_of_seller, own)):
        candidate.add(Sign.CONTACT)
    if any(map(marks.tells_of_business, own)):
        candidate.add(Sign.OF_BUSINESS)
    lowest = max((at for at, other in list_block(page.lines, index, cell, 1) if other in own), default=index)
    if any(address.line > lowest and not address.is_of(name) for address in page.addresses):
        candidate.add(Sign.ADDRESS_BELOW)


def _join_head_and_foot(names: _Names) -> None:
    """`De Vries & Zn` over the letter, and `Groothandel De Vries & Zn B.V.` with its number in the foot, are one."""
    heads = [
        (key, head) for key, head in names.candidates.items() if head.signs >= _IN_HEAD and key not in names.customers
    ]
    feet = [foot for foot in names.candidates.values() if foot.signs >= _IN_FOOT and Sign.UPPER not in foot.signs]
    for foot in feet[:_MAX_CERTAIN]:
        within = [(key, head) for key, head in heads if contains_name(foot.written, head.written)]
        if len(within) == 1:
            ((key, head),) = within
            foot.signs |= head.signs
            foot.rows |= head.rows
            foot.score += head.score
            names.candidates.pop(key, None)


def _add_brand(names: _Names, page: _Page) -> None:
    """`bonjour café` in large letters over the page, and in its foot a company with its numbers and that domain, or
    with these words in its name."""
    heads = (line for line in page.lines[:_BRAND_LINES] if page.is_on_first(line) and line.top < _LETTER_HEAD)
    brand = next((line.cells[0].text for line in heads if line.height > _LARGE * page.usual_height), "")
    if not 0 < len(brand) <= _LONGEST_BRAND or labels.BARE_DOCUMENT.match(brand):
        return
    above = (
        cell for index, line in enumerate(page.lines) if not page.is_in_foot(index) for cell in line.cells[:_MAX_CELLS]
    )
    # Whoever sells under the brand has a number of his own: of the register, or at the tax office.
    if any(_NUMBER_OF_SELLER.search(cell.text) and not labels.BUYER.search(cell.text) for cell in above):
        return
    is_of_foot = any(is_domain(brand, domain) for domain in page.domains_in_foot)
    feet = [
        foot
        for foot in names.candidates.values()
        if foot.signs >= _IN_FOOT and has_legal_form(foot) and Sign.UPPER not in foot.signs
    ]
    for foot in feet[:_MAX_CERTAIN]:
        is_name = normalize_name(brand) == normalize_name(foot.written) or contains_name(foot.written, brand)
        if is_name or (is_of_foot and len(feet) == 1):
            foot.add(Sign.BRAND)


def _add_signs_of_page(names: _Names, lines: Sequence[TextLine]) -> None:
    is_from_till = not names.customers and _is_from_till(lines)
    is_narrow = _is_narrow(lines)
    candidates = names.candidates
    for key, candidate in candidates.items():
        if names.has_customer and key not in names.customers:
            candidate.add(Sign.OTHER_CUSTOMER)
        # On a page of a letter's width who begins it may be whom an order was sent to.
        if is_from_till and (is_narrow or Sign.HAS_BARE_ADDRESS not in candidate.signs):
            candidate.add(Sign.TILL)
        if len(names.tax_ids) == 1:
            candidate.add(Sign.ONLY_TAX_ID)
    numbered = [candidate for candidate in candidates.values() if Sign.NUMBER in candidate.signs]
    if len(numbered) == 1:
        numbered[0].add(Sign.ONLY_NUMBER, 1.0)


def _is_narrow(page: Sequence[TextLine]) -> bool:
    edges = [(cell.left, cell.right) for line in page for cell in line.cells]
    left, right = min((left for left, _ in edges), default=0.0), max((right for _, right in edges), default=0.0)
    return right - left < _NARROW * (median(line.height for line in page) if page else 0.0)


def _is_from_till(page: Sequence[TextLine]) -> bool:
    """Whether an amount was paid there and then."""
    return any(
        kind_words.PAID_AT_TILL.match(line.cells[0].text) and is_money(line.cells[1].text)
        for line in page
        if len(line.cells) > 1
    )


def _choose_supplier(names: _Names) -> Supplier | None:
    best = _find_best(names.candidates)
    # Whom a letter is written to may be ahead, with a legal form, of a name without one.
    if best is not None and not (best.stands_elsewhere_alone or Sign.HAS_BARE_ADDRESS in best.signs):
        return _judge(best, names)
    # A company that only a foot has may be ahead, with its number, of a letter head that other signs agree with.
    enough = [candidate for candidate in names.candidates.values() if is_enough(candidate.signs)][: _MAX_CERTAIN + 1]
    certain = [supplier for supplier in (_judge(candidate, names) for candidate in enough) if supplier.is_certain]
    if len(certain) == 1 and len(enough) <= _MAX_CERTAIN:
        return certain[0]
    return None if best is None else _judge(best, names)


def _judge(best: Candidate, names: _Names) -> Supplier:
    others = [candidate for key, candidate in names.candidates.items() if key not in names.customers]
    is_customer = normalize_name(best.written) in names.customers
    is_certain = is_enough(best.signs) and not is_customer and not is_contradicted(best, others)
    return Supplier(best.written, frozenset(best.signs), is_certain)


def _find_best(candidates: Mapping[str, Candidate]) -> Candidate | None:
    ranked = sorted(candidates.values(), key=lambda candidate: -candidate.score)
    if not ranked or ranked[0].score < _ENOUGH:
        return None
    best, *others = ranked
    # `Lumen` over the letter, and `Lumen Software Limited` in its foot.
    longer = [other for other in others if other.written.lower().startswith(f"{best.written} ".lower())]
    rivals = [other for other in others if other not in longer]
    if rivals and best.score - rivals[0].score < _AHEAD:
        return None
    companies = [other for other in longer if has_legal_form(other)]
    if not has_legal_form(best) and len(companies) == 1:
        (whole,) = companies
        return Candidate(whole.written, best.score, best.signs | whole.signs, best.rows | whole.rows)
    return best


def _is_street(page: Sequence[TextLine], line_index: int, cell_index: int) -> bool:
    """`Langestraat 88` over `3811 AK Amersfoort`."""
    cell = page[line_index].cells[cell_index]
    below = next(list_block(page, line_index, cell, 1), None)
    return HOUSE.search(cell.text) is not None and below is not None and TOWN.match(below[1].text) is not None


def _is_address_of_company(lines: Sequence[TextLine], index: int, number: int, sender: str) -> bool:
    """`Mercalmería, puesto 14 - 04009 Almería` below `FRUTAS EL PARQUE, S.L.`: a place, and not who sends it."""
    above = next(list_block(lines, index, lines[index].cells[number], -1), None)
    return above is not None and not labels.COMPANY.search(sender) and labels.COMPANY.search(above[1].text) is not None


def _is_street_of_line(text: str, name: str) -> bool:
    """`Via dei Banchi 7 - 53100 Siena - Tel. …`"""
    if HOUSE.search(name) is None or labels.COMPANY.search(name) or not text.startswith(name):
        return False
    return TOWN.match(text[len(name) :].lstrip(" ,-–—|·•")) is not None


def _find_labelled_seller(page: Sequence[TextLine], index: int, number: int) -> str | None:
    cell = page[index].cells[number]
    match = labels.SELLER.search(cell.text)
    if not match or labels.BUYER.search(cell.text):
        return None
    if in_form := _find_name_in_form(page, index, cell):
        return in_form
    for text in _list_texts_for_label(page, index, number, match.end()):
        if name := parse_name(text.lstrip(" :")):
            return name
    return None


def _find_name_in_form(page: Sequence[TextLine], index: int, heading: TextCell) -> str | None:
    """`Nazwa: Muster Sp. z o.o.` below a heading, where other fields of a form may stand before it."""
    for at, line in enumerate(page[index + 1 : index + _FORM_LINES], index + 1):
        cell = next((other for other in line.cells if abs(other.left - heading.left) < _SAME_LEFT), None)
        if line.page != page[index].page or (cell is not None and labels.BUYER.search(cell.text)):
            return None
        if cell is not None and (match := NAME_IN_FORM.match(cell.text)):
            surname = next((SURNAME_IN_FORM.match(below.text) for _, below in list_block(page, at, cell, 1)), None)
            return parse_name(match["name"] if surname is None else f"{match['name'].strip()} {surname['name']}")
        # `Name: Jane Brown` below a company and its street is whom to ask, or a bank.
        if cell is not None and _FIELD_OF_FORM.match(cell.text) is None and _stands_in_address(cell.text):
            return None
    return None


_FORM_LINES, _SAME_LEFT = 8, 12.0
_FIELD_OF_FORM = re.compile(r"[^:]{2,40}:")


def _stands_in_address(text: str) -> bool:
    return labels.COMPANY.search(text) is not None or any(map(str.isdigit, text))


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
                is_form = NAME_LABEL.match(other.text) and position + 1 < len(below.cells)
                yield below.cells[position + 1].text if is_form else other.text
