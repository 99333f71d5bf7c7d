"""Currencies of invoices and trades, by ISO 4217: those that are paid with, and those of papers of former years.

What a person may type; pages are read for fewer of them (`extract/values.py`, `extract/trades/numbers.py`)."""

from datetime import date
from decimal import Decimal

_PRESENT = """
    AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BHD BIF BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CLF CLP CNY
    COP CRC CUP CVE CZK DJF DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GNF GTQ GYD HKD HNL HTG HUF IDR ILS
    INR IQD IRR ISK JMD JOD JPY KES KGS KHR KMF KPW KRW KWD KYD KZT LAK LBP LKR LRD LSL LYD MAD MDL MGA MKD MMK MNT MOP
    MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD OMR PAB PEN PGK PHP PKR PLN PYG QAR RON RSD RUB RWF SAR SBD SCR
    SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TND TOP TRY TTD TWD TZS UAH UGX USD UYU UZS VED VES VND
    VUV WST XAF XCD XCG XOF XPF YER ZAR ZMW ZWG
"""
# Replaced since 1970, the first year that a paper may have.
_FORMER = """
    ANG 2025 ATS 2002 BEF 2002 BGN 2026 BYR 2016 CSK 1993 CUC 2021 CYP 2008 DDM 1990 DEM 2002 ECS 2000 EEK 2011
    ESP 2002 FIM 2002 FRF 2002 GHC 2007 GRD 2002 HRK 2023 IEP 2002 ITL 2002 LTL 2015 LUF 2002 LVL 2014 MRO 2018
    MTL 2008 MZM 2006 NLG 2002 PTE 2002 ROL 2005 RUR 1998 SDD 2007 SIT 2007 SKK 2009 SLL 2024 STD 2018 TRL 2005
    VEB 2008 VEF 2018 YUM 2006 ZMK 2013 ZWL 2024
"""
# The year in which the last ones were paid with.
LAST_YEARS = {code: int(year) for code, year in zip(_FORMER.split()[::2], _FORMER.split()[1::2], strict=True)}
CURRENCY_CODES = frozenset(_PRESENT.split()) | LAST_YEARS.keys()
# Prices in London are in pence, which ISO does not list.
TRADE_CURRENCY_CODES = CURRENCY_CODES | {"GBX"}

_THREE_DECIMALS = frozenset({"BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"})
_FOUR_DECIMALS = frozenset({"CLF"})


def has_too_many_decimals(amount: Decimal, currency: str | None) -> bool:
    """Whether nobody is paid such an amount: `1.234` in euros is rather 1234, with the point of a country that parts
    thousands by it."""
    exponent = amount.as_tuple().exponent
    most = 4 if currency in _FOUR_DECIMALS else 3 if currency in _THREE_DECIMALS else 2
    return isinstance(exponent, int) and -exponent > most


def was_replaced_before(currency: str | None, day: date | None) -> bool:
    """Whether nobody was paid in a currency any more on a day; not where one of the two is unknown."""
    last_year = LAST_YEARS.get(currency or "")
    return day is not None and last_year is not None and day.year > last_year
