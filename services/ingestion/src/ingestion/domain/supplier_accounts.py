"""Whether an invoice is to be paid to an account that is new for its supplier: then a person looks, however sure its
reader is.

Whoever wants to be paid in a supplier's place copies everything but the account. A supplier is known by its VAT id and
by its name, and the account has to be known under each of the two that is: an invoice with the name of one supplier and
a VAT id of nobody, or of another one, is a case for a person.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ingestion.domain.document import DocumentOutcome
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.search_words import fold_words
from mailroom_common.events import ResultStatus

MAX_KNOWN_IBANS = 10
"""So many of a supplier's known accounts are shown."""

KNOWN_IBANS = "known_ibans"

_MAX_KEY = 120
_MIN_VAT_DIGITS = 5  # `n/a` and the like name nobody

# What stands behind a name and is left out as often: without points, as `z oo` of `Sp. z o.o.`.
_LEGAL_FORM = re.compile(
    r"ab|ag|aps|as|asbl|bv|bvba|co|company|corp|corporation|doo|eg|ek|eu|eurl|ev|gbr|gmbh|inc|incorporated|kft|kg|kgaa|lda"
    r"|limited|llc|llp|ltd|ltda|mbh|nv|o|ohg|oo|ou|oy|plc|sa|sas|sarl|sc|se|sl|slu|sp|spa|spk|spzoo|srl|sro|ug|und|vof|z|zoo"
)

_MORE_LOOKALIKES = str.maketrans(
    "ıɪіιłʟɭøoοоօđɖħʜһհŧᴛɑаαɡցʙʏуγυսᴜնηոпɴкκᴋмᴍᴏрρᴘѕꜱвᴠνѵᴡωшᴢϲсᴄеᴇєᴅԁјϳᴊɢʀᴀхχ",
    "iiiillloooooddhhhhttaaaggbyyyuuunnnnnkkkmmopppssbvvvwwwzccceeeddjjjgraxx",
)
# After case and accents: one stroke, one ring.
_ALIKE_IN_ASCII = str.maketrans("i1j0", "lllo")
# Drawn as nothing, or on the letter before; and what is a letter by its category, and drawn as nothing or as a blank.
_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Me", "Mn"})
_FILLERS = frozenset("\u115f\u1160")
_BLANKS = frozenset("\u2800\u3164\uffa0")
_MAX_NAME = 5000

# What other documents say: a reader says the same whatever they do.
_OF_OTHER_DOCUMENTS = frozenset(
    {
        ReviewReason.IBAN_CHANGED,
        ReviewReason.IBAN_NOT_ON_PAGE,
        ReviewReason.SUPPLIER_UNCERTAIN,
        ReviewReason.TRADES_MAY_BE_SUMMED,
        ReviewReason.CANCELLED_TRADE_NOT_FOUND,
        ReviewReason.TRADE_MAY_BE_CANCELLED,
    }
)

# Letters of other alphabets that look like Latin ones: a name that looks the same is the same here.
_LOOKALIKES = str.maketrans("авекмнорстухіјѕԁανκορτυχ", "abekmhopctyxijsdavkoptux")

# Reasons that this one goes before: they say that something is missing or unsure, and none that it may be a theft. A
# reason that doubts the whole document stays, with the known accounts beside it.
_WEIGHS_LESS = frozenset(
    {
        ReviewReason.FIELDS_MISSING,
        ReviewReason.TOTALS_DO_NOT_ADD_UP,
        ReviewReason.CONFIDENCE_LOW,
        ReviewReason.IBAN_NOT_ON_PAGE,
        ReviewReason.SUPPLIER_UNCERTAIN,
        ReviewReason.ARCHIVE_REFUSED,
    }
)


@dataclass(frozen=True, slots=True)
class SupplierAccount:
    """The account of an invoice, and the keys that its supplier is known by: one of them at least. `look_key` is the
    name as an eye sees it; `name_key` is what earlier releases have of it."""

    iban: str
    vat_key: str | None
    name_key: str | None
    look_key: str | None = None


@dataclass(frozen=True, slots=True)
class KnownAccounts:
    """What is known under one key of a supplier; no `ibans`: nothing."""

    has_account: bool
    ibans: tuple[str, ...]


def find_supplier_account(extraction: Mapping[str, Any] | None) -> SupplierAccount | None:
    """None where no account is named, or nobody whose it is."""
    fields = extraction or {}
    iban = _keep_letters_and_digits(fields.get("iban"))
    vat_key = _keep_letters_and_digits(fields.get("vat_id"))
    name = str(fields.get("supplier_name") or "")
    name_key = fold_supplier_name(name)
    look_key = fold_look_of_name(name) or name_key
    if sum(letter.isdigit() for letter in vat_key) < _MIN_VAT_DIGITS:
        vat_key = ""
    if not iban or not (vat_key or look_key):
        return None
    return SupplierAccount(iban, vat_key or None, name_key or None, look_key or None)


def fold_supplier_name(name: str) -> str:
    """The name without accents, case, blanks, punctuation and legal form."""
    return "".join(_list_words(name[:500], _LOOKALIKES))[:_MAX_KEY]


def fold_look_of_name(name: str) -> str:
    """The same for two names that an eye takes for one: `lnfo` with a small L is `Info`, whatever else stands in it
    that nobody sees. Empty where it has no letter and no digit: then it names nobody."""
    shown = "".join(_list_shown(name[:_MAX_NAME]))
    look = "".join(_list_words(shown, _LOOKALIKES | _MORE_LOOKALIKES))
    return look.replace("rn", "m").replace("vv", "w").translate(_ALIKE_IN_ASCII)[:_MAX_KEY]


def _list_words(name: str, lookalikes: Mapping[int, int | str]) -> list[str]:
    words = [word.translate(lookalikes) for word in fold_words(name.replace(".", ""))]
    while len(words) > 1 and _LEGAL_FORM.fullmatch(words[-1]):
        words.pop()
    return words


def _list_shown(name: str) -> Iterator[str]:
    """What of it is drawn. One by one: a row of accents would be sorted, which takes minutes for very many."""
    for letter in name:
        for part in " " if letter in _BLANKS else unicodedata.normalize("NFKC", letter):
            if part.isspace():
                yield " "
            elif unicodedata.category(part) not in _UNSEEN and part not in _FILLERS:
                yield part


def _keep_letters_and_digits(text: Any) -> str:
    return "".join(letter for letter in str(text or "")[:500].upper() if letter.isascii() and letter.isalnum())[
        :_MAX_KEY
    ]


def require_known_account(outcome: DocumentOutcome, known: Sequence[KnownAccounts]) -> DocumentOutcome:
    """The same outcome unless a key of the supplier is known and the account is not known under it; or it is, and the
    page need not name it, nor say twice whose invoice it is."""
    unknown_under = [accounts for accounts in known if accounts.ibans and not accounts.has_account]
    if outcome.extraction is None or outcome.status is ResultStatus.SKIPPED:
        return outcome
    if not unknown_under:
        under = [accounts.has_account for accounts in known]
        is_settled = any(under) and outcome.reason is ReviewReason.IBAN_NOT_ON_PAGE
        # Under the name as well: a VAT id alone says nothing of a name that was read wrong.
        is_settled |= bool(under) and all(under) and outcome.reason is ReviewReason.SUPPLIER_UNCERTAIN
        return replace(outcome, status=ResultStatus.COMPLETED, reason=None) if is_settled else outcome
    ibans = list(dict.fromkeys(iban for accounts in unknown_under for iban in accounts.ibans))[:MAX_KNOWN_IBANS]
    is_reason = outcome.reason is None or outcome.reason in _WEIGHS_LESS
    return replace(
        outcome,
        status=ResultStatus.NEEDS_REVIEW,
        reason=ReviewReason.IBAN_CHANGED if is_reason else outcome.reason,
        extraction={**outcome.extraction, KNOWN_IBANS: ibans},
    )


def is_same_reading(one: DocumentOutcome, other: DocumentOutcome) -> bool:
    """Whether a reader said the same twice, whichever accounts and trades were known then."""
    if one.reason in _OF_OTHER_DOCUMENTS or other.reason in _OF_OTHER_DOCUMENTS:
        one = replace(one, status=other.status, reason=other.reason)
    return _without_known_accounts(one) == _without_known_accounts(other)


def _without_known_accounts(outcome: DocumentOutcome) -> DocumentOutcome:
    if outcome.extraction is None or KNOWN_IBANS not in outcome.extraction:
        return outcome
    fields = {name: value for name, value in outcome.extraction.items() if name != KNOWN_IBANS}
    return replace(outcome, extraction=fields)
