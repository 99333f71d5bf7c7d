"""Whether a page says that it was paid, all of it: `VOLDAAN`, `Paid by card on 3 November`, `Betrag dankend erhalten`.
Many invoices call their only total due: who believes that alone pays them twice."""

from collections.abc import Sequence
from decimal import Decimal

from ingestion.domain.transcript import TextLine
from ingestion.extract import tax_labels, values
from ingestion.extract.amounts import change_labels
from ingestion.extract.amounts.labelled_amounts import list_row_amounts
from ingestion.extract.amounts.payment_evidence import IssueDay, is_dated_later
from ingestion.extract.labels import match_any

_MAX_STAMP_CELLS = 2  # `Status | Paid`; heads of columns are more
_PAST = (
    r"(?:paid|settled|(?:be|ge)zahlt|beglichen|payée?|réglée?|acquittée?|encaissée?|quittancée?|betaald|voldaan|vereffend|pagad[oa]|abonad[oa]|cobrad[oa]|liquidad[oa]"
    r"|pagat[oa]|saldat[oa]|quietanzat[oa]|incassat[oa]|paga|quitad[oa]|recebid[oa]|zapłacon[oay]|opłacon[oay]|uregulowan[oay]|zaplacen[oa]|uhrazen[oa]|betalt|betald)"
)
_PAID = match_any(
    rf"\b{_PAST}\b",
    r"\b(?:payment|amount|money|cash|funds)\W+(?:(?:was|is|been|gratefully|with\s+thanks)\s+)?received\b|\breceived\s+with\s+thanks\b|\btaken\s+payment\b|\bpayment\s+(?:was\s+|has\s+been\s+)?taken\b",
    r"\bcharged\s+to\s+(?:your\s+|the\s+)?(?:\w+\s+)?(?:card|account|visa|mastercard|amex|paypal)\b|\bnothing\s+(?:to\s+pay|due|is\s+due|more\s+to\s+pay)\b|\bno\s+payment\s+(?:is\s+)?(?:due|required|needed)\b",
    r"\b(?:zahlung|betrag|geld)\s+(?:\w+\s+)?(?:erhalten|eingegangen)\b|\bdankend\s+erhalten\b|\bbitte\s+nicht\s+(?:be|über|ein)?(?:zahlen|weisen)\b",
    r"\bpaiement\s+(?:\w+\s+)?reçu\b|\bne\s+pas\s+(?:régler|payer)\b|\bbetaling\s+ontvangen\b|\bniet\s+betalen\b|\bpago\s+recibido\b|\bno\s+pagar\b|\bpagamento\s+(?:ricevuto|recebido)\b|\bnon\s+pagare\b",
    # A debit that was made, and none that will be.
    r"\b(?:was|were|been)\s+(?:debited|charged|collected)\b|\bwurden?\b.{0,80}?\b(?:belastet|abgebucht|eingezogen)\b|\ba\s+(?:bien\s+)?été\s+(?:débité|prélevé)e?\b",
    r"\bse\s+ha\s+(?:cargado|cobrado)\b|\bha\s+sido\s+(?:cargad|cobrad)[oa]\b|\bè\s+stat[oa]\s+(?:addebitat|prelevat)[oa]\b|\bis\b.{0,40}?\b(?:afgeschreven|geïncasseerd)\b|\bfoi\s+(?:debitad|cobrad)[oa]\b",
    r"\bzostał[ao]?\s+pobran[aey]\b|\bbyla?\s+(?:stržen|inkasován)[ao]?\b|\b(?:er|blev)\s+(?:trukket|hævet)\b|\bhar\s+(?:dragits|debiterats)\b",
    r"^\W*pago\s+(?:com|em)\b|\bneplaťte\b|\bnie\s+płacić\b|\bbetaling\s+modtaget\b|\bbetalning\s+mottagen\b|\bska\s+ej\s+betalas\b|\bskal\s+ikke\s+betales\b",
)
_STAMP = match_any(rf"^\W*(?:{_PAST}|pago)\W*$")
# A rule of what is to be, or of what others pay.
_CONDITION = match_any(
    r"\b(?:if|when|once|until|till|unless|be|will|must|should|shall|within|late|after|before|by\s+\d|not\s+(?:been\s+)?(?:paid|settled)|unpaid|any|all|tax(?:es)?|duty|postage|carriage)\b",
    r"\b(?:wenn|falls|sobald|bis|werden|wird|muss|müssen|soll|sollte|innerhalb|binnen|nach|nicht\s+(?:be|ge)zahlt|un(?:be|ge)zahlt|voll(?:ständig)?\s+bezahlten)\b",
    r"\b(?:si|jusqu\w*|tant|sera|seront|doit|doivent|être|non|toute|après|dès|lorsque|sous|cas)\b",
    r"\b(?:indien|tot(?:dat)?|wordt|worden|moet|dient|dienen|zijn|te|zodra|niet\s+(?:betaald|voldaan)|na)\b",
    r"\b(?:hasta|será|serán|debe|ser|cuando|antes|tras|salvo|no\s+(?:pagad|abonad|liquidad)\w|se(?!\s+ha\b)|finché|fino|sarà|deve|essere|entro|dopo|qualora|imposta|bollo)\b",
    r"\b(?:até|caso|após|deve|não|quando|jeśli|do\s+\d|musi|będzie|nie\s+(?:zapłacon|opłacon)\w|po|jestliže|pokud|dokud|bude|musí|není|být|dle)\b",
    r"\b(?:hvis|når|inden|indtil|skal|bedes|senest|være|for\s+sent|efter|om|tills|innan|ska|skall|vara|inte|ikke|ej|senast)\b",
    change_labels.DAYS,
)


def says_that_all_was_paid(page: Sequence[TextLine], total: Decimal, issued: IssueDay) -> bool:
    """A stamp counts anywhere, words and rows below the total; a row of another amount speaks of a part alone."""
    start = next((index for index, line in enumerate(page) if total in list_row_amounts(line)), len(page))
    return any(
        _says_paid(line, issued, is_below=index > start)
        for index, line in enumerate(page)
        if index != start and _may_be_of_all(line, total)
    )


def _may_be_of_all(line: TextLine, total: Decimal) -> bool:
    amounts = values.find_money(line.text)
    return not amounts or abs(amounts[-1]) == abs(total)


def _says_paid(line: TextLine, issued: IssueDay, *, is_below: bool) -> bool:
    is_stamp = len(line.cells) <= _MAX_STAMP_CELLS and any(_STAMP.search(cell.text) for cell in line.cells)
    if is_stamp and (is_below or not values.find_money(line.text)):
        return True
    if not is_below or _PAID.search(line.text) is None or is_dated_later(line, issued):
        return False
    if tax_labels.TAX_WORD.search(line.text) and not values.find_money(line.text):
        return False  # a tax was paid
    return _CONDITION.search(line.text) is None
