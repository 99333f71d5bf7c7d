import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.trades.candidates import gather_candidates
from ingestion.extract.trades.labels import find_labels
from ingestion.extract.trades.lines import ReadLine, read_lines


def given(*rows: str) -> list[ReadLine]:
    lines, _ = read_lines(Transcript.from_rows(rows).lines, day_first=True)
    return lines


def test_a_label_does_not_go_on_in_the_next_cell() -> None:
    assert [match[0] for match in find_labels("Trade date")] == ["trade date"]
    assert "trade\tdate" not in [match[0] for match in find_labels("Trade\tdate")]


def test_a_number_in_front_of_its_unit_is_the_quantity_and_none_behind_the_unit() -> None:
    quantities = gather_candidates(given("We have bought 4,250 shares of Alpine Dairy at 2.2350")).quantities
    assert [str(number.value) for number in quantities] == ["4250"]


def test_a_unit_with_a_colon_is_a_label_of_what_stands_behind_it() -> None:
    quantities = gather_candidates(given("EUR 400,00 20,500000 Anteilumsatz: 19,512")).quantities
    assert [str(number.value) for number in quantities] == ["19.512"]


def test_a_label_speaks_over_the_label_of_a_date_to_the_amount_behind_it() -> None:
    settled = gather_candidates(given("Total due  Value date 19/01/2026  GBP 209.95")).settled
    assert [str(number.value) for number in settled] == ["209.95"]


def test_what_was_set_off_is_no_tax() -> None:
    lines = given("Bemessungsgrundlage Kapitalertragsteuer 510,00 EUR", "Kapitalertragsteuer 125,00 EUR")
    assert [str(number.value) for number in gather_candidates(lines).taxes] == ["125.00"]


def test_what_a_cost_was_computed_from_is_no_label_of_its_amount() -> None:
    found = gather_candidates(given("Kurswert 5.211,00 EUR", "Provision 1,1000 % vom Kurswert 57,32 EUR"))
    assert [str(number.value) for number in found.gross] == ["5211.00"]
    assert [str(number.value) for number in found.fees] == ["57.32"]


def test_a_tax_on_a_fee_is_no_fee() -> None:
    found = gather_candidates(given("Comissão 12,14 EUR", "Imposto do selo (4 % s/ comissão) -0,43"))
    assert [str(number.value) for number in found.fees] == ["12.14"]
    assert [str(abs(number.value)) for number in found.taxes] == ["0.43"]


def test_of_which_kind_a_cost_is_is_no_label_of_its_amount() -> None:
    found = gather_candidates(given("Rateo interessi lordo 99,94 EUR", "Imposta sostitutiva su rateo -12,49 EUR"))
    assert [str(number.value) for number in found.interests] == ["99.94"]
    assert [str(number.value) for number in found.taxes] == ["12.49"]


def test_in_the_head_of_a_table_each_label_is_a_column() -> None:
    head, _ = given("Stück  Kurs  Provision  Brutto  Steuer", "10  20,50  4,95  205,00  0,45")
    assert [place.label for place in head.labels] == ["quantity", "price", "fee", "gross", "tax"]


def test_before_taxes_is_no_tax() -> None:
    found = gather_candidates(given("Zu Ihren Lasten vor Steuern EUR 209,95", "Belastung (vor Steuern) EUR 210,50"))
    assert [str(number.value) for number in found.settled] == ["209.95", "210.50"]
    assert found.taxes == ()


def test_a_footnote_is_no_amount() -> None:
    assert gather_candidates(given("Bisher angerechnete Steuer in EUR (4)")).taxes == ()


def test_two_currencies_name_a_rate_and_not_what_it_leads_to() -> None:
    rates = gather_candidates(given("Change EUR/CHF 1.241652 CHF -92'031.25")).exchange_rates
    assert [str(number.value) for number in rates] == ["1.241652"]


def test_the_interest_of_a_bond_is_no_fee() -> None:
    found = gather_candidates(given("Kurswert 1.126,29 EUR", "Zinsbetrag : 1,25 EUR", "Endbetrag 1.127,54 EUR"))
    assert [str(number.value) for number in found.interests] == ["1.25"]
    assert found.unnamed_fees == ()


def test_a_discount_is_one_where_its_line_begins_with_it() -> None:
    found = gather_candidates(given("Internet-Vergünstigung USD - 41.81", "Provision nach Rabatt USD 4.95"))
    assert [str(number.value) for number in found.discounts] == ["41.81"]
    assert [str(number.value) for number in found.fees] == []


def test_other_costs_are_fees_where_an_amount_stands_behind_the_word() -> None:
    assert [str(number.value) for number in gather_candidates(given("Diverse USD -7.34")).fees] == ["7.34"]
    assert gather_candidates(given("Diverse Wertpapiere im Wert von 7.34")).fees == ()


def test_an_amount_behind_the_number_of_an_account_is_none_of_its_digits() -> None:
    settled = gather_candidates(given("Zu Gunsten IBAN AT27 3284 2000 0011 1111 36.115,76 EUR")).settled
    assert [str(number.value) for number in settled] == ["36115.76"]


@pytest.mark.parametrize(
    "text", ["Endbetrag USD: 4.297,00", "Net amount (USD): 4,297.00", "Net amount (in USD) 4,297.00"]
)
def test_a_currency_in_what_a_number_is_called_is_that_of_the_number(text: str) -> None:
    (line,) = given(text)
    assert [number.currency for number in line.numbers] == ["USD"]


def test_the_currency_of_what_is_called_goes_no_further_than_its_number() -> None:
    (line,) = given("Kurs USD: 214,60 bei 20")
    assert [number.currency for number in line.numbers] == ["USD", None]
