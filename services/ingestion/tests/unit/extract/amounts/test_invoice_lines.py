from decimal import Decimal
from typing import Any

import pytest

from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract.amounts import invoice_lines
from ingestion.extract.amounts.invoice_lines import find_invoice_lines
from ingestion.extract.amounts.totals import InvoiceTotals

TABLE = """
Description  Quantity  Price  Amount
Consulting  2  50.00  100.00
Travel  1  19.50  19.50
Total  119.50
"""


def page(text: str) -> tuple[TextLine, ...]:
    return Transcript.from_rows(text.strip("\n").splitlines()).lines


def test_rows_that_make_the_net_total_are_the_lines() -> None:
    lines, amounts = find_invoice_lines(page(TABLE), InvoiceTotals(net=Decimal("119.50")))
    assert amounts == "net"
    assert [(line.description, line.quantity, line.unit_price, line.amount) for line in lines] == [
        ("Consulting", Decimal(2), Decimal("50.00"), Decimal("100.00")),
        ("Travel", Decimal(1), Decimal("19.50"), Decimal("19.50")),
    ]


def test_rows_that_make_the_gross_total_are_written_with_tax() -> None:
    lines, amounts = find_invoice_lines(page(TABLE), InvoiceTotals(gross=Decimal("119.50")))
    assert (len(lines), amounts) == (2, "gross")


def test_rows_that_make_no_total_are_left_out() -> None:
    assert find_invoice_lines(page(TABLE), InvoiceTotals(net=Decimal("500.00"))) == ((), "net")


def amounts_of(table: str, net: str) -> list[str]:
    lines, which = find_invoice_lines(page(table), InvoiceTotals(net=Decimal(net), gross=Decimal("9999.00")))
    assert which == "net"
    return [str(line.amount) for line in lines]


def test_of_several_columns_of_amounts_the_one_that_makes_the_net_total_counts() -> None:
    table = "Item  Qty  Price  Net  VAT  Tax  Gross\nGraphics  1  80.00  80.00  27%  21.60  101.60"
    table += "\nTransport  2  10.00  20.00  27%  5.40  25.40"
    assert amounts_of(table, "100.00") == ["80.00", "20.00"]


def test_a_column_is_known_by_where_its_amounts_end_too() -> None:
    rows = ["Details                  Net Amt     VAT %       VAT"]
    rows += [f"{'Chair':20}{'261.00':>10}{'20.00':>12}{'52.20':>10}", f"{'Atlas, a book':20}{'25.00':>10}"]
    assert amounts_of("\n".join(rows), "286.00") == ["261.00", "25.00"]


def test_positions_may_be_listed_before_a_discount_or_the_carriage() -> None:
    before = TABLE.replace("Total  119.50", "Subtotal  119.50\nless 5 % discount  -5.98\nNet total  113.52")
    assert amounts_of(before, "113.52") == ["100.00", "19.50"]
    before = TABLE.replace("Total  119.50", "Goods  119.50\nCarriage  12.50\nNet total  132.00")
    assert amounts_of(before, "132.00") == ["100.00", "19.50"]


def test_what_is_taken_off_a_position_in_a_line_of_its_own_is_no_position() -> None:
    table = """
Pos.  Material/Bezeichnung  Menge  Preis  pro  Nettowert
000010  P-20050  4 ST  310,00  1 ST  1.240,00
Kreiselpumpe KSP 50
Rabatt  10,00- %  124,00-
Nettowert für Position  1.116,00
000020  D-1188  20 ST  6,20  1 ST  124,00
Dichtungssatz NBR
Summe Positionen  1.240,00
"""
    lines, _ = find_invoice_lines(page(table), InvoiceTotals(net=Decimal("1240.00")))
    assert [(line.description, str(line.amount)) for line in lines] == [
        ("Kreiselpumpe KSP 50", "1116.00"),
        ("Dichtungssatz NBR", "124.00"),
    ]


def test_a_summary_of_the_tax_below_the_table_is_no_position() -> None:
    table = TABLE.replace("Total  119.50", "Summary of the tax  119.50  20%  23.90\nTotal  143.40")
    assert amounts_of(table, "119.50") == ["100.00", "19.50"]


def test_a_table_may_have_two_columns() -> None:
    table = "CONCEPTO  IMPORTE\nAlquiler mensualidad de agosto  1.650,00\nGastos de comunidad  120,00"
    assert amounts_of(table, "1770.00") == ["1650.00", "120.00"]


def test_of_two_tables_that_make_the_gross_total_the_first_has_the_lines() -> None:
    paid = "Item  Date  Total\nPaid by card  12/07  119.50\nBalance  12/07  0.00"
    lines, which = find_invoice_lines(page(TABLE + paid), InvoiceTotals(gross=Decimal("119.50")))
    assert ([str(line.amount) for line in lines], which) == (["100.00", "19.50"], "gross")


def test_what_a_page_carries_to_the_next_is_no_position() -> None:
    first = TABLE.replace("Total  119.50\n", "Transporteren  119.50\n")
    second = "Description  Quantity  Price  Amount\nTransport  119.50\nTransport  1  30.00  30.00\nTotal  149.50"
    assert amounts_of(first + second, "149.50") == ["100.00", "19.50", "30.00"]


def test_an_amount_may_be_marked_as_taxed_and_its_column_headed_by_the_currency() -> None:
    table = "Activity  Qty  CHF\nConsulting  2  100.00T\nTravel  1  19.50 A"
    assert amounts_of(table, "119.50") == ["100.00", "19.50"]


def test_the_number_with_a_unit_is_the_quantity_and_not_that_of_the_position() -> None:
    rows = [
        "Pos  Beschreibung  Preis  Menge  USt  Betrag",
        "1  Zitronensäure 100ml  1,0000  100 Stk  19 8  100,00",
        "2  Gelierzucker 250g  0,0000  10 Stk  7 %  0,00",
    ]
    lines, _ = find_invoice_lines(Transcript.from_rows(rows).lines, InvoiceTotals(Decimal(119), Decimal(100)))
    assert [(line.quantity, line.unit_price) for line in lines] == [(Decimal(100), Decimal(1)), (Decimal(10), 0)]


def test_what_is_taken_off_all_positions_under_a_heading_of_its_own_is_no_position() -> None:
    table = "Pos  Beschreibung  Betrag\n1  Zitronensäure  100,00\n2  Gelierzucker  50,00"
    changes = "Abschlag  Rechnungsrabatt 1  -5,60\nTransport  Fracht  3,00"
    assert amounts_of(f"{table}\n{changes}", "147.40") == ["100.00", "50.00", "-5.60", "3.00"]
    assert amounts_of(f"{table}\nZu- und Abschläge:\n{changes}", "147.40") == []


def test_two_numbers_whose_product_is_not_the_amount_are_no_quantity_and_price() -> None:
    table = "Description  Pos  Discount  Amount\nConsulting  7  3.00  100.00\nTotal  100.00"
    (line,), _ = find_invoice_lines(page(table), InvoiceTotals(net=Decimal("100.00")))
    assert (line.quantity, line.unit_price) == (None, None)


def test_a_page_full_of_heads_of_tables_is_read_in_a_bounded_number_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each line was the head of all lines behind it, and each two of its numbers were multiplied."""
    steps = {"rows": 0, "products": 0}
    read_row, choose_price = invoice_lines._read_row, invoice_lines._choose_price

    def count_row(line: TextLine, below: TextLine | None) -> object:
        steps["rows"] += 1
        return read_row(line, below)

    def count_product(*numbers: Any) -> object:  # Any: its own parameters
        steps["products"] += 1
        return choose_price(*numbers)

    monkeypatch.setattr(invoice_lines, "_read_row", count_row)
    monkeypatch.setattr(invoice_lines, "_choose_price", count_product)
    # Every product is the amount, and none has a price that is the later one.
    hostile = "  ".join(["Item abc", "amount", *["1.00"] * 36, "1.00"])
    find_invoice_lines(page("\n".join([hostile] * 40)), InvoiceTotals())
    assert 0 < steps["rows"] <= 10 * 40
    assert steps["products"] <= steps["rows"] * 8 * 7


def test_the_head_of_a_summary_by_rates_ends_the_table() -> None:
    table = """
Descrizione  Quantità  Prezzo  Importo
Pernottamento  4  128.00  512.00
Imposta di soggiorno  8  2.00  16.00
Aliquota  Imponibile  Imposta
10%  512.00  0.00
Art. 15  16.00  0.00
"""
    assert amounts_of(table, "528.00") == ["512.00", "16.00"]


def test_a_total_without_tax_is_no_position() -> None:
    table = """
Description  Quantité  Prix  Total
Remplacement ardoises  64  118.00 7552.00
Total hors TVA  7552.00
TVA (cocontractant)  0.00
"""
    assert find_invoice_lines(page(table), InvoiceTotals(net=Decimal("7552.00"), gross=Decimal("7552.00")))[0] == ()


@pytest.mark.parametrize(
    ("what", "expected"), [("4 Pack", "4 Pack"), ("2026 model", "2026 model"), ("50 l", "50 l"), ("100", None)]
)
def test_a_description_that_begins_with_a_number_is_not_that_of_the_next_row(what: str, expected: str | None) -> None:
    table = f"Description  Qty  Price  Amount\n{what}  2  50.00  100.00\nTravel  1  19.50  19.50\nTotal  119.50"
    lines, _ = find_invoice_lines(page(table), InvoiceTotals(net=Decimal("119.50")))
    assert [line.description for line in lines] == [expected, "Travel"]


def test_a_quantity_with_its_unit_is_no_description() -> None:
    table = "Description  Amount  Price  Amount\nP-200  4 ST  25.00  100.00\nGreases\nTravel  1  19.50  19.50"
    lines, _ = find_invoice_lines(page(table), InvoiceTotals(net=Decimal("119.50")))
    assert [line.description for line in lines] == ["Greases", "Travel"]


def test_a_row_of_sums_by_the_rate_of_tax_is_no_position() -> None:
    rows = ["Code   Base       Taux    Taxe     Total HT   Total TTC   Net à payer"]
    rows += ["1      1 943,50   20,00   388,70   1 943,50   2 332,20    2 332,20 EUR"]
    lines = Transcript.from_rows(rows).lines
    assert find_invoice_lines(lines, InvoiceTotals(gross=Decimal("2332.20")))[0] == ()


def test_a_position_times_its_rate_of_tax_is_no_quantity_and_price() -> None:
    table = "Pos  Description  Qty  Price  VAT  Amount\n1  Bench grinder  1  80.00  25 %  80.00"
    table += "\n2  Grinding wheel  1  50.00  25 %  50.00"
    lines, _ = find_invoice_lines(page(table), InvoiceTotals(net=Decimal("130.00")))
    assert [(line.quantity, line.unit_price) for line in lines] == [
        (Decimal(1), Decimal("80.00")),
        (Decimal(1), Decimal("50.00")),
    ]


def test_what_stands_below_the_head_of_descriptions_is_one_and_not_a_longer_number_of_the_article() -> None:
    table = "Art.              Description  Qty  Price  Amount\nHKW-1000-BLK-XXL  Socks  2  50.00  100.00"
    lines, _ = find_invoice_lines(page(table), InvoiceTotals(net=Decimal("100.00")))
    assert [line.description for line in lines] == ["Socks"]
