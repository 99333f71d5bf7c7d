from datetime import date
from decimal import Decimal

import pytest

from ingestion.extract import values


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1.234,56 €", "1234.56"),
        ("€ 2.321,00", "2321.00"),
        ("1,234.56", "1234.56"),
        ("1 234,56 zł", "1234.56"),
        ("1\u00a0234,56 zł", "1234.56"),
        ("1'234.56", "1234.56"),
        ("$4.11", "4.11"),
        ("-20,48 €", "-20.48"),
        ("€ -9,32", "-9.32"),
        ("12,00-", "-12.00"),
        ("0.052", "0.052"),
        ("5.000", "5000"),
        ("4.500.000", "4500000"),
        ("EUR 518,99", "518.99"),
        ("100", "100"),
        ("1.450,- €", "1450"),
        ("8 532,- Kč", "8532"),
        ("Fr. 450.–", "450"),
        ("450,--", "450"),
        ("450:-", "450"),
        ("($800.00)", "-800.00"),
        ("EUR: 12,50", "12.50"),
        ("+ 12,50", "12.50"),
        ("1,50 EUR*", "1.50"),
    ],
)
def test_an_amount_is_read_in_every_way_it_is_written(text: str, amount: str) -> None:
    assert values.parse_amount(text) == Decimal(amount)


@pytest.mark.parametrize(
    "text", ["Total 4.00", "21%", "2026-04-01", "RE-2014/501", "", "1234K20/12", "5.-7.", "(12.50"]
)
def test_what_says_more_or_less_than_an_amount_is_none(text: str) -> None:
    assert values.parse_amount(text) is None


@pytest.mark.parametrize("text", ["450,-", "8 532,-- Kč", "450.–", "450:-", "12,50"])
def test_a_dash_for_the_cents_is_written_for_money_only(text: str) -> None:
    assert values.is_money(text)
    assert not values.is_money("5.-7. Mai")


def test_dates_percentages_and_codes_are_no_amounts() -> None:
    assert values.find_amounts("Tax 15% on $ 112.90 due 03/20/2023 for RE-7/501") == [Decimal("112.90")]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-04-01", date(2026, 4, 1)),
        ("01.04.2026", date(2026, 4, 1)),
        ("1.4.26", date(2026, 4, 1)),
        ("3. März 2026", date(2026, 3, 3)),
        ("29 maart 2026", date(2026, 3, 29)),
        ("1er janvier 2026", date(2026, 1, 1)),
        ("1 stycznia 2026", date(2026, 1, 1)),
        ("August 3 , 2026", date(2026, 8, 3)),
        ("Jan 1st, 2026", date(2026, 1, 1)),
        ("22-9-2026", date(2026, 9, 22)),
        ("03/20/2026", date(2026, 3, 20)),
        ("30/Mar/2026", date(2026, 3, 30)),
        ("30‑03‑2026", date(2026, 3, 30)),
        ("7 DECEMBRE 2026", date(2026, 12, 7)),
        ("12 ene. 2026", date(2026, 1, 12)),
        ("12 ago 2026", date(2026, 8, 12)),
        ("12 set 2026", date(2026, 9, 12)),
        ("12 giu 2026", date(2026, 6, 12)),
    ],
)
def test_a_date_that_can_mean_one_day_only_is_read_without_help(text: str, day: date) -> None:
    (written,) = values.find_dates(text)
    assert written.resolve_date(day_first=None) == day


def test_a_date_of_two_meanings_is_read_only_with_an_order() -> None:
    (written,) = values.find_dates("04/05/2026")
    assert written.resolve_date(day_first=None) is None
    assert written.resolve_date(day_first=True) == date(2026, 5, 4)
    assert written.resolve_date(day_first=False) == date(2026, 4, 5)
    assert written.says_day_first is None


def test_dates_that_are_unlike_tell_the_order_of_the_others() -> None:
    assert values.find_dates("17/11/2026")[0].says_day_first is True
    assert values.find_dates("11/17/2026")[0].says_day_first is False
    assert values.find_dates("2026-11-17")[0].says_day_first is None


def test_there_is_no_thirty_first_of_february() -> None:
    assert values.find_dates("31.02.2026")[0].resolve_date(day_first=True) is None


@pytest.mark.parametrize(
    ("texts", "currency"),
    [
        (["Total 3 €", "4 €"], "EUR"),
        (["$ 3", "All prices in US Dollars"], "USD"),
        (["$ 3", "All prices in CAD"], "CAD"),
        (["316,83 PLN", "12 zł"], "PLN"),
        (["3 €", "$ 4"], None),
        (["100 kr"], None),
        (["nothing"], None),
    ],
)
def test_the_currency_is_the_one_written_most_or_unknown(texts: list[str], currency: str | None) -> None:
    assert values.determine_currency(texts) == currency


def test_an_account_number_needs_its_check_digits() -> None:
    assert list(values.find_ibans("IBAN : FR20 1242 1242 1242 1242 1242 124 - BIC : FIDCFR21XXX")) == [
        "FR2012421242124212421242124"
    ]
    assert list(values.find_ibans("IBAN DE88200800000970375700")) == ["DE88200800000970375700"]
    assert list(values.find_ibans("IBAN DE89200800000970375700, US1234567890")) == []


def test_a_vat_number_has_the_form_of_its_country() -> None:
    assert values.find_vat_ids("TVA : FR11999999998 - SIRET 99999999800010") == ["FR11999999998"]
    assert values.find_vat_ids("BTW NL810433941B01") == ["NL810433941B01"]
    assert values.find_vat_ids("VAT DE12345, order XX123456789") == []
    assert values.find_vat_ids("VAT IE3279263S") == ["IE3279263S"]
    assert values.find_vat_ids("VAT ID DE136695976") == ["DE136695976"]


def test_a_text_full_of_beginnings_of_accounts_is_read_in_a_bounded_number_of_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each beginning was tried in twenty lengths, each by looking up the form of its country's numbers."""
    lookups: list[str] = []
    checks: list[str] = []
    check = values._has_check_digits

    def count_check(compact: str) -> bool:
        checks.append(compact)
        return check(compact)

    monkeypatch.setattr(values, "_has_check_digits", count_check)
    monkeypatch.setattr("ingestion.extract.values.stdnum_iban.is_valid", lookups.append)
    assert list(values.find_ibans("DE12 " * 1000)) == []
    assert len(checks) <= 40 * 20
    assert len(lookups) <= 40


def test_check_digits_are_those_of_the_standard() -> None:
    assert values._has_check_digits("DE88200800000970375700")
    assert not values._has_check_digits("DE88200800000970375701")


@pytest.mark.parametrize(
    ("texts", "currency"),
    [
        (["Total 100,00 kr.", "IBAN DK5000400440116243"], "DKK"),
        (["Summa 100,00 kr", "VAT-nr SE556188840401"], "SEK"),
        (["Total 100,00 kr"], None),
        (["Total 100,00 kr", "DK50", "SE45"], None),
    ],
)
def test_crowns_are_those_of_the_country_that_the_page_names(texts: list[str], currency: str | None) -> None:
    assert values.determine_currency(texts) == currency


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("12 de mayo de 2026", (2026, 5, 12)),
        ("12 maggio 2026", (2026, 5, 12)),
        ("12. května 2026", (2026, 5, 12)),
        ("12 de março de 2026", (2026, 3, 12)),
        ("12 augusti 2026", (2026, 8, 12)),
    ],
)
def test_months_are_known_by_their_names_in_more_languages(text: str, day: tuple[int, int, int]) -> None:
    (written,) = values.find_dates(text)
    found = written.resolve_date(day_first=None)
    assert found is not None
    assert (found.year, found.month, found.day) == day


def test_an_account_of_a_bank_that_is_on_no_list_is_one_if_its_check_digits_are_right() -> None:
    assert list(values.find_ibans("op BE68 5390 0754 7034 met vermelding")) == ["BE68539007547034"]
    assert list(values.find_ibans("op BE68 5390 0754 7035 met vermelding")) == []


def test_money_is_written_with_its_cents_whatever_dates_stand_beside_it() -> None:
    text = "wird am 15.05.2026 von Ihrem Konto 4711 abgebucht: 46,49 €"
    assert [str(amount) for amount in values.find_money(text)] == ["46.49"]


@pytest.mark.parametrize("written", ["14-Mar-26", "14/Mar/26", "14-Mar-2026"])
def test_a_month_by_name_may_stand_between_two_numbers(written: str) -> None:
    (found,) = values.find_dates(written)
    assert str(found.resolve_date(day_first=None)) == "2026-03-14"


def test_what_begins_like_a_tax_number_is_looked_at_a_few_times() -> None:
    numbers = [f"DE1366959{number:02}" for number in range(60)]
    assert len(values.find_vat_ids(" ".join(numbers))) == values._MAX_VAT_IDS
