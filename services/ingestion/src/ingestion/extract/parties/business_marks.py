"""What stands beside a business's name on its own paper: tax and register numbers, an imprint, how to reach it."""

import re
from collections.abc import Iterator, Sequence
from importlib.resources import files

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels, values
from ingestion.extract.page_blocks import find_cell, list_block
from ingestion.extract.parties.company_names import begins_alike, list_long_words, normalize_name, parse_name
from ingestion.extract.parties.customer_cells import is_buyer_cell
from ingestion.extract.parties.sender_line import is_town
from ingestion.extract.parties.tax_ids import find_tax_ids
from ingestion.extract.parties.third_parties import is_bank
from ingestion.extract.titles import title_words

FOOT = 0.8  # of the lines stand above it
_MAX_CELLS = 12  # of a line
_MAX_LINE = 400  # letters
_COLUMN_LINES = 12
_SAME_COLUMN = 3.0  # points
_FOOT_LINES = 3
_MIN_REGISTER_DIGITS = 5
_CENTRE = 6.0  # points

_WEB = re.compile(r"(?:www\.|https?://(?:www\.)?|@)([a-z0-9][a-z0-9-]{2,40})\.[a-z]{2,}", re.IGNORECASE)
# Mail providers that give addresses to anybody: such a domain names no supplier. By its first label, since each has
# one domain in many countries.
_FREE_MAIL = {
    domain.partition(".")[0]
    for domain in files("ingestion.extract.parties").joinpath("free_mail_domains.txt").read_text().split()
}
_MAIL = re.compile(r"(?P<local>[\w.+-]{1,60})@(?P<domain>[\w-]{1,60})\.")

# What stands beside a business's name in the foot of its paper.
_OF_IMPRINT = labels.match_any(
    r"\b(?:tel|phone|fon|telefon|tél|www|iban|bic|bankgiro|capital|kapital|krs|c\.?s\.?v|registered|inscrita|amtsgericht|rcs|sitz|steuer-?\s?(?:nummer|nr))\b|@",
    r"\b(?:geschäftsführ\w{1,4}|vorstand|managing\s+director|directeur|gérant|bestuurder)\b",
    labels.REGISTER.pattern,
    labels.VAT_ID.pattern,
)
# How a business can be reached, or is known to its tax office and its court: no customer's address has that.
_OF_SELLER = labels.match_any(
    r"\b(?:tele(?:phone|fon|fono|foon)|tel|tlf|tél(?:éphone)?|phone|fon|mob(?:ile?|il)?|fax|www|iban|bankgiro|plusgiro)\b|@|\+\d{2}\s?\(?\d",
    r"\b(?:steuer-?\s?(?:nummer|nr)|st\.?-?\s?nr|f-?skatt|capital|registered|inscrita|registro\s+mercantil|amtsgericht|rcs|rea|c\.?s\.?v)\b",
    r"\b(?:geschäftsführ\w{1,4}|vorstand|inh(?:aber(?:in)?)?|managing\s+director|directeur|gérant|bestuurder)\b",
)
# Of these not even a customer with a telephone has one.
_OF_BUSINESS = labels.match_any(
    r"\b(?:www|iban|bankgiro|plusgiro)\b",
    r"\b(?:steuer-?\s?(?:nummer|nr)|st\.?-?\s?nr|f-?skatt|capital|registered|inscrita|registro\s+mercantil|amtsgericht|rcs|rea|c\.?s\.?v)\b",
    r"\b(?:geschäftsführ\w{1,4}|vorstand|managing\s+director|directeur|gérant|bestuurder)\b",
)
# Whom the page was sent to, and who ordered: that address is the customer's.
_SENT_TO = re.compile(
    r"\b(?:(?:ver|ge|über|zuge)(?:sandt|sendet|schickt|mittelt|stellt)|sent|e-?mailed|delivered|envoyée?s?|transmise?s?|adressée?s?|inviat[aoie]|spedit[ao]|trasmess[ao]"
    r"|verzonden|verstuurd|gestuurd|enviad[ao]s?|remitid[ao]s?|wysłan\w{1,2}|przesłan\w{1,2}|(?:ode|za|po)slán\w?|sendt|skicka[dt]|mailad)\b[^.]{0,40}$"
    r"|\b(?:user(?:\s?name)?|log-?in|benutzer(?:name)?|ordered\s+by|bestellt\s+von|besteller|commandé\s+par|besteld\s+door|(?:invoice|rechnungs|facturatie)-?\s?e-?mail)\b\W*$",
    re.IGNORECASE,
)
_ENDS_COLUMN = labels.match_any(
    labels.BUYER.pattern,
    labels.COMPANY.pattern,
    title_words.INVOICE_WORD.pattern,
    labels.INVOICE_NUMBER.pattern,
    r"\d[.,]\d{2}\b",
)


def find_domains(page: Sequence[TextLine], *, only_mail: bool = False) -> set[str]:
    """Those of web and mail addresses, without those of the customer."""
    found = {
        match[1].lower()
        for index, line in enumerate(page)
        for number, cell in enumerate(line.cells[:_MAX_CELLS])
        for match in _WEB.finditer(cell.text)
        if (not only_mail or match[0][0] == "@")
        and not is_buyer_cell(page, index, number)
        and not _is_sent_to(line, number, match.start())
    }
    return {re.sub(r"[^a-z0-9]", "", domain) for domain in found - _FREE_MAIL}


def _is_sent_to(line: TextLine, number: int, end: int) -> bool:
    """By the words before an address, whose own part before the `@` ends at a blank."""
    left = line.cells[number - 1].text[-_MAX_LINE:] if number else ""
    before = line.cells[number].text[:end].rpartition(" ")[0]
    return _SENT_TO.search(f"{left} {before}".rstrip()) is not None


def has_imprint(page: Sequence[TextLine], index: int) -> bool:
    """Of a foot, whose columns say what belongs together; so it says nothing of who stands in the foot alone."""
    return any(_OF_IMPRINT.search(line.text[:_MAX_LINE]) for line in page[index : index + _FOOT_LINES])


def has_number_near(page: Sequence[TextLine], index: int, name: str) -> bool:
    """A tax number in the same line, or below in the block that the name heads: who has one there is a business."""
    cell = find_cell(page[index], name) or page[index].cells[0]
    own = [index] if any(map(is_own_number, page[index].cells)) else []
    if index > len(page) * FOOT and labels.COMPANY.search(name):
        own += list_numbers_of_foot(page, index)
    below = list_block(page, index, cell, 1)
    own += [at for at, found in below if is_own_number(found)]
    if not own:
        return False
    # A street below the name has the number below it too.
    above = next(list_block(page, index, cell, -1), None)
    is_first = above is None or labels.BARE_DOCUMENT.match(above[1].text) is not None
    return is_first or (labels.COMPANY.search(name) is not None and own[0] - index <= 2)


def has_whole_foot(page: Sequence[TextLine], index: int, name: str) -> bool:
    """Whether the lines of a foot say of one company all that a supplier has to: its register, its tax number, the
    account to pay to and its own domain; and no other company is named in them, but for a bank."""
    near = [line for line in page[max(0, index - 1) : index + _FOOT_LINES] if line.page == page[index].page]
    cells = [cell for line in near for cell in line.cells[:_MAX_CELLS]]
    domains = set[str]().union(*map(list_domains, cells))
    others = [cell.text for cell in cells if labels.COMPANY.search(cell.text) and name not in cell.text]
    return (
        any(labels.REGISTER.search(cell.text) for cell in cells)
        and any(map(has_tax_id, cells))
        and any(True for cell in cells for _ in values.find_ibans(cell.text))
        and any(begins_alike(name, domain) for domain in domains)
        and all(map(is_bank, others))
    )


def list_numbers_of_foot(page: Sequence[TextLine], index: int) -> list[int]:
    """A foot has the numbers in columns of their own."""
    return [at for at in range(index, min(index + _FOOT_LINES, len(page))) if any(map(is_own_number, page[at].cells))]


def has_number_in_column(page: Sequence[TextLine], index: int, name: str) -> bool:
    """A tax number farther below in the column that a company heads, with gaps between address, web and numbers."""
    cell = find_cell(page[index], name)
    return cell is not None and any(map(is_own_number, _list_column(page, index, cell, name)))


def _list_column(page: Sequence[TextLine], index: int, cell: TextCell, name: str) -> Iterator[TextCell]:
    """What stands below a company at its left edge, down to its number or to what is not its own."""
    for line in page[index + 1 : index + _COLUMN_LINES] if labels.COMPANY.search(name) else ():
        if line.page != page[index].page:
            return
        for other in line.cells[:_MAX_CELLS]:
            if abs(other.left - cell.left) > _SAME_COLUMN:
                continue
            is_number = is_own_number(other)
            if _names_another_company(other.text, name) or (not is_number and _ENDS_COLUMN.search(other.text)):
                return
            yield other
            if is_number:
                return


def _names_another_company(text: str, name: str) -> bool:
    """Whether a company's whole name stands in a text, and it is another one: in a foot, say, far below a customer."""
    company = _WORD_AND_FORM.search(text[:_MAX_LINE])
    ours = normalize_name(name)
    if company is None or is_town(text) or is_bank(company[0]):
        return False
    return not (ours and ours in normalize_name(text))


_WORD_AND_FORM = re.compile(rf"(?<![^\W_])[^\W\d_a-z][^\W\d_]{{2,30}},?\s{labels.COMPANY.pattern}")


# `SARL au capital de 5 000 €`: the form of the name above.
_FORM_AND_CAPITAL = re.compile(
    rf"\W{{0,3}}{labels.COMPANY.pattern}\s+(?:(?:au|al|com|con|de|mit)\s+)?capitale?\b", re.IGNORECASE
)


def list_own_cells(page: Sequence[TextLine], index: int, cell: TextCell, name: str) -> list[TextCell]:
    """The cell of a name, and what is said of it below: nothing of a column beside it, nor of the next company."""
    own = [cell]
    for _, other in list_block(page, index, cell, 1):
        # `1234 AB Stad` is no company.
        is_company = labels.COMPANY.search(other.text) and not _FORM_AND_CAPITAL.match(other.text)
        if is_company and not is_own_number(other) and not is_town(other.text):
            break
        own.append(other)
    own += [other for other in _list_centred(page, index, cell) if other not in own]
    return own + [other for other in _list_column(page, index, cell, name) if other not in own]


def _list_centred(page: Sequence[TextLine], index: int, cell: TextCell) -> Iterator[TextCell]:
    """The lines of a letter head in the middle of the page, below its name."""
    centre = (cell.left + cell.right) / 2
    for at in range(index + 1, min(index + 6, len(page))):
        line, above = page[at], page[at - 1]
        is_apart = line.page != above.page or line.top - above.top > 2 * max(line.height, above.height)
        if is_apart or len(line.cells) > 1 or abs((line.cells[0].left + line.cells[0].right) / 2 - centre) > _CENTRE:
            return
        yield line.cells[0]


def is_own_number(cell: TextCell) -> bool:
    if labels.BUYER.search(cell.text):
        return False
    match = labels.REGISTER.search(cell.text)
    if match and sum(letter.isdigit() for letter in cell.text[match.end() :]) >= _MIN_REGISTER_DIGITS:
        return True
    return has_tax_id(cell)


def has_tax_id(cell: TextCell) -> bool:
    return bool(labels.VAT_ID.search(cell.text) and find_tax_ids(cell.text))


def list_tax_ids(cell: TextCell) -> Sequence[str]:
    return find_tax_ids(cell.text) if labels.VAT_ID.search(cell.text) else ()


def tells_of_seller(cell: TextCell) -> bool:
    return is_contact(cell.text)


def is_contact(text: str) -> bool:
    """Whether it says how somebody is reached, or what register, bank or tax office knows him by."""
    return _OF_SELLER.search(text[:_MAX_LINE]) is not None and not labels.BUYER.search(text)


def tells_of_business(cell: TextCell) -> bool:
    """Whether it says what no customer's address does, not even one with a telephone."""
    return _OF_BUSINESS.search(cell.text[:_MAX_LINE]) is not None and not labels.BUYER.search(cell.text)


def list_domains(cell: TextCell) -> set[str]:
    """Of a cell, as `find_domains` has them of a page."""
    return {re.sub(r"[^a-z0-9]", "", match[1].lower()) for match in _WEB.finditer(cell.text[:_MAX_LINE])}


def heads_its_block(page: Sequence[TextLine], index: int, cell: TextCell, name: str) -> bool:
    """Whether a name is that of its block: not if another one stands over it, nor if it may be a slogan over one.

    `Farbe Und Form` over `Malerbetrieb Kunz` may be either; `Lucía Ferrer` over `Diseño gráfico` is what it seems.
    """
    above = next(list_block(page, index, cell, -1), None)
    is_below_title = above is None or labels.BARE_DOCUMENT.match(above[1].text) is not None
    other = None if is_below_title or above is None else parse_name(above[1].text)
    if labels.COMPANY.search(name):
        return other is None or not _count_capitals(other) or bool(list_long_words(name) & list_long_words(other))
    below = next(list_block(page, index, cell, 1), None)
    next_name = None if below is None or re.search(r"\d", below[1].text) else parse_name(below[1].text)
    if next_name and list_long_words(name) & list_long_words(next_name):
        return is_below_title and _count_capitals(name) > 0  # `Anna Kunz` below `Malerbetrieb Kunz` is its owner
    ours, theirs = _count_capitals(name), _count_capitals(next_name or "")
    # `ETS MOREAU` over `ZA des Chênes`, with `moreau@`: the mail says which of the two is the name.
    if next_name and has_mail_below(page, index, name) and not has_mail_below(page, index, next_name):
        return is_below_title and ours > 0
    return is_below_title and ours > theirs and theirs < 2  # two words may be a name themselves


def _count_capitals(name: str) -> int:
    """The words of a name that has all of them in capitals, but for small ones; else none: it is a sentence."""
    words = [word for word in name.split() if word[0].isalpha()]
    return len(words) if all(word[0].isupper() for word in words if len(word) > 3) else 0


def has_mail_below(page: Sequence[TextLine], index: int, name: str) -> bool:
    """`Sammy Maystone` over `smaystone4@…` or `sammy@maystone.example`: an address that the last word is in."""
    words = [word.lower() for word in re.findall(r"[^\W\d_]{4,}", name)]
    cell = find_cell(page[index], name)
    if not words or cell is None:
        return False
    below = [line.text[:_MAX_LINE] for line in page[index + 1 : index + 3]]
    below += [other.text for _, other in list_block(page, index, cell, 1)]
    return any(
        words[-1] in match["local"].lower()
        or any(word in match["domain"].lower() not in _FREE_MAIL for word in (*words[:1], words[-1]))
        or (words[0] == match["local"].lower() and match["domain"].lower() not in _FREE_MAIL)
        for text in below
        for match in _MAIL.finditer(text)
    )
