"""Whether a paper comes after the trades that it names, each of which had a note of its own: what they cost in a year,
how well orders were carried out, an answer to a question, a reminder, a mail that quotes a note.

Its rows and fields look as those of a note do. Completed, each trade would be booked once more.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice, takewhile

from ingestion.domain.transcript import TextLine
from ingestion.extract.labels import match_any
from ingestion.extract.titles.document_kind import DocumentKind, has_title
from ingestion.extract.trades import labels
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.no_trade_words import MOVEMENTS
from ingestion.extract.trades.sections import is_table_head

_HEAD_LINES = 40
_MAX_TITLE = 70  # letters
_YEAR = r"(?:19|20)\d\d"
# In a year, or once it is over: costs of one order stand on its note.
_COSTS_OF_YEAR = match_any(
    r"\bex[\s-]?post\b",
    r"\b(?:annual|yearly|year[\s-]end|mifid(?:\s+ii)?|aggregated?)\s+(?:statement\s+of\s+|report\s+on\s+|summary\s+of\s+|disclosure\s+of\s+)?(?:your\s+|the\s+)?(?:costs?|charges|fees)\b|\bcosts?\s+(?:and|&)\s+(?:associated\s+)?(?:charges|fees)\s+(?:\w+\s+)?(?:report|statement|summary|disclosure|overview|for\s+(?:the\s+)?(?:year|period))\b|\b(?:report|statement|summary|disclosure)\s+(?:of|on)\s+(?:your\s+)?(?:annual\s+|yearly\s+|all\s+)?(?:costs?|charges|fees)\b",
    rf"\b(?:j[äa]hrliche?[rsn]?|jahres-?)\s?\w{{0,20}}kosten\w*|\bjahreskosten\w*|\bkosten-?(?:information|ausweis|aufstellung|[üu]bersicht|report|bericht|transparenz\w*|reporting)(?:en)?\s+(?:\w+\s+){{0,3}}{_YEAR}|\bkosten\s+(?:und|&)\s+(?:neben\w*|geb[üu]hren|entgelte)\s+(?:\w+\s+){{0,3}}{_YEAR}|\bkosten(?:report|reporting|bericht|transparenzbericht)\b|\bmifid\b.{{0,20}}\bkosten\w*",
    rf"\b(?:relev[ée]|rapport|r[ée]capitulatif|[ée]tat|information|synth[èe]se|bilan)\s+(?:annuel(?:le)?s?\s+)?(?:des|de(?:\s+(?:vos|nos))?|sur\s+les|de\s+l['’]ensemble\s+des)\s+(?:frais|co[ûu]ts)\b|\b(?:frais|co[ûu]ts)\s+(?:et\s+(?:charges|frais)\s+)?(?:annuels|de\s+l['’]ann[ée]e|(?:pr[ée]lev[ée]s\s+)?(?:en|pour)\s+{_YEAR})\b",
    r"\b(?:informe|informaci[óo]n|resumen|extracto|detalle|estado)\s+(?:anual\s+)?(?:de|sobre)\s+(?:los\s+)?(?:costes|costos|gastos)\b(?!\s+previ)|\b(?:costes|costos|gastos)\s+(?:y\s+\w+\s+)?(?:anuales|del\s+(?:ejercicio|a[ñn]o))\b|\b(?:relat[óo]rio|informa[çc][ãa]o|resumo|extrato)\s+anual\s+(?:de|sobre)\s+(?:os\s+)?(?:custos|encargos)\b|\brelat[óo]rio\s+(?:de|sobre)\s+(?:os\s+)?custos\b",
    rf"\b(?:rendiconto|rendicontazione|riepilogo|informativa|report|prospetto)\s+(?:annuale\s+)?(?:(?:dei|di|sui|su)\s+)?costi\b|\bcosti\s+(?:e\s+oneri\s+)?(?:annuali|dell['’]anno)\b|\b(?:jaarlijkse?|jaar)\s?-?kosten\w*|\bkosten(?:overzicht|rapport|rapportage|opgave)\b|\boverzicht\s+(?:van\s+)?(?:uw\s+|de\s+)?(?:jaarlijkse\s+)?kosten\b|\bkosten\s+(?:en\s+lasten\s+)?(?:over\s+)?{_YEAR}",
    rf"\b(?:[åa]rlig[ea]?|[åa]rs)\s?-?(?:kostnads|omkostnings|kostnad|omkostning|avgifts|gebyr)\w*|\b(?:kostnads|omkostnings)(?:rapport|redovisning|oversigt|oversikt|sammanst[äa]llning|specifikation|opg[øo]relse)\w*|\b(?:kostnader|omkostninger)\s+(?:och\s+avgifter|og\s+gebyrer|og\s+avgifter)\s+(?:\w+\s+)?{_YEAR}",
    r"\broczn[aey]\w{0,2}\s+(?:\w+\s+){0,3}(?:koszt|op[łl]at)\w*|\b(?:raport|zestawienie|informacja)\s+(?:o\s+)?koszt\w*(?!\s+ex\s+ante)|\bro[čc]n[íi]\s+(?:\w+\s+){0,3}(?:n[áa]klad|poplatk)\w*|\b(?:p[řr]ehled|v[ýy]kaz|informace)\s+(?:o\s+)?n[áa]klad\w*",
)
_HOW_ORDERS_WERE_DONE = match_any(
    r"\bbest[\s-]execution(?:\s+(?:report|summary|statement|monitoring|analysis)|-?\s?(?:bericht|report))|\bexecution\s+(?:quality|performance|venues?)\s+(?:report|summary|statement|statistics|analysis)\b|\b(?:report|summary)\s+on\s+(?:best\s+)?execution\b|\btransaction\s+cost\s+analysis\b|\brts\s?2[78]\b|\btop\s+(?:five|5)\s+(?:execution\s+)?venues\b",
    r"\b(?:bericht|report)\s+(?:zur|über\s+die)\s+(?:ausf[üu]hrungsqualit[äa]t|best\w*\s+ausf[üu]hrung)\b|\bausf[üu]hrungsqualit[äa]t\b|\bbestm[öo]gliche\s+ausf[üu]hrung\b.{0,20}\bbericht\b",
    r"\b(?:rapport|compte[\s-]rendu|bilan)\s+(?:annuel\s+)?(?:sur\s+la\s+|de\s+(?:la\s+)?)?(?:meilleure\s+ex[ée]cution|qualit[ée]\s+d['’]ex[ée]cution)\b|\binforme\s+(?:anual\s+)?(?:de|sobre)\s+(?:la\s+)?(?:mejor\s+ejecuci[óo]n|calidad\s+de\s+ejecuci[óo]n)\b|\b(?:rapporto|relazione|report)\s+(?:annuale\s+)?(?:sulla|di|sul)\s+(?:best\s+execution|qualit[àa]\s+(?:di|dell['’])\s?esecuzione|migliore\s+esecuzione)\b",
    r"\brapport(?:age)?\s+(?:over\s+)?(?:de\s+)?(?:best\s+execution|beste\s+(?:order)?uitvoering|kwaliteit\s+van\s+(?:de\s+)?uitvoering)\b|\brelat[óo]rio\s+(?:anual\s+)?(?:de|da|sobre\s+a)\s+(?:melhor\s+execu[çc][ãa]o|qualidade\s+d[ea]\s+execu[çc][ãa]o)\b|\brapport\s+(?:om|över|over)\s+b[äae]sta?\s+(?:m[öo]jliga\s+)?(?:order)?\w{3,12}\b|\braport\b.{0,20}\bjako[śs]ci\s+wykon\w*|\b(?:zpr[áa]va|v[ýy]kaz)\b.{0,20}\bkvalit[ěe]\s+prov[áa]d[ěe]n[íi]\b",
)
# Beside what it answers it is a field of a note: `Ausführungsgrundsatz  Best Execution`.
_BEST_EXECUTION = match_any(r"\bbest[\s-]execution\s*$")
# An answer, or money that is asked for again.
_ABOUT_A_NOTE = match_any(
    r"\b(?:response|reply|answer)\s+to\s+your\b|\b(?:payment\s+)?reminder\b|\b(?:is|are)\s+(?:now\s+)?overdue\b|\boverdue\s+(?:payment|settlement|notice|amount)\b|\b(?:re|regarding)\W{1,3}your\s+(?:query|enquiry|inquiry|question|complaint|letter|e-?mail)\b|\byour\s+(?:query|enquiry|inquiry|complaint)\s+(?:about|of|on|regarding|dated)\b",
    r"\bantwort\s+auf\b|\b(?:zahlungs)?erinnerung\b|\bmahnung\b|\b(?:auf|zu|betr\w*)\W{1,3}ihrer?\w?\s+(?:anfrage|r[üu]ckfrage|nachfrage|frage|beschwerde|reklamation|(?:schreiben|e-?mail|brief)s?)\b|\bihre\s+(?:anfrage|r[üu]ckfrage|beschwerde|reklamation)\s+(?:vom|zu[rm]?)\b|\bstellungnahme\s+zu\b",
    r"\br[ée]ponse\s+[àa]\s+(?:votre|vos)\b|\brelance\b|\brappel\s+(?:de\s+)?(?:paiement|r[èe]glement|[ée]ch[ée]ance)\b|\bvotre\s+(?:r[ée]clamation|question|courrier|courriel)\s+(?:du|concernant|relative?)\b|\brespuesta\s+a\s+su\b|\brecordatorio\b|\bsu\s+(?:consulta|reclamaci[óo]n)\s+(?:de|del|sobre)\b|\bresposta\s+(?:ao|[àa])\s+(?:seu|sua|vosso|vossa)\b|\blembrete\b",
    r"\brisposta\s+all[ao]\s+(?:su[ao]|vostr[ao])\b|\bsollecito\b|\b(?:sua|vostra)\s+(?:richiesta|domanda)\s+di\s+(?:informazioni|chiarimenti)\b|\bantwoord\s+op\s+uw\b|\b(?:betalings)?herinnering\b|\baanmaning\b|\buw\s+(?:vraag|klacht|brief|e-?mail)\s+(?:van|over|inzake)\b",
    r"\bsvar\s+p[åa]\s+(?:din|ditt|er|dit|deres|ert)\b|\b(?:betalings)?p[åa]minn?else\b|\bp[åa]mindelse\b|\brykker(?:skrivelse)?\b|\bodpowied[źz]\s+na\b|\bprzypomnienie\b|\bponaglenie\b|\bodpov[ěe][ďd]\s+na\b|\bupom[íi]nka\b",
)
# What a mail puts above the one that it answers or sends on.
_QUOTES_MAIL = match_any(
    r"^\W*(?:subject|betreff|objet|asunto|oggetto|onderwerp|assunto|[äa]mne|emne|temat|p[řr]edm[ěe]t)\W{1,4}(?:(?:re|aw|fw|fwd|wg|tr|rv|r|i|sv|vs|vb|antw|odp|enc|res)\s?:)",
    r"^\W*(?:-{2,}|_{2,})?\s?(?:original\s+message|forwarded\s+message|urspr[üu]ngliche\s+nachricht|weitergeleitete\s+nachricht|message\s+(?:d['’]origine|transf[ée]r[ée])|mensaje\s+(?:original|reenviado)|messaggio\s+(?:originale|inoltrato)|oorspronkelijk\s+bericht|doorgestuurd\s+bericht|mensagem\s+(?:original|encaminhada)|ursprungligt\s+meddelande|oprindelig\s+(?:meddelelse|besked)|oryginalna\s+wiadomo[śs][ćc]|p[ůu]vodn[íi]\s+zpr[áa]va)\b",
    r"\b(?:wrote|schrieb(?:\s+\S{1,40}){0,6}|a\s+[ée]crit|escribi[óo]|ha\s+scritto|schreef(?:\s+\S{1,40}){0,6}|escreveu|skrev(?:\s+\S{1,40}){0,6}|napisa[łl]\(?a?\)?|napsal\(?a?\)?)\s?:\s*$",
)


_QUOTED = re.compile(r"\s?>\s?\S")
_SEVERAL = 3  # quoted lines


def is_report_on_trades(page: Sequence[TextLine], lines: Sequence[ReadLine]) -> bool:
    """Whether the title says what trades cost or how well they were made, and nothing that this is a note as well."""
    if not _begins_with_report(page, lines):
        return False
    names_settlement = any(place.label is Label.SETTLEMENT_DATE for line in lines for place in line.labels)
    is_note = names_settlement or any(labels.WE_CONFIRM.search(line.text) for line in lines)
    return not is_note and not has_title(page, DocumentKind.CONTRACT_NOTE)


def may_come_after_note(page: Sequence[TextLine], lines: Sequence[ReadLine]) -> bool:
    """Whether a note of its own came before, perhaps."""
    is_about_note = any(_ABOUT_A_NOTE.search(title) for title in _list_titles(lines))
    return is_about_note or _quotes_mail(lines) or _begins_with_report(page, lines)


def may_be_report_of_costs(page: Sequence[TextLine], lines: Sequence[ReadLine]) -> bool:
    """Whether a title of a list speaks of costs, or of a review, and none above its table says what it lists."""
    titles = list(_list_titles_above_table(page, lines))
    return any(map(_OF_COSTS.search, titles)) and not any(map(MOVEMENTS.search, titles))


def _list_titles_above_table(page: Sequence[TextLine], lines: Sequence[ReadLine]) -> Iterator[str]:
    """None where one of them is the title of a note or of a statement."""
    head = list(takewhile(lambda line: not _is_head_of_columns(line), islice(lines, _HEAD_LINES)))
    kinds = (DocumentKind.CONTRACT_NOTE, DocumentKind.ACTIVITY_STATEMENT)
    if not any(has_title(page[: len(head)], kind) for kind in kinds):
        yield from _list_titles(head)


def _is_head_of_columns(line: ReadLine) -> bool:
    return len(line.source.cells) > 1 and is_table_head(line)


_OF_COSTS = match_any(
    r"\b(?:costs?|charges|fees)\b|kosten|geb[üu]hren|\b(?:frais|co[ûu]ts?)\b|\b(?:costes?|costos?|gastos)\b|\b(?:costi|oneri|spese)\b|\b(?:custos|encargos)\b|kostnad|omkostning|gebyr|avgift|\bkoszt|\bop[łl]at|\bn[áa]klad|\bpoplat|\bmifi[dr]\b|\breview\b|\bsuitability\b"
    r"|\b(?:execution|ausf[üu]hrungs)-?\s?(?:quality|qualit[äa]t)\b|\btca\b|\bbest[\s-]execution\b"
)


def _begins_with_report(page: Sequence[TextLine], lines: Sequence[ReadLine]) -> bool:
    """Whether the title of a report is the first one. What a trade cost stands on its note too, below what that is
    called, and on statements below their rows."""
    for line in islice(lines, _HEAD_LINES):
        if any(map(_is_of_report, _list_titles([line]))) or _names_best_execution(line):
            return True
        titles = page[line.index - lines[0].index :][:1]
        is_titled = any(
            has_title(titles, kind) for kind in (DocumentKind.CONTRACT_NOTE, DocumentKind.ACTIVITY_STATEMENT)
        )
        if is_titled or (line.dates and len(line.numbers) > 1) or any(map(MOVEMENTS.search, _list_titles([line]))):
            return False
    return False


def _is_of_report(title: str) -> bool:
    return any(pattern.search(title) for pattern in (_COSTS_OF_YEAR, _HOW_ORDERS_WERE_DONE))


def _names_best_execution(line: ReadLine) -> bool:
    return len(line.source.cells) == 1 and any(map(_BEST_EXECUTION.search, _list_titles([line])))


def _quotes_mail(lines: Sequence[ReadLine]) -> bool:
    head = [line.text for line in islice(lines, _HEAD_LINES)]
    return any(map(_QUOTES_MAIL.search, head)) or sum(_QUOTED.match(text) is not None for text in head) >= _SEVERAL


def _list_titles(lines: Sequence[ReadLine]) -> Iterator[str]:
    """Short cells of the first lines that are no sentence and no amount with its label."""
    for line in islice(lines, _HEAD_LINES):
        if not any(own.is_money for own in line.numbers):
            cells = (cell for cell in line.text.split("\t") if len(cell) <= _MAX_TITLE)
            yield from (cell for cell in cells if not cell[:1].islower() and not cell.rstrip().endswith("."))
