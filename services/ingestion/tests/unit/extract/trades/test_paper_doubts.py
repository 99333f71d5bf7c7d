"""A paper in a note's dress that is none, none any more, or not yet, is not completed."""

import pytest
from note_texts import DUTCH, ENGLISH, FRENCH, GERMAN, ITALIAN, LANGUAGES, PORTUGUESE, SPANISH, read

from ingestion.domain.transcript import Transcript
from ingestion.extract.trades.lines import read_lines
from ingestion.extract.trades.note import NoteReading
from ingestion.extract.trades.row_parts import has_parts_without_side


def is_completed(reading: NoteReading) -> bool:
    return not reading.doubts and reading.confidence >= 0.9


def with_title(note: str, title: str) -> str:
    return "\n".join([title, *note.strip("\n").splitlines()[1:]])


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_ordinary_note_has_no_doubt(language: str) -> None:
    assert read(LANGUAGES[language]).doubts == ()


@pytest.mark.parametrize(
    ("note", "line"),
    [
        (ENGLISH, "CONTRACT NOTE - VOID"),
        (ENGLISH, "Contract note: this trade has been busted by the exchange"),
        (ENGLISH, "THIS NOTE IS NULL AND VOID"),
        (ENGLISH, "Rescission of contract note"),
        (ENGLISH, "Contract note - Trade Break"),
        (ENGLISH, "AS OF trade - rebill"),
        (GERMAN, "Rückabwicklung Wertpapierabrechnung"),
        (GERMAN, "Mistrade - Aufhebung des Geschäfts"),
        (GERMAN, "Diese Abrechnung ist ungültig."),
        (GERMAN, "Gegenbuchung Wertpapierabrechnung"),
        (FRENCH, "Le présent avis est nul et non avenu."),
        (FRENCH, "Extourne d'avis d'opéré"),
        (FRENCH, "Contre-passation avis d'opéré"),
        (ITALIAN, "La presente nota è priva di effetto."),
        (ITALIAN, "Revoca nota informativa di eseguito"),
        (SPANISH, "Retrocesión de operación"),
        (SPANISH, "Esta operación queda sin efecto."),
        (DUTCH, "Tegenboeking nota effectentransactie"),
        (DUTCH, "Deze nota is ingetrokken."),
        (PORTUGUESE, "Esta nota fica sem efeito."),
        (PORTUGUESE, "Reversão da nota de execução"),
    ],
)
def test_a_note_that_counts_no_more_is_no_new_trade(note: str, line: str) -> None:
    assert "corrected" in read(f"{line}\n{note.strip()}").doubts


@pytest.mark.parametrize(
    ("note", "line"),
    [
        (ENGLISH, "Cancellation rights: none apply to this transaction"),
        (ENGLISH, "You do not have the right of cancellation"),
        (ENGLISH, "An order that has been executed cannot be cancelled."),
        (GERMAN, "Eine Stornierung ist nach Ausführung nicht mehr möglich."),
        (FRENCH, "Toute annulation de cet ordre est impossible après exécution."),
        (ITALIAN, "L'annullamento non è possibile."),
        (SPANISH, "La anulación de la orden no es posible."),
        (DUTCH, "Annulering is niet mogelijk."),
        (PORTUGUESE, "O cancelamento não é possível."),
    ],
)
def test_what_the_terms_say_on_cancelling_cancels_nothing(note: str, line: str) -> None:
    reading = read(f"{note.strip()}\n{line}")
    assert not reading.trades[0].trade.is_cancellation
    assert reading.doubts == ()


@pytest.mark.parametrize(
    "line", ["Void where prohibited by law", "Rules on void trades", "Les règles sur les avis nuls et non avenus"]
)
def test_what_is_void_in_general_makes_no_note_void(line: str) -> None:
    assert read(f"{ENGLISH.strip()}\n{line}").doubts == ()


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


HEAD = "Trade date  Side  Security  ISIN  Quantity  Price (GBP)  Amount (GBP)"
ROWS = (
    "03/11/2026  Buy  Vodafone Group  GB00BH4HKS39  1,000  0.7200  720.00",
    "13/11/2026  Sell  BP PLC  GB0007980591  200  4.1000  820.00",
)


def list_trades(*more: str) -> NoteReading:
    return read("\n".join(["Transaction statement", "Account number: 40218833", HEAD, *ROWS, *more]))


def test_a_list_of_trades_has_no_doubt() -> None:
    assert is_completed(list_trades("17/11/2026  Sell  Vodafone Group  GB00BH4HKS39  500  0.7400  370.00"))


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


@pytest.mark.parametrize("side", ["Buy correction", "Buy (busted)", "Buy - void", "Bought in error", "Kauf (Korr.)"])
def test_a_row_that_takes_a_trade_back_is_no_new_trade(side: str) -> None:
    assert not is_completed(list_trades(f"14/11/2026  {side}  Vodafone Group  GB00BH4HKS39  1,000  0.7200  720.00"))


def test_a_purchase_of_a_negative_quantity_among_others_is_no_new_trade() -> None:
    assert not is_completed(list_trades("14/11/2026  Buy  Vodafone Group  GB00BH4HKS39  -1,000  0.7200  -720.00"))


def test_a_note_that_stands_there_twice_is_not_two_trades() -> None:
    assert not is_completed(read(f"{GERMAN}\nZweitschrift\n{GERMAN}"))
    assert "again" in list_trades("Transactions by security", HEAD, *ROWS).doubts


@pytest.mark.parametrize(("title", "price"), [("Order list", "Price"), ("Transaction statement", "Limit")])
def test_a_list_of_orders_by_its_title_or_its_head_is_none_of_trades(title: str, price: str) -> None:
    text = "\n".join([title, "Account number: 40218833", HEAD.replace("Price", price), *ROWS])
    assert "made" in read(text).doubts


def test_the_day_on_which_the_order_came_makes_no_paper_before_a_trade_of_a_note() -> None:
    assert read(f"{ENGLISH.strip()}\nOrder received  14 January 2026 16:40").doubts == ()


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


_STATEMENT = """
Transaction statement
Trade date\tSide\tSecurity\tISIN\tQuantity\tPrice (GBP)\tAmount (GBP){head}
03/11/2026\tBuy\tVodafone Group\tGB00BH4HKS39\t1,000\t0.7200\t720.00{first}
05/11/2026\tSell\tBP PLC\tGB0007980591\t200\t4.1000\t820.00{second}
"""


def _list_rows(head: str, first: str, second: str) -> NoteReading:
    text = _STATEMENT.format(head=head, first=first, second=second).replace("\t", "   ")
    return read(text)


@pytest.mark.parametrize(
    ("head", "first", "second"),
    [
        ("\tStatus", "\tSettled", "\tProposed"),
        ("\tNote", "\tDraft", "\tSettled"),
        ("", " b/f", ""),
    ],
)
def test_a_row_of_which_the_list_says_something_else_is_for_a_person(head: str, first: str, second: str) -> None:
    assert "parts" in _list_rows(head, first, second).doubts


@pytest.mark.parametrize(
    ("head", "first", "second"), [("\tStatus", "\tSettled", "\tExecuted"), ("", " GBP", " GBP"), ("", "", "")]
)
def test_rows_that_were_all_done_have_no_doubt(head: str, first: str, second: str) -> None:
    assert "parts" not in _list_rows(head, first, second).doubts


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
