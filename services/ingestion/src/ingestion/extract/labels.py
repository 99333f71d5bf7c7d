"""What invoices call their fields, in English, German, French, Spanish, Italian, Dutch, Portuguese, Polish, Czech,
Danish and Swedish.

Within a group the order matters: a label that can mean nothing else stands before one that also means other things.
"""

import re

# Those of French, Spanish, Italian, Portuguese and Czech words that stay unlike others without theirs; `à` only before
# another word, since alone `A` is a column or a rate.
_ACCENTS = {
    **{accented: f"[{accented}{plain}]" for accented, plain in zip("áâãçèéêëíñóôõú", "aaaceeeeinooou", strict=True)},
    "à\\s": r"[àa]\s",
}
_CLASS_OR_ACCENT = re.compile(r"\[[^\]]*\]|à\\s|[áâãçèéêëíñóôõú]")


def _allow_plain_letters(pattern: str) -> str:
    """The pattern for words without their accents too, as capitals are often written: `NET A PAYER`, `ECHEANCE`."""
    return _CLASS_OR_ACCENT.sub(lambda match: _ACCENTS.get(match[0], match[0]), pattern)


def match_any(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{_allow_plain_letters(pattern)})" for pattern in patterns), re.IGNORECASE)


# With its endings: what is said of whoever writes the page.
OUR = r"(?:unser|our|notre|nuestr|nostr|ons|onze|noss|nasz|naš|vores|vår)\w{0,4}"
_NO = (
    r"(?:numbers?|no\b\.?|nr\b\.?|num\b\.?|n[°ºo]\.?|n\.\s?º|n\.(?=\W|$)"
    r"|#|id\b|nummer|numéro|numero|número|núm\b\.?|numer|č\.|číslo)"
)
# A part or a correction of an invoice, or its way of being paid, stands before or behind the word for it.
DOCUMENT = (
    r"(?:(?:tax\s+|advance\s+|final\s+|commercial\s+)?invoice|credit\s*note|credit\s+memo|bill(?!\s+to|ing|ed)|receipt"
    r"|\w{0,20}(?<!ab)(?<!be)(?<!ver)(?<!proforma)rechnung|rechnungs-?\s?korrektur|korrekturrechnung|gutschrift|beleg"
    r"|facture(?:\s+(?:d['’]acompte|de\s+(?:solde|situation|clôture)|finale|rectificative))?|avoir|note\s+de\s+crédit"
    r"|\w{0,14}(?<!proforma)factuur|creditnota"
    r"|factura(?:\s+(?:rectificativa|simplificada|ordinaria|completa|final|de\s+(?:anticipo|abono)))?|nota\s+de\s+crédito"
    r"|fattura(?:\s+(?:d['’]acconto|di\s+(?:acconto|vendita)|a\s+saldo|elettronica|immediata|differita|accompagnatoria))?"
    r"|nota\s+di\s+credito|(?<!avviso\sdi\s)parcella|honorarnote|note\s+d['’]honoraires|nota\s+de\s+honor[aá]rios|fatura(?:[\s/-]{1,3}(?:recibo|simplificada|de\s+adiantamento))?"
    r"|faktura(?:\s+(?:vat|zaliczkowa|końcowa|korygująca|uproszczona|podstawowa)){1,2}|faktury"
    r"|(?:zálohová|konečná|opravná)\s+faktura|bolletta"
    r"|faktura\s*[–—-]\s*daňový\s+doklad|(?:opravný\s+)?daňový\s+doklad|dobropisu?"
    r"|kreditnota|\w{0,12}(?<!proforma)faktura)"
)

# The number stands behind its label ...
_OWN_NUMBERS = (
    # Not that of the invoice which a credit note takes back, nor of the last one.
    rf"(?<!\bzu )(?<!\bzur )(?<!original )(?<!previous )(?<!\blast )\b{DOCUMENT}s?[-\s.]*{_NO}",
    rf"\b{_NO}\s*(?:de\s+(?:la\s+)?|d['’]|d[ai]\s+|della\s+)?{DOCUMENT}\b",
    r"\bfactuur\s?nummer|\bnota\s?nummer",
    # Shortened; `Inv.-Nr.` would be an inventory's.
    rf"\binv\.?\s*no\b\.?|\bfra\b\.?\s*{_NO}",
    # A full stop or a hyphen shows that a word was cut: `Re.-Nr.`, `Fact. n°`, `Fakt.nr.`
    rf"\b(?:(?:rg|re|rech|rechn)(?:\.?-|\.)\s?nr\b\.?|(?:fact|fatt|fakt|inv)\.\s?{_NO}|(?:fact|fakt|rg)nr\b\.?|fakt\.-nr\b\.?|(?:{_NO}\s?fv|fv\s?{_NO})(?!\w))",
)
_RECEIPT_NUMBERS = (
    # What a till prints.
    r"\b(?:kassa?(?:en)?)?bon-?\s?(?:nummer|nr\b\.?)",
    rf"\b(?:kassenbeleg|documento\s+commerciale|paragon\s+fiskalny)[-\s.]*{_NO}",
    # OCR overlooks the small circle of `n°`.
    (
        rf"\b(?:kassenbon|quittung|ticket|recibo|re[çc]u|scontrino|ricevuta|kvitto|kvittering|paragon|účtenka)"
        rf"s?[-\s.]*(?:{_NO}|n\W?(?=\s?\d))"
    ),
)
_BILL_REFERENCE = r"^\W*bill\s+ref(?:erence)?\b\.?"
INVOICE_NUMBER = match_any(*_OWN_NUMBERS, _BILL_REFERENCE, *_RECEIPT_NUMBERS)
OWN_NUMBER = match_any(*_OWN_NUMBERS)
# That of a landlord's or a carrier's paper has this name too: it counts where the invoice has no other number.
BILL_REFERENCE = match_any(_BILL_REFERENCE)
# A help desk numbers tickets as well: it counts where the invoice has no number of its own.
RECEIPT_NUMBER = match_any(*_RECEIPT_NUMBERS)
# That of any paper: whether it is the invoice's a title has to say.
DOCUMENT_NUMBER = match_any(
    rf"^\W*(?:document|dokument(?:en)?|documento|invoice\s+ref(?:erence)?\b\.?)[-\s.]*(?:{_NO}|(?=:))",
    rf"^\W*(?:(?:doc|dok)\.|bilags?|boekstuk|doklad|pièce)[-\s.]*{_NO}",
    rf"^\W*{_NO}\s*(?:de\s+|del\s+|do\s+)?(?:documento?|dokladu|dokumentu|doc\b\.?|dok\b\.?|pièce)(?!\w)",
)
# ... or behind the headline itself.
# `Rechnung an:` says whom one will be sent to.
HEADLINE = re.compile(
    rf"^\W*{DOCUMENT}\b(?!\s+(?:an|to|à|aan|til|till)\s*(?::|$))(?!\s+(?:address|recipient|details|summary)\b)(?:\s*\(\w+\))?[\s#:.–-]*(?:{_NO}\s*:?\s*)?",
    re.IGNORECASE,
)
# `Your invoice`, `Ihre Rechnung vom 3.5.2026`: it may be an invoice, whatever else it refers to.
OWN_INVOICE = re.compile(
    r"^\W*(?:(?:sales|vat|service|your|ihre|votre|su|tu|uw|la\s+(?:tua|vostra)|a\s+sua|din)\s+)?"
    rf"{DOCUMENT}(?:\W*$|\s+(?:vom|du|del|van|of|dated)\b)",
    re.IGNORECASE,
)
# `Nummer/Datum` and below it `90012345 / 14.03.2026`.
NUMBER_AND_DATE = re.compile(
    rf"^\W*(?:{DOCUMENT}s?[-\s.]*)?{_NO}\s?/\s?-?\s?(?:date|datum|data|dato|fecha)\W*$", re.IGNORECASE
)
# Of two sheets one says that it is the copy.
_SHEET = r"(?:original(?:e)?|oryginał|originál|duplicado|duplicata|c[óo]pia|copie|kopi[ae]|copy|duplicate|duplikat)"
BARE_DOCUMENT = re.compile(rf"^\W*{DOCUMENT}(?:\W+{_SHEET})?\W*$", re.IGNORECASE)
BARE_NUMBER = re.compile(
    r"^\W*(?:number|nummer|numéro|numero|número|numer|číslo|n[or]\.?|n\.?\s?[º°]\.?)\W*$", re.IGNORECASE
)
BARE_NUMBER_SIGN = re.compile(
    r"^\s*(?:#|n[or][.:]|n[or]\s(?=\S*\d)|n\.?\s?[°º]\.?|č\.|(?:number|nummer|numéro|numero|número|numer|číslo)(?:\s*:|\s(?=\S*\d)))\s*",
    re.IGNORECASE,
)
# What may stand in capitals between a number's label and a date.
BEFORE_DATE = re.compile(r"(?:date?d?|data|dato|dt|le|du|del?|vom|von|den|am|van|dne|dnia|z|on|of)", re.IGNORECASE)

ISSUE_DATE = match_any(
    r"\b(?:invoice|bill(?:ing)?|issue|tax(?:\s+point)?)\s*date\b|^\W*tax\s+point\W*(?=$|\d)|\binvoice\s*/\s*tax\s*(?:point)?\s*date\b",
    r"\bdate\s+(?:of\s+)?(?:issued?|invoice)\b",
    r"\bissued\s+(?:on|at)\b|^\W*issued\W*(?=$|\d)",
    r"\b(?:rechnungs|beleg|ausstellungs|dokument(?:en)?)-?\s?(?:/\s?[^\W\d_]{3,16})?datum\b",
    r"\brechnung\s+(?:aus|er)gestellt\s+am\b|^\W*ausgestellt\s+am\b",
    r"\bdate\s+(?:de\s+(?:la\s+)?)?(?:facture|facturation|l['’]avoir)\b",
    r"\bdate\s+d['’]émission\b|\bfacture\s+(?:émise|établie)\s+le\b|^\W*(?:émise|facturée?)\s+le\b",
    r"\b(?:factuur|nota)\s?datum\b|\bdatum\s+(?:factuur|nota)\b",
    r"\bdata\s+(?:wystawienia|faktury)\b|\bwystawiono(?:\s+(?:dnia|w\s+dniu))?(?=\W*\d)",
    r"\b(?:fecha|f\.)\s*(?:de\s+(?:la\s+)?)?(?:factura|fra\b\.?|emisión|expedición)",
    r"\bdata\s+(?:(?:della|di|da|de)\s+)?(?:fattura|emissione|documento|fatura|emissão|faturação)\b",
    r"\bdata\s+doc\b\.?(?=\W*(?:$|\d))|^\W*emitida\s+em\b",
    r"\bdatum\s+vystavení\b|\bvystaveno(?:\s+dne)?\b",
    r"\b(?:faktura|kreditnota|udstedelses)dato\b|\bfakturadatum\b|^\W*(?:udstedt|utställd)(?:\s+den)?(?=\W*(?:$|\d))",
)
_BEFORE_DAY = r"(?=\s*\d{1,4}[./-]\s?\d{1,2}[./-]\s?\d|\s*\d{1,2}(?:st|nd|rd|th|\.)?\s+[^\W\d]{3})"
ISSUE_DATE_IN_HEADLINE = re.compile(
    r"\b(?:vom|von|dated?|issued\s+(?:at|on)|du|van|de(?=\s+\d{1,2}\s+de\b)|z\s+dnia|del|dne)\b"
    r"|\b(?:d\.\s?d\.?|(?:de|con)\s+fecha|in\s+data|emessa\s+il|de|af|den|of)(?!\w)(?:\s?:)?"
    + _BEFORE_DAY
    + r"|(?<=\d)(?:,|\s[–—/-])\s"
    + _BEFORE_DAY,
    re.IGNORECASE,
)
BARE_DATE = re.compile(
    r"^\W*(?:(?:date|datum|data|dated|dato|fecha|le)\b\W*(?=$|\d|[a-z]+[,:]?\s)|del\W*$|[^\W\d_]{2,30},\s?(?:den|le|li|lì|dnia)\W*$)",
    re.IGNORECASE,
)
# `Fakturanr.: 10934 | Dato: 18-05-2026 | Kundenr.: 555`: behind a bar, where the number is before it.
DATE_BEHIND_BAR = re.compile(r"(?:\s?[|•·]\s?|\s)(?:date|datum|data|dato|fecha)\b\W{0,3}(?=\d)", re.IGNORECASE)
# What a receipt has in place of the day on which it was issued.
PAID_DATE = re.compile(
    r"^\W*(?:date\s+paid|paid\s+on|bezahlt\s+am|(?:payée?|acquittée?)\s+le|betaald\s+op|pagad[ao]\s+e[lm]|pagato\s+il)\b",
    re.IGNORECASE,
)

# Where a day by its month begins.
_DAY = (
    r"(?:\d{1,2}(?:st|nd|rd|th)?[\s-](?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)|\d{1,4}[./-]\d{1,2}[./-]\d"
    r"|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}\.?\s+\d)"
)
DUE_DATE = match_any(
    r"\b(?:payment\s+)?due\s+(?:date|on|by)\b|^\W*due\W*$",
    # `Terms: 30 days. Due 20 April 2026`; `due 30 days` counts from another day.
    rf"(?<!past )(?<!previous balance )\bdue\b[\s:]{{1,3}}(?={_DAY})",
    r"\bto\s+be\s+(?:paid|settled)\s+(?:by|before|on)\b",
    r"\bdate\s+due\b",
    r"\bpay(?:ment)?\s+(?:due|by)\b",
    r"\bplease\s+(?:remit|pay)\s+(?:until|by|before)\b",
    r"\bfällig(?:keit)?(?:s-?\s?datum)?(?:\s+(?:am|bis|zum))?\b",
    r"\bzahlbar\s+(?:bis|(?:spätestens\s+)?(?:am|zum)(?=\s+\d))(?!\w)|\bzahlungsfrist\b",
    r"\b(?:zu\s+zahlen|überweisen\s+sie|zahlung(?:seingang)?)\s+bis\b",
    # `oder bis 30.10.2026 rein netto`, behind the line of a cash discount.
    r"(?:^\W*|\boder\s+|\bskonto\W{1,3})bis(?:\s+(?:zum|spätestens))*(?=\s+\d{1,2}\.\s?\d{1,2}\.\s?\d{2,4}\W{1,2}(?:(?:rein\s+)?netto(?!\W*\d)|ohne\s+(?:jeden\s+)?(?:abzug|skonto))\b)",
    # `ohne Abzug bis 05.12.2026`, as a line of its own or behind one of a cash discount.
    r"\b(?:(?:rein\s+)?netto(?:\s+zahlbar)?|ohne\s+(?:jeden\s+)?(?:abzug|skonto))\s+bis(?:\s+(?:zum|spätestens))*(?=\s+\d)",
    r"\b(?:zahlbar|zahlung)\b[^.\d]{0,20}\d{1,3}[^.\d]{0,60}\b(?:spätestens|bis)(?:\s+(?:am|bis|zum))?(?=\s+\d)",
    # A sentence: `Bitte überweisen Sie den Betrag bis 14.05.2026`, `please pay £10.00 into our account by 3 May 2026`.
    r"\b(?:überweis\w*|begleich\w*|zahlen\s+sie|zahlungsbedingung\w*)[^.\d]{0,60}\bbis(?:\s+(?:zum|spätestens))*(?=\s+\d)",
    r"\b(?:please\s+(?:pay|transfer|remit|settle)|payment\s+is\s+due)\b[^.\d]{0,60}\b(?:by|before|until|on)(?=\s+\w)",
    r"\b(?:terms\s+of\s+payment|payment\s+terms)\b[^.\d]{0,20}\d{1,3}\s+days\W{1,3}(?=\d)",
    r"\b(?:veuillez|merci\s+de)\b[^.\d]{0,60}\b(?:avant\s+le|au\s+plus\s+tard\s+le|jusqu['’]au)(?=\s+\d)",
    r"\b(?:verzoeken|gelieve)\b[^.\d]{0,60}\b(?:vóór|voor|uiterlijk(?:\s+op)?)(?=\s+\d)",
    r"\bzahlungsziel\b",
    # Where the account is debited that is the day on which it is paid.
    r"\b(?:(?:wird|werden)\s+am|buchen\s+wir(?:\s+\w+){0,3}?\s+am|ziehen\s+wir(?:\s+\w+){0,3}?\s+am|wir\s+(?:buchen|ziehen)(?:\s+\w+){1,4}?\s+am)(?=\s+\d[^!?]{0,120}\b(?:(?:ab|ein)(?=\W*$|[.,;)])|abgebucht|eingezogen|von\s+(?:ihrem|deinem)\s+konto)\b)",
    # `30 jours date de facture, soit le 18/07/2026`
    r"\b\d{1,3}\s+jours\b[^.\d]{0,40}\bsoit\s+le(?=\s+\d)",
    r"\b(?:prélevée?|prélèvement(?:\s+prévu)?)\s+(?:le|à\s+partir\s+du)(?=\s+\d)|\bdate\s+de\s+prélèvement\b|\bfecha\s+de\s+(?:cargo|cobro)\b|\bse\s+cargará\s+el(?=\s+\d)",
    r"\bwill\s+be\s+(?:debited|collected|taken)\b[^.\d]{0,60}\bon(?=\s+\w)|\baddebit(?:o|at[oa])\s+il(?=\s+\d)|\bdata\s+(?:di\s+)?addebito\b",
    r"\bwordt\b[^.\d]{0,60}\b(?:op|rond|omstreeks)(?=\s+\d[^!?]{0,120}\b(?:afgeschreven|geïncasseerd)\b)|\bincassodatum\b|\bincasso\s+(?:op|rond|omstreeks)(?=\s+\d)",
    r"\bautogiro\s+dras(?=\s+\d)",
    r"\bdate\s+(?:limite\s+)?d['’]échéance\b|\bdate\s+limite\s+de\s+(?:paiement|règlement)\b",
    r"\béchéance\b",
    r"\b(?:à\s+payer|payable|à\s+régler)\s+(?:avant|jusqu['’]au|au\s+plus\s+tard)\b|\b(?:payable|paiement\s+dû)\s+le(?=\s+\d)",
    r"\bverval\s?da(?:tum|g)\b",
    r"\bbetalingstermijn\b[^.]{0,40}\b(?:vóór|voor|uiterlijk)(?:\s+op)?(?=\s+\d)",
    r"\b(?:uiterste\s+)?betaal\s?datum\b",
    r"\b(?:te\s+betalen|betalen)\s+(?:voor|vóór|uiterlijk)\b|\buiterlijk\s+te\s+betalen\s+(?:op|voor|vóór)\b",
    r"\bbetaling\b[^.]{0,40}\buiterlijk(?:\s+op)?(?=\s+\d)",
    r"\btermin\s+(?:p[łl]atno[śs]ci|zap[łl]aty)\b|\bzap[łl]at[ay]\b[^.\n]{0,40}\btermin\b",
    r"\bp[łl]atn(?:[ea]|o[śs][ćc])\s+do\b|\bzap[łl]ata\s+do(?:\s+dnia)?(?=\s+\d)",
    r"\b(?:fecha\s+(?:de\s+|límite\s+de\s+)?)?(?:vencimiento|pago)\b(?=\W*(?:$|\d))|\bvence(?:\s+el\b|(?=\W*\d))|\bvto\b\.?(?=\W*\d)|\b(?:pagar|abonar)\s+antes\s+del?\b",
    r"\b(?:data\s+(?:di\s+)?)?scadenz[ae]\b|\bscad\.(?=\W*\d)|\b(?:pagamento\s+)?entro\s+il\b|\bpagare\s+entro\b",
    r"\b\d{2,3}\s*gg\.?\s*d\.?\s?f\.?(?:\s?f\.?\s?m\.?)?\W{1,3}(?=\d{1,2}[/.-])",
    r"\b(?:data\s+(?:de\s+|limite\s+)?)?vencimento\b|\b(?:pagar|pagável)\s+até\b|\bdata\s+limite\s+de\s+pagamento\b",
    r"\b(?:datum\s+)?splatnosti?\b|\bsplatn[éoáý]\s+(?:do|dne)\b",
    r"\bbetalings(?:dag|dato)\b|\boss\s+tillhanda\s+senast\b|\bsista\s+betalningsdag\b|\batt\s+betala\s+senast\b",
    r"\bforfaldsdato\b|\bforfald\b|\bbetalingsfrist\b|\bforfalder\b|\bbetales\s+senest\b|\bsidste\s+rettidige\b",
    r"\bförfallo(?:dag|datum)\b|\bbetalas\s+senast\b|\bförfaller\b",
)

# Certainly the sum to the last cent, tax included.
TOTAL_GROSS = match_any(
    r"\b(?:(?:grand|gross)\s+total|total\s+gross)\b(?!\W{0,3}(?:weight|wt|kg|mass)\b)"
    r"|\btotal\s+zu\s+unseren\s+gunsten\b",
    r"\b(?:total\s+)?amount\s+(?:due|payable)\b",
    r"\b(?:invoice\s+total|total\s+(?:due|payable|invoice|(?:for\s+)?this\s+(?:invoice|bill)))\b",
    r"\b(?:balance|payable)\s+due\b|\bdue\s+payable\b",
    r"\btotal\b.{0,40}\b(?:incl(?:uding|usive|\.)?|inc\.?|with)\b.{0,12}\b(?:vat|tax|gst)\b",
    r"\bzu\s+zahlende[rn]?\s+(?:betrag|summe)\b",
    r"\bgutschrifts?-?\s?(?:betrag|summe)\b",
    r"\b(?:gesamt|rechnungs|end|brutto|zahl)-?\s?(?:betrag|beitrag|summe|prämie)\b(?!\s+(?:der|ohne|netto))",
    r"\bgesamtreisepreis\b|\breisepreis\s+(?:ins)?gesamt\b",
    r"\b(?:rechnungs|end|schluss)-?\s?total\b",
    r"\b(?:summe|gesamt|total)\s*(?:(?:EUR|CHF|DKK|SEK|NOK|€|kr\.?)\s*)?\(?(?:inkl|incl|brutto)",
    r"\bgesamtleistung\s+brutto\b",
    r"\btotale?\s*\(?\s*(?:iva|btw|mwst|ust|tva|vat|moms|dph)\s+(?:incl|inkl|compris)",
    r"\btotale\s+bolletta\b",
    r"\bsumme\s+brutto\b|\bbruttosumme\b|\bgesamtpreis\b",
    r"\b(?:total|montant)\s+(?:t\.?t\.?c|toutes)|\bmontant\s+total\b(?=\W*(?:$|\d|t\.?t\.?c|toutes|EUR\b|CHF\b|à\s+(?:payer|régler)))",
    r"\b(?:total|montant)\s+(?:total\s+)?de\s+(?:la|votre|cette)\s+facture\b(?!.{0,12}\b(?:h\.?t|hors|net)\b)",
    r"\b(?:net|total|montant|reste)\s+à\s+(?:payer|régler)\b",
    r"\bfactuur\s?totaal\b|\bfactuur\s?bedrag\b|\btotaal\s?bedrag\b",
    r"\btotaal\s+(?:incl|te\s+betalen|te\s+voldoen)|\bte\s+(?:betalen|voldoen)(?:\s+bedrag)?\b",
    r"\btotal\s+(?:do\s+)?documento\b",
    r"\btotal\s+(?:a\s+(?:pagar|abonar|devolver)|factura|con\s+iva|da\s+fatura|com\s+iva|geral)\b",
    r"\btotal\s+recibo\b|\bimporte\s+(?:total|a\s+pagar)\b|\bvalor\s+total\b|\btotal\s+importe\b|\bimporte\s+(?:de\s+la\s+)?factura\b",
    r"\bimportância\s+(?:recebida|a\s+(?:receber|pagar))\b|\bvalor\s+a\s+(?:pagar|receber)\b",
    # Given back.
    r"\b(?:zu\s+ihren\s+gunsten|à\s+rembourser|da\s+rimborsare|a\s+devolver|te\s+ontvangen|do\s+zwrotu|k\s+vrácení)\b",
    r"\batt\s+(?:erhålla|återfå)\b|\b(?:at|til)\s+(?:modtage|gode)\b|\b(?:total|amount)\s+(?:credited|refunded|to\s+be\s+refunded)\b",
    r"\btot(?:ale|\.)\s+(?:fattura|documento|da\s+pagare|a\s+pagare|ivato|complessivo)\b|\b(?:netto|importo)\s+(?:a|da)\s+pagare\b",
    r"\b(?:celkem\s+)?k\s+úhradě\b|\bcelkem\s+(?:s|včetně)\s+dph\b|\bcelková\s+částka\b",
    r"\b(?:beløb\s+)?[i1l|]\s+alt\b|\b(?:total\s+)?at\s+betale\b|\btil\s+betaling\b|\btotal\s+inkl\b|\bfakturabeløb\b",
    r"\b(?:sum|beløp)\s+(?:inkl?\.?\s*mva|til\s+gode)\b|\bå\s+betale\b",
    r"\b(?:summa\s+|belopp\s+)?att\s+betala\b|\b(?:summa|totalt)\s+inkl\b|\btotalbelopp\b",
    r"\b(?:nale[żz]no[śs](?:[ćc]|ci)|razem|suma)\s+(?:og[óo][łl]em|brutto)\b|\bdo\s+zap[łl]aty\b|\bwarto[śs][ćc]\s+brutto\b",
)
# Alone, or before its amount: `Total: GBP 300.00`.
TOTAL_GROSS_MAYBE = re.compile(
    r"^\W*(?:totale?|totaal|gesamt|summe|somme|razem|suma|ogółem|celkem|totalt|summa)\b(?:\s(?:i|in|en|em|w|v)(?=\s[A-Z]{3}\b))?[\s:*()€$£]{0,12}"
    r"(?:EUR|USD|GBP|CHF|PLN|CZK|DKK|SEK|NOK|CAD|AUD|Kč|kr\.?|zł)?[\s:*()€$£]{0,12}(?=$|[-−–]?\d)",
    re.IGNORECASE,
)

# Of an order or a period, shared among several, a fee: with or without tax, which only net and tax beside it tell ...
TOTAL_TO_CONFIRM = match_any(
    r"\b(?:order|bill|receipt)\s+total\b|\btotal\s+(?:charges\s+)?(?:for\s+)?this\s+period\b|\bgesamt(?:honorar|vergütung|entgelt)\b"
)
# ... and so is any sum of which these words say that more is invoiced than here: `Gesamtsumme Auftrag`.
OF_MORE = match_any(
    r"\b(?:orders?|contracts?|projects?|quot(?:e|ation)s?|guests)\b|\b(?:auftrag|vertrag|bestellung|projekt|angebot|kostenvoranschlag)\w{0,3}\b",
    r"\b(?:marché|contrat|commande|devis|chantier|travaux|projet)\b|\b(?:contrato|pedido|presupuesto|proyecto|obra|encomenda|orçamento|projeto)\b",
    r"\b(?:contratto|ordine|preventivo|progetto|lavori)\b|\b(?:contract|opdracht|bestelling|offerte|project)\b",
    r"\b(?:umow|zamówieni|zleceni|ofert|projekt)\w{1,3}\b|\b(?:smlouv|objednáv|zakáz|nabíd)\w{1,4}\b|\bdíl[oa]\b",
    r"\b(?:aftale|ordre|tilbud|kontrakt|entreprise|avtal|order|offert|beställning)\w{0,3}\b",
)

TOTAL_NET = match_any(
    r"\bsub\s?-?\s?total\b",
    r"\bnet\s*(?:total|amount|value)\b|\btotal\s+net\b",
    r"\btotal\b.{0,12}\b(?:excl(?:uding|\.)?|ex\.?|before|without|w/o)\b.{0,8}\b(?:vat|tax|gst)\b",
    r"\b(?:taxable|tax\s+base|tax\s+basis)\b",
    r"\bnetto-?\s?(?:betrag|beitrag|summe|wert|prämie)?\b(?!\s+a\s+pagare)|\b(?:summe|gesamt)\s+netto\b|\bzwischen(?:summe|total)\b|\bwarenwert\b",
    r"\b(?:rechnungs|gesamt)-?(?:summe|betrag)\s+(?:ohne|netto)\b|\bgesamt(?:leistung|honorar)\s+netto\b",
    r"\b(?:total|summe|gesamt\w{0,8}|zwischen(?:summe|total)|betrag)\b.{0,8}\b(?:exkl|excl|ohne|netto)\b\.?\s*(?:mwst|ust|umsatzsteuer|mehrwertsteuer)",
    r"\b(?:total|montant)\s+hors\s+(?:tva|taxes)\b",
    r"^\W*h\.?t\.?\W*$|\b(?:total|montant|sous-total)\s+h\.?t\b|\bsous-total\b|\bbase\s+h\.?t\b",
    r"\bexcl(?:usief|\.)?\s*(?:btw|vat)\b|\bsubtotaal\b|\bgrondslag\b|\btotaal\s+excl",
    r"\bwartość\s+netto\b|\b(?:razem|kwota)\s+netto\b",
    r"^\W*(?:charges|base)\W*$",
    r"\bbase\s+imponible\b|\btotal\s+(?:sin|sem)\s+iva\b|\b(?:importe|total)\s+neto\b|\bimponibile\b|\btotale\s+netto\b",
    r"\btotal\s+il[íi]quido\b|\bvalor\s+base\b|\bvalor\s+tributável\b",
    r"\b(?:total|valor)\s+líquido\b|\bbase\s+tributável\b|\bzáklad\s+daně\b|\b(?:celkem|cena)\s+bez\s+dph\b",
    r"\b(?:total|beløb|summa|totalt|belopp)\s+e(?:ks|x)kl\b|\be(?:ks|x)kl\.?\s+moms\b|\be(?:ks|x)k?l?\.?\s+mva\b|\bmomspli[gk]tigt\b|\bmomsgrundlag\b",
)
# All that may be left; of a contract, of points, of an account too: whether it is due, deductions from the total tell.
AMOUNT_DUE = match_any(
    r"\b(?:total\s+)?amount\s+(?:due|payable|outstanding)\b",
    r"\bbalance\s+(?:due|payable|outstanding|(?:left\s+)?to\s+(?:pay|be\s+paid))\b|\btotal\s+due\b|\bdue\s+payable\b",
    r"\b(?:still|left|remaining)\s+(?:due|to\s+(?:pay|be\s+paid))\b",
    r"\bzahlbetrag\b|\b(?:noch\s+)?zu\s+(?:zahlen|begleichen|entrichten)\b|\bnoch\s+zu\s+(?:überweisen|leisten)\b|\bnachzahlung(?:sbetrag)?\b",
    r"\brest(?:betrag|summe|zahlung|forderung|schuld)\b|\boffene[rs]?\s+(?:rest)?-?(?:betrag|forderung)\b",
    r"\bverbleibende[rs]?\s+(?:rechnungs|zahl|rest)?-?(?:betrag|summe|forderung)\b",
    r"\b(?:net|reste?|solde|montant)\s+(?:(?:restant\s+)?à\s+(?:payer|régler|verser)|restant\s+dû|dû)\b|\brestant\s+(?:dû|à\s+(?:payer|régler))\b",
    r"\b(?:nog\s+)?te\s+(?:betalen|voldoen)\b|\bslotbetaling\b",
    r"\b(?:pozosta[łl]o\s+)?do\s+(?:zap[łl]aty|dop[łl]aty)\b",
    r"\b(?:total|importe)\s+a\s+pagar\b|\b(?:totale|netto)\s+(?:da|a)\s+pagare\b|\bk\s+úhradě\b|\b(?:a[tt]t?|å)\s+betal[ae]\b",
    r"\b(?:saldo|resto|restante|valor)\s+(?:por\s+(?:pagar|liquidar)|a\s+(?:pagar|liquidar))\b|\bpendiente\s+de\s+(?:pago|cobro)\b",
    r"\b(?:importo|saldo|residuo|rimanenza|rimane|resta)\s+da\s+(?:pagare|versare|saldare)\b|\bfalta\s+pagar\b",
    r"\bzb[ýy]vá\s+(?:(?:k\s+)?(?:úhradě|doplacení)|uhradit|zaplatit|doplatit)\b|\bk\s+doplacení\b",
    r"\brest\s+(?:at|til)\s+betal\w{1,3}\b|\brestbeløb\b|\bkvar\s+att\s+betala\b|\båterstår\s+att\s+betala\b|\brestbelopp\b",
    r"\blíquido\s+a\s+(?:percibir|pagar|receber)\b",
    r"\bresidual\b|\boutstanding\b|\b(?:remaining|outstanding)\s+(?:balance|amount|sum)\b|\bremainder\b",
    r"\bnoch\s+offen\b|\brestsaldo\b|\b(?:restliche[rs]?|offene[rs]?|verbleibende[rs]?)\s+(?:summe|betrag|saldo|rest)\b",
    r"\bsolde\b|\brestant\b|\bopenstaand\b|\bresterend\w?\b|\brest(?:ant)?-?bedrag\b|\bpozosta(?:[łl]o|je)\b|\bpozosta[łl]a\s+(?:kwota|należność)\b",
    r"\b(?:saldo|resto|importe|valor)\s+(?:restante|pendiente|pendente)\b|\b(?:importo|saldo)\s+(?:residuo|rimanente|restante)\b|\bresiduo\b",
    r"\b(?:valor\s+)?(?:em\s+falta|remanescente)\b|\bzb[ýy]vá\b|\bdoplatek\b|\bresterende\b|\båterstå(?:r|ende)\b",
)

# A row of net, tax and gross that says only that it sums up.
TOTAL_ROW = re.compile(
    r"^\W*(?:totale?|totals|totaux|totaal|gesamt|summe|razem|ogółem|suma|celkem|součet(?:\s+položek)?|i\s+alt|totalt|summa)\W*$",
    re.IGNORECASE,
)
CURRENCY = re.compile(
    r"^\W*(?:(?:invoice\s+)?currency|(?:beleg)?währung|devise|monnaie|moneda|divisa|valuta|moeda|waluta|měna)\W*",
    re.IGNORECASE,
)
EXCHANGE = match_any(
    r"\bexchange\b|\b(?:umrechnungs|wechsel)?kurs\b|\btaux\s+de\s+(?:change|conversion)\b|\btipo\s+de\s+cambio\b|\bcambio\b",
    r"\b(?:wissel)?koers\b|\bcâmbio\b|\bkursu?\b|\bkurz\w{0,2}\b|\b(?:valuta|växel)kurs\b",
)

# A number in a register of businesses: its country's chamber or tax office gives none to people.
REGISTER = match_any(
    r"\b(?:siren|siret|kvk|hr[ab]|regon|iče?o|orgn?\.?\s?-?(?:nr|nummer)|organisations(?:nr|nummer)|abn|company\s+(?:reg\w*\.?\s+)?(?:no|number))\b"
)
VAT_ID = match_any(
    r"\b(?:v\.?a\.?t\.?|tax)\b",
    r"\bu?st[\s.-]*id",
    r"\bumsatzsteuer",
    r"\bmwst",
    r"\buid\b",
    r"\btva\b",
    r"\bbtw\b",
    r"\bnip\b",
    r"\bvat",
    r"\b[nc]\.?i\.?f\b|\biva\b|\bcontribuinte\b|\bnipc\b|\bdič\b|\bcvr\b|\bmoms",
)

SELLER = match_any(
    r"\bsprzedawca\b",
    r"\bwystawca\b",
    r"\bverkäufer\b",
    r"^\W*lieferant\b",
    r"\brechnungs(?:steller|aussteller)\b",
    r"^\W*(?:seller|vendor|supplier|from|remit\s+to|service\s+provider)\b",
    r"\b(?:issued|sold)\s+by\b|\bverkauft\s+(?:durch|von)\b|\bvendue?s?\s+par\b|\bverkocht\s+door\b|\bvendid[oa]\s+por\b",
    r"\bvendut[oa]\s+da\b|\bsprzedawan[ey]\s+przez\b|\bs[æä]lj?[egt]s?\s+a[fv]\b",
    r"^\W*(?:vendeur|fournisseur|émetteur|prestataire)\b",
    r"^\W*(?:leverancier|verkoper|afzender)\b",
    r"\b(?:transmitente\s+dos\s+bens\s+ou\s+)?prestador\s+d[eo]s?\s+serviços?\b",
    r"^\W*(?:vendedor|emisor|proveedor|fornitore|cedente(?:\s?/\s?prestatore)?(?:\s?\(fornitore\))?|fornecedor|emitente|dodavatel|prodávající|sælger|leverandør|säljare|leverantör)\b",
)
BUYER = match_any(
    r"\bbill(?:ed|ing)?\s+(?:to|address)\b",
    r"\bship(?:ped|ping)?\s+(?:to|address)\b",
    r"\bsold\s+to\b",
    r"\binvoiced?\s+(?:to|address)\b",
    # `Factura a nombre de` and `Rechnung an der Kasse bezahlt` go on.
    r"^\W*(?:rechnung|factuur|facture|factura|fattura|fatura|faktura|invoice)\s+(?:an|aan|à|a|dla|til|till|for)\s*(?::|\W*$)",
    r"\bdelivery\s+address\b",
    r"\b(?:customer|client|buyer|recipient)\b",
    r"\byour\b",
    r"^\W*(?:to|an|à|aan|para|til|till|dla|pro)\s?:?\W*$",
    r"\b(?:kunden?|käufer|empfänger|rechnungsempfänger|warenempfänger|auftraggeber|leistungsempfänger|besteller)\b",
    r"\b(?:liefer|rechnungs)(?:adresse|anschrift)\b",
    r"\bihre?\b",
    r"\b(?:acheteur|destinataire|votre)\b",
    # How letters address whom they are for.
    r"^\W*(?:spett(?:\.le|abile)|egregi[oa]|gentile)\b|^\W*exm[oa]\b|^\W*v/|\bvoss[oa]\b",
    r"\badresse\s+de\s+(?:livraison|facturation)\b",
    r"\b(?:facturée?|facturer|adressée?)\s+à\b",
    r"\b(?:klant|klient|koper|afnemer|opdrachtgever|factuuradres|afleveradres|uw)\b",
    r"\b(?:nabywca|odbiorca|kupujący|płatnik)\b",
    r"\b(?:cliente|destinatari[oa]|comprador|adquirente|committente|cessionario)\b|\b(?:factura(?:r|do)|fatura(?:r|do)|fattura(?:re|to))\s+a\b|\bacquirente\b",
    r"\b(?:odběratel|zákazník|kupující|příjemce|køber|kund|köpare|faktura(?:adresse?|adress|mottagare|modtager))\b|\bfakturer(?:as\s+till|es\s+til)\b",
)

COMPANY = re.compile(
    r"(?:\b(?:GmbH(?:\s*&\s*Co\.?\s*KG(?:aA)?)?|mbH|AG|KG|OHG|GbR|UG(?:\s*\(haftungsbeschränkt\))?|e\.\s?K\.|B\.?V\.?|N\.V\.?|V\.?O\.?F\.?"
    r"|Ltd\.?|Limited|LLC|L\.L\.C\.|LLP|Inc\.?|Corp\.?|Corporation|PLC|Pty|SARL|S\.A\.R\.L\.?|SASU?|EURL|S\.A\.S?\.?|SA|SE"
    r"|S\.p\.A\.|S\.r\.l\.|SRL|A/S|ApS|IVS|AB|Oy|(?:spol\.\s?)?s\.?\s?r\.\s?o\.|S\.L\.P\.?|S\.L\.U?\.?|S\.r\.l|Lda\.?|Ltda\.?|a\.\s?s\."
    r"|gGmbH|Ges\.?m\.?b\.?H\.?|e\.\s?U\.|LTD\.?|LIMITED|DAC|CLG|SLU?|S\.R\.L\.?|S\.P\.A\.?|SpA|S\.n\.c\.?|SNC|SCOP|SELARL|S[àa]rl|Sagl|BVBA|LDA\.?|LTDA\.?|I/S|K/S)|\b(?i:sp\.\s*z\s*o\.\s*o)\.?|\b(?i:spółka\s(?:akcyjna|jawna|komandytowa|cywilna|z\sograniczoną\sodpowiedzialnością))|\b[Ss]p\.\s*[jk]\.)(?=$|[\s,;)|●•·-])",
)

# Heads of the columns of an invoice's table; two languages or two words may share one.
DESCRIPTION = match_any(
    r"(?:^|/)\W{0,8}(?:description|item|product|service|activity|article|details)\b",
    r"(?:^|/)\W{0,8}(?:artikel|bezeichnung|beschreibung|produkt|leistung|position|text)",
    r"(?:^|/)\W{0,8}(?:designação|désignation|libellé|prestation|produit)",
    r"(?:^|/)\W{0,8}(?:omschrijving)",
    r"(?:^|/)\W{0,8}(?:nazwa|opis|towar|usługa)",
    r"(?:^|/)\W{0,8}(?:descripci|concepto|artículo|descrizione|articolo|descrição|artigo|popis|název|beskriv|vare\b|tekst|benämning)",
)
QUANTITY = match_any(
    r"\b(?:quantity|qty|hours|days|units)\b",
    r"\b(?:menge|anzahl|stunden|tage)\b",
    r"\bquantité|\bqté",
    r"\b(?:aantal|hoeveelheid)\b",
    r"\bilość\b",
    r"\b(?:cantidad|cant|quantit[àa]|q\.?t[àa]|quantidade|qtd|množství|antal)\b",
)
LINE_AMOUNT = match_any(
    r"\b(?:amount|amt|total|price)\b",
    r"\b(?:betrag|summe|gesamt|gesamtbetrag|(?:gesamt|einzel)?preis|nettowert|entgelt)\b",
    r"\b(?:montant|prix)\b",
    r"\b(?:bedrag|totaal|prijs)\b",
    r"\b(?:wartość|kwota|importe|precio|importo|prezzo|valor|preço|částka|cena|celkem|beløb|pris|belopp|summa)\b",
    r"\b(?:net|netto|gross|brutto)\b",
    # The currency over its amounts.
    r"^\W*(?:EUR|USD|GBP|CHF|PLN|CZK|DKK|SEK|NOK|Kč|kr|zł|€|£)\W*$",
)
# What a page has at its end for the next one to begin with.
CARRIED = match_any(
    r"^\W*(?:(?:carried|brought)\s+forward|übertrag|zwischensumme\s+seite|(?:à\s+)?report(?:er|é)?|transport(?:eren)?|suma\s+(?:y\s+sigue|anterior))\W*$",
    r"^\W*(?:(?:a\s+)?riporto|riportare|a\s+transportar|transporte|do\s+przeniesienia|z\s+przeniesienia|převod|overført|att\s+överföra)\W*$",
)
# What SAP's forms have below a position that has a discount.
NET_OF_POSITION = match_any(
    r"\b(?:nettowert|netto)\b.{0,12}\bposition\b|\bnet\s+(?:value|price)\b.{0,12}\b(?:item|position)\b",
    r"\bvaleur\s+nette\b.{0,12}\bposte\b|\bvalor\s+neto\b.{0,12}\bposición\b|\bvalore\s+netto\b.{0,12}\bposizione\b",
)
