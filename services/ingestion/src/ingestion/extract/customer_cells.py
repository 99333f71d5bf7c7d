"""Which cells of a page are the customer's: by a label, by a heading over their column, or by how letters address."""

import re
from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels
from ingestion.extract.company_names import parse_name
from ingestion.extract.page_blocks import BLOCK_GAP, list_block
from ingestion.extract.sender_line import find_sender_in_text

NAME_LABEL = re.compile(r"^\W*(?:name|firma|company|nom|naam|nazwa|nome|nombre|název|navn|namn)\W*$", re.IGNORECASE)
_FAR_BESIDE = 150.0  # points: what is farther from a label is in another column of the page
# Whom a hotel or a restaurant writes to, and who pays by the slip below an invoice.
_GUEST_OR_PAYER = re.compile(
    r"^\W*(?:(?:gast|gäste|guests?|hôtes?|ospit[ei]|huésped|hóspede|goście?|gość|gæst|gäst|bewirtete\s+personen?)(?:\s*name)?"
    r"|zahlbar\s+durch|zahler(?:in)?|einzahler|payable\s+(?:by|par)|payer|payeur|pagabile\s+da|pagatore|ordenante|betaler|betalare)"
    r"(?:\s*\([^)]{0,30}\))?\s*(?::|$)",
    re.IGNORECASE,
)
# What a customer has without being named: `Ihr Ansprechpartner: Anna Meier` is the seller's, `Your reference` a number.
_OF_CUSTOMER = labels.match_any(
    r"contact|kontakt|ansprechpartner|sachbearbeit|betreuer|berater|bearbeiter|interlocut|conseill|referen|riferiment|zeichen|handläggare|handelsagent",
    r"order|bestell|auftrag|commande|ordine|pedido|encomenda|zamówieni|objednáv|ordre|number|nummer|númer|numér|numero|numer|číslo|service|support|sales",
    r"\b(?:no|nr|n[°º]|id|ref|code|since|seit|consultant|manager|agent|team)\b",
)
# Below a business's name: whom there the letter is for. No letter head has that.
_ATTENTION = re.compile(
    r"^\W*(?:z\.?\s?hd\.?|zu\s+händen|zhd\.?|attn\b|attention\b|att\b\.?|f\.?a\.?o\b\.?|for\s+the\s+attention|à\s+l['’]attention|t\.\s?a\.\s?v|ter\s+attentie"
    r"|(?:alla\s+)?c\.\s?a\.(?=\s)|all['’]attenzione|a\s+la\s+atención|a/a\b|ao\s+cuidado|a/c\b|do\s+rąk|k\s+rukám"
    r"|accounts?\s+(?:payable|department|dept)|(?:finanz|kreditoren)buchhaltung\W*$|(?:abt(?:\.|eilung)\s+)?(?:rechnungs(?:prüfung|eingang)|einkauf|buchhaltung)\W*$"
    r"|comptabilité(?:\s+fournisseurs)?\W*$|service\s+comptable|ufficio\s+(?:contabilità|acquisti)|crediteurenadministratie|kreditorbogholderi|leverantörsreskontra)",
    re.IGNORECASE,
)
# Over or before a name, which somebody is addressed by. Who is asked for by a customer is `Herr`, not `Herrn`.
_ADDRESSED = re.compile(
    r"^\W*(?:herrn|eheleute|familie|fam\.|herrn?\s+und\s+frau|frau\s+und\s+herrn?|m(?:\.|r|onsieur)?\s+(?:et|&|ou)\s+m(?:me|adame)|mme\s+(?:et|&)\s+m\.?|madame\s+et\s+monsieur"
    r"|mr\.?\s+(?:&|and)\s+mrs|mrs\.?\s+(?:&|and)\s+mr|sr\.?\s+y\s+sra|sig\.?\s+e\s+sig\.?ra|(?:dhr\.?|de\s+heer)\s+en\s+(?:mevr|mw)\w{0,4}|familien|familjen|rodina|państwo|manželé)"
    r"\.?\s+(?=[^\W\d_])",
    re.IGNORECASE,
)
_ADDRESSED_FIRM = re.compile(r"^\W*(?:(?:an\s+(?:die\s+)?)?firma|fa\.|messrs\.?)\W*$", re.IGNORECASE)
_MAX_NAME = 60  # letters
_WINDOW_ENDS = 300.0  # points


def is_buyer_cell(page: Sequence[TextLine], line_index: int, cell_index: int) -> bool:
    """Whether a cell belongs to the customer: by a word beside it, or by the nearest heading above in its column."""
    return find_buyer_label(page, line_index, cell_index) is not None


def find_buyer_label(page: Sequence[TextLine], line_index: int, cell_index: int) -> str | None:
    """What says that a cell belongs to the customer."""
    line = page[line_index]
    cell = line.cells[cell_index]
    near = [other for other in line.cells[max(0, cell_index - 1) : cell_index] if cell.left - other.right < _FAR_BESIDE]
    beside = " ".join(other.text for other in (*near, cell))
    if labels.SELLER.search(cell.text):
        return None
    if labels.BUYER.search(beside) or any(_GUEST_OR_PAYER.match(other.text) for other in (*near, cell)):
        return beside
    if cell_index == 1 and NAME_LABEL.match(line.cells[0].text):
        return find_buyer_label(page, line_index, 0)  # of a form, whose labels stand below the heading
    return _find_heading_above(page, line_index, cell.left)


def _find_heading_above(page: Sequence[TextLine], line_index: int, left: float) -> str | None:
    line = page[line_index]
    lowest = line.top
    for above in reversed(page[max(0, line_index - 8) : line_index]):
        height = max(line.height, above.height)
        if above.page != line.page or line.top - above.top > 9 * height:
            return None
        for other in above.cells:
            if abs(other.left - left) > 12:
                continue
            if labels.SELLER.search(other.text):
                return None
            is_apart = lowest - above.top > BLOCK_GAP * height
            lowest = above.top
            match = labels.BUYER.search(other.text) or _GUEST_OR_PAYER.match(other.text)
            if match and len(other.text) < 40:
                # A heading alone may stand apart from its block; `Client: Northern` is a block that has ended.
                return None if is_apart and other.text[match.end() :].strip(" :") else other.text
            if is_apart:
                return None
    return None


def names_customer(label: str) -> bool:
    """Whether a name behind such a label is the customer itself."""
    return _OF_CUSTOMER.search(label.partition(":")[0]) is None


def is_addressee(page: Sequence[TextLine], index: int, number: int) -> bool:
    """Whether a letter is addressed to this cell's name: `Firma` stands over it, or a person there below it."""
    line = page[index]
    if line.page != page[0].page or line.top > _WINDOW_ENDS:
        return False
    cell = line.cells[number]
    if _ADDRESSED.match(cell.text) and len(cell.text) < _MAX_NAME:
        return True
    above = next(list_block(page, index, cell, -1), None)
    below = next(list_block(page, index, cell, 1), None)
    return bool(
        (above is not None and _ADDRESSED_FIRM.match(above[1].text))
        or (below is not None and _ATTENTION.match(below[1].text))
        or (below is not None and _ADDRESSED.match(below[1].text) and not find_sender_in_text(cell.text))
    )


def parse_customer(text: str) -> str | None:
    """Below a heading, or behind a label: `Thank you for your visit` names nobody."""
    return parse_name(text.partition(":")[2].strip() if labels.BUYER.search(text) else text)
