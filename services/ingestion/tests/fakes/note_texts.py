"""Contract notes of one trade in seven languages, and how tests read a note."""

from typing import Any

from ingestion.domain.transcript import Transcript
from ingestion.extract.trades.note import NoteReading, read_note

GERMAN = """
Wertpapierabrechnung
Kauf am 15.01.2026 um 08:13:35
Bezeichnung WKN ISIN
ALLIANZ SE NA O.N. 840400 DE0008404005
Einheit Umsatz
ST 10,00000
Preis pro Anteil 20,500000 EUR
Kurswert 205,00 EUR
Provision 4,95 EUR
zulasten Konto-Nr. 12345678 209,95 EUR
Valuta 19.01.2026
"""
ENGLISH = """
Contract note
You have PURCHASED
Investment name: Allianz SE
ISIN: DE0008404005
Execution date/time: 15 Jan 2026 08:13:35
Settlement date: 19/01/2026
Number of units: 10
Price: €20.50
Consideration: €205.00
Commission: €4.95
Total amount payable: €209.95
"""
FRENCH = """
Avis d'opéré
Sens : Achat
Valeur : ALLIANZ SE   Code ISIN : DE0008404005
Date d'exécution : 15/01/2026   Date de règlement : 19/01/2026
Quantité : 10   Cours : 20,50 EUR
Montant brut : 205,00 EUR
Courtage : 4,95 EUR
Montant net au débit : 209,95 EUR
"""
SPANISH = """
Confirmación de compra
Tipo de operación: Compra
Valor: ALLIANZ SE
ISIN: DE0008404005
Fecha de ejecución: 15/01/2026
Fecha valor: 19/01/2026
Títulos  Precio  Importe bruto
10  20,50 EUR  205,00 EUR
Comisión: 4,95 EUR
Importe neto: 209,95 EUR
"""
ITALIAN = """
Nota informativa
Operazione: Acquisto
Titolo: ALLIANZ SE
Codice ISIN: DE0008404005
Data esecuzione: 15/01/2026
Data valuta: 19/01/2026
Quantità: 10
Prezzo: 20,50 EUR
Controvalore: 205,00 EUR
Commissioni: 4,95 EUR
Importo netto: 209,95 EUR
"""
DUTCH = """
Transactienota
Soort transactie: Aankoop
Fonds: ALLIANZ SE
ISIN: DE0008404005
Transactiedatum: 15-01-2026
Valutadatum: 19-01-2026
Aantal: 10
Koers: 20,50 EUR
Effectenwaarde: 205,00 EUR
Transactiekosten: 4,95 EUR
Te betalen: 209,95 EUR
"""
PORTUGUESE = """
Nota de execução
Operação: Compra
Ativo: ALLIANZ SE
ISIN: DE0008404005
Data da operação: 15/01/2026
Data valor: 19/01/2026
Quantidade: 10
Preço unitário: 20,50 EUR
Valor bruto: 205,00 EUR
Comissão: 4,95 EUR
Valor líquido: 209,95 EUR
"""
LANGUAGES = {
    "de": GERMAN,
    "en": ENGLISH,
    "fr": FRENCH,
    "es": SPANISH,
    "it": ITALIAN,
    "nl": DUTCH,
    "pt": PORTUGUESE,
}
EXPECTED = {
    "direction": "buy",
    "isin": "DE0008404005",
    "trade_date": "2026-01-15",
    "settlement_date": "2026-01-19",
    "quantity": "10",
    "price": "20.5",
    "currency": "EUR",
    "gross_amount": "205.00",
    "fees": "4.95",
    "settled_amount": "209.95",
}


def read(text: str) -> NoteReading:
    return read_note(Transcript.from_rows(text.strip("\n").splitlines()).lines)


def read_only(text: str) -> dict[str, Any]:
    (reading,) = read(text).trades
    return reading.trade.to_json()
