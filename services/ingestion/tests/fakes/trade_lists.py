"""A statement that lists trades, one to a row."""

from note_texts import read

from ingestion.extract.trades.note import NoteReading

HEAD = "Trade date  Side  Security  ISIN  Quantity  Price (GBP)  Amount (GBP)"


ROWS = (
    "03/11/2026  Buy  Vodafone Group  GB00BH4HKS39  1,000  0.7200  720.00",
    "13/11/2026  Sell  BP PLC  GB0007980591  200  4.1000  820.00",
)


def list_trades(*more: str) -> NoteReading:
    return read("\n".join(["Transaction statement", "Account number: 40218833", HEAD, *ROWS, *more]))


def is_completed(reading: NoteReading) -> bool:
    return not reading.doubts and reading.confidence >= 0.9
