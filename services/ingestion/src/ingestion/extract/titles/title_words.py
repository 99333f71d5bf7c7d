"""Words for an invoice, and titles of papers that look like one."""

import re

from ingestion.extract.labels import DOCUMENT, match_any

# Languages whose invoices nothing reads yet: a person does, and they are not thrown away.
_INVOICE_IN_OTHER_LANGUAGES = (
    r"\bszámla|\blasku\b|τιμολόγιο|\bračun|\bfakt[ú]ra|\bsąskaita|\brēķins|\barve\b|\bfactură"
    r"|фактура|рахунок|счёт|счет|請求書|发票|發票|\breikning"
)
INVOICE_WORD = match_any(
    rf"\b{DOCUMENT}\b", r"\bcommercial\s+invoice\b", r"\bproforma\b", r"\brachunek\b", _INVOICE_IN_OTHER_LANGUAGES
)
CREDIT_WORD = match_any(
    r"\bcredit[\s-]*(?:note|memo)\b",
    r"\b(?:rechnungs)?gutschrift\b|\bfactura\s+de\s+abono\b|\bnota\s+di\s+accredito\b",
    r"\bavoir\b",
    r"\b(?:credit|krediet)[\s-]?nota\b",
    r"\bcreditfactuur\b",
    r"\bnote\s+de\s+crédit\b",
    r"\bnota\s+d[ei]\s+cr[ée]dito\b|\bkredit[\s-]?nota\b|\bkreditfaktura\b|\bdobropis\b",
)
# Something is undone: what was invoiced, or what was given back.
REVERSAL_WORD = match_any(
    r"\bstorno(?:rechnung|faktura|beleg)?\b|\bstornierung\b|^\W*credit\W*$|^\W*refund\b|\b(?:cancellation|reversal)\s+(?:of|invoice)\b",
    r"\bannulation\b|\banulaci[óo]n\b|\bannullamento\b|\bannulering\b|\banulação\b|\banulowanie\b|\bopravný\s+daňový\s+doklad\b",
    r"\bannullering\b|\bmakulering\b",
)
CORRECTION_WORD = match_any(
    r"\brechnungs-?\s?korrektur\b",
    r"\bkorrekturrechnung\b",
    r"\bfacture\s+rectificative\b",
    r"\bcorrected\s+invoice\b",
    r"\bkorygująca\b",
    r"\bfactura\s+rectificativa\b",
)
# In a title that gives something back or undoes it, whatever it is made up of: `Wertgutschrift`, `Note d'avoir`. None
# of them says alone whether it is a credit note.
GIVEN_BACK = match_any(
    r"gutschrift|rückvergüt|rückerstatt|warenrück|storn(?:o|ier)|korrektur|(?:\b|de|ge)krediter\w|\b[ck]redit\W*$",
    r"\bminusrechnung|\bret(?:ou?|u)r(?:e|en)?(?:faktur|factuur|rechnung|nota)|\bbonus(?:nota|faktur|factuur|rechnung)",
    r"\bcredit\s+(?:(?:sales|tax|vat)\s+)?(?:invoice|bill|adjustment|advice|note|memo|slip|voucher|factuur|nota)|\bcredit(?:factuur|nota|ering)",
    r"\brefund|\breversal|\breversed|\bcancell?(?:ed|ation)\b|\badjustment\s+(?:note|invoice)|\bcorrect(?:ed|ion|ing|ive)\b",
    r"\bavoir\b|\bannulation|\bremboursement|rectificat|\babono\b|\bdevoluci[óo]n|\banulaci[óo]n",
    r"\baccredito\b|\bnota\s+(?:di\s+|de\s+)?cr[ée]dito|\bin\s+diminuzione|\bannullament|\brimborso",
    r"\btegoed|correctie|\bannuler|\banulaç[ãa]o|\bdevolução|korekt|koryguj|\banulowan|\bopravn|\bdobropis|\bmakuler|\bannuller",
)
# What asks for money, as a headline.
ASKING_TITLE = match_any(
    INVOICE_WORD.pattern,
    r"\bfees?\b|\bdebit\s+note\b|\bstatement\b|\baccount\b|\breceipt\b|\b(?:application|request)\s+for\s+payment\b|\bpremium\b|\b(?:rent|charge|renewal)\s+(?:demand|notice)\b",
    r"\w{0,20}liquidation\b|\w{0,20}(?<!bonus)(?<!provisions)(?<!retouren)abrechnung\b|\bhonorar|\bkostennote\b|\b\w{0,12}bescheid\b|\bquittung\b|\bbon\b",
    r"\bhonoraires\b|\bhonorarios\b|\bhonorários\b|\bminuta\b|\bliquidación\b|\bdécompte\b|\breçu\b|\brecibo\b|\bricevuta\b|\bnotula\b|\bkwitantie\b|\bkassabon\b",
    r"\b(?<!bonus)nota\W*$|\bnota\s+d[ei]\s+(?:d[ée]bito|cargo|addebito)\b|\bnota\s+spese\b|\bnote\s+de\s+(?:débit|frais)\b|\b(?:premie|debet|contributie)nota\b",
    r"\bregning\b|\bräkning\b|\bopgørelse\b|\bopkrævning\b|\bkvitt\w+|\bparagon\b|\bvyúčtování\b|\búčtenka\b|\b\w{0,12}avi\b",
)
# A state in which an invoice asks for nothing new, beside it in its title, and what is only made for one.
_ASKED_BEFORE = (
    r"overdue|past\s+due|unpaid|outstanding|reminder|mahnung|offene|unbezahlte|überfällige|impayée|échue|openstaande|onbetaalde|vencida|pendiente|impagada"
    r"|scaduta|insoluta|em\s+atraso|zaległa|niezapłacona|neuhrazená|po\s+splatnosti|forfalden|förfallen|already\s+paid"
)
_NOT_VALID = (
    r"draft|preview|request|cancell?ed|void|customs|entwurf|vorschau|stornierte|annullierte|zollzwecke|brouillon|annulée|douane|vervallen|geannuleerde"
    r"|borrador|vista\s+previa|anulada|bozza|anteprima|annullata|rascunho|anulowana|stornovaná|udkast|kladde|annulleret|utkast|makulerad"
)
_INVOICE = rf"(?:{INVOICE_WORD.pattern})"
STATE_OF_INVOICE = match_any(
    rf"\b(?:{_ASKED_BEFORE}|{_NOT_VALID})\b.{{0,40}}{_INVOICE}",
    rf"{_INVOICE}.{{0,40}}\b(?:{_ASKED_BEFORE}|{_NOT_VALID})\b",
    rf"\b(?:projet\s+de|aperçu\s+de|projekt|návrh|concept|muster|specimen|sample)\W{{1,3}}{_INVOICE}|\(\s?(?:muster|specimen|spécimen|wzór|vzor)\s?\)",
    r"\b(?:rechnungs|faktura?|factuur)-?(?:entwurf|vorschau|anforderung|muster|voorstel|udkast|utkast)\b|\b(?:muster|vorab|concept|voorbeeld)-?(?:rechnung|factuur)\b",
    r"\baccount\s+overdue\b|\bofficial\s+receipt\b|\bpayment\s+(?:receipt|confirmation)\b|\breceipt\s+(?:for|of)\s+payment\b|\bzahlungs(?:bestätigung|beleg|eingang)\b|\bquittung\s+über\b",
    r"\b(?:reçu|confirmation|attestation)\s+de\s+paiement\b|\bquittance\b|\bbetal(?:ings)?bevestiging\b|\bbetaalbewijs\b|\b(?:recibo|justificante|confirmación)\s+de\s+pago\b",
    r"\b(?:ricevuta|conferma)\s+di\s+pagamento\b|\bquietanza\b|\b(?:recibo|comprovativo)\s+de\s+pagamento\b|\bpotwierdzenie\s+(?:zapłaty|wpłaty)\b",
    r"\bpotvrzení\s+(?:o\s+)?platb[ěy]\b|\bbetalingskvittering\b|\bbekræftelse\s+på\s+betaling\b|\bbetalningsbekräftelse\b|\bkvitto\s+på\s+betalning\b",
)
# That a paper is no invoice, or gives back what it names: in a sentence anywhere.
NO_DEMAND = match_any(
    r"\bnot\s+an\s+invoice\b|\bnot\s+a\s+(?:vat|tax)\s+invoice\b.{0,60}\bfollow|\bnot\s+for\s+payment\b|\bwe\s+(?:have\s+)?credit(?:ed)?\s+your\s+account\b|\bthis\s+amount\s+will\s+be\s+(?:refunded|credited)\b",
    r"(?:\bist\s+|\bstellt\s+|[(–—-]\s?|^\W{0,9})keine\s+(?:rechnung|zahlungsaufforderung)\b(?!\s+(?:per|mehr|in|auf)\b)",
    r"\bschreiben\s+(?:wir\s+)?ihnen\b.{0,60}\bgut\b|\bihrem\s+konto\s+gutgeschrieben\b|\bwir\s+überweisen\s+ihnen\b|\bportons\s+à\s+votre\s+crédit\b|\bcréditons\s+votre\s+compte\b",
    r"\bdocument\s+provisoire\b|\bdocumento\s+(?:sin\s+validez|provisional)\b|\ble\s+abonamos\b|\btipo\s+documento\W{1,3}td04\b",
    r"\bnon\s+è\s+una\s+fattura\b|\bis\s+geen\s+factuur\b|\bno\s+es\s+una\s+factura\b|\bn['’]est\s+pas\s+une\s+facture\b|\bnão\s+é\s+uma\s+fatura\b"
    r"|\bnie\s+jest\s+faktur|\bnení\s+faktur|\bikke\s+en\s+faktura\b|\bär\s+ingen\s+faktura\b",
    # This one was taken back; `This invoice replaces …` is one to be paid.
    rf"\b(?:this|diese|cette|esta|questa|deze|ta|tato|denne|denna)\s+{_INVOICE}\s+(?:was|is|has\s+been|wurde|wird|ist|a\s+été|est|ha\s+sido|è\s+stata|è|is|werd|foi|została|byla|je|er|blev|är|har)"
    r"\s+(?:\w{1,12}\s+){0,2}?(?:cancelled|canceled|void(?:ed)?|withdrawn|superseded|replaced|storniert|aufgehoben|ersetzt|annulée|remplacée|anulada|sustituida|annullata|sostituita"
    r"|vervallen|vervangen|geannuleerd|substituída|anulowana|zastąpiona|stornována|nahrazena|annulleret|erstattet|makulerad|ersatts?|makulerats)\b",
    # Who gets the amount.
    r"\bthe\s+amount\s+will\s+be\s+(?:refunded|credited|paid\s+out)\b|\bder\s+betrag\s+wird\s+(?:\w+\s+){1,3}?(?:gutgeschrieben|ausgezahlt|erstattet)\b|\ble\s+montant\s+sera\s+(?:porté\s+au\s+crédit|crédité|remboursé)\b"
    r"|\bel\s+importe\s+se\s+(?:le\s+)?(?:abonará|devolverá)\s+en\b|\bl['’]importo\s+(?:vi\s+)?sarà\s+(?:accreditato|rimborsato)\b|\bbedrag\s+wordt\s+(?:\w+\s+){1,4}?(?:bijgeschreven|teruggestort)\b"
    r"|\bo\s+(?:valor|montante)\s+será\s+(?:creditado|reembolsado)\b|\bkwota\s+zostanie\s+zwrócona\b|\bčástka\s+bude\s+(?:připsána|vrácena)\b|\bbeløbet\s+(?:bliver|vil\s+blive)\s+(?:godskrevet|indsat|tilbagebetalt)\b|\bbeloppet\s+(?:krediteras|återbetalas)\b",
    # What this paper is.
    r"\bdocument\s+is\s+for\s+information\s+only\b|\bdokument\s+dient\s+(?:nur|lediglich)\s+(?:zu|der)r?\s+information\b|\bdocument\s+(?:transmis|fourni)\s+(?:à\s+titre|pour)\s+(?:d['’]\s?)?information\b"
    r"|\bdocumento\s+(?:meramente\s+)?informativo\b|\bdocument\s+is\s+(?:alleen|enkel)\s+ter\s+informatie\b|\bdokument\s+(?:ma\s+charakter\s+informacyjny|je\s+pouze\s+informativní)\b|\bdokument\w*\s+(?:er|är)\s+(?:kun|endast)\s+(?:til|för)\s+(?:orientering|information)\b",
    rf"\b(?:this\s+is|dies\s+ist|ceci\s+est)\s+(?:an?|une?|eine?)\s+(?:preview|test|sample|draft|vorschau|muster|probe|aperçu|essai)\b|^\W*(?:test|probe)[\s-]?{_INVOICE}\b|^\W*{_INVOICE}\s+de\s+(?:test|prueba)\b",
)
NO_INVOICE_TITLE = re.compile(
    r"^\W*(?:quote|quotation|estimate|offer|(?:sales\s+)?order\s+(?:confirmation|acknowledgement)|purchase\s+order|delivery\s+note|packing\s+(?:list|slip)"
    r"|reminder|statement\s+of\s+account|account\s+statement"
    r"|angebot|kostenvoranschlag|auftragsbestätigung|bestellung|lieferschein|mahnung|zahlungserinnerung|kontoauszug|offene[\s-]{1,3}posten\w{0,6}|saldenbestätigung"
    r"|wertpapier\w*|dividenden\w*|ertrags\w*"
    r"|devis|bon\s+de\s+(?:commande|livraison)|(?:confirmation|accusé\s+de\s+réception)\s+de\s+commande|relevé(?!\s+d['’]\s?honoraires)"
    r"|presupuesto|(?:confirmación\s+de\s+)?pedido|albarán|extracto\s+de\s+cuenta"
    r"|preventivo|conferma\s+d(?:['’]|i\s+)ordine|documento\s+di\s+trasporto|estratto\s+conto"
    r"|offerte|(?:order|opdracht)bevestiging|pakbon|aanmaning|rekeningoverzicht"
    r"|orçamento|(?:confirmação\s+de\s+)?encomenda|guia\s+de\s+(?:remessa|transporte)|extrato\s+de\s+conta"
    r"|oferta|(?:potwierdzenie\s+)?zamówieni[ae]|zestawienie\s+(?:sald|należności)"
    r"|(?:cenová\s+)?nabídka|(?:potvrzení\s+)?objednávk[ay]|dodací\s+list|výpis\s+(?:z\s+)?účtu"
    r"|tilbud|ordrebekræftelse|følgeseddel|kontoudtog|offert|orderbekräftelse|orderbekreftelse|följesedel|kontoutdrag)\b[^:]{0,70}$",
    re.IGNORECASE,
)
# What lies beside an invoice in one file, and is none.
OTHER_PAPER_TITLE = re.compile(
    r"^\W*(?:(?:general\s+|our\s+)?(?:terms|conditions)(?:\s+(?:and|&)\s+conditions)?(?:\s+of\s+\w+)?|time\s?sheets?|statement|contract|agreement|proof\s+of\s+delivery|(?:work|job)\s+(?:report|order|sheet)|usage\s+details"
    r"|(?:allgemeine\s+)?(?:geschäfts|liefer|verkaufs|zahlungs|vertrags)(?:-\s*und\s+\w{0,12})?bedingungen|agb|stundenzettel|(?:stunden|leistungs|tätigkeits|arbeits)(?:nachweis|bericht|aufstellung)|vertrag|mahnung|widerrufsbelehrung"
    r"|conditions\s+(?:générales|particulières)|cgv|feuille\s+de\s+(?:temps|présence)|contrat|compte\s+rendu"
    r"|condiciones\s+(?:generales|particulares)|parte\s+de\s+(?:horas|trabajo)|contrato|condizioni\s+(?:generali|di\s+vendita)|foglio\s+ore|rapportino|contratto"
    r"|algemene\s+voorwaarden|leveringsvoorwaarden|uren(?:staat|overzicht|specificatie)|werkbon|overeenkomst|condições\s+gerais|folha\s+de\s+horas"
    r"|(?:ogólne\s+)?warunki|karta\s+pracy|umowa|(?:všeobecné\s+)?(?:obchodní\s+)?podmínky|výkaz\s+(?:práce|hodin)|smlouva"
    r"|(?:almindelige|generelle)\s+(?:\w+)?betingelser|(?:salgs|handels|leverings)-?(?:\s*og\s+\w+)?betingelser|timeseddel|arbejdsseddel|allmänna\s+\w{0,12}villkor|tidrapport|arbetsrapport|avtal)\b[^:]{0,70}$",
    re.IGNORECASE,
)
# A paper that is an invoice as well: `Lieferschein / Rechnung`, `Order confirmation and invoice`, `Albarán-factura`.
AND_INVOICE = re.compile(
    rf"(?:[/&+–—,-]|\b(?:and|und|et|y|e|en|i|a|og|och|valant)\b)\s?(?:tax\s|commercial\s)?{DOCUMENT}\b", re.IGNORECASE
)
PLEASE_PAY = match_any(
    r"\bplease\s+(?:pay|remit|transfer)\b|\b(?:bitte|ich|wir)\b.{0,40}\b(?:überweis\w{1,4}|zahlen)\b|\bum\s+überweisung\b|\bberechne(?:n)?\s+(?:ich|wir)\b",
    r"\b(?:veuillez|merci\s+de)\s+(?:régler|virer|payer)\b|\b(?:rogamos|ruego)\b.{0,40}\b(?:pago|ingres\w+|transferencia)\b",
    r"\b(?:si\s+prega|vi\s+prego)\b.{0,40}\b(?:pagare|versare|bonific\w+)\b|\b(?:gelieve|wilt\s+u)\b.{0,60}\b(?:over\s+te\s+maken|te\s+betalen|overmaken)\b",
    r"\b(?:agradec\w+|solicit\w+)\b.{0,40}\b(?:pagamento|transferência)\b|\bprosz[ęe]\s+o\s+(?:wpłatę|zapłatę|przelew)\b|\bprosím\w?\s+o\s+(?:úhradu|zaplacení)\b",
    r"\b(?:bedes|venligst)\b.{0,40}\b(?:betalt|indbetal\w+|overfør\w*)\b|\b(?:vänligen|var\s+god)\b.{0,40}\b(?:betala|sätt\s+in)\b",
)
# The customer writes the invoice, on behalf of its supplier.
SELF_BILLED = match_any(
    r"\bself[\s-]?bill\w{0,5}\b|\bgutschriftsverfahren\b|§\s?14\s+abs\.?\s?2\b.{0,30}\bustg\b|\bautofactur\w{1,5}\b|\bauto-?fattur\w{1,5}\b|\bautofaturação\b",
    r"\buitgereikt\s+door\s+afnemer\b|\bsamofakturowanie\b|\bvystaveno\s+zákazníkem\b|\bselvfakturering\b|\bsjälvfakturering\b|\bfacturación\s+por\s+el\s+destinatario\b",
)
# Its total is paid by the invoice that follows it.
PROFORMA_TITLE = re.compile(
    rf"^\W*(?:(?:{DOCUMENT}\W{{0,3}})?pr[oó][\s-]?forma|(?:pre)?avviso\s+di\s+(?:parcella|fattura))\b[^:]{{0,70}}:?[^:]{{0,30}}$",
    re.IGNORECASE,
)
# What a customer has paid, and for which invoices. `Avviso di pagamento` and its like may ask for it as well.
REMITTANCE_TITLE = re.compile(
    r"^\W*(?:remittance\s+advice|zahlungsavis|avis\s+de\s+(?:règlement|virement)|avviso\s+di\s+bonifico|betaalspecificatie|avízo\s+o\s+platbě)"
    r"\b[^:]{0,50}$",
    re.IGNORECASE,
)
# What a supplier has in its books of a customer. Alone it may also be the bill of a month.
BARE_STATEMENT = re.compile(r"^\W*statement\W*$", re.IGNORECASE)
OPEN_ITEMS = match_any(
    r"\b(?:brought|carried)\s+forward\b", r"\b(?:30|60|90)\+?\s+days\b.{0,60}\b(?:60|90|120)\+?\s+days\b"
)
