"""Whether the words for the side of a trade may be said of somebody else than the customer.

A dealer that trades with the customer itself writes what it did: `As principal we have SOLD to you` is a purchase. So
does a paper that names both parties. Which of them a word means is left to a person there, and also where the money
went the other way than the word says.
"""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from ingestion.domain.trade import Direction, Trade
from ingestion.extract.labels import match_any
from ingestion.extract.trades import labels
from ingestion.extract.trades.lines import ReadLine, is_long_sentence
from ingestion.extract.trades.side_fields import is_side_unsaid
from ingestion.extract.trades.trade import TradeReading

_MAX_LINE = 140  # letters
# Somebody bought from the customer, or sold to them.
_WITH_CUSTOMER = match_any(
    r"\b(?:sold|sell(?:s|ing)?|sale|selling)\b.{0,20}?\bto\s+(?:you|our\s+client|(?:the\s+)?client|(?:the\s+)?customer)\b|\b(?:bought|buy(?:s|ing)?|purchased?|purchases|purchasing)\b.{0,20}?\bfrom\s+(?:you|our\s+client|(?:the\s+)?client|(?:the\s+)?customer)\b",
    r"\b(?:ihnen|an\s+sie)\b.{0,40}?\bverkauf|\bverkauf\w*\s+(?:wir\s+)?(?:an\s+sie|ihnen)\b|\bvon\s+ihnen\b.{0,40}?\b(?:ge|an)?kauf|\b(?:an)?kauf\w*\s+(?:wir\s+)?von\s+ihnen\b|\bihnen\b.{0,40}?\babgekauft\b",
    r"\bnous\s+vous\s+(?:avons\s+)?(?:vend\w+|achet\w+|rachet\w+|c[ée]d\w+)|\bvous\s+(?:a\s+[ée]t[ée]|avons)\s+(?:vendu|achet[ée]|c[ée]d[ée])|\b(?:vente|cession)\b.{0,20}?\s[àa]\s+vous\b|\b(?:achat|rachat)\b.{0,20}?\b(?:aupr[èe]s\s+de|[àa])\s+vous\b",
    r"\b(?:vi|le|la|ti)\s+abbiamo\s+(?:vendut|cedut|acquistat|comprat)\w+|\b(?:acquist|compr)\w+\s+da\s+(?:voi|lei)\b|\b(?:vendit|vendut|cedut)\w+\s+a\s+(?:voi|lei)\b",
    r"\b(?:le|les|os|te)\s+(?:hemos\s+)?(?:vendid|vend[ei]mos|comprad|compr[aá]mos|adquirid)\w*|\b(?:compr|adquir)\w+\s+(?:de|a)\s+(?:usted|ud\.?|vd\.?|ustedes)\b|\bvend\w+\s+a\s+(?:usted|ud\.?|vd\.?|ustedes)\b",
    r"\b(?:aan\s+u|wij\s+(?:hebben\s+)?u)\b.{0,30}?\bverkocht|\bverkocht\s+aan\s+u\b|\b(?:verkopen|verkoop)\b.{0,20}?\baan\s+u\b|\bvan\s+u\b.{0,30}?\b(?:ge|aan)k(?:ocht|oop)|\b(?:ge|aan)k(?:ocht|oop)\w*\b.{0,20}?\bvan\s+u\b",
    r"\b(?:vend|compr|adquir)\w+-(?:lhes?|vos)\b|\bvend\w+\s+a(?:o|\s+)\s?(?:v\.?\s?exas?\.?|si|cliente)\b|\bcompr\w+\s+(?:a|de)\s+(?:v\.?\s?exas?\.?|si)\b",
    r"\b(?:s[åa]lt|s[äa]ljer|solgt|s[æe]lger)\b.{0,20}?\btil{1,2}\s+(?:er|dig|dem|deg|eder)\b|\b(?:k[øöo]p[ta]?|k[øo]bt?|kj[øo]pt?)\w*\b.{0,20}?\b(?:av|af|fr[åa]n|fra)\s+(?:er|dig|dem|deg)\b",
    r"\bsprzeda\w+\s+(?:pa[ńn]stwu|panu|pani)\b|\b(?:kupi|naby)\w+\s+od\s+(?:pa[ńn]stwa|pana|pani)\b|\bprodal\w*\s+(?:jsme\s+)?v[áa]m\b|\bkoupil\w*\s+(?:jsme\s+)?od\s+v[áa]s\b",
)
# What the bank does, in words that no note uses of what it did for its customer.
_OF_BANK = match_any(
    r"\bour\s+(?:sale|purchase)\b|\bwe\s+(?:sell|buy)\b(?!\s+(?:for|on\s+behalf))|\bwir\s+(?:ver)?kaufen\b(?!\s+f[üu]r)|\bunser\s+(?:ver|an)?kauf\b|\bnous\s+(?:vendons|achetons)\b|\bnotre\s+(?:vente|achat)\b|\bnuestra\s+(?:venta|compra)\b|\bnostr[oa]\s+(?:vendita|acquisto)\b|\bonze\s+(?:ver|aan)koop\b"
)
# Others that a word for the side may be said of.
_BY_OTHERS = match_any(
    r"\b(?:bought|purchased|sold)\s+by\b(?!\s+(?:order|you|us\s+(?:for|on)|way|means|auction|tender))|\bcompany\s+(?:has\s+)?(?:bought|purchased|sold)\b|\byour\s+(?:shares|units|securities|holding|stock)\s+(?:were|was|have\s+been|has\s+been)\s+(?:bought|purchased|acquired)\b",
    r"^\W*(?:seller|purchaser|buyer|vendor|verk[äa]ufer(?:in)?|k[äa]ufer(?:in)?|vendeur|acheteur|vendedor|comprador|venditore|acquirente|compratore|verkoper|koper|s[äa]ljare|k[öo]pare|s[æe]lger|k[øo]ber|sprzedaj[ąa]cy|kupuj[ąa]cy|prod[áa]vaj[íi]c[íi]|kupuj[íi]c[íi])\b\s?(?:[:\t]|$)",
    r"\brepurchase\s+agreement\b|\brepo\b.{0,20}?\bleg\b|\br[üu]ckkauf-?angebot\b|\boffre\s+(?:publique\s+)?de\s+rachat\b|\boferta\s+de\s+recompra\b|\bshare\s+buy-?back\b|\btender\s+offer\b",
    # What a bidder acquires the customer gives away.
    r"\boffre\s+publique\b|\boferta\s+p[úu]blica\b|\bofferta\s+pubblica\b|\b[üu]bernahme-?(?:angebot|ges)|\bsqueeze-?\s?out\b|\bcompulsory\s+(?:purchase|acquisition)\b|\btakeover\b|\bacquisition\s+of\s+(?:your|[^\n]{1,40}\s+by)\b|\bacquired\s+by\b|\berwerb\s+durch\b|\bcash\s+(?:offer|acquisition)\b|\buppk[öo]p\w*|\bovertagelses?tilbud\b|\boverd?namebod\b|\bopenbaar\s+bod\b|\bwezwani[ea]\b|\bprzymusow\w+",
)
_EITHER_WAY = match_any(r"\bzu\s+(?:ihren\s+)?(?:gunsten|lasten)\s*/\s*(?:gunsten|lasten)\b|\bdebit\s*/\s*credit\b")
# Said of the settled amount itself, to whom it goes.
_TO_CUSTOMER = match_any(
    r"\bdue\s+to\s+(?:you|client|customer)\b|\bpayable\s+to\s+you\b|\byou\s+(?:will\s+)?receive\b|\bzu\s+ihren\s+gunsten\b|\b[àa]\s+votre\s+cr[ée]dit\b|\b[àa]\s+recevoir\b|\ba\s+(?:su\s+favor|recibir|percibir|receber|ricevere|vostro\s+credito|vostro\s+favore)\b|\bte\s+ontvangen\b|\bte\s+uwer\s+gunste\b|\batt\s+erh[åa]lla\b|\bdo\s+wyp[łl]aty\b|\bk\s+v[ýy]plat[ěe]\b"
)
_FROM_CUSTOMER = match_any(
    r"\bdue\s+from\s+(?:you|client|customer)\b|\bdue\s+to\s+us\b|\bpayable\s+by\s+you\b|\byou\s+(?:must\s+)?pay\b|\bzu\s+ihren\s+lasten\b|\b[àa]\s+votre\s+d[ée]bit\b|\b[àa]\s+payer\b|\ba\s+(?:pagar|su\s+cargo|debitar|vostro\s+debito)\b|\bda\s+pagare\b|\bte\s+betalen\b|\bte\s+uwen\s+laste\b|\b(?:att|at|[åa])\s+betale?a?\b|\bdo\s+zap[łl]aty\b|\bk\s+[úu]hrad[ěe]\b"
)

# To an account, or off it; the words of `labels` say so as well.
_WRITTEN_TO = match_any(r"\bbij\s+te\s+schrijven\b|\bbijgeschreven\b|\btill\s+godo\b|\btil\s+udbetaling\b")
_WRITTEN_OFF = match_any(r"\baf\s+te\s+schrijven\b|\bafgeschreven\b|\btil\s+betaling\b")
_EITHER_PAYS = match_any(r"\b(?:payable(?!\s+by\s+you)|amount\s+due(?!\s+from))\b")


def doubt_side(reading: TradeReading, lines: Sequence[ReadLine]) -> TradeReading:
    """Without its side, where that may be another one's, or the money went the other way."""
    is_doubted = _may_be_of_others(lines) or _contradicts_money(reading.trade, lines)
    if not is_doubted and not _is_unsaid(reading.trade, lines):
        return reading
    return replace(reading, trade=replace(reading.trade, direction=None), is_direction_certain=False)


def _may_be_of_others(lines: Sequence[ReadLine]) -> bool:
    short = [line for line in lines if len(line.text) <= _MAX_LINE and not is_long_sentence(line)]
    if any(pattern.search(line.text) for line in short for pattern in (_WITH_CUSTOMER, _OF_BANK)):
        return True
    return any(_BY_OTHERS.search(line.text) for line in short)


def _is_unsaid(trade: Trade, lines: Sequence[ReadLine]) -> bool:
    """Costs say the side by themselves: they raise what a purchase takes, and lower what a sale brings."""
    if trade.direction is None or trade.is_cancellation:
        return False
    settled, gross = trade.settled_amount, trade.gross_amount
    if settled is not None and gross not in (None, settled):
        told = Direction.BUY if settled > (gross or 0) else Direction.SELL
        if told is trade.direction:
            return False
    return is_side_unsaid(lines, trade.direction, trade.security_name)


def _contradicts_money(trade: Trade, lines: Sequence[ReadLine]) -> bool:
    """Costs tell the side as well: only where there are none the words of the settled amount are all there is."""
    settled = trade.settled_amount
    if settled is None or trade.direction is None or settled != (trade.gross_amount or settled):
        return False
    said = [line.text for line in lines if _has_amount(line, settled) and not _EITHER_WAY.search(line.text)]
    received, paid = any(map(_says_received, said)), any(map(_says_paid, said))
    if received == paid:
        return False
    return received is (trade.direction is Direction.BUY)


def _says_received(text: str) -> bool:
    return any(pattern.search(text) for pattern in (_TO_CUSTOMER, labels.RECEIVED, _WRITTEN_TO))


def _says_paid(text: str) -> bool:
    """No matter who pays is `payable` and `amount due`."""
    rest = _EITHER_PAYS.sub("", text)
    return any(pattern.search(rest) for pattern in (_FROM_CUSTOMER, labels.PAID, _WRITTEN_OFF))


def _has_amount(line: ReadLine, amount: Decimal) -> bool:
    return len(line.text) <= _MAX_LINE and any(amount in number.readings for number in line.numbers)
