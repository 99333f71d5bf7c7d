from decimal import Decimal

import pytest

from ingestion.extract.trades.numbers import NumberStyle, determine_style, find_numbers, mask_codes

COMMA = NumberStyle(",", has_blank_groups=False)


@pytest.mark.parametrize(
    ("text", "value", "currency", "is_money"),
    [
        ("Kurswert EUR 5.000,00", "5000.00", "EUR", True),
        ("ST 132,80212", "132.80212", None, False),
        ("Price: £638.5200", "638.5200", "GBP", True),
        ("Kurswert: -1.800,-- EUR", "1800", "EUR", True),
        ("Total 1'234.56 CHF", "1234.56", "CHF", True),
        ("Provision 926,40-EUR", "926.40", "EUR", True),
        ("Total ($959.31)", "959.31", "USD", True),
        ("Rate 25,00 %", "25.00", None, False),
        ("Total 12\u202f345,60 €", "12345.60", "EUR", True),
    ],
)
def test_a_number_is_read_as_it_is_written(text: str, value: str, currency: str | None, is_money: bool) -> None:
    (number,) = find_numbers(text, 0, COMMA)
    assert (number.value, number.currency, number.is_money) == (Decimal(value), currency, is_money)


@pytest.mark.parametrize(("mark", "values"), [(",", ["1000", "1"]), (".", ["1", "1000"]), (None, ["1000", "1"])])
def test_three_decimals_or_thousands_are_both_kept_the_likelier_first(mark: str | None, values: list[str]) -> None:
    (number,) = find_numbers("1.000", 0, NumberStyle(mark, has_blank_groups=False))
    assert [f"{reading.normalize():f}" for reading in number.readings] == values


def test_the_decimal_mark_is_what_most_numbers_of_the_document_say() -> None:
    assert determine_style(["30.12 € 140.07 €", "7.502", "0,00%"]).decimal_mark == "."
    assert determine_style(["1.234,56", "7.502"]).decimal_mark == ","
    assert determine_style(["7.502", "12"]).decimal_mark is None


@pytest.mark.parametrize("text", ["Total USD 6 000.00", "Total USD 6 250.00", "6 050.00 EUR", "1 000 000.00"])
def test_blanks_part_thousands_before_a_point_where_no_other_number_may_stand_there(text: str) -> None:
    assert determine_style([text, "Price 3.00"]).has_blank_groups


@pytest.mark.parametrize("text", ["Sold 30 125.50", "Total USD 6 250.00 today 3.00", "Total USD 6,000.00"])
def test_two_numbers_side_by_side_are_no_thousands_before_a_point(text: str) -> None:
    assert not determine_style([text, "Price 3.00"]).has_blank_groups


def test_blanks_and_a_point_part_one_number() -> None:
    style = determine_style(["Total USD 6 000.00"])
    assert [number.value for number in find_numbers("Total USD 6 000.00", 0, style)] == [6000]
    assert [number.value for number in find_numbers("Quantity 2 000", 0, style)] == [2000]


def test_blanks_part_thousands_only_where_nothing_else_does() -> None:
    blanks = determine_style(["Montant 12 345,60 EUR"])
    assert [number.value for number in find_numbers("12 345,60", 0, blanks)] == [Decimal("12345.60")]
    points = determine_style(["10 348,6500000 3.486,50"])
    assert len(list(find_numbers("10 348,6500000 3.486,50", 0, points))) == 3


def test_dates_times_and_codes_are_no_numbers() -> None:
    text = "am 15.01.2015 um 08:13:35 DE0008404005 Depot 7806000200/20211014 DE36 1234 5678 9012 3456 78 3"
    assert [number.value for number in find_numbers(mask_codes(text), 0, COMMA)] == [Decimal(3)]


def test_a_currency_between_two_numbers_is_that_of_the_second_where_lines_end_with_amounts() -> None:
    style = determine_style(["74,3456 EUR 163,25 EUR 12.136,92", "Provisie EUR 10,95"])
    numbers = find_numbers("74,3456 EUR 163,25", 0, style)
    assert [(str(number.value), number.currency) for number in numbers] == [("74.3456", None), ("163.25", "EUR")]
    behind = determine_style(["Provision 10,95 EUR"])
    numbers = find_numbers("10,00 EUR 20,50", 0, behind)
    assert [number.currency for number in numbers] == ["EUR", None]


def test_an_account_with_points_says_nothing_of_how_thousands_are_parted() -> None:
    style = determine_style(["Compte 00041.778.203.55", "Montant net 8 032,63 EUR"])
    assert [number.value for number in find_numbers("8 032,63", 0, style)] == [Decimal("8032.63")]
