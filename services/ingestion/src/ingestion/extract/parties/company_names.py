"""Names of businesses and people as they are printed: where one begins and ends in a cell, and which are the same."""

import re
import unicodedata
from itertools import islice

from ingestion.extract import labels
from ingestion.extract.titles import title_words

_NO_NAME = re.compile(
    r"^(?:inh(?:aber(?:in)?)?|prop(?:rietor)?|page|seite|pagina|strona|tel|fax|fon|phone|mobile|e-?mail|web|iban|bic|swift|bank|vat|gln|kvk|siret|hrb|nip|regon|date|datum|www|number|nummer|numer|numéro|registro|amtsgericht|handelsregister|finanzamt|steuernummer|geschäftsführ\w{1,4})\b"
    r"|@|https?:|www\.|^\W*\d|\d{3}|:\s*\S|:\s*$|[%€$£=]",
    re.IGNORECASE,
)
# No pattern here begins with blanks without end, or looks ahead to the end: a cell of blanks, or of commas, would be
# gone through once for each of them.
_PARTS = re.compile(r"\s[-–—|●•·]\s|[●•|]|,\s{1,3}(?=[A-ZÄÖÜ\d])|\t")

# `Muster SAS au capital de 20 000 €`: the name ends with its legal form.
_BEHIND_NAME = re.compile(r"\s(?:au\s{1,3}capital|capital|kapitał|mit\s{1,3}sitz|registered|inscrita)\b", re.IGNORECASE)

_WORDS = r"[^\W\d_a-z][\w'’.]*(?:\s(?:&|\+|e|y|et|i|und|and|de|da|do|du|di|dos|das|[^\W\d_a-z][\w'’.]*)){0,5}"
_DASHED_NAME = re.compile(rf"({_WORDS})\s[–—-]\s({_WORDS},?\s[\w.]{{2,8}})\W*$")
# `ein Unternehmen der Muster GmbH`
_IN_SENTENCE = re.compile(
    r"\s*(?:ein|eine|einer|der|die|das|von|bei|für|mit|an?|by|of|with|powered|part|member|une?|du|de|des|par|una|dal?|del|van|een)\s"
)
# `Blitzblank ist eine Marke der Muster GmbH`, `Lakeside Vets is owned and operated by Muster Ltd`
_SAYS_WHOSE = re.compile(
    r"\w,?\s(?:(?:is|are|ist|sind|est|sont|es|son|è|é|er|är|jest)\s(?:an?|the|eine?r?|une?|la|le|una?|et|en|ett|marka|značka|owned|operated|managed|run|part)"
    r"|an?\s(?:franchise|brand|division|member)|(?:owned|operated|managed|run)\s(?:and|by|under)|exploitée?\spar|betrieben\s(?:von|durch)"
    r"|gestit[oa]\sda|operad[oa]\spor|gerid[oa]\spor|(?:bedingungen|zugunsten|eigentum)\sder)\s"
)
_OF = re.compile(r"\b(?:der|des|von|durch|of|by|de|di|da|du|par|af|av|van|por|firmy)\s(?=[^\W\d_a-z])")
_ADDRESS_BEHIND = re.compile(r",\s+(?:\d|sitz\b|hr[ab]\b|registered\b)", re.IGNORECASE)
_STREET_BEHIND = re.compile(r",\s{1,3}(?=[^\W\d_a-z])[^,\d]{3,40}\s\d{1,4}\s?[a-zA-Z]?(?=$|,)")
_NUMBER_IN_NAME = re.compile(r"(?<=[^\W\d_]) \d{3,4}(?=,? [^\W\d_])")
# What stands over or before a value: no name, however alone it stands.
_IS_LABEL = re.compile(
    r"\W*(?:fecha|cliente?|client|customer|kunden?|datum|dat[oae]|vencimiento|vencimento|scadenza|échéance|verval\w*|förfallo\w*|forfald\w*|splatnost|termin"
    r"|(?:faktura|factuur|fakt|kreditnota|creditnota|rechnungs|invoice|kunden?|klant|bestell?|order|ordre|auftrags?|ordrer?|sags|debiteur)-?\s?(?:n(?:umme)?r|no|nummer|number|datum|dato|date)"
    r"|ref(?:erence|erenz|erencia|\.)?|vår\s+referens|er\s+referens|adress|adresse|telefon|bankgiro|plusgiro|org\.?\s?nr|momsreg\.?\s?nr|betalning|description|beschreibung|bezeichnung"
    r"|beskriv\w+|omschrijving|descripción|descrizione|descrição|opis|popis|benämning|antal|anzahl|menge|quantity|qty|quantité|cantidad|quantità|aantal|ilość|price|preis|prix|prezzo|prijs"
    r"|precio|preço|cena|pris|total|totale?|summe|suma|amount|betrag|montant|importe|importo|bedrag|kwota|částka|beløb|belopp)\W*$",
    re.IGNORECASE,
)
_OF_TRADING_NAME = re.compile(r"^.{1,60}\bis\s+a\s+trading\s+(?:name|style)\s+of\s+", re.IGNORECASE)
_SHORTEST_ALIKE = 5  # letters: fewer begin many names
_LONG_WORD = 4
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "oe", "å": "aa"})


def normalize_name(name: str) -> str:
    """The name without its legal form, for comparing: a footer may have it and the head not."""
    return re.sub(r"[^a-z0-9]", "", labels.COMPANY.sub("", name).lower())


def contains_name(whole: str, name: str) -> bool:
    """Whether a name is in another one, in whole words: `De Vries & Zn` in `Groothandel De Vries & Zn B.V.`"""
    ours, theirs = (re.findall(r"[^\W_]+", labels.COMPANY.sub("", text).lower()) for text in (name, whole))
    is_long = sum(map(len, ours)) >= _SHORTEST_ALIKE and len(ours) < len(theirs)
    return is_long and any(theirs[at : at + len(ours)] == ours for at in range(len(theirs) - len(ours) + 1))


def list_long_words(name: str) -> set[str]:
    words = re.findall(r"[^\W\d_]+", labels.COMPANY.sub("", name).lower())
    return {word for word in words if len(word) >= _LONG_WORD}


def begins_alike(name: str, domain: str) -> bool:
    """Whether a domain is the beginning of a name, or begins with it or its first word: `marchbank-design` of
    `Marchbank Design Partnership LLP`."""
    words = re.findall(r"[^\W_]+", labels.COMPANY.sub("", name).lower())
    for fold in (_drop_accents, lambda word: word.translate(_UMLAUTS)):
        whole = "".join(map(fold, words))
        first = next(map(fold, islice(words, 1)), "")
        if len(domain) >= _SHORTEST_ALIKE and whole.startswith(domain):
            return True
        if len(first) >= _SHORTEST_ALIKE and domain.startswith(first):
            return True
    return False


def is_domain(brand: str, domain: str) -> bool:
    """Whether a domain is a brand without blanks: `bonjourcafe` of `bonjour café`, `havregarn` of `havregarn.dk`."""
    words = re.findall(r"[^\W_]+", _TOP_LEVEL.sub("", brand.strip().lower()))
    folds = (_drop_accents, lambda word: word.translate(_UMLAUTS))
    return len(domain) >= _SHORTEST_ALIKE and any("".join(map(fold, words)) == domain for fold in folds)


_TOP_LEVEL = re.compile(r"(?<=\w)\.[a-z]{2,10}$")


def _drop_accents(word: str) -> str:
    return "".join(letter for letter in unicodedata.normalize("NFKD", word) if letter.isascii())


def parse_name(text: str) -> str | None:
    """The part of a cell that can be a name: a company with its legal form anywhere, else a short line of words."""
    text = _cut_before_owner(_OF_TRADING_NAME.sub("", text))
    for part in (_cut_behind_legal_form(part) for part in _split_names(text)):
        if labels.COMPANY.search(part) and normalize_name(part) and len(part) < 70 and not _is_no_name(part):
            return part.strip(" .,:;-") if not part.rstrip().endswith(".") else part.strip(" ,:;-")
    first = _split_parts(text)[0]
    if _IS_LABEL.match(first):
        return None
    words = first.split()
    # A long name writes its words with capitals, as a sentence does not.
    most = 7 if all(word[0].isupper() for word in words if len(word) > 3) else 5
    if not 1 <= len(words) <= most or len(first) < 4 or _NO_NAME.search(first):
        return None
    is_label = any(
        label.search(first)
        for label in (
            title_words.INVOICE_WORD,
            labels.ISSUE_DATE,
            labels.DUE_DATE,
            labels.TOTAL_NET,
            labels.TOTAL_GROSS,
        )
    )
    return None if is_label or not first[0].isupper() else first


def says_whose_name(text: str) -> bool:
    """Whether a sentence says which business is behind another name: who of the two invoices, it does not say."""
    return _cut_before_owner(text) != text


def _cut_before_owner(text: str) -> str:
    """The company that a sentence ends with, where it says whose a name is."""
    says = _SAYS_WHOSE.search(text)
    if says is None:
        return text
    of = _OF.search(text, says.end())
    name = text[of.end() :] if of else text[says.end() :]
    return name if labels.COMPANY.search(name) else text


def _split_names(text: str) -> list[str]:
    """The parts of a cell. A dash may be in a name as well: `Cais & Mar – Reparações, Lda.`"""
    parts = _split_parts(text)
    match = _DASHED_NAME.match(text)
    if match and not title_words.INVOICE_WORD.search(match[0]) and labels.COMPANY.search(match[2]):
        return [match[0], *parts]
    return parts


def _split_parts(text: str) -> list[str]:
    """At marks between names, and at commas before an address, which has no full stop behind it."""
    parts, begin, last_stop = [], 0, text.rfind(".")
    for match in _PARTS.finditer(text):
        if match[0][0] == "," and match.end() <= last_stop:
            continue
        parts.append(text[begin : match.start()].strip())
        begin = match.end()
    return [*parts, text[begin:].strip()]


def _is_no_name(part: str) -> bool:
    # `Promociones Turia 2000, S.L.`: a number may be in a name.
    text = _NUMBER_IN_NAME.sub(" ", part, count=1)
    return _NO_NAME.search(text) is not None or _IN_SENTENCE.match(part) is not None


def _cut_behind_legal_form(text: str) -> str:
    if behind := _BEHIND_NAME.search(text):
        whole = text[: behind.start()].rstrip()
        # `Muster S.L. inscrita`, `Muster Limited. Registered in England`
        text = next((name for name in (whole, whole.rstrip(".")) if labels.COMPANY.search(name)), text)
    # `Muster Partnership LLP, 3 Mill Lane`, `Muster AG, Lange Str. 90`: an address follows.
    street = _STREET_BEHIND.search(text)
    if street and _ends_with_legal_form(text[: street.start()]):
        return text[: street.start()]
    match = _ADDRESS_BEHIND.search(text)
    return text[: match.start()] if match and labels.COMPANY.search(text[: match.start()]) else text


def _ends_with_legal_form(text: str) -> bool:
    return any(match.end() == len(text) for match in labels.COMPANY.finditer(text))
