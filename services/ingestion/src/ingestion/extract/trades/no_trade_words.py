"""What banks call papers in which nothing was traded, in seven languages: income, interest, deposits, accounts, taxes,
corporate actions, transfers, fees and valuations.

The names of securities hold some of these words as well (`Select Dividend ETF`, `Income Fund`): none stands here
without another one that makes it a paper.
"""

import re

from ingestion.extract.labels import match_any


def _match_title(*patterns: str) -> re.Pattern[str]:
    """At the beginning of a cell, or after a few words: `Your …`, `Notice of …`."""
    return re.compile(
        rf"\A\W{{0,4}}(?:\S{{1,24}}\s{{1,3}}){{0,4}}?(?<!\w)(?:{'|'.join(patterns)})(?!\w)", re.IGNORECASE
    )


_INCOME = (
    r"(?:bar|schluss|zwischen)?dividenden?-?\s?(?:gutschrift|abrechnung|zahlung|mitteilung|anzeige|aussch[üu]ttung|avis)|dividende(?=\W*(?:vom\s|f[üu]r\s|unsere?\s|ref|\d|\Z))",
    r"(?:ertrags?|ertr[äa]gnis|ertr[äa]ge)-?\s?(?:gutschrift|abrechnung|anzeige|aussch[üu]ttung|mitteilung|zahlung)|(?:fonds|ertrags?)?-?aussch[üu]ttungs?-?\s?(?:gutschrift|abrechnung|anzeige|mitteilung)|(?:abrechnung|gutschrift)\s+(?:der\s+|einer\s+|von\s+)?(?:dividenden?|aussch[üu]ttung|ertr[äa]ge\w{0,2}|zinsen|kupons?)|(?:fonds|ertrags?)?aussch[üu]ttung(?=\W*(?:vom\s|f[üu]r\s|\d|\Z))",
    r"(?:haben)?zins(?:en)?-?\s?(?:gutschrift|abrechnung|zahlung|mitteilung|ertr[äa]gen?|abschluss|bescheinigung|anzeige)|habenzinsen|(?:kupon|coupon)s?-?\s?(?:gutschrift|abrechnung|zahlung|einl[öo]sung)|vorabpauschale|kapitalr[üu]ckzahlung",
    r"(?:cash\s+)?dividends?\s+(?:payment|advice|notice|confirmation|credit|voucher|statement|received|paid)|(?:cash|income|fund|capital)\s+distribution|distribution\s+(?:notice|advice|payment|confirmation|statement)|income\s+(?:payment|advice|notice|distribution)|return\s+of\s+capital",
    r"(?:bond\s+|credit\s+|coupon\s+)?interest\s+(?:credit|payment|paid|advice|notice|statement|confirmation|earned|received|posting)|statement\s+of\s+interest|coupon\s+(?:payment|advice|notice|credit)",
    r"(?:avis|paiement|versement|encaissement|cr[ée]dit|relev[ée]|d[ée]compte|d[ée]tachement)\s+(?:de\s+|d['’]|des\s+|du\s+)?(?:dividendes?|coupons?|distributions?|revenus?|int[ée]r[êe]ts)|int[ée]r[êe]ts\s+(?:cr[ée]diteurs|vers[ée]s|acquis)",
    r"(?:pago|abono|cobro|liquidaci[óo]n|aviso|extracto|reparto|ingreso)\s+(?:de\s+|del\s+)?(?:un\s+)?(?:reparto|dividendos?|cup[óo]n(?:es)?|intereses|rendimientos)",
    r"(?:pagamento|accredito|stacco|incasso|liquidazione|avviso|distribuzione|comunicazione|conteggio)\s+(?:di\s+|del\s+|degli\s+|delle\s+|dei\s+)?(?:distribuzione|dividend[oi]|cedol[ae]|interessi|proventi)",
    r"dividend\s?(?:nota|uitkering|betaling|afrekening|bericht)|(?:uit)?betaling\s+(?:van\s+)?(?:dividend(?:en)?|coupon|rente)|coupons?\s+(?:et\s+|/\s*)?remboursements?|(?:rente|coupon|couponrente)\s?(?:bijschrijving|betaling|nota|uitkering|overzicht|afrekening|vergoeding)|overzicht\s+(?:van\s+)?(?:uw\s+)?(?:spaar)?rente",
    r"(?:pagamento|cr[ée]dito|recebimento|aviso|distribui[çc][ãa]o|extrato|liquida[çc][ãa]o)\s+(?:de\s+|do\s+|dos\s+)?(?:distribui[çc][ãa]o|dividendos?|juros|cup[ãao]\w{0,3}|cupons|rendimentos|proventos)",
)
_OPENING = (
    r"account\s+opening|opening\s+(?:of\s+)?(?:your\s+|an\s+)?account|welcome|(?:konto|depot)er[öo]ffnung|er[öo]ffnung\s+(?:ihres|eines)\s+\w{3,20}|willkommen",
    r"ouverture\s+(?:de\s+|du\s+|d['’]un\s+)?(?:votre\s+)?compte|bienvenue|apertura\s+de\s+(?:la\s+|su\s+)?cuenta|bienvenid[oa]s?|apertura\s+(?:del\s+|di\s+|di\s+un\s+)?conto|benvenut[oa]",
    r"opening\s+(?:van\s+)?(?:uw\s+)?rekening|welkom|abertura\s+d[ea]\s+conta|bem[- ]vind[oa]|boas[- ]vindas",
)
_TAX = (
    r"(?:(?:annual|consolidated|yearly)\s+)?tax\s+(?:certificate|voucher|statement|summary|report)|(?:jahres)?steuer-?\s?(?:bescheinigung|report|[üu]bersicht|ausweis|aufstellung)(?!\s+folgt)|ertr[äa]gnisaufstellung|verlustbescheinigung|freistellungsauftrag",
    r"(?:imprim[ée]|r[ée]capitulatif|relev[ée]|attestation|d[ée]claration)\s+fiscale?|(?:certificado|informaci[óo]n|informe|resumen|datos)\s+fiscal(?:es)?|certificado\s+de\s+retenciones",
    r"(?:certificazione|riepilogo|rendiconto|attestazione|prospetto)\s+(?:annuale\s+)?fiscale|certificazione\s+(?:unica|degli\s+utili|dei\s+redditi)",
    r"fiscaal\s+(?:jaar)?overzicht|jaaropgave|belasting(?:overzicht|opgave)|declara[çc][ãa]o\s+(?:fiscal|de\s+rendimentos)|(?:resumo|certificado|informa[çc][ãa]o)\s+fiscal",
)
_CORPORATE_ACTION = (
    r"corporate\s+actions?|(?:reverse\s+)?(?:stock|share|unit)\s+split|merger|spin-?off|(?:name|isin)\s+change|change\s+of\s+(?:name|isin)|rights\s+issue|tender\s+offer",
    r"kapitalma(?:ß|ss)nahme|(?:fonds)?verschmelzung|fusion|aktiensplit|(?:aktien)?zusammenlegung|abspaltung|umtausch(?:angebot)?|namens[äa]nderung|isin-?\s?(?:wechsel|[äa]nderung)",
    r"op[ée]rations?\s+sur\s+titres|division\s+du\s+nominal|regroupement\s+d['’]actions|offre\s+publique|attribution\s+(?:gratuite|de\s+droits)",
    r"(?:operaci[óo]n|evento)\s+(?:societari[oa]|corporativ[oa])|desdoblamiento|contra\s?split|fusi[óo]n|canje(?:\s+de\s+\w+)?|ampliaci[óo]n\s+de\s+capital",
    r"operazione\s+(?:societaria|sul\s+capitale)|frazionamento|raggruppamento|fusione|scissione|concambio",
    r"aandelen\s?splitsing|splitsing|fusie|omwisseling|claimemissie|naamswijziging|evento\s+(?:societ[áa]rio|corporativo)|desdobramento|a?grupamento|fus[ãa]o|cis[ãa]o",
)
_TRANSFER = (
    r"(?:securities|asset|stock|share|portfolio)\s+transfer|transfer\s+of\s+(?:assets|securities|shares|units)|(?:incoming|outgoing)\s+transfer|(?:delivery|receipt)\s+free\s+of\s+payment",
    r"(?:depot|wertpapier)-?\s?(?:[üu]ber?trag|umbuchung)|(?:ein|aus)(?:buchung|lieferung)\s+(?:von|der|ihrer)\s+\w{3,20}|\w{3,20}\s+ohne\s+gegenwert",
    r"transfert\s+(?:de\s+)?(?:titres|portefeuille)|(?:r[ée]ception|livraison)\s+de\s+titres|traspaso\s+de\s+(?:valores|cartera|acciones)|(?:recepci[óo]n|entrega)\s+de\s+(?:valores|acciones)",
    r"trasferimento\s+(?:di\s+)?(?:titoli|strumenti)|(?:ricezione|consegna)\s+(?:di\s+)?titoli|(?:overboeking|overdracht|ontvangst|levering)\s+(?:van\s+)?(?:uw\s+)?(?:effecten|aandelen|beleggingen)",
    r"transfer[êe]ncia\s+de\s+(?:t[íi]tulos|carteira)|(?:rece[pç]\w{2,4}|entrega)\s+de\s+t[íi]tulos",
)
NO_TRADE_TITLE = _match_title(*_INCOME, *_OPENING, *_TAX, *_TRANSFER)
CORPORATE_ACTION_TITLE = _match_title(*_CORPORATE_ACTION)
KIND_OF_INCOME = re.compile(
    r"\W{0,4}(?:(?:bar|cash)[\s-]?)?(?:dividend\w{0,4}|distribution|(?:ertrags?)?aussch[üu]ttung|ertr[äa]gnis\w{0,12}|ertrag|zins(?:en|gutschrift|zahlung)?|coupon|kupon|interest|int[ée]r[êe]ts?|cup[óo]n|intereses"
    r"|cedol[ae]|interessi|provent[oi]|reparto|rendimiento|uitkering|rente|juros?|cup[ãa]o|rendimentos?|vorabpauschale|thesaurierung)(?!\w)",
    re.IGNORECASE,
)

# What is charged for keeping securities: a line of costs in a note of a trade, a title only where it stands alone.
FEE_TITLE = re.compile(
    r"\A\W{0,4}(?:\S{1,24}\s{1,3}){0,3}?(?<!\w)(?:(?:custody|platform|portfolio|account|management|administration|advisory|safekeeping)\s+(?:fees?|charges?)"
    r"|(?:depot|verwahr|konto(?:f[üu]hrungs)?|service|verm[öo]gensverwaltungs)-?(?:entgelte?|geb[üu]hr(?:en)?|preis)|droits\s+de\s+garde"
    r"|frais\s+de\s+(?:garde|gestion|tenue\s+de\s+compte)|comisi[óo]n\s+de\s+(?:custodia|administraci[óo]n)|gastos\s+de\s+(?:custodia|administraci[óo]n)|(?:administraci[óo]n|custodia)\s+de\s+(?:dep[óo]sitos?|valores)"
    r"|(?:spese|canone|commissioni?)\s+(?:di\s+custodia|del\s+deposito|di\s+deposito|di\s+gestione)|bewaarloon|bewaarkosten|servicekosten|beheer(?:loon|vergoeding)"
    r"|(?:comiss[ãa]o|encargos?|despesas?)\s+(?:de\s+guarda|de\s+cust[óo]dia|com\s+a\s+carteira))(?:\s+(?:de\s+|di\s+)?(?:t[íi]tulos|titoli|valores|beleggen|effecten))?\W*\Z",
    re.IGNORECASE,
)

# A savings account or a deposit, which a note of a trade may name as well: a paper on it says what became of it.
DEPOSIT = match_any(
    r"(?:fixed|term|time|savings|notice)[\s-](?:term\s+)?deposit|savings\s+account|(?:fest|tages|termin)geld\w{0,20}|termineinlage|spar(?:konto|buch|einlage|brief|zertifikat)",
    r"(?:d[ée]p[ôo]t|compte)\s+[àa]\s+terme|\blivret\b|compte\s+d['’][ée]pargne|dep[óo]sito\s+a\s+plazo|imposici[óo]n\s+a\s+plazo|cuenta\s+de\s+ahorro|libreta",
    r"deposito\s+(?:a\s+(?:tempo|termine|risparmio)|vincolato)|conto\s+(?:deposito|di\s+risparmio)|libretto|(?:termijn|spaar)?deposito\b|spaarrekening|dep[óo]sito\s+a\s+prazo|poupan[çc]a",
)
DEPOSIT_PAPER = match_any(
    r"confirm|best[äa]tigung|bevestiging|conferma|statement|receipt|renew|verl[äa]nger|verlengd|renouvel|renova|rinnov|extract|extrat|estratto|relev[ée]|overzicht"
    r"|matur|f[äa]llig|[ée]ch[ée]ance|venc|scaden|opened|er[öo]ffnet|ouvert|abiert|apert|geopend|abert"
)

# What only income has: so much for each share, and the day from which on a share is traded without it.
PER_SHARE = match_any(
    r"\b(?:dividend|distribution|income|interest)\s+(?:rate\s+)?per\s+(?:share|unit|security)\b|\b(?:dividende|aussch[üu]ttung|ertrag|ertr[äa]gnis|zins(?:en)?)\s*(?:pro|je|per)\s+(?:st[üu]ck|st\b|anteil|aktie|wertpapier)",
    r"\b(?:dividende|distribution|coupon|revenu)\s+(?:(?:brut|net)e?\s+)?(?:par\s+(?:action|part|titre|unit[ée])|unitaire)\b|\b(?:dividendo|reparto|rendimiento|cup[óo]n)\s+(?:bruto\s+|neto\s+)?(?:por\s+(?:acci[óo]n|participaci[óo]n|t[íi]tulo|valor)|unitario)\b",
    r"\b(?:dividendo|provento|cedola|rendimento)\s+(?:lord[oa]\s+|nett[oa]\s+)?(?:per\s+(?:azione|quota|titolo)|unitari[oa])\b|\b(?:dividend|uitkering|rente)\s+per\s+(?:aandeel|stuk|participatie|effect)\b",
    r"\b(?:dividendo|rendimento|provento|juro)\s+(?:bruto\s+|l[íi]quido\s+)?(?:por\s+(?:a[çc][ãa]o|unidade|t[íi]tulo)|unit[áa]rio)\b",
)
WITHOUT_INCOME_FROM = match_any(
    r"\bex-?\s?(?:dividend\w{0,2}[\s-]?)?(?:tag|datum|date|day)\b|\bex-?(?:dividende?o?)\b|\brecord\s+date\b|\bdate\s+(?:de\s+)?(?:d[ée]tachement|ex)\b|\bfecha\s+ex\b|\bdata\s+(?:di\s+)?(?:stacco|ex)\b|\bregistratiedatum\b"
)

# A letter: `we credited a dividend of … to your account`.
INCOME = match_any(
    r"\b(?:dividend\w{0,4}|dividendes?|distribut\w{1,6}|distribu[ée]e?|distribuito|distribuiu|repartido|repartid[oa]|aussch[üu]ttung\w{0,2}|ausgesch[üu]ttet|uitgekeerd|uitkering|zinsen|interest|int[ée]r[êe]ts|intereses|interessi|rente|juros|[ck]oupon|kupon|cedol[ae])\b"
)
CREDITED = match_any(
    r"\b(?:credited|gutgeschrieben|gutschrift|verbucht|[üu]berwiesen|ausbezahlt|ausgezahlt|cr[ée]dit[ée]e?s?|vers[ée]e?s?|abonad[oa]s?|abonamos|ingresad[oa]s?|accreditat[oaie]|bijgeschreven|uitbetaald|uitbetaling|netto\s+credit|credit[áa]mos|creditad[oa]s?|paid\s+out)\b"
    r"|\b(?:you(?:\s+have)?\s+received|vous\s+avez\s+re[çc]u|ha\s+(?:recibido|percibido|ricevuto)|u\s+(?:heeft|ontving)|recebeu)\b"
)

# What somebody holds on a day, and what it is worth.
VALUATION_TITLE = match_any(
    r"\b(?:portfolio|account|holdings?|asset)\s+(?:valuation|holdings|positions|overview|summary)\b|\bstatement\s+of\s+(?:holdings|assets|positions)\b|\b(?:depot|bestands|verm[öo]gens|wertpapier)-?(?:[üu]bersicht|bestand|aufstellung|status|ausweis)\b",
    r"\b(?:relev[ée]|situation|[ée]valuation|[ée]tat|valorisation|synth[èe]se)\s+(?:de\s+|du\s+|des\s+)?(?:votre\s+|vos\s+)?(?:portefeuille|patrimoine|avoirs|titres)\b|\b(?:posici[óo]n|situaci[óo]n|resumen|valoraci[óo]n|estado)\s+(?:de\s+)?(?:la\s+|su\s+|sus\s+)?(?:cartera|valores|posiciones|patrimonio)\b",
    r"\b(?:situazione|riepilogo|posizione|valorizzazione|composizione)\s+(?:del\s+|di\s+|dei\s+)?(?:suo\s+)?(?:portafoglio|titoli|patrimonio|investimenti)\b|\b(?:portefeuille|effecten|vermogens|beleggings)\s?(?:overzicht|waardering|opgave)\b|\b(?:overzicht|samenstelling|waardering)\s+(?:van\s+)?(?:uw\s+)?(?:portefeuille|beleggingen|effecten)\b",
    r"\b(?:posi[çc][ãa]o|resumo|situa[çc][ãa]o|avalia[çc][ãa]o|valoriza[çc][ãa]o|composi[çc][ãa]o)\s+(?:da\s+|de\s+|dos\s+)?(?:sua\s+)?(?:carteira|t[íi]tulos|patrim[óo]nio|investimentos)\b",
)

COST_OF_HOLDING = match_any(
    r"\b(?:einstand\w*|einkaufs?(?:kurs|preis|wert)|kaufkurs|anschaffungs\w+|book\s+(?:cost|value)|cost\s+(?:basis|price)|(?:average|avg\.?|unit)\s+cost|prix\s+de\s+revient|p\.?r\.?u\b|co[ûu]t\s+moyen|pmc\b|(?:precio|coste|costo)\s+medio|prezzo\s+(?:medio\s+)?di\s+carico|gak\b|gemiddelde\s+aankoop\w*|kostprijs|custo\s+m[ée]dio|pre[çc]o\s+m[ée]dio)\b",
    r"\b(?:anskaffelses\w*|gns\.?\s+k[øo]bskurs|anskaffnings\w*|gav\b|inng[åa]ngs\w*|gjennomsnittlig\s+kostpris|cena\s+nabycia|[śs]redni\s+kurs\s+nabycia|po[řr]izovac[íi]\s+(?:cena|hodnota))\b",
)
VALUE_OF_HOLDING = match_any(
    r"\b(?:marktwert|verkehrswert|depotwert|market\s+value|current\s+value|valuation|valorisation|valeur\s+(?:de\s+march[ée]|actuelle|boursi[èe]re)|valor\s+(?:de\s+mercado|actual|atual)|valoraci[óo]n|valore\s+(?:di\s+mercato|attuale)|marktwaarde|actuele\s+waarde)\b",
    r"\b(?:markedsv[æa]rdi|kursv[æa]rdi|marknadsv[äa]rde|markedsverdi|warto[śs][ćc]\s+(?:rynkowa|bie[żz][ąa]ca)|tr[žz]n[íi]\s+hodnota|aktu[áa]ln[íi]\s+hodnota)\b",
)

# The day on which there was a price for what is held: no day of a trade.
DAY_OF_PRICE = match_any(
    r"\b(?:kurs-?\s?(?:datum|vom|zeitpunkt)|preis-?\s?datum|bewertungs-?\s?(?:tag|datum|stichtag)|stichtag|pric(?:e|ing)\s+date|date\s+of\s+price|valuation\s+date|date\s+(?:du\s+|de\s+)?(?:cours|valorisation|[ée]valuation))\b",
    r"\b(?:fecha\s+(?:de(?:l)?\s+)?(?:precio|valoraci[óo]n|cotizaci[óo]n)|data\s+(?:del\s+|di\s+|do\s+|da\s+|de\s+)?(?:prezzo|quotazione|valutazione|pre[çc]o|cota[çc][ãa]o|avalia[çc][ãa]o)|koers-?datum|kurs-?dato|prisdatum|data\s+(?:kursu|wyceny)|datum\s+(?:kurzu|ocen[ěe]n[íi]))\b",
)
# What stands above a list of what was done.
MOVEMENTS = match_any(
    r"\b(?:movements?|activity|activities|transactions?|trades|sales|purchases|disposals|realised\s+gains|realized\s+gains|ums[äa]tze\w{0,3}|\w{0,20}ums[äa]tze|bewegungen|transaktionen|verk[äa]ufe|k[äa]ufe|orderaus\w+|mouvements?|op[ée]rations?|achats|ventes|movimientos|operaciones|compras|ventas)\b",
    r"\b(?:movimenti|operazioni|acquisti|vendite|compravendite|transacties|mutaties|aankopen|verkopen|movimentos|opera[çc][õo]es|vendas|transaktioner|aff[äa]rer|handler|handel|bev[æa]gelser|bevegelser|h[äa]ndelser|transakcje|operacje|obroty|transakce|obchody|pohyby)\b",
)

# Income that buys more of its security, what a bond or a right ends with: a trade, though no word for one stands there.
LIKE_TRADE = match_any(
    r"\b(?:wiederanlage|reinvest\w{0,10}|r[ée]investi\w{0,8}|reinversi[óo]n|herbelegg\w{1,6}|reinversione|r[üu]ckzahlung|(?:af)?lossing)\b",
    r"\b(?:aus[üu]bung|exercise[ds]?|uitoefening)\b|\b(?:exercice|ejercicio|esercizio|exerc[íi]cio)\s+(?:de\s+|di\s+|des\s+|dei\s+|del\s+)?(?:los\s+|vos\s+)?(?:droits|derechos|diritti|diritto|direitos|options?|opciones|opzioni)\b",
)

# What was once paid for what is held, and what might still be bought: no line that books a trade.
NO_BOOKING = match_any(
    r"\b(?:purchase|buy(?:ing)?|sale|acquisition)\s+(?:price|value|costs?)\b|\b(?:prix|co[ûu]t|valeur)\s+d['’]?\s?(?:achat|acquisition)\b|\b(?:precio|coste|valor)\s+de\s+(?:compra|adquisici[óo]n)\b",
    r"\b(?:prezzo|costo|valore)\s+(?:di\s+|d['’])(?:acquisto|carico)\b|\b(?:pre[çc]o|custo|valor)\s+de\s+(?:compra|aquisi[çc][ãa]o)\b",
    r"\b(?:available|funds)\s+(?:for|to)\s+(?:purchases?|buy|trade|sell|sale)\b|\bshort\s+(?:sale|sell)\s+(?:balance|value|proceeds|credit)\b|\bpurchase\s+(?:power|order)\b",
)

# What sentences are made of, and rows of a table are not.
SMALL_WORD = match_any(
    r"\b(?:the|of|and|or|to|for|your|you|are|is|may|will|be|been|that|this|which|if|when|any|by|from|with|we|not|has|have|as|at)\b",
    r"\b(?:der|die|das|den|dem|des|und|oder|f[üu]r|bei|auf|mit|von|vom|zur|zum|wir|sie|ihr|ihre[rnms]?|ist|sind|wird|werden|kann|nicht|ein|eine[rnms]?|sich|als|wenn|[üu]ber|durch)\b",
    r"\b(?:le|la|les|du|des|et|ou|pour|votre|vous|nous|est|sont|peut|sur|dans|par|une?|qui|que|el|los|las|del|y|para|su|sus|es|son|puede|por|con|lo|il|lo|gli|della|dei|e|per|pu[òo]|sono|che)\b",
    r"\b(?:het|een|van|voor|uw|wij|zijn|wordt|kan|niet|met|op|te|door|o|os|as|da|dos|das|em|um|uma|s[ãa]o|pode|n[ãa]o|com|sua)\b",
)
