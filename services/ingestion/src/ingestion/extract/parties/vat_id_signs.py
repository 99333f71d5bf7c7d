"""Whether a tax number that nothing calls the customer's is the supplier's.

One may be the only one on a page and be the customer's, a carrier's, a bank's or that of whoever made the invoice's
program. So it needs a sign: the supplier's name beside it, or what only a supplier prints of himself, or a place of
its own in the foot. A number without one is left out.
"""

import re
from collections.abc import Iterator, Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, tax_labels, values
from ingestion.extract.page_blocks import list_block
from ingestion.extract.parties import business_marks
from ingestion.extract.parties.bare_addresses import list_bare_addresses
from ingestion.extract.parties.company_names import normalize_name
from ingestion.extract.parties.sender_line import HOUSE, is_town

_MAX_TEXT = 300  # letters of a cell
_MAX_CELLS = 12  # of a line
_NEAR_LINES = 3  # lines of a foot that a number may stand from the name
_SEPARATOR = re.compile(r"\s*(?:[●•∙|·;,]|\s[-–—]\s)\s*")
# What may stand directly before the number's name: words of its name in full, or that it is ours.
_NEUTRAL = re.compile(
    r"(?:[\W\d]|(?:n|nr|no|num|numer|nummer|number|numéro|número|numero|id|ident\w{0,16}|identificación|de|di|da|do|del|of|à|la|l|d|e|i|et|and|und|och|og|en|y"
    r"|intra\w{0,16}|eu|eg|ue|eur\w{0,8}|reg|registration|registered|company|firm\w{0,2}|our|unsere?r?|notre|nuestro|nostra|onze|nosso|nasz|naše|vores|vårt?|federal|sales|business"
    r"|partita|codice|cod|fiscale?|fisc|c|f|p|steuer\w{0,8}|st|tax|gemäß|gem|nach|ustg|§\w{0,3}|eori|fein|ein|gst|hst|abn)\b)*",
    re.IGNORECASE,
)
# `12 Quay Street`, alone in its line.
_STREET = re.compile(r"^\d{1,4}[a-zA-Z]?,?\s(?:[^\W\d_]{2,20}\s?){1,4}$")
_OURS = re.compile(
    r"\W*(?:unsere?|our|notre|nuestro|nostra|nostro|onze|ons|nosso|nasz|naše|vores|vårt?)\b", re.IGNORECASE
)
_OF_US = re.compile(
    r"\b(?:our|us|unser\w{0,2}|uns|notre|nos|nous|nuestr\w{1,2}|nostr\w|onze?|noss[oa]|nasz\w{0,3}|naš\w{0,3}|vores|vort|vår\w?)\b",
    re.IGNORECASE,
)
_OF_REGISTER = labels.match_any(
    labels.REGISTER.pattern,
    r"\b(?:rcs|r\.c\.s|cap\.\s?soc|co\.?\s+reg|ape|naf|siège|capital\w{0,2}|kapital|sozialkapital|krs|c\.?\s?f|cod\w{0,4}\.?\s?fisc\w{0,5}|c[oó]digo|rea|r\.e\.a|firmenbuch|handelsregister|registergericht|amtsgericht|sitz"
    r"|steuer-?\s?(?:nummer|nr)|st\.?[\s-]{0,2}nr|finanzamt|f-?skatt|registro\s+mercantil|reg(?:istered)?\.?\s+in|incorporated|crc|conservatória|spisová|zapsan\w|bdo|gln|eori|chamber|handelsreg\w*"
    r"|geschäftsführ\w{1,4}|inh(?:aber(?:in)?)?|vorstand|director\w?|directeur|gérante?|bestuurder|amministratore|administrador|prezes|jednatel|direktør)\b",
)
# Beside such a number stand the numbers of the customer.
_OF_CUSTOMER = labels.match_any(
    labels.BUYER.pattern,
    r"\b(?:kunden?|client|customer|klient|klant|klantn\w+|debit\w{0,5}|debtor|deb|zákazn\w*|odb(?:ěr)?\w{0,8}|abonn\w*|subscriber|kundnr\w*|kundenr\w*|kundenn\w+|kundnummer|sdi|codice\s+destinatario|mandant\w*|member|mitglied\w*)\b",
    r"\b(?:account|konto|compte|cuenta|conta|conto)\s*(?:no|nr|n[°º]|number|nummer)?\s*[.:]{1,2}\s*\d{1,9}\W*$",
)


def is_suppliers_number(
    page: Sequence[TextLine], index: int, number: int, tax_id: str, supplier_name: str | None
) -> bool:
    """By what stands before the number in its cell, in its block, and beside it in the foot."""
    line, cell = page[index], page[index].cells[number]
    ours = normalize_name(supplier_name or "")
    before = _cut_before(cell.text[:_MAX_TEXT], tax_id)
    if ours and ours in normalize_name(before):
        return True
    block = [*list_block(page, index, cell, -1), *list_block(page, index, cell, 1)]
    beside = [other.text[:_MAX_TEXT] for _, other in block]
    is_named = bool(ours) and any(ours in normalize_name(text) for text in beside)
    parts = _SEPARATOR.split(before)
    has_address = is_named and any(map(is_town, parts))
    if not all(_is_own_part(part, has_address=has_address) for part in parts):
        return False
    if is_named or _OURS.match(before):
        return True
    if _is_below_reverse_charge(page, index):
        return False
    row = [other.text[:_MAX_TEXT] for other in line.cells[:_MAX_CELLS] if other is not cell]
    # An address without our name is somebody else's, however he is reached: a foreign one may have no postcode.
    if any(map(_OF_CUSTOMER.search, (*beside, *row))) or any(is_town(text) or _STREET.search(text) for text in beside):
        return False
    if any(map(_tells_of_supplier, (*(other.text for _, other in block), cell.text, *row))):
        return True
    # A letter ends with it, below what we ask for.
    if index == len(page) - 1 and not row and any(map(_OF_US.search, beside)):
        return True
    # Among the numbers and days of the paper it is nobody's for certain, however near the foot they stand.
    if any(values.DATES.search(text) or labels.INVOICE_NUMBER.search(text) for text in beside):
        return False
    if ours and any(ours in normalize_name(text) for text in _list_near(page, index)):
        return True
    if beside or row:
        return False
    return index >= len(page) // 2 or _stands_in_head_of(page, index, supplier_name)


def _is_below_reverse_charge(page: Sequence[TextLine], index: int) -> bool:
    """Where the customer owes the tax, the law wants the customer's number on the invoice."""
    return any(tax_labels.NO_TAX.search(line.text[:_MAX_TEXT]) for line in page[max(0, index - 2) : index])


def _stands_in_head_of(page: Sequence[TextLine], index: int, supplier_name: str | None) -> bool:
    """Whether the supplier's name stands in the lines above, and no address of anybody else does."""
    ours = normalize_name(supplier_name or "")
    above = [cell.text for line in page[max(0, index - _NEAR_LINES) : index] for cell in line.cells[:_MAX_CELLS]]
    if not ours or not any(ours in normalize_name(text) for text in above):
        return False
    return not any(other.line < index and not other.is_of(ours) for other in list_bare_addresses(page))


def _cut_before(text: str, tax_id: str) -> str:
    """What stands before a number and before the name of the number."""
    found = re.search(r"[\s.-]{0,2}".join(map(re.escape, tax_id)), text, re.IGNORECASE)
    names = [match.start() for match in labels.VAT_ID.finditer(text[: found.start()] if found else text)]
    if not names:
        return ""
    return text[: names[-1] if found else names[0]]


def _is_own_part(part: str, *, has_address: bool) -> bool:
    """Whether a part of what stands before a number says nothing of somebody else."""
    rest = labels.VAT_ID.sub(" ", part)
    if _NEUTRAL.fullmatch(rest) or _OF_REGISTER.search(part) or business_marks.is_contact(part):
        return True
    return has_address and (HOUSE.search(part) is not None or is_town(part))


def _tells_of_supplier(text: str) -> bool:
    return business_marks.is_contact(text) or _OF_REGISTER.search(text[:_MAX_TEXT]) is not None


def _list_near(page: Sequence[TextLine], index: int) -> Iterator[str]:
    """The lines around one in the foot, whose columns say of one company what it is known by."""
    if index < len(page) // 2:
        yield from (cell.text[:_MAX_TEXT] for cell in page[index].cells[:_MAX_CELLS])
        return
    for line in page[max(0, index - _NEAR_LINES) : index + _NEAR_LINES + 1]:
        if line.page == page[index].page:
            yield from (cell.text[:_MAX_TEXT] for cell in line.cells[:_MAX_CELLS])
