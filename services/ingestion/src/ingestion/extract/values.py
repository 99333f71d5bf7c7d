"""Amounts, dates, currencies, IBANs and VAT numbers as people write them in eleven languages."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import islice

from stdnum import iban as stdnum_iban

from ingestion.domain.vat_ids import has_form_of_country

_BLANKS = " \u00a0\u2009\u202f"
# `450,-`, `8 532,--`, `450.–` and `450:-`: no cents, said so.
_NO_CENTS = r"[.,:][-–—]{1,2}(?![\w–—-])"
_NUMBER = (
    rf"\d{{1,3}}(?:(?P<group>[.,'’{_BLANKS}])\d{{3}}(?:(?P=group)\d{{3}})*)?(?:[.,]\d{{1,4}}|{_NO_CENTS})?"
    rf"|\d+(?:[.,]\d{{1,4}}|{_NO_CENTS})?"
)
_SIGN = r"[-−–]"
_MONEY = r"(?:EUR|USD|GBP|CHF|PLN|CAD|AUD|DKK|SEK|NOK|CZK|HUF|RON|BRL|zł|Kč|kr\.?|SFr\.?|Fr\.|US\$|C\$|A\$|R\$|[€$£])"
_AMOUNT = re.compile(
    rf"(?<![\w.,/-])(?P<open>\()?(?P<sign>{_SIGN}\s?)?(?:{_MONEY}\s?)?(?P<inner>{_SIGN}\s?)?(?P<number>{_NUMBER})"
    rf"(?P<after>\s?{_SIGN}(?=\s|$))?(?(open)\))(?!\s?%)(?![\w/:]|[.,:][-–—\d]|{_SIGN}\w)",
    re.IGNORECASE,
)
# In brackets it is taken off; `*` refers to a note below.
_ONLY_AMOUNT = re.compile(
    rf"\s*(?P<open>\()?(?:{_MONEY}:?)?\s*(?:{_SIGN}|[+=])?\s*{_MONEY}?\s*(?:{_NUMBER})\s*{_SIGN}?\s*{_MONEY}?(?(open)\))\s?\*{{0,3}}\s*",
    re.IGNORECASE,
)


def find_amounts(text: str) -> list[Decimal]:
    """Every number that may be money, in reading order; percentages, dates and codes are not."""
    return [_parse_decimal(match) for match in _AMOUNT.finditer(mask_dates(text))]


def find_money(text: str) -> list[Decimal]:
    """Those written with their cents: `am 15.05.2026 vom Konto … 4711` has none."""
    return [_parse_decimal(match) for match in _AMOUNT.finditer(mask_dates(text)) if is_money(match["number"])]


def parse_amount(text: str) -> Decimal | None:
    """The amount that a text consists of, with or without its currency; None when it says more, or less."""
    if not _ONLY_AMOUNT.fullmatch(text):
        return None
    found = find_amounts(re.sub(rf"(?<=[\d–—-])\s*{_MONEY}(?=\)?[\s*]*$)", "", text.rstrip(" *"), flags=re.IGNORECASE))
    return found[0] if len(found) == 1 else None


_RATE = re.compile(r"(?<![\d.,])(\d{1,2}(?:[.,]\d{1,2})?)\s?%")


def find_rates(text: str) -> list[Decimal]:
    """Percentages of two digits at most before their decimals."""
    return [Decimal(match[1].replace(",", ".")) for match in _RATE.finditer(text)]


def is_money(text: str) -> bool:
    """Whether an amount is written with its cents, as money is and quantities or codes seldom are."""
    return _WITH_CENTS.search(text) is not None


_WITH_CENTS = re.compile(rf"\d(?:[.,]\d{{2}}(?!\d)|{_NO_CENTS})")


def _parse_decimal(match: re.Match[str]) -> Decimal:
    written = re.sub(rf"[{_BLANKS}'’]|{_NO_CENTS}", "", match["number"])
    separators = re.sub(r"\d", "", written)
    if len(set(separators)) == 2:
        # The later one parts the cents: 1.234,56 and 1,234.56.
        written = written.replace(separators[0], "").replace(separators[-1], ".")
    elif separators:
        last = written.rpartition(separators[-1])[2]
        # One kind only: several of it, or three digits after it, make thousands; 0.052 does not.
        thousands = len(separators) > 1 or (len(last) == 3 and not written.startswith("0"))
        written = written.replace(separators[0], "" if thousands else ".")
    value = Decimal(written)
    return -value if match["sign"] or match["inner"] or match["after"] or match["open"] else value


_MONTHS = {
    1: "january jan januar jänner jän janvier janv januari stycznia styczeń sty enero ene gen "
    "gennaio janeiro ledna leden januari",
    2: "february feb februar feber février fevrier févr fevr fév fev februari lutego luty lut febrero febbraio "
    "fevereiro února únor",
    3: "march mar märz mär mrz mars maart mrt marca marzec marzo março marco března březen marts",
    4: "april apr avril avr kwietnia kwiecień kwi abril abr aprile dubna duben",
    5: "may mai mei maja maj mayo maggio mag maio května květen",
    6: "june jun juni juin czerwca czerwiec cze junio giugno giu junho června červen",
    7: "july jul juli juillet juil lipca lipiec lip julio luglio lug julho července červenec",
    8: "august aug août aout augustus sierpnia sierpień sie agosto ago srpna srpen augusti",
    9: "september sep sept septembre września wrzesień wrz septiembre settembre setembro set září",
    10: "october oct oktober okt octobre października październik paź octubre ottobre ott outubro out října říjen",
    11: "november nov novembre listopada listopad lis noviembre novembro listopadu",
    12: "december dec dezember dez décembre déc grudnia grudzień gru diciembre dic dicembre dezembro decembre "
    "prosince prosinec",
}
_MONTH_OF = {name: month for month, names in _MONTHS.items() for name in names.split()}
MONTH_NAMES = frozenset(_MONTH_OF)
_MONTH = "|".join(sorted(_MONTH_OF, key=len, reverse=True))
_YEAR = r"(?:19|20)\d\d"
DATES = re.compile(
    rf"(?<!\d)(?P<iso>(?P<y1>{_YEAR})[-/.](?P<m1>\d\d?)[-/.](?P<d1>\d\d?))(?!\d)"
    rf"|(?<![\d.,])(?P<numeric>(?P<a>\d\d?)\s?(?P<mark>[./‐‑–-])\s?(?P<b>\d\d?)\s?(?P=mark)\s?(?P<y2>{_YEAR}|\d\d))(?![\d.,]\d|\d)"
    rf"|(?<!\d)(?P<d3>\d\d?)(?:st|nd|rd|th|er|\.|-|/)?\s*(?:of\s+|de\s+|di\s+)?(?P<m3>{_MONTH})\b(?:-|/|\.?,?\s*(?:de\s+|del\s+)?)(?P<y3>{_YEAR})(?!\d)"
    rf"|(?<!\d)(?P<d5>\d\d?)(?P<dash>[-/])(?P<m5>{_MONTH})(?P=dash)(?P<y5>\d\d)(?!\d)"
    rf"|\b(?P<m4>{_MONTH})\b\.?\s*(?P<d4>\d\d?)(?:st|nd|rd|th)?\s*,?\s*(?P<y4>{_YEAR})(?!\d)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date as written. `first` and `second` are day and month in an order that the date alone may not tell."""

    year: int
    first: int
    second: int
    is_settled: bool  # the order is known: ISO, or a month by name
    year_first: date | None = None  # `26-11-03` as Sweden writes it

    def resolve_date(self, *, day_first: bool | None) -> date | None:
        """The date, None if there is no such day, or none of the two orders can be told from the other."""
        readings = {
            True: build_date(self.year, self.second, self.first),
            False: None if self.is_settled else build_date(self.year, self.first, self.second),
        }
        possible = {found for found in (*readings.values(), self.year_first) if found is not None}
        if len(possible) == 1:
            return possible.pop()
        if day_first is None or (self.year_first is not None and self.year < _FIRST_SHORT_YEAR):
            return None
        return readings[day_first]

    @property
    def says_day_first(self) -> bool | None:
        """What this date says of the order of all numeric ones in its document; None when nothing."""
        if self.is_settled or self.first == self.second or self.year_first is not None:
            return None
        if self.first > 12 >= self.second:
            return True
        return False if self.second > 12 >= self.first else None


def find_dates(text: str) -> list[WrittenDate]:
    return [written for _, written in match_dates(text)]


def list_possible_dates(text: str) -> set[date]:
    """Every reading of every date, where it does not matter which order of day and month is meant."""
    return {
        found
        for written in find_dates(text)
        for day_first in (True, False)
        if (found := written.resolve_date(day_first=day_first)) is not None
    }


def match_dates(text: str) -> list[tuple[re.Match[str], WrittenDate]]:
    """The dates with their places."""
    if _DIGIT.search(text) is None:  # most lines have none, and the pattern tries each of their letters
        return []
    return [(match, _build_written_date(match)) for match in DATES.finditer(text)]


_DIGIT = re.compile(r"\d")


def _build_written_date(match: re.Match[str]) -> WrittenDate:
    if match["iso"]:
        return WrittenDate(int(match["y1"]), int(match["d1"]), int(match["m1"]), is_settled=True)
    if match["numeric"]:
        year = int(match["y2"])
        # Points part day and month in the whole of Europe, and nowhere month and day.
        settled = match["mark"] == "." and int(match["b"]) <= 12
        first, second = int(match["a"]), int(match["b"])
        year_first = None if settled or year >= 100 else _build_year_first(first, second, year)
        return WrittenDate(year + 2000 if year < 100 else year, first, second, settled, year_first)
    kind = next(kind for kind in ("3", "4", "5") if match[f"m{kind}"])
    year, day, month = int(match[f"y{kind}"]), int(match[f"d{kind}"]), match[f"m{kind}"]
    return WrittenDate(year + 2000 if year < 100 else year, day, _MONTH_OF[month.lower()], is_settled=True)


_FIRST_SHORT_YEAR, _LAST_SHORT_YEAR = 2010, 2039  # papers of other years are written with all four digits


def _build_year_first(year: int, month: int, day: int) -> date | None:
    return build_date(2000 + year, month, day) if _FIRST_SHORT_YEAR <= 2000 + year <= _LAST_SHORT_YEAR else None


def build_date(year: int, month: int, day: int) -> date | None:
    """None where the calendar has no such day."""
    try:
        return date(year, month, day)
    except ValueError:
        return None


def mask_dates(text: str) -> str:
    return DATES.sub(" \u2022 ", text)


_SYMBOLS = {
    "€": "EUR",
    "£": "GBP",
    "r$": "BRL",
    "zł": "PLN",
    "kč": "CZK",
    "us$": "USD",
    "c$": "CAD",
    "a$": "AUD",
    "$": "USD",
}
# Those that invoices are read in. A code of `domain/currencies.py` that is none of them (`ALL`, `TOP`, `TRY`) may be a
# word, and an invoice in it is for a person.
CURRENCY_CODES = {"EUR", "USD", "GBP", "CHF", "PLN", "CAD", "AUD", "DKK", "SEK", "NOK", "CZK", "HUF", "RON", "BRL"}
DOLLARS = {"USD", "CAD", "AUD"}
_WORDS = {"us dollars": "USD", "euros": "EUR", "euro": "EUR", "pound sterling": "GBP", "złotych": "PLN"}
_CURRENCY = re.compile(rf"{_MONEY}(?![a-z])", re.IGNORECASE)


def find_currencies(text: str) -> list[str]:
    """ISO codes of the currencies written in a text, in order, with repeats. `kr` names three, and so none."""
    found = []
    for match in _CURRENCY.finditer(text):
        word = match[0].lower()
        code = match[0] if match[0] in CURRENCY_CODES else _SYMBOLS.get(word)
        before = text[match.start() - 1 : match.start()]
        if code and not (before.isalpha() and match[0][0].isalpha()):
            found.append(code)
    lowered = text.lower()
    found += [code for word, code in _WORDS.items() if re.search(rf"\b{word}\b", lowered)]
    return found


def is_foreign(text: str, currency: str | None) -> bool:
    """Whether a text speaks of another currency than the document's, and not of its own."""
    named = set(find_currencies(text)) if currency else set()
    if named and currency in DOLLARS:
        named -= {"USD"}  # a bare dollar is the document's
    return bool(named) and currency not in named


def find_priced(text: str) -> list[tuple[str, Decimal]]:
    """Amounts with the currency that stands beside them, before or behind."""
    masked = mask_dates(text)
    return [
        (code, _parse_decimal(match))
        for match in _AMOUNT.finditer(masked)
        for code in find_currencies(masked[max(0, match.start() - _BESIDE) : match.end() + _BESIDE])
    ]


_BESIDE = 6  # letters: `EUR: 1'150.00`, `1,411.00 GBP`


def determine_currency(texts: Iterable[str]) -> str | None:
    """The currency of a document: the one written most often. A bare dollar is another country's if it is named."""
    texts = list(texts)
    counts: dict[str, int] = {}
    for text in texts:
        for code in find_currencies(text):
            counts[code] = counts.get(code, 0) + 1
    if not counts:
        return _determine_crowns(texts)
    named = [code for code in counts if code in DOLLARS - {"USD"}]
    if "USD" in counts and len(named) == 1:
        counts[named[0]] += counts.pop("USD")
    best = sorted(counts.items(), key=lambda item: -item[1])
    if not best or (len(best) > 1 and best[0][1] == best[1][1]):
        return None
    return best[0][0]


_CROWNS = {"DK": "DKK", "SE": "SEK", "NO": "NOK"}
_CROWN = re.compile(r"(?<![^\W\d_])kr(?:\.|\b)", re.IGNORECASE)
# Of a tax number or an account; a security's number, with ten digits, may be of any of them.
_CROWN_COUNTRY = re.compile(r"\b(DK|SE|NO)(?!\d{10}\b)\s?\d{2}")
# What only one of the three countries calls its registers, its accounts, and what brokers write.
_CROWN_WORDS = {
    "DK": re.compile(
        r"\bcvr\b|\b(?:fondsnota|handelsnota|værdipapir\w{0,4}|kursværdi|valørdag|afregningsdag)\b", re.IGNORECASE
    ),
    "SE": re.compile(
        r"\b(?:momsreg\w*|bankgiro|plusgiro|f-skatt|organisationsn\w+|avräkningsnota|likviddag|affärsdag|värdepapper\w{0,4}|depånummer)\b",
        re.IGNORECASE,
    ),
    "NO": re.compile(
        r"\b(?:mva|foretaksregisteret|organisasjonsn\w+|slutt?seddel|oppgjørsd\w+|verdipapir\w{0,4})\b", re.IGNORECASE
    ),
}


def _determine_crowns(texts: Sequence[str]) -> str | None:
    """`kr` is the currency of three countries: which of them, the accounts and tax numbers beside it say."""
    if not any(_CROWN.search(text) for text in texts):
        return None
    countries = {match[1] for text in texts for match in _CROWN_COUNTRY.finditer(text)}
    countries |= {country for country, word in _CROWN_WORDS.items() if any(word.search(text) for text in texts)}
    return _CROWNS[countries.pop()] if len(countries) == 1 else None


_IBAN_START = re.compile(r"\b[A-Z]{2}\d{2}(?=[ \u00a0]?[A-Z0-9])")
_MAX_IBAN_STARTS = 10  # in one text: no line has as many accounts


def find_ibans(text: str) -> Iterator[str]:
    """Account numbers whose check digits are right, without blanks."""
    for start in islice(_IBAN_START.finditer(text), _MAX_IBAN_STARTS):
        # Groups after it, as many as still make a valid number: what follows may look like one more.
        letters = re.match(r"[A-Z0-9 \u00a0]{15,46}", text[start.start() :][:46])
        compact = re.sub(r"\s", "", letters[0]) if letters else ""
        for length in range(min(34, len(compact)), 14, -1):
            # The check digits first: looking up the form of a country's numbers takes a hundred times as long.
            # A bank that a list of banks does not know yet has accounts all the same.
            if _has_check_digits(compact[:length]) and stdnum_iban.is_valid(compact[:length], check_country=False):
                yield compact[:length]
                break


def _has_check_digits(compact: str) -> bool:
    """ISO 7064, mod 97-10: the letters as numbers, the first four characters last."""
    return int("".join(str(int(letter, 36)) for letter in compact[4:] + compact[:4])) % 97 == 1


# An account in groups, right or wrong: `PL61 1090 1014 0000 …` begins like a tax number of Poland.
_GROUPED_ACCOUNT = re.compile(
    r"\b[A-Z]{2}\d{2}[ \u00a0][A-Z0-9]{4}(?:[ \u00a0]\d{4}){2,7}(?:[ \u00a0][A-Z0-9]{1,3}\b)?"
)


def _blank_accounts(text: str) -> str:
    return _GROUPED_ACCOUNT.sub(" \u2022 ", text)


# Looked for at each word: the `VA` of `VAT IE3279263S`, the `ID` of `ID DE123456789` are no countries.
_VAT_ID = re.compile(r"\b(?=([A-Z]{2})[ ]?([0-9A-Z](?:[ .-]?[0-9A-Z]){6,12})\b)")
_MAX_VAT_IDS = 12  # in one text, numbers of other kinds included


def fold_number(text: str) -> str:
    """As numbers of invoices, accounts and orders are compared: without punctuation, blanks and case."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def find_vat_ids(text: str) -> list[str]:
    """VAT numbers in the form of their country."""
    return list(_list_vat_ids(text))


@lru_cache(maxsize=2048)  # each rule that asks whose a number is asks for the same lines again
def _list_vat_ids(text: str) -> tuple[str, ...]:
    found = []
    for match in islice(_VAT_ID.finditer(_blank_accounts(text)), _MAX_VAT_IDS):
        country, digits = match[1], re.sub(r"[ .-]", "", match[2])
        if sum(letter.isdigit() for letter in digits) >= 6 and has_form_of_country(country, digits):
            found.append(country + digits)
    return tuple(found)
