"""Until when an invoice is to be paid in full."""

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import read_invoice

HEADS = {
    "de": (
        "Rechnung Nr. 17",
        "Rechnungsdatum: 05.11.2026",
        "Netto  1.000,00",
        "MwSt 19 %  190,00",
        "Gesamt  1.190,00 EUR",
    ),
    "en": ("Invoice 17", "Invoice date: 5 November 2026", "Net  £1,000.00", "VAT 20%  £200.00", "Total  £1,200.00"),
    "fr": ("Facture n° 17", "Date de facture : 05/11/2026"),
    "es": ("Factura nº 17", "Fecha de factura: 05/11/2026"),
    "it": ("Fattura n. 17", "Data fattura: 05/11/2026"),
    "nl": ("Factuurnummer 17", "Factuurdatum 05-11-2026"),
    "pt": ("Fatura n.º 17", "Data de emissão: 05/11/2026"),
    "pl": ("Faktura nr 17", "Data wystawienia: 05.11.2026"),
    "cs": ("Faktura č. 17", "Datum vystavení: 05.11.2026"),
    "da": ("Faktura nr. 17", "Fakturadato: 05-11-2026"),
    "sv": ("Faktura nr 17", "Fakturadatum: 2026-11-05"),
}


def find_due(language: str, *rows: str) -> str:
    return str(read_invoice(Transcript.from_rows(["Muster", *HEADS[language], "", *rows])).invoice.due_date)


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
    assert find_due(language, *terms) == "2026-12-05"
    if len(terms) > 1:
        assert find_due(language, terms[0]) == "None"


def test_a_sentence_on_a_discount_may_go_on_in_the_next_line() -> None:
    early = ("Bei Zahlung bis zum 15.11.2026 gewähren wir auf den", "Rechnungsbetrag 2 % Skonto.")
    assert find_due("de", *early) == "None"
    assert find_due("de", *early, "Fällig am 05.12.2026") == "2026-12-05"
    assert find_due("de", "Wir gewähren 2 % Skonto bei", "Zahlung bis 15.11.2026.") == "None"
    assert find_due("de", "Zahlbar bis 15.11.2026", "mit 2 % Skonto, bis 05.12.2026 netto") == "2026-12-05"
    assert find_due("de", "Zahlbar bis 05.12.2026", "2 % Skonto bis 15.11.2026") == "2026-12-05"


def test_a_smaller_amount_beside_a_day_is_what_pays_who_pays_early() -> None:
    assert (
        find_due("de", "Zahlbar bis 15.11.2026  1.166,20 EUR", "Zahlbar bis 05.12.2026  1.190,00 EUR") == "2026-12-05"
    )
    assert find_due("en", "Pay by 15 November 2026: £1,176.00") == "None"
    assert find_due("en", "Payment due by 5 December 2026: £1,200.00") == "2026-12-05"


@pytest.mark.parametrize(
    "table",
    [
        ("Fällig am  Skonto  Zahlbetrag", "15.11.2026  2,00 %  1.166,20", "05.12.2026  0,00 %  1.190,00"),
        ("Fällig am  Zahlbetrag", "15.11.2026  1.166,20", "05.12.2026  1.190,00"),
        ("Zahlbar bis  15.11.2026  2 % Skonto", "Zahlbar bis  05.12.2026  netto"),
    ],
)
def test_of_a_table_of_terms_the_row_without_a_discount_counts(table: tuple[str, ...]) -> None:
    assert find_due("de", *table) == "2026-12-05"


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
        ("nl", ("Vervaldatum: 05-12-2026, geen korting bij vooruitbetaling",)),
    ],
)
def test_a_discount_that_nobody_gets_until_then_leaves_the_day_what_it_is(
    language: str, terms: tuple[str, ...]
) -> None:
    assert find_due(language, *terms) == "2026-12-05"


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "Your next service is due on 14 November 2027."),
        ("en", "MOT due date: 12/03/2027"),
        ("en", "Renewal due: 20 November 2026"),
        ("en", "Delivery due on 20 November 2026"),
        ("en", "Your next payment of £1,200.00 will be debited on 3 January 2027."),
        ("de", "Nächste Wartung fällig am 15.05.2027."),
        ("de", "HU fällig: 15.05.2027"),
        ("de", "Bitte begleichen Sie auch die Rechnung 4400 vom 01.10.2026, fällig am 20.11.2026."),
        ("fr", "Échéance du contrat : 31/12/2026"),
        ("fr", "Prochain prélèvement le 03/01/2027"),
        ("es", "La garantía vence el 31/12/2026"),
        ("it", "Scadenza contratto: 31/12/2026"),
        ("it", "Consegnare entro il 20/11/2026 al magazzino."),
        ("it", "Lotto A12 scad. 31/12/2026  10  5,00"),
        ("nl", "Domein voorbeeld.nl, vervaldatum 14-12-2026"),
        ("pt", "Vencimento do contrato: 31/12/2026"),
        ("pl", "Termin płatności kolejnej raty: 03.01.2027"),
        ("cs", "Splatnost další zálohy: 03.01.2027"),
        ("da", "Næste rate forfalder 03.01.2027."),
        ("sv", "Avtalet förfaller 2026-12-31."),
    ],
)
def test_what_else_is_due_or_ends_then_is_no_payment_of_this_invoice(language: str, line: str) -> None:
    assert find_due(language, line) == "None"


def test_the_due_date_is_found_behind_that_of_something_else() -> None:
    assert find_due("en", "MOT due date: 20 November 2026", "Payment due date: 5 December 2026") == "2026-12-05"
    assert find_due("it", "Scadenza contratto: 31/12/2026", "Scadenza: 05/12/2026") == "2026-12-05"
    assert find_due("it", "Pagamento", "entro il 05/12/2026") == "2026-12-05"


def test_two_days_for_one_payment_are_none() -> None:
    assert find_due("en", "Due date: 3 December 2026", "Payment due by 5 December 2026") == "None"
    assert find_due("de", "Der Betrag wird in zwei Raten fällig am 15.11.2026 und am 15.12.2026.") == "None"
    assert find_due("fr", "Acompte de 30 % payable le 10/11/2026, solde payable le 10/12/2026.") == "None"


def test_a_day_more_than_a_year_later_is_none_of_payment() -> None:
    assert find_due("en", "Due date: 5 December 2027") == "None"


@pytest.mark.parametrize(
    "position",
    [
        ("Wartung vom 01.11.2026", "bis 30.11.2026, netto"),
        ("Miete vom 01.11.", "bis 30.11.2026 ohne Abzug"),
        ("Zahlungsziel: 14 Tage", "Wartung vom 01.11.2026", "bis 30.11.2026 (netto)"),
    ],
)
def test_the_end_of_a_period_in_a_line_of_its_own_is_no_due_date(position: tuple[str, ...]) -> None:
    assert find_due("de", *position) == "None"


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
    assert find_due(language, line) == "None"


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("de", "Die Ware wird am 20.11.2026 ab Lager Stuttgart abgeholt."),
        ("de", "Der Monteur wird am 20.11.2026 ein neues Schloss montieren."),
        ("de", "Überweisung der Miete für den Zeitraum Januar bis 31.12.2026"),
        ("en", "Please pay attention: the office is closed on 24 December 2026"),
        ("en", "Please transfer your files by 20 November 2026"),
        ("fr", "Merci de confirmer votre rendez-vous avant le 20/11/2026"),
        ("it", "Le merci vanno ritirate entro il 20/11/2026"),
        ("nl", "Gelieve uw opmerkingen vóór 20-11-2026 door te geven"),
    ],
)
def test_what_else_is_asked_for_until_a_day_is_no_payment(language: str, line: str) -> None:
    assert find_due(language, line) == "None"
