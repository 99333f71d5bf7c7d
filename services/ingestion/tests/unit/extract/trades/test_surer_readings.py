"""Two readings of one trade, of which one is surer."""

from dataclasses import replace
from decimal import Decimal

import pytest
from note_texts import read

from ingestion.domain.trade import Direction
from ingestion.extract.trades.surer_readings import choose_single

BOUGHT = """Contract note
We have bought for you
Security   Vodafone Group PLC
ISIN   GB00BH4HKS39
Trade date   3 November 2026
Quantity   1,000
Price   GBP 0.7200
Consideration   GBP 720.00
Commission   GBP 9.95
Net amount   GBP 729.95"""
GROUPED = """Avis d'opéré
Nous avons acheté pour votre compte
Valeur   Alstom SA
ISIN   FR0010220475
Date d'exécution   03/11/2026
Quantité   100
Cours   45,30 EUR
Montant brut   4 530,00 EUR
Courtage   9,90 EUR
Net à débiter   4 539,90 EUR"""


@pytest.mark.parametrize(
    "rows",
    [
        ("Purchase bonus   GBP 5.00", "Amount debited   GBP 724.95"),
        ("Purchase of GBP at 1.1500", "Debit   EUR 839.44"),
    ],
)
def test_what_stands_below_a_line_that_begins_with_a_word_for_a_side_still_raises_a_doubt(
    rows: tuple[str, ...],
) -> None:
    assert read(BOUGHT).confidence >= 0.9
    assert read("\n".join((BOUGHT, *rows))).confidence < 0.9


def test_numbers_that_hold_together_are_not_read_otherwise_grouped_to_lose_a_doubt() -> None:
    assert read(GROUPED).confidence >= 0.9
    assert read(GROUPED + "\nPlus droits de garde   12,00 EUR\nDébit   4 551,90 EUR").confidence < 0.9


def test_a_part_says_the_side_and_the_whole_what_else_is_known() -> None:
    (part,) = read(BOUGHT).trades
    whole = replace(part, trade=replace(part.trade, direction=None, fees=None), is_direction_certain=False)
    chosen = choose_single(whole, [part])
    assert (chosen.trade.direction, chosen.trade.fees) == (Direction.BUY, None)
    assert chosen.confidence >= 0.9
    assert choose_single(replace(whole, is_settlement_proven=False), [part]).confidence < 0.9


def test_a_part_that_has_other_numbers_than_the_whole_is_doubted() -> None:
    (part,) = read(BOUGHT).trades
    trade = replace(part.trade, settled_amount=Decimal("724.95"))
    chosen = choose_single(replace(part, trade=trade, is_direction_certain=False), [part])
    assert chosen.confidence < 0.9


def test_a_part_shows_what_the_whole_lacks() -> None:
    (part,) = read(BOUGHT).trades
    whole = replace(part, trade=replace(part.trade, settled_amount=None), is_settlement_proven=False)
    chosen = choose_single(whole, [part])
    assert chosen.trade.settled_amount == Decimal("729.95")
    assert chosen.confidence < 0.9
