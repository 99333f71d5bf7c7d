"""Whether one amount is what a bank and a state took together: how much of it was a fee, the note does not say, or says
it where nothing tells how."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from ingestion.extract.trades import labels
from ingestion.extract.trades.candidates import Candidates
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.numbers import Number
from ingestion.extract.trades.sections import is_table_head
from ingestion.extract.trades.settlement import Settlement

_MAX_CELL = 140  # letters
_MAX_WORDS_OF_KIND = 8  # in a cell
# What a bank takes, where a line may say it together with what a state takes.
_FEES = (
    r"(?:\w{0,20}kosten|\w{0,20}spesen|\w{0,20}geb[üu]hren|\w{0,12}entgelte?|\w{0,12}provision(?:en)?|courtagen?|kommission(?:en)?|fees?|charges?|costs?|commissions?|brokerage|frais|courtages?|gastos|comision(?:es)?"
    r"|comisi[óo]n|spese|commissioni|oneri|diritti|comiss(?:ão|ões)|despesas|encargos|custos|gebyrer|omkostninger|kurtage|avgifter|op[łl]aty|prowizj[ae])"
)
_FEE = re.compile(rf"(?<!\w)(?:{_FEES}|(?:order|dealing|trading)?\s?fee)(?!\w)", re.IGNORECASE)
_TAX = re.compile(
    labels.TAX_WORD.pattern
    + r"|\b(?:ttf|tob|ftt|fts|itf|sdrt|tobin|(?-i:IS|ST)|duties|levies|tribut[oi]s?|tasas)\b"
    + r"|\b(?:imposte|tasse|skatt\w{0,3}|podat(?:ek|ki))\b"
    + r"|taks(?:en)?\b|\bheffing(?:en)?\b",
    re.IGNORECASE,
)
# On services, and so a part of the fee.
_VAT = re.compile(
    r"\b(?:vat|gst|u\.?st\.?|mw\.?st\.?|umsatzsteuer\w{0,2}|mehrwertsteuer\w{0,2}|t\.?v\.?a\.?|i\.?v\.?a\.?|btw|moms|dph|taxe\s+sur\s+la\s+valeur)(?!\w)",
    re.IGNORECASE,
)
_OF_EXCHANGE = re.compile(r"(?:b[öo]rsen|platz)-?$", re.IGNORECASE)  # `Börsenabgaben` are its fees
_NOT_IN_IT = re.compile(
    r"\b(?:excl?|exkl|excluding|exklusive|ohne|without|w/o|before|after|vor|nach|net\s+of|hors|avant|apr[èe]s|sin|antes|senza|prima|esclus\w{1,2}|zonder|voor|sem|uden|utan|uten|bez)\b",
    re.IGNORECASE,
)
# `Imposto do selo s/ comissão`: what the tax is on.
_ON = re.compile(
    r"[\s(]*(?:s/|(?:on|of|auf|von|vom|der|des|sur|su[il]?|sull[ae']|sobre|over|op|van|de|das?|dos?|af|av|p[åa]|od|z)\b)",
    re.IGNORECASE,
)
_BY_STATE = re.compile(
    r"\b(?:government|state|public|statutory|staatliche|gesetzliche|[öo]ffentliche)\s+(?:charges?|fees?|costs?|geb[üu]hren|abgaben)\b",
    re.IGNORECASE,
)


def has_mixed_costs(lines: Sequence[ReadLine], settlement: Settlement) -> bool:
    """Whether words for both stand in front of one amount, and none of what other lines say of each is its sum."""
    fees, taxes = settlement.fees or Decimal(0), settlement.taxes or Decimal(0)
    total = fees + taxes if fees and taxes else None
    return any(
        any(number.is_money and number.value not in (0, total) for number in line.numbers) and _is_mixed(line)
        for line in lines
    )


def has_column_of_both(lines: Sequence[ReadLine]) -> bool:
    """Whether the head of a table of trades joins words for both: `Fees/Taxes`, `Commission & stamp`."""
    return any(_is_head_of_trades(line) and _joins_both(line.text) for line in lines)


def _is_head_of_trades(line: ReadLine) -> bool:
    """`Charges and taxes` alone is the heading of what a note lists below."""
    return is_table_head(line) and any(place.label in (Label.QUANTITY, Label.PRICE) for place in line.labels)


def _joins_both(text: str) -> bool:
    taxes = _list_taxes(text)
    for fee in [*_FEE.finditer(text)][:_MAX_WORDS_OF_KIND] if taxes else ():
        for tax in taxes:
            first, second = sorted((fee, tax), key=lambda match: match.start())
            if _JOINED.fullmatch(text, first.end(), second.start()):
                return True
    return False


_JOINED = re.compile(
    r"[^\S\t]?(?:/|&|\+|,|\b(?:and|und|et|y|e|en|og|och|i|a|oraz|sowie|or|oder|ou|incl?\.?|including|inkl\.?|with|mit|plus)(?!\w))[^\S\t]?(?:(?:other|sonstige|autres|otros|altre|transaction)[^\S\t])?",
    re.IGNORECASE,
)


def leaves_cost_of_other_kind(lines: Sequence[ReadLine], candidates: Candidates, settlement: Settlement) -> bool:
    """Whether all costs are of one kind, though the page names one of the other kind as well, that may be a part of
    them: `Charges 8.00`, and below it `of which stamp duty 3.00`."""
    fees, taxes = settlement.fees, settlement.taxes
    if fees is None or taxes is None or bool(fees) is bool(taxes):
        return False
    named = candidates.taxes if fees else candidates.fees
    texts = {line.index: line.text for line in lines}
    others = [*(n for n in named if not _VAT.search(texts.get(n.line, ""))), *(_list_taxes_said(lines) if fees else ())]
    return any(Decimal(0) < number.value <= (fees or taxes) for number in others)


def _list_taxes_said(lines: Sequence[ReadLine]) -> Iterator[Number]:
    """What a line says of a tax that is in it: `The costs include stamp duty of GBP 3.60.`"""
    for line in lines:
        if _TAX.search(line.text) and _WITHIN.search(line.text) and not _VAT.search(line.text):
            yield from (number for number in line.numbers if number.is_money)


_WITHIN = re.compile(
    r"\b(?:of\s+which|davon|darin|dont|de\s+l[oa]s\s+cuales|di\s+cui|waarvan|dos\s+quais|das\s+quais|varav|heraf|herav|w\s+tym|z\s+toho|includ\w*|contain\w*|incl|inkl|enthalten\w*|enth[äa]lt|compris\w*|inclu[isy]\w*|comprend|comprensiv\w*|begrepen)\b",
    re.IGNORECASE,
)


def _is_mixed(line: ReadLine) -> bool:
    if _BY_STATE.search(line.text):
        return True
    start = 0
    for cell in line.text.split("\t"):
        if len(cell) <= _MAX_CELL and _names_both(line, cell, start):
            return True
        start += len(cell) + 1
    return False


def _names_both(line: ReadLine, cell: str, start: int) -> bool:
    """With no amount between them, and one behind."""
    taxes = _list_taxes(cell)
    for fee in [*_FEE.finditer(cell)][:_MAX_WORDS_OF_KIND] if taxes else ():
        for tax in taxes:
            first, second = sorted((fee, tax), key=lambda match: match.start())
            between = cell[first.end() : second.start()]
            is_apart = _NOT_IN_IT.search(between) or (first is tax and _ON.match(between))
            if second.start() < first.end() or is_apart:
                continue
            has_number = any(first.end() <= number.start - start < second.start() for number in line.numbers)
            has_amount = any(number.is_money and number.start - start >= second.end() for number in line.numbers)
            if has_amount and not has_number:
                return True
    return False


def _list_taxes(text: str) -> list[re.Match[str]]:
    """The words for what a state takes, without those on services, which are part of the fee."""
    within_fees = [*_VAT.finditer(text)]
    return [
        match
        for match in _TAX.finditer(text)
        if not any(vat.start() <= match.start() < vat.end() for vat in within_fees)
        and not _OF_EXCHANGE.search(text, 0, match.start())
    ][:_MAX_WORDS_OF_KIND]
