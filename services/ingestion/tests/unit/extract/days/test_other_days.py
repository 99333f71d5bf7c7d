"""What else is due or ends on a day than the payment of this invoice."""

import pytest
from invoice_rows import read_due_date


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
        ("en", "Your new instalment is due on 15 January 2027."),
        ("de", "Ihr neuer Abschlag ist zahlbar bis 15.01.2027."),
        ("fr", "Nouvelle mensualité payable le 15/01/2027"),
        ("nl", "Nieuw termijnbedrag te betalen voor 15-01-2027"),
        ("es", "Nueva cuota: vencimiento 15/01/2027"),
        ("en", "Retention release due on 3 November 2027"),
        ("fr", "Retenue de garantie payable le 03/11/2027"),
        ("it", "Svincolo trattenute: scadenza 03/11/2027"),
    ],
)
def test_what_else_is_due_or_ends_then_is_no_payment_of_this_invoice(language: str, line: str) -> None:
    assert read_due_date(language, line) == "None"


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("de", "Die Ware wird am 20.11.2026 ab Lager Stuttgart abgeholt."),
        ("de", "Der Monteur wird am 20.11.2026 ein neues Schloss montieren."),
        ("de", "Überweisung der Miete für den Zeitraum Januar bis 31.12.2026"),
        ("en", "Please pay attention: the office is closed on 24 December 2026"),
        ("en", "Please transfer your files by 20 November 2026"),
        ("fr", "Merci de confirmer votre rendez-vous avant le 20/11/2026"),
        ("fr", "Merci de libérer les lieux avant le 20/11/2026"),
        ("it", "Le merci vanno ritirate entro il 20/11/2026"),
        ("nl", "Gelieve uw opmerkingen vóór 20-11-2026 door te geven"),
    ],
)
def test_what_else_is_asked_for_until_a_day_is_no_payment(language: str, line: str) -> None:
    assert read_due_date(language, line) == "None"


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "Eye test due 12 May 2027"),
        ("de", "Ölwechsel fällig am 12.05.2027"),
        ("fr", "Vidange : échéance 12/05/2027"),
        ("es", "Tarjeta cliente: vence el 12/05/2027"),
        ("it", "Punti fedeltà: scadenza 12/05/2027"),
        ("nl", "Tegoed: vervaldatum 12-05-2027"),
        ("pt", "Extintor: data de vencimento 12/05/2027"),
        ("pl", "Punkty: płatne do 12.05.2027"),
        ("cs", "Voucher: splatnost 12.05.2027"),
        ("da", "Skorstensfejning forfalder 12-05-2027"),
        ("sv", "Bonuspoäng förfaller 2027-05-12"),
    ],
)
def test_what_is_due_and_not_called_a_payment_is_none(language: str, line: str) -> None:
    assert read_due_date(language, line) == "None"


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "Terms: 30 days from end of month. Due 3 December 2026"),
        ("en", "Total due 3 December 2026"),
        ("en", "Customer no. 10442 Due date: 3 December 2026"),
        ("de", "Der Gesamtbetrag ist fällig am 03.12.2026"),
        ("fr", "Date limite d'échéance : 03/12/2026"),
        ("es", "Fecha de vencimiento: 03/12/2026"),
        ("it", "Bonifico bancario 30 gg, scadenza 03/12/2026"),
    ],
)
def test_the_payments_own_words_before_its_day_leave_it_due(language: str, line: str) -> None:
    assert read_due_date(language, line) == "2026-12-03"
