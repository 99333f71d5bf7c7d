"""Whether a paper says of its order that nothing was traded: it expired, was refused, or found nobody.

Only what is said to have happened counts: `Orders that are not filled expire` stands in the terms of real notes, and
`The remaining 50 were not filled` below a trade. Notes also say where, or as what, an order was not carried out, and
what became of an earlier one: so a sentence is evidence only where nothing else tells of a trade.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from ingestion.extract.labels import match_any
from ingestion.extract.titles.document_kind import DocumentKind
from ingestion.extract.trades import labels
from ingestion.extract.trades.labels import Label
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.trade import TradeReading

_MAX_LINES = 60
_MAX_LINE = 140  # letters
_NOT_FILLED = match_any(
    r"\b(?:was|were|has|have|could)\s+not\s+(?:be(?:en)?\s+)?(?:filled|executed|carried\s+out|completed|fulfilled)\b|\bno\s+(?:trade|transaction|execution|deal)s?\s+(?:took\s+place|(?:was|were|has\s+been|have\s+been)\s+(?:made|executed|carried\s+out)|(?:has\s+|have\s+)?(?:occurred|resulted))\b"
    r"|\border\s+(?:status\s+)?(?:notice|advice|notification)\W{1,4}(?:expired|rejected|cancell?ed|unfilled)\b|\border\b.{0,40}\b(?:has|have|was|were)\s+(?:expired|lapsed)\b|\b(?:quantity\s+(?:filled|executed)|(?:filled|executed)\s+quantity)\W{1,4}0(?:[.,]0+)?(?![\d.,]*\d)",
    r"\b(?:wurde|konnte|ist)\b.{0,40}\bnicht\s+(?:ausgef[üu]hrt|ausf[üu]hrbar|zustande\s+gekommen)\b|\bkein(?:e)?\s+(?:gesch[äa]ft|ausf[üu]hrung|abschluss|handel|transaktion)\b.{0,25}\b(?:zustande|stattgefunden|erfolgt|get[äa]tigt|abgeschlossen)\b|\b(?:auftrag|order)\b.{0,40}\b(?:ist|wurde)\s+(?:\w+\s+)?(?:verfallen|erloschen|abgelaufen)\b|\b(?:ausgef[üu]hrte\s+(?:menge|st[üu]ckzahl))\W{1,4}0(?:[.,]0+)?(?![\d.,]*\d)",
    r"\bn['’]a\s+(?:pas\s+)?(?:pu\s+[êe]tre\s+|[ée]t[ée]\s+)?(?:pas\s+)?(?:[ée]t[ée]\s+)?ex[ée]cut[ée]|\baucune?\s+(?:transaction|op[ée]ration|ex[ée]cution|n[ée]gociation)\s+n['’](?:a|est)\b|\bordre\b.{0,40}\b(?:est|a)\s+(?:arriv[ée]\s+[àa]\s+[ée]ch[ée]ance|[ée]chu|expir[ée])\b|\bquantit[ée]\s+ex[ée]cut[ée]e\W{1,4}0(?:[.,]0+)?(?![\d.,]*\d)",
    r"\bno\s+(?:ha\s+(?:sido\s+|podido\s+ser\s+)?|se\s+ha\s+|fue\s+)(?:ejecutad[oa]|realizad[oa]|cruzad[oa])\b|\bno\s+se\s+(?:ha\s+realizado|realiz[óo])\s+ninguna\s+operaci[óo]n\b|\borden\b.{0,40}\bha\s+(?:caducado|expirado|vencido)\b|\bn[ãa]o\s+(?:foi|p[ôo]de\s+ser)\s+executad[oa]\b|\bn[ãa]o\s+se\s+realizou\b|\bordem\b.{0,40}\b(?:expirou|caducou)\b",
    r"\bnon\s+(?:[èe]\s+stat[oa]|ha\s+potuto\s+essere)\s+eseguit[oa]\b|\bnessuna\s+(?:operazione|esecuzione)\b.{0,25}\b(?:avvenut|effettuat|eseguit)\w|\bordine\b.{0,40}\b[èe]\s+(?:scadut|decadut)o\b|\b(?:is|kon|werd)\b.{0,40}\bniet\s+(?:worden\s+)?uitgevoerd\b|\bgeen\s+(?:transactie|uitvoering)\b.{0,25}\b(?:plaatsgevonden|uitgevoerd|tot\s+stand)\b|\border\b.{0,40}\bis\s+(?:vervallen|verlopen)\b",
    r"\bhar\s+(?:ikke|inte)\s+(?:blivit\s+|blevet\s+|kunnat\s+)?(?:utf[öo]rts?|genomf[öo]rts?|utf[øo]rt|udf[øo]rt|gennemf[øo]rt)\b|\b(?:blev|ble|er)\s+(?:ikke|inte|ej)\s+(?:blevet\s+)?(?:utf[öo]rd|genomf[öo]rd|udf[øo]rt|gennemf[øo]rt|utf[øo]rt|gjennomf[øo]rt)\b|\bordern?\b.{0,40}\b(?:har\s+f[öo]rfallit|er\s+(?:udl[øo]bet|utl[øo]pt))\b|\b(?:ingen|intet)\s+(?:handel|avslut|aff[äa]r)\b.{0,20}\b(?:skett|fundet|gjennomf[øo]rt|utf[öo]rts)\b",
    r"\bnie\s+(?:zosta[łl][oay]?\s+)?(?:zrealizowan|wykonan)\w{1,2}\b|\bnie\s+dosz[łl]o\s+do\s+transakcji\b|\bzlecenie\b.{0,40}\bwygas[łl]o\b|\bnebyl[oa]?\s+(?:proveden|realizov[áa]n|uskute[čc]n[ěe]n)\w?\b|\bpokyn\b.{0,40}\b(?:vypr[šs]el|zanikl)\b|\bpozb[yý]l\s+platnosti\b",
)
# Of an order that was carried out in part, and of what the terms say of any order.
_REST = match_any(
    r"\b(?:remain\w*|balance|residual|partial\w*|part\s+of|rest(?:lich\w*|menge)?|[üu]brig\w*|teil\w*|reste|restante?s?|solde|partiel\w*|parcial\w*|restant[ei]|residu[oa]|parzial\w*|resterende|gedeeltelijk\w*|[åa]terst[åa]\w*|resterande|delvis|pozosta[łl]\w*|cz[ęe][śs]ciow\w*|zb[ýy]v\w+|[čc][áa]ste[čc]n\w+)\b"
)
_IN_GENERAL = match_any(
    r"\b(?:any|orders\s+(?:that|which|not)|limit\s+orders|falls|wenn|sofern|auftr[äa]ge|orders,?\s+die|ordres|[óo]rdenes|ordini|ordens|zlecenia\s+kt[óo]re|unless|if|should|would|may|might|can|cannot|sollten?|w[üu]rden?|en\s+cas|qualora|indien|hvis|je[śs]li|pokud)\b|^\W*(?:si|se|om|caso)\b"
)

# Behind it: on which venue, or as what, it was not carried out. It was so on another one, or as something else.
_NOT_SO = match_any(
    r"\A(?:\s+(?:werden|worden|being))?\s+(?:on\s+(?:a|an|any|the|our|own)\b|at\s+(?:a|an|any|the)\b|in\s+(?:a|an|any|the)\b|with\s+(?:advice|soft)|through\b|off\b|as\s+(?:agent|principal|a)\b|outside\b)",
    r"\A(?:\s+(?:werden|worden))?\s+(?:an|auf|[üu]ber|als|in|im|f[üu]r)\b|\Ae?s?\s+(?:sur|en|dans|hors|pour)\b|\A\s+(?:en|fuera|por\s+(?:cuenta|conta)|num|numa|em|na?)\b",
    r"\A\s+(?:su|sul|in|fuori|per\s+conto|op|buiten|voor)\b|\A\w?\s+(?:p[åa]|utanf[öo]r|udenfor|utenfor|for|f[öo]r|w|na|poza|mimo)\b",
)
_INSTEAD = match_any(
    r"\b(?:instead|sondern|ersetzt|ersatz|vorherige\w?|remplac\w+|pr[ée]c[ée]dent\w?|sino|bens[ìi]|utan|lecz|n[ýy]br[žz]|replaced|previous|earlier|original|urspr[üu]nglich\w*)\b"
    r"|\bour\s+own\s+account\b|\bsoft\s+commission|\bcontrepartie\b|/\s*filled\b|\b\d[\d.,]{0,20}\s+in\s+total\b|\b0\s+today\b"
)


def says_nothing_filled(texts: Iterable[str]) -> bool:
    return any(
        _says_so(text) and not any(pattern.search(text) for pattern in (_REST, _IN_GENERAL, _INSTEAD))
        for text in islice(texts, _MAX_LINES)
        if len(text) <= _MAX_LINE
    )


def _says_so(text: str) -> bool:
    return any(_NOT_SO.search(text[end:]) is None for end in _list_ends(text))


def _list_ends(text: str) -> Iterator[int]:
    for pattern in (_NOT_FILLED, labels.FAILED_ORDER):
        yield from (match.end() for match in pattern.finditer(text))


def tells_of_filled_order(
    lines: Sequence[ReadLine], kind: DocumentKind | None, readings: Sequence[TradeReading]
) -> bool:
    """Whether a document has what an order that was not carried out can't have: the title of a note, a day of
    settlement, an amount that was settled on a day, or several rows."""
    if kind is DocumentKind.CONTRACT_NOTE:
        return True
    if any(place.label is Label.SETTLEMENT_DATE for line in lines for place in line.labels):
        return True
    trades = [reading.trade for reading in readings if reading.trade.quantity is not None]
    has_amount = any(trade.settled_amount and trade.trade_date is not None for trade in trades)
    return has_amount or len(trades) > 1
