"""The number of an invoice, by its label, by the headline, or by a bare label under a title."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels, values
from ingestion.extract.amounts.part_payments import is_final_invoice, is_part_payment, is_reference
from ingestion.extract.invoice_lists import blank_lists_of_invoices
from ingestion.extract.labelled_numbers import choose_own_number, list_labelled_numbers
from ingestion.extract.number_parts import join_rest
from ingestion.extract.titles import title_words
from ingestion.extract.value_places import find_first_parsed, list_texts_below_labels, list_texts_beside


def find_invoice_number(page: Sequence[TextLine]) -> str | None:
    number = _find_number(page)
    return None if number is not None and _goes_on_below(page, number) else number


_REST_OF_NUMBER = re.compile(r"[/-]?\d[\d/-]{1,20}")
_LINE_GAP = 1.6  # of a line's height
_SAME_LEFT = 2.0  # points


def _goes_on_below(page: Sequence[TextLine], number: str) -> bool:
    """Whether a narrow cell has its end in the line below: cut there it is the number of many invoices."""
    for line, below in pairwise(page):
        if below.page != line.page or below.top - line.top > _LINE_GAP * line.height:
            continue
        lefts = [cell.left for cell in line.cells if cell.text.strip() == number]
        # What has a label to its left is that label's.
        rests = below.cells[:1] if any(any(map(str.isalpha, cell.text)) for cell in below.cells) else below.cells
        if any(abs(cell.left - left) < _SAME_LEFT and _is_rest(cell.text) for cell in rests for left in lefts):
            return True
    return False


def _is_rest(text: str) -> bool:
    return _REST_OF_NUMBER.fullmatch(text.strip()) is not None and values.DATES.fullmatch(text.strip()) is None


def _find_number(page: Sequence[TextLine]) -> str | None:
    page = blank_lists_of_invoices(_blank_other_invoices(page))
    first_labels = keep_first_labels(page)
    if labelled := [*list_labelled_numbers(first_labels, _parse_number, _begins_like_a_street)]:
        return choose_own_number(labelled, _list_titles(page), _find_number_behind_title(page))
    behind = list_texts_beside(first_labels, labels.OWN_NUMBER)
    within = sorted(list_texts_beside(page, labels.OWN_NUMBER), key=_begins_like_a_street)
    titled = _find_number_with_date(page) or _find_number_in_headline(page)
    if titled is not None and _list_shortly_labelled(page) - {titled}:
        return None
    named = find_first_parsed(iter(within), _parse_number)
    if named is not None and titled is not None and named != titled:
        return titled if is_credit_note(page) else None
    return (
        titled
        or find_first_parsed(list_texts_beside(page, labels.BILL_REFERENCE), _parse_number)
        or find_first_parsed(list_texts_beside(page, labels.RECEIPT_NUMBER), _parse_number)
        or _find_number_of_titled(page)
        or find_first_parsed(_list_texts_behind(first_labels), _parse_number_like_a_date)
        or find_first_parsed(behind, _parse_single_digit)
    )


def _list_texts_behind(page: Sequence[TextLine]) -> Iterator[str]:
    """What stands behind a label in its cell: not below it, where a date may stand."""
    matches = ((cell.text, labels.OWN_NUMBER.search(cell.text)) for line in page for cell in line.cells)
    return (text[match.end() :] for text, match in matches if match)


def keep_first_labels(page: Sequence[TextLine]) -> list[TextLine]:
    """The page without the cells in which words stand before a number's label: `Mit Rechnungsnr. 4 wurde …`."""
    return [replace(line, cells=tuple(map(_blank_unless_first, line.cells))) for line in page]


def _blank_unless_first(cell: TextCell) -> TextCell:
    match = labels.OWN_NUMBER.search(cell.text)
    is_within = match is not None and re.search(r"[^\W\d_]", _OWN.sub("", cell.text[: match.start()])) is not None
    return replace(cell, text="") if is_within else cell


# `Our invoice no.`, `Ihre Rechnungsnummer`: this one's. Two languages may share a label.
_OWN = re.compile(
    r"^\W*(?:our|your|the|unsere?|ihre?|notre|votre|nuestra|su|nostra|vostra|onze|uw|vores|din|vår|er)\s+|(?<![^\W\d_])[^\W\d_]+\s*/\s*$"
    # Two titles of one paper: `AVIS D'ÉCHÉANCE - FACTURE N° 118745`; behind `AVOIR -` it is another paper's number.
    r"|^(?-i:[A-ZÀ-Þ][A-ZÀ-Þ'’ ]{3,40}ÉCHÉANCE\s[–—-]\s)$",
    re.IGNORECASE,
)


def is_credit_note(page: Sequence[TextLine]) -> bool:
    """Whether the title is that of a credit note: the label may be that of the invoice that it is of."""
    texts = [cell.text for line in page[: max(20, len(page) // 2)] for cell in line.cells]
    title = next((text for text in texts if labels.HEADLINE.match(text)), "")
    return title_words.CREDIT_WORD.search(title) is not None


def _list_titles(page: Sequence[TextLine]) -> list[str]:
    head = [cell.text for line in page[: max(20, len(page) // 2)] for cell in line.cells]
    headlines = [text for text in head if labels.HEADLINE.match(text)]
    bare = [text for text in headlines if labels.BARE_DOCUMENT.match(text)]
    return bare or [text for text in headlines if not labels.OWN_NUMBER.search(text)] or headlines[:1]


def _blank_other_invoices(page: Sequence[TextLine]) -> list[TextLine]:
    """The page without labels of another invoice's number: one that it refers to, or that of a part of it."""
    is_whole = is_final_invoice(page[: max(20, len(page) // 2)]) or _is_whole(page)
    return [
        replace(
            line,
            cells=tuple(
                replace(cell, text="") if other else cell for cell, other in zip(line.cells, others, strict=True)
            ),
        )
        if any(others := [_names_another_invoice(cell.text, is_whole=is_whole) for cell in line.cells])
        else line
        for line in page
    ]


def _is_whole(page: Sequence[TextLine]) -> bool:
    """Whether a title says that this is no invoice of a part."""
    titles = _list_titles(page)
    return bool(titles) and not any(map(is_part_payment, titles))


def _names_another_invoice(text: str, *, is_whole: bool) -> bool:
    if is_whole and is_part_payment(text):
        return True
    match = labels.INVOICE_NUMBER.search(text)
    return match is not None and is_reference(text[: match.start()])


_STREET = re.compile(r"\W*\d{1,4}(?:[/-]\d{1,4})?[a-zA-Z]?,?\s+[^\W\d_a-z][^\W\d_]{2,}")


def _begins_like_a_street(text: str) -> bool:
    """`3/18 Foundry Road` stands to the right of a label whose number is below it."""
    return _STREET.match(text) is not None


def _find_number_with_date(page: Sequence[TextLine]) -> str | None:
    """`Nummer/Datum`, where a title says of what."""
    if not any(
        labels.BARE_DOCUMENT.match(cell.text) for line in page[: max(20, len(page) // 2)] for cell in line.cells
    ):
        return None
    return find_first_parsed(list_texts_beside(page, labels.NUMBER_AND_DATE), _parse_number)


def _find_number_of_titled(page: Sequence[TextLine]) -> str | None:
    """`Document no. 90012`, where a title says that the document is an invoice."""
    head = page[: max(20, len(page) // 2)]
    texts = [cell.text for line in head for cell in line.cells]
    if not any(labels.BARE_DOCUMENT.match(text) or _CODE_OF_TITLE.match(text) for text in texts):
        return None
    return find_first_parsed(list_texts_beside(head, labels.DOCUMENT_NUMBER), _parse_number)


# How the Italian format of e-invoices calls what a document is: `TD01 fattura`.
_CODE_OF_TITLE = re.compile(rf"\W*TD\d{{2}}\W{{1,3}}{labels.DOCUMENT}", re.IGNORECASE)


def _find_number_in_headline(page: Sequence[TextLine]) -> str | None:
    cells = [cell.text for line in page[: max(20, len(page) // 2)] for cell in line.cells]
    if (number := _find_number_behind_title(page)) is not None:
        return None if _is_named_otherwise(page[: max(20, len(page) // 2)], number) else number
    if any(labels.BARE_DOCUMENT.match(text) for text in cells):
        signed = ((text, labels.BARE_NUMBER_SIGN.match(text)) for text in _list_unlabelled(page)[:15])
        behind_sign = [number for text, match in signed if match and (number := _parse_number(text[match.end() :]))]
        if behind_sign:
            # `Order | Invoice`, and below each its own `No.`
            return behind_sign[0] if len({*behind_sign}) == 1 else None
        distinct = _list_bare_numbers(page[: max(20, len(page) // 2)])
        if len(distinct) == 1:
            return distinct.pop()
    number = find_first_parsed(list_texts_below_labels(page, labels.BARE_DOCUMENT), _parse_number)
    if number and re.search(r"\d{3}", number):
        return number
    return _find_number_beside_title(page[: max(20, len(page) // 2)])


def _list_unlabelled(page: Sequence[TextLine]) -> list[str]:
    """The cells of the head without those that have a word for something else close to their left: `Order   #20418`."""
    return [
        cell.text
        for line in page[: max(20, len(page) // 2)]
        for left, cell in zip((None, *line.cells), line.cells, strict=False)
        if left is None or cell.left - left.right > _FAR_RIGHT or _may_number(left.text)
    ]


_FAR_RIGHT = 60.0  # points


def _may_number(text: str) -> bool:
    is_word = re.search(r"[^\W\d_]{3}", text) is not None
    return not is_word or any(label.match(text) for label in (labels.HEADLINE, labels.BARE_NUMBER))


def _list_bare_numbers(head: Sequence[TextLine]) -> set[str]:
    """Those of `Nr.` and its like that have a name in a column or row of their own."""
    numbers = map(_parse_number, list_texts_beside(head, labels.BARE_NUMBER))
    return {number for number in numbers if number and re.search(r"\d{3}", number)}


_WITH_SIGN = re.compile(
    r"(?:\b(?:no|nr|num|number|nummer|numer|numéro|numero|número|číslo)\b|\bn\W|[#č])[^\w]*$", re.IGNORECASE
)


def _is_named_otherwise(head: Sequence[TextLine], number: str) -> bool:
    """Whether `Nr.: 2026-4471` stands on the page as well: behind the title `Rechnung 10/2026` or `Invoice 3/12` is
    then what the invoice is of."""
    cells = [cell.text for line in head for cell in line.cells]
    if any(
        _WITH_SIGN.search(text[: text.find(number)]) for text in cells if number in text and labels.HEADLINE.match(text)
    ):
        return False
    signs = ((text, labels.BARE_NUMBER_SIGN.match(text)) for text in cells)
    behind = {_parse_number(text[match.end() :]) for text, match in signs if match}
    of_document = set(map(_parse_number, list_texts_beside(head, labels.DOCUMENT_NUMBER)))
    return bool((behind | of_document | _list_bare_numbers(head)) - {number, None})


_SHORT_LABEL = re.compile(
    r"\W*(?:(?P<sign>nr|no|n[°º.]|č)\W{0,2}\s)?(?P<word>[^\W\d_]{1,7}?)[\s.-]{0,3}(?(sign)|(?:(?:nr|no|n|č|ref)\b\.?[°º]?|n[°º]|#))(?P<rest>(?:[\s:.]{1,4}\S{2,30})?[\s:.]{0,4})",
    re.IGNORECASE,
)
_DOCUMENTS = ("rechnung", "invoice", "facture", "fattura", "fatura", "faktura", "factuur", "document", "dokument")
_SHORT_DOCUMENTS = ("rg", "rgnr", "fv", "fra")
_MIN_LETTERS = 2


def _list_shortly_labelled(page: Sequence[TextLine]) -> set[str]:
    """The numbers behind `Rg.-Nr.`, `Fact. n°` and whatever else begins as a word for an invoice does: beside one of
    them a number without a label, near the title, may be of anything."""
    found: set[str] = set()
    for line in page[: max(20, len(page) // 2)]:
        for at, cell in enumerate(line.cells):
            match = _SHORT_LABEL.fullmatch(cell.text) if len(cell.text) < _LONGEST_SHORT else None
            if match is None or not _is_cut_short(match["word"].lower()):
                continue
            beside = line.cells[at + 1].text if at + 1 < len(line.cells) else ""
            number = _parse_number(match["rest"] if _has_digit(match["rest"]) else beside)
            found |= {number} if number else set()
    return found


_LONGEST_SHORT = 40  # letters


def _is_cut_short(word: str) -> bool:
    is_cut = len(word) >= _MIN_LETTERS and any(full.startswith(word) and full != word for full in _DOCUMENTS)
    return is_cut or word in _SHORT_DOCUMENTS


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _find_number_behind_title(page: Sequence[TextLine]) -> str | None:
    cells = (cell.text for line in page[: max(20, len(page) // 2)] for cell in line.cells)
    headlines = ((text, labels.HEADLINE.match(text)) for text in cells)
    return find_first_parsed((text[match.end() :] for text, match in headlines if match), _parse_number)


# As the tax office of Portugal has programs count: kind, series, number. Elsewhere a word for an invoice cut short, and
# its number; `PO 4711` is an order's.
_PREFIXED = re.compile(
    r"(?:FT|FR|FS|NC|ND) [A-Z0-9][\w.-]{0,20}/\d{1,8}|F[A-Z]{1,3} \d{2,4}[A-Z]?/\d{1,8}"
    r"|(?:R[EGN]?|F[ACSTV]?|I(?:NV?)?|CN|GS|AV) \d{3,8}(?:[/-]\d{1,6})?"
)


def _find_number_beside_title(head: Sequence[TextLine]) -> str | None:
    """`Invoice` at one edge of the page and `2026-000117` or `R 88231`, which says nothing else, at the other."""
    for line in head:
        for title, other in pairwise(line.cells):
            if not labels.BARE_DOCUMENT.match(title.text):
                continue
            if _PREFIXED.fullmatch(other.text.strip()):
                return other.text.strip()
            if len(other.text.split()) == 1:
                number = _parse_number(other.text)
                if number and re.search(r"\d{3}", number):
                    return number
    return None


# `90 448 137`: digits in groups, and nothing else.
_GROUPS = re.compile(r"\d{1,6}(?: \d{2,6}){1,4}")
# `38 / 2026`, `2026 - 117`
_NUMBER_OF_YEAR = re.compile(r"(?:\d{1,6} [/–-] (?:19|20)\d\d|(?:19|20)\d\d [/–-] \d{1,6})(?![\w/.,-])")
_NUMBER = re.compile(r"[A-Za-z0-9][\w/.\\-]{0,30}")


# `Factura nº 1 de 2`, `Invoice no. 2 of 3`: a sheet, or a part.
_ONE_OF_SEVERAL = re.compile(
    r"\W*\d{1,3}\s*,?\s+(?:of|von|de|di|van|af|av|z|ze|sur|a|con|in|out\s+of)\s+(?=\d{1,3}(?![\w/-]))", re.IGNORECASE
)


def _is_one_of_several(text: str) -> bool:
    match = _ONE_OF_SEVERAL.match(text)
    return match is not None and values.DATES.match(text, match.end()) is None


def _parse_number(text: str) -> str | None:
    """The first word behind a label, if it looks like a document's number: with a digit, no date, no money."""
    words = text.strip(" :#.\t").split()
    if not words or _is_one_of_several(text):
        return None
    if _GROUPS.fullmatch(whole := " ".join(words)):
        return whole
    if match := _NUMBER_OF_YEAR.match(whole):
        return join_rest(match[0], whole[match.end() :])
    # `F 1234K20/1234/12`: a short prefix stands apart.
    joined = " ".join(words[:2]) if len(words) > 1 and re.fullmatch(r"[A-Z]{1,4}", words[0]) else words[0]
    rest = whole[len(joined) :] if joined[-1] not in ".,;:" else ""
    joined = joined.rstrip(".,;:")
    word = joined.rpartition(" ")[2]
    # What ends with a dash is cut off.
    if not _NUMBER.fullmatch(word) or word[-1] in "-/\\" or not any(letter.isdigit() for letter in word):
        return None
    if _is_date(joined) or re.fullmatch(r"\d+[.,]\d{2}", word) or len(word) < 2:
        return None
    return join_rest(joined, rest)


def _is_date(text: str) -> bool:
    """Whether a date is in it that is no part of a number: `FV/31/03/2026` and `FV 31/03/2026` are the 31st of March's
    by their looks, and count by month."""
    prefix, _, word = text.rpartition(" ")
    if prefix and "/" in word and not labels.BEFORE_DATE.fullmatch(prefix):
        return False
    return any(
        word[match.start() - 1 : match.start()] not in ("/", "-")
        and word[match.end() : match.end() + 1] not in ("/", "-")
        for match in values.DATES.finditer(word)
    )


def _parse_number_like_a_date(text: str) -> str | None:
    """`Faktura nr 15/03/2026`: the fifteenth of March 2026 by its looks, the fifteenth of that month by its count."""
    match = re.match(r"\s*:?\s*(\d{1,5}/\d{1,2}/\d{4})(?!\S)", text)
    return match[1] if match else None


def _parse_single_digit(text: str) -> str | None:
    """`Fattura n. 8 del 14/07/2026`: who writes few invoices counts from one."""
    match = _SINGLE_DIGIT.match(text)
    if match is None:
        return None
    is_alone = not text[match.end() :].strip()
    return match[1] if is_alone or (match["before_day"] and values.DATES.match(text, match.end())) else None


_SINGLE_DIGIT = re.compile(
    r"\W*(\d)(?P<before_day>,?\s+(?:vom|von|dated?|of|du|en\s+date\s+du|van|z\s+dnia|del?(?:\s+fecha)?|con\s+fecha|in\s+data(?:\s+del)?|emessa\s+il"
    r"|(?:ze\s+)?dne|d\.\s?d\.?|den|af)[\s:]{1,3})?",
    re.IGNORECASE,
)
