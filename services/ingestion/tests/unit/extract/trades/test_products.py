from decimal import Decimal

from named_numbers import candidates
from note_texts import read

from ingestion.extract.trades.products import find_product


def test_of_several_numbers_those_belong_together_whose_product_stands_there() -> None:
    product = find_product(candidates(quantities="7 10", prices="3.00 20.50", gross="205.00 EUR"))
    assert product is not None
    assert (product.quantity, product.price_value, product.gross_value) == (
        Decimal(10),
        Decimal("20.50"),
        Decimal("205.00"),
    )


def test_arithmetic_chooses_between_a_thousand_and_one() -> None:
    product = find_product(candidates(quantities="2,000", prices="2.37", gross="4,740.00"))
    assert product is not None
    assert product.quantity == 2000


def test_a_price_in_percent_is_one_of_the_face_value() -> None:
    product = find_product(candidates(quantities="EUR 10,000", prices="98.50 %", gross="EUR 9,850.00"))
    assert product is not None
    assert product.gross_value == Decimal("9850.00")


def test_numbers_without_a_product_prove_nothing() -> None:
    assert find_product(candidates(quantities="10", prices="20.50", gross="206.00")) is None


def test_a_price_without_a_sign_may_be_a_percentage_or_pence_where_a_label_names_the_amount() -> None:
    product = find_product(candidates(quantities="2500", prices="68.42", gross="1,710.50"))
    assert product is not None
    assert product.gross_value == Decimal("1710.50")


def test_where_what_a_label_calls_the_price_makes_nothing_another_amount_may() -> None:
    product = find_product(candidates(quantities="22", prices="4 8", gross="EUR 1547.26", others="EUR 70.33"))
    assert product is not None
    assert product.price_value == Decimal("70.33")


def test_less_than_a_cent_is_no_amount() -> None:
    assert find_product(candidates(quantities="0.00116", prices="3", gross="0.01")) is None


def test_a_number_with_a_currency_is_no_quantity_of_shares() -> None:
    product = find_product(candidates(quantities="GBP 1565.99 74.62", prices="74.62", gross="GBP 116854.17"))
    assert product is None or product.quantity != Decimal("1565.99")


def test_the_sum_of_an_order_stands_in_front_of_its_security_where_labels_name_its_parts() -> None:
    text = """
Abrechnung: Ihr Kauf
Wir haben für Sie am 24. Februar 2026 gekauft:
10'000 N-Akt Hafen AG
ISIN DE0008404005
Kurs EUR 6.822613 EUR 68'226.13
Courtage EUR 955.17
Zu Ihren Lasten Valuta 26.02.2026 EUR 69'181.30
Menge Ausführungszeitpunkt Währung Kurs
6'000 24.02.2026 10:35:48 EUR 6.82
4'000 24.02.2026 10:35:48 EUR 6.8265325
"""
    (found,) = read(text).trades
    assert (found.trade.quantity, found.trade.settled_amount) == (Decimal(10000), Decimal("69181.30"))
    assert found.confidence >= 0.9
