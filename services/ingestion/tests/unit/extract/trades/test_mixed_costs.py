"""What a bank and a state took together is neither a fee nor a tax for certain."""

import pytest
from note_texts import DUTCH, ENGLISH, FRENCH, GERMAN, ITALIAN, PORTUGUESE, SPANISH, read, read_only

UNKNOWN = (None, None)


def read_costs(note: str, costs: str) -> tuple[str | None, str | None]:
    """Of a note whose costs are 8.00 in sum."""
    lines = note.splitlines()
    (line,) = [line for line in lines if "4,95" in line or "4.95" in line]
    text = note.replace(line, costs).replace("209,95", "213,00").replace("209.95", "213.00")
    trade = read_only(text)
    assert trade["settled_amount"] == "213.00"
    return trade["fees"], trade["taxes"]


@pytest.mark.parametrize(
    ("note", "costs"),
    [
        (ENGLISH, "Fees/Taxes: €5.00 / €3.00"),
        (ENGLISH, "Commission and stamp duty: €8.00"),
        (ENGLISH, "Commission, levy: €8.00"),
        (ENGLISH, "Commission incl. stamp duty: €8.00"),
        (ENGLISH, "Fees: commission 5.00, stamp duty 3.00  €8.00"),
        (ENGLISH, "Government charges: €8.00"),
        (ENGLISH, "Dealing costs (commission, SDRT, PTM): €8.00"),
        (ENGLISH, "Commission + ST: €8.00"),
        (GERMAN, "Gebühren/FTS 8,00 EUR"),
        (SPANISH, "Comisión + ITF: 8,00 EUR"),
        (SPANISH, "Gastos y tasas: 8,00 EUR"),
        (ITALIAN, "Oneri e tributi: 8,00 EUR"),
        (DUTCH, "Kosten en heffingen: 8,00 EUR"),
        (ENGLISH, "Commission: €5.00\nFTT charge: €3.00"),
        (ENGLISH, "Commission (no stamp duty): €8.00"),
        (GERMAN, "Kommission und Stempel 8,00 EUR"),
        (GERMAN, "Spesen und Abgaben 8,00 EUR"),
        (FRENCH, "Courtage et TTF : 8,00 EUR"),
        (SPANISH, "Comisión y tasa Tobin: 8,00 EUR"),
        (ITALIAN, "Commissioni, spese e imposte: 8,00 EUR"),
        (DUTCH, "Kosten en beurstaks: 8,00 EUR"),
        (PORTUGUESE, "Comissão + IS: 8,00 EUR"),
    ],
)
def test_one_amount_for_fees_and_taxes_is_neither(note: str, costs: str) -> None:
    assert read_costs(note, costs) == UNKNOWN


@pytest.mark.parametrize(
    ("note", "costs"),
    [
        (ENGLISH, "Charges: €8.00\nof which stamp duty: €3.00"),
        (ENGLISH, "Costs: €8.00\nThe costs include stamp duty of €3.00."),
        (ENGLISH, "Commission: €8.00\nStamp duty: €8.00\nCommission waived: €-8.00"),
        (GERMAN, "Kosten 8,00 EUR\ndarin enthalten Stempelabgabe 3,00 EUR"),
    ],
)
def test_a_tax_that_may_be_within_the_costs_leaves_both_open(note: str, costs: str) -> None:
    assert read_costs(note, costs) == UNKNOWN


@pytest.mark.parametrize(
    ("note", "costs", "expected"),
    [
        (ENGLISH, "Commission: €5.00, stamp duty: €3.00", ("5.00", "3.00")),
        (ENGLISH, "Commission: €7.69\nTax on commission: €0.31", ("7.69", "0.31")),
        (ENGLISH, "Commission: €5.00\nStamp duty: €3.00\nTotal charges and taxes: €8.00", ("5.00", "3.00")),
        (ENGLISH, "Commission (incl. VAT): €8.00", ("8.00", "0.00")),
        (ENGLISH, "Brokerage & GST: €8.00", ("8.00", "0.00")),
        (ENGLISH, "Commission (excl. stamp duty): €8.00", ("8.00", "0.00")),
        (GERMAN, "Orderprovision inkl. 19 % USt 8,00 EUR\nenthaltene USt 1,28 EUR", ("8.00", "0.00")),
        (GERMAN, "Fremde Spesen und Börsenabgaben 8,00 EUR", ("8.00", "0.00")),
        (PORTUGUESE, "Comissão: 7,69 EUR\nImposto do selo (4 % s/ comissão): 0,31 EUR", ("7.69", "0.31")),
        (PORTUGUESE, "Comissão: 7,69 EUR\nImposto do selo s/ comissões: 0,31 EUR", ("7.69", "0.31")),
    ],
)
def test_what_names_one_kind_or_each_with_its_amount_is_known(note: str, costs: str, expected: tuple[str, str]) -> None:
    assert read_costs(note, costs) == expected


@pytest.mark.parametrize("head", ["Fees/Taxes (GBP)", "Commission & stamp", "Costs and levies", "Fees incl. tax"])
@pytest.mark.parametrize("title", ["Transaction statement", "Contract note"])
def test_a_column_for_fees_and_taxes_is_neither(title: str, head: str) -> None:
    assert all(trade == (None, None, False) for trade in list_costs(title, head))


@pytest.mark.parametrize("head", ["Commission", "Commission incl. VAT"])
def test_a_column_for_fees_alone_is_known(head: str) -> None:
    assert ("8.00", "0.00", True) in list_costs("Transaction statement", head)


@pytest.mark.parametrize("heading", ["Charges and taxes", "Fees & taxes", "Costs, duties and levies"])
def test_a_heading_of_fees_and_taxes_leaves_what_stands_below_it_known(heading: str) -> None:
    assert read_costs(ENGLISH, f"{heading}\nCommission: €5.00\nStamp duty: €3.00") == ("5.00", "3.00")


def list_costs(title: str, head: str) -> list[tuple[str | None, str | None, bool]]:
    table = (
        f"Trade date  Side  Security  ISIN  Quantity  Price (GBP)  Amount (GBP)  {head}  Total (GBP)",
        "03/11/2026  Buy  Vodafone Group  GB00BH4HKS39  1,000  0.7200  720.00  8.00  728.00",
        "13/11/2026  Buy  BP PLC  GB0007980591  200  4.1000  820.00  9.00  829.00",
    )
    found = read("\n".join([title, *table])).trades
    trades = [reading.trade.to_json() for reading in found]
    return [
        (trade["fees"], trade["taxes"], reading.is_settlement_proven)
        for trade, reading in zip(trades, found, strict=True)
    ]


def test_a_tax_on_transactions_by_its_short_name_is_a_tax() -> None:
    text = SPANISH.replace("Importe neto: 209,95 EUR", "ITF (0,2 %): 0,41 EUR\nImporte neto: 210,36 EUR")
    found = read_only(text)
    assert (found["fees"], found["taxes"], found["settled_amount"]) == ("4.95", "0.41", "210.36")
