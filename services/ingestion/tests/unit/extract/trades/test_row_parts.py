"""The parts of a list of trades, by the headings over its rows."""

import pytest
from note_texts import ENGLISH, read
from trade_lists import HEAD, ROWS, is_completed, list_trades

from ingestion.domain.transcript import Transcript
from ingestion.extract.trades.lines import read_lines
from ingestion.extract.trades.row_parts import has_parts_without_side


@pytest.mark.parametrize(
    "heading",
    [
        "Orders awaiting execution",
        "Proposed trades",
        "Scheduled for December",
        "Transactions shown on your previous statement",
        "How to read this statement (example)",
        "Kommande köp",
        "Åbne ordrer",
        "Zlecenia oczekujące",
        "Otevřené pokyny",
        "Opérations à venir",
        "Geplante Sparplanausführungen",
        "Umsätze des Vormonats",
        "Proposed trades:",
        "Section B: orders awaiting execution",
        "1. Orders awaiting execution",
        "Orders still open as of 30/11/2026:",
        "Your orders (not yet executed)",
        "Nicht abgerechnete Geschäfte",
        "Open orders",
        "Órdenes pendientes:",
    ],
)
def test_rows_below_a_heading_that_is_not_known_are_doubted(heading: str) -> None:
    reading = list_trades(heading, HEAD, "24/11/2026  Buy  BP PLC  GB0007980591  100  4.2000  420.00")
    assert not is_completed(reading)


@pytest.mark.parametrize("heading", ["UK shares", "Executed orders", "Purchases"])
def test_rows_below_a_known_heading_are_trades(heading: str) -> None:
    assert is_completed(list_trades(heading, HEAD, "24/11/2026  Buy  BP PLC  GB0007980591  100  4.2000  420.00"))


@pytest.mark.parametrize("line", ["Account: 40218833", "Quantity: all", "Client 40218833"])
def test_the_value_of_a_field_between_rows_is_no_heading(line: str) -> None:
    assert is_completed(list_trades(line, "24/11/2026  Buy  BP PLC  GB0007980591  100  4.2000  420.00"))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Acquisitions", "Disposals"),
        ("Acquired", "Divested"),
        ("Investments made", "Investments sold"),
        ("Köp", "Avyttringar"),
        ("Køb", "Afhændelser"),
    ],
)
def test_a_heading_with_a_side_says_none_of_the_rows_below_another_one(first: str, second: str) -> None:
    head = HEAD.replace("Side  ", "")
    rows = [row.replace("Buy  ", "").replace("Sell  ", "") for row in ROWS]
    reading = read(
        "\n".join(["Transaction statement", "Account number: 40218833", first, head, rows[0], second, head, rows[1]])
    )
    assert not is_completed(reading)


def test_rows_without_a_side_below_headings_of_which_one_says_none_are_doubted() -> None:
    rows = [row.replace("Buy  ", "").replace("Sell  ", "") for row in ROWS]
    for first, second, is_doubted in (("Purchases", "Executed orders", True), ("Purchases", "Sales", False)):
        page = Transcript.from_rows(["November", HEAD, first, rows[0], second, rows[1]]).lines
        lines, _ = read_lines(page, day_first=True)
        assert has_parts_without_side(lines) is is_doubted


def test_a_kind_of_securities_within_a_part_changes_no_side() -> None:
    head = HEAD.replace("Side  ", "")
    rows = [row.replace("Buy  ", "").replace("Sell  ", "") for row in ROWS]
    parts = ("Purchases", "Shares", head, rows[0], "Bonds", head, rows[1])
    assert is_completed(read("\n".join(["Transaction statement", "Account number: 40218833", *parts])))


def test_the_name_below_each_row_is_no_heading() -> None:
    names = ("Vodafone Group", "BP PLC")
    rows = [f"{row}\n{name}" for row, name in zip(ROWS, names, strict=True)]
    reading = read("\n".join(["Transaction statement", "Account number: 40218833", HEAD, *rows]))
    assert "parts" not in reading.doubts


def test_a_heading_with_a_side_may_stand_there_again() -> None:
    head = HEAD.replace("Side  ", "")
    rows = [row.replace("Buy  ", "").replace("Sell  ", "") for row in ROWS]
    third = "17/11/2026  Tesco PLC  GB00BLGZ9862  500  4.5000  2,250.00"
    parts = ("Purchases", head, rows[0], "Sales", head, rows[1], "Purchases", head, third)
    reading = read("\n".join(["Transaction statement", "Account number: 40218833", *parts]))
    assert is_completed(reading)
    assert [str(found.trade.direction) for found in reading.trades] == ["buy", "sell", "buy"]


def test_a_trade_that_several_accounts_share_is_not_one_trade() -> None:
    shares = "Account  Quantity  Price  Amount\nFIN0022  4  20.50  82.00\nFIN0023  6  20.50  123.00"
    assert "parts" in read(f"{ENGLISH.strip()}\n{shares}").doubts
    assert read(f"{ENGLISH.strip()}\n{shares.replace('FIN0023', 'FIN0022')}").doubts == ()
