"""What was traded, by its numbers; and the numbers of orders and accounts."""

import re
from collections import Counter
from collections.abc import Sequence

from stdnum import isin as stdnum_isin

from ingestion.extract.trades import labels
from ingestion.extract.trades.grouped_numbers import read_grouped_number
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import LabelPlace, ReadLine, get_text_behind, list_places, list_words_behind
from ingestion.extract.trades.no_names import is_of_account

# Its number has a digit besides the one that checks it: `ADRESSZEILE5` is none, though that digit is right.
ISIN = re.compile(r"\b([A-Z]{2}(?=[A-Z]{0,9}\d[A-Z0-9]{0,8}\d\b)[A-Z0-9]{9}\d)\b")
_GROUPED_ISIN = re.compile(r"[\W_]{0,8}([A-Z]{2}(?:[\s.-]?[A-Z0-9]){9}[\s.-]?\d)(?![A-Z0-9])")
_PARTED_ISIN = re.compile(r"\b([A-Z]{2})\s([A-Z0-9]{9}\d)\b")


def list_isins(lines: Sequence[ReadLine]) -> list[str]:
    """The numbers of securities, with right check digits, without repeats."""
    found = [match[1] for line in lines for match in ISIN.finditer(line.text)]
    if not found:  # in groups, or close to its label
        found = [
            re.sub(r"[\s.-]", "", match[1])
            for line, place in list_places(lines, Label.ISIN)
            if (match := _GROUPED_ISIN.match(line.text, place.end))
        ] or [match[1] + match[2] for line in lines for match in _PARTED_ISIN.finditer(line.text)]
    return [number for number in dict.fromkeys(found) if stdnum_isin.is_valid(number)][:40]


def list_other_isins(line: ReadLine) -> list[str]:
    """What else one security is called, in front of what the line labels: `Valor 1987674, DE000A1KD0E9, ISIN GB00…`."""
    places = [place for place in line.labels if place.label is Label.ISIN]
    if len(places) != 1 or not ISIN.match(line.text[places[0].end :].lstrip(" :")):
        return []
    return [match[1] for match in ISIN.finditer(line.text[: places[0].start])]


def find_isin(lines: Sequence[ReadLine]) -> str | None:
    """The number of the one security; of several the one behind its label, or that is named most often."""
    found = list_isins(lines)
    if len(found) <= 1:
        return found[0] if found else None
    labelled = {
        match[1]
        for line, place in list_places(lines, Label.ISIN)
        for match in ISIN.finditer(line.text[place.end :])
        if match[1] in found
    }
    if len(labelled) == 1:
        return labelled.pop()
    named = Counter(match[1] for line in lines for match in ISIN.finditer(line.text) if match[1] in found)
    (first, most), (_, next_most) = named.most_common(2)
    if most > next_most:
        return first
    # In a statement other lines may follow the trade: a tax on another one.
    beside = ISIN.search(lines[0].text) if labels.ANCHOR.match(lines[0].text) else None
    return beside[1] if beside is not None and beside[1] in found else None


_WKN = re.compile(r"\b(?=[A-Z0-9]*\d)[A-Z0-9]{6,7}\b")


_VALOR = re.compile(r"\d{5,9}(?![\w.,'’])|\d{1,3}(?:['’ .]\d{3}){1,2}(?![\w.,'’])")


_LENGTH_OF_WKN = 6


def find_wkn(lines: Sequence[ReadLine]) -> str | None:
    """Beside the ISIN where a table's head names both, or behind its label. In an ISIN of Germany it stands as well."""
    found = (
        _find_wkn_beside(lines)
        or _find_wkn_behind(lines)
        or _find_wkn_in_pair(lines)
        or _find_wkn_below(lines)
        or _find_wkn_of_isin(lines)
    )
    isin = find_isin(lines)
    if found is not None and isin is not None and isin.startswith("DE000") and isin[5:11] != found:
        return None
    return found


def _find_wkn_behind(lines: Sequence[ReadLine]) -> str | None:
    """A Swiss number only where the note has no other one: it is no German number, which others know a security by."""
    places = list(list_places(lines, Label.WKN))
    swiss = [(line, place) for line, place in places if line.text[place.start : place.end].lower().startswith("valor")]
    for line, place in places:
        if (line, place) not in swiss and (match := _WKN.match(list_words_behind(line, place))) is not None:
            return match[0]
    for line, place in swiss:
        words = list_words_behind(line, place)
        if (match := _WKN.match(words) or _VALOR.match(words)) is not None:
            number = re.sub(r"\W", "", match[0])
            # Of six digits it looks like a German one, and is that of another security.
            return None if len(number) == _LENGTH_OF_WKN and list_isins(lines) else number
    return None


def _find_wkn_beside(lines: Sequence[ReadLine]) -> str | None:
    if not any(place.label is Label.WKN for line in lines for place in line.labels):
        return None
    for line in lines:
        if match := ISIN.search(line.text):
            beside = (
                line.text[max(0, match.start() - 9) : match.start()] + " " + line.text[match.end() : match.end() + 9]
            )
            if found := _WKN.search(re.sub(r"[()]", " ", beside)):
                return found[0]
    return None


def _find_wkn_in_pair(lines: Sequence[ReadLine]) -> str | None:
    """`(DE0008404005/840400)`: a pair needs no label."""
    found = {match[1] for line in lines for match in _PAIR.finditer(line.text)}
    return found.pop() if len(found) == 1 else None


def _find_wkn_of_isin(lines: Sequence[ReadLine]) -> str | None:
    """The six letters of a German number for a security that stand somewhere by themselves as well."""
    isin = find_isin(lines)
    if isin is None or not isin.startswith("DE000"):
        return None
    alone = re.compile(rf"(?<![\w.,]){isin[5:11]}(?![\w.,]\w)")
    return isin[5:11] if any(alone.search(line.text) for line in lines) else None


def _find_wkn_below(lines: Sequence[ReadLine]) -> str | None:
    """At the end of a row below a table's head that names it."""
    for line, _ in list_places(lines, Label.WKN):
        if line.numbers or re.search(r"\d", line.text):
            continue
        for row in lines[line.index - lines[0].index + 1 :][:_ROWS_OF_WKN]:
            if (match := _AT_END.search(row.text)) is not None:
                return match[1]
    return None


_ROWS_OF_WKN = 2
_AT_END = re.compile(r"[^\W\d_]{2}.{0,80}\s((?=[A-Z0-9]*\d)[A-Z0-9]{6})\s*$")
_PAIR = re.compile(r"\b[A-Z]{2}[A-Z0-9]{9}\d\s?/\s?((?=[A-Z]*\d)[A-Z0-9]{6})(?!\w)")


_REFERENCE = re.compile(r"(?:[A-Z]{1,3}\s)?(?=[\w./-]{0,39}\d)(?:[\w./-]{3,40}|\d\d(?= \d))")
# `Y 1044.8810.2100`, `YP/ 0099214`: letters of the bank in front of it.
_ACCOUNT = re.compile(r"(?:(?!NR|NO|ID|N )[A-Z]{1,2}/? )?(?=[\w./-]{0,39}\d)[\w./-]{2,40}")
_BEFORE_NUMBER = re.compile(r"[ \t:#.()]*(?:n(?:\.?[°º]|\.?o|r|um|\.)\.?:?[ \t]+)?", re.IGNORECASE)


_UUID = re.compile(r"(?<![\w-])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![\w-])")
_LINES_TO_UUID = 2


def find_reference(lines: Sequence[ReadLine]) -> str | None:
    """Behind its label, or in front of the ISIN in a row whose head says so; a UUID also below a label that stands
    alone, whatever the letter head has beside it."""
    if (found := _find_reference_behind(lines) or _find_reference_in_row(lines)) is not None:
        return found
    for line, place in list_places(lines, Label.REFERENCE):
        position = line.index - lines[0].index
        below = lines[position + 1 : position + 1 + _LINES_TO_UUID] if not list_words_behind(line, place) else ()
        if match := next((match for row in below if (match := _UUID.search(row.text))), None):
            return match[0]
    return None


def _find_reference_behind(lines: Sequence[ReadLine]) -> str | None:
    """`Geschäfts-Nr.` may be the customer's: last of all, and not where the note says whose it is."""
    customers = {
        re.sub(r"\W", "", read_grouped_number(line.text, first) or first[0])
        for line in lines
        for match in _CUSTOMER_NUMBER.finditer(line.text[:_MAX_CUSTOMER])
        if (first := _REFERENCE.match(line.text, match.start(1))) is not None
    }
    weak: str | None = None
    for line, place in list_places(lines, Label.REFERENCE):
        if not _is_own_label(line, place) or (reference := _read_number_behind(line, place, _REFERENCE)) is None:
            continue
        if _OF_BUSINESS.match(line.text, place.start) is None:
            return reference
        if re.sub(r"\W", "", reference) not in customers:
            weak = weak or reference
    return weak


def _is_own_label(line: ReadLine, place: LabelPlace) -> bool:
    """Whether a label that says no more than that it is a number stands for one: not behind other words, as in
    `FCA reference` or `Cours de référence`, nor within a sentence."""
    if _BARE.fullmatch(line.text, place.start, place.end) is None:
        return True
    front = line.text[: place.start].rpartition("\t")[2]
    return _WHOSE.fullmatch(front) is not None


_BARE = re.compile(
    r"(?:reference(?:\s+(?:no\.?|number))?|r[ée]f[ée]rence|num[ée]ro|n[úu]mero|referencia|riferimento|refer[êe]ncia|kenmerk)\s*(?:de|da|do|d['’])?\s*",
    re.IGNORECASE,
)
_WHOSE = re.compile(
    r"\W*(?:(?:our|your|the|order|trade|deal|transaction|contract|note|notre|votre|la|su|nuestra|vostro|nostro|ns\.?|vs\.?|vossa|nossa|a|ons|uw)\W+)*",
    re.IGNORECASE,
)


def _find_reference_in_row(lines: Sequence[ReadLine]) -> str | None:
    """`Status REF. ISIN Name` over `Buy AB1234567 DE0008404005 …`."""
    for position, line in enumerate(lines):
        if line.numbers or _HEAD_OF_REFERENCE.search(line.text) is None:
            continue
        for row in lines[position + 1 : position + 1 + _ROWS_BELOW_HEAD]:
            if (match := _REFERENCE_BEFORE_ISIN.search(row.text)) is not None and ISIN.match(match[2]):
                return match[1]
    return None


_OF_BUSINESS = re.compile(r"gesch[äa]fts", re.IGNORECASE)
# Letters in both sizes, as no word has them: `kwPaRmuHoTzLeQb`.
_LETTERS_OF_ORDER = re.compile(r"(?=[A-Za-z]*[a-z][A-Z][A-Za-z]*[a-z][A-Z])[A-Za-z]{10,40}(?![\w-])")
_HEAD_OF_REFERENCE = re.compile(r"\bref(?:\.|erence|erentie|erencia|er[êe]ncia|erenz)?\s+isin\b", re.IGNORECASE)
_ROWS_BELOW_HEAD = 2
_REFERENCE_BEFORE_ISIN = re.compile(r"(?<!\S)((?=[A-Z]*\d)[A-Z0-9]{6,30})\s+([A-Z]{2}[A-Z0-9]{9}\d)(?!\S)")
_MAX_CUSTOMER = 200  # letters of a line in which a customer's number is looked for
_CUSTOMER_NUMBER = re.compile(
    r"\b(?:kunden?|portfolio|depot|konto|client|customer|account|portefeuille|cliente|cartera|carteira|portafoglio|klant|klanten|rekening)"
    r"(?:-?\s?(?:nummer|nr\b\.?|no\b\.?|number|id|n[°º]\.?))?\s{0,3}[:#]?\s{0,3}((?=[\w./-]{0,40}\d)[\w./-]{3,40})",
    re.IGNORECASE,
)


def _find_words(lines: Sequence[ReadLine], label: Label, pattern: re.Pattern[str]) -> str | None:
    for line, place in list_places(lines, label):
        if match := pattern.match(list_words_behind(line, place)):
            return match[0].rstrip(".")
    return None


def find_account(lines: Sequence[ReadLine]) -> str | None:
    """Of one cell: what stands beside it is another number. Its blanks are none of the number: one note has
    `4471 0029 18` and the next one `4471002918`."""
    for line, place in list_places(lines, Label.ACCOUNT):
        number = _read_number_behind(line, place, _ACCOUNT)
        if number is not None and len(number) >= _MIN_ACCOUNT and not _is_of_payment(lines, line, place):
            return number.replace(" ", "")
    return None


def has_several_accounts(lines: Sequence[ReadLine]) -> bool:
    """Whether one label names several accounts: which of several trades is of which, nothing says."""
    found: dict[str, set[str]] = {}
    for line, place in list_places(lines, Label.ACCOUNT):
        if (number := _read_number_behind(line, place, _ACCOUNT)) is not None and len(number) >= _MIN_ACCOUNT:
            found.setdefault(line.text[place.start : place.end].lower(), set()).add(number.replace(" ", ""))
    return any(len(numbers) > 1 for numbers in found.values())


def _is_of_payment(lines: Sequence[ReadLine], line: ReadLine, place: LabelPlace) -> bool:
    """Whether it is the account at a bank that money is paid from or to: the words for that stand in front of it, or a
    field of the bank directly above."""
    position = line.index - lines[0].index
    above = lines[position - 1].text if position else ""
    return _OF_PAYMENT.search(line.text, 0, place.start) is not None or _FIELD_OF_BANK.match(above) is not None


_OF_PAYMENT = re.compile(
    r"\b(?:sort\s+code|routing|pay(?:able)?\s+to|paid\s+(?:from|to)|nominated|bank(?:leitzahl)?|blz|bic|swift)\b",
    re.IGNORECASE,
)
_FIELD_OF_BANK = re.compile(r"\W*(?:sort\s+code|routing(?:\s+number)?|bankleitzahl|blz|bic|swift)\b", re.IGNORECASE)


def _read_number_behind(line: ReadLine, place: LabelPlace, pattern: re.Pattern[str]) -> str | None:
    before = _BEFORE_NUMBER.match(line.text, place.end)
    start = before.end() if before is not None else place.end
    end = place.end + len(get_text_behind(line, place))
    first = pattern.match(line.text, start, end)
    if first is None:
        letters = _LETTERS_OF_ORDER.match(line.text, start, end) if pattern is _REFERENCE else None
        return letters[0].rstrip(".") if letters is not None else None
    number = read_grouped_number(line.text, first)
    return number.rstrip(".") if number is not None else None


_MIN_ACCOUNT = 3


def find_account_name(lines: Sequence[ReadLine]) -> str | None:
    """Whose account it is: no word for one, and not what the label goes on with, `Kontoinhaber des Empfängers`."""
    name = _find_words(lines, Label.ACCOUNT_NAME, _HOLDER)
    return None if name is None or is_of_account(name) or _GOES_ON.match(name) is not None else name


_HOLDER = re.compile(r"[^\W\d_][\w .,'’&-]{2,60}")
_GOES_ON = re.compile(r"(?:des|du|del|dell|della|do|of|the)\b")
