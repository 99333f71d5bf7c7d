"""A paper before a trade that was perhaps never made is not completed."""

import pytest
from note_texts import DUTCH, ENGLISH, FRENCH, GERMAN, ITALIAN, PORTUGUESE, SPANISH, read
from trade_lists import HEAD, ROWS


def with_title(note: str, title: str) -> str:
    return "\n".join([title, *note.strip("\n").splitlines()[1:]])


@pytest.mark.parametrize(
    ("note", "title"),
    [
        (ENGLISH, "Costs and charges before you trade"),
        (ENGLISH, "Pre-trade cost disclosure"),
        (ENGLISH, "Deal quote"),
        (ENGLISH, "Order preview"),
        (ENGLISH, "Trade proposal"),
        (ENGLISH, "DRAFT Contract note"),
        (ENGLISH, "SPECIMEN contract note"),
        (ENGLISH, "Pro forma contract note"),
        (ENGLISH, "Provisional contract note"),
        (ENGLISH, "This is not a contract note"),
        (ENGLISH, "Trade status: FAILED"),
        (GERMAN, "Kosteninformation vor Auftragserteilung"),
        (GERMAN, "Ex-ante-Kostenausweis"),
        (GERMAN, "Ordervorschau"),
        (GERMAN, "Anlagevorschlag"),
        (GERMAN, "MUSTER Wertpapierabrechnung"),
        (GERMAN, "Vorläufige Wertpapierabrechnung"),
        (FRENCH, "Information sur les coûts et charges avant passation de l'ordre"),
        (ITALIAN, "Informativa preventiva costi e oneri"),
        (SPANISH, "Información previa de costes y gastos"),
        (DUTCH, "Kosteninformatie vooraf"),
        (PORTUGUESE, "Informação prévia sobre custos e encargos"),
    ],
)
def test_a_paper_before_a_trade_or_instead_of_one_is_not_completed(note: str, title: str) -> None:
    assert "made" in read(with_title(note, title)).doubts


def test_a_day_that_nothing_names_on_a_paper_without_a_title_makes_no_trade() -> None:
    days = ("Execution date/time: 15 Jan 2026 08:13:35", "Settlement date: 19/01/2026", "You have PURCHASED")
    note = with_title(ENGLISH, "Your selection").replace(days[0], days[0][21:]).replace(days[1], "")
    assert "made" in read(note.replace(days[2], "Buy")).doubts


def test_an_estimated_amount_makes_no_trade() -> None:
    assert "made" in read(ENGLISH.replace("Total amount payable", "Estimated total")).doubts


@pytest.mark.parametrize(("title", "price"), [("Order list", "Price"), ("Transaction statement", "Limit")])
def test_a_list_of_orders_by_its_title_or_its_head_is_none_of_trades(title: str, price: str) -> None:
    text = "\n".join([title, "Account number: 40218833", HEAD.replace("Price", price), *ROWS])
    assert "made" in read(text).doubts


def test_the_day_on_which_the_order_came_makes_no_paper_before_a_trade_of_a_note() -> None:
    assert read(f"{ENGLISH.strip()}\nOrder received  14 January 2026 16:40").doubts == ()


@pytest.mark.parametrize(
    "status", ["Order status: Submitted to market", "Status: Working", "Stato ordine: Immesso sul mercato"]
)
def test_an_order_whose_status_is_not_done_is_no_trade_yet(status: str) -> None:
    assert "made" in read(f"{ENGLISH.strip()}\n{status}").doubts


@pytest.mark.parametrize("status", ["Order status: Executed", "Status: Settled", "Statut: exécuté"])
def test_an_order_whose_status_is_done_is_a_trade(status: str) -> None:
    assert "made" not in read(f"{ENGLISH.strip()}\n{status}").doubts


def test_a_position_with_the_day_of_its_purchase_is_no_trade() -> None:
    position = """
Position details
Security: Allianz SE
ISIN: DE0008404005
Purchase date: 15/01/2020
Quantity: 10
Price: €20.50
Consideration: €205.00
"""
    assert "made" in read(position).doubts
