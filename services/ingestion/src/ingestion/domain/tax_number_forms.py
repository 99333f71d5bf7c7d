"""What a tax number looks like in any country, whose letters and digits no list knows: a word beside digits is none."""

import re

# ISO 3166, and what is written in tax numbers beside it: Greece, sellers into the EU, Northern Ireland, Kosovo.
_COUNTRY_CODES = """
    AD AE AF AG AI AL AM AO AQ AR AS AT AU AW AX AZ BA BB BD BE BF BG BH BI BJ BL BM BN BO BQ BR BS BT BV BW BY BZ
    CA CC CD CF CG CH CI CK CL CM CN CO CR CU CV CW CX CY CZ DE DJ DK DM DO DZ EC EE EG EH ER ES ET FI FJ FK FM FO
    FR GA GB GD GE GF GG GH GI GL GM GN GP GQ GR GS GT GU GW GY HK HM HN HR HT HU ID IE IL IM IN IO IQ IR IS IT JE
    JM JO JP KE KG KH KI KM KN KP KR KW KY KZ LA LB LC LI LK LR LS LT LU LV LY MA MC MD ME MF MG MH MK ML MM MN MO
    MP MQ MR MS MT MU MV MW MX MY MZ NA NC NE NF NG NI NL NO NP NR NU NZ OM PA PE PF PG PH PK PL PM PN PR PS PT PW
    PY QA RE RO RS RU RW SA SB SC SD SE SG SH SI SJ SK SL SM SN SO SR SS ST SV SX SY SZ TC TD TF TG TH TJ TK TL TM
    TN TO TR TT TV TW TZ UA UG UM US UY UZ VA VC VE VG VI VN VU WF WS YE YT ZA ZM ZW
    EL EU IM XI XK
"""
_COUNTRIES = frozenset(_COUNTRY_CODES.split())
# What papers print before the number, or behind it.
_NAMES_OF_NUMBERS = """
    ABN ACN ARN BTW CIF CNPJ CPF CUI CUIT CVR DIC DPH EIN GST GSTIN HST ICO IVA KMKR KVK MVA MWST NIE NIF NIP NIPC
    NIT OIB PAN PIB PIVA PST QST REGON RFC RUC RUT SIREN SIRET TIN TRN TVA UEN UID UST USTID USTIDNR VAT VKN VSK
"""
_NAMES = frozenset(_NAMES_OF_NUMBERS.split())
_FEWEST_DIGITS, _MOST_DIGITS = 6, 20
_MOST_LETTERS = 3  # of a number, beside its country: `NL…B01`, `ES-X…X`, `…RT0001`
_LETTERS_BEFORE_DIGITS = {"FR": 2}  # others have one: `ATU…`, `CHE…`, `B…` of Spain
# With more letters than other numbers have: of persons in Italy and Mexico, of businesses in India.
_OF_MANY_LETTERS = re.compile(
    r"(?:IT)?[A-Z]{6}[0-9]{2}[A-Z][0-9]{2}[A-Z][0-9]{3}[A-Z]"
    r"|(?:MX)?[A-Z&]{3,4}[0-9]{6}[A-Z0-9]{3}"
    r"|(?:IN)?[0-9]{2}[A-Z]{5}[0-9]{4}[A-Z][A-Z0-9]{3}"
)
_PRINTED = re.compile(r"[A-Z0-9][A-Z0-9 ./*+&-]*")
_PIECE = re.compile(r"[A-Z]+|[0-9]+")


def split_country(text: str) -> tuple[str | None, str]:
    """The country that a tax number begins with, and the number in capitals without blanks and points."""
    compact = re.sub(r"[ ./-]", "", text.upper())
    name = re.split(r"[^A-Z]", compact, maxsplit=1)[0]
    if name in _NAMES:
        return None, compact[len(name) :]
    return (compact[:2], compact[2:]) if compact[:2] in _COUNTRIES else (None, compact)


def may_be_tax_number(text: str) -> bool:
    """Whether a text has the form of a tax number of some country, with the blanks and marks that papers print. A word
    of more letters beside some digits has none."""
    if not _PRINTED.fullmatch(text.upper()):
        return False
    country, number = split_country(text)
    if not _FEWEST_DIGITS <= sum(letter.isdigit() for letter in number) <= _MOST_DIGITS:
        return False
    if _OF_MANY_LETTERS.fullmatch((country or "") + number):
        return True
    pieces = _PIECE.findall(number)
    before = pieces[0] if pieces[0].isalpha() else ""
    letters = sum(len(piece) for piece in pieces if piece.isalpha() and piece not in _NAMES)
    return len(before) <= _LETTERS_BEFORE_DIGITS.get(country or "", 1) and letters <= _MOST_LETTERS
