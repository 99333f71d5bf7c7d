"""Whether an invoice without tax says why: its writer is a small business, or its customer owes the tax.

What is said of other customers, of other invoices or not at all (`Reverse charge: no`) says nothing of this one, and
neither does a page that speaks of tax elsewhere.
"""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, tax_labels, values
from ingestion.extract.amounts.labelled_amounts import list_row_amounts

_SAME_COLUMN = 12.0  # points
_NEXT_LINE = 2.0  # of a line's height: a sentence that is broken goes on no lower
_MAX_SAID = 100  # sentences: all that speaks of tax is held against each of them
_SENTENCE_END = re.compile(r"(?<=[^\W\d_]{3}[.!?;])\s+(?=[^\Wa-zà-ž\d_])|(?<=[!?;])\s+")

# A line that begins in the middle of a sentence, and one that ends there.
_GOES_ON = re.compile(r"[a-zà-ž§(]|Art\b")
_GOES_ON_BELOW = re.compile(
    r"(?:,|-|\b(?:keine?|no|not|der|die|des|den|gem(?:äß)?\.?|nach|the|of|by|la|le|de|du|di|del|della|dell['’]|van|het|z|na|podle|enligt|efter))$",
    re.IGNORECASE,
)

_NO = r"(?:no|kein\w{0,2}|ohne|sans|sin|senza|sem|bez|geen|zonder|uden|utan|ingen|without)"
# `Rechnung ohne Umsatzsteuer`, `VAT to be accounted for by the customer` say that no tax is in it.
_SAYS_SO_TOO = re.compile(
    rf"\b{_NO}\s+(?:de\s+|la\s+|l['’]\s?)?{tax_labels.TAX_WORD.pattern}|\baccounted\s+for\b", re.IGNORECASE
)
_NEGATED = re.compile(
    r"[☐□?]|:\s*[-–—_.]*\s*$|\b(?:no|not|non|nein|nicht|kein\w{0,2}|nie|ne|není|neplatí|nej|ej|ikke|inte|não|nao|niet|geen|pas|n\W?a|n\W?v\W?t"
    r"|sans\s+objet|entfällt|false|without|ohne|sin|sem|senza|bez|uden|utan|zonder)\b",
    re.IGNORECASE,
)
_CONDITIONAL = re.compile(
    r"\b(?:if|when|where|unless|only|outside|abroad|export\w*|customers|clients|businesses|may|can|might|for|otherwise|normally"
    r"|wenn|falls|sofern|soweit|sonst|nur|bei|beim|für|kunden?|kundinnen|ausland\w*|eu-ausland\w*|kann|können|gilt|gelten"
    r"|si\s+(?:le|la|les|l['’]|vous|client|el|usted|su)|lorsque|pour|uniquement|seulement|hors|cas|peut"
    r"|cuando|solo|sólo|para|clientes|fuera|puede|caso|apenas|fora|quando|pode"
    r"|se\s+(?:il|la|l['’]|client\w*|soggett\w*)|soltanto|clienti|fuori|può"
    r"|als\s+(?:de|het|u|uw|je)|indien|alleen|bij|voor|klanten|buiten|kan|gdy|je[śż]e?li|tylko|dla|przypadku|klientów|może"
    r"|pokud|jen|pouze|pro|zákazní(?:ci|ky|kům|ků)|může|hvis|kun|ved|kunder|om|vid|endast|för|utanför|gælder|gäller)\b",
    re.IGNORECASE,
)
_DIRECTLY_NEGATED = re.compile(
    r"\b(?:kein\w{0,2}|nicht|not?(?:\s+longer)?|non|plus|più|nie|ne|geen|ikke|inte|não)\s+(?:a\s+|als\s+)?$",
    re.IGNORECASE,
)

_TAX = tax_labels.TAX_WORD.pattern
# A number at the tax office, or a paper that is called after the tax, is none.
_NO_TAX_MEANT = re.compile(
    rf"\b(?:p\.?\s?|partita\s+|n\W{{1,2}}\s?(?:de\s+|d['’]\s?)?){_TAX}"
    rf"|{_TAX}[\s./-]*n[°º]"
    rf"|{_TAX}[\s./-]*(?:id|id-?nr|nr|no|num|number|nummer|reg|registr\w*|intra\w*|ident\w*|code|office)(?!\w)"
    rf"|{_TAX}[\s./-]*(?:invoice|point|date|year)\b|\bfaktur\w*\s+vat\b|\bCHE[-\d. ]{{9,16}}\s?{_TAX}"
    rf"|{_TAX}[\s:.]{{0,4}}(?=(?-i:[A-Z]{{2,3}}[\s.-]?[A-Z]?\d(?:[\s.-]?[\dA-Z]){{6}}))",
    re.IGNORECASE,
)
_OTHER_TAX_WORDS = re.compile(
    r"\b(?:impuestos?|imposte|imposta|impostos?|taxes?|steuern?|steuer(?:betrag|satz|anteil)|belasting(?:en)?|podat(?:ek|ku|kiem|ki)|daň|daně|daní|afgift(?:er)?"
    r"|brutto|bruttosumme|bruttobetrag|t\.?t\.?c)\b|(?<!f-)\bskatt(?:en|er)?\b",
    re.IGNORECASE,
)


def says_that_no_tax_is_owed(page: Sequence[TextLine], gross: Decimal, nets: Sequence[Decimal]) -> bool:
    """Whether the supplier says so, and nothing else on the page speaks of a tax or of another net amount."""
    if any(net != gross for net in nets if net):
        return False
    if any(tax_labels.NO_TAX.search(line.text) and _is_of_a_part(line, gross) for line in page):
        return False
    said = list(dict.fromkeys(filter(tax_labels.NO_TAX.search, _list_sentences(page))))
    if not 0 < len(said) <= _MAX_SAID:
        return False
    return all(map(_is_said_of_this_invoice, said)) and not _speaks_of_tax(page, gross, said)


def _is_of_a_part(line: TextLine, gross: Decimal) -> bool:
    """What a row says of its own amount it says of no other: `Grinding wheel (reverse charge)  120.00`."""
    return not {abs(amount) for amount in list_row_amounts(line)} <= {Decimal(0), abs(gross)}


def _is_said_of_this_invoice(sentence: str) -> bool:
    match = tax_labels.NO_TAX.search(sentence)
    if match is None or any(values.find_money(sentence)) or any(values.find_rates(sentence)):
        return False
    if tax_labels.WITH_TAX.search(sentence) or _DIRECTLY_NEGATED.search(sentence[: match.start()]):
        return False
    rest = tax_labels.NO_TAX.sub(" ", _SAYS_SO_TOO.sub(" ", sentence))
    is_small_business = tax_labels.SMALL_BUSINESS.search(sentence) is not None
    return not _CONDITIONAL.search(rest) and (is_small_business or not _NEGATED.search(rest))


def _speaks_of_tax(page: Sequence[TextLine], gross: Decimal, said: Sequence[str]) -> bool:
    known = {sentence for whole in said for sentence in (whole, *whole.split("\n"))}
    return any(
        _names_tax(part) and not any(part in sentence for sentence in known) and not _is_of_nothing(line, part, gross)
        for line in page
        for cell in line.cells
        for part in _SENTENCE_END.split(cell.text)
    )


def _names_tax(text: str) -> bool:
    rest = _NO_TAX_MEANT.sub(" ", text)
    return any(word.search(rest) for word in (tax_labels.TAX_WORD, tax_labels.WITH_TAX, _OTHER_TAX_WORDS))


def _is_of_nothing(line: TextLine, text: str, gross: Decimal) -> bool:
    """`VAT 0 %`, and `Total excl. VAT` before what the total is too."""
    amounts = set(list_row_amounts(line))
    if labels.TOTAL_NET.search(text):
        return amounts == {gross}
    rates = values.find_rates(line.text)
    return (bool(rates) or amounts == {Decimal(0)}) and not any(rates) and amounts <= {Decimal(0), gross}


def _list_sentences(page: Sequence[TextLine]) -> Iterator[str]:
    """Those of each cell, with the lines above and below that a sentence may have been broken into."""
    for index, line in enumerate(page):
        for cell in line.cells:
            if not tax_labels.NO_TAX.search(cell.text):
                continue
            before, behind = _get_next(page, index, cell.left, -1), _get_next(page, index, cell.left, 1)
            text = cell.text
            if behind and (_GOES_ON.match(behind) or _GOES_ON_BELOW.search(text)):
                text = f"{text}\n{behind}"
            if before and _GOES_ON.match(text) and not re.search(r"[.!?;:]\W*$", before):
                text = f"{before}\n{text}"
            yield from _SENTENCE_END.split(text)


def _get_next(page: Sequence[TextLine], index: int, left: float, step: int) -> str | None:
    if not 0 <= index + step < len(page):
        return None
    line, other = page[index], page[index + step]
    if line.page != other.page or abs(other.top - line.top) > _NEXT_LINE * max(line.height, other.height):
        return None
    return next(
        (cell.text for cell in other.cells if abs(cell.left - left) < _SAME_COLUMN and len(other.cells) == 1), None
    )
