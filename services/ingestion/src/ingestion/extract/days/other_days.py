"""Days that are called due, or follow `until`, of something else than a payment: a contract, a delivery, a service.

No list has all that may be due. So what is called due, and has a subject, counts only with a word that anybody writes
of a payment.
"""

import re
from collections.abc import Sequence

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels, values
from ingestion.extract.parties.account_words import is_neutral

_OTHER_THING = labels.match_any(
    r"contract|\bleas|\binsur|\bpolic(?:y|ies)|warrant|guarant|inspect|mainten|\bservice\b|\bmot\b|calibrat|vaccin|booster|check-?up|appointment|\breturn|renew|deliver|shipment|\blot\b|\bbatch|expir|licen[cs]e|subscription|domain|membership|completion",
    r"vertrag|versicherung|\bpolice|garantie|gewährleist|inspektion|prüfung|wartung|\btüv|\b[ha]u\b|kalibrier|eichung|impf|rückgabe|rücksend|verlänger|liefer|leistung|\bcharge|haltbar|lizenz|\babo|mitglied|\bgültig|miete\b|zeitraum",
    r"contrat|\bbail\b|domaine|assuranc|garanti|contrôle|entretien|révision|renouvel|livrais|\blot\b|péremption|abonnement|adhésion|validité|période",
    r"contrato|\bdominio|seguro|póliza|garant[íi]a|revisión|\bitv\b|renovaci|entrega|\blote\b|caducidad|licencia|suscripci|validez|período|oferta",
    r"contratto|polizza|assicuraz|garanzia|revisione|rinnovo|consegn|\blotto|licenza|abbonament|validit[àa]|periodo|offerta|bollo",
    r"\bpolis|\bdomein|verzeker|keuring|\bapk\b|onderhoud|verleng|lever(?:ing|datum|dag)|\bpartij|licentie|geldig|periode",
    r"seguro|ap[óo]lice|garantia|inspe[cç]|renova[cç]|validade",
    r"umow|polis|gwaranc|przegląd|dostaw|partia|ważno|licencj|okres",
    r"smlouv|pojist|záruk|prohlídk|\bstk\b|dodán|doruč|šarž|platnost|licenc|období",
    r"\baftale|kontrakt|forsikring|eftersyn|\bsyn\b|levering|gyldig|licens|periode|\bavtal|försäkring|besiktning|underhåll|leverans|giltig",
)
_NEXT = labels.match_any(
    r"\bnext\b|\bsubsequent|\bfollowing|\bnächst|\bfolgend|\bsuivant|\bsiguiente|\bsuccessiv|\bseguinte|\bkolejn|\bnásledující|\bfølgende|\bkünftig|\bprochain|\bpróxim|\bprossim|\bvolgende|\bnastępn|\bpříští|\bdalší|\bnæste|\bnästa|\bpreviou|\blast\b|\bletzt|\bprécédent|\banterior|\bprecedente|\bvorige\b"
)
# An instalment that begins, and what is kept back until a later day.
_LATER = labels.match_any(
    r"\bnew\b|\bneue[rsn]?\b|\bnouve(?:au|l|lle)s?\b|\bnieuwe?\b|\bnuev[oa]s?\b|\bnuov[oaei]\b|\bnov[oa]s?\b|\bnow[aey]\b|\bnov[ýáéí]\b|\bny(?:e|tt|a)?\b",
    r"\bretention|einbehalt|\bretenue|\britenut|\btrattenut|\bretenci|\bretenç|\binhouding|\bkaucj|\bpozastávk|\btilbageholdt|\binnehåll|\binsurer|\bmutuelle|absetzbar|deductible",
)
# What is asked for, or lasts, until then is no payment, though a word for paying stands beside it.
_NEVER = labels.match_any(
    r"\battention\b|\bquer(?:y|ies)\b|\bfiles?\b|\bsign(?:ed|ature)?\b|certificate|\bbooks\b|\bgoods\b|\bclosed\b|tax\s+return|\bparts\b",
    r"zeitraum|gültig|freistellung|steuererklärung|geschlossen|rückgabe|retourn|confirm|rendez-vous|\bsigné|\britir|\bmerci\s+v|opmerking|\bpallet|reklama|reclama|devolu|\bretur|interest\s+will|instalment|\bdeposit\b",
)
# These ask for something: of a payment only where they say so.
_REQUEST = re.compile(r"^\W*(?:veuillez|merci|verzoeken|gelieve)\b", re.IGNORECASE)
_PAYMENT = labels.match_any(
    r"\bpay|\bpaid|invoice|\bbill\b|amount|balance|settle|remit|\bterms\b|zahl|rechnung|betrag|überweis|begleich|skonto|kondition|abgebucht|eingezogen",
    r"paie|paye|pay[ée]|régl|règl|facture|montant|solde|prélèv|\bpag[oauá]|pagar|pagá|abon[ao]|factura|fattura|fatura|importe|importo|saldo|bonific|versament|cargo|cobro|addebit|riba|ri\.?\s?ba",
    r"betal|voldo|over\s+te\s+maken|overma(?:ken|akt)|\bvirement|\bvirer\b|\bverser\b|factuur|bedrag|incasso|p[łl]atn|zap[łl]a|płac|faktur|kwot|splatn|úhrad|plateb|platb|částk|fakturu|beløb|belopp|tillhanda|rettidig|autogiro",
)
# Alone these say only until when, or that all is to be paid.
_BARE_UNTIL = re.compile(r"^\W*(?:(?:oder\s+)?bis\b|(?:rein\s+)?netto|ohne\b|entro\b)", re.IGNORECASE)
_BEGINNING_OF_PERIOD = re.compile(
    r"\b(?:vom|von|ab|seit|dal|dall['’]?|a\s+partire)\s+\S{0,3}\s*(?:\d[\d.\s/]{0,8}|\u2022)\W*$", re.IGNORECASE
)


def is_of_other_thing(
    page: Sequence[TextLine], index: int, cell: TextCell, match: re.Match[str], invoice_number: str | None
) -> bool:
    """Whether the words around a label say that something else than this invoice's payment is due or ends then."""
    before = re.split(r"[.!?;]\s+(?=[^\W\d])|\s[–—|]\s", cell.text[: match.start()])[-1]
    day = values.DATES.search(cell.text, match.end())
    behind = cell.text[match.end() : day.start() if day else None]
    words = f"{values.mask_dates(before)} {behind}"
    if _NEVER.search(f"{words} {match[0]}") or _NEXT.search(words) or _names_other_invoice(before, invoice_number):
        return True
    if _LATER.search(words):
        return True
    if _BARE_UNTIL.match(match[0]):
        return not _goes_on_from_payment(page, index, cell, before)
    if _REQUEST.match(match[0]):
        return _PAYMENT.search(cell.text) is None
    if _names_other_subject(before, match[0]):
        return True
    return _OTHER_THING.search(words) is not None and not _PAYMENT.search(f"{words} {match[0]}")


# What a label of such a day may begin with, beside the words that anybody writes of a payment.
_OF_DAY = labels.match_any(
    r"^(?:dat\w{0,2}|fecha|da(?:y|te)s?|tage?n?|termi\w{0,3}|delai|délai|limit\w{0,2}|ultim\w|final\w?|letzt\w{0,2}|spätest\w{1,3}|conditions?|condiciones|condizioni"
    r"|condições|voorwaarden|warunki|podmínky|betingelser|villkor|total\w{0,2}|gesamt\w{0,8}|suma|sum|summe|celkem|razem|somme|preis|price|prix|prezzo|precio|preço|cena|pris)$"
)
_DUE = labels.match_any(r"due|fällig|échéance|verval|termin|vencim|vence|scad|splatn|forfald|förfall")
_WORD = re.compile(r"[^\W\d_]+")
_SHORT_WORD = 3  # letters


def _names_other_subject(before: str, label: str) -> bool:
    """`Ölwechsel fällig am …`, `Punkty: płatne do …`: whatever it is that is due, it is not called a payment."""
    subject = re.split(r"\d|\u2022|[.!?]\s*$", values.mask_dates(before))[-1].rstrip()
    is_called_due = _DUE.search(label) is not None and _PAYMENT.search(label) is None
    if _PAYMENT.search(subject) or not (is_called_due or subject.endswith(":")):
        return False
    words = [word.lower() for word in _WORD.findall(subject) if len(word) > _SHORT_WORD]
    return any(not is_neutral(word) and not _OF_DAY.search(word) for word in words)


_NUMBERED = re.compile(
    rf"\b{labels.DOCUMENT}\w{{0,3}}\s+(?:\w{{1,8}}[.°º:]?\s+)?(?P<number>[\w/.-]*\d[\w/.-]*)", re.IGNORECASE
)


def _names_other_invoice(text: str, invoice_number: str | None) -> bool:
    """`… auch die Rechnung 2026-4400 vom 01.10.2026, fällig am 20.11.2026`"""
    named = [match["number"].strip(".") for match in _NUMBERED.finditer(values.mask_dates(text))]
    return invoice_number is not None and any(number not in invoice_number for number in named)


def _goes_on_from_payment(page: Sequence[TextLine], index: int, cell: TextCell, before: str) -> bool:
    """`bis 05.12.2026 netto` below a line on a discount, but not the end of what lasts from one day to another."""
    above = page[index - 1] if index and page[index - 1].page == page[index].page else None
    if above is not None and _BEGINNING_OF_PERIOD.search(values.mask_dates(above.text)):
        return False
    near = [before] if _OTHER_THING.search(before) else [cell.text, page[index].text, above.text if above else ""]
    return any(map(_PAYMENT.search, near))
