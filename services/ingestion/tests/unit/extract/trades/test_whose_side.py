"""A word for the side that may be said of the bank, and not of its customer, is no side."""

import pytest
from note_texts import DUTCH, ENGLISH, FRENCH, GERMAN, ITALIAN, PORTUGUESE, SPANISH, read_only

SIDE_LINES = {
    GERMAN: "Kauf am 15.01.2026 um 08:13:35",
    ENGLISH: "You have PURCHASED",
    FRENCH: "Sens : Achat",
    SPANISH: "Tipo de operación: Compra",
    ITALIAN: "Operazione: Acquisto",
    DUTCH: "Soort transactie: Aankoop",
    PORTUGUESE: "Operação: Compra",
}


def say(note: str, *lines: str) -> str:
    """The note with these lines for its side."""
    return note.replace(SIDE_LINES[note], "\n".join(lines))


@pytest.mark.parametrize(
    "note",
    [
        say(ENGLISH, "As principal we have SOLD to you"),
        say(ENGLISH, "As principal we have BOUGHT from you"),
        say(ENGLISH, "We confirm our purchase from you of the following"),
        say(ENGLISH, "Our sale to you"),
        say(ENGLISH, "WE SELL / YOU BUY"),
        say(GERMAN, "Wir haben Ihnen am 15.01.2026 verkauft"),
        say(GERMAN, "Wir haben von Ihnen gekauft"),
        say(FRENCH, "Nous vous avons vendu"),
        say(FRENCH, "Nous vous avons acheté"),
        say(SPANISH, "Le hemos vendido"),
        say(ITALIAN, "Vi abbiamo venduto"),
        say(ITALIAN, "Abbiamo acquistato da Voi"),
        say(DUTCH, "Wij hebben aan u verkocht"),
        say(DUTCH, "Wij hebben van u gekocht"),
        say(PORTUGUESE, "Vendemos-lhe"),
        say(ENGLISH, "Vi har sålt till er"),
        say(ENGLISH, "Vi har solgt til Dem"),
        say(ENGLISH, "Prodali jsme Vám"),
    ],
)
def test_what_the_bank_did_with_its_customer_leaves_the_side_open(note: str) -> None:
    assert read_only(note)["direction"] is None


@pytest.mark.parametrize(
    "line",
    [
        "BOUGHT BY: Harcourt (market maker)   SOLD BY: client FIN0022",
        "Share buyback: the company has bought your shares",
        "Repurchase agreement - first leg: we buy",
        "Seller:  FIN0022",
    ],
)
def test_what_may_be_said_of_another_party_leaves_the_side_open(line: str) -> None:
    assert read_only(say(ENGLISH, "You have PURCHASED", line))["direction"] is None


@pytest.mark.parametrize(
    ("line", "side"),
    [
        ("We have sold on your behalf", "sell"),
        ("We have bought for you", "buy"),
        ("Bought by order and for account of Finch", "buy"),
        ("You sold", "sell"),
    ],
)
def test_what_was_done_for_the_customer_is_the_side(line: str, side: str) -> None:
    note = say(ENGLISH, line).replace("Commission: €4.95\n", "").replace("payable: €209.95", "€205.00")
    assert read_only(note)["direction"] == side


@pytest.mark.parametrize(
    ("note", "amount"),
    [
        (GERMAN, "Zu Ihren Gunsten 205,00 EUR"),
        (ENGLISH, "Amount due to you: €205.00"),
        (ENGLISH, "Credited to your account: €205.00"),
        (FRENCH, "Net à créditer 205,00 EUR"),
        (SPANISH, "Importe líquido a abonar 205,00 EUR"),
        (DUTCH, "Bij te schrijven bedrag 205,00 EUR"),
    ],
)
def test_money_that_went_the_other_way_than_the_side_says_leaves_it_open(note: str, amount: str) -> None:
    rest = [line for line in note.splitlines() if "4,95" not in line and "4.95" not in line and "209" not in line]
    assert read_only("\n".join([*rest, amount]))["direction"] is None


def test_what_is_payable_or_due_may_go_either_way() -> None:
    rest = say(ENGLISH, "We have sold on your behalf").replace("Commission: €4.95\n", "")
    assert read_only(rest.replace("payable: €209.95", "payable: €205.00"))["direction"] == "sell"


def _say_side(line: str) -> str | None:
    """The English note without costs, whose side only this line says."""
    rest = say(ENGLISH, line)
    side: str | None = read_only(rest.replace("Commission: €4.95\n", "").replace("€209.95", "€205.00"))["direction"]
    return side


@pytest.mark.parametrize(
    "line",
    ["Acquisition of your shares completed", "Offre publique d'achat simplifiée", "Compulsory purchase (squeeze-out)"],
)
def test_what_a_bidder_acquires_leaves_the_side_open(line: str) -> None:
    assert _say_side(line) is None
