"""What the words beside an account say of it: an invoice is paid to one beside which nothing else is said.

Of deposits and donations, of the last bank, of the customer, of another currency: no list of words has them all. So an
account counts only behind words that anybody has in front of his own (a bank's name, `IBAN`, `auf unser Konto`), and
nowhere near a word that speaks of another purpose.
"""

import re
from collections.abc import Iterator, Sequence
from enum import Enum, auto

from ingestion.domain.transcript import TextCell, TextLine
from ingestion.extract import labels, values
from ingestion.extract.page_blocks import list_block
from ingestion.extract.parties.account_places import (
    FAR_BESIDE,
    MAX_TEXT,
    OTHER_NUMBER,
    find_label_beside,
    locate_account,
)
from ingestion.extract.parties.company_names import normalize_name
from ingestion.extract.parties.third_parties import is_bank, is_financier, speaks_of_assignment, tells_of_assignment

_LINES_ABOVE = 2
_OF_ANOTHER_BANK = labels.match_any(r"\bintermediar|\b[ck]orr?[ei]spon")
# It is closed, another one's, or for something else than what this invoice asks for: as a heading says, too.
_OTHER_PURPOSE = labels.match_any(
    r"\b(?:paid|received|transferred|betaald|ontvangen|reçue?)\b.{0,30}\b(?:from|vanaf|van|du|de)\b|\b(?:from|vanaf|du\s+compte|dal\s+conto|desde)\W*$",
    r"\bold\s+(?:bank\s+)?(?:account|details)|\bformer\b|\bclosed\b|\bno\s+longer\b|\bfraud|\bdonat|\bescrow|\bdeposits?\b|\bclient\s+(?:money|account)|\btrust\s+account|\bvat\s+account|\bpayouts?\b|\bcustomer['’]?s?\s+bank|\bremitt(?:er|ing)",
    r"\balte[rsn]?\s+(?:konto|bank|iban)|\bbisherige|\bfrühere|\bgeschlossen|\berloschen|spende|\bkaution|treuhand|anderkonto|fremdgeld|auszahl|ausgezahlt|\bguthaben|\bzahlungseingang|\bkundenbank|\bkundenkonto|bank\s+des\s+kunden|lastschrift|bankeinzug",
    r"\banciens?\s+(?:rib|compte|iban)|\bclôturé|\bdons\b|donation|séquestre|\bcaution|\bconsignation|\bversement\s+sur|\bbanque\s+du\s+client|\bdébité|\bprélèv",
    r"\bantigu[oa]|\bcancelad[oa]|\bdonaci|\bfianza|\bdepósito|\babonaremos|\brecibo\b|\bgiro\s+(?:domiciliado|bancario|a\s+\d)|\bdomiciliad|\bsu\s+banco|\bbanco\s+del\s+cliente",
    r"\bvecchi[oa]|\bchius[oa]\b|\bcauzion|\baccredit[oi]\b|\briba\b|\bri\.\s?ba\b|\bricevut[ae]\s+bancari|\brid\b|\bsdd\b|\bs\.d\.d\b|\bvs\.?\s+banc|\bvostra\s+banca|\bbanca\b.{0,14}\bcliente",
    r"\boude\s+(?:rekening|iban)|\bvervallen|\bopgeheven|\bdonatie|\bgiften\b|\bwaarborg|\bborgsom|\bg-rekening|\bvrije\b|\buitbetal|\bklantbank|\bbank\s+(?:van\s+de\s+)?klant|\bincasso",
    r"\bencerrad|\bdoaç|\bcaução|\bconta\s+do\s+cliente|\bbanco\s+do\s+cliente",
    r"\bstar[yýéea]\s+(?:rach|kont|účet|iban)|\bzamknię|\bdarowi|\bkaucj|\brachun\w{1,3}\s+vat|\bwypłat|\bzwrot|\bzruše|\bkauc|\bvyplat|\bbank\w?\s+(?:klienta|nabywcy|zákazníka)",
    r"\bgamm?el\b|\bgammalt\b|\bgamla\b|\blukket|\bavslutat|\bdepositum\b|\bgåvo|\budbetal|\butbetal|\bnemkonto|\bkundens\b",
)
# So it is where these stand in its own sentence.
_OTHER_WORDS = labels.match_any(
    r"\bold\b|\bprevious\b|\bnever\b|\bnot\b|\bseparate|\bpaid\b|\breceived\b|\bcredit(?:ed)?\s+(?:will|is|to|your)|\bfrom\b|\bcustomer|\bpayer\b|\bfreeholder|\btax\s+(?:office|authority)",
    r"\balte[rsn]?\b|\bbisher|\bvorherig|\bnicht\b|\bkeine?\b|finanzamt|mehrwertsteuer|gutschrift|\beingegangen|\berhalten\b|\bkunden\w*|\bauftraggeber|\bbelast|\b(?:zahler|schuldner)",
    r"\bancien|\bplus\b(?!\s+tard)|\bdon\b|\breçue?\b|\bclient\w{0,2}\b|\btrésor|\bdirection\s+générale|\banterior|\bcliente|\bhacienda|\bprecedente|\bnon\b|\baccredit",
    r"\boude?\b|\bniet\b|\bbelasting|\bvanaf\b|\bontvangen\b|\bterug|\bover\s+naar\b|\bantig[oa]|\brecebid|\bnão\b",
    r"\bod\s+\d|\bobciąż|\ba\s+debitar\b|\bdi\s+addebito\b|\bde\s+cargo\b|\bcargad[oa]\b|\bstržen",
    r"\bstar[yýéea]\b|\bpoprzedni|\bnabywc|\bklient|\bpłatnik|\bnie\b|\botrzyman|\bpůvodní|\bdřívější|\bpřijat|\bzákazn|\bplátc|\bodběratel|\btidliger|\btidigare|\bmodtaget|\bmottag|\bikke\b|\binte\b|\bkunde[rn]s?\b",
)
# Words that anybody writes in front of his own account; others without a capital may say something else.
_NEUTRAL = re.compile(
    r"iban|bic|swift|blz|kto|kont[aou]\w{0,8}|(?:bank|giro|geschäfts|firmen|haus)\w{0,14}|sparkasse"
    r"|acc(?:oun)?ts?|numbers?|nos?|nrs?|details?|comptes?|bancai?r\w{1,3}|bancári\w{1,2}|rib|coordonnées"
    r"|coordinate|domiciliation|cuentas?|banc[oa]|bank\w{0,4}|conti?|corrente|rekening\w{0,8}|conta|nib"
    r"|rachun\w{1,4}|numer\w{0,2}|účet|účt\w|čísl\w{1,2}|spojení|sort|code|dati|dados|datos|eg|ev|plc|spa"
    r"|mbh|filiale|agence|agenzia|sucursal"
    r"|our|unser\w{0,2}|notre|nos|nuestr\w{1,2}|nostr\w|onze?s?|noss[oa]|nasz\w{0,2}|naš\w{0,3}|vores|vort"
    r"|vår\w?|us|new|neue?\w?|nouve\w{1,4}|nuev[oa]|nuov[oa]|nieuwe?|nov[oýéá]\w?|now[yea]|ny\w{0,2}|deze"
    r"|cette|quest[ao]|est[ae]|diese\w?|tuto|t[ée]to|denna|denne"
    r"|pay|payable|payments?|transfers?|remit\w{0,4}|settle\w{0,4}|wire|eft|bacs|überweis\w{1,5}"
    r"|zahl\w{0,6}|einzahl\w{0,6}|begleich\w{0,4}|entricht\w{0,3}|virements?|virer|régle\w{1,4}"
    r"|règle\w{1,4}|payer|paie\w{1,4}|pago|pagar|pagamento|pagare|ingres\w{1,3}|transferenc\w{1,3}"
    r"|transferênc\w{1,3}|transferir|bonific\w{1,3}|vers[ae]\w{0,5}|effettuare|realicen?|realizar|efectuar"
    r"|efetuar|effectuer|faire|betal\w{0,6}|maken|overmaken|overschrij\w{1,5}|storten|voldoen|wpła\w{1,4}"
    r"|zapła\w{1,4}|płatno\w{1,3}|przelew\w{0,3}|úhrad\w|uhra\w{1,4}|zapla\w{1,4}|převod\w{0,2}"
    r"|indbetal\w{0,4}|overfør\w{0,4}|överför\w{0,4}|inbetal\w{0,4}|made?|make"
    r"|please|kindly|bitten?|bitte|merci|veuillez|gelieve|graag|verzoeken|prosimy|pros[ií]me?|prosím"
    r"|venligst|vänligen|por|favor|rogamos|preghiamo|si|prega|bedes|ber|kunt|kan|können|can|should|must|be"
    r"|geben|angeben|wij|wir|we|ons|sie|u|você|vi"
    r"|ab|um|als|per|by|via|with|using|mit|mittels|par|met|com|con|med|on|into|in|to|the|this|of|at|for"
    r"|and|or|within|after|upon|receipt|days?|due|date|until|before|auf|das|dem|den|der|die|des|ein\w{0,2}"
    r"|an|am|bei|beim|bis|innerhalb|von|binnen|tag\w{0,2}|zum|zur|zu|unter|angabe|und|oder|für|folgende\w?"
    r"|sowie|over|est|appoggio|sur|le|la|les|l|d|à|au|aux|du|de|des|et|ou|sous|dans|pour|jours|réception|ci-dessous|ordre"
    r"|suivante?s?|el|los|las|al|en|y|o|a|un\w?|días?|plazo|siguientes?|del|dell?[aeo]|dei|il|lo|i|gli|su"
    r"|sul|entro|giorni|gg|da|presso|intestato|seguente|te|op|het|een|naar|ten|name|van|dagen|onder"
    r"|vermelding|voor|bij|do|na|no|os|as|e|dias|até|ao|para|seguinte|w|z|ze|k|v|ve|dni|dnů|prospěch|ciągu"
    r"|til|på|till|inom|senest|senast|dage\w?|dag\w{0,2}|den|af|av|og|och|hos|ved|vid"
    r"|soit|jusqu|dès|tard|plus|échéance|avant|délai|comptant|chèques?|espèces|sepa|nett?|latest|later|than|immediately|full"
    r"|cheques?|cash|online|spätestens|antes|contado|vencimiento|vista|rimessa|diretta|scadenza|uiterlijk|vervaldatum|vóór"
    r"|prazo|vencimento|termin\w{0,3}|splatn\w{0,4}|forfald\w{0,5}|förfall\w{0,8}|bank|transferred|transaction"
    r"|amounts?|invoices?|sums?|totals?|balance|reference|quoting|number|following|beneficiary|holder|name"
    r"|betr[aä]g\w{0,3}|rechnung\w{0,12}|summe|fällig\w{0,2}|fristgerecht|vollständig|umgehend|sofort|rein"
    r"|netto|ohne|abzug|skonto|angegeben\w{0,2}|genannt\w{0,2}|nachstehend\w{0,2}|unten|stehend\w{0,2}"
    r"|verwendungszweck\w?|montant|facture|totale?|importe|factura|importo|fattura|bedrag|factuur\w{0,8}"
    r"|valor|fatura|kwot\w|faktur\w{0,6}|częśc\w|částk\w|beløb\w{0,2}|belopp\w{0,2}|order|titulaire"
    r"|titular|inhaber"
)
_WORD = re.compile(r"[^\W\d_]+")
_SENTENCE = re.compile(r"(?:(?<=[^\W\d_]{4})|(?<=\d{3})|(?<=\w\)))[.!?]\s+|\s[·•|–—]\s|;\s")
# `By EFT: Bank of Ireland, IBAN`: what stands above says nothing of it.
_OWN_LABEL = re.compile(
    r"\b(?:eft|transfer\w{0,7}|überweisung|virement|bonifico|overschrijving|transferência|overførsel|överföring|przelew\w{0,2}|převod\w{0,2})\s?:",
    re.IGNORECASE,
)
_UNTIL = re.compile(rf"\s*\([^)]{{0,30}}?(?:{values.DATES.pattern})", values.DATES.flags)  # `(bis 31.10.2026)`


class AccountWords(Enum):
    PLAIN = auto()  # what anybody says of his own
    UNKNOWN = auto()
    OTHER_PURPOSE = auto()
    IN_SENTENCE = auto()  # one of which a sentence says so, or says it of the other account: `no longer to …, but to`


def weigh_words(
    page: Sequence[TextLine],
    index: int,
    iban: str,
    *,
    currency: str | None,
    is_assigned: bool,
    supplier_name: str | None = None,
) -> AccountWords:
    """Whether something beside an account says that it is not where this invoice's money goes, or may say it."""
    if is_assigned and not tells_of_assignment(page, index):
        return AccountWords.OTHER_PURPOSE
    line = page[index]
    number, start, end = locate_account(line, iban)
    cell = line.cells[number]
    before = _cut_sentence(cell.text[max(0, start - MAX_TEXT) : start])
    behind = _SENTENCE.split(cell.text[end : end + MAX_TEXT])[0]
    said = (before, OTHER_NUMBER.split(behind)[0])
    if _UNTIL.match(cell.text[end : end + MAX_TEXT]):
        return AccountWords.UNKNOWN
    headings = _list_headings(page, index, number, before)
    if _OF_ANOTHER_BANK.search(cell.text[max(0, start - MAX_TEXT) : start]):
        return AccountWords.OTHER_PURPOSE
    of_other = [text for text in said if _OTHER_PURPOSE.search(text) or _OTHER_WORDS.search(text)]
    of_other += [text for text in headings if _OTHER_PURPOSE.search(text)]
    if any(map(_is_sentence, of_other)):
        return AccountWords.IN_SENTENCE
    if of_other or _names_other_currency(before, currency):
        return AccountWords.OTHER_PURPOSE
    is_unknown = any(map(_is_unknown, _WORD.findall(before))) or _is_unknown_label(before, supplier_name)
    return AccountWords.UNKNOWN if is_unknown else AccountWords.PLAIN


_SENTENCE_WORDS, _SMALL_WORDS = 4, 3  # of it those without a capital


def _is_sentence(text: str) -> bool:
    """Whether this is more than a label: a list of words does not tell of which of two accounts a sentence says that it
    is old, or for something else."""
    words = _WORD.findall(_OF_ACCOUNT.sub(" ", text).rstrip(" :").rpartition(": ")[2])
    return len(words) >= _SENTENCE_WORDS and sum(len(word) > 1 and word.islower() for word in words) >= _SMALL_WORDS


_MAX_LABEL_WORDS = 3
_SHORT_WORD = 4  # letters: what is shorter tells nothing, and is a bank's own short name as often


def _is_unknown_label(before: str, supplier_name: str | None) -> bool:
    """`Propinas: IBAN …`, `Medgivande 20441, IBAN …`: a name of one's own before a colon or with a number is a purpose,
    unless it is a bank's or the supplier's."""
    label = _OF_ACCOUNT.sub("", before).rstrip()
    if not label.endswith(":") and not _NUMBERED.fullmatch(label):
        return False
    words = [word for word in _WORD.findall(label) if len(word) >= _SHORT_WORD]
    if not words or len(words) > _MAX_LABEL_WORDS or any(map(is_neutral, words)) or all(map(str.isupper, words)):
        return False
    label = label.rstrip(" :,")
    is_own = bool(supplier_name) and normalize_name(supplier_name or "") in normalize_name(label)
    return not is_own and not is_financier(label) and not labels.COMPANY.search(label)


_NUMBERED = re.compile(r"[^\d:]{1,60}\d[\d ./-]{1,20},")


def is_plain_label(page: Sequence[TextLine], index: int, iban: str, supplier_name: str | None) -> bool:
    """Whether nothing but a bank's name and what anybody writes stands around: beside another account `Payroll:` may be
    a purpose as well as a name, and `(bis 31.10.)` the end of it."""
    line = page[index]
    number, start, end = locate_account(line, iban)
    text = line.cells[number].text
    before, behind = text[max(0, start - MAX_TEXT) : start], text[end : end + MAX_TEXT]
    left = find_label_beside(line, number)
    texts = [_cut_sentence(before)] + ([left.text[-MAX_TEXT:]] if left else [])
    if left is None and not _WORD.search(_OF_ACCOUNT.sub(" ", before)):
        texts += [other.text for _, other in _list_above(page, index, line.cells[number])][:1]
    right = line.cells[number + 1].text if number + 1 < len(line.cells) else ""
    if any(values.DATES.search(other) for other in (behind, right)) or behind.lstrip().startswith("("):
        return False
    ours = normalize_name(supplier_name or "")
    texts = [text for text in texts if not (ours and ours in normalize_name(text))]
    return all(is_bank(text) or all(map(is_neutral, _WORD.findall(text))) for text in texts)


_OF_ACCOUNT = re.compile(r"\b(?:iban|bic|swift)\b", re.IGNORECASE)


def is_neutral(word: str) -> bool:
    """Whether anybody writes it where he asks to be paid."""
    return len(word) == 1 or word.lower() in values.MONTH_NAMES or _NEUTRAL.fullmatch(word.lower()) is not None


def _is_unknown(word: str) -> bool:
    """`mBank` is a name."""
    return len(word) > 1 and word.islower() and word not in values.MONTH_NAMES and not _NEUTRAL.fullmatch(word)


def is_page_of_assignment(page: Sequence[TextLine]) -> bool:
    return any(tells_of_assignment([line], 0) for line in page)


# Whoever pays anywhere else has not paid.
_ONLY_THERE = labels.match_any(
    r"\b(?:only|exclusively|solely)\b|\bdischarg|\bnur\b|\bausschließlich|\bbefreiend|\buniquement|\bexclusiv|\blibérat",
    r"\b(?:solo|sólo|soltanto|somente|apenas)\b|\búnicamente|\besclusiv|\bliberator|\buitsluitend|\balleen\b|\bbevrijdend",
    r"\b(?:wyłącznie|tylko|výhradně|pouze|kun|udelukkende|endast|enbart)\b|\bfrigørende|\bbefriande",
)
_LINES_OF_ASSIGNMENT = 3


def is_account_of_assignee(page: Sequence[TextLine], index: int, iban: str) -> bool:
    """Whether the lines that an account ends say that the debt was assigned and that only there is paid."""
    number, start, _ = locate_account(page[index], iban)
    cell = page[index].cells[number]
    said = [cell.text[max(0, start - 2 * MAX_TEXT) : start]]
    for at, other in list_block(page, index, cell, -1):
        if index - at > _LINES_OF_ASSIGNMENT or next(values.find_ibans(other.text), None) is not None:
            break
        said.append(other.text[-2 * MAX_TEXT :])
    is_clear = any(map(_ONLY_THERE.search, said)) and next(values.find_ibans(said[0]), None) is None
    return is_clear and any(map(speaks_of_assignment, said))


def _cut_sentence(text: str) -> str:
    """What is said right in front: behind the last sentence, and behind another account."""
    return OTHER_NUMBER.split(_SENTENCE.split(text)[-1])[-1]


def _list_headings(page: Sequence[TextLine], index: int, number: int, before: str) -> Iterator[str]:
    """The label to the left, and the lines above in the same block, as far as the next account."""
    cell = page[index].cells[number]
    left = page[index].cells[number - 1] if number and not _says_whose(before) else None
    if left is not None and cell.left - left.right >= FAR_BESIDE:
        left = None
    if left is not None:
        yield left.text[-MAX_TEXT:]
    if _OWN_LABEL.search(before):
        return
    for _, other in _list_above(page, index, left or cell):
        if next(values.find_ibans(other.text), None) is not None:
            return
        yield _SENTENCE.split(other.text[-MAX_TEXT:])[-1]


def _list_above(page: Sequence[TextLine], index: int, cell: TextCell) -> Iterator[tuple[int, TextCell]]:
    for at, other in list_block(page, index, cell, -1):
        if index - at > _LINES_ABOVE:
            return
        yield at, other


def _says_whose(before: str) -> bool:
    return len(_WORD.findall(before)) > 1


def _names_other_currency(text: str, currency: str | None) -> bool:
    named = set(values.find_currencies(text))
    return bool(named) and named != {currency}
