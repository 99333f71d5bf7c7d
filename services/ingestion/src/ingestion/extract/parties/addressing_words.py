"""How letters address whom they are for: by words over a name, before it, or below it."""

import re
from collections.abc import Sequence

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels
from ingestion.extract.page_blocks import list_block
from ingestion.extract.parties.sender_line import HOUSE, find_sender_in_text, is_town

_MAX_NAME = 60  # letters
_WINDOW_ENDS = 300.0  # points
_ADDRESS_LINES = 4

# Below a business's name: whom there the letter is for. Over a name: whose letter it is.
_ATTENTION = re.compile(
    r"^\W*(?:z\.?\s?hd\.?|zu\s+händen|zhd\.?|attn\b|attention\b|att(?:\.|:|\.?ne\b)|f\.?a\.?o\b\.?|for\s+the\s+attention|[àa]\s+l['’]attention|t\.\s?a\.\s?v|ter\s+attentie"
    r"|(?:alla\s+)?c\.\s?a\.(?=\s)|all['’]attenzione|a\s+la\s+atención|a/a\b|ao\s+cuidado|a/c\b|do\s+rąk|k\s+rukám"
    r"|accounts?\s+(?:payable|department|dept)|(?:finanz|kreditoren)buchhaltung\W*$|(?:abt(?:\.|eilung)\s+)?(?:rechnungs(?:prüfung|eingang)|einkauf|buchhaltung)\W*$"
    r"|comptabilité(?:\s+fournisseurs)?\W*$|service\s+comptable|ufficio\s+(?:contabilità|acquisti)|crediteurenadministratie|kreditorbogholderi|leverantörsreskontra)",
    re.IGNORECASE,
)
# Before a name; whom a customer asks for is `Herr`, not `Herrn`.
_ADDRESSED = re.compile(
    r"^\W*(?:herrn|eheleute|familie|fam\.|herrn?\s+und\s+frau|frau\s+und\s+herrn?|m(?:\.|r|onsieur)?\s+(?:et|&|ou)\s+m(?:me|adame)|mme\s+(?:et|&)\s+m\.?|madame\s+et\s+monsieur"
    r"|mr\.?\s+(?:&|and)\s+mrs|mrs\.?\s+(?:&|and)\s+mr|sr\.?\s+y\s+sra|sig\.?\s+e\s+sig\.?ra|(?:dhr\.?|de\s+heer)\s+en\s+(?:mevr|mw)\w{0,4}|familien|familjen|rodina|państwo|manželé)"
    r"\.?\s+(?=[^\W\d_])",
    re.IGNORECASE,
)
# So formal that nobody but an addressee has them.
_SIR = (
    r"(?:\s*(?:sr|senhor|sig|signor|dott|ditta|società|pan|pane|paní|pani|państwo)"
    r"(?:\.?(?:a|as|es|s|i|ie|na|ra|re|ssa))?\b\.?(?:\([a-z]{1,2}\))?\.?)?"
)
_FORMAL = (
    r"(?:ex\.?m[oa]s?\b\.?(?:\s?\([a-z]{1,2}\))?\.?|spett(?:\.?\s?l[ei]|abil[ei])?\b\.?|egr(?:egi[oa]?)?\b\.?|gent(?:\.?\s?m[oa]|il(?:e|i|issim[oa]))\b\.?"
    rf"|preg(?:\.?\s?m[oa]|iatissim[oa])\b\.?|ill\.?\s?m[oa]\b\.?|sz\.\s?p\.|szanown[yia]\w{{0,2}}\b|w\.\s?p\.|vážen[ýáí]\w{{0,2}}\b){_SIR}"
)
# What stands before the name of anybody, in an address and elsewhere.
_HONORIFIC = (
    r"(?:herrn?|frau|hr\.|mrs?\b\.?|ms\b\.?|miss|monsieur|madame|mademoiselle|m(?:mes?|lles?|m\.)|messieurs|sig\.?(?:ra|na)?\b\.?|signor[ae]?"
    r"|sr(?:es|as?|ta)?\b\.?(?:\s?/\s?sra?\b\.?)?|señor(?:es|as?)?|dhr\b\.?|(?:de\s+)?heer|mevr(?:ouw)?\b\.?|mw\b\.?|pani?|paní|herr|fru)"
)
_FIRM = r"(?:(?:an\s+(?:die\s+)?)?firma|fa\.|messrs\.?)"
_FORMAL_BEFORE = re.compile(rf"^\W*{_FORMAL}\s+(?=[^\W\d_])", re.IGNORECASE)
_FIRM_BEFORE = re.compile(rf"^\W*{_FIRM}\s+(?=[^\W\d_])", re.IGNORECASE)
_HONORIFIC_BEFORE = re.compile(rf"^\W*{_HONORIFIC}\s+(?=[^\W\d_])", re.IGNORECASE)
# Alone, over a name: `Herrn/Frau/Firma`, `Exmo.(s) Sr.(s)`.
_OVER_NAME = re.compile(
    rf"^\W*(?:{_FORMAL}|(?:{_HONORIFIC}|{_FIRM})(?:\s?(?:[/,]|und|et|and|e|y|en)\s?(?:{_HONORIFIC}|{_FIRM}))*)\W*$",
    re.IGNORECASE,
)


def is_addressee(page: Sequence[TextLine], index: int, number: int) -> bool:
    """Whether a letter is addressed to this cell's name."""
    line = page[index]
    cell = line.cells[number]
    if line.page != page[0].page or line.top > _WINDOW_ENDS or len(cell.text) > _MAX_NAME:
        return False
    if any(words.match(cell.text) for words in (_ADDRESSED, _FORMAL_BEFORE, _OVER_NAME, _ATTENTION)):
        return True
    below = [other for _, other in list_block(page, index, cell, 1)][:_ADDRESS_LINES]
    if _FIRM_BEFORE.match(cell.text):
        return True
    if _HONORIFIC_BEFORE.match(cell.text) and not labels.COMPANY.search(cell.text):
        return index > 0 and any(map(_is_of_address, below))  # `Mr Sparkle` may begin his own paper
    above = next(list_block(page, index, cell, -1), None)
    if above is not None and (_OVER_NAME.match(above[1].text) or _ATTENTION.match(above[1].text)):
        return True
    return bool(below) and _names_reader(below[0]) and not find_sender_in_text(cell.text)


def drop_address_words(text: str) -> str:
    """`Spett.le Muster S.r.l.` is written to Muster S.r.l."""
    for before in (_FORMAL_BEFORE, _FIRM_BEFORE, _HONORIFIC_BEFORE):
        text = before.sub("", text, count=1)
    return text


def _names_reader(cell: TextCell) -> bool:
    return any(words.match(cell.text) for words in (_ATTENTION, _ADDRESSED, _FORMAL_BEFORE, _HONORIFIC_BEFORE))


def _is_of_address(cell: TextCell) -> bool:
    return HOUSE.search(cell.text) is not None or is_town(cell.text)
