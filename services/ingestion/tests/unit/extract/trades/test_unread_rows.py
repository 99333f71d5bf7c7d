"""No row of a table is lost: a document is certain only where each row that may be a trade is one of its trades."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from random import Random

import pytest
from note_texts import read

from ingestion.domain.trade_routing import find_trade_review_reason
from ingestion.domain.transcript import TextCell, TextLine, Transcript
from ingestion.extract.trades.columns import find_columns
from ingestion.extract.trades.lines import read_lines
from ingestion.extract.trades.note import NoteReading, read_note
from ingestion.extract.trades.unread_rows import list_unread_rows

_CENT = Decimal("0.01")
_SECURITIES = (
    ("AAPL", "APPLE INC", "US0378331005"),
    ("ALV", "ALLIANZ SE", "DE0008404005"),
    ("BBY", "BEST BUY CO INC", "US0865161014"),
    ("SLS", "SELL SIDE GROWTH FUND", "US46434V6213"),
)
# Titles, sides and headings of sections for each; below them the heads of day, side, symbol, name, quantity, price and
# amount, and of two more for what was paid and received.
_LANGUAGES = """
Account activity|Statement of transactions  Buy|Sell  Purchases|Sales
    Date|Action|Symbol|Description|Quantity|Price|Amount|Debit|Credit
Kontoumsätze|Depotauszug zum 30.11.2026  Kauf|Verkauf  Käufe|Verkäufe
    Datum|Vorgang|Symbol|Bezeichnung|Stück|Kurs|Betrag|Soll|Haben
Relevé de compte|Avis d'opéré  Achat|Vente  Achats|Ventes
    Date|Opération|Symbole|Valeur|Quantité|Cours|Montant|Débit|Crédit
Movimientos de la cuenta  Compra|Venta  Compras|Ventas
    Fecha|Operación|Símbolo|Valor|Títulos|Precio|Importe|Cargo|Abono
Estratto conto  Acquisto|Vendita  Acquisti|Vendite
    Data|Operazione|Simbolo|Titolo|Quantità|Prezzo|Importo|Dare|Avere
Transactieoverzicht  Aankoop|Verkoop  Aankopen|Verkopen
    Datum|Type|Symbool|Product|Aantal|Koers|Bedrag|Af|Bij
Extrato de operações  Compra|Venda  Compras|Vendas
    Data|Operação|Símbolo|Título|Quantidade|Preço|Valor|Débito|Crédito
Historia transakcji  Kupno|Sprzedaż  Kupno|Sprzedaż
    Data|Rodzaj transakcji|Symbol|Nazwa|Liczba|Cena|Wartość|Winien|Ma
Výpis z účtu  Nákup|Prodej  Nákupy|Prodeje
    Datum|Druh obchodu|Symbol|Název|Počet|Cena|Objem|Má dáti|Dal
Kontoudtog  Køb|Salg  Køb|Salg
    Dato|Handelstype|Symbol|Værdipapir|Antal|Kurs|Beløb|Debet|Kredit
Kontoutdrag  Köp|Sälj  Köp|Försäljning
    Datum|Typ|Symbol|Värdepapper|Antal|Kurs|Belopp|Debet|Kredit
"""
_WORDS = [line.strip() for line in _LANGUAGES.strip().splitlines()]


@dataclass(frozen=True)
class Row:
    is_buy: bool
    security: tuple[str, str, str]
    day: date
    quantity: Decimal
    price: Decimal

    @property
    def amount(self) -> Decimal:
        return (self.quantity * self.price).quantize(_CENT)


class Page:
    """A table that is drawn at random, in one of the layouts in which brokers list trades."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        choose = self.random.choice
        language = choose([*zip(_WORDS[::2], _WORDS[1::2], strict=True)])
        titles, sides, sections, heads = (part.split("|") for part in "  ".join(language).split("  "))
        self.title, self.sides, self.sections = choose(titles), sides, sections
        keys = ("day", "side", "symbol", "name", "quantity", "price", "amount", "debit", "credit")
        self.heads = dict(zip(keys, heads, strict=True)) | {"isin": "ISIN"}
        self.day_format = choose(("%d.%m.%Y", "%Y-%m-%d", "%d/%m/%Y"))
        self.has_points = choose((True, False))
        self.currency = choose(("", " EUR", "€"))
        self.sign = choose(("none", "amount", "quantity", "behind", "brackets"))
        self.layout = choose(("symbol", "name", "isin", "two_lines", "sections", "debit"))
        self.is_glued = self.random.random() < 0.2  # a name runs into the quantity beside it
        self.has_pages = self.random.random() < 0.25
        self.columns = self._list_columns()
        self.rows = list(self._list_rows())
        self.lines: list[TextLine] = []
        self._draw()

    def _list_columns(self) -> list[str]:
        named = {"symbol": ["symbol", "name"], "debit": ["symbol", "name"], "isin": ["name", "isin"]}
        side = [] if self.layout == "sections" else ["side"]
        paid = ["debit", "credit"] if self.layout == "debit" else ["amount"]
        return ["day", *side, *named.get(self.layout, ["name"]), "quantity", "price", *paid]

    def _list_rows(self) -> Iterator[Row]:
        day = date(2026, 11, 13)
        for _ in range(self.random.randint(1, 4)):
            day += timedelta(days=self.random.randint(0, 3))
            quantity = Decimal(self.random.choice(("1", "5", "10", "20", "1200", "3.215")))
            price = Decimal(self.random.choice((*range(150, 45000, 977), 10000))) / 100
            row = Row(self.random.random() < 0.5, self.random.choice(_SECURITIES), day, quantity, price)
            yield row
            if self.random.random() < 0.15:
                yield row

    def _write(self, value: Decimal, decimals: int | None = 2) -> str:
        written = f"{value:,}" if decimals is None else f"{value:,.{decimals}f}"
        return written if self.has_points else written.translate(str.maketrans(",.", ".,"))

    def _write_amount(self, row: Row) -> str:
        amount = f"{self._write(row.amount)}{self.currency}"
        if not row.is_buy or self.sign in ("none", "quantity"):
            return amount
        behind = f"{self._write(row.amount)}-{self.currency}"
        return {"amount": f"-{amount}", "behind": behind, "brackets": f"({amount})"}[self.sign]

    def _write_cells(self, row: Row) -> dict[str, str]:
        symbol, name, isin = row.security
        sign = "-" if self.sign == "quantity" and not row.is_buy else ""
        paid = f"{self._write(row.amount)}{self.currency}"
        cells = {
            "day": row.day.strftime(self.day_format),
            "side": self.sides[0 if row.is_buy else 1],
            "symbol": symbol,
            "name": name,
            "isin": isin,
            "quantity": f"{sign}{self._write(row.quantity, None)}",
            "price": f"{self._write(row.price)}{self.currency}",
            "amount": self._write_amount(row),
            **({"debit": paid} if row.is_buy else {"credit": paid}),
        }
        if self.is_glued and self.random.random() < 0.5:
            cells["name"] += cells.pop("quantity")
        return cells

    def _draw(self) -> None:
        self._add({"day": "Harcourt Trading"}, ["day"])
        self._add({"day": self.title}, ["day"])
        if self.layout == "sections":
            self.rows.sort(key=lambda row: row.is_buy)
        else:
            self._add(self.heads, self.columns)
        section: bool | None = None
        for row in self.rows:
            if self.layout == "sections" and row.is_buy is not section:
                section = row.is_buy
                self._add({"day": self.sections[0 if row.is_buy else 1]}, ["day"])
                self._add(self.heads, self.columns)
            cells = self._write_cells(row)
            parts = [self.columns[:3], self.columns[3:]] if self.layout == "two_lines" else [self.columns]
            for part in parts:
                self._add(cells, part)

    def _add(self, cells: dict[str, str], columns: Sequence[str]) -> None:
        step = 540 / len(self.columns)
        drawn = [(30 + self.columns.index(column) * step, cells.get(column, "")) for column in columns]
        number = len(self.lines)
        page = number // 5 if self.has_pages else 0
        found = tuple(TextCell(text, left, left + 4.5 * len(text)) for left, text in drawn if text)
        self.lines.append(TextLine(page, 60 + 13.0 * number, 9.0, found))


def is_certain(reading: NoteReading) -> bool:
    fields = {"trades": [found.trade.to_json() for found in reading.trades]}
    return reading.confidence >= 0.9 and find_trade_review_reason(fields, reading.doubts, ()) is None


@pytest.mark.parametrize("seed", range(80))
def test_a_table_that_completes_has_each_of_its_rows_and_none_is_skipped(seed: int) -> None:
    page = Page(seed)
    reading = read_note(page.lines)
    assert reading.has_trades
    if is_certain(reading):
        read_rows = Counter((f.trade.direction, f.trade.trade_date, f.trade.quantity) for f in reading.trades)
        drawn = Counter(("buy" if row.is_buy else "sell", row.day, row.quantity) for row in page.rows)
        assert read_rows == drawn


def test_some_of_the_drawn_tables_complete() -> None:
    assert sum(is_certain(read_note(Page(seed).lines)) for seed in range(60)) >= 4


ACTIVITY = """
Calloway Brokerage
200 Liberty Street, New York, NY 10281
Account activity 11/01/2026 to 11/30/2026
Date  Action  Symbol  Description  Quantity  Price  Amount
11/05/2026  Buy  AAPL  APPLE INC  10  $228.00  -$2,280.00
{row}
"""


@pytest.mark.parametrize(
    "row",
    [
        "11/12/2026  Sell  MSFT  MICROSOFT CORP5  $410.00  $2,050.00",
        "11/12/2026  Sell  MSFT  MICROSOFT CORP  $2,050.00",
        "11/12/2026  Sell  MSFT  MICROSOFT CORP\n5  $410.00  $2,050.00",
        "11/12/2026  Sell  MSFT  MICROSOFT CORP\n5  $2,050.00",
        "11/05/2026  Buy  AAPL  APPLE INC  10  $228.00  -$2,280.00",
        "11/05/2026  Sell  AAPL  APPLE INC  10  $228.00  $2,280.00",
    ],
    ids=[
        "its quantity runs into the name",
        "no quantity",
        "in two lines",
        "in two lines, no price",
        "the same again",
        "the other side",
    ],
)
def test_a_row_with_a_day_a_side_and_an_amount_that_is_no_trade_keeps_the_document_from_completing(row: str) -> None:
    reading = read(ACTIVITY.format(row=row))
    assert not is_certain(reading) or len(reading.trades) == 2
    assert is_certain(read(ACTIVITY.format(row="Page 1 of 1")))


def test_a_row_is_read_only_by_a_trade_with_its_numbers() -> None:
    page = Transcript.from_rows(ACTIVITY.format(row="").strip().splitlines()).lines
    lines, _ = read_lines(page, day_first=False)
    (found,) = read_note(page).trades
    for trade, unread in ((found.trade, 0), (replace(found.trade, quantity=Decimal(7), gross_amount=Decimal(9)), 1)):
        other = replace(trade, settled_amount=trade.gross_amount)
        assert len(list_unread_rows(lines, find_columns(lines), [other], is_statement=True)) == unread


SOLD_LOTS = """
Wertpapierabrechnung
Verkauf
ALLIANZ SE  DE0008404005
Handelstag 15.01.2026
Stück 11
Kurs 172,56 EUR
Kurswert 1.898,16 EUR
Ausmachender Betrag 1.898,16 EUR
Veräußerungsgewinn nach Anschaffung
Kauf 1234567890 10.10.2024 Stück 6,0000 1.040,26- 1.035,36 0,73 4,17- (D)
Kauf 1234567891 17.10.2024 Stück {last} 873,45- 862,80 1,60 9,05- (D)
"""


def test_the_purchases_that_a_sale_took_from_are_no_trades_that_were_lost() -> None:
    assert read(SOLD_LOTS.format(last="5,0000")).doubts == ()
    assert read(SOLD_LOTS.format(last="7,0000")).doubts == ("trades",)


ABBREVIATED = """
Estratto conto titoli - Movimenti dal 01/11/2026 al 30/11/2026
Data  Causale  Titolo  Quantità  Prezzo  Dare  Avere
13/11/2026  ACQ. TITOLI  ENEL SPA  1.000  6,85  6.863,70
20/11/2026  VEND. TITOLI  ENI SPA  300  14,20  4.251,48
"""


def test_rows_below_a_head_of_quantities_and_prices_are_not_skipped_whatever_their_words() -> None:
    assert read(ABBREVIATED).has_trades


PAID_AND_RECEIVED = """
Umsatzübersicht
Handelstag  Art  Wertpapier  ISIN  Stück  Kurs EUR  {heads}
03.11.2026  Kauf  Siemens AG  DE0007236101  10  180,00  1.800,00
{row}
12.11.2026  Verkauf  BASF SE  DE000BASF111  25  44,50  1.112,50
"""


@pytest.mark.parametrize("heads", ["Soll EUR  Haben EUR", "Geldfluss", "Betrag EUR"])
@pytest.mark.parametrize(
    "row",
    [
        "05.11.2026  Sparplan  Siemens AG  DE0007236101  2  181,00  364,00",
        "10.11.2026  VL-Anlage  Siemens AG  DE0007236101  10  180,00  1.800,00",
        "03.11.2026  Sparplan  BASF SE  DE000BASF111  40  45,00  1.800,00",
    ],
    ids=["net of a fee", "quantity and amount of another trade", "day and amount of another trade"],
)
def test_a_row_with_another_word_for_its_side_is_not_lost_among_rows_like_it(row: str, heads: str) -> None:
    assert read(PAID_AND_RECEIVED.format(row=row, heads=heads)).doubts == ("trades",)
    assert is_certain(read(PAID_AND_RECEIVED.format(row="Seite 1 von 1", heads=heads)))


def test_a_row_by_a_symbol_with_another_word_for_its_side_is_not_lost() -> None:
    reading = read(ACTIVITY.format(row="11/10/2026  Assigned  NVDA  NVIDIA  -5  $230.00  $1,149.35"))
    assert not is_certain(reading)


LISTED = """
Transaction statement
Trade date  Side  Security  ISIN  Quantity  Price (GBP)  Amount (GBP)
03/11/2026  Buy  Vodafone Group  GB00BH4HKS39  1,000  0.7200  720.00
{row}
12/11/2026  Sell  BP PLC  GB0007980591  200  4.1000  820.00
"""


@pytest.mark.parametrize(
    "row",
    [
        "5 Nov  Buy  Vodafone Group  GB00BH4HKS39  500  0.7300  365.00",
        "same day  Vodafone Group  GB00BH4HKS39  500  0.7300  365.00",
        "5th  Buy  Vodafone Group  500  0.7300  365.00",
        '"  "  "  "  500  0.7300  365.00',
    ],
)
def test_a_row_is_not_lost_whatever_stands_where_the_others_have_their_day(row: str) -> None:
    assert read(LISTED.format(row=row)).doubts == ("trades",)


@pytest.mark.parametrize(
    "row",
    [
        "Total  1,000  0.7200  720.00",
        "05/11/2026  Buy  Tesco PLC\n  GB00BLGZ9862  500  4.5000  2,250.00",
    ],
    ids=["a total", "the rest of a row"],
)
def test_a_total_and_the_second_line_of_a_row_are_no_rows_that_were_lost(row: str) -> None:
    assert read(LISTED.format(row=row)).doubts == ()
