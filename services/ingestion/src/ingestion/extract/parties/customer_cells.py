"""Which cells of a page are the customer's: by a label, by a heading over their column, or by how letters address."""

import re
from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels
from ingestion.extract.page_blocks import BLOCK_GAP
from ingestion.extract.parties.addressing_words import drop_address_words
from ingestion.extract.parties.company_names import parse_name

NAME_LABEL = re.compile(r"^\W*(?:name|firma|company|nom|naam|nazwa|nome|nombre|název|navn|namn)\W*$", re.IGNORECASE)
# The same with the name behind it: `Denominazione: FERRAMENTA GALLO SRL`
NAME_IN_FORM = re.compile(
    r"^\W*(?:name|firma|company|nom|naam|nazwa|nome|nombre|název|jméno|navn|namn|denomina(?:zione|ción|ção)|ragione\s+sociale|raison\s+sociale|raz[óo]n\s+social|firmenname)\s?:\s*(?P<name>\S.*)",
    re.IGNORECASE,
)
SURNAME_IN_FORM = re.compile(
    r"^\W*(?:cognome|apellidos?|apelidos?|nazwisko|příjmení|nachname|surname|last\s+name|achternaam|nom\s+de\s+famille|efternavn|efternamn)\s?:\s*(?P<name>\S.*)",
    re.IGNORECASE,
)
_FAR_BESIDE = 150.0  # points: what is farther from a label is in another column of the page
# Whom a hotel or a restaurant writes to, and who pays by the slip below an invoice.
_GUEST_OR_PAYER = re.compile(
    r"^\W*(?:(?:gast|gäste|guests?|hôtes?|ospit[ei]|huésped|hóspede|goście?|gość|gæst|gäst|bewirtete\s+personen?)(?:\s*name)?"
    r"|zahlbar\s+durch|zahler(?:in)?|einzahler|payable\s+(?:by|par)|payer|payeur|pagabile\s+da|pagatore|ordenante|betaler|betalare|indbetaler|innbetaler|maksaja|plátce)"
    r"(?:\s*\([^)]{0,30}\))?\s*(?::|$)",
    re.IGNORECASE,
)
# Whose goods or stay a customer pays for: he may be named elsewhere.
_DELIVERY_OR_GUEST = labels.match_any(
    r"\bship|deliver|\bliefer|versand|livraison|livré|consegna|destinazione|\baflever|lever(?:ing|ans)|entrega|envío|dostaw|dodac|doruč|odbiorca|příjemce|\bwarenempf",
    r"\b(?:gast|gäste|guests?|hôtes?|hébergé|ospit[ei]|huésped|hóspede|goście?|gość|gæst|gäst|host|bewirtete|personen?|passag\w+|travell?er|patient\w*|teilnehm\w+|particip\w+)\b",
)
# What a customer has without being named: `Ihr Ansprechpartner: Anna Meier` is the seller's, `Your reference` a number.
_OF_CUSTOMER = labels.match_any(
    r"contact|kontakt|ansprechpartner|sachbearbeit|betreuer|berater|bearbeiter|interlocut|conseill|referen|riferiment|zeichen|handläggare|handelsagent",
    r"order|bestell|auftrag|commande|ordine|pedido|encomenda|zamówieni|objednáv|ordre|number|nummer|númer|numér|numero|numer|číslo|service|support|sales",
    r"\b(?:no|nr|n[°º]|id|ref|code|since|seit|consultant|manager|agent|team)\b",
)


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
    """Whether a name behind such a label is the customer itself: not who is asked for, sleeps there or is sent to."""
    before = label.partition(":")[0]
    return not (_OF_CUSTOMER.search(before) or _DELIVERY_OR_GUEST.search(before))


def parse_customer(text: str) -> str | None:
    """Below a heading, or behind a label: `Thank you for your visit` names nobody."""
    if in_form := NAME_IN_FORM.match(text):
        return parse_name(in_form["name"])
    addressed = drop_address_words(text)
    if addressed != text:
        return parse_name(addressed)
    return parse_name(text.partition(":")[2].strip() if labels.BUYER.search(text) else text)
