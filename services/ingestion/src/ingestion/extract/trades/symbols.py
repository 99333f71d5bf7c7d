"""The symbol under which an exchange lists a security: behind or below its label, or in brackets behind a name.

A word in brackets is a symbol only where its line speaks of the security: the line of a fee explains its own short name
in the same way, `trading activity fee (TAF)`, and a sentence that of a law or an account.
"""

import re
from collections.abc import Sequence

from ingestion.extract import values
from ingestion.extract.trades import labels
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import LabelPlace, ReadLine, find_label_places, list_places, list_words_behind
from ingestion.extract.trades.no_trade_words import SMALL_WORD

_SYMBOL = re.compile(r"\W{0,3}([A-Z][A-Z0-9]{0,6})(?=\s)")
# Behind its exchange, `NASDAQ: AAPL`, or in front of it, `ALV:xetr`, `ARN.LN`; `BRK.B` is of a class of shares.
_SYMBOL_BEHIND = re.compile(r"(?:([A-Za-z]{2,8}): ?)?([A-Z][A-Z0-9]{0,6}(?:\.[ABC](?![A-Z0-9]))?)(?=$|[\s.):,;])")
_EXCHANGES = re.compile(
    r"X[A-Z]{3}|NASDAQ|NYSE|AMEX|ARCA|NYSEARCA|BATS|CBOE|OTC|LSE|LON|AIM|TSXV?|ASX|NZX|HKEX|SEHK|HKG|SGX|ETR|FRA|SWX|SIX|EPA|AMS|EBR|BIT|BME|NSE|BSE|TYO|EURONEXT",
    re.IGNORECASE,
)
_SYMBOL_ALONE = re.compile(r"[A-Z][A-Z0-9]{0,5}(?:\.[A-Z]{1,3})?")
# In Asia shares are listed under digits: `Stock Code 00700`.
_DIGITS_BEHIND = re.compile(r"\d{4,6}(?:\.[A-Z]{1,3})?(?=$|[\s.):])")
_CODE_LABEL = re.compile(r"code$")
# A letter in brackets is a class of shares. What is explained is an abbreviation: `Deferred sales charge (DSC): …`.
_IN_BRACKETS = re.compile(r"(?<!%)(?<!%\s)\(([A-Z]{2,5})\)(?!\s*[:=])")
_CUSIP = re.compile(r"\bcusip\b", re.IGNORECASE)
_OF_ONE_WORD = frozenset({Label.QUANTITY, Label.DIRECTION, Label.ISIN})
_MIN_HEADS = 3
_ROWS_BELOW_HEAD = 2
_MAX_LINE = 100  # letters of a line that may have a symbol in brackets
_LONGEST_NAME = 60
_MIN_NUMBERS = 2  # of the row of a trade
_COSTS = frozenset({Label.TAX, Label.FEE, Label.INTEREST, Label.DISCOUNT, Label.IGNORED, Label.ACCOUNT})
# What a state or a supervisor asks for, and what it is asked by.
_OF_LAW = re.compile(
    r"\b(?:tax\w*|levy|levies|dut(?:y|ies)|fees?|charges?|act|law|regulations?|directive|rules?|authority|commission|steuer\w*|\w{0,20}(?:steuer|abgabe|geb[üu]hr|gesetz|verordnung|richtlinie)"
    r"|abgabe\w*|taxe?s?|imp[ôo]ts?|loi|r[èe]glement|impuestos?|tasa|ley|impost[aeo]s?|legge|belasting\w*|taks|wet|lei|skatt?\w{0,6}|avgift\w{0,4}|afgift\w{0,4}|lov|lag|podat\w{1,4}|op[łl]at\w{1,4}|da[ňn]|poplat\w{1,4})\b",
    re.IGNORECASE,
)
_NO_SYMBOLS = frozenset(
    {
        *("ISIN", "WKN", "BIC", "IBAN", "CUSIP", "SEDOL", "LEI", "UTC", "GMT", "CET", "CEST", "EST", "EDT", "XETRA"),
        *("NYSE", "LSE", "OTC", "MTF", "FCA", "FSA", "SEC", "SIPC", "FINRA", "AMF", "LUX", "ACC", "DIST", "DIS", "INC"),
        *("CAP", "UK", "US", "USA", "TAF", "ORF", "ECN", "PTM", "SDRT", "FTT", "TTF", "TOB", "GST", "VAT", "HST"),
        *("BUY", "SELL", "BOUGHT", "SOLD", "SALE", "TOTAL", "NET", "GROSS", "DATE", "PRICE", "CASH", "MARGIN"),
        *("STOCK", "STOCKS", "SHARE", "SHARES", "BOND", "BONDS", "FUND", "FUNDS", "ETF", "ETFS", "ETC", "ETN", "ADR"),
        *(
            "ORD",
            "REG",
            "PREF",
            "ADS",
            "GDR",
            "CDI",
            "REIT",
            "UCITS",
            "NPV",
            "PLC",
            "LTD",
            "CORP",
            "AG",
            "SE",
            "NV",
            "SA",
        ),
        *("NEW", "OLD", "DEL", "HLDG", "HLDGS", "GRP", "CLASS", "SER", "COM", "CONV", "WTS", "RTS"),
        *("ISA", "SIPP", "GIA", "IRA", "DRIP", "TSX", "ASX", "NASDAQ", "AMEX", "NONE", "NA", "TBA", "NIL"),
        *("EQUITY", "CRYPTO", "OPTION", "AKTIE", "AKTIEN", "FONDS", "UNIT", "UNITS", "FOR", "YOU", "YOUR", "ON", "THE"),
        *("CREST", "DEMAT", "EQTY", "EQU", "XLON", "XETR", "XFRA", "XPAR", "XAMS", "XBRU", "XLIS", "XMIL", "XMAD"),
        *("XSWX", "XWBO", "XDUB", "XSTO", "XCSE", "XOSL", "XHEL", "XWAR", "XPRA", "XNAS", "XNYS", "XTSE", "XASX"),
        *values.CURRENCY_CODES,
    }
)


def is_symbol(word: str) -> bool:
    """Whether a word in capital letters may be a symbol: not what contract notes call their fields, kinds and fees."""
    if word in _NO_SYMBOLS or labels.DIRECTION.fullmatch(word) is not None:
        return False
    return not any(place.end - place.start == len(word) for place in find_label_places(word))


def find_ticker(lines: Sequence[ReadLine], *, has_ticker_column: bool, has_isin: bool) -> str | None:
    places = list(list_places(lines, Label.TICKER))
    if (behind := _find_behind(places)) is not None:
        return behind
    if has_ticker_column and not has_isin:
        for line in lines:
            anchor = None if labels.WE_CONFIRM.search(line.text) else labels.ANCHOR.match(line.text)
            if anchor and (symbol := _SYMBOL.match(line.text[anchor.end() :])) and is_symbol(symbol[1]):
                return symbol[1]
    if (below := _find_in_table(lines, places) or _find_in_column(lines, places)) is not None:
        return below
    # Where another number names the security, what its name says in brackets may be short for it: `… China (ICBC)`.
    has_number = any(list_places(lines, Label.WKN))
    if places or not (has_isin or has_number):
        symbols = {symbol for position in range(len(lines)) for symbol in _list_in_brackets(lines, position)}
        if len(symbols) == 1:
            return symbols.pop()
    return None if has_isin else _find_by_name(lines)


def _find_behind(places: Sequence[tuple[ReadLine, LabelPlace]]) -> str | None:
    for line, place in places:
        if line.text[place.end : place.end + 1] == ")":
            continue  # `Name (symbol)`: there it stands as well
        if _OF_OTHER.search(line.text, 0, place.start) is not None:
            continue  # `Market symbol`, `Client symbol`
        words = list_words_behind(line, place)
        if (symbol := _read_behind(words)) is not None:
            return symbol
        if (match := _DIGITS_BEHIND.match(words)) is not None and _is_code(line, place):
            return match[0]
    return None


_OF_OTHER = re.compile(r"\b(?:market|exchange|venue|client|customer|account|currency|broker)\s$", re.IGNORECASE)


def _read_behind(words: str) -> str | None:
    match = _SYMBOL_BEHIND.match(words)
    if match is None:
        return None
    symbol = match[2]
    if match[1] is not None and _EXCHANGES.fullmatch(match[1]) is None:
        symbol = match[1]  # what stands behind the colon is the exchange
    return symbol if _SYMBOL_ALONE.fullmatch(symbol) and is_symbol(symbol) else None


def _is_code(line: ReadLine, place: LabelPlace) -> bool:
    return _CODE_LABEL.search(line.text[place.start : place.end].lower()) is not None


def _find_in_table(lines: Sequence[ReadLine], places: Sequence[tuple[ReadLine, LabelPlace]]) -> str | None:
    """Below its head, where all heads in front of it are of one word below: `Quantity  Code  Price`."""
    for line, place in places:
        fronts = [other for other in line.labels if other.start < place.start]
        is_head = not line.numbers and len(line.labels) >= _MIN_HEADS
        if not is_head or any(front.label not in _OF_ONE_WORD for front in fronts):
            continue
        for row in _list_rows_below(lines, line):
            words = row.text.split()
            if row.numbers and len(words) > len(fronts) and _SYMBOL_ALONE.fullmatch(words[len(fronts)]):
                return words[len(fronts)]
    return None


def _find_in_column(lines: Sequence[ReadLine], places: Sequence[tuple[ReadLine, LabelPlace]]) -> str | None:
    """In the cell below its head that stands alone there: `Symbol/CUSIP` over `AAPL`."""
    for line, place in places:
        if line.numbers:
            continue
        left, right = line.locate(place.start), line.locate(place.end)
        for row in _list_rows_below(lines, line):
            below = [cell.text for cell in row.source.cells if cell.left < right and cell.right > left]
            if len(below) != 1 or len(row.source.cells) < len(line.source.cells) // 2:
                continue
            is_digits = _is_code(line, place) and _DIGITS_BEHIND.fullmatch(below[0]) is not None
            if is_digits or (_SYMBOL_ALONE.fullmatch(below[0]) and is_symbol(below[0])):
                return below[0]
    return None


def _list_rows_below(lines: Sequence[ReadLine], line: ReadLine) -> Sequence[ReadLine]:
    position = line.index - lines[0].index
    return lines[position + 1 : position + 1 + _ROWS_BELOW_HEAD]


def _list_in_brackets(lines: Sequence[ReadLine], position: int) -> list[str]:
    line = lines[position]
    if len(line.text) >= _MAX_LINE or (match := _IN_BRACKETS.search(line.text)) is None or not is_symbol(match[1]):
        return []
    cell = line.text[: match.start()].rpartition("\t")[2]
    if any(place.label in _COSTS for place in line.labels) or _OF_LAW.search(cell) is not None:
        return []
    if not _names_security(lines, position, match.start()):
        return []
    is_labelled = any(map(_has_symbols_in_brackets, lines[max(0, position - _ROWS_BELOW_HEAD) : position + 1]))
    # Who numbers securities as America does writes their symbols so, whatever the name is: `APPLE INC (AAPL)`.
    is_labelled |= _ends_cell(line.text, match.end()) and any(_CUSIP.search(other.text) for other in lines)
    return [match[1]] if is_labelled or _is_made_of(cell, match[1]) else []


def _ends_cell(text: str, end: int) -> bool:
    return not text[end:].partition("\t")[0].strip()


def _is_made_of(name: str, symbol: str) -> bool:
    """Whether a symbol is made of letters of a name, in their order, from the beginning of a word on: `Royal Bank of
    Canada (RBC)`. A word in brackets that is not may be an exchange, a kind of share or of account."""
    letters = r"[^\n]{0,40}?".join(symbol)
    return re.search(rf"\b{letters}", name[-_LONGEST_NAME:], re.IGNORECASE) is not None


def _names_security(lines: Sequence[ReadLine], position: int, end: int) -> bool:
    """Whether what stands in front of a place names what was traded: by its label, its number, the numbers or the word
    of the trade in its line, or because it stands below one of them by itself."""
    line = lines[position]
    front = line.text[:end]
    is_traded = len(line.numbers) >= _MIN_NUMBERS or (labels.DIRECTION.search(front) is not None and line.numbers)
    if is_traded or any(
        place.label in (Label.NAME, Label.ISIN, Label.WKN, Label.TICKER)
        and (place.start == 0 or line.text[place.start - 1] == "\t" or line.text[place.end :].lstrip().startswith(":"))
        for place in line.labels
    ):
        return True
    if any(map(_has_symbols_in_brackets, lines[max(0, position - _ROWS_BELOW_HEAD) : position + 1])):
        return True
    if line.labels or len(SMALL_WORD.findall(front)) > 1:
        return False
    above = lines[position - 1] if position else None
    return above is not None and (_is_side_alone(above) or any(place.label is Label.NAME for place in above.labels))


def _has_symbols_in_brackets(line: ReadLine) -> bool:
    """`Company name (symbol)`."""
    return any(
        place.label is Label.TICKER and line.text[place.start - 1 : place.start] + line.text[place.end :][:1] == "()"
        for place in line.labels
    )


def _is_side_alone(line: ReadLine) -> bool:
    anchor = labels.ANCHOR.match(line.text)
    return anchor is not None and not line.text[anchor.end() :].strip(" :")


def _find_by_name(lines: Sequence[ReadLine]) -> str | None:
    """Instead of a name, or alone in the line below it."""
    for line, place in list_places(lines, Label.NAME):
        words = list_words_behind(line, place)
        if re.fullmatch(r"[A-Z]{2,6}", words) and is_symbol(words):
            return words
        below = lines[line.index - lines[0].index + 1 :][:1]
        if place.start == 0 and words and below and re.fullmatch(r"[A-Z]{3,5}", below[0].text.strip()):
            return below[0].text.strip() if is_symbol(below[0].text.strip()) else None
    return None
