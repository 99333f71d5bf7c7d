"""Who stands on an invoice and neither wrote nor pays it: whose partner a business is, who insures it, what program
made the paper, over whom it was ordered, who delivered. What is said of them is no sign of whose invoice it is."""

import re
from collections.abc import Sequence

from ingestion.domain.transcript import TextLine
from ingestion.extract import labels
from ingestion.extract.parties.company_names import normalize_name

# Each ends with the small word before the name: `Partner of`, `erstellt mit`.
_RELATIONS = (
    r"\bc\s?/\s?o\b",  # at whose address somebody is
    r"\b(?:partner|member|part|division|subsidiary|franchisee|(?:company|brand|business))\s+(?:of|in)\b",
    r"\b(?:powered|insured|delivered|shipped|processed|accredited|certified|approved|underwritten|operated)\s+by\b",
    r"\b(?:created|made|generated|printed|produced|written)\s+(?:with|by|in|using)\b",
    r"\b(?:ordered|booked|paid|shipped|insured)\s+(?:via|through|with)\b|\bpayments?\s+(?:via|through|by|processed|to)\b",
    r"\bassign(?:ed|ment)\s+(?:to|of)\b",
    r"\b(?:partner|mitglied|unternehmen|tochter\w{0,15}|marke|fachbetrieb|franchise\w{0,8})\s+(?:der|des|von|bei|im|in)\b",
    r"\b(?:erstellt|gedruckt|erzeugt|geschrieben)\s+(?:mit|von|durch)\b",
    r"\b(?:versichert|geliefert|vermittelt|bestellt|gebucht|bezahlt)\s+(?:bei|durch|von|über|mit|per)\b",
    r"\b(?:lieferung|versand|zustellung|zahlung(?:en)?|bestellung|vermittlung|buchung)\s+(?:durch|über|per|mit|via)\b",
    r"\bab(?:getreten|tretung)\s+an\b",
    r"\b(?:membre|partenaire|adhérente?|filiale|franchisée?)\s+(?:de\s+la|de\s+l['’]|du|des|de|d['’])",
    r"\bsociété\s+du\s+groupe\b",
    r"\b(?:générée?s?|créée?s?|éditée?s?|imprimée?s?|réalisée?s?)\s+(?:par|avec|sur|sous)\b",
    r"\b(?:livrée?s?|livraison|assurée?s?|payée?s?|paiements?|commandée?s?)\s+(?:par|via|auprès\s+de|sur|à)\b|\bcédée?\s+à\b",
    r"\b(?:membro|socio|associat[oa]|iscritt[oa]|aderente)\s+(?:di|del|della|al?|alla)\b|\bsocietà\s+del\s+gruppo\b",
    r"\b(?:generat|creat|stampat|realizzat|emess)[oa]\s+(?:da|con|tramite)\b",
    r"\b(?:assicurat|consegnat|ordinat|pagat|cedut)[oa]\s+(?:da|con|presso|tramite|su|al?|alla)\b",
    r"\b(?:lid|partner|onderdeel|dochter|aangesloten)\s+(?:van|bij)\b",
    r"\b(?:gemaakt|aangemaakt|opgesteld)\s+(?:met|door|in)\b|\b(?:overgedragen|gecedeerd)\s+aan\b",
    r"\b(?:verzekerd|bezorgd|geleverd|besteld|betaald|verzonden)\s+(?:bij|door|via|met)\b",
    r"\b(?:miembro|socio)\s+(?:de\s+la|del|de)\b|\bempresa\s+del\s+grupo\b",
    r"\b(?:generad|cread|hech|impres|emitid|asegurad|entregad|enviad|pedid|pagad|cedid)[oa]\s+(?:por|con|en|a|vía)\b",
    r"\b(?:membro|sócio|parceir[oa])\s+d[aeo]\b|\b(?:processad|gerad|criad)[oa]\s+(?:por|com)\b",
    r"\b(?:entregue|enviad[oa]|pag[oa]|segurad[oa])\s+(?:por|via|em)\b",
    r"\b(?:członek|część)\s|\bwystawion\w{1,2}\s+(?:w|za\s+pomocą|programem|przez\s+program)\b",
    r"\b(?:wygenerowan|utworzon|wydrukowan|dostarczon|ubezpieczon|zamówion|opłacon)\w{1,2}\s+(?:przez|w|za|z)\b",
    r"\b(?:przeniesion|scedowan|przelan)\w{1,2}\s+na\b",
    r"\b(?:člen|součást)\s|\b(?:vystaveno|vytvořeno|vytištěno|generováno)\s+(?:v\s+systému|ve?|pomocí|programem|systémem)\b",
    r"\b(?:doručeno|pojištěn\w?|postoupen\w?|objednáno)\s+(?:u|na|přes|společností)\b",
    r"\b(?:medlem|del|partner)\s+(?:af|av|i|hos)\b",
    r"\b(?:lavet|oprettet|skapad|gjord|genereret|genererad|udskrevet|utskriven)\s+(?:med|af|av|i)\b",
    r"\b(?:leveret|levererad|forsikret|försäkra[dt]|bestilt|beställd|betalt|betald|overdraget|överlåten)\s+(?:af|av|hos|i|via|till?)\b",
)
# What stands before such a name without a small word.
_LABEL = labels.match_any(
    *_RELATIONS,
    r"\b(?:professional|public)\s+(?:indemnity|liability)\b|haftpflicht|\bversicherer\b|\bassureur\b|\bverzekeraar\b",
    r"\b(?:insurance|underwriter|factor|carrier|auditors?|accountants?|hosting|versicherung|steuerberat\w{0,8}|spedition|innung)\s*:",
    r"\b(?:software|assurances?|assicurazione|verzekering|seguro|ubezpieczenie|pojištění|forsikring|försäkring)\s*:",
    r"\bassurances?\s+(?:décennale|professionnelle|rc)\b|\blogiciel\b|\bprogram[am]?\s+certificado\b",
)
_RELATION_FIRST = re.compile(
    rf"\W*(?:(?:an?|the|eine?|une?|una?|en|et|ett|som)\s+)?(?:{'|'.join(_RELATIONS)})", re.IGNORECASE
)
_BANK = labels.match_any(r"bank|sparkasse|\bbanque|\bbanc[ao]\b|\bca(?:ixa|ja)\b|\bspořitelna\b")
# What a business is called that others pay to, or through: as a holder of an account it is not whose invoice it is.
_FINANCIER = labels.match_any(
    _BANK.pattern,
    r"factor|faktor|\bfinan[cz]|leasing|in[ck]as{1,2}o|inkaso|verrechnungsstelle|abrechnungsstelle",
    r"\bpay(?:ments?)?\b|\bpaiements?\b|\bkreditt?\b|\bcr[eé]dit|receivables|debt|\bcollections?\b",
)
_ASSIGNMENT = labels.match_any(
    r"\bassign(?:ed|ment)|\bab(?:getreten|tretung)|\bzession|\bcession|\bcédée?\b|\bsubrog|\bcedut[oa]\b|\bcessione\b|\bcedid[oa]\b|\bcesión|\bcess?ão",
    r"\b(?:overgedragen|gecedeerd|verpand)|\b(?:przenies|cesj|przelew\w{0,3}\s+wierzytelno)|\bpostoup|\boverdrag|\böverlåt|factoring",
)
# Who sells for another one, or bills for him: a marketplace, an agency, who keeps the books.
_FOR_ANOTHER = labels.match_any(
    r"\b(?:issued|invoiced|billed|sold|raised|prepared|acting|agent)\b.{0,60}\bon\s+behalf\s+of\b|\bname\s+and\s+on\s+behalf\b",
    r"\bim\s+namen\s+(?:und|von|der)\b.{0,40}\brechnung\b|\bau\s+nom\s+et\s+pour\s+le\s+compte\b|\bin\s+nome\s+e\s+per\s+conto\b",
    r"\ben\s+nombre\s+y\s+por\s+cuenta\b|\bem\s+nome\s+e\s+por\s+conta\b|\b(?:namens|in\s+naam)\s+en\s+voor\s+rekening\b",
    r"\b(?:factuur|facture|rechnung|fattura|factura|fatura|faktura\w{0,3})\b.{0,40}\b(?:namens|per\s+conto\s+d|por\s+(?:cuenta|conta)\s+d|pour\s+le\s+compte\s+d|im\s+auftrag\s+(?:der|des|von)|na\s+rzecz|på\s+vegne\s+af)",
    r"\bför\s+[^.]{3,60}\bräkning\b|\bleistungserbringer(?:in)?\s*:|\bsupplied\s+by\s+(?=[A-Z][^.]{2,60}\b(?:ltd|limited|plc|llp|inc)\b)",
    # Or whom the customer writes it for.
    r"\bself[\s-]?billing\b|\bgutschriftsverfahren\b|\bgutschrift\s+(?:gem\.|gemäß|nach|i\.\s?s\.\s?[dv]\.)\s*§\s?14|\babrechnungsgutschrift\b|\bautofacturation\b"
    r"|\bautofattura\b|\bfacturación\s+por\s+el\s+destinatario\b|\buitgereikt\s+door\s+(?:de\s+)?afnemer\b|\bselfbilling\b|\bautofaturação\b"
    r"|\bsamofakturowani[ea]\b|\bvystaveno\s+zákazníkem\b|\b(?:selvfakturering|självfakturering|afregningsbilag)\b",
    # Or whose agent writes it.
    r"\b(?:acting|act)\s+(?:solely\s+|only\s+)?as\s+(?:an?\s+|the\s+)?(?:\w+\s+)?agents?\s+(?:for|of)\b|\bas\s+(?:\w+\s+)?agents?\s+for\b|\bals\s+(?:handels)?vertret\w{0,4}\s+(?:der|des|von|für)\b"
    r"|\bagissant\s+(?:pour\s+le\s+compte|en\s+qualité)\b|\b(?:mandataire|agent)\s+de\s+la\s+société\b|\bin\s+qualità\s+di\s+(?:agente|mandatari[oa])\b|\b(?:como|en\s+calidad\s+de|na\s+qualidade\s+de)\s+(?:agente|mandatari[oa])\b"
    r"|\bals\s+(?:agent|gemachtigde)\s+(?:voor|van)\b|\bjako\s+(?:agent|zástupce|pełnomocnik)\b|\bsom\s+(?:agent|ombud|fuldmægtig)\s+for\b|\bsom\s+(?:agent|ombud)\s+för\b",
    r"\bw\s+imieniu\s+i\s+na\s+rzecz\b|\bjménem\s+a\s+na\s+účet\b|\bpå\s+vegne\s+af\b|\bför\s+\w{1,30}\s+räkning\b",
)
# With whom the customer has a contract.
_CONTRACT_WITH = labels.match_any(
    r"\bcontract\s+(?:is|was\s+made)\s+with\b|\bcontracting\s+party\b|\byour\s+(?:supplier|contract\s+partner)\s+is\b|\bvertragspartner(?:in)?\b",
    r"\bvotre\s+contrat\s+est\s+(?:conclu\s+)?avec\b|\b(?:su|il\s+suo|o\s+seu)\s+contrat\w{1,2}\s+(?:es|è|é)\s+con?m?\b",
    r"\buw\s+(?:contract|overeenkomst)\s+is\s+met\b|\bcontractpartij\b|\bstroną\s+umowy\b|\bsmluvní\s+stran\w",
    r"\baftalepart(?:en)?\b|\bavtalspart(?:en)?\b",
)
_MAX_TEXT = 300  # letters
_BESIDE = 60.0  # points: what is farther from a label is in another column
_NEAR_LINES = 3


def is_third_party(line: TextLine, number: int, name: str) -> bool:
    """Whether the words before a name in its cell, or the label to its left, say that it is somebody else's."""
    cell = line.cells[number]
    before = cell.text[: max(0, cell.text.find(name))][:_MAX_TEXT]
    left = line.cells[number - 1] if number else None
    return bool(
        _RELATION_FIRST.match(name)
        or _LABEL.search(before)
        or (left is not None and cell.left - left.right < _BESIDE and _LABEL.search(left.text[-_MAX_TEXT:]))
    )


def is_bank(name: str) -> bool:
    return _BANK.search(name) is not None


def is_financier(name: str) -> bool:
    return _FINANCIER.search(name) is not None


def is_written_for_another(page: Sequence[TextLine]) -> bool:
    """Whether it says that its writer is not whose invoice it is."""
    return any(_FOR_ANOTHER.search(line.text[: 2 * _MAX_TEXT]) for line in page)


def names_other_contractor(page: Sequence[TextLine], name: str) -> bool:
    """Whether the page says that the customer's contract is with another company than this one."""
    ours = normalize_name(name)
    said = (line.text[: 2 * _MAX_TEXT] for line in page if _CONTRACT_WITH.search(line.text[: 2 * _MAX_TEXT]))
    return any(_names_company(text) and ours not in normalize_name(text) for text in said)


def _names_company(text: str) -> bool:
    """`… die Muster GmbH.`: the full stop may be the sentence's or the legal form's."""
    return any(map(labels.COMPANY.search, (text, text.rstrip("."))))


def tells_of_assignment(page: Sequence[TextLine], index: int) -> bool:
    """Whether the lines near this one say that somebody else is to be paid than who wrote the invoice."""
    near = page[max(0, index - _NEAR_LINES) : index + _NEAR_LINES + 1]
    return any(speaks_of_assignment(line.text[: 2 * _MAX_TEXT]) for line in near)


def speaks_of_assignment(text: str) -> bool:
    return _ASSIGNMENT.search(text) is not None
