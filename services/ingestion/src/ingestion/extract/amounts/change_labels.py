"""What an invoice calls the amounts that are none of its totals and change them: what is withheld, paid before, added,
rounded or taken off; in the languages of `labels`."""

from ingestion.extract.labels import match_any

# What stands between net, tax and what is paid in the end. Of these the customer keeps a part, for the tax office or
# until the work has proved good ...
WITHHELD = match_any(
    r"\bretenci[óo]n\b|\bi\.?r\.?p\.?f\b|\britenuta\b|\breten[çc][ãa]o\b|\bwithh(?:eld|olding)\b|\bretenue\s+[àa]\s+la\s+source\b",
    r"\b(?:quellen|(?:bau)?abzug)s?steuer\b|\bbronheffing\b|\bkällskatt\b|\bkildeskat\b|\bpodatek\s+u\s+[źz]r[óo]d[łl]a\b",
    r"\b(?:retention|retainage|retained|held\s+back|holdback|cis(?:\s+(?:deduction|tax)|(?=\W+\d+\s?%)))\b",
    r"\b\w{0,24}(?:einbehalt|r[üu]ckbehalt|(?:haft|deckungs)r[üu]ckla(?:ss|ß))\w{0,3}\b",
    r"\bretenues?\s+de\s+garantie\b|\br\.?g\.?(?=\W+\d+\s?%)|\bcompte\s+prorata\b|\bgarant[íi]a\s+retenida\b",
    r"\btrattenut[ae]\b|\br\.\s?a\.(?=\W+\d+\s?%)|\b\w{0,12}-?inhouding\b|\bingehouden\b|\bcau[çc][ãa]o\b",
    r"\bkaucja\b|\bzatrzyman\w{1,3}\b|\bpotr[ąa]ceni\w{1,2}\b|\bzádržné\b|\bpozastávk\w\b|\bzadrž\w{2,6}\s+částk\w\b",
    r"\btilbageh[oø]ld\w{0,5}\b|\bgarantibeløb\b|\bsikkerhedsstillelse\b|\b(?:rot|rut)-?avdrag\b|\binnehåll(?:et|en|na)\b|\bgarantiinnehåll\b",
)
# ... a voucher or a credit from before pays for it ...
CREDITED = match_any(
    r"\b(?:gift\s?(?:card|voucher|certificate)|vouchers?|(?:store|account|goodwill|service)\s+credit|credit\s+(?:balance|from)|loyalty\s+points)\b",
    r"\b\w{0,16}gutschein\w{0,4}\b|\b\w{0,12}guthaben\b|\bbonuspunkte\b|\bkulanz\w{0,8}\b",
    r"\b(?:bon|chèque|carte)s?[\s-](?:d['’]achat|cadeaux?)\b|\bcrédit\s+client\b|\bgeste\s+commercial\b",
    r"\b(?:vale|tarjeta|cheque)[\s-]regalo\b|\bcup[óo]n\b|\bsaldo\s+a\s+(?:su\s+)?favor\b|\bcrédito\s+del\s+cliente\b",
    r"\b(?:buono|carta)\s+regalo\b|\bcredito\s+(?:del\s+)?cliente\b|\bbonus\s+cliente\b",
    r"\bcadeau(?:bon|kaart)\b|\b(?:tegoed(?:bon)?|verrekening\s+tegoed)\b",
    r"\b(?:vale\s+(?:oferta|presente)|cart[ãa]o\s+(?:presente|oferta)|cup[ãa]o|crédito\s+do\s+cliente)\b",
    r"\b(?:bon|karta)\s+podarunkow\w{1,2}\b|\bkupon\w{0,2}\b|\bnadp[łl]at\w\b|\bsaldo\s+na\s+korzyść\b",
    r"\bdárkov\w\s+(?:poukaz|karta)\b|\bpoukáz\w{0,2}\b|\bpřeplatek\b|\bkredit\s+zákazníka\b",
    r"\bgavekort\b|\btilgode(?:bevis|havende)\b|\boverført\s+tilgode\b|\bpresentkort\b|\btillgodo(?:kvitto|havande)\b",
)
# ... it is owed from before, asked for beside the invoice, or given freely ...
ADDED = match_any(
    r"\b(?:previous|old|last|opening)\s+balance\b|\b(?:balance|amount|unpaid|outstanding)\s+(?:from|of|on|owing\s+from)\s+(?:your\s+)?(?:last|previous|earlier|prior)\b|\bbalance\s+(?:brought\s+)?forward\b|\barrears\b|\b(?:late|reminder)\s+(?:payment\s+)?(?:fee|charge|interest)s?\b",
    r"\b(?:alt|vor)?saldo\s+(?:vormonat|vortrag|alt|aus)\b|\bsaldovortrag\b|\baltsaldo\b|\b(?:zahlungs)?rückst[aä]nd\w{0,2}\b|\baus\s+vor(?:monat|rechnung|jahr)\w{0,2}\b|\boffen\w{0,2}\s+(?:betrag|posten|saldo)?\s?(?:aus|vom?)\s+(?:vor|letzt)\w{1,12}\b|\bmahn(?:gebühr|spesen|kosten)\w{0,2}\b|\bverzugszins\w{0,2}\b",
    r"\bsolde\s+(?:antérieur|précédent|ancien)\b|\b(?:solde|reste?\s+dû|restant\s+dû|impayé)\s+(?:(?:de|sur)\s+)?(?:(?:votre|la)\s+)?(?:facture|période)\s+(?:précédente|antérieure)\b|\bancien\s+solde\b|\bfrais\s+de\s+re(?:lance|couvrement)\b|\bpénalités?\s+de\s+retard\b",
    r"\bsaldo\s+(?:anterior|precedente|poprzedni\w?|pendiente)\b|\b(?:deuda|pendiente|importe)\s+anterior\b|\bgastos\s+de\s+reclamación\b|\bintereses\s+de\s+demora\b",
    r"\bresidu[oi]\s+(?:fattur[ae]|bollett[ae])\s+precedent[ei]\b|\binsolut[oi]\b|\bspese\s+di\s+sollecito\b|\binteressi\s+di\s+mora\b|\b(?:vorig|openstaand|oud)\s+saldo\b|\bachterstand\b|\b(?:aanmanings|herinnerings|incasso)kosten\b",
    r"\bvalor\s+em\s+(?:dívida|atraso)\b|\bjuros\s+de\s+mora\b|\bcustos\s+de\s+cobrança\b|\bzaleg[łl]o[śs][ćc]\w{0,2}\b|\bodsetki\b|\bkoszty\s+upomnienia\b",
    r"\bpředchozí\s+zůstatek\b|\bnedoplat\w{1,3}\b|\bpoplatek\s+za\s+upomínku\b|\búrok\w?\s+z\s+prodlení\b",
    r"\b(?:tidligere|forrige|tidigare|föregående)\s+(?:saldo|skuld)\b|\bfrån\s+(?:förra|föregående|tidigare)\s+faktur\w{1,3}\b|\bfra\s+(?:forrige|tidligere)\s+faktura\b|\brestance\b|\brykkergebyr\b|\bmorarenter\b|\bpåminnelseavgift\b|\bdröjsmålsränta\b",
    r"^\W*(?:tips?|gratuity|trinkgeld|pourboire|propina|mancia|fooi|gorjeta|napiwek|spropitné|drikkepenge|dricks)\b",
)
# ... nobody pays a part, since coins are not that small ...
ROUNDING = match_any(
    r"\b(?:rundung\w{0,12}|rounding|arrondi|redondeo|arrotondamento|arredondamento|afronding|zaokr\w{3,9})\b",
    r"\b(?:öres?|øre)?-?\s?(?:avr(?:undn?ing)?|utj(?:ämning)?|afr(?:unding)?)\b",
)
# ... it comes on top of what was sold, or is taken off ...
CHARGE = match_any(
    r"\b(?:carriage|shipping|freight|postage|delivery)\b|\b(?:versand|fracht|transport|verpackungs)(?:kosten|pauschale)?\b|\bporto\b",
    r"\bfrais\s+de\s+(?:port|livraison|transport)\b|\bverzendkosten\b|\bgastos\s+de\s+(?:envío|transporte)\b|\bportes\b",
    r"\bspese\s+di\s+(?:trasporto|spedizione)\b|\bkoszty?\s+(?:wysyłki|dostawy|transportu)\b|\bdoprav(?:a|né)\b|\bfra[gk]t\b",
)
# ... it was laid out for the customer, and bears no tax ...
UNTAXED = match_any(
    r"\b(?:spese|anticipazioni)\s+(?:esent\w|esclus\w|anticipate|non\s+imponibili)\b|\b(?:esent[ei]|esclus[aoei]|fuori\s+campo|non\s+imponibil[ei])\b.{0,16}\b(?:art|iva)\b|\bbollo\b",
    r"\bsuplidos?\b|\bd[ée]bours\b|\bdurchlaufende\w?\s+posten\b|\bsteuerfrei\w{0,2}\b|\bnicht\s+steuerbar\w{0,2}\b",
    r"\bdisbursements?\b|\b(?:vat|tax)[\s-]+(?:exempt|free)\b|\b(?:onbelaste?|btw-?vrije?)\b|\b(?:isento|não\s+sujeito)\b|\bzwolnion\w{1,3}\b|\bosvobozen\w{1,2}\b|\bmomsfri\w{0,2}\b",
)
DISCOUNT = match_any(
    r"\b(?:discount|rabatt?|nachlass|remise|ristourne|sconto|korting|descuento|desconto|sleva|dto\.?|opust)\b"
)
# ... or it was paid before.
PREPAID = match_any(
    r"\b(?:advance|deposit|pre-?paid|prepayment|payments?|paid|less\s+paid)\b",
    # `Abschlag` alone is a discount as well.
    r"\babschlags?(?:zahlung|rechnung)\w{0,4}\b|\b\d{1,2}\.\s?abschlag\b",
    r"\b\w{0,12}(?:anzahlung|vorauszahlung|akonto|a-?conto)\w{0,12}\b|\b(?:bereits|schon)\s+(?:be|ge)zahlt\b",
    r"\bgeleistete\w?\s+(?:an|teil|voraus)?zahlung\w{0,2}\b|\barrhes\b|\bse[ñn]al\b|\ba\s+cuenta\b|\bcaparra\b|\bvooruitbetaald\b|\breeds\s+voldaan\b",
    r"\bprzedp[łl]at\w\b|\bdepositum\b|\bhandpenning\b",
    r"\b(?:acomptes?|avances?|déjà\s+(?:versé|réglé|payé)e?)\b|\banticipos?\b|\b(?:entrega|pago)\s+a\s+cuenta\b",
    r"\b(?:acconto|acconti|anticipo|già\s+(?:versato|pagato))\b|\b(?:voorschot|aanbetaling|reeds\s+betaald)\w{0,10}\b",
    r"\b(?:adiantamento|já\s+pago|sinal)\b|\b(?:zaliczk\w{1,3}|zapłacono|wpłat\w)\b|\b(?:záloh\w|zaplaceno|uhrazeno)\b",
    r"\b(?:forudbetal\w{1,4}|forudbetaling|betalt|förskott\w{0,8}|inbetalt)\b",
)
# Less is to be paid by who pays early: of what an invoice asks for it is no part.
FOR_EARLY_PAYMENT = match_any(
    r"\b(?:skonto|escompte|kontantrabat|kassarabatt|(?:early|prompt)[\s-]payment|pronto\s+pag(?:o|amento))\b",
    r"\b(?:if\s+paid|bei\s+zahlung|si\s+(?:paiement|règlement)|bij\s+betaling|per\s+pagamento|przy\s+płatności|při\s+úhradě|ved\s+betaling|vid\s+betalning)\b.{0,20}\d",
)
# What a customer gave at a till, in front of its amount: more than the total, of which some was given back.
HANDED_OVER = match_any(
    r"^\W*(?:(?:cash\s+)?tendered|given|cash|gegeben|erhalten|bar|reçu|donné|espèces|entregado|efectivo|recibido|contanti|contante?|ricevuto|ontvangen"
    r"|entregue|numerário|recebido|gotówka|otrzymano|hotově|hotovost|přijato|kontant|modtaget|mottaget)\b"
)
# `davon Lohn 690,00, Material 500,00`: parts of the total, which stays what it is.
WITHIN = match_any(
    r"\b(?:davon|darin|enthalten\w{0,2}|of\s+which|thereof|includ\w{1,3}|dont|inclus\w{0,2}|waarvan|inbegrepen|incluid\w{1,2}|di\s+cui|compres\w|dos\s+quais|w\s+tym|z\s+toho|heraf|varav)\b"
)
# What lessens a total that has its tax already.
TAKEN_OFF = (WITHHELD, CREDITED, PREPAID)
# `Deposit 30 % on order`, `Rest bei Lieferung`: a plan of payments, of which nobody knows what was paid.
PLANNED = (
    r"\b(?:fällig|zahlbar|bei\s+(?:auftrag|bestell|liefer|abnahme|abhol|fertigstell|montage|übergabe)\w*|(?:up)?on\s+(?:order|delivery|completion|collection|arrival)"
    r"|required|à\s+la\s+(?:commande|livraison|réception)|à\s+l['’]arrivée|a\s+la\s+(?:firma|entrega|recepción|llegada)|all['’](?:ordine|arrivo)|alla\s+(?:consegna|firma)"
    r"|bij\s+(?:opdracht|levering|oplevering|aankomst)|na\s+(?:encomenda|entrega|chegada)|przy\s+\w+|při\s+\w+"
    r"|ved\s+(?:bestilling|levering|ankomst)|vid\s+(?:beställning|leverans|ankomst))\b"
)
# `within 10 days`
DAYS = r"\d\s*(?:days?|tage?n?|jours?|d[ií]as?|giorni|gg|dagen|dni|dnů|dage|dagar|dager)\b"
