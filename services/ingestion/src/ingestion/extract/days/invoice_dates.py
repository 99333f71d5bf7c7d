"""When an invoice was written, and in which order its dates have day and month."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels, values
from ingestion.extract.amounts.part_payments import is_part_payment
from ingestion.extract.days.date_order import find_said_orders, may_write_day_first
from ingestion.extract.days.issue_date_labels import are_only_of_tax, choose_issue_date, list_labelled_dates
from ingestion.extract.days.town_before_day import is_town_or_day_of_week
from ingestion.extract.invoice_lists import drop_lists_of_invoices, find_largest_amount, heads_smaller_amounts
from ingestion.extract.invoice_number import find_invoice_number, keep_first_labels
from ingestion.extract.page_head import limit_to_head
from ingestion.extract.parties.american_seller import is_american_seller
from ingestion.extract.parties.foreign_signs import list_own_texts
from ingestion.extract.titles import kind_words, title_words
from ingestion.extract.value_places import find_first_parsed, list_texts_beside


def determine_day_first(
    page: Sequence[TextLine], currency: str | None, supplier_name: str | None = None
) -> bool | None:
    """The order of day and month: what the dates of this document say, else its language, else its currency."""
    text = "\n".join(line.text for line in page).lower()
    said = {date.says_day_first for line in page for date in values.find_dates(line.text)} | find_said_orders(text)
    said -= {None}
    if len(said) == 1:
        order = said.pop()
        # What one date says, a customer may have written: `your order of 10/28/2026`.
        return None if _is_against(page, currency, supplier_name, text, day_first=bool(order)) else order
    if said or _WRITES_YEAR_FIRST.search(text):
        return None
    if _DAY_FIRST_LANGUAGE.search(text):
        return True
    if currency != "USD" and any(next(values.find_ibans(line.text), None) for line in page):
        return True  # an account as Europe numbers them
    if currency == "USD":
        # Who asks for dollars may be anywhere: an American seller says where it is, wherever its customer may be.
        is_american = is_american_seller(page, supplier_name)
        return (
            False if is_american and not any(map(may_write_day_first, map(str.lower, list_own_texts(page)))) else None
        )
    # An American who asks for pounds writes his own days all the same.
    return True if currency in _DAY_FIRST_CURRENCIES and not is_american_seller(page, supplier_name) else None


_DAY_FIRST_LANGUAGE = re.compile(
    r"\b(?:rechnung\w{0,8}|factuur\w{0,8}|faktura\w{0,8}|facture|factura|fattura|fatura|avoir|gutschrift|betrag|bedrag|montant|datum|fecha)\b"
)
_DAY_FIRST_CURRENCIES = frozenset({"GBP", "CHF", "PLN", "AUD", "DKK", "CZK"})
# In Sweden `26-11-24` begins with the year. What dates say that may not is nothing there.
_WRITES_YEAR_FIRST = re.compile(r"\b(?:fakturadatum|förfallodag|förfallodatum|bankgiro|plusgiro|momsreg\w*|f-skatt)\b")


def _is_against(
    page: Sequence[TextLine], currency: str | None, supplier_name: str | None, text: str, *, day_first: bool
) -> bool:
    """Whether language, currency or the supplier's country write the other order than a date of the page does."""
    if day_first:
        return currency == "USD" and is_american_seller(page, supplier_name)
    return currency in _DAY_FIRST_CURRENCIES or _DAY_FIRST_LANGUAGE.search(text) is not None


def find_issue_date(page: Sequence[TextLine], day_first: bool | None) -> date | None:
    def read(text: str) -> date | None:
        return None if _begins_with_period(text) else _find_first_date(text, day_first)

    def read_bare(text: str) -> date | None:
        return None if _goes_on_in_words(text) else read(text)

    own = drop_lists_of_invoices(page)
    labelled = list_labelled_dates(_blank_terms(own), labels.ISSUE_DATE, lambda text: _read_issue_date(text, day_first))
    outside = _drop_table_heads(own)
    bare = {found.day for found in list_labelled_dates(outside, labels.BARE_DATE, read_bare)}
    if labelled:
        chosen = choose_issue_date(labelled)
        # A tax point may be another day than the invoice's own.
        return None if bare - {chosen} and are_only_of_tax(labelled) else chosen
    # `Date:` is the invoice's as well: which of two is, nobody can tell.
    shared = _find_date_beside_number(page, day_first)
    if bare or shared:
        days = bare | ({shared} if shared else set())
        return days.pop() if len(days) == 1 else None
    if beside_number := find_first_parsed(list_texts_beside(page, labels.NUMBER_AND_DATE), read):
        return beside_number
    if any(kind_words.RECEIPT_TITLE.match(cell.text) for line in page[:20] for cell in line.cells):
        paid = find_first_parsed(list_texts_beside(page, labels.PAID_DATE), read)
        if paid:
            return paid
    return _find_lone_date(page, day_first)


def _goes_on_in_words(text: str) -> bool:
    """Whether words that are no other label stand behind a date: `14.10.2026 Montage Geländer`."""
    match = values.DATES.search(text)
    behind = text[match.end() :] if match else ""
    is_label = re.search(r"\w\s?[:#|]", behind) is not None or values.DATES.search(behind) is not None
    return any(letter.isalpha() for letter in behind) and not is_label


def _find_date_beside_number(page: Sequence[TextLine], day_first: bool | None) -> date | None:
    """The day that stands directly behind the number that was chosen, or directly behind the title."""
    number = find_invoice_number(page)
    is_of_another = _gives_back(page)
    for text in (cell.text for line in page for cell in line.cells):
        if found := _read_headline(text, number, day_first, is_of_another=is_of_another):
            return found
        if found := _read_date_behind_bar(text, number, day_first):
            return found
    for label in (labels.OWN_NUMBER, labels.BILL_REFERENCE):
        for text in list_texts_beside(keep_first_labels(page), label):
            match = _NUMBER_AND_BRACKETS.fullmatch(text)
            if match is not None and match["number"] == number:
                return _read_whole(match["day"], day_first)
    return _find_date_of_own_invoice(page, day_first)


# `NLE-33017764-09 (2 October 2026)`
_NUMBER_AND_BRACKETS = re.compile(r"\W{0,4}(?P<number>[\w/.-]{2,30})\s?\((?P<day>[^()]{6,30})\)\W{0,4}")


def _read_headline(text: str, number: str | None, day_first: bool | None, *, is_of_another: bool) -> date | None:
    """`Rechnung Nr. 7 vom 22.05.2014`: nothing but the number stands between the title and the word before the day."""
    rest = text
    while match := labels.HEADLINE.match(rest):
        rest = rest[match.end() :]
    between = labels.ISSUE_DATE_IN_HEADLINE.search(rest)
    if rest == text or between is None or is_part_payment(text):
        return None
    is_numbered = any(letter.isdigit() for letter in rest[: between.start()])
    if is_of_another and not is_numbered and not title_words.CREDIT_WORD.search(text):
        return None
    if rest[: between.start()].strip(_PUNCTUATION) != (number if is_numbered else ""):
        return None
    # A comma or a dash says nothing of the day: then words behind it do.
    read = _read_beginning if between[0][0].isalpha() else _read_whole
    return read(rest[between.end() :], day_first)


_PUNCTUATION = " \t:.,;#/|–—-"


def _read_date_behind_bar(text: str, number: str | None, day_first: bool | None) -> date | None:
    """`Fakturanr.: 10934 | Dato: 18-05-2026 | Kundenr.: 555`"""
    label = labels.OWN_NUMBER.search(text)
    bar = labels.DATE_BEHIND_BAR.search(text, label.end()) if label else None
    if label is None or bar is None or re.search(r"\w", text[: label.start()]):
        return None
    if text[label.end() : bar.start()].strip(_PUNCTUATION) != number:
        return None
    return _read_beginning(text[bar.end() :], day_first)


def _read_beginning(text: str, day_first: bool | None) -> date | None:
    """The day that a text begins with, unless it is the first of a period."""
    match = values.DATES.search(text)
    if match is None or text[: match.start()].strip(_PUNCTUATION) or _begins_with_period(text):
        return None
    return _find_first_date(text, day_first)


def _read_whole(text: str, day_first: bool | None) -> date | None:
    """The day that a text says, if it says nothing else."""
    is_day = not values.mask_dates(text).strip(f" \u2022{_PUNCTUATION}") and len(values.find_dates(text)) == 1
    return _find_first_date(text, day_first) if is_day else None


# From one day to another: `vom 12.05.2026 bis 09.06.2026`, `du 1er au 31 octobre 2026`.
_UNTIL = r"(?:bis(?:\s+zum)?|to|until|till|through|au|al|tot(?:\s+en\s+met)?|t/m|a|à|ao|até|do|až|til|-|–|—)"
_BEFORE_END = re.compile(
    rf"^\W*\d{{1,2}}(?:er|st|nd|rd|th|\.)?(?:\s?[^\W\d]{{3,12}}|[./-]\d{{1,2}}\.?)?\s*{_UNTIL}\s*$", re.IGNORECASE
)
_BEHIND_BEGINNING = re.compile(rf"\W{{0,2}}{_UNTIL}(?!\w)\W{{0,2}}", re.IGNORECASE)


def _begins_with_period(text: str) -> bool:
    """Whether the first date of a text is an end of what it bills, which was written on another day."""
    match = values.DATES.search(text)
    if match is None:
        return False
    until = _BEHIND_BEGINNING.match(text, match.end())
    is_beginning = until is not None and values.DATES.match(text, until.end()) is not None
    return is_beginning or _BEFORE_END.match(text[: match.start()]) is not None


def _gives_back(page: Sequence[TextLine]) -> bool:
    head = [cell.text for line in limit_to_head(page) for cell in line.cells]
    return any(map(title_words.CREDIT_WORD.search, head)) or any(map(title_words.CORRECTION_WORD.search, head))


def _find_date_of_own_invoice(page: Sequence[TextLine], day_first: bool | None) -> date | None:
    """`Votre facture du 5 octobre 2026` as a title; what is given back refers to the invoice that it is of."""
    if _gives_back(page):
        return None
    head = [cell.text for line in limit_to_head(page) for cell in line.cells]
    matches = ((text, labels.OWN_INVOICE.match(text)) for text in head)
    return next(
        (found for text, match in matches if match and (found := _read_beginning(text[match.end() :], day_first))), None
    )


# `30 jours date de facture, soit le 18/07/2026`: days are counted from it, and what follows is another day.
_DAYS_COUNTED = re.compile(
    r"\d\s*(?:days|tagen?|jours|d[ií]as|giorni|gg|dagen|dni|dní|dage|dagar)\b[^.\d]{0,30}$", re.IGNORECASE
)


def _blank_terms(page: Sequence[TextLine]) -> list[TextLine]:
    """The page without the cells in which the day of issue is named as the beginning of a term."""
    return [replace(line, cells=tuple(map(_blank_term, line.cells))) for line in page]


def _blank_term(cell: TextCell) -> TextCell:
    match = labels.ISSUE_DATE.search(cell.text)
    return replace(cell, text="") if match and _DAYS_COUNTED.search(cell.text[: match.start()]) else cell


def _read_issue_date(text: str, day_first: bool | None) -> date | None:
    """`Pagamento a 30 giorni data fattura (scadenza 09/12/2026)`: what is called due is no day of issue."""
    match = values.DATES.search(text)
    if match is None or labels.DUE_DATE.search(text[: match.start()]) or _begins_with_period(text):
        return None
    return _find_first_date(text, day_first)


def _drop_table_heads(page: Sequence[TextLine]) -> list[TextLine]:
    """The page without rows of heads below which the days of what was done, or paid, stand."""
    largest = find_largest_amount(page)
    return [
        line
        for index, line in enumerate(page)
        if not _is_table_head(line)
        and (_NUMBERS_OR_DUE.search(line.text) or not heads_smaller_amounts(page, index, largest))
    ]


# More heads of columns beside `Datum`.
_UNIT_OF_WORK = labels.match_any(
    r"^\W*(?:hrs|stunden|std|heures|horas|ore|uren|godziny|hodin\w{0,3}|timer|timmar|km|miles|kilometer)\W*$"
)


def _is_table_head(line: TextLine) -> bool:
    """Whether `Datum` in this line heads a column of positions: below it stand the days of what was done."""
    texts = [cell.text for cell in line.cells]
    if len(texts) == 1 or any(letter.isdigit() for letter in line.text):
        return False
    if any(map(_NUMBERS_OR_DUE.search, texts)) or any(map(labels.BARE_NUMBER.match, texts)):
        return False
    kinds = (labels.DESCRIPTION, labels.QUANTITY, labels.LINE_AMOUNT, _UNIT_OF_WORK)
    return any(kind.search(text) for kind in kinds for text in texts)


_NUMBERS_OR_DUE = re.compile(f"{labels.INVOICE_NUMBER.pattern}|{labels.DUE_DATE.pattern}", re.IGNORECASE)


# `Musterstadt, den 3. Mai 2026`
_TOWN_BEFORE_DATE = re.compile(
    r"^[^\W\d]{2,30}(?:[ ./-]{1,2}[^\W\d]{1,30}){0,2},\s?(?:(?:den|le|the|li|lì|dnia|dn\.|em|el)\s)?(?=\w)",
    re.IGNORECASE,
)


# `Monday, the 3rd` with its month: no other word stands beside a date that is alone.
_NOTHING_ELSE = re.compile(
    r"[\W_]*(?:[^\W\d_]{3,14},[\W_]*)?(?:(?:den|le|the|li|lì|dnia|dne|am|vom|em|el|il|on|of)\b[\W_]*)*(?:r(?:oku)?\b\W{0,2})?",
    re.IGNORECASE,
)


def _find_lone_date(page: Sequence[TextLine], day_first: bool | None) -> date | None:
    """A date that stands alone near the top, when it is the only one that does; a town before it may be lower."""
    near = limit_to_head(page)
    lower = [line for line in page[len(near) : len(page) // 2] if _TOWN_BEFORE_DATE.match(line.cells[0].text)]
    days = [
        found
        for line in (*near, *lower)
        # What has words to its left is the date of those, and what has an amount to its right that of a position.
        for cell in line.cells[: 0 if any(_is_amount(other.text) for other in line.cells[1:]) else 1]
        if (found := _read_lone_date(cell, day_first))
    ]
    days += [
        found
        for index, line in enumerate(near)
        for number, cell in enumerate(line.cells[1:], 1)
        if (index < _LETTER_HEAD_LINES or labels.HEADLINE.match(line.cells[0].text))
        and _stands_apart_with_its_town(page, line, number)
        and (found := _read_lone_date(cell, day_first))
    ]
    return days[0] if len(set(days)) == 1 else None


def _read_lone_date(cell: TextCell, day_first: bool | None) -> date | None:
    # `4500781 / 02.03.2026` is the day of what has that number, `Due 03/12/2026` that of what it says.
    rest = values.mask_dates(_TOWN_BEFORE_DATE.sub("", cell.text))
    is_alone = _NOTHING_ELSE.fullmatch(rest) is not None and len(values.find_dates(cell.text)) == 1
    return _find_first_date(cell.text, day_first) if is_alone else None


def _stands_apart_with_its_town(page: Sequence[TextLine], line: TextLine, number: int) -> bool:
    """`Roskilde, den 6. november 2026` at the right edge of the head: a town of the page, or a word for the day, says
    that it is none of what stands far to its left."""
    cell = line.cells[number]
    town = _TOWN_BEFORE_DATE.match(cell.text)
    if town is None or number + 1 < len(line.cells) or cell.left - line.cells[number - 1].right < _FAR_APART:
        return False
    if _LABEL_OF_A_DAY.search(line.cells[number - 1].text):
        return False
    is_dated = _WORD_BEFORE_DAY.search(town[0]) is not None
    return is_dated or is_town_or_day_of_week(town[0].partition(",")[0], page)


_LETTER_HEAD_LINES = 2
_FAR_APART = 60.0  # points: a label and its value stand closer
_LABEL_OF_A_DAY = re.compile(r":\s*$|\b(?:date|datum|data|dato|fecha|dzień|day|tag|jour|día|giorno)\b", re.IGNORECASE)
_WORD_BEFORE_DAY = re.compile(r",\s?(?:den|le|li|lì|dnia|dn\.|em|el)\s$", re.IGNORECASE)


def has_undecided_issue_date(page: Sequence[TextLine], day_first: bool | None) -> bool:
    """Whether the day of issue is there and nothing tells in which order: then no other day of the page is it."""
    undecided = date.min

    def read(text: str) -> date | None:
        written = values.find_dates(text)
        return (written[0].resolve_date(day_first=day_first) or undecided) if written else None

    for label in (labels.ISSUE_DATE, labels.BARE_DATE):
        if found := list_labelled_dates(page, label, read):
            return all(one.day == undecided for one in found)
    return False


def _is_amount(text: str) -> bool:
    return values.is_money(text) or text.strip().isdecimal()


def _find_first_date(text: str, day_first: bool | None) -> date | None:
    written = values.find_dates(text)
    return written[0].resolve_date(day_first=day_first) if written else None
