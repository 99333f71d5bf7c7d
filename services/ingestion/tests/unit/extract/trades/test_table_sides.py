"""Which way each row of a table went."""

import pytest
from note_texts import read
from trade_lists import HEAD, ROWS, is_completed

from ingestion.extract.trades.note import NoteReading


def list_purchases(name: str) -> NoteReading:
    rows = [row.replace("  Buy  ", "  ").replace("  Sell  ", "  ") for row in ROWS]
    return read(
        "\n".join(
            [
                "Transaction statement",
                "Account number: 40218833",
                "Purchases",
                HEAD.replace("Side  ", ""),
                f"02/11/2026  {name}  GB00BLGZ9862  500  0.0400  20.00",
                *rows,
            ]
        )
    )


@pytest.mark.parametrize("name", ["Bond interest", "Interest on cash", "Zinsen Anleihe Bund", "Depotgebühr", "Revenus"])
def test_a_row_of_income_or_of_a_fee_below_a_heading_of_purchases_is_doubted(name: str) -> None:
    assert not is_completed(list_purchases(name))


@pytest.mark.parametrize("name", ["Realty Income Corp", "Dividend Growth Fund", "Vodafone Group"])
def test_a_security_that_is_called_after_income_may_be_bought(name: str) -> None:
    assert is_completed(list_purchases(name))
