"""Whether a note says of itself that it counts no more: void, busted, withdrawn, rebilled.

Which trade it takes back, and whether it has one of its own, its few words do not tell: so a person sees it.
"""

import re
from collections.abc import Sequence
from itertools import islice

from ingestion.extract.labels import match_any
from ingestion.extract.trades.lines import ReadLine
from ingestion.extract.trades.taken_back_words import OF_OTHERS, may_happen

_HEAD_LINES = 40
_MAX_LINE = 90  # letters
_VOID = match_any(
    r"\b(?:null\s+and\s+)?void(?:ed)?\b|\bbust(?:ed)?\b|\bresci(?:ssion|nded)\b|\btrade\s+break\b|\b(?:note|confirmation|trade|advice)\s+(?:has\s+been\s+|was\s+|is\s+)?(?:withdrawn|recalled|nullified|undone|unwound)\b|\bre-?bill(?:ed|ing)?\b|\bbilling\s+correction\b|\bof\s+no\s+effect\b|\bunwind(?:ing)?\s+of\b|\b(?:bought|sold|booked)\s+in\s+error\b",
    r"\b(?:nichtig|ung[üu]ltig)\b|\br[üu]ck(?:abwicklung|buchung|abrechnung)\b|\bmis-?trade\b|\baufhebung\s+(?:des|der|eines)\b|\b(?:gesch[äa]ft|abrechnung|ausf[üu]hrung)\b.{0,20}\b(?:aufgehoben|widerrufen|zur[üu]ckgezogen|r[üu]ckg[äa]ngig)\b|\b(?:gegen|korrektur|storno)-?buchung\b|\br[üu]ckg[äa]ngig\s+gemacht\b",
    r"\bnul(?:le)?\s+et\s+non\s+avenue?\b|\bextourn\w+|\bcontre-?\s?pass\w+|\brectification\s+(?:du|de|d['’])\b|\b(?:avis|op[ée]ration|bordereau)\b.{0,20}\b(?:sans\s+(?:effet|valeur)|retir[ée]e?|r[ée]voqu[ée]e?)\b|\br[ée]tractation\s+de\b",
    r"\bpriv[oa]\s+di\s+(?:effetto|efficacia|validit[àa])\b|\brevoca(?:ta|to)?\s+(?:(?:dell[ao']|della|del|di)\s?)?(?:nota|conferma|ordine|operazione|eseguito)\b|\bstorno\s+(?:nota|operazione|eseguito)\b|\b(?:nota|operazione)\b.{0,20}\b(?:revocata|ritirata|nulla|inefficace)\b",
    r"\bretrocesi[óo]n\s+de\b|\bsin\s+(?:efecto|validez)\b|\bextorno\b|\breversi[óo]n\s+de\b|\b(?:operaci[óo]n|nota|confirmaci[óo]n)\b.{0,20}\b(?:revocad|retirad|nul|invalidad)[oa]\b",
    r"\b(?:tegen|terug)boek(?:ing|t)\b|\b(?:nota|afrekening|bevestiging|transactie)\b.{0,20}\b(?:ingetrokken|herroepen|ongeldig|teruggedraaid|vervallen)\b|\bherroep(?:en|ing)\s+(?:van\s+)?(?:de\s+)?(?:nota|transactie|afrekening)\b",
    r"\bsem\s+(?:efeito|validade)\b|\brevers[ãa]o\s+d[aeo]\b|\bretrocess[ãa]o\s+d[aeo]\b|\b(?:nota|opera[çc][ãa]o|confirma[çc][ãa]o)\b.{0,20}\b(?:revogad|retirad|nul|invalidad)[oa]\b",
    r"\b(?:notan?|avr[äa]kningen|aff[äa]ren|handlen|handelen)\b.{0,20}\b(?:ogiltig|ugyldig|[åa]terkallad|tilbagekaldt|tilbakekalt|upph[äa]vd|oph[æa]vet)\b|\b(?:niewa[żz]n|wycofan|cofni[ęe]t|neplatn|odvolan)\w{1,2}\b",
)
# Not said of this note: a right, rules, and what is void only where it is forbidden.
_IN_GENERAL = match_any(
    r"\b(?:rights?|rules?|policy|where\s+prohibited|signature|without\s+signature|unless|recht(?:e|s|es)?|\w+recht|regeln?|regelung\w*|unterschrift|droits?|r[èe]gles|signature|derechos?|reglas|firma|diritt[oi]|regole|herroepingsrecht|regels|handtekening|direitos?|regras|assinatura|underskrift)\b"
)


def says_void(lines: Sequence[ReadLine]) -> bool:
    return any(
        _VOID.search(line.text)
        for line in islice(lines, _HEAD_LINES)
        if len(line.text) <= _MAX_LINE
        and not line.source.text.count("%")
        and not may_happen(line.text)
        and not OF_OTHERS.search(line.text)
        and not _IN_GENERAL.search(line.text)
    )


# What the terms of a note say on cancelling it: `Eine Stornierung ist nach Ausführung nicht mehr möglich`.
_TERM = match_any(
    r"\bcancell?ation\s+(?:rights?|period|fees?|charges?|policy|terms)\b|\brights?\s+(?:of|to)\s+cancel\w*|\bcannot\s+be\s+(?:cancell?ed|reversed)\b|\b(?:reversal|cancell?ation)\b.{0,40}\bis\s+(?:not\s+possible|impossible|excluded)\b",
    r"\bstornierung\b.{0,40}\b(?:ist|sind)\b.{0,40}\b(?:nicht\s+(?:mehr\s+)?m[öo]glich|ausgeschlossen)\b|\bkann\s+nicht\s+(?:mehr\s+)?storniert\s+werden\b|\bstorno(?:recht|bedingungen|geb[üu]hren)\b",
    r"\bannulation\b.{0,40}\b(?:est\s+impossible|n['’]est\s+(?:pas|plus)\s+possible)\b|\bne\s+peut\s+(?:pas\s+|plus\s+)?[êe]tre\s+annul[ée]e?\b|\bdroit\s+d['’]annulation\b",
    r"\b(?:anulaci[óo]n|cancelaci[óo]n)\b.{0,40}\bno\s+es\s+posible\b|\bno\s+(?:puede|podr[áa])\s+ser\s+(?:anulad|cancelad)[oa]\b|\bannullamento\b.{0,40}\bnon\s+[èe]\s+(?:pi[ùu]\s+)?possibile\b|\bnon\s+pu[òo]\s+essere\s+annullat[oa]\b",
    r"\bannulering\b.{0,40}\bniet\s+(?:meer\s+)?mogelijk\b|\bkan\s+niet\s+(?:meer\s+)?worden\s+geannuleerd\b|\b(?:anula[çc][ãa]o|cancelamento)\b.{0,40}\bn[ãa]o\s+[ée]\s+poss[íi]vel\b|\bn[ãa]o\s+pode\s+ser\s+(?:anulad|cancelad)[oa]\b",
)
_NUMBER = re.compile(r"\d{3}")


def is_term_of_cancellation(text: str) -> bool:
    """What names a note, by its number or its day, speaks of that note."""
    return _TERM.search(text) is not None and _NUMBER.search(text) is None
