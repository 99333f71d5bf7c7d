"""What contract notes call their fields, in English, German, French, Spanish, Italian, Dutch, Portuguese, Danish,
Swedish, Norwegian, Polish and Czech.

One pattern finds all labels of a line, so that a line is read once. Where two fields may begin at one place, the one
that stands first here is meant: a label that can mean nothing else comes before a shorter one.
"""

import re
from collections.abc import Iterator
from enum import StrEnum


class Label(StrEnum):
    IGNORED = "ignored"  # what a number behind it is, is of no use: a limit, a balance, a tax base
    EXCHANGE_RATE = "exchange_rate"  # between the currency of the price and that of the account
    TRADE_DATE = "trade_date"  # when the trade was made
    SETTLEMENT_DATE = "settlement_date"  # when money and securities change hands
    QUANTITY = "quantity"  # shares, units, or the face value of a bond
    PRICE = "price"  # of one share, or a percentage
    GROSS = "gross"  # quantity times price
    SETTLED = "settled"  # what was paid or received in the end
    TAX = "tax"  # what was kept for a state: called a tax, a duty or a levy
    FEE = "fee"  # what a bank, broker or exchange takes, or a supervisor: called a fee
    DISCOUNT = "discount"  # what a bank takes off its fee
    INTEREST = "interest"  # accrued interest of a bond
    REFERENCE = "reference"  # the number of the order, or of the note
    ACCOUNT_NAME = "account_name"  # whose account it is
    ACCOUNT = "account"  # the number of the account
    ISIN = "isin"  # the international number of the security
    WKN = "wkn"  # a national number of the security
    TICKER = "ticker"  # the symbol of the security
    NAME = "name"  # the name of the security
    DIRECTION = "direction"  # what kind of trade it was


LABELS_OF_NUMBERS = frozenset({Label.QUANTITY, Label.PRICE, Label.GROSS, Label.SETTLED, Label.FEE, Label.TAX})
LABELS_OF_SECURITY = frozenset({Label.ISIN, Label.WKN, Label.TICKER})

_LABELS: tuple[tuple[Label, tuple[str, ...]], ...] = (
    (
        Label.IGNORED,
        (
            r"(?:stop|trailing)?-?\s?limit(?:kurs|preis|\s+price|e)?",
            r"(?:precio|prezzo|pre[çc]o|prix|cours)\s+l[íi]mite(?!\s+(?:ex[ée]cut|ejecut|esegu|execut))|limiet(?:koers|prijs)?",
            r"bemessungs\w*|berechnungs\w*|verrechnungstopf|sparerpausch\w*|freistellung\w*|freibetrag|teilfreistellung",
            r"ver[äa]u(?:ß|ss)erungs\w*|anschaffungs\w*|gewinn|verlust|steuerlicher?|kapitalertrag\b|ertrag\b",
            r"(?:alter|neuer)\s+(?:saldo|bestand)(?:\s+zu\s+ihren\s+(?:gunsten|lasten))?|bestand(?:\s+(?:neu|alt|nach|zugunsten|zulasten))?|balance|saldo|solde|position\s+after",
            r"letzte\s+f[äa]lligkeit|laufzeit|b[öo]rsenplatz\b(?!geb)|year\s+to\s+date|ytd|telefon|telefax|tel\.?|fon|fax|hotline|tlf",
            r"(?:accrued|stück)\s?zinstage|zinssatz|coupon\s+rate|seite|page|side(?=\W{0,3}\d)|pagina|p[áa]gina|blz|bankleitzahl",
            r"hrb|ust-?\s?id\S*|uid|cvr-?\s?nr\.?|registered|vat\s+(?:no|number)",
        ),
    ),
    (
        Label.EXCHANGE_RATE,
        (
            r"(?:change\s+)?(?:eur|usd|chf|gbp|cad|aud|jpy|dkk|sek|nok|pln|czk|huf|hkd|sgd)\s?/\s?(?:eur|usd|chf|gbp|cad|aud|jpy|dkk|sek|nok|pln|czk|huf|hkd|sgd)(?=\W{0,4}\d)",
            r"(?:zum\s+)?kurs\s+von\s+(?:eur|usd|chf|gbp|cad|aud|jpy|dkk|sek|nok|pln|czk|huf|hkd|sgd)\s?(?:/\s?)?(?:eur|usd|chf|gbp|cad|aud|jpy|dkk|sek|nok|pln|czk|huf|hkd|sgd)\b",
            (
                r"umrechnung(?:\s+[^\W\d]{1,20}){0,6}\s+(?:zum\s+kurs(?:\s+von)?|zu)(?=\W{1,3}\d)|convert(?:ed|ion)(?:\s+[^\W\d]{1,20}){0,5}\s+at(?:\s+(?:a\s+rate\s+of|the\s+rate\s+of|a\s+rate))?(?=\W{1,3}\d)"
                r"|conver(?:sion|ti|sión|sione|tido|são)(?:\s+[^\W\d]{1,20}){0,5}\s+(?:au\s+(?:cours|taux)(?:\s+de)?|al\s+(?:cambio|tasso)(?:\s+d[ei])?|ao\s+c[âa]mbio(?:\s+de)?)(?=\W{1,3}\d)"
                r"|(?:omgerekend|omrekening|omregnet)(?:\s+[^\W\d]{1,20}){0,5}\s+(?:tegen\s+(?:een\s+)?(?:wissel)?koers(?:\s+van)?|tegen|til\s+kurs)(?=\W{1,3}\d)"
            ),
            r"devisen(?:kurs|mittelkurs|briefkurs|geldkurs)?\b|dev\.?\s?kurs|umrechnungs?kurs|wechselkurs|(?:ex(?:change)?|fx|conversion)[\s-]*rate",
            r"(?:taux|cours)\s+de\s+(?:change|conversion)|tipo\s+de\s+cambio|(?:tasso|cambio)\s+(?:di\s+)?(?:cambio|valuta|divisa)|wisselkoers|c[âa]mbio|valutakurs",
            r"v[äa]xelkurs|valutakurs(?=\W)|vekslingskurs|kurs\s+(?:walutowy|wymiany|przeliczeniowy)|(?:m[ěe]nov[ýy]|sm[ěe]nn[ýy]|devizov[ýy])\s+kurz|kurz\s+m[ěe]ny",
        ),
    ),
    (
        Label.TRADE_DATE,
        (
            r"(?:sparplan|spar|order|auftrags)?-?ausf[üu]hrung(?:\s+\w{1,20}){0,3}\s+am\b|(?:sparplan|spar|order|auftrags)?-?ausf[üu]hrung(?=\W{0,3}\d|\0)|execution(?=\W{0,3}\d)|ex[ée]cution(?=\W{0,3}\d)|ejecuci[óo]n(?=\W{0,3}\d)|esecuzione(?=\W{0,3}\d)|uitvoering(?:\s+op\b|(?=\W{0,3}\d|\0))|execution\s+on\b|ex[ée]cution\s+le\b|ejecuci[óo]n\s+el\b|esecuzione\s+il\b|execu[çc][ãa]o\s+em\b|execu[çc][ãa]o(?=\W{0,3}\d)|(?:schluss|handels|ausf[üu]hrungs|gesch[äa]fts|abschluss|kauf|verkaufs|preis|transaktions)-?\s?(?:tag|datum)(?:\s*/\s*-?\s?(?:zeit|uhrzeit))?|(?:handels|ausf[üu]hrungs)-?\s?(?:uhr)?zeit(?:punkt)?|preisdatum|zeitpunkt\s+der\s+ausf[üu]hrung|ausgef[üu]hrt\s+am|(?:ausf[üu]hrung|abschluss)\s+(?:am|vom|per)|order-?ausf[üu]hrung\s+datum(?:\s*/\s*(?:uhr)?zeit)?|tag\s+des\s+gesch[äa]fts|datum\s+(?:der\s+ausf[üu]hrung|(?:des\s+)?(?:netto-?)?inventarwert(?:e?s)?)",
            r"(?:trade|execution|deal|transaction|purchase|sale|dealing|order\s+execution|bargain)\s*date(?:\s*/\s*time)?|date\s+of\s+(?:trade|execution|transaction|deal)|executed\s+(?:on|at)|traded\s+on|(?:trade|execution)\s+(?:date\s+and\s+)?time(?:stamp)?|trans(?:action)?\.?\s+date",
            r"date\s+(?:et\s+heure\s+)?(?:d['’]ex[ée]cution|de\s+(?:la\s+)?(?:transaction|n[ée]gociation|l['’]op[ée]ration)|d['’]op[ée]ration)|ex[ée]cut[ée]e?\s+le|date\s+(?:bourse|op[ée]ration)",
            r"fecha\s+(?:de\s+)?(?:la\s+)?(?:operaci[óo]n|ejecuci[óo]n|contrataci[óo]n|negociaci[óo]n|transacci[óo]n)|ejecutad[ao]\s+el",
            r"data\s+(?:(?:di|dell?['’a]?|da|de|do)\s*)?(?:esecuzione|operazione|negoziazione|eseguito|contrattazione|opera[çc][ãa]o|execu[çc][ãa]o|negocia[çc][ãa]o|transa[çc][ãa]o|neg[óo]cio|preg[ãa]o)|eseguito\s+il",
            r"(?:transactie|uitvoerings|handels|beurs)\s?(?:datum|dag)|datum\s+(?:transactie|uitvoering)|uitgevoerd\s+op|handelsdato|handelsdag|afslagsdag",
            r"(?:kauf|verkaufs?|zeichnungs|r[üu]cknahme|order-?ausf[üu]hrungs|b[öo]rsen|bewertungs)-?(?:tag|datum)|(?:contract|dealing|execution|trade)\s+(?:date|day)|date\s+(?:traded|executed|dealt)|dealt\s+on|as\s+of\s+trade\s+date|trad(?:ing|e)\s+time|executed(?=\W{0,3}\d)|date\s*/\s*time|date\s+and\s+time",
            r"date\s+(?:de\s+)?(?:l['’])?(?:achat|vente|souscription|rachat|bourse|ex[ée]cution|cession)|date\s+d['’](?:achat|ordre\s+ex[ée]cut[ée])|ex[ée]cut[ée]\s+(?:le|[àa])|s[ée]ance\s+du|date\s+de\s+(?:la\s+)?(?:vl|valeur\s+liquidative)|n[ée]goci[ée]e?\s+le",
            r"fecha\s+(?:de\s+)?(?:compra|venta|suscripci[óo]n|reembolso)|fecha\s+y\s+hora(?:\s+de\s+(?:la\s+)?(?:ejecuci[óo]n|operaci[óo]n))?|contratad[ao]\s+el|data\s+(?:di\s+)?(?:acquisto|vendita|sottoscrizione|rimborso|contratto)|data\s+(?:e|/)\s*ora(?:\s+(?:di\s+)?(?:esecuzione|operazione))?",
            r"data\s+(?:de\s+|da\s+)?(?:compra|venda|subscri[çc][ãa]o|resgate)|data\s+e\s+hora(?:\s+da\s+\w+)?|executad[ao]\s+em|(?:aankoop|verkoop|uitvoer)\s?datum|datum\s+(?:en\s+tijd(?:stip)?|uitvoering)|verhandeld\s+op|transactiedag",
            r"(?:aff[äa]rs|avsluts|handels|transaktions|transaksjons|handle|slutseddel)(?:dag(?:en)?|datum|dato)\b|utf[öo]rd(?:es|a)?\s+den|udf[øo]rt\s+den|utf[øo]rt\s+den",
            r"data\s+(?:i\s+(?:godzina|czas)\s+)?(?:zawarcia\s+)?(?:transakcji|wykonania(?:\s+zlecenia)?|realizacji(?:\s+zlecenia)?|nabycia|zbycia|sesji)|datum\s+(?:a\s+[čc]as\s+)?(?:obchodu|uzav[řr]en[íi](?:\s+obchodu)?|uskute[čc]n[ěe]n[íi](?:\s+obchodu)?|realizace|transakce|proveden[íi])",
        ),
    ),
    (
        Label.SETTLEMENT_DATE,
        (
            r"(?:settlement|settle|value|contractual\s+settlement|payment)\s*date|settles?\s+on|settlement(?=\W*\d)",
            r"valuta(?:tag|datum)?\b|wert(?:stellung)?\b|kassatag|erf[üu]llungs(?:tag|datum)|zahltag|me[dt]\s+valør|val[øo]rdato|valør\b",
            r"valeur(?=\W{0,3}\d{1,2}[./-]\d{1,2}[./-])|date\s+(?:de\s+)?(?:valeur|r[èe]glement(?:[-/\s]livraison)?|d[ée]nouement)|fecha\s+(?:de\s+)?(?:valor|liquidaci[óo]n)|data\s+(?:di\s+)?(?:valuta|regolamento)|valutadatum|data\s+(?:de\s+)?(?:valor|liquida[çc][ãa]o)",
            r"afwikkel(?:ing)?s?\s?datum|abwicklungs(?:tag|datum)|liefer(?:ungs)?(?:tag|datum)|gutschriftsdatum|belastungsdatum|value\s+day|settlement\s+on|for\s+settlement|date\s+de\s+livraison|fecha\s+de\s+abono|fecha\s+de\s+cargo|data\s+(?:di\s+)?liquidazione|data\s+accredito|data\s+addebito",
            r"(?:likvid|likviditets|avr[äa]knings|valuta|betalnings|afregnings|val[øo]r|oppgj[øo]rs|valuterings)(?:dag(?:en)?|datum|dato)\b",
            r"data\s+(?:rozliczenia|rozrachunku|waluty)(?:\s+transakcji)?|datum\s+(?:vypo[řr][áa]d[áa]n[íi]|[úu]hrady|valuty)(?:\s+obchodu)?|valutov[áa]\s+datum",
        ),
    ),
    (
        Label.ACCOUNT,
        (
            r"(?:(?:brokerage|custody|trading|client|investment|securities)\s+)?account(?:\s*/\s*custody\s+account)?\s*(?:number|no\.?|nr\.?|id|#)|(?:client\s+)?a/c\s*(?:number|no\.?|#)|client\s+(?:number|id|ref(?:erence)?)|portfolio\s+(?:number|no\.?)",
            r"(?:brokerage|custody|trading|client|investment|securities)\s+account(?=\W{1,3}[a-z]{0,4}-?\d)|account(?=\s?:\W{0,3}[a-z]{0,3}-?\d)|(?:wertpapier)?depot(?=\W{1,3}\d{4,12}(?![\w/.-]))",
            r"(?:wertpapier)?depot(?=\W{1,3}(?:[a-z]\s)?(?!\d{1,2}\.\d{1,2}\.)\d[\d .-]{3,30}(?![\w/]))",
            r"(?:krypto|wallet|wertpapier|anlage)-?konto(?=\W{1,3}[a-z]{0,4}-?\d)",
            r"(?:cuenta|conta|compte|conto)\s+(?:de\s+|di\s+|d['’])?(?:valores|participaciones|t[íi]tulos|titoli|titres)(?=\W{1,3}(?:n\W{1,3})?\d)|(?:dossier|deposito|conto)\s+titoli\s+n\.?[°º]?",
            r"(?:conta|cuenta|compte|conto)\s+n\.?\s?[°º]|compte[-\s]titres\s+ordinaire(?:\s+n[°º])?",
            r"(?:wertpapier)?depot-?\s?(?:nummer|nr\.?|konto(?:-?nr\.?)?)|konto-?\s?(?:nummer|nr\.?)|kunden-?\s?(?:nummer|nr\.?)",
            r"(?:num[ée]ro\s+(?:de\s+)?|n[°º]\s*(?:de\s+)?)(?:compte|client|dossier)(?:[-\s]titres)?|compte[-\s]titres(?:\s+n[°º])?",
            r"(?:n[úu]mero\s+(?:de\s+|da\s+)?|n[°º]\s*(?:de\s+|da\s+)?)(?:cuenta|contrato|conta|cliente)|(?:numero\s+(?:di\s+)?|n[°º]\s*)?(?:dossier\s+titoli|conto\s+(?:titoli|n\.?)|deposito\s+titoli)|(?:effecten)?rekening\s?(?:nummer)?|depotnr\.?",
            r"(?:dep[åa]|depot|konto|v[æa]rdipapirkonto|vp-?konto)\s?(?:nummer|nr\.?)|kund(?:e|nummer|nr|enr)?\s?(?:nummer|nr\.?)|(?:numer|nr)\s+(?:rachunku|konta)(?:\s+(?:inwestycyjnego|papier[óo]w\s+warto[śs]ciowych|maklerskiego))?|(?:[čc][íi]slo|[čc]\.)\s+(?:[úu][čc]tu|smlouvy|majetkov[ée]ho\s+[úu][čc]tu)",
        ),
    ),
    (
        Label.REFERENCE,
        (
            r"(?:auftrag|ausf[üu]hrung)(?=\W{1,3}(?=[a-z\d]{0,8}\d)[a-z\d]{2,12}-[a-z\d]{2,12}(?![\w.-]))|(?:unsere|ihre)\s+referenz|contract\s+note(?=\s?:\s?[a-z]{0,3}\d)|contract\s+note\s+no\.?|confirmation\s+no\.?|confirm\s+no\.?",
            r"num[ée]ro\s+(?:de\s+|du\s+|d['’])(?:bordereau|avis|op[ée]r[ée])|n\.?[°º]\s*(?:de\s+(?:la\s+)?|da\s+|do\s+|d['’])?(?:operaci[óo]n|opera[çc][ãa]o|documento|bordereau|nota|avis)",
            r"nota\s?(?:nr\.?|nummer)|ordre\s?(?:nr\.?|nummer)|(?:numer|nr)\s+(?:zlecenia|transakcji|potwierdzenia|umowy)|(?:[čc][íi]slo|[čc]\.)\s+(?:pokynu|obchodu|transakce|objedn[áa]vky)|fondsnota\s?nr\.?|avr[äa]kningsnota\s?(?:nr\.?|nummer)",
            r"(?:auftrags|order|gesch[äa]fts|abrechnungs|transaktions|referenz|beleg|ausf[üu]hrungs|rechnungs)-?\s?(?:nummer|nr\.?|id)|auftrag\s+nr\.?",
            r"(?:handels|auftrags|order|gesch[äa]fts|transaktions|ausf[üu]hrungs)-?referenz|transaktion(?=\W{1,4}\d{5,12}(?:-\d{1,6})?(?:\s|$))",
            r"(?:order|trade|transaction|contract|deal|bargain|confirmation|execution)\s+(?:reference|ref\.?|no\.?|number|id|#)|our\s+ref(?:erence)?|reference(?:\s+(?:no\.?|number))?",
            r"(?:r[ée]f[ée]rence|num[ée]ro)\s*(?:de\s+|d['’])?(?:l['’])?(?:ordre|ordine|orden|ordem|op[ée]ration|operazione|transaction|avis)?|n[°º]\s*(?:d['’]ordre|op[ée]ration|de\s+orden|orden|operaci[óo]n|ordine|operazione|da\s+ordem|ordem|ordre)",
            r"(?:numero|n[úu]mero|referencia|riferimento|refer[êe]ncia)\s*(?:de\s+(?:la\s+)?|da\s+|d['’]|dell['’])?(?:orden|ordem|operaci[óo]n|ordine|operazione|opera[çc][ãa]o)?|(?:order|transactie|nota|referentie)\s?nummer|(?:order|transactie)-?\s?referentie|id\s+(?:(?:d['’]|dell['’]|de\s+(?:la\s+)?|da\s+)?(?:ordre|ordine|orden|ordem))|kenmerk|refnr\.?",
            r"contract\s+note\s+(?:no\.?|number)|(?:nota|avis|aviso)\s+n\.?\s?[°º]|r(?:if|[ée]f)\.\s*(?:de\s+(?:l['’])?|da\s+|d['’]|dell['’])?(?:ordine|operazione|nota|orden|operaci[óo]n|ordem|ordre|op[ée]ration)",
        ),
    ),
    (
        Label.ACCOUNT_NAME,
        (
            r"(?:account|portfolio|registered)\s+(?:name|holder|owner)|client\s+name|(?:depot|konto)inhaber(?:in)?",
            r"titulaire(?:\s+du\s+compte)?|titular(?:\s+(?:de\s+la\s+cuenta|da\s+conta))?|intestatari[oa]|rekeninghouder|kontohaver",
        ),
    ),
    (
        Label.TAX,
        (
            r"[a-zäöüß]{0,30}steuern?\b|kest\s+(?:i|ii|iii)|stempel(?:geb[üu]hr)?|[a-z]{0,20}taks\b|roerende\s+voorheffing|droits?\s+de\s+timbre|csg\b|crds\b|contributions?\s+sociales|irpf\b|retenci[óo]n(?:\s+(?:a\s+cuenta|fiscal|irpf))?|tasa\s+(?:tobin|financiera)|imposta\s+di\s+bollo|bolli\b|bollo\b|capital\s+gains?(?:\s+tax)?|imp(?:osto|\.)\s*(?:do\s+|de\s+)?selo|selo\b|irs\b|consumption\s+tax|ftt|panel\s+(?:on\s+takeovers|levy)",
            r"(?:kapitalertrags?|quellen|abgeltungs?|kirchen|finanztransaktions?|umsatz|stempel|b[öo]rsenumsatz)-?s?t(?:euer|\.)|kapst|kest\b|kist\b|solz\b|solidarit[äa]ts\w*|steuern?\b|eidg\w*\.?\s+(?:umsatz-?)?(?:abgaben?|stempelsteuer|stempel)|umsatzabgaben?|stempelabgaben?",
            r"(?:withholding|stamp|transaction|financial\s+transaction|capital\s+gains|securities|sales)\s+(?:tax|duty)|stamp\s+duty(?:\s+reserve\s+tax)?|sdrt|ptm\s+levy|tax(?:es)?\b|gst\b|vat\b|levy\b|ftt\b|itf\b",
            r"(?:taxe|imp[ôo]t|ttf|tob|pr[ée]l[èe]vement\w*|t\.?v\.?a\.?)\b(?:\s+(?:sur\s+les\s+)?(?:transactions?\s+financi[èe]res?|bourse|sociaux))?|retenci[óo]n|impuesto\w*|i\.?v\.?a\.?\b",
            r"imposta(?:\s+\w+)?|tobin\s+tax|ritenuta|imposto(?:\s+(?:de\s+)?selo)?|beurs(?:taks|belasting)|belasting|reten[çc][ãa]o|udbytteskat|skat\b",
            r"[a-zåäö]{0,20}skatt(?:en)?\b|podatek(?:\s+\w+)?|da[ňn](?=\s)(?:\s+z\s+\w+)?",
        ),
    ),
    (
        Label.SETTLED,
        (
            r"(?:verrechnet|gutgeschrieben|belastet|abgebucht|eingezogen|ausgezahlt|ausbezahlt|[üu]berwiesen|abgerechnet)er\s+betrag|(?:importe|total)\s+(?:cargado|abonado|adeudado|pagado|cobrado|recibido|liquidado)|importo\s+(?:pagato|incassato|ricevuto)|(?:gedebiteerd|gecrediteerd|afgeschreven|bijgeschreven|betaald|uitbetaald|ontvangen|afgerekend)\s+bedrag|somme\s+(?:d[ée]bit[ée]e|cr[ée]dit[ée]e|pr[ée]lev[ée]e|vers[ée]e)|settled\s+amount|ausmachender\s+betrag|abrechnungs?-?\s?betrag|end-?betrag|gesamt-?betrag|gesamt-?summe|netto-?betrag|rechnungs-?betrag|zahlungs?-?betrag|belastungs?-?betrag|gutschrifts?-?betrag|lastschrift-?betrag|zu\s+zahlen\w*|total(?:betrag)?\s+(?:zu\s+(?:ihren|unseren)\s+(?:lasten|gunsten))",
            r"(?:betrag|netto|gegenwert)?\s*zu\s?(?:ihren\s+)?(?:lasten|gunsten)\b(?:\s+(?:konto|des\s+kontos|ihres\s+kontos|iban))?|(?:belastung|gutschrift|verrechnung|buchung)\b",
            r"(?:total|net)\s+(?:settlement|consideration|proceeds|cost|cash|payable|charge|due|price)(?:\s+(?:amount|value))?|(?:settlement|net|final|total)\s+(?:amount|value)(?:\s+(?:due|payable|paid))?|amount\s+(?:due|payable|debited|credited|paid|received)|net\s+(?:money|total)|total\s+(?:debit|credit)(?:ed)?|grand\s+total|to\s+your\s+(?:debit|credit)|(?:charged|debited|credited|booked)\s+amount|amount\s+charged|total\s+you\s+(?:pay|receive)|you\s+(?:pay|receive)",
            r"montant\s+(?:net|total|comptabilis[ée]|d[ée]bit[ée]|cr[ée]dit[ée]|du\s+r[èe]glement|r[ée]gl[ée])(?:\s+(?:au\s+)?(?:d[ée]bit|cr[ée]dit)\w*)?|(?:total|net)\s+(?:net|d[ée]bit|cr[ée]dit|[àa]\s+(?:d[ée]biter|cr[ée]diter|payer))|net\s+au\s+(?:d[ée]bit|cr[ée]dit)|votre\s+compte\s+sera",
            r"(?:importe|total|efectivo)\s+(?:neto|l[íi]quido|total|de\s+la\s+operaci[óo]n|a\s+(?:pagar|cargar|abonar|su\s+(?:cargo|favor)))|neto\s+a\s+(?:pagar|abonar|cargar)|l[íi]quido",
            r"(?:importo|totale?|controvalore)\s+(?:netto|complessivo|finale|operazione|addebit\w+|accredit\w+|da\s+\w+|a\s+(?:vs\.?|vostro|suo)\s+(?:debito|credito))|netto\s+(?:a\s+\w+|ricavo)",
            r"(?:totaal|netto|te\s+(?:betalen|ontvangen))\s*(?:bedrag|te\s+(?:betalen|ontvangen))?\b|(?:afrekenings|eind)bedrag|bedrag\s+ten\s+(?:laste|gunste)",
            r"(?:valor|montante|total)\s+(?:l[íi]quido|total|a\s+(?:pagar|receber|debitar|creditar)|da\s+opera[çc][ãa]o)|i\s+alt\b|til\s+afregning|afregnings?bel[øo]b|nettobel[øo]b|total\b(?=\s*:)",
            r"net\s+[àa]\s+(?:recevoir|d[ée]biter|cr[ée]diter|payer|r[ée]gler)|(?:montant|total|net)\s+(?:[àa]\s+)?(?:d[ée]bit(?:er|[ée])?|cr[ée]dit(?:er|[ée])?)|montant\s+(?:pr[ée]lev[ée]|vers[ée]|imput[ée])|total\s+(?:ttc|g[ée]n[ée]ral)|(?:solde|d[ée]bit|cr[ée]dit)\s+(?:en\s+)?(?:de\s+votre\s+)?(?:votre\s+)?compte",
            r"(?:importe|total|neto)\s+(?:a\s+)?(?:percibir|recibir|ingresar|adeudar|adeudo|abono|cargo|liquidaci[óo]n)|importe\s+de\s+(?:la\s+)?liquidaci[óo]n|total\s+(?:a\s+(?:su|nuestro)\s+(?:cargo|favor)|operaci[óo]n|cargado|abonado)|(?:cargo|abono)\s+en\s+cuenta",
            r"(?:totale?|importo)\s+(?:a\s+)?(?:debito|credito|da\s+(?:pagare|ricevere|addebitare|accreditare)|regolato|liquidato|a\s+regolamento)|netto\s+(?:da\s+\w+|addebitato|accreditato)|(?:addebito|accredito)(?:\s+(?:in|sul)\s+c(?:onto|/c))?",
            r"(?:totaal|bedrag|netto)\s+(?:te\s+(?:uwen|onzen)\s+)?(?:laste|gunste)|te\s+(?:uwen|uw)\s+(?:laste|gunste)|(?:totaal|netto)(?:bedrag)?\s+te\s+(?:betalen|ontvangen|verrekenen)|verrekend\s+bedrag|totaalbedrag|transactiebedrag\s+netto|af\s*te\s*rekenen",
            r"(?:total|montante|valor)\s+(?:a\s+)?(?:d[ée]bito|cr[ée]dito|pago|recebido|a\s+liquidar|da\s+liquida[çc][ãa]o|debitado|creditado)|l[íi]quido\s+a\s+(?:pagar|receber)",
            r"(?:net|total)\s+(?:amount\s+)?(?:due|payable|paid|received|settled|debit|credit)(?:\s+(?:to|from|by)\s+(?:you|us|client))?|(?:total|net)\s+(?:trade|transaction|contract|settlement)\s+(?:amount|value|cost)|amount\s+(?:settled|charged|to\s+(?:pay|be\s+paid|settle))|total\s+(?:consideration\s+)?(?:incl|including|after)\w*(?:\s+\w+){0,2}|total\s+amount|cash\s+(?:amount|movement)|you(?:r)?\s+total",
            r"(?:gesamt|end|schluss|auszahlungs|einzugs|verrechnungs|lastschrift|[üu]berweisungs)-?(?:betrag|summe)|(?:total|betrag|summe)\s+zu\s+(?:ihren|unseren)\s+(?:lasten|gunsten)|zu\s+(?:ihren|unseren)\s+(?:lasten|gunsten)|summe\s+(?:belastung|gutschrift)|lastschrift\b(?=\W{0,40}(?:[a-z]{3}\s*)?\W{0,3}\d)|(?:total|totale|totaal|gesamt|summe|suma|insgesamt)\b(?=\W{0,40}(?:[a-z]{3}\s*)?\W{0,3}\d)",
            r"(?:belopp\s+)?att\s+(?:betala|erh[åa]lla)|(?:total|netto|slut|likvid|utbetalnings|inbetalnings)belopp(?:et)?|bel[øo]b\s+(?:at|til)\s+\w+|at\s+betale|til\s+(?:din\s+)?(?:betaling|udbetaling|utbetaling)|[åa]\s+(?:betale|motta)|(?:netto|total|oppgj[øo]rs|avregnings)bel[øo][bp](?:et)?",
            r"kwota\s+(?:rozliczenia|do\s+(?:zap[łl]aty|wyp[łl]aty)|obci[ąa][żz]enia|uznania|netto|nale[żz]na|ca[łl]kowita)|do\s+(?:zap[łl]aty|wyp[łl]aty)|warto[śs][ćc]\s+(?:rozliczenia|netto)|(?:celkov[áa]\s+)?[čc][áa]stka\s+(?:k\s+(?:[úu]hrad[ěe]|v[ýy]plat[ěe]|p[řr]ips[áa]n[íi])|vypo[řr][áa]d[áa]n[íi])|k\s+(?:[úu]hrad[ěe]|v[ýy]plat[ěe])|celkov[áa]\s+[čc][áa]stka|celkem\b(?=\W{0,40}(?:[a-z]{3}\s*)?\W{0,3}\d)|[čc]ist[áa]\s+[čc][áa]stka",
        ),
    ),
    (
        Label.INTEREST,
        (
            r"st[üu](?:e)?ckzinsen|zinsbetrag|(?:lauf|markt|march)zins(?:en)?|(?:zinsen|zinsertrag)\s+f[üu]r\s+\d{1,3}\s+(?:zins)?tage?|accrued\s+interest|int[ée]r[êe]ts\s+courus|cup[óo]n\s+corrido|(?:rateo|interessi\s+maturati)|opgelopen\s+rente|juros\s+(?:corridos|decorridos)|vedhængende\s+rente",
            r"upplupen\s+r[äa]nta|p[åa]l[øo]pte?\s+renter?|odsetki\s+(?:naros[łl]e|naliczone|skumulowane)|(?:alikv[óo]tn[íi]|nab[ěe]hl[ýy])\s+[úu]rok\w*|auv\b",
        ),
    ),
    (
        Label.DISCOUNT,
        (
            r"[a-zäöüß-]{0,30}(?:verg[üu]nstigung|rabatt|bonifikation|nachlass)\b|(?:client\s+|fee\s+|commission\s+)?(?:discount|rebate)\b|remise\b|ristourne\b",
            r"descuento|bonificaci[óo]n|sconto\b|abbuono|korting\b|desconto|abatimento",
        ),
    ),
    (
        Label.FEE,
        (
            r"(?:b[öo]rsen|b[öo]rsenplatz|handelsplatz)-?(?:abgaben?|taxen?)\b|(?:fremde|eigene|b[öo]rsen|handels|depot|maklercourtage|clearing|abwicklungs|transaktions|order|grund|handelsplatz|dritt|pauschal)?-?(?:provision|spesen|geb(?:ü|ue?)hr(?:en)?|entgelte?|kosten|auslagen|courtage|kommission)\b",
            r"\w{0,30}(?:geb(?:ü|ue?)hr(?:en)?|entgelt|spesen|provision|courtage|kommission|pauschale)\b|ausgabeaufschlag|r[üu]cknahmeabschlag|agio\b",
            r"(?:brokers?\s+)?commissions?|(?:dealing|brokerage|transaction|exchange|clearing|platform|trading|regulatory|execution|service|handling|foreign\s+exchange|fx|stamp|initial|exit|third\s+party|dealer)?\s*(?:fees?|charges?|costs?)\b|brokerage\b|comm\b\.?(?=\s*(?:$|[\t/]))|ecn\b",
            r"frais(?:\s+(?:de\s+)?\w+)?|courtages?\b|commissions?\b|gastos(?:\s+\w+)?|corretaje\w*|comisi[óo]n(?:es)?|c[áa]non\w*|tarifa\w*",
            r"commissioni?\b|spese(?:\s+\w+)?|(?:transactie|makelaars|beurs|order)?kosten\b|provisie|makelaarsloon|comiss(?:[ãa]o|[õo]es)|corretagem|emolumentos|taxa\s+de\s+\w+|custos?\b|kurtage|handelsomkostninger|gebyr\w*",
            r"(?:diverse|sonstige)(?=\W{0,4}(?:[a-z]{3}\s*)?\W{0,3}\d{1,6}[.,]\d\d)",
            r"[a-zäöüß]{0,30}(?:geb[üu]hren?|entgelte?|spesen|provisionen|kosten|courtagen?|pauschale|aufschl[äa]ge?|abschlag|kommissionen|vergoeding(?:en)?|zuschl[äa]ge?)\b|[üu]bernahmeprovision|handling|abwicklung(?=\W{0,40}(?:[a-z]{3}\s*)?\d)|spread\b",
            r"(?:droits?|commissions?|frais|r[ée]tro\w*|honoraires)\s*(?:d['’](?:entr[ée]e|sortie|ordre|ex[ée]cution|intervention|acquisition)|de\s+(?:bourse|garde|place|march[ée]|courtage|dossier|gestion|n[ée]gociation|r[ée]glement|souscription|rachat|transaction|change))?",
            r"(?:derechos|gastos|c[áa]nones|tasas|tarifas?|honorarios|comisi[óo]n(?:es)?)(?:\s+(?:de\s+(?:la\s+)?)?(?:bolsa|mercado|contrataci[óo]n|liquidaci[óo]n|custodia|intermediaci[óo]n|compra|venta|suscripci[óo]n|reembolso|cambio|tramitaci[óo]n|correo|bancari[oa]s?|operaci[óo]n))?\b",
            r"(?:commissioni?|diritti|oneri|spese|costi)(?:\s+(?:di\s+|d['’])?(?:negoziazione|intermediazione|borsa|mercato|esecuzione|sottoscrizione|ingresso|uscita|cambio|fiss[ie]|bancari[ae]|amministrativ[ie]|accessorie|varie))?\b",
            r"(?:comiss(?:[ãa]o|[õo]es)|despesas|encargos|custos|taxas?|emolumentos|portes)(?:\s+(?:de\s+|da\s+)?(?:bolsa|mercado|transa[çc][ãa]o|corretagem|intermedia[çc][ãa]o|custódia|liquida[çc][ãa]o|execu[çc][ãa]o|subscri[çc][ãa]o|resgate|negocia[çc][ãa]o|bancárias?))?\b",
            r"(?:beurs|makelaars|uitvoerings|afwikkelings|instap|uitstap|bank|valuta|aan-?\s?en\s+verkoop)\s?kosten|kosten(?:\s+(?:beurs|broker|derden|transactie))?\b|commissie(?:loon)?|(?:dealing|trading|platform|custody|settlement|clearing|regulatory|exchange|entry|exit|contract|admin(?:istration)?|ticket|market)\s+(?:commission|fee|charge|cost|levy)s?|sec(?:tion\s+31)?\s+fees?|finra\s+\w+|orf\b|taf\b|handling",
            r"[a-zåäöæø]{0,30}(?:avgift(?:er)?|gebyr(?:er)?|kostnad(?:er)?)\b|kurtasje|prowizj[aey](?:\s+\w+)?|op[łl]at[ay](?:\s+\w+)?|koszty?\s+transakcyjn\w+|poplat(?:ek|ky)(?:\s+(?:za\s+)?\w+)?|provize",
        ),
    ),
    (
        Label.GROSS,
        (
            r"(?:stock|security|share|securities)\s+value|gehandelter\s+wert|gegenwert|handels(?:wert|volumen)|order(?:volumen|wert)|transaktions(?:betrag|wert)|anlage(?:betrag|summe)|investitions?(?:betrag|summe)|kauf(?:wert|betrag|preis\s+gesamt)|zwischensumme|(?:trade|transaction|deal|order|investment)\s+(?:value|amount|consideration)|sub-?total|net\s+consideration|value\s+of\s+(?:trade|transaction)|amount\s+invested|proceeds",
            r"montant\s+(?:de\s+(?:l['’]op[ée]ration|la\s+(?:transaction|n[ée]gociation))|n[ée]goci[ée]|investi|de\s+l['’]ordre|de\s+la\s+(?:souscription|vente)|du\s+rachat|des\s+titres)|valeur\s+(?:brute|de\s+la\s+transaction)|sous-?total|contre-?valeur",
            r"(?:importe|valor|efectivo)\s+(?:de\s+(?:la\s+)?)?(?:operaci[óo]n|transacci[óo]n|negociado|compra|venta|t[íi]tulos)|subtotal|(?:controvalore|importo|valore)\s+(?:lordo|titoli|operazione|negoziato|eseguito|investito)|subtotale",
            r"(?:tegenwaarde|brutowaarde|bruto\s+(?:bedrag|waarde)|waarde(?:\s+(?:effecten|transactie))?|transactiebedrag|orderbedrag|subtotaal|inleg)|(?:valor|montante)\s+(?:da\s+(?:opera[çc][ãa]o|transa[çc][ãa]o|compra|venda)|il[íi]quido|negociado|investido|dos\s+t[íi]tulos)",
            r"kurswert|kurs-?\s?wert|brutto(?:-?\s?betrag|-?\s?wert)?\b|markt-?wert|auftragswert|ausf[üu]hrungswert|transaktionswert|warenwert|kursv[æa]rdi|handelsv[æa]rdi",
            r"(?:gross|principal|trade|market)\s+(?:amount|value|consideration|proceeds)|(?:total\s+)?consideration|principal\b|gross\b|extended\s+price|deal\s+value|contract\s+value",
            r"(?:montant|total|produit)\s+brut|brut\b|(?:importe|efectivo|valor)\s+(?:bruto|efectivo)|efectivo\b|contravalor|(?:controvalore|importo)(?:\s+lordo)?\b|lordo\b|(?:bruto\s?(?:bedrag)?|effectenwaarde|koerswaarde|transactiewaarde)|(?:valor|montante)\s+(?:bruto|da\s+transa[çc][ãa]o)|bruto\b",
            r"betrag|amount|montant|importe?|importo|bedrag|montante|bel[øo]b|contributions?",
            r"(?:k[öo]p|s[äa]lj|kurs|aff[äa]rs|brutto|handels)(?:belopp|v[äa]rde)|motv[äa]rde|(?:kurs|handels|transaksjons|brutto)(?:verdi|bel[øo][bp])|kj[øo]pesum|salgssum|warto[śs][ćc](?:\s+(?:transakcji|brutto|zlecenia|papier[óo]w))?|kwota\s+(?:transakcji|brutto)|objem(?:\s+obchodu)?|hodnota\s+(?:obchodu|transakce)|tr[žz]n[íi]\s+hodnota|belopp\b|kwota\b|[čc][áa]stka\b",
        ),
    ),
    (
        Label.PRICE,
        (
            r"(?:netto-?)?inventarwert(?:\s+(?:je|pro)\s+anteil)?|niw\b|nav\b(?:\s+per\s+\w+)?|anteil(?:s|en)?-?(?:wert|preis)|fonds-?preis|st[üu]ckkurs|einzelpreis|bezugspreis|zeichnungspreis|kurs\s*/\s*preis|preis\s*/\s*kurs|(?:price|cost|value)\s+(?:per|/)\s*(?:share|unit|security|stock)|(?:unit|share|offer|bid|fill|filled|executed|deal(?:ing)?|subscription|redemption)\s+price|avg\.?\s*price|average\s+(?:price|rate)",
            r"vni\b|v\.?l\.?\s+unitaire|cours\s+(?:de\s+(?:bourse|n[ée]gociation|la\s+valeur|l['’]action)|net|limite\s+ex[ée]cut[ée])|prix\s+(?:de\s+(?:la\s+part|souscription|rachat|l['’]action|revient)|net|d['’]achat|de\s+vente)|valor\s+liquidativ[oa]|v\.?\s?liquidativo|precio\s+(?:por\s+(?:t[íi]tulo|acci[óo]n|participaci[óo]n)|neto|bruto|de\s+(?:compra|venta|mercado|contrataci[óo]n))|cambio\s+(?:medio|de\s+ejecuci[óo]n)",
            r"valore\s+(?:unitario|quota|della\s+quota|per\s+quota)|prezzo\s+(?:per\s+(?:quota|azione)|netto|lordo|quota)|(?:gemiddelde|uitgevoerde)\s+(?:koers|prijs)|(?:aankoop|verkoop|uitvoerings|beurs)\s?(?:koers|prijs)|intrinsieke\s+waarde|niw\b|pre[çc]o\s+(?:por\s+(?:a[çc][ãa]o|unidade|t[íi]tulo)|de\s+(?:execu[çc][ãa]o|compra|venda|mercado))|valor\s+(?:da\s+(?:up|unidade(?:\s+de\s+participa[çc][ãa]o)?)|unit[áa]rio)",
            r"(?:ausf[üu]hrungs|abrechnungs|handels|durchschnitts|mittel|kauf|verkaufs|r[üu]cknahme|ausgabe|anteils|st[üu]ck|einl[öo]sungs|b[öo]rsen)-?(?:kurs|preis)|preis\s+(?:pro|je)\s+(?:anteil|st[üu]ck|aktie)|einl[öo]sung\s+zu\b|kurs(?!wert|tag)\b|preis\b|fondskurs",
            r"(?:execution|average|avg\.?|unit|trade|deal|dealing|share|purchase|sale|market|nav|net\s+asset\s+value)(?:\s*(?:price|rate|value))?(?:\s+per\s+(?:share|unit))?(?<!\bshare)(?<!\bunit)(?<!\btrade)(?<!\bmarket)(?<!\bpurchase)(?<!\bsale)(?<!\bexecution)(?<!\bdeal)(?<!\bdealing)|price(?:\s+per\s+(?:share|unit))?|rate\b|@",
            r"cours(?:\s+(?:d['’]ex[ée]cution|moyen|unitaire|brut))?|prix(?:\s+(?:unitaire|moyen|d['’]ex[ée]cution|par\s+\w+))?|valeur\s+liquidative|precio(?:\s+(?:medio|unitario|de\s+ejecuci[óo]n|de\s+la\s+operaci[óo]n))?|cotizaci[óo]n|cambio\b",
            r"prezzo(?:\s+(?:medio|unitario|di\s+\w+|eseguito))?|corso\b|(?:uitvoerings)?koers\b|prijs(?:\s+per\s+\w+)?|pre[çc]o(?:\s+(?:m[ée]dio|unit[áa]rio|de\s+\w+))?|cota[çc][ãa]o",
            r"pris(?:\s+per\s+\w+)?\b|snittkurs|gjennomsnittskurs|cena(?:\s+(?:jednostkowa|wykonania|transakcyjna|transakcji|za\s+\w+))?|kurs\s+(?:transakcji|wykonania)|kurz(?:\s+obchodu)?\b|jednotkov[áa]\s+cena",
        ),
    ),
    (
        Label.QUANTITY,
        (
            r"(?:st[üu]ck(?:zahl|e)?|anteils?-?umsatz|nominale?|nennwert|nominalbetrag|anzahl|menge|anteile|umsatz|zugang|abgang|nom\.?\s*/?\s*stk\.?|stk\.?)(?:\s*/\s*(?:nominale?|nennwert|stk\.?|anteile))?\b",
            r"(?:number|no\.?|amount)\s+of\s+(?:shares|units|securities|contracts)|(?:units?|shares|securities)\s+(?:purchased|sold|bought|redeemed|allocated|traded)|quantity(?:\s+(?:executed|filled|traded))?|qty\.?|filled\s+quantity|units?\b|shares\b|face\s+(?:amount|value)",
            r"quantit[ée]s?(?:\s+(?:ex[ée]cut[ée]e|n[ée]goci[ée]e))?|nombre\s+(?:de\s+)?(?:titres|parts|actions)|nb\.?\s+(?:de\s+)?titres|(?:n[úu]mero|n[°º]|cantidad|n\.?)\s*(?:de\s+)?(?:t[íi]tulos|acciones|participaciones|valores)|cantidad|t[íi]tulos\b|participaciones\b",
            r"quantit[àa](?:\s+(?:eseguita|negoziata))?|(?:numero|n\.?)\s+(?:azioni|titoli|quote)|aantal(?:\s+(?:aandelen|effecten|stuks|titels|deelbewijzen|participaties))?|hoeveelheid|stuks\b|nominaal|quantidade|(?:n[úu]mero|n[°º])\s*(?:de\s+)?(?:a[çc][õo]es|t[íi]tulos|unidades)|antal(?:\s+stk\.?)?",
            r"(?:fonds)?anteile?(?:\s*/\s*st[üu]ck)?\b|st[üu]ck(?:e|zahl)?(?:\s*/\s*\w{3,12})?\b|nennbetrag|anz\.|(?:number|no\.|total)\s+(?:of\s+)?(?:shares|units|stocks|bonds)(?:\s+(?:bought|sold|purchased|traded|executed))?|(?:executed|filled|traded|total)\s+(?:quantity|qty|shares|units)|nominal(?:\s+(?:amount|value))?|par\s+(?:amount|value)|(?:shares|units|qty)\s*/\s*\w{3,12}",
            r"(?:nombre|nb\.?|nbre)(?:\s+(?:de\s+|d['’]))?(?:actions|unit[ée]s|titres|parts|obligations)?\b|parts\b|titres\b|unit[ée]s\b|(?:n[úu]m\.?|n[°º]\.?|n\.[°º]|cantidad|total)\s*(?:de\s+)?(?:t[íi]tulos|acciones|participaciones|valores)|acciones\b|nominal\b",
            r"(?:numero|n[°º]\.?|n\.|q\.?t[àa]\.?)\s*(?:di\s+)?(?:azioni|titoli|quote)|azioni\b|quote\b|titoli\b|valore\s+nominale|quantit[àa]\s*/\s*\w+|nominaal\s*(?:bedrag)?|aantal\b|deelbewijzen|stuks\b|(?:n[úu]mero|n[°º]\.?|n\.[°º])\s*(?:de\s+)?(?:a[çc][õo]es|t[íi]tulos|unidades|ups?\b)|(?:qtd\.?|quant\.?)\s*(?:de\s+)?(?:a[çc][õo]es|t[íi]tulos|unidades|ups?\b)?|unidades(?:\s+de\s+participa[çc][ãa]o)?|ups\b|qtd\.?|beteiligungen\b",
            r"antall?\b(?:\s+(?:aktier|aksjer|andelar|andeler|andele))?|liczba(?:\s+(?:papier[óo]w(?:\s+warto[śs]ciowych)?|akcji|jednostek(?:\s+uczestnictwa)?|certyfikat[óo]w|sztuk))?|ilo[śs][ćc](?:\s+(?:papier[óo]w|akcji|sztuk))?|po[čc]et(?:\s+(?:kus[ůu]|ks|akci[íi]|cp|cenn[ýy]ch\s+pap[íi]r[ůu]|pod[íi]lov[ýy]ch\s+list[ůu]))?|mno[žz]stv[íi]|nominellt?\s+bel[øo]pp?",
        ),
    ),
    (Label.ISIN, (r"isin(?:-?\s?(?:code|kode|nr\.?))?|codice\s+isin|c[óo]digo\s+isin|code\s+isin|k[óo]d\s+isin",)),
    (
        Label.WKN,
        (
            r"\(?wkn\)?|sedol|wertpapier-?kenn-?(?:nummer|nr\.?)|wpknr\.?|valor(?:en)?(?:-?\s?(?:nummer|nr\.?))?(?=\W*\d)|fondskode",
        ),
    ),
    (
        Label.TICKER,
        (
            r"ticker(?:\s+symbol)?|symbol|(?:security|stock|share|asx|instrument)\s+code|citicode|s[íi]mbolo|mnemo(?:nique)?",
        ),
    ),
    (
        Label.NAME,
        (
            r"(?:wertpapier|titel|fonds|instrument)-?\s?(?:bezeichnung|name)?\b|bezeichnung\b|gattung(?:sbezeichnung)?|(?:investment|security|fund|instrument|stock|company|asset)\s+(?:name|description|details)|description\b|company(?=\s*:|\0)|security\b|instrument\b|investment\b|stock\b",
            r"(?:libell[ée]|d[ée]signation|nom)\s*(?:de\s+la\s+)?(?:valeur|titre)?|valeur\b|titre\b|valor\b|denominaci[óo]n|titolo\b|t[íi]tulo\b|fondo\b|strumento|descrizione|effect\b|fonds\b|omschrijving|ativo\b|descri[çc][ãa]o|v[æa]rdipapir\b",
            r"v[æäe]rd[ei]pap(?:ir|per)(?:ets\s+namn|s?navn|snamn)?\b|(?:fond|aktie)namn|fondsnavn|nazwa(?:\s+(?:papieru(?:\s+warto[śs]ciowego)?|instrumentu|sp[óo][łl]ki|funduszu|waloru))?\b|instrument\s+finansowy|papier\s+warto[śs]ciowy|walor\b|n[áa]zev(?:\s+(?:cp|cenn[ée]ho\s+pap[íi]ru|instrumentu|titulu|fondu))?\b|cenn[ýy]\s+pap[íi]r\b|investi[čc]n[íi]\s+n[áa]stroj",
        ),
    ),
    (
        Label.DIRECTION,
        (
            r"b[öo]rsen-?(?:transaktion|abrechnung|gesch[äa]ft|auftrag)|gesch[äa]fts-?art|transaktions-?(?:art|typ)|auftrags-?art|order-?\s?(?:art|typ)|transaktion\b|(?:transaction|trade|order|deal)\s+type|buy\s*/\s*sell|b/s|side\b|action\b|transaction\b(?!\s+\w)|event(?:\s+type)?(?=\W{1,3}\w)",
            r"sens\b|(?:type|nature)\s+(?:d['’]|de\s+(?:l['’])?)(?:op[ée]ration|ordre|transaction)|op[ée]ration\b|(?:tipo|clase)\s+(?:de\s+|di\s+)?(?:operaci[óo]n|operazione|opera[çc][ãa]o|orden|ordine|ordem)|operaci[óo]n\b|operazione\b|segno\b|soort\s+(?:transactie|order)|opera[çc][ãa]o\b|natureza\b",
            r"(?:transaktions|transaksjons|aff[äa]rs|handels|ordre?)type?\b|rodzaj\s+(?:transakcji|zlecenia|operacji|oferty)|typ\s+(?:transakcji|zlecenia|obchodu|pokynu|transakce)|druh\s+(?:obchodu|pokynu|transakce)|strona\s+transakcji|sm[ěe]r\s+obchodu",
        ),
    ),
)

LABELS = re.compile(
    rf"(?<!\w)(?:{'|'.join(f'(?P<{label}>{chr(124).join(patterns)})' for label, patterns in _LABELS)})(?!\w)"
)


def find_labels(text: str) -> Iterator[re.Match[str]]:
    """The labels of a line, as matches whose `lastgroup` is a `Label`."""
    # In small letters the engine skips most alternatives by their first letter: that is five times as fast as
    # ignoring case.
    lowered = text.lower().replace("\t", "\0")  # no label goes on in the next cell
    return LABELS.finditer(lowered if len(lowered) == len(text) else text)


# `Type  Buy`, where a language has no other word: the verb alone in its cell, or before what was traded.
_VERB_BEFORE = r"(?:^|(?<=\t)|(?<=:\s))"
_VERB_BEHIND = r"(?=\s*(?:$|\t)|(?-i:\s[A-Z\d]))"
_BUY = (
    r"ausgabe\s+von\s+(?:fonds)?anteilen|sparplan-?ausf[üu]hrung|(?:wertpapier|fonds|aktien|sparplan)?-?(?:kauf|ankauf|zeichnung|(?<!in\s)(?<!mit\s)(?<!unter\s)bezug(?!\s+(?:auf|zu|nehmend)\b)|erwerb|k[äa]ufe)|kaufen(?=\s*$)|gekauft|erworben|gezeichnet|bought|buy|purchased?"
    r"|subscri(?:bed|ption)|achats?|achet[ée]e?s?|souscriptions?|souscrite?s?|compras?|comprad[oa]s?|compr[áa]mos|comprou|suscripci[óo]n|suscrit[oa]s?"
    r"|acquist(?:o|at[oaie])|sottoscri(?:zione|tt[oaie])|aankoop|gekocht|subscri[çc][ãa]o|subscritas?|subscrevemos|aquisi[çc][ãa]o|adquisici[óo]n"
    r"|(?:^|(?<=\t)|(?<=:\s))wiederanlage(?!\s?(?:plan|rabatt|recht|frist|risiko|:))|k[øo]bt?|k[öo]pt?|k[öo]p(?=nota\b)|kj[øo]pt?|teckning|tegning|kupno|kupna|kupiono|zakupu?|nabycie|nabyto|n[áa]kup|nakoupeno|koup[ěe]|koupeno|inschrijving|ingeschreven|acquisitions?|acquired|investissement(?!\s+(?:d['’])?esp[èe]ces)|verwerving|koop|kopen|kochten"
    rf"|{_VERB_BEFORE}(?:acheter|souscrire|comprar|suscribir|acquistare|comprare|sottoscrivere|adquirir|subscrever|k[øo]be|k[öo]pa){_VERB_BEHIND}"
)
_SELL = (
    r"(?:wertpapier|fonds|aktien)?-?(?:verk[aä]ufe?|ver[äa]u(?:ß|ss)erung|r(?:ü|ue?)ck(?:nahme|gabe|kauf)|einl(?:ö|oe?)sung|tilgung)|verk(?=\.)|verkaufen(?=\s*$)|verkauft|ver[äa]u(?:ß|ss)ert"
    r"|zur(?:ü|ue?)ck(?:genommen|gegeben)|sold|sell|sale|redemption|redeemed|ventes?|vendue?s?|rachats?|rachet[ée]e?s?|remboursements?"
    r"|venta|vendid[oa]s?|vendemos|vendeu|reembolsos?|reembolsad[oa]s?|amortizaci[óo]n|vendita|vendut[oaie]|rimbors(?:o|at[oaie])|verkoop"
    r"|reprises?(?=\s+(?:de\s+)?(?:f\.?c\.?p|sicav|opcv?m?|parts)\b)|cessions?|c[ée]d[ée]e?s?|d[ée]sinvestissement|disposal|disposed|enajenaci[óo]n|cessione|aliena[çc][ãa]o"
    r"|verkocht(?:en)?|verkopen|terugkoop|venda|resgates?|resgatad[oa]s?|salg|solgt|s[äa]lj|s[åa]ld?[at]|f[öo]rs[äa]ljning|inl[öo]sen|innl[øo]sning|indl[øo]sning|sprzeda[żz]y?|sprzedano|zbycie|zbyto|umorzenie|prodej|prod[áa]no|odkup"
    rf"|{_VERB_BEFORE}(?:vendre|racheter|vender|reembolsar|vendere|rimborsare|resgatar|s[æa]lge|s[äa]lja){_VERB_BEHIND}"
)
# `OrderCompra`: a capital letter begins a word that a page writes close to the one before it.
DIRECTION = re.compile(rf"(?:\b|(?-i:(?<=[a-zà-ÿ])(?=[A-Z])))(?:(?P<buy>{_BUY})|(?P<sell>{_SELL}))\b", re.IGNORECASE)

WE_CONFIRM = re.compile(
    r"\b(?:we\s+(?:confirm|have|are)|wir\s+(?:haben|best[äa]tigen)|nous\s+(?:avons|confirmons)|hemos|le\s+confirmamos|abbiamo|wij\s+(?:hebben|bevestigen)|confirmamos|vi\s+(?:har|bekr[äæe]fta?r)|potwierdzamy|potvrzujeme)\b",
    re.IGNORECASE,
)

# Which way the money went, where no word says what was done: to the account it goes for what is sold.
PAID = re.compile(
    r"\b(?:zu\s?lasten|zu\s+ihren\s+lasten|belast\w+|lastschrift|d[ée]bit(?:er|[ée]e?)?|(?:net\s+)?[àa]\s+payer|addebit\w+|a\s+(?:vostro\s+)?debito|(?:a\s+)?cargo"
    r"|cargar|adeud\w+|a\s+pagar|da\s+pagare|d[ée]bito|debitar|te\s+betalen|laste|payable|debited|amount\s+due(?!\s+to\s+you)|you\s+pay|hæves|att\s+betala|at\s+betale|å\s+betale|debiteras|dras\s+från|do\s+zapłaty|obciążen\w+|k\s+úhradě)\b",
    re.IGNORECASE,
)
RECEIVED = re.compile(
    r"\b(?:zu\s?gunsten|zu\s+ihren\s+gunsten|gutschrift|gutgeschrieben|cr[ée]dit(?:er|[ée]e?)?|[àa]\s+recevoir|accredit\w+|a\s+(?:vostro\s+)?credito|abon(?:o|ar|ad[oa])"
    r"|percibir|a\s+receber|da\s+ricevere|cr[ée]dito|creditar|te\s+ontvangen|gunste|proceeds|due\s+to\s+you|credited|you\s+receive|inds[æa]ttes|att\s+erhålla|krediteras|sätts\s+in|do\s+wypłaty|uznani\w+|k\s+výplatě)\b",
    re.IGNORECASE,
)
TAX_WORD = re.compile(
    r"steuer|\btax|\btaxe\b|imp[ôo]t|impuesto|imposta|imposto|reten[cç]|ritenuta|belasting|taks\b|stempel|stamp|\bduty|\bselo\b|\blevy|timbre|\bboll[oi]\b|skat\b|abgabe|withh|solidar",
    re.IGNORECASE,
)

# The heading of what is settled of taxes besides a trade.
TAX_SETTLEMENT = re.compile(
    r"\W*(?:steuerliche[rs]?\s+(?:ausgleich\w*|verrechnung\w*|korrektur\w*)(?:\s?rechnung)?|steuer-?(?:ausgleich|verrechnung|optimierung)\w*(?:\s?rechnung)?"
    r"|tax\s+(?:equali[sz]ation|settlement|offset|adjustment|optimi[sz]ation)|r[ée]gularisation\s+fiscale|compensaci[óo]n\s+fiscal|regolarizzazione\s+fiscale|conguaglio\s+fiscale|fiscale\s+verrekening|regulariza[çc][ãa]o\s+fiscal)\W*",
    re.IGNORECASE,
)
# What a line may say before the word that begins a trade: a date, whose, or that it was done.
ANCHOR = re.compile(
    r"^[\W_]*(?:\d{1,2}[./-]\d{1,2}(?:[./-](?:\d{4}|\d{2})?)?\s+){0,2}"
    r"(?:(?:your|ihre?|uw|votre|su|vostr[oa]|vossa|sie\s+haben|you(?:\s+have)?|we(?:\s+have)?|wir\s+haben|vous\s+avez|ha|hai|fund|fonds|wertpapier|security|securities"
    r"|abrechnung|order|auftrag|avis|d['’]op[ée]r[ée]|trade|confirmation|of|stock|plan|employee|nota|de|di|nota\s+informativa|u\s+hebt|online|market|limit|börse)\W+){0,4}"
    rf"(?:(?P<buy>{_BUY})|(?P<sell>{_SELL}))\b",
    re.IGNORECASE,
)

CANCELLATION = re.compile(
    r"\b(?:storno|stornierung|storniert|stornorechnung|cancell?ation|cancell?ed|reversal|reversed|annulation|annul[ée]e?|annullamento"
    r"|annullato|storno\s+di|anulaci[óo]n|anulad[ao]|cancelad[ao]|cancelamento|estorno|annulering|geannuleerd|annulleret"
    r"|makulera(?:d|t|s|de|ring)|annullera(?:d|t|s|de)|annullering|kansellert|kansellering|annullert|anulowan[aey]|anulacja|uniewa[żz]nion[aey]|uniewa[żz]nienie|stornowan[aey]|stornován[aoyíé]?|zru[šs]en[aoyíáéý]?)\b",
    re.IGNORECASE,
)
ENDED = (
    r"abgelehnt|gel[öo]scht|gestrichen|verfallen|storniert|nicht\s+ausgef[üu]hrt|rejected|expired|cancell?ed|not\s+(?:been\s+)?(?:executed|filled)|unfilled"
    r"|annul[ée]e?|rejet[ée]e?|expir[ée]e?|non\s+ex[ée]cut[ée]e?|rechazad[oa]|cancelad[oa]|caducad[oa]|anulad[oa]|no\s+ejecutad[oa]"
    r"|rifiutato|revocato|scaduto|annullato|non\s+eseguito|vervallen|geannuleerd|geweigerd|niet\s+uitgevoerd|rejeitad[oa]|expirad[oa]|n[ãa]o\s+executad[oa]"
)
FAILED_ORDER = re.compile(
    r"\b(?:nicht\s+ausgef[üu]hrt|gel[öo]schte?\s+order|(?:rejected|expired|unfilled|cancell?ed)\s+order|not\s+(?:been\s+)?executed|order\s+cancell?ation"
    r"|(?:order|auftrags?|ordre|orden|ordine|ordem|opdracht|status|statut|estado|stato)(?:\s?status)?\b\W{0,4}"
    rf"(?:(?:has|was|is|wurde|ist|a|est|ha|fue|[èe]|foi|been|[ée]t[ée]|sido|stat[oa]|werd)\s+){{0,3}}(?:{ENDED}))\b",
    re.IGNORECASE,
)
ORDER_ONLY = re.compile(
    r"\b(?:auftragsbest[äa]tigung|orderbest[äa]tigung|order\s+(?:confirmation|acknowledg\w+|received)|(?:auftrag|order)\s+(?:ist\s+)?(?:erhalten|vorgemerkt|erfasst|eingegangen|platziert)"
    r"|vormerkung|confirmaci[óo]n\s+de\s+recepci[óo]n|confirma[çc][ãa]o\s+de\s+rece[pç]\w{2,4}|ontvangstbevestiging|pendiente\s+de\s+ejecuci[óo]n|confirmation\s+de\s+r[ée]ception|orden\s+recibida|conferma\s+(?:di\s+)?ricezione|orderbevestiging"
    r"|order\s+(?:has\s+been\s+|was\s+|is\s+)(?:received|placed|registered|pending)|accus[ée]\s+de\s+r[ée]ception|ordre\s+(?:est\s+|a\s+[ée]t[ée]\s+)?(?:re[çc]u|enregistr[ée]|pris\s+en\s+compte)"
    r"|orden\s+(?:est[áa]\s+|ha\s+sido\s+)?(?:recibida|registrada|pendiente)|ordine\s+(?:[èe]\s+stato\s+)?(?:ricevuto|registrato|inserito)"
    r"|order\s+is\s+(?:ontvangen|geregistreerd|geplaatst)|ordem\s+(?:foi\s+)?(?:recebida|registada|registrada|pendente))\b",
    re.IGNORECASE,
)

# The last day of an order is not that of a trade.
VALID_UNTIL = re.compile(
    r"\b(?:valid\s+(?:until|till|to)|good\s+till|g[üu]ltig\s+bis|valable\s+jusqu['’]au|v[áa]lid[ao]\s+(?:hasta|at[ée]|fino\s+al?)"
    r"|geldig\s+tot)\W{0,4}(?:(?:the|zum|el|al|o|ao|a)\s)?$",
    re.IGNORECASE,
)
QUANTITY_BEFORE = re.compile(
    r"(?:\b(?:st[üu]ck|st|stk|nominale?|anteile|shares|units|qty|titres|parts|n\.?\s*azioni|quote|aantal|antall?|liczba|ilość|počet)\b\.?\s*:?\s*)$",
    re.IGNORECASE,
)
QUANTITY_AFTER = re.compile(
    r"^\s*(?:stk|st[üu]cke?|st\b|shares?\b|units?\b|anteile?\b|aktien\b|parts\b|titres\b|actions\b|t[íi]tulos\b|acciones\b|participaciones\b|azioni\b"
    r"|quote\b|titoli\b|aandelen\b|stuks\b|a[çc][õo]es\b|unidades\b|aktier\b|aksjer\b|andelar\b|andeler\b|andele\b|szt\b|sztuk\b|akcji\b|akcie\b|jednostek\b|ks\b|kus[ůy]\b)",
    re.IGNORECASE,
)
# What stands in front of the quantity and of the price where a line says both.
SAID_QUANTITY = re.compile(rf"\b(?:{_BUY}|{_SELL})(?:\s+(?:of|van|von|de|di|af|av))?\s*[-−–]?\s?$", re.IGNORECASE)
SAID_PRICE = re.compile(r"(?:\s(?:at|aan|tegen|zu|à|a|al|till|til|por)\s*(?:[A-Z]{3}|[€$£])?|@)\s*$", re.IGNORECASE)
PRICE_AFTER = re.compile(
    r"^\s*(?:[A-Z]{3}|[€$£])?\s*(?:p\.\s?st|pro\s+(?:st[üu]ck|anteil)|je\s+(?:st[üu]ck|anteil)|per\s+(?:share|unit)|par\s+(?:titre|part|action)|por\s+(?:t[íi]tulo|acci[óo]n|a[çc][ãa]o)|per\s+(?:azione|quota|aandeel)|each\b)",
    re.IGNORECASE,
)
