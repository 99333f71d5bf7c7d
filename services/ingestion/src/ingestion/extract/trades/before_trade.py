"""Whether a paper has the numbers of a trade that was perhaps never made: costs before an order is given, the preview
or the receipt of an order, a proposal, a draft, a specimen.

Such a paper looks as the note that comes later, and completed it would be the same trade once more. So besides the
words of such papers, which never end, one trade needs something that only a trade that was made has.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from ingestion.domain.transcript import TextLine
from ingestion.extract.labels import match_any
from ingestion.extract.titles.document_kind import DocumentKind, has_title
from ingestion.extract.trades import labels
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine, list_dates_at, list_places
from ingestion.extract.trades.no_trade_words import LIKE_TRADE
from ingestion.extract.trades.row_notes import DONE
from ingestion.extract.trades.row_side import SidePlace, find_row_side
from ingestion.extract.trades.taken_back_words import may_happen

_HEAD_LINES = 40
_MAX_TITLE = 70  # letters
_MAX_LINE = 140
# Costs that are told before an order is given, and what the order looks like until then.
_BEFORE_ORDER = match_any(
    r"\bpre-?\s?trade\b|\bex[\s-]?ante\b|\bbefore\s+(?:you\s+)?(?:trad|invest|deal|the\s+(?:trade|order))\w*\b|\border\s+(?:preview|ticket|review|estimate|summary\s+before)\b|\b(?:deal|trade|price)\s+quot(?:e|ation)\b|\bquote\s+(?:is\s+)?valid\b|\btrade\s+ticket\b|\bbasket\s+review\b|\bplease\s+check\s+the\s+details\b|\btime\s+in\s+force\b|\billustration\s+of\s+(?:your|the)\b|\bkey\s+(?:features|facts)\s+illustration\b|\bcosts?\s+(?:and\s+charges\s+)?(?:illustration|disclosure|estimate)\b",
    r"\bkosten-?\s?(?:information|ausweis|aufstellung|[üu]bersicht)\w*\s+(?:vor|ex)\b|\bvor\s+(?:der\s+)?(?:auftrags?|order|orderer)\s?-?(?:erteilung|aufgabe|ausf[üu]hrung)\b|\bex-?ante-?\w+|\border-?vorschau\b|\bauftrags-?(?:vorschau|erfassung)\b|\bkosten-\s?und\s+nutzen\w*|\bgeeignetheits\w+|\b(?:anlage|order|kauf|verkaufs)-?vorschlag\b|\bzeichnungsschein\b|\b(?:auftrag|order)\b.{0,15}\b(?:eingegangen|erhalten|vorgemerkt)\b",
    r"\bavant\s+(?:la\s+)?(?:passation|l['’]ordre|transmission|ex[ée]cution)\b|\bpr[ée]alable\s+(?:sur|[àa])\b|\bco[ûu]ts?\s+pr[ée]visionnels?\b|\baper[çc]u\s+(?:de\s+)?(?:l['’])?ordre\b|\bproposition\s+d['’](?:investissement|arbitrage|achat|ordre)\b|\bpropuesta\s+de\s+(?:inversi[óo]n|orden|compra|venta)\b|\bproposta\s+(?:di|de)\s+(?:investiment|acquist|vendit|ordin)\w+",
    r"\binform\w+\s+(?:preventiv|previ|pr[ée]vi|precontractual|pr[ée]-?contratual)\w*|\bprevi[oa]s?\s+(?:a\s+la\s+orden|de\s+(?:costes|gastos))\b|\banteprima\s+(?:dell?['’]?\s?)?ordine\b|\bvoorafgaande?\s+(?:kosten\w*|informatie)\b|\bkosteninformatie\b|\bkosten\w*\s+vooraf\b|\border-?voorbeeld\b|\bpr[ée]-?visualiza\w+",
    r"\bf[öo]rhandsinformation\b|\bforh[åa]nds(?:oplysning|informasjon)\w*|\bex\s+ante\b|\bp[řr]edb[ěe][žz]n[ée]\s+n[áa]klady\b|\bprzed\s+z[łl]o[żz]eniem\s+zlecenia\b",
    r"\b(?:trade|investment|order|rebalancing|switch)\s+(?:proposal|recommendation|idea)\b|\bsuitability\s+(?:report|letter)\b|\bwe\s+recommend\b|\bwe\s+have\s+received\s+your\s+(?:instruction|order)\b|\border\s+(?:placed|received|accepted|entered|queued|lapsed|suspended|amendment)\b|\binstruction\s+(?:received|returned)\b|\bunable\s+to\s+deal\b|\bnothing\s+dealt\b|\border\s+killed\b",
    r"\b(?:auftrag|order|weisung)\b.{0,30}\bnicht\s+(?:ausf[üu]hr\w+)|\bkonnten\s+wir\s+nicht\s+ausf[üu]hren\b",
)
# No real paper, or not the last one.
_NO_PAPER = match_any(
    r"^\W*(?:draft|specimen|sample|example|muster|entwurf|probe|spe[cz]imen|mod[èe]le|exemple|brouillon|ejemplo|borrador|muestra|esempio|bozza|fac-?simile|voorbeeld|concept|proefexemplaar|exemplo|rascunho|exempel|utkast|eksempel|udkast|wz[óo]r|projekt|vzor)\b(?:\W*$|\W{1,3}(?:\w+\s+){0,2}?(?:\w*abrechnung|\w*note|nota|avis|bordereau|confirmation|\w*best[äa]tigung|statement|advice|\w*beleg|\w*afrekening|bevestiging|conferma|confirma\w+|liquidaci[óo]n|potwierdzenie|konfirmace|document\w*|dokument)\b)",
    r"\b(?:muster|probe|test|simulations?|demo)-?(?:abrechnung|beleg|dokument|note|nota)\b|\bpro[\s-]?forma\b|\bnot\s+a\s+(?:real\s+trade|contract\s+note|confirmation)\b|\b(?:test|training|demo|practice|paper\s+trading)\s+(?:system|account|environment|mode)\b|\bsimulat(?:ed|ion)\b|\b(?:demo|muster|spiel|übungs|virtuelles\s)-?(?:depot|konto)\b|\bcompte\s+(?:de\s+d[ée]mo\w*|fictif|virtuel)\b",
    r"\b(?:indicative|provisional|preliminary|unconfirmed)\s+(?:contract|trade|deal|bought|sold|note|confirmation|statement|settlement|advice)\w*|\bvorl[äa]ufige?[rsn]?\s+\w*(?:abrechnung|beleg|best[äa]tigung|nota)\b|\b(?:avis|confirmation|bordereau)\s+(?:provisoire|indicati\w+|pr[ée]alable)\b|\b(?:nota|conferma|confirmaci[óo]n|confirma[çc][ãa]o)\s+(?:\w+\s+){0,2}(?:provvisori|provisional|provis[óo]ri|indicativ|indicativa)\w*|\bvoorlopige?\s+(?:\w+\s+)?\w*(?:nota|afrekening|bevestiging)\b|\bprelimin[äa]r\w*\s+\w*nota\b|\bforel[øo]big\w*\s+\w*nota\b",
    r"\b(?:figures|prices|amounts)\s+(?:are|will\s+be)\s+(?:provisional|indicative|confirmed)\b|\b(?:trade\s+)?status\W{1,3}(?:failed|rejected|pending|open|lapsed|not\s+settled)\b|\bsettlement\s+fail(?:ure|ed)\b|\bdid\s+not\s+settle\b|\bunsettled\s+trade\s+reminder\b",
)
# Beside the amounts of what is not done yet.
_ESTIMATED = match_any(
    r"\best(?:imated|\.)\s+(?:total|units|shares|price|cost|amount|value|quantity|proceeds|consideration|settlement)\b|\b(?:quoted|indicative)\s+(?:price|total|amount)\b|\bvoraussichtliche[rsn]?\s+(?:\w*betrag|\w*wert|\w*kurs|\w*preis|st[üu]ck\w*|anteile|ausf[üu]hrung\w*|gesamt\w*|abrechnung\w*)\b|\bgesch[äa]tzte[rsn]?\s+\w*(?:betrag|kosten|kurs|st[üu]ckzahl|wert)\b",
    r"\b(?:total|montant|prix|cours|co[ûu]t|nombre|frais)\s+(?:\w+\s+)?(?:estim[ée]s?|pr[ée]visionnels?|indicatifs?)\b|\b(?:total|importe|precio|coste|efectivo)\s+(?:\w+\s+)?(?:estimad[oa]|previst[oa]|orientativ[oa])\b|\b(?:totale|importo|prezzo|costo|controvalore)\s+(?:\w+\s+)?(?:stimat[oa]|previst[oa]|indicativ[oa])\b",
    r"\b(?:geschatte?|verwachte?|indicatieve?)\s+(?:\w+\s+)?(?:totaal|bedrag|koers|kosten|aantal)\b|\btotaal\s+\(?(?:geschat|indicatief)\b|\b(?:total|montante|pre[çc]o|custo|valor)\s+(?:\w+\s+)?(?:estimad[oa]|previst[oa]|indicativ[oa])\b|\b(?:ber[äa]knat|uppskattat?|forventet|ansl[åa]et|beregnet)\s+(?:total\w*|belopp|bel[øo]b|pris)\b|\bszacunkow\w+\s+\w+|\bp[řr]edpokl[áa]dan\w+\s+(?:cena|[čc][áa]stka|objem)\b",
)
# Only a trade that was made has them.
_DONE = match_any(
    r"\b(?:bought|sold|purchased|executed|dealt|traded|filled|confirm)\b|\b(?:gekauft|verkauft|ausgef[üu]hrt\w*|abgerechnet|ausf[üu]hrung\w*|gezeichnet|erworben)\b|\b(?:achet[ée]e?s?|vendue?s?|ex[ée]cut[ée]e?s?|ex[ée]cution|souscrite?s?|n[ée]goci[ée]e?s?)\b",
    r"\b(?:comprad[oa]s?|vendid[oa]s?|ejecu\w+|suscrit[oa]s?|acquistat[oaie]|vendut[oaie]|esegui\w+|esecuzione|gekocht|verkocht|uitgevoerd|uitvoering|executad[oa]s?|execu[çc][ãa]o)\b",
    r"\b(?:utf[öo]rd\w*|udf[øo]rt|avslut\w*|avr[äa]kningsnota|fondsnota|sluttseddel|k[öo]pt|s[åa]lt|k[øo]bt|solgt|wykonan\w+|zrealizowan\w+|potwierdzenie|proveden\w*|konfirmace|uskute[čc]n\w+)\b",
    r"\b(?:umsatz|sammel|kauf|verkaufs)?abrechnung\b|\bbuchungs(?:datum|tag)\b|\b(?:booking|posting)\s+date\b",
)
_ORDERS = match_any(
    r"^\W*(?:list\s+of\s+orders|orders?\s+(?:list|book|overview|history)|order(?:[üu]bersicht|buch|liste)|auftrags(?:[üu]bersicht|buch|liste)|carnet\s+d['’]ordres|liste\s+des\s+ordres|relaci[óo]n\s+de\s+[óo]rdenes|libro\s+de\s+[óo]rdenes|elenco\s+ordini|lista\s+(?:ordini|de\s+ordens)|orderoverzicht|orderboek|livro\s+de\s+ordens)\b"
)


def may_be_before_trade(page: Sequence[TextLine], lines: Sequence[ReadLine], *, is_single: bool) -> bool:
    """`is_single`: one trade was read, of no statement."""
    titles = list(_list_titles(lines))
    if any(_NO_PAPER.search(title) or _ORDERS.search(title) for title in titles):
        return True
    if _lists_orders(lines):
        return True
    if any(_BEFORE_ORDER.search(title) and not may_happen(title) for title in titles):
        return True
    if not is_single:
        return False
    if _has_other_status(lines) or _knows_only_old_purchase(page, lines):
        return True
    is_estimated = any(_ESTIMATED.search(line.text) and line.numbers for line in lines if len(line.text) <= _MAX_LINE)
    return is_estimated or not _has_signs_of_trade(page, lines)


def _has_other_status(lines: Sequence[ReadLine]) -> bool:
    """`Order status  Submitted to market`: whatever is not called done."""
    fields = (match for line in lines if (match := _STATUS.fullmatch(line.text)) is not None)
    return any(not DONE.search(match[1]) for match in fields)


_STATUS = re.compile(
    r"\W*(?:(?:order|trade|auftrags?|transaktions?)[\s-]?)?(?:status|statuts?|[ée]tat|estado|stato|stan|situa[çc][ãa]o|stav)"
    r"(?:\s+(?:de\s+(?:l['’]|la\s+)?|del['’]?l?['’]?\s?|da\s+)?(?:ordre|orden|ordine|ordem|order|zlecenia|operaci[óo]n|pokynu))?"
    r"\s?(?:\t|:\s*)([^\t\d]{2,40})",
    re.IGNORECASE,
)


def _knows_only_old_purchase(page: Sequence[TextLine], lines: Sequence[ReadLine]) -> bool:
    """Whether the only day is one of a purchase, and nothing says what was paid or cost: so looks what is held, what
    comes from another bank, and a form."""
    if has_title(page, DocumentKind.CONTRACT_NOTE):
        return False
    if any(True for label in (Label.SETTLED, Label.SETTLEMENT_DATE, Label.FEE) for _ in list_places(lines, label)):
        return False
    days = [(line, place) for line, place in list_places(lines, Label.TRADE_DATE) if line.dates]
    return bool(days) and all(labels.DIRECTION.search(line.text, place.start, place.end) for line, place in days)


def _has_signs_of_trade(page: Sequence[TextLine], lines: Sequence[ReadLine]) -> bool:
    """A title of a note, a day of the trade or of its settlement that is called so, a row that begins with a day and
    says its side, or a word for what was done."""
    if has_title(page, DocumentKind.CONTRACT_NOTE):
        return True
    named = (Label.TRADE_DATE, Label.SETTLEMENT_DATE)
    if any(list_dates_at(lines, line, place) for label in named for line, place in list_places(lines, label)):
        return True
    rows = (line for line in lines if line.dates and line.dates[0].start <= 1 and line.numbers)
    if any(find_row_side(row).place is SidePlace.IN_COLUMN for row in rows):
        return True
    return any(pattern.search(line.text) for line in lines for pattern in (_DONE, labels.WE_CONFIRM, LIKE_TRADE))


def _lists_orders(lines: Sequence[ReadLine]) -> bool:
    """Below a head that names a limit and no price stands what was ordered."""
    return any(_is_head_of_orders(line) for line in lines)


def _is_head_of_orders(line: ReadLine) -> bool:
    found = {place.label for place in line.labels}
    is_head = not line.numbers and Label.QUANTITY in found and Label.PRICE not in found
    return is_head and _LIMIT.search(line.text) is not None


_LIMIT = match_any(r"\blimit(?:e|ed|kurs|preis)?\b|\bl[íi]mite\b|\blimiet\b")


def _list_titles(lines: Sequence[ReadLine]) -> Iterator[str]:
    """No line with an amount, no label of a day (`Order received  4 November 2026`), and no part of a sentence that
    goes on from the line above."""
    for line in islice(lines, _HEAD_LINES):
        is_field = bool(line.dates) and len(line.source.cells) > 1
        if not is_field and not any(number.is_money for number in line.numbers):
            cells = (cell for cell in line.text.split("\t") if len(cell) <= _MAX_TITLE)
            yield from (
                cell for cell in cells if not cell[:1].islower() and (not cell.endswith(".") or cell == line.text)
            )
