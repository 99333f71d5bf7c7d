"""Words that mention an invoice or a trade, in the languages of our mailboxes. They only ever accept a mail."""

import re
import unicodedata
from functools import cache

from mailroom_common.events import Profile
from mailroom_common.providers.untrusted_text import MAX_TEXT_CHARACTERS

# Found anywhere in a word, since compounds are common (`Stromrechnung`, `energiafaktura`).
_INVOICE_ANYWHERE = """
abrechnung beleg bestellung bolletta comprobante credit-note creditnota dekont facture facturation factuur faktur fatura
fattura gutschrift honorar invoice kassenbon kreditnota kvitter kvitto lasku lieferschein mahnung nota-de-credito
nota-fiscal payable payment paiement pagamento paragon pokwitowanie purchase quittung racun rachunek rechnung receipt
recibo releve-de remittance ricevuta saskaita szamla statement tilausvahvistus uctenka zahlung
"""
# Too short or too ordinary to be found inside other words. `Re` is not among them: it begins every answer.
_INVOICE_ALONE = """
accounting arve bill billing boleta bon buchhaltung commande compta comptabilite contabilita devis document documents
due factura iban inv kontoauszug mwst nota order ordine pedido proforma quote recu rekening rg scan tva ust vat
"""
# Written without blanks, or of scripts with endings that change.
_INVOICE_SCRIPTS = """
счет рахунок накладная квитанция фактура τιμολογιο αποδειξη 請求書 領収書 納品書 見積書 发票 發票 账单 帳單 收据 收據
청구서 영수증 세금계산서 חשבונית קבלה فاتورة إيصال ใบแจ้งหนี้ ใบเสร็จ hoa-đon चालान
"""
_TRADE_ANYWHERE = """
afregning avis-d-opere borsen brokerage confirmation contract-note contractnote depot effekten execution kontoauszug
nota-de-operacion operacion portfolio securities settlement sluttseddel trade transaktion verkauf wertpapier
"""
_TRADE_ALONE = """
aktie aktien anlage bond bonds bought buy etf fund isin kauf kob kop note salg sell shares sold stock stocks
"""


def mentions_document(profile: Profile, *texts: str | None) -> bool:
    """Whether a subject, a sender or a file name mentions what this profile collects."""
    pattern = _compile_pattern(profile)
    return any(text and pattern.search(_normalize_text(text)) for text in texts)


@cache
def _compile_pattern(profile: Profile) -> re.Pattern[str]:
    anywhere, alone = _INVOICE_ANYWHERE.split() + _INVOICE_SCRIPTS.split(), _INVOICE_ALONE.split()
    if profile is Profile.CONTRACT_NOTE:
        anywhere, alone = anywhere + _TRADE_ANYWHERE.split(), alone + _TRADE_ALONE.split()
    inside = "|".join(re.escape(_normalize_text(word).strip()) for word in anywhere)
    whole = "|".join(re.escape(_normalize_text(word).strip()) for word in alone)
    return re.compile(rf"{inside}|(?<!\w)(?:{whole})(?!\w)")


def _normalize_text(text: str) -> str:
    """Lower case, without accents, every run of other characters one blank: `Reçu_n°12` is `recu n 12`."""
    # Of a thousand combining marks in a row the order takes a millisecond; of 267 thousand, 18 seconds.
    # Cut again, since one letter may become eighteen.
    decomposed = unicodedata.normalize("NFKD", text[:MAX_TEXT_CHARACTERS].casefold())[:MAX_TEXT_CHARACTERS]
    letters = "".join(character for character in decomposed if not unicodedata.combining(character))
    return " ".join(re.split(r"[\W_]+", re.sub(r"(?<=[^\W\d_])(?=\d)", " ", letters)))
