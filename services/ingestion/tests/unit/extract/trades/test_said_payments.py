"""A sentence that says what the account paid or was paid."""

import pytest
from note_texts import read

NOTE = """Contract note
We have bought for you
Security   Vodafone Group PLC
ISIN   GB00BH4HKS39
Trade date   3 November 2026
Quantity   1,000
Price   GBP 0.7200
Consideration   GBP 720.00
Commission   GBP 9.95
Net total   GBP 729.95
"""


@pytest.mark.parametrize(
    "sentence",
    [
        "We have debited GBP 741.95 from your account, including a custody charge.",
        "Wij schrijven GBP 741.95 af, inclusief bewaarloon.",
        "Of this we have collected GBP 700.00 from your account.",
    ],
)
def test_another_amount_that_a_sentence_says_was_paid_is_a_doubt(sentence: str) -> None:
    assert read(NOTE).confidence >= 0.9
    assert read(NOTE + sentence).confidence < 0.9


@pytest.mark.parametrize(
    "sentence",
    [
        "We have debited GBP 729.95 from your account with us.",
        "We have debited GBP 9.95 for this from your account.",
        "After this your account is debited below GBP 20,000.00 only once.",
        "The value of your holding is GBP 741.95 today.",
    ],
)
def test_the_amount_itself_a_cost_and_what_was_not_paid_are_none(sentence: str) -> None:
    assert read(NOTE + sentence).confidence >= 0.9
