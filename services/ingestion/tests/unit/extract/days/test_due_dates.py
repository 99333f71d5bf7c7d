"""Until when an invoice is to be paid in full."""

import pytest
from invoice_rows import read_due_date


def test_the_due_date_is_found_behind_that_of_something_else() -> None:
    assert read_due_date("en", "MOT due date: 20 November 2026", "Payment due date: 5 December 2026") == "2026-12-05"
    assert read_due_date("it", "Scadenza contratto: 31/12/2026", "Scadenza: 05/12/2026") == "2026-12-05"
    assert read_due_date("it", "Pagamento", "entro il 05/12/2026") == "2026-12-05"


def test_two_days_for_one_payment_are_none() -> None:
    assert read_due_date("en", "Due date: 3 December 2026", "Payment due by 5 December 2026") == "None"
    assert read_due_date("de", "Der Betrag wird in zwei Raten fällig am 15.11.2026 und am 15.12.2026.") == "None"
    assert read_due_date("fr", "Acompte de 30 % payable le 10/11/2026, solde payable le 10/12/2026.") == "None"


def test_a_day_more_than_a_year_later_is_none_of_payment() -> None:
    assert read_due_date("en", "Due date: 5 December 2027") == "None"


@pytest.mark.parametrize(
    "position",
    [
        ("Wartung vom 01.11.2026", "bis 30.11.2026, netto"),
        ("Miete vom 01.11.", "bis 30.11.2026 ohne Abzug"),
        ("Zahlungsziel: 14 Tage", "Wartung vom 01.11.2026", "bis 30.11.2026 (netto)"),
        ("Rechnung über Wartung vom 01.11.2026", "bis 30.11.2026 (netto)"),
    ],
)
def test_the_end_of_a_period_in_a_line_of_its_own_is_no_due_date(position: tuple[str, ...]) -> None:
    assert read_due_date("de", *position) == "None"


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("de", "Zahlungsfrist: 30 Tage ab 05.11.2026"),
        ("de", "Fällig 30 Tage nach dem 05.11.2026"),
        ("en", "Due date: 30 days after 5 November 2026"),
        ("fr", "Échéance : 30 jours à compter du 05/11/2026"),
        ("es", "Vencimiento: 30 días desde el 05/11/2026"),
        ("it", "Scadenza: 30 gg dalla data 05/11/2026"),
        ("pt", "Vencimento: 30 dias após 05/11/2026"),
        ("pl", "Termin płatności: 30 dni od 05.11.2026"),
        ("cs", "Splatnost: 30 dní od 05.11.2026"),
        ("da", "Forfald: 30 dage fra 05-11-2026"),
        ("sv", "Förfallodag: 30 dagar från 2026-11-05"),
    ],
)
def test_the_day_that_a_term_is_counted_from_is_not_its_end(language: str, line: str) -> None:
    assert read_due_date(language, line) == "None"


def test_another_day_in_the_same_line_leaves_the_due_date_what_it_is() -> None:
    assert read_due_date("de", "Zahlbar bis 05.12.2026, geliefert am 01.11.2026") == "2026-12-05"
    assert read_due_date("de", "Fällig in 30 Tagen, spätestens am 05.12.2026") == "2026-12-05"
    assert read_due_date("de", "Bei Eingang bis 15.11.2026 2 % Skonto, fällig am 05.12.2026") == "2026-12-05"


def test_a_column_of_positions_has_no_due_date() -> None:
    assert read_due_date("it", "Articolo  Scadenza  Quantità", "Latte  31/12/2026  2") == "None"
    assert read_due_date("it", "Fattura  Scadenza  Rata", "17  31/12/2026  1") == "2026-12-31"
