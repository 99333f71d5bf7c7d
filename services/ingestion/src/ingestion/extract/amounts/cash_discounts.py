"""What terms of payment say of a discount: that less is to be paid by who pays early, or that nobody gets one."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from ingestion.extract import values
from ingestion.extract.amounts import change_labels
from ingestion.extract.labels import match_any

# Nothing but a discount for who pays early is called so ...
_CASH = (
    r"\bskont\w{0,20}",
    r"\bescompt\w{1,5}",
    r"\b(?:cash|settlement|early[\s-]pay\w{0,5}|prompt[\s-]pay\w{0,5})\s+(?:discount|rebate|deduction)s?\b|\b(?:early|prompt)[\s-]payment\b",
    r"\bpronto\s+pag(?:o|amento)\b|\bsconto\s+(?:cassa|finanziario|pronta\s+cassa)\b",
    r"\b(?:betalings|contant)korting\b|\bkredietbeperking\w{0,8}|\b(?:kontant|kasse?)a?rabatt?\w{0,3}\b",
)
# ... and all of these in a sentence that names a day.
_DISCOUNT = (
    *_CASH,
    r"\b(?:discount|deduct|rebate)\w{0,6}\b|\ballowance\b|\bsav(?:e|ing)s?\b|\breduced\b|\b(?:less|minus)\s+\d|\d\s?%\s+off\b",
    r"\b\w{0,12}(?:rabatt|nachlass|nachlaß|abzug|abzüge)\w{0,4}\b|\babzgl\b|\babzüglich\b|\babz(?:uziehen|iehen|ieht|ieh)\b|\bzieh(?:en|t)\b(?:[^.!?]|\.(?=\d)){0,60}\bab\b|\bermäßig\w{1,4}",
    r"\bremises?\b|\brabais\b|\bristourne\b|\bréduction\b|\bdédui\w{1,5}|\bdéduction\b|\bmoins\s+\d",
    r"\b(?:descuento|desconto|rebaja|bonificaci[óo]n|abatimento)s?\b|\bdto\b|\bdeduc\w{1,6}|\bdeduz\w{1,4}|\bmenos\s+\d",
    r"\bscont\w{1,6}|\babbuon[oi]\b|\bribasso\b|\bdeduzion[ei]\b|\bdeduc\w{1,4}|\bdedu[rt]\w{1,4}|\bmeno\s+\d",
    r"\b\w{0,12}korting\w{0,2}\b|\baf(?:ge)?tr[eo]k\w{0,3}\b|\baftrek\w{0,4}|\bmin\s+\d",
    r"\brabat\w{0,3}\b|\bupust\w{0,3}\b|\bzniż\w{1,3}|\bobniż\w{1,4}|\bpotrąc\w{1,5}|\bodlicz\w{1,5}",
    r"\bslev\w{1,3}\b|\bsrážk\w\b|\bodeč[ít]\w{1,4}|\bodečt\w{1,4}",
    r"\b\w{0,10}(?:rabatt?|avdrag|fradrag|nedslag)\w{0,3}\b|\bfratræk\w{0,3}\b|\btrække[rs]?\s+fra\b|\bdras?\s+av\b",
)
CASH_DISCOUNT = match_any(*_CASH)
_ANY_DISCOUNT = match_any(*_DISCOUNT)
_ANY = _ANY_DISCOUNT.pattern
# Nobody gets one: `ohne jeden Abzug`, `pas d'escompte`, `Escompte : néant`, `Skonto 0,00 %`.
_NO = (
    r"\b(?:ohne|kein\w{0,2}|nicht|no|not|without|sans|pas|aucune?|sin|ning[uú]n|senza|nessuno?|zonder|geen|sem|nenhum|bez"
    r"|żadn\w{1,3}|žádn\w{1,3}|uden|ingen|intet|utan|inget?)\b"
)
_NONE = (
    r"(?:\b(?:none|nil|keine?[rs]?|nicht|entfällt|not|néant|aucune?|ninguno|nessuno|nessuna|geen|nenhum|brak|žádn[áéý]|ingen|inget)\b"
    r"|(?<![\d.,])0(?:[.,]0+)?(?![\d.,])|[-–—]{1,3}\s*$)"
)
_FOR = r"(?:\s+(?:for|on|bei|für|pour|en\s+cas\s+de|por|per|voor|bij|za|při|vid|ved|przy)\s+[^.,;!?\d]{1,40})?"
_NEGATED = re.compile(
    rf"{_NO}(?:\s+(?:d['’])?\w{{1,14}}){{0,2}}?\s+(?:d['’])?(?:{_ANY}){_FOR}|(?:{_ANY})(?:[^.!?\d]|\.(?!\s)){{0,40}}?{_NONE}(?:\s?%)?",
    re.IGNORECASE,
)
_NO_ESCOMPTE = re.compile(r"\b(?:pas|point)\s+d['’]\s?escompte\b", re.IGNORECASE)
# What a percentage is of, if it is no discount.
_OTHER_RATE = (
    r"(?:zins|verzug|interest|intér[êe]t|inter[ée]s|interess|rente|juros|odset|úrok|ränta|penalt|pénalit|moratori|\bmora\b|\bp\.?\s?a\b|per\s+(?:month|annum|year)|base\s+rate"
    r"|basiszins|\bvat\b|\btax\b|mwst|ust\b|steuer|\btva\b|\biva\b|\bbtw\b|\bdph\b|moms\b)"
)
_NO_DISCOUNT_RATE = re.compile(
    rf"{_OTHER_RATE}[^.!?;%]{{0,30}}?\d[\d.,]{{0,5}}\s?%|\d[\d.,]{{0,5}}\s?%[^.!?;%]{{0,30}}?{_OTHER_RATE}",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"(?<=[^\d\W]{3}[.!?])\s+|(?<=[%\d)][.!?])\s+(?=[A-ZÄÖÜÉÈŠČŘŽŁŚ(])|;\s+")
_DAYS = re.compile(change_labels.DAYS, re.IGNORECASE)
_LARGEST_RATE = 10  # of a hundred


@dataclass(frozen=True, slots=True)
class AskedAmounts:
    """What the page asks for, so that a smaller amount beside a day can be told to be what pays who pays early."""

    asked: tuple[Decimal, ...] = ()
    others: tuple[Decimal, ...] = ()

    def has_less(self, text: str) -> bool:
        """Whether an amount in a text is what is left of these after a discount."""
        found = [amount for amount in values.find_money(text) if amount not in (*self.asked, *self.others)]
        return any(asked * (100 - _LARGEST_RATE) / 100 <= amount < asked for amount in found for asked in self.asked)


NOTHING_ASKED = AskedAmounts()


def count_discounts(text: str, amounts: AskedAmounts = NOTHING_ASKED) -> int:
    """How many discounts a text offers, as far as it can be seen: by their percentages, by a word, by an amount."""
    sentences = [each for each in split_sentences(text) if not _has_own_term(each)]
    return count_offers(" ".join(sentences), amounts)


def count_offers(text: str, amounts: AskedAmounts = NOTHING_ASKED) -> int:
    """The same, whatever term of its own each has."""
    offered = _drop_negated(text)
    rates = _find_rates(offered)
    is_offered = _ANY_DISCOUNT.search(offered) is not None or amounts.has_less(offered)
    return max(len(rates), int(is_offered))


def has_large_rate(text: str) -> bool:
    """Whether a part of the whole is so large that it is an instalment."""
    return any(rate > _LARGEST_RATE for rate in _find_rates(_drop_negated(text)))


def _find_rates(text: str) -> list[Decimal]:
    return [rate for rate in values.find_rates(_NO_DISCOUNT_RATE.sub(" ", text)) if rate]


def offers_cash_discount(text: str) -> bool:
    return CASH_DISCOUNT.search(_drop_negated(text)) is not None


def denies_discount(text: str) -> bool:
    """Whether a text says that all is to be paid: `netto`, `ohne Abzug`."""
    return _NET.search(text) is not None or _drop_negated(text) != text


_NET = re.compile(
    r"\b(?:(?:rein\s+)?netto|net|nett|neto|in\s+full|full\s+amount|voller\s+betrag)\b(?!\s+(?:amount|total|betrag|summe|value|\d))",
    re.IGNORECASE,
)


def split_sentences(text: str) -> Sequence[str]:
    return [each for each in _SENTENCE_END.split(text) if each]


def _has_own_term(sentence: str) -> bool:
    """`Bei Zahlung innerhalb von 10 Tagen 2 % Skonto.` says nothing of a day that another sentence names."""
    return has_days(sentence) and not values.find_dates(sentence)


def has_days(text: str) -> bool:
    return _DAYS.search(text) is not None


def _drop_negated(text: str) -> str:
    return _NEGATED.sub(" ", _NO_ESCOMPTE.sub(" ", text))
