"""Invoices of parts that an invoice names: what was paid in advance has a number and a date of its own."""

import re
from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels

_PART = labels.match_any(
    r"\b(?:abschlags?|teil|anzahlungs|vorauszahlungs|akonto|a-conto-?)-?(?:rechnung|zahlung)",
    r"\b(?:advance|deposit|interim|progress|pro[\s-]?forma)\s+invoice\b|\bfacture\s+(?:d['’]acompte|intermédiaire)\b",
    r"\bfactura\s+de\s+anticipo\b|\bfattura\s+(?:d['’]|di\s+)acconto\b|\bvoorschot(?:factuur|nota)\b|\bfatura\s+de\s+adiantamento\b",
    r"\b(?:faktur[aęy])\s+(?:vat\s+)?zaliczkow|\bzálohov\w{1,3}\s+faktur|\b(?:aconto|a\s*conto|acontofaktura|förskottsfaktura)\b",
)
_FINAL = labels.match_any(
    r"\b(?:schlu(?:ss|ß)|end)-?(?:ab)?rechnung\b|\bfinal\s+(?:invoice|bill|account)\b|\bfacture\s+(?:de\s+(?:solde|clôture)|finale)\b",
    r"\bfactura\s+final\b|\bfattura\s+a\s+saldo\b|\b(?:eind|slot)factuur\b|\bfatura\s+final\b|\bfaktura\s+(?:vat\s+)?(?:końcowa|rozliczeniowa)\b",
    r"\bkonečná\s+faktura\b|\bslut(?:faktura|afregning|räkning)\b",
)
# `zu unserer Rechnung Nr. 4`: another document is meant. `Ihre Rechnung Nr. 4` is this one.
_REFERENCE = re.compile(
    r"\b(?:zu[rm]?|vgl\.?|siehe|see|refers?\s+to|dotyczy|relative\s+à|relativa\s+a|betreft)\s+(?:[^\W\d]{1,12}\s+){0,2}$",
    re.IGNORECASE,
)
_MAX_TITLE = 60


def is_part_payment(text: str) -> bool:
    return _PART.search(text) is not None


def is_final_invoice(head: Sequence[TextLine]) -> bool:
    """Whether a title says that parts were invoiced before."""
    return any(_FINAL.search(cell.text) for line in head for cell in line.cells if len(cell.text) <= _MAX_TITLE)


def is_reference(before: str) -> bool:
    """Whether the words in front of `Rechnung Nr.` tell of another document."""
    return _REFERENCE.search(before) is not None
