"""What the sections of a statement are called in seven languages: of trades, and of what was no trade."""

import re

from ingestion.extract.trades.numbers import CURRENCIES

_WHOSE = (
    r"(?:your|cash|other|ihre|vos|sus|sue|suoi|uw|seus|suas|les|los|las|le|gli|i|os|as|de|die|securities|wertpapier)\s"
)
_JOINED = r"(?:\s?[,/&+]\s?|\s(?:and|und|et|y|e|en|ed|i)\s)"
_WHICH = (
    r"received|paid|credited|debited|executed|settled|summary|overview|details?|history|list|report|erhalten|gezahlt|ausgef[üu]hrt|[üu]bersicht|per[çc]us|re[çc]us|ex[ée]cut[ée]e?s|cobrados|ejecutad[oa]s|ricevuti"
    r"|eseguit[ei]|ontvangen|uitgevoerd|overzicht|recebidos|executad[oa]s|(?:this|diesen?|diesem|cette|este|questo|deze)\s\w{3,10}"
    r"|(?:for|in|of|during|f[üu]r|im|de|del|della?|du|sur|van|over|no|do|da|nel|en)\s(?:the\s|this\s|dem\s|den\s|diesem\s|la\s|le\s|el\s|het\s|de\s|il\s)?"
    r"(?:period|month|quarter|year|zeitraum|monat|quartal|jahr|berichts\w{4,10}|p[ée]riode|mois|trimestre|ann[ée]e|per[íi]odo|mes|m[êe]s|a[ñn]o|ano|periodo|mese|anno|periode|maand|kwartaal|jaar)"
)


def _match_heading(*names: str) -> re.Pattern[str]:
    """A line that has these names alone, with words that say whose, of what, of when or in which currency."""
    name = rf"(?:{'|'.join(names)})"
    return re.compile(
        rf"[\W\d_]{{0,6}}(?:{_WHOSE})?{name}(?:{_JOINED}{name}){{0,3}}"
        rf"(?:\s(?:{_WHICH})){{0,2}}(?:\s(?:in|en)\s[A-Z]{{3}}|\s?\([^)]{{1,20}}\)|\s[A-Z]{{3}})?[\W\d_]{{0,12}}",
        re.IGNORECASE,
    )


_INCOME_AND_COSTS = (
    r"dividends?(?:\sand\sinterest)?|distributions?|interest|income|coupons?|fees?|charges|commissions\spaid|withholding\stax(?:es)?|taxes|deposits?|withdrawals?|transfers?(?:\s(?:in|out))?|corporate\sactions|open\spositions|positions|holdings",
    r"dividenden?(?:zahlungen|gutschriften)?|aussch[üu]ttungen|ertr[äa]ge|ertr[äa]gnisse|zinsen|zinsgutschriften|kupons?|geb[üu]hren|entgelte|kosten|steuern|quellensteuern?|einzahlungen|auszahlungen|ein-\sund\sauszahlungen|(?:depot)?[üu]bertr[äa]ge|kapitalma(?:ß|ss)nahmen|best[äa]nde|depotbestand|offene\spositionen",
    r"dividendes|distributions|int[ée]r[êe]ts|revenus|coupons|frais|imp[ôo]ts|versements|retraits|virements|transferts|op[ée]rations\ssur\stitres|positions(?:\souvertes)?|avoirs",
    r"dividendos|repartos|intereses|rendimientos|cupones|gastos|comisiones|impuestos|ingresos|retiradas|traspasos|transferencias|operaciones\ssocietarias|posiciones(?:\sabiertas)?",
    r"dividendi|distribuzioni|interessi|proventi|cedole|spese|commissioni|imposte|versamenti|prelievi|bonifici|trasferimenti|operazioni\ssocietarie|posizioni(?:\saperte)?",
    r"dividenden|uitkeringen|rente|inkomsten|kosten|belastingen|stortingen|opnames|overboekingen|corporate\sactions|(?:open\s)?posities",
    r"dividendos|distribui[çc][õo]es|juros|rendimentos|proventos|comiss[õo]es|impostos|dep[óo]sitos|levantamentos|transfer[êe]ncias|eventos\s(?:societ[áa]rios|corporativos)|posi[çc][õo]es(?:\sabertas)?",
)
WITHOUT_TRADES = _match_heading(*_INCOME_AND_COSTS)
# Of a heading that is more than these: what stands below may be anything.
NAMES_INCOME = re.compile(rf"\b(?:{'|'.join(_INCOME_AND_COSTS)})\b", re.IGNORECASE)
_OPEN = r"open|pending|working|outstanding|resting|cancell?ed|expired|rejected|unexecuted|unfilled|not\sexecuted"
_OFFEN = r"offene|laufende|vorgemerkte|gestrichene|gel[öo]schte|stornierte|abgelehnte|verfallene|nicht\sausgef[üu]hrte"
ORDERS = _match_heading(
    rf"(?:{_OPEN})(?:\s(?:and|or)\s(?:{_OPEN}))?\s(?:orders?|instructions)|orders?\s(?:{_OPEN})|order\sbook",
    rf"(?:{_OFFEN})(?:\sund\s(?:{_OFFEN}))?\s(?:orders?|auftr[äa]ge)|orderbuch|auftragsbuch",
    r"ordres\s(?:en\scours|en\sattente|annul[ée]s|non\sex[ée]cut[ée]s|expir[ée]s|rejet[ée]s)|carnet\sd['’]ordres",
    r"[óo]rdenes\s(?:abiertas|pendientes|cancelad[oa]s|anulad[oa]s|no\sejecutadas|caducadas|rechazadas|en\svigor|vivas)",
    r"ordini\s(?:aperti|in\scorso|in\sessere|pendenti|annullati|revocati|non\seseguiti|scaduti|rifiutati)",
    r"(?:open(?:staande)?|lopende|geannuleerde|vervallen|niet\suitgevoerde|geweigerde)\sorders",
    r"ordens\s(?:abertas|pendentes|canceladas|anuladas|n[ãa]o\sexecutadas|expiradas|rejeitadas|em\svigor)",
)
TAKEN_BACK = _match_heading(
    r"(?:cancell?ed|reversed|busted|corrected)\s(?:trades|transactions|executions)|(?:trade\s)?(?:cancell?ations|reversals|corrections)(?:\sof\strades)?",
    r"(?:stornierte|korrigierte|berichtigte)\s(?:gesch[äa]fte|transaktionen|ums[äa]tze|ausf[üu]hrungen|k[äa]ufe|verk[äa]ufe)|stornos|stornierungen|korrekturen",
    r"(?:op[ée]rations|transactions|n[ée]gociations)\s(?:annul[ée]es|extourn[ée]es|corrig[ée]es)|annulations|extournes|(?:operaciones|transacciones)\s(?:anuladas|canceladas|corregidas)|anulaciones",
    r"(?:operazioni|transazioni)\s(?:annullate|stornate|corrette)|annullamenti|storni|(?:geannuleerde|teruggedraaide|gecorrigeerde)\s(?:transacties|mutaties)|annuleringen",
    r"(?:opera[çc][õo]es|transa[çc][õo]es)\s(?:anuladas|canceladas|estornadas|corrigidas)|estornos|anula[çc][õo]es",
)
_BOUGHT = (
    r"(?:(?:securities|stock|share|fund)\s)?(?:purchases?|buys)(?:\sof\s(?:securities|shares|funds|stocks))?"
    r"|bought|(?:wertpapier|fonds|aktien)?k[äa]ufe|zeichnungen|achats(?:\sde\stitres)?|souscriptions"
    r"|compras(?:\sde\s(?:valores|t[íi]tulos))?|suscripciones|acquisti(?:\sdi\stitoli)?|sottoscrizioni"
    r"|aankopen|inschrijvingen|subscri[çc][õo]es"
)
_SOLD = (
    r"(?:(?:securities|stock|share|fund)\s)?(?:sales|sells|redemptions)(?:\sof\s(?:securities|shares|funds|stocks))?"
    r"|sold|(?:wertpapier|fonds|aktien)?verk[äa]ufe|r[üu]ckgaben|r[üu]cknahmen|ventes(?:\sde\stitres)?"
    r"|rachats|ventas(?:\sde\svalores)?|reembolsos|vendite(?:\sdi\stitoli)?|rimborsi|verkopen"
    r"|vendas(?:\sde\st[íi]tulos)?|resgates"
)
PURCHASES, SALES = _match_heading(_BOUGHT), _match_heading(_SOLD)
WITH_TRADES = _match_heading(
    _BOUGHT,
    _SOLD,
    r"trades?|transactions?|trading\sactivity|activity|executions|executed\sorders|orders",
    r"trades|transaktionen|ums[äa]tze|(?:wertpapier)?ums[äa]tze|(?:wertpapier)?gesch[äa]fte|ausf[üu]hrungen|ausgef[üu]hrte\s(?:orders|auftr[äa]ge)|orders?",
    r"transactions|op[ée]rations|ordres\sex[ée]cut[ée]s|n[ée]gociations|mouvements",
    r"transacciones|operaciones|[óo]rdenes\sejecutadas|movimientos|operazioni|movimenti|ordini\seseguiti",
    r"transacties|orders|uitgevoerde\sorders|mutaties|transa[çc][õo]es|opera[çc][õo]es|movimentos|neg[óo]cios|ordens\sexecutadas",
)
# Of a heading below a section without trades that is more than these: its rows are no part of that section.
NAMES_TRADES = re.compile(
    rf"\b(?:{_BOUGHT}|{_SOLD}|trades|transactions|executions|executed|completed|savings?\splans?|transaktionen|gesch[äa]fte|ausf[üu]hrungen|ausgef[üu]hrte|(?:fonds)?spar(?:plan|pl[äa]ne)\w{{0,14}}"
    r"|n[ée]gociations|ex[ée]cut[ée]e?s|transacciones|operaciones|ejecutad[oa]s|operazioni|eseguit[ei]|transacties|uitgevoerde?|transa[çc][õo]es|opera[çc][õo]es|neg[óo]cios|executad[oa]s)\b",
    re.IGNORECASE,
)
# Said of such a heading: not all of its rows were done.
NOT_DONE = re.compile(
    rf"\b(?:{_OPEN}|{_OFFEN}|en\s(?:cours|attente)|non\s(?:ex[ée]cut[ée]e?s|eseguit[ei])|pendientes|abiertas|no\sejecutadas|in\scorso|pendenti|openstaande|lopende|niet\suitgevoerde|pendentes|abertas|n[ãa]o\sexecutadas)\b",
    re.IGNORECASE,
)
# Parts of a section, of whichever kind that is.
KINDS_OF_SECURITIES = _match_heading(
    r"stocks?|equit(?:y|ies)|shares|bonds|fixed\sincome|(?:mutual\s|investment\s)?funds|etfs?|etcs?|options|futures|warrants|certificates|structured\sproducts|derivatives|cfds?|crypto(?:currenc(?:y|ies))?|forex|fx|commodities|equity\sand\sindex\soptions",
    r"aktien|anleihen|renten(?:papiere)?|(?:investment)?fonds|zertifikate|optionsscheine|optionen|derivate|devisen|kryptow[äa]hrungen|edelmetalle",
    r"actions|obligations|fonds|opcvm|sicav|certificats|trackers|produits\sd[ée]riv[ée]s|devises",
    r"acciones|bonos|obligaciones|fondos(?:\sde\sinversi[óo]n)?|renta\s(?:fija|variable)|derivados|divisas",
    r"azioni|obbligazioni|titoli\sdi\sstato|fondi(?:\scomuni)?|certificati|derivati|valute",
    r"aandelen|obligaties|(?:beleggings)?fondsen|opties|turbo['’]?s|valuta",
    r"a[çc][õo]es|obriga[çc][õo]es|fundos(?:\sde\sinvestimento)?|op[çc][õo]es|derivados|moedas",
)
CURRENCY = re.compile(r"\W{0,3}[A-Z]{3}\W{0,3}")
_CODE = re.compile(r"(?<![^\W_])[A-Z]{3}(?![^\W_])")


def find_currency(heading: str) -> str | None:
    """What a heading names at its end as the currency of its rows: `USD`, `Stocks USD`, `Trades in USD`."""
    if not any(pattern.fullmatch(heading) for pattern in (CURRENCY, KINDS_OF_SECURITIES, WITH_TRADES)):
        return None
    return next((code for code in reversed(_CODE.findall(heading)) if code in CURRENCIES), None)
