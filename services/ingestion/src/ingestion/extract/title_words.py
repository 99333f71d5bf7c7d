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
    r"\bcredit\s*(?:note|memo)\b",
    r"\b(?:rechnungs)?gutschrift\b|\bfactura\s+de\s+abono\b|\bnota\s+di\s+accredito\b",
    r"\bavoir\b",
    r"\bcreditnota\b",
    r"\bcreditfactuur\b",
    r"\bnote\s+de\s+crédit\b",
    r"\bnota\s+d[ei]\s+cr[ée]dito\b|\bkreditnota\b|\bkreditfaktura\b|\bdobropis\b",
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
    r"gutschrift|rückvergüt|rückerstatt|warenrück|storn(?:o|ier)|korrektur|(?:\b|de|ge)krediter\w|^\W*[ck]redit\W*$",
    r"\bcredit\s+(?:(?:sales|tax|vat)\s+)?(?:invoice|bill|adjustment|advice|note|memo|slip|voucher|factuur|nota)|\bcredit(?:factuur|nota|ering)",
    r"\brefund|\breversal|\breversed|\bcancell?(?:ed|ation)\b|\badjustment\s+(?:note|invoice)|\bcorrect(?:ed|ion|ing|ive)\b",
    r"\bavoir\b|\bannulation|\bremboursement|rectificat|\babono\b|\bdevoluci[óo]n|\banulaci[óo]n",
    r"\baccredito\b|\bnota\s+(?:di\s+|de\s+)?cr[ée]dito|\bin\s+diminuzione|\bannullament|\brimborso",
    r"\btegoed|correctie|\bannuler|\banulaç[ãa]o|\bdevolução|korekt|koryguj|\banulowan|\bopravn|\bdobropis|\bmakuler|\bannuller",
)
NO_INVOICE_TITLE = re.compile(
    r"^\W*(?:quote|quotation|estimate|offer|(?:sales\s+)?order\s+(?:confirmation|acknowledgement)|purchase\s+order|delivery\s+note|packing\s+(?:list|slip)"
    r"|reminder|statement\s+of\s+account|account\s+statement"
    r"|angebot|kostenvoranschlag|auftragsbestätigung|bestellung|lieferschein|mahnung|zahlungserinnerung|kontoauszug|offene[\s-]{1,3}posten\w{0,6}|saldenbestätigung"
    r"|wertpapier\w*|dividenden\w*|ertrags\w*"
    r"|devis|bon\s+de\s+(?:commande|livraison)|(?:confirmation|accusé\s+de\s+réception)\s+de\s+commande|relevé"
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
