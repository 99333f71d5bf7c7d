"""What an invoice calls its tax, and how it says that a sum contains it or that none is owed."""

import re

from ingestion.extract.labels import match_any

_INSURANCE_TAX = (
    r"(?:versicherungs?steuer|insurance\s+premium\s+tax|ipt|assurantiebelasting|taxes?\s+(?:sur\s+les\s+conventions\s+)?d['’]assurances?"
    r"|impuesto\s+(?:sobre\s+)?(?:las\s+)?primas(?:\s+de\s+seguros?)?|imposte?\s+(?:di\s+|sulle\s+)?assicurazion[ei]|skadesforsikringsafgift|premieskatt)"
)
_TAX_WORD = (
    r"(?:v\.?a\.?t\.?|sales\s+tax|tax(?:es)?|gst|mwst|ust|umsatzsteuer|mehrwertsteuer|tva|t\.v\.a\.?|btw|podat(?:ek|ku)"
    rf"|i\.?v\.?a\.?|dph|moms|mva|merverdiavgift|imposto\s+d[eo]\s+selo|{_INSURANCE_TAX})"
)
INSURANCE_TAX = re.compile(rf"\b{_INSURANCE_TAX}\b", re.IGNORECASE)
_CONTAINED = (
    r"(?:of\s+which|davon|darin(?:\s+enthalten)?|enthaltene|dont|di\s+cui|de\s+los\s+cuales|waarvan"
    r"|w\s+tym|z\s+toho|varav|därav|heraf|includ(?:es|ing)|beinhaltet|enthält|inclu[iy]e|inclut|comprende|heri)"
)
INCLUDING = (
    r"incl?\.?|inkl\.?|enth\w{0,5}\.?|including|includes|dont|incluido|inclusief|w\s+tym|vč\.?|zahrnuje|heraf|varav"
    r"|dei\s+quali|di\s+cui"
)
# `(inkl. 3,14 € MwSt.)`
TAX_IN_BRACKETS = re.compile(
    rf"\((?:{INCLUDING})\s+(?P<amount>[^()%]{{3,16}}?)\s*(?:\d{{1,2}}(?:[.,]\d+)?\s?%\s*)?{_TAX_WORD}\W{{0,3}}\)",
    re.IGNORECASE,
)
TAX_WORD = re.compile(rf"\b{_TAX_WORD}\b", re.IGNORECASE)
TAX_CONTAINED = re.compile(rf"^\W*{_CONTAINED}\s*(?:\d+(?:[.,]\d+)?\s?%\s*)?{_TAX_WORD}\b", re.IGNORECASE)
TOTAL_TAX = match_any(
    rf"\b(?:totale?|tot\.|kwota|razem|totaal|montant|gesamt|summe|cuota|importe|celkem|valor)\s+(?:de\s+la\s+)?{_TAX_WORD}\b",
    rf"\b{_TAX_WORD}[\s.-]*(?:total|amount|betrag|bedrag|gesamt)\b",
    r"\btotale?\s+impost[ao]\b",
    r"^\W*(?:steuerbetrag(?:\s+in)?|impost[ao]|taxes?)\W*$",
    rf"^\W*(?:\+|zzgl\.?|zuzügl\.?|plus|incl\.?|inkl\.?|{_CONTAINED})?\s*(?:\d+(?:[.,]\d+)?\s?%\s*)?{_TAX_WORD}\b",
    r"^\W*(?:(?:cuota|importe)\s+)?(?:rec(?:argo)?\.?\s+(?:de\s+)?equiv|r\.?\s?e\.?(?=\W*$))|^\W*(?:cuota|importe)\s+rec(?:argo)?\b",
)
NOT_A_TAX_AMOUNT = match_any(
    rf"\b{_TAX_WORD}[\s.-]*(?:id|nr|no|reg|number|nummer|base|basis|intra|ident|code|exempt|%)",
    r"customer|kunde|client|zákazník|\bkund\b",
    rf"\b(?:excl|incl|inkl|exkl|ekskl|eks|ink|ex|without|w/o|hors|sin|sem|bez|senza|con|com|včetně)\w*\.?\s*{_TAX_WORD}",
    r"capital|siret",
)
# What comes on top of a sum: `Hinzu kommen 190,00 EUR Umsatzsteuer`, `prices plus VAT`.
TAX_ON_TOP = re.compile(
    rf"\b(?:zzgl|zuzügl\w{{0,5}}|plus|hinzu\w{{0,9}}|excl\w{{0,6}}|exkl\w{{0,6}}|ekskl|hors|más|mais|più|tillkommer)\b\W{{1,2}}(?:\S{{1,16}}\s){{0,4}}{_TAX_WORD}\b",
    re.IGNORECASE,
)
TAX_WITHIN = match_any(
    rf"\b{_CONTAINED}\b|\b(?:incl?|inkl|enthalten\w{{0,2}}|compris\w?|includ\w{{1,3}}|inclu[ií]d\w{{1,2}}|inbegr\w{{3,6}}|begrepen|zawier\w{{1,3}}|vč|včetně|ingår|inkluder\w{{1,2}})\b|\bt\.?t\.?c\b"
)
TAX_NOT_WITHIN = match_any(
    r"\b(?:not|nicht|non|no|niet|nie|ej|inte|ikke|não)\s+(?:\S{1,12}\s+)?(?:incl|inkl|enth|compri|inbegr|begrepen|zawier|ingår)"
)
WITH_TAX = re.compile(
    rf"\b(?:incl?|inkl|plus|zzgl|zuzügl|with|avec|con|com|met|med|včetně|inclu\w{{1,6}}|compris\w?)\b\W{{0,3}}(?:[\w.]{{1,12}}\W{{1,3}}){{0,2}}{_TAX_WORD}\b"
    rf"|\b{_TAX_WORD}\W{{1,2}}(?:incl|inkl|compris|includ|ber[üu]cksichtigt)|\bt\.?t\.?c\b|\b(?:brutto|bruttosumme|bruttobetrag)\b",
    re.IGNORECASE,
)
# Of whoever says so no tax is owed: a small business, or one whose customer owes it.
_SMALL_BUSINESS = (
    r"\bkleinunternehmer|§\s?19\b.{0,20}\bustg\b|§\s?6\b.{0,16}\b27\b.{0,8}\bustg\b",
    r"\bnot\s+(?:currently\s+)?(?:vat[\s-]+registered|registered\s+for\s+vat)\b|\bno\s+vat\s+(?:is\s+)?(?:charged|payable|applies)\b",
    r"\btva\s+non\s+applicable\b|\b293\s?b\b.{0,12}\bcgi\b|\bkleineondernemersregeling\b",
    r"\bregime\s+forfett?ario\b|\bsenza\s+applicazione\s+dell['’]\s?iva\b",
    r"\biva\s*[–—-]?\s*regime\s+de\s+isenção\b|\bzwolnien\w{1,2}\s+.{0,12}\bart\.\s?113\b",
    r"\b(?:neplátce|nejs\w{1,3}\s+plát\w{2,4})\s+dph\b",
)
SMALL_BUSINESS = match_any(*_SMALL_BUSINESS)
NO_TAX = match_any(
    *_SMALL_BUSINESS,
    r"\bsteuerschuldnerschaft\b|\breverse[\s-]charged?\b|\bautoliquidation\b|\bbtw\s+verlegd\b",
    r"\binversione\s+contabile\b|\binversión\s+del\s+sujeto\s+pasivo\b|\biva\s*[–—-]?\s*autoliquidação\b",
    r"\bodwrotne\s+obciążenie\b|\bpřenesen\w{1,4}\s+daňov\w{1,3}\b|\bomvendt\s+betalingspligt\b|\bomvänd\s+(?:skatt|betalnings)skyldighet\b",
)
