"""The currency of an invoice, where a page may name several: beside what is to be paid, what it is worth elsewhere."""

import re
from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.amounts.other_dollars import may_be_other_dollar
from ingestion.extract.amounts.totals import find_totals
from ingestion.extract.parties.american_seller import is_american_seller
from ingestion.extract.value_places import list_texts_beside

_CODE = re.compile(r"\W*([A-Z]{3})\b")


def find_currency(page: Sequence[TextLine], supplier_name: str | None = None) -> str | None:
    """What a label says, if amounts say it too or nothing; else that of the total, else the one written most often. A
    bare dollar is not certainly American beside a country that has its own."""
    found = _find_written(page)
    if found != "USD":
        return found
    is_american = is_american_seller(page, supplier_name)
    return None if may_be_other_dollar(page, is_american=is_american) else found


def _find_written(page: Sequence[TextLine]) -> str | None:
    # `1 EUR = 395.20 HUF`, and what follows from it.
    texts = [line.text for line in page if not _is_exchange(line.text)]
    of_amounts = {code for text in texts if values.find_amounts(text) for code in values.find_currencies(text)}
    labelled = _find_labelled(page)
    if labelled is not None and (labelled in of_amounts or not of_amounts):
        return labelled
    totals = [text for text in texts if labels.TOTAL_GROSS.search(text) or labels.TOTAL_GROSS_MAYBE.match(text)]
    most, of_total = values.determine_currency(texts), values.determine_currency(totals)
    if of_total is None:
        return None if most is None or not _is_of_amounts(page, texts, most) else most
    # A bare dollar is another country's if one is named elsewhere.
    return most if of_total == "USD" and most in values.DOLLARS else of_total


def _is_of_amounts(page: Sequence[TextLine], texts: Sequence[str], currency: str) -> bool:
    """Whether a currency is that of the page's own amounts, where its total names none: not if it stands at amounts
    only that the page does not consist of (`Stammkapital EUR 25.000`, `payable in euro: € 1,411.00`)."""
    beside = [(text, [amount for code, amount in values.find_priced(text) if code == currency]) for text in texts]
    if not any(amounts for _, amounts in beside):
        return True  # crowns
    if any(not amounts and currency in values.find_currencies(text) for text, amounts in beside):
        return True  # said of all of them: `Amount (EUR)`
    totals = find_totals(page)
    own = {totals.gross, totals.net, totals.tax, totals.due} - {None}
    return not own or any(amount in own for _, amounts in beside for amount in amounts)


def _is_exchange(text: str) -> bool:
    return len(set(values.find_currencies(text))) > 1 or labels.EXCHANGE.search(text) is not None


def _find_labelled(page: Sequence[TextLine]) -> str | None:
    codes = (_CODE.match(text) for text in list_texts_beside(page, labels.CURRENCY))
    found = {match[1] for match in codes if match} & values.CURRENCY_CODES
    return found.pop() if len(found) == 1 else None
