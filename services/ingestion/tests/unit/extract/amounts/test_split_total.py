"""Two amounts below a total that make it together: one of them was perhaps paid, so nobody knows what is due."""

from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.amounts.split_total import is_split_below
from ingestion.extract.amounts.totals import find_totals

TOTALS = ["Subtotal  500.00", "VAT 20 %  100.00", "Amount due  600.00"]
PARTS = (Decimal(500), Decimal(100))


def is_split(*below: str, above: tuple[str, ...] = ()) -> bool:
    return is_split_below(Transcript.from_rows([*above, *TOTALS, *below]).lines, Decimal(600), PARTS)


@pytest.mark.parametrize(
    "below",
    [
        ["Deposit  200.00", "Remaining  400.00"],
        ["Deposit 20 October 2026  200.00  400.00"],
        ["Your deposit of 200.00 was received.", "", "Kindly transfer what is left of it, which is 400.00."],
        ["Šek  200.00", "Rest  400.00"],
        ["Credit note applied  -80.00"],
        ["Davon trug die Kasse 200,00", "Deposit  150.00", "Remaining  450.00"],
    ],
)
def test_rows_that_take_a_total_apart_need_no_known_word(below: list[str]) -> None:
    assert is_split(*below)
    assert find_totals(Transcript.from_rows([*TOTALS, *below]).lines).due is None


def test_an_amount_from_before_that_is_added_below_the_total_is_asked_for_too() -> None:
    assert is_split("Total now owed  800.00", above=("Balance brought over  200.00",))
    assert not is_split("Insured sum  800.00")


@pytest.mark.parametrize(
    "below",
    [
        [],
        ["Net 500.00", "Paid to the tax office 100.00"],
        ["davon Lohn 450,00, Material 150,00"],
        ["2 % Skonto 12,00, zu zahlen 588,00"],
        ["Rate  Net  Tax", "20 %  500.00  100.00  600.00"],
        ["VAT 20 % of it  100.00", "without VAT  500.00"],
        ["Share capital 20,000.00"],
    ],
)
def test_the_parts_of_a_total_and_less_for_who_pays_early_leave_it_whole(below: list[str]) -> None:
    assert not is_split(*below)
    assert find_totals(Transcript.from_rows([*TOTALS, *below]).lines).due == Decimal(600)
