"""Which note a document takes back, by the number that it names: a cancellation, or a corrected note in its place."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ingestion.domain.trade import Trade
from ingestion.extract import kind_words
from ingestion.extract.trades import labels
from ingestion.extract.trades.lines import ReadLine

_MAX_SENTENCE = 200  # letters
_MAX_TITLE = 90  # letters
_HEAD_LINES = 40
_CANCELS = (
    r"stornier(?:en|t|te|ung)|storno|hinf[äa]llig|cancel(?:s|led|ling|lation)?|revers(?:es|al|ed)|annul(?:e|ons|er|ation|[ée]e?)|annull(?:a|iamo|amento|ato)"
    r"|anula(?:mos|ci[óo]n|do|da)?|anulamos|annule(?:ert|ren|ring)"
    r"|cancela(?:mento|mos|do|da)?|estorno|estornamos|annullerer|annulleret"
)
_REPLACES = (
    r"ersetzt|ersatz\s+f[üu]r|replaces|supersedes|replacement\s+of|remplace|sustituye|reemplaza|sostituisce"
    r"|vervangt|substitui|erstatter"
)
_NOTE = (
    r"(?:\w{0,20}abrechnung|beleg|rechnung|auftrag|order|(?:contract|trade|deal)\s+(?:note|confirmation)|note|confirmation"
    r"|avis(?:\s+d['’]op[ée]r[ée])?|nota(?:\s+informativa)?|aviso|conferma"
    r"|confirmaci[óo]n|liquidaci[óo]n|afrekening|bevestiging|confirma[çc][ãa]o|reference|r[ée]f[ée]rence|referenz|riferimento|referencia|kenmerk|afregning)"
)
_NUMBER = r"(?P<number>(?:[A-Z]{1,3}\s)?(?=[\w./-]*\d[\w./-]*\d)(?!\d{1,2}[./]\d{1,2}[./])[A-Z0-9][\w./-]{3,39})"


def _match_note(verb: str) -> re.Pattern[str]:
    number = (
        r"(?:mit\s+der\s+|with\s+)?(?:nummer|number|num[ée]ro|n[úu]mero|numero|nr|no|n)?[.°º:]{0,2}\s{0,2}[°º#]?\s?"
    )
    return re.compile(rf"\b(?i:{verb})\b[^.:]{{0,60}}?(?<!\w)(?i:{_NOTE})\s{{0,2}}(?i:{number}){_NUMBER}")


_TAKES_BACK = _match_note(f"{_CANCELS}|{_REPLACES}")
_IN_PLACE_OF = _match_note(_REPLACES)
_CORRECTED = re.compile(
    r"\b(?:korrigierte|berichtigte|korrektur|berichtigung|corrected|amended|correction"
    r"|rectifi(?:ed|[ée]e?|catif|cation)|rettific\w{1,5}|rectificad[oa]|corregid[oa]"
    r"|gecorrigeerde|correctie|retificad[oa]|corrigid[oa]|korrigeret)\b",
    re.IGNORECASE,
)


def find_note_taken_back(lines: Sequence[ReadLine]) -> str | None:
    """The number of the note that a cancellation names."""
    return _find_number(lines, _TAKES_BACK)


def find_note_replaced(lines: Sequence[ReadLine]) -> str | None:
    """The number of the note in whose place this one stands, with a trade of its own; none below the title of a
    cancellation, which has none."""
    is_titled = any(
        len(line.text) <= _MAX_TITLE and labels.CANCELLATION.match(line.text) is not None
        for line in lines[:_HEAD_LINES]
    )
    return None if is_titled else _find_number(lines, _IN_PLACE_OF)


def is_corrected_note(lines: Sequence[ReadLine]) -> bool:
    """By a title: an earlier note of the same trade is to be taken back, whether it is named or not."""
    return any(
        len(line.text) <= _MAX_TITLE
        and _CORRECTED.search(line.text) is not None
        and kind_words.CONTRACT_NOTE_TITLE.search(line.text) is not None
        for line in lines[:_HEAD_LINES]
    )


def build_cancellation(trade: Trade, number: str) -> Trade:
    """What the note of that number stated, as far as a corrected one tells: its price and its amounts were others."""
    return replace(
        trade,
        reference=number,
        is_cancellation=True,
        price=None,
        gross_amount=None,
        settled_amount=None,
        fees=None,
        taxes=None,
        accrued_interest=None,
        foreign_currency=None,
        foreign_gross_amount=None,
    )


def _find_number(lines: Sequence[ReadLine], pattern: re.Pattern[str]) -> str | None:
    # A sentence may go on in the next line.
    texts = [line.text[:_MAX_SENTENCE] for line in lines]
    for text, below in zip(texts, [*texts[1:], ""], strict=True):
        if (match := pattern.search(f"{text} {below}")) is not None and match.start() < len(text):
            return match["number"].rstrip(".")
    return None
