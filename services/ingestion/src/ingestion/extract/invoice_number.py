"""The number of an invoice, by its label, by the headline, or by a bare label under a title."""

import re
from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels, values
from ingestion.extract.value_places import find_first_parsed, list_texts_below_labels, list_texts_beside


def find_invoice_number(page: Sequence[TextLine]) -> str | None:
    behind = list(list_texts_beside(page, labels.INVOICE_NUMBER))
    labelled = find_first_parsed(iter(behind), _parse_number)
    return labelled or _find_number_in_headline(page) or find_first_parsed(iter(behind), _parse_number_like_a_date)


def _find_number_in_headline(page: Sequence[TextLine]) -> str | None:
    cells = [cell.text for line in page[: max(20, len(page) // 2)] for cell in line.cells]
    for text in cells:
        if (match := labels.HEADLINE.match(text)) and (number := _parse_number(text[match.end() :])):
            return number
    if any(labels.BARE_DOCUMENT.match(text) for text in cells[:10]):
        for text in cells[:15]:
            if (match := labels.BARE_NUMBER_SIGN.match(text)) and (number := _parse_number(text[match.end() :])):
                return number
        numbers = map(_parse_number, list_texts_beside(page[: max(20, len(page) // 2)], labels.BARE_NUMBER))
        distinct = {number for number in numbers if number and re.search(r"\d{3}", number)}
        if len(distinct) == 1:
            return distinct.pop()
    number = find_first_parsed(list_texts_below_labels(page, labels.BARE_DOCUMENT), _parse_number)
    return number if number and re.search(r"\d{3}", number) else None


_NUMBER = re.compile(r"[A-Za-z0-9][\w/.\\-]{0,30}")


def _parse_number(text: str) -> str | None:
    """The first word behind a label, if it looks like a document's number: with a digit, no date, no money."""
    words = text.strip(" :#.\t").split()
    if not words:
        return None
    # `F 1234K20/1234/12`: a short prefix stands apart.
    joined = " ".join(words[:2]) if len(words) > 1 and re.fullmatch(r"[A-Z]{1,4}", words[0]) else words[0]
    joined = joined.rstrip(".,;:")
    word = joined.rpartition(" ")[2]
    if not _NUMBER.fullmatch(word) or not any(letter.isdigit() for letter in word):
        return None
    if values.find_dates(joined) or re.fullmatch(r"\d+[.,]\d{2}", word) or len(word) < 2:
        return None
    return joined


def _parse_number_like_a_date(text: str) -> str | None:
    """`Faktura nr 15/03/2026`: the fifteenth of March 2026 by its looks, the fifteenth of that month by its count."""
    match = re.match(r"\s*:?\s*(\d{1,5}/\d{1,2}/\d{4})(?!\S)", text)
    return match[1] if match else None
