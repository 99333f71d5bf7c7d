"""What tells the kinds of documents apart: their titles and the words around them, in the languages of `labels`.

A word stands here only if it is seldom found on documents of another kind.
"""

import re

from ingestion.extract.labels import match_any

# An invoice says so itself: the words for a receipt, a voucher or a credit are a bank's as well.
INVOICE_ITSELF = match_any(
    r"\b(?:tax\s+)?invoice\b|\bcredit\s+(?:note|memo)\b|\b(?:your|utility|phone|electricity|water|gas)\s+bill\b",
    r"\b(?!wertpapierr|verrechn|abrechn|\w*(?:ab|be|ver)rechnung)\w{0,20}rechnung\b(?!\s+(?:in|bei|inland|ausland|usa)\b)",
    r"\b(?:facture|factuur|factura|fattura|fatura|faktura|faktury|rachunek)\b",
)
INVOICE_NUMBER_ITSELF = match_any(
    r"\binvoice\s*(?:numbers?|no\b|nr\b|#)",
    r"\b(?!ab|ver|wertpapierr)rechnungs?-?\s?(?:nummer|nr\b|no\b)",
    r"\bfacture\s*(?:n[°ºo]|num)|\bnum[ée]ro\s+de\s+(?:la\s+)?factur|\bfactuur\s?(?:nummer|nr)|\bfattura\s*n|\bfatura\s*n",
    r"\bfaktur[aey]?\s?(?:nummer|nr\b|n[°ºo]|č|numer|vat)",
)

# A buy or a sale that was carried out, and what is done with the money for it.
CONTRACT_NOTE_TITLE = match_any(
    r"\b(?:contract\s+note|trade\s+confirmation|confirmation\s+of\s+(?:trade|transaction|purchase|sale)|deal\s+confirmation)\b",
    r"\b(?:stock\s+plan\s+)?(?:purchase|sale)\s+confirmation\b|\bbought\s+note\b|\bsold\s+note\b|\btransaction\s+confirmation\b",
    r"\b(?:wertpapier|order|fonds|börsen|effekten|depot|transaktions)-?\s?abrechnung(?:en)?\b|\babrechnungsauskunft\b",
    r"\babrechnung\s+(?:kauf|verkauf|zeichnung|\w{0,20}sparplan)|\b(?:ausführungsanzeige|ausführungsbestätigung)\b",
    r"\bavis\s+d['’](?:op[ée]r[ée]|ex[ée]cution)\b|\bavis\s+de\s+transaction\b",
    r"\bnota\s+(?:informativa|di\s+eseguito)\b|\beseguito\s+(?:ordine|compravendita)\b|\bconferma\s+(?:di\s+esecuzione|d['’]ordine)",
    r"\b(?:nota|confirmaci[óo]n|liquidaci[óo]n)\s+de\s+(?:operaci[óo]n|ejecuci[óo]n|compra|venta|valores)",
    r"\b(?:effecten|transactie|beurs)\s?(?:nota|afrekening|overzicht)\b|\bafrekening\s+(?:aankoop|verkoop|effecten)",
    r"\b(?:nota\s+de\s+(?:negocia[çc][ãa]o|corretagem|execu[çc][ãa]o)|confirma[çc][ãa]o\s+de\s+(?:transa[çc][ãa]o|execu[çc][ãa]o))",
    r"\bfondsafregning\b|\bhandelsnota\b|\bavräkningsnota\b",
)

# What a bank pays out, moves or taxes, and no trade.
INCOME_TITLE = match_any(
    r"\b(?:dividenden?|ertr[äa]gnis|ertrags|zins|kupon|coupon)-?\s?(?:gutschrift|abrechnung|zahlung|mitteilung|ausschüttung|thesaurierung)",
    r"\b(?:vorabpauschale|steuerliquidit\w+|thesaurierung|bar(?:ausgleich|ausschüttung))\b",
    r"\b(?:kapitalertrag|aussch[üu]ttung)\w*\s*(?:gutschrift|abrechnung)?\b(?=\W*$)",
    r"\b(?:dividend|interest|distribution|coupon)\s+(?:payment|advice|statement|notice|confirmation|credit|voucher)\b",
    r"\b(?:avis\s+de\s+coupon|paiement\s+de\s+dividende|encaissement\s+de\s+(?:coupon|dividende)s?)\b",
    r"\b(?:pago|abono|cobro)\s+de\s+dividendos?\b|\b(?:pagamento|accredito|stacco)\s+(?:dividend|cedol)",
    r"\bdividend\s?(?:nota|uitkering|betaling)\b|\bpagamento\s+de\s+dividendos\b|\budbytte-?\s?meddelelse\b",
)
TRANSFER_TITLE = match_any(
    r"\A\W*(?:(?:jahres)?steuerbescheinigung\b(?!\s+folgt)|tax\s+(?:voucher|certificate)\b|certificado\s+fiscal\b|imprim[ée]\s+fiscal)",
    r"\b(?:einladung\s+zur\s+hauptversammlung|(?:annual|extraordinary)\s+general\s+meeting|assembl[ée]e\s+g[ée]n[ée]rale|junta\s+general\s+de\s+accionistas|convocazione\s+(?:di\s+)?assemblea|algemene\s+vergadering|assembleia\s+geral)\b",
    r"\b(?:depot|wertpapier)-?\s?(?:[üu]ber?trag|umbuchung|ein(?:gang|buchung|lieferung)|aus(?:gang|buchung|lieferung))",
    r"\b[üu]e?bertrag\s+(?:eingang|ausgang)\b|\banschaffungsdaten\b|\bverlustverrechnung\b",
    r"\b(?:kapitalma(?:ß|ss)nahme|fusion|spin-?\s?off|aktiensplit|umtausch|stock\s+split|merger)\b(?=\W*$|\s+von\b|\s*:)",
    r"\b(?:securities|asset|stock)\s+transfer\b|\btransfert\s+de\s+titres\b|\btraspaso\s+de\s+valores\b",
)

# What a document speaks of that tells of income, tax or a transfer, whatever its title.
NO_TRADE_WORD = match_any(
    r"\b(?:dividend\w*|ertr[äa]gnis\w*|aussch[üu]ttung\w*|zins(?:en|termin|zahlung|gutschrift)?|kupon\w*|vorabpauschale|thesaurier\w*|(?:ein|aus)lieferung|[üu]bertrag\w*|umbuchung|kapitalma(?:ß|ss)nahme|bezugsrecht\w*|depot(?:geb[üu]hr|entgelt|preis)|\w{0,20}fusion|(?:ein|aus)buchung|ex-tag|umtausch\w*)\b",
    r"\b(?:dividends?|distributions?|interest|coupon|withholding|merger|spin-?off|stock\s+split|rights\s+issue|transfer|custody\s+fee)\b",
    r"\b(?:dividendes?|coupons?|int[ée]r[êe]ts?|distribution|droits\s+de\s+garde|transfert|virement)\b|\b(?:dividendos?|cup[óo]n|intereses|traspaso|custodia)\b",
    r"\b(?:dividend[oi]|cedol[ae]|interessi|trasferimento|giroconto)\b|\b(?:dividend(?:en)?|rente|overdracht|bewaarloon|uitkering)\b",
    r"\b(?:juros|rendimentos?|transfer[êe]ncia)\b|\b(?:udbytte\w*|renter?)\b",
)

STATEMENT_TITLE = match_any(
    r"\b(?:konto|depot|rechnungs)-?\s?(?:auszug|abschluss|abrechnung)\b|\bfinanzreport\b|\bdepot(?:[üu]bersicht|bestand)\b",
    r"\b(?:account|activity|income|portfolio|monthly|quarterly|annual|daily|bank|brokerage|trading)\s+statement\b",
    r"\bstatement\s+of\s+(?:account|holdings|transactions)\b|\bportfolio\s+(?:valuation|summary|overview)\b",
    r"\b(?:verm[öo]gens(?:[üu]bersicht|aufstellung)|posici[óo]n\s+de\s+valores|situazione\s+titoli|portefeuille\s?overzicht|posi[çc][ãa]o\s+de\s+t[íi]tulos)\b",
    r"\brelev[ée]\s+(?:de\s+)?(?:compte|portefeuille|titres|op[ée]rations)\b",
    r"\bextracto\s+(?:de\s+)?(?:cuenta|valores|movimientos)\b|\bestratto\s+conto\b|\brekeningoverzicht\b|\bdagafschrift\b",
    r"\bextrato\s+(?:de\s+)?(?:conta|movimentos)\b|\bkontoudtog\b|\bkontoudskrift\b|\bkontoutdrag\b|\bwyci[ąa]g\s+z\s+(?:konta|rachunku)\b",
)
# What was in an account before and after, and the period between.
BALANCE = match_any(
    r"\b(?:opening|closing|beginning|ending|previous|new|current|starting)\s+(?:account\s+)?(?:balance|value)\b|\bbalance\s+(?:carried|brought)\s+forward\b",
    r"\b(?:alter|neuer|anfangs|end|valutarischer)-?\s?(?:konto)?(?:saldo|stand)\b|\bsaldo\s+(?:alt|neu|per|vortrag|zum)\b|\bkontostand\b",
    r"\b(?:ancien|nouveau)\s+solde\b|\bsolde\s+(?:initial|final|pr[ée]c[ée]dent|au)\b",
    r"\bsaldo\s+(?:anterior|inicial|final|inizi\w+|precedente|actual)\b|\b(?:begin|eind|vorig|nieuw)\s?saldo\b",
    r"\b(?:for\s+the\s+period|statement\s+period|auszug[\s-]*(?:nr|nummer)|kontow[äa]hrung|total\s+portfolio|asset\s+allocation)\b",
    r"\b(?:primo|ultimo)\s?saldo\b|\bsaldo\s+ko[ńn]cowe\b|\b(?:ing|utg)ående\s+saldo\b",
)

# What goes with securities, whichever way they are told apart.
SECURITY_WORD = match_any(
    r"\b(?:isin|wkn|sedol|cusip|valor(?:en)?)\b",
    r"\b(?:wertpapier|depot|aktien?|fonds|anteile?|kurswert|nominale?|börse|stücke?)\w*\b",
    r"\b(?:securit(?:y|ies)|shares?|stocks?|bonds?|funds?|etf|units|equit(?:y|ies)|brokerage|custody)\b",
    r"\b(?:titres?|actions?|parts?|obligations?|portefeuille)\b|\b(?:acciones|valores|t[íi]tulos|participaciones)\b",
    r"\b(?:azioni|titoli|quote|obbligazioni)\b|\b(?:aandelen|effecten|obligaties)\b|\b(?:a[çc][õo]es)\b",
    r"\b(?:værdipapir\w*|fondskode|aktier|depot)\b",
)
SECURITY_DEAL = match_any(
    r"\b(?:kurswert|schlusstag|handelstag|ausführungs(?:tag|kurs|platz)|handelsplatz|börsenplatz\w*|depot-?\s?(?:nummer|nr)|kapitalertragst\w+|wertpapierrechnung|girosammelverwahrung|verwahrart|lagerstelle|limitkurs)\b",
    r"\b(?:trade|settlement|settle|execution)\s+date\b|\b(?:trade|execution)\s+(?:price|time)\b|\bvalue\s+date\b|\bcommission\b|\bconsideration\b",
    r"\b(?:buy|bought|sell|sold|purchased|dividends?|reinvest\w*)\b(?!\s+to\b)",
    r"\b(?:cours|courtage|date\s+de\s+(?:n[ée]gociation|r[èe]glement|ex[ée]cution)|achat|vente)\b",
    r"\b(?:compra|venta|cambio|corretaje|fecha\s+(?:de\s+)?(?:operaci[óo]n|ejecuci[óo]n))\b|\b(?:acquisto|vendita|controvalore|data\s+(?:esecuzione|valuta))\b",
    r"\b(?:aankoop|verkoop|koers|transactiedatum)\b|\b(?:venda|corretagem|cota[çc][ãa]o)\b|\b(?:fondskurs|kursværdi|valørdato|kurtage|valør)\b",
)

DELIVERY_NOTE_TITLE = match_any(
    r"\b(?:delivery\s+note|packing\s+(?:list|slip)|lieferschein|bon\s+de\s+livraison|pakbon|leveringsbon|albar[áa]n|documento\s+di\s+trasporto|guia\s+de\s+remessa|følgeseddel|följesedel|dodac[íi]\s+list)\b"
)
REMINDER_TITLE = match_any(
    r"\b(?:payment\s+reminder|reminder|dunning|final\s+notice|zahlungserinnerung|mahnung|lettre\s+de\s+relance|rappel\s+de\s+paiement|aanmaning|betalingsherinnering|recordatorio\s+de\s+pago|sollecito\s+di\s+pagamento|aviso\s+de\s+pagamento\s+em\s+atraso|rykker|betalningspåminnelse|upom[íi]nka|ponaglenie)\b"
)
# As a headline: an invoice may say `Reminder: …`, and tell what a reminder costs.
_DUNNING = (
    r"(?:(?:payment\s+)?reminder(?!\s+(?:services?|plans?|systems?|apps?|software|subscription|modules?|cards?|mailings?|sms|tools?|campaigns?)\b)|dunning\s+(?:letter|notice)|final\s+(?:notice|demand)|letter\s+before\s+action|overdue\s+notice"
    r"|zahlungserinnerung|mahnung|mahnschreiben|(?:lettre\s+de\s+)?relance|rappel|mise\s+en\s+demeure"
    r"|(?:betalings)?herinnering|aanmaning|sommatie|recordatorio\s+de\s+pago|requerimiento\s+de\s+pago|sollecito|diffida"
    r"|aviso\s+de\s+pagamento\s+em\s+atraso|rykker(?:skrivelse|brev|e)?|inkasso(?:varsel|krav|brev)|(?:betalnings)?påminnelse"
    r"|upom[íi]nka|výzva\s+k\s+(?:úhradě|zaplacení)|ponaglenie|wezwanie\s+do\s+zap[łl]aty)"
)
_HOW_OFTEN = (
    r"(?:\d{1,2}\s?(?:\.|e|er|ère|ème|a|ª|º|st|nd|rd|th)?|first|second|third|final|last|friendly|formal|erste|zweite|dritte|letzte|letztmalige"
    r"|außergerichtliche|freundliche|premi[eè]re?|deuxi[eè]me|derni[eè]re?|primer|segundo|último|primo|secondo|ultimo|formale|eerste|tweede|laatste"
    r"|pierwsze|drugie|ostateczne|przedsądowe|první|druhá|poslední|předžalobní|første|anden|sista|andra)"
)
# As a headline: an invoice may say `Reminder: …`, and tell what a reminder costs.
REMINDER_BEGINNING = re.compile(rf"^\W*(?:{_HOW_OFTEN}\s{{1,3}}){{0,2}}{_DUNNING}\b", re.IGNORECASE)
REMINDER_HEADLINE = re.compile(rf"{REMINDER_BEGINNING.pattern}[^:]{{0,70}}$", re.IGNORECASE)
# What else a title of a reminder says, in words of three letters and more: its day, whose it is and of which invoice.
WORD_OF_REMINDER = re.compile(
    r"(?:vom|von|dated|van|del|dnia|dne|fra|for|pour|für|zum|zur|voor|til|till|our|your|unsere[rn]?|ihre[rn]?|notre|votre|onze|uw"
    r"|customer|kunden?\w{0,8}|klant\w{0,8}|client\w{0,2}|konto\w{0,8}|account|number|nummer|num[eé]ro|número|mahn\w{0,12}|stufe"
    r"|\w{0,12}rechnung\w{0,8}|invoices?|factures?|factuu?r\w{0,8}|facturas?|fatture?|fattura|faturas?|faktu\w{0,12}"
    r"|payments?|paiements?|règlement|pagamento|pago|betaling\w{0,2}|płatności|zapłaty|zahlung\w{0,2}"
    r"|overdue|unpaid|open|offene[rn]?|fällige[rn]?|impayée?s?|insolut[ei]|scadut[ei]|vencid[ao]s?|onbetaalde?|obetalda?|nieopłacon\w{1,3}|neuhrazen\w{1,3})",
    re.IGNORECASE,
)
# What is asked for because an invoice was not paid in time, as a row with its amount.
DELAY_FEE = match_any(
    r"^\W*(?:late\s+(?:payment\s+)?(?:fee|charge|interest)|reminder\s+fee|interest\s+on\s+arrears|mahn(?:gebühr|kosten|spesen)\w{0,2}|verzugszins\w{0,2})\b",
    r"^\W*(?:pénalités?\s+de\s+retard|intérêts?\s+de\s+retard|frais\s+de\s+(?:rappel|relance)|intereses?\s+de\s+demora|interessi\s+di\s+mora)\b",
    r"^\W*(?:aanmaningskosten|incassokosten|wettelijke\s+rente|juros\s+de\s+mora|odsetki|úrok\w?\s+z\s+prodlení|rykkergebyr|påminnelseavgift|dröjsmålsränta)\b",
)
# The subject of a letter.
REMINDER_SUBJECT = re.compile(
    r"^\W*(?:objet|betreff|betr|subject|re|asunto|oggetto|betreft|assunto|dotyczy|věc|vedr|ang)\b\W{1,4}(?:(?!(?:ihre?[rn]?|your|votre|vostr[oa]|vs|su|uw|seu|vossa|deres)\b)\w+\W{1,2}){0,3}?"
    r"(?:(?:payment\s+)?reminder|overdue|unpaid|relance|impay[ée]e?s?|rappel|zahlungserinnerung|mahnung|herinnering|aanmaning|sollecito|insoluto"
    r"|impagad\w|recordatorio|em\s+atraso|ponaglenie|wezwanie|upom[íi]nka|rykker|påminnelse)\b",
    re.IGNORECASE,
)
# How a till says that it was paid, in front of the amount.
PAID_AT_TILL = re.compile(
    r"^\W*(?:(?:debit\s+|credit\s+|bank\s*)?card|cash|visa|master\s?card|maestro|amex|ec-?\s?karte|girocard|kartenzahlung|karte|bar(?:zahlung)?"
    r"|carte(?:\s+bancaire)?|espèces|cb|tarjeta|efectivo|pin|contant|bancomat|contanti|carta|multibanco|numerário|dankort|kort|kontant"
    r"|gotówka|karta|hotově|hotovost|kartou)(?:\s+(?:debit|credit|payment|zahlung))?\W*$",
    re.IGNORECASE,
)
RECEIPT_TITLE = match_any(
    r"\b(?:receipt|kassenbon|kassenbeleg|quittung|reçu|ticket\s+de\s+caisse|kassabon|kwitantie|recibo|scontrino|ricevuta|paragon|kvittering|kvitto|účtenka)\b"
)
