"""The day until which less is to be paid is not the one until which all is."""

import pytest
from invoice_rows import read_due_date


@pytest.mark.parametrize(
    ("language", "terms"),
    [
        ("de", ("Bei Zahlung bis 14.11.2026 2 % Skonto = 25,82 EUR, Zahlbetrag 1.166,20 EUR", "Bis 05.12.2026 netto")),
        ("de", ("Zahlungsbedingungen: 2 % Skonto bei Zahlung bis 15.11.2026", "ohne Abzug bis 05.12.2026")),
        ("de", ("Bei Zahlung bis zum 15.11.2026 gewähren wir 3 % Skonto.", "Zahlbar netto bis 05.12.2026.")),
        ("de", ("Ziehen Sie bei Zahlung bis 15.11.2026 23,80 EUR ab.", "Spätestens fällig am 05.12.2026.")),
        ("de", ("Zahlbar: bis 15.11.2026 2 % Skonto, bis 05.12.2026 netto",)),
        ("en", ("Payment by 15 November 2026: deduct 2% (£24.00)", "Payment due 5 December 2026")),
        ("en", ("Pay by 15 November 2026 and save £24.00", "Due date: 5 December 2026")),
        ("fr", ("2 % d'escompte si payable avant le 15/11/2026", "Net à payer au plus tard le 05/12/2026")),
        ("es", ("Descuento del 2 % por pronto pago, pagar antes del 15/11/2026", "Vencimiento: 05/12/2026")),
        ("it", ("Sconto 2% per pagamento entro il 15/11/2026", "Scadenza 05/12/2026")),
        ("nl", ("Te betalen voor 15-11-2026 met 2% korting", "Te betalen uiterlijk 05-12-2026")),
        ("pt", ("Pagar até 15/11/2026 com 2% de desconto", "Vencimento: 05/12/2026")),
        ("pl", ("Płatne do 15.11.2026 z 2% skontem", "Płatne do 05.12.2026 bez skonta")),
        ("cs", ("Sleva 2 % při úhradě, splatno do 15.11.2026", "Datum splatnosti: 05.12.2026")),
        ("da", ("Betales senest 15-11-2026 fratrækkes 2% kontantrabat", "Forfaldsdato: 05-12-2026")),
        ("sv", ("Betalas senast 2026-11-15 med 2% kassarabatt", "Förfallodatum 2026-12-05")),
    ],
)
def test_the_day_until_which_less_is_to_be_paid_is_not_the_due_date(language: str, terms: tuple[str, ...]) -> None:
    assert read_due_date(language, *terms) == "2026-12-05"
    if len(terms) > 1:
        assert read_due_date(language, terms[0]) == "None"


def test_a_sentence_on_a_discount_may_go_on_in_the_next_line() -> None:
    early = ("Bei Zahlung bis zum 15.11.2026 gewähren wir auf den", "Rechnungsbetrag 2 % Skonto.")
    assert read_due_date("de", *early) == "None"
    assert read_due_date("de", *early, "Fällig am 05.12.2026") == "2026-12-05"
    assert read_due_date("de", "Wir gewähren 2 % Skonto bei", "Zahlung bis 15.11.2026.") == "None"
    assert read_due_date("de", "Zahlbar bis 15.11.2026", "mit 2 % Skonto, bis 05.12.2026 netto") == "2026-12-05"
    assert read_due_date("de", "Zahlbar bis 05.12.2026", "2 % Skonto bis 15.11.2026") == "2026-12-05"


def test_a_smaller_amount_beside_a_day_is_what_pays_who_pays_early() -> None:
    assert (
        read_due_date("de", "Zahlbar bis 15.11.2026  1.166,20 EUR", "Zahlbar bis 05.12.2026  1.190,00 EUR")
        == "2026-12-05"
    )
    assert read_due_date("en", "Pay by 15 November 2026: £1,176.00") == "None"
    assert read_due_date("en", "Payment due by 5 December 2026: £1,200.00") == "2026-12-05"


@pytest.mark.parametrize(
    "table",
    [
        ("Fällig am  Skonto  Zahlbetrag", "15.11.2026  2,00 %  1.166,20", "05.12.2026  0,00 %  1.190,00"),
        ("Fällig am  Zahlbetrag", "15.11.2026  1.166,20", "05.12.2026  1.190,00"),
        ("Zahlbar bis  15.11.2026  2 % Skonto", "Zahlbar bis  05.12.2026  netto"),
    ],
)
def test_of_a_table_of_terms_the_row_without_a_discount_counts(table: tuple[str, ...]) -> None:
    assert read_due_date("de", *table) == "2026-12-05"


@pytest.mark.parametrize(
    ("language", "terms"),
    [
        ("de", ("Zahlbar bis 05.12.2026 ohne jeden Abzug.", "Skontoabzug ist nicht zulässig.")),
        ("de", ("Zahlbar bis 05.12.2026 netto, bei Zahlung innerhalb von 10 Tagen 2 % Skonto",)),
        ("de", ("Zahlungsbedingungen: 10 Tage 2 % Skonto, 30 Tage netto, fällig am 05.12.2026",)),
        ("de", ("Rabatt 10 %  -20,00", "Fällig: 05.12.2026", "Rabatt 10 %  -20,00")),
        ("de", ("Fällig am 05.12.2026. Nach Fälligkeit berechnen wir 9 % Verzugszinsen.",)),
        ("de", ("Rechnungsdatum: 05.11.2026 Zahlbar bis 05.12.2026",)),
        ("de", ("Zahlungsziel 30 Tage ab Rechnungsdatum 05.11.2026, spätestens 05.12.2026.",)),
        ("en", ("Due date: 5 December 2026 (2% discount if paid within 10 days)",)),
        ("en", ("Due on 5 December 2026. No discount for early payment.",)),
        ("fr", ("Échéance : 05/12/2026 - Pas d'escompte pour paiement anticipé",)),
        ("fr", ("Échéance : 05/12/2026. Escompte pour paiement anticipé : néant.",)),
        ("fr", ("Date d'échéance : 05/12/2026, pénalités de retard au taux de 12 % l'an, aucun escompte",)),
        ("fr", ("Échéance : 05/12/2026 - point d'escompte pour paiement anticipé",)),
        ("de", ("Fällig am 05.12.2026. Bei Zahlung innerhalb von 10 Tagen gewähren wir 2 % Skonto.",)),
        ("nl", ("Vervaldatum: 05-12-2026, geen korting bij vooruitbetaling",)),
    ],
)
def test_a_discount_that_nobody_gets_until_then_leaves_the_day_what_it_is(
    language: str, terms: tuple[str, ...]
) -> None:
    assert read_due_date(language, *terms) == "2026-12-05"


def test_a_line_on_a_discount_below_a_day_speaks_of_that_day() -> None:
    assert read_due_date("de", "Fällig am 15.11.2026", "Skonto 2 % bis dahin abgezogen") == "None"
    assert read_due_date("de", "Fällig am 05.12.2026", "Rabatt 2 % bereits abgezogen") == "2026-12-05"
