"""When an invoice was written, and when it is to be paid."""

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import read_invoice


def dates(*rows: str) -> tuple[str, str]:
    invoice = read_invoice(Transcript.from_rows(rows)).invoice
    return str(invoice.issue_date), str(invoice.due_date)


@pytest.mark.parametrize(
    "sentence",
    [
        "Zahlbar innerhalb von 14 Tagen ohne Abzug bis zum 20.04.2026.",
        "Bitte überweisen Sie den Restbetrag bis 20.04.2026 auf unser Konto.",
        "Zahlungsbedingungen: bis zum 10.04.2026 2,00 % Skonto, bis zum 20.04.2026 ohne Abzug",
        "Please transfer the amount to our account by 20 April 2026.",
        "Merci de régler cette facture au plus tard le 20/04/2026.",
        "Sposób zapłaty: przelew 14 dni, termin: 2026-04-20",
        "Terms of payment: net 30 days, 2026-04-20",
        "Wij verzoeken u het bedrag voor 20 april 2026 over te maken.",
    ],
)
def test_a_sentence_may_say_until_when_to_pay(sentence: str) -> None:
    assert dates("Invoice 17", "Invoice date: 2026-03-30", sentence)[1] == "2026-04-20"


def test_a_sentence_that_offers_a_discount_until_a_day_names_no_due_date() -> None:
    sentence = "Bitte überweisen Sie den Betrag bis 20.04.2026 mit 2 % Skonto."
    assert dates("Rechnung 17", "Rechnungsdatum: 30.03.2026", sentence)[1] == "None"


def test_a_date_behind_another_number_is_not_the_invoices() -> None:
    assert dates("Rechnung 900", "4500781 / 02.03.2026")[0] == "None"
    assert dates("Rechnung 900", "02.03.2026")[0] == "2026-03-02"


def test_where_accounts_have_an_iban_the_day_stands_first() -> None:
    rows = ["Invoice 17", "Invoice/Tax Date   03/04/2026", "Total   EUR 12.00"]
    assert dates(*rows)[0] == "None"
    assert dates(*rows, "IBAN DE89 3704 0044 0532 0130 00")[0] == "2026-04-03"
    assert dates(*rows[:2], "Total   USD 12.00", "IBAN DE89 3704 0044 0532 0130 00")[0] == "None"


@pytest.mark.parametrize(
    ("line", "issued"),
    [
        ("(dd/mm/yyyy)", "2026-04-03"),
        ("Dates are written MM/DD/YYYY", "2026-03-04"),
        ("", "2026-04-03"),
        ("Your order of 10/28/2026", "None"),
        ("Your order of 28/10/2026", "2026-04-03"),
    ],
)
def test_one_date_as_a_customer_may_write_it_settles_nothing_against_the_currency(line: str, issued: str) -> None:
    page_says = line.startswith("Dates")
    total = "Total   $12.00" if page_says else "Total   £12.00"
    assert dates("Invoice 17", "Invoice date   03/04/2026", line, total)[0] == issued


@pytest.mark.parametrize(
    ("label", "written", "issued"),
    [
        ("Fakturadatum", "26-11-03", "None"),
        ("Fakturadatum", "26-11-24", "None"),
        ("Fakturadatum", "26-11-26", "2026-11-26"),
        ("Fakturadatum", "2026-11-24", "2026-11-24"),
        ("Factuurdatum", "24-11-26", "2026-11-24"),
        ("Factuurdatum", "03-11-26", "2026-11-03"),
        ("Factuurdatum", "26-11-03", "None"),  # nobody sends an invoice of 2003
        ("Invoice date", "26/11/03", "None"),
    ],
)
def test_a_date_of_two_digits_each_may_begin_with_the_year(label: str, written: str, issued: str) -> None:
    assert dates("Invoice 17", f"{label}   {written}", "Total   £12.00")[0] == issued


@pytest.mark.parametrize(
    "label",
    ["Due", "Vervaldag", "Betalingsdato", "Payable jusqu'au", "Oss tillhanda senast", "Płatność do", "Pagável até"],
)
def test_the_due_date_has_many_names(label: str) -> None:
    assert dates("Invoice 17", "Issued   2026-03-30", f"{label}   2026-04-20") == ("2026-03-30", "2026-04-20")


def test_a_town_may_stand_in_a_cell_of_its_own_before_the_date() -> None:
    assert dates("Rechnung 17", "Schweinfurt, den   22. Juni 2026")[0] == "2026-06-22"


def test_the_head_of_a_column_of_positions_dates_no_invoice() -> None:
    head = "Datum   Beschreibung   Stunden   Betrag"
    assert dates("Rechnung 17", head, "03.02.2026   Beratung   2   240,00")[0] == "None"
    assert dates("Rechnung 17", "Datum   Nummer   Kunde", "03.02.2026   17   4711")[0] == "2026-02-03"


def test_a_day_that_is_called_due_is_no_day_of_issue() -> None:
    rows = ["FATTURA n. 57/2026 del 9 novembre 2026", "Pagamento a 30 giorni data fattura (scadenza 09/12/2026)"]
    assert dates(*rows) == ("2026-11-09", "2026-12-09")


@pytest.mark.parametrize(
    "sentence",
    [
        "Der Betrag wird am 20.04.2026 von Ihrem Konto abgebucht.",
        "Den Beitrag buchen wir am 20.04.2026 von Ihrem Konto ab.",
        "Montant prélevé le 20/04/2026",
        "Fecha de cargo: 20 de abril de 2026",
        "The amount will be debited from your account on 20 April 2026.",
        "Het bedrag wordt rond 20 april 2026 van uw rekening afgeschreven.",
    ],
)
def test_what_is_debited_is_due_on_that_day(sentence: str) -> None:
    assert dates("Invoice 17", "Invoice date: 2026-03-30", sentence)[1] == "2026-04-20"


@pytest.mark.parametrize(
    "title", ["Votre facture du 5 octobre 2026", "Tax point  5 October 2026", "Notadatum 5 oktober 2026"]
)
def test_what_else_names_the_day_of_issue(title: str) -> None:
    assert dates("Example SAS", title)[0] == "2026-10-05"


def test_a_credit_note_has_not_the_date_of_the_invoice_that_it_is_of() -> None:
    assert dates("Gutschrift 7", "Ihre Rechnung vom 05.10.2026")[0] == "None"


@pytest.mark.parametrize(
    "title",
    [
        "Rechnung Nr. 28471-06 Behandlungen vom 12.05.2026 bis 09.06.2026",
        "Rechnung Nr. 17 zu Ihrer Bestellung vom 12.05.2026",
        "Facture n° 17 selon devis accepté du 12/05/2026",
        "Rechnung vom 12.05.2026 bis 09.06.2026",
        "Votre facture du 1er au 31 mai 2026",
        "Fattura n. 17 del 12/05/2026 - 09/06/2026",
    ],
)
def test_the_days_of_what_was_done_are_no_day_of_issue(title: str) -> None:
    assert dates(title, "Thun, 15.06.2026", "Total   100.00")[0] == "2026-06-15"


@pytest.mark.parametrize(
    "row",
    [
        "Billing date: March 30, 2026",
        "Date issued: 30-Mar-26",
        "Date: Monday, 30 March 2026",
        "Ausgestellt am 30.03.2026",
        "Facture établie le 30 mars 2026",
        "Datum factuur: 30 maart 2026",
        "Wystawiono dnia 30.03.2026",
        "Fecha fra.: 30/03/2026",
        "Data doc.   30/03/2026",
        "Emitida em 30-03-2026",
        "Udstedt: 30.03.2026",
        "Utställd: 2026-03-30",
        "DATE D'EMISSION : 30/03/2026",
    ],
)
def test_the_day_of_issue_has_many_names(row: str) -> None:
    assert dates("Invoice 17", row, "Order of   2026-02-02")[0] == "2026-03-30"


@pytest.mark.parametrize(
    "row",
    [
        "Terms: 30 days from end of month. Due 20 April 2026.",
        "€210.00 due April 20, 2026",
        "To be paid by 20 April 2026",
        "Zahlungsfrist: 20.04.2026",
        "Bitte begleichen Sie den Betrag bis spätestens 20.04.2026",
        "zahlbar spätestens am 20.04.2026",
        "Wir buchen den Betrag am 20.04.2026 ab.",
        "DATE LIMITE DE PAIEMENT : 20/04/2026",
        "ECHEANCE : 20/04/2026",
        "Payable le 20/04/2026",
        "Vence: 20/04/2026",
        "A pagar antes del 20/04/2026",
        "Scad. 20/04/2026",
        "Bonifico bancario 30 gg d.f. 20/04/2026",
        "Uiterlijk te betalen op 20-04-2026",
        "Automatische incasso op 20-04-2026",
        "Zapłata do dnia 20.04.2026",
        "Splatná dne 20.4.2026",
        "Sista betalningsdag: 2026-04-20",
        "Règlement : 30 jours date de facture, soit le 20/04/2026, par virement.",
        "Zahlbar innerhalb von 14 Tagen ab Rechnungsdatum ohne Abzug, spätestens bis 20.04.2026.",
        "Die Nachzahlung von 147,31 € buchen wir am 20.04.2026 von Ihrem Konto DE02 1203",
    ],
)
def test_a_line_may_say_until_when_to_pay_in_many_words(row: str) -> None:
    assert dates("Invoice 17", "Invoice date: 2026-03-30", row)[1] == "2026-04-20"


@pytest.mark.parametrize(
    "row",
    [
        "Payment due 30 days from invoice date",
        "30 days from invoice date 30/03/2026",
        "Amounts past due 20 April 2026",
        "Overdue since 1 April 2026",
        "Zahlbar innerhalb 30 Tagen ab Rechnungsdatum 30.03.2026",
    ],
)
def test_days_that_payment_is_counted_from_are_no_due_date(row: str) -> None:
    assert dates("Invoice 17", "Invoice date: 2026-03-30", row)[1] == "None"


def test_a_day_of_issue_that_days_are_counted_from_is_not_what_follows_it() -> None:
    rows = ["FACTURE   N° FA26-0873", "Date : 18/06/2026", "Règlement : 30 jours date de facture, soit le 18/07/2026"]
    assert dates(*rows) == ("2026-06-18", "2026-07-18")
    assert dates(rows[0], rows[2])[0] == "None"


def test_a_town_before_a_date_may_stand_lower_than_a_bare_date() -> None:
    head = [f"Zeile {number}" for number in "abcdefghijklmno"]
    foot = ["Rechnung Nr. 17", *head, *head]
    assert dates(*head, "Lindental, 22. Januar 2026", *foot)[0] == "2026-01-22"
    assert dates(*head, "22. Januar 2026", *foot)[0] == "None"


@pytest.mark.parametrize(
    "title",
    [
        "PARCELLA / FATTURA N. 88/2026 DEL 30/10/2026",
        "Factura nº 88 de fecha 30/10/2026",
        "Fatura n.º FT 2026/88 de 30/10/2026",
        "Fattura n. 88/2026 in data 30/10/2026",
        "Fattura n. 88 emessa il 30/10/2026",
        "Factuur nr. 88 d.d. 30-10-2026",
        "Faktura nr. 2088 af 30. oktober 2026",
        "Faktura nr. 2088 den 30. oktober 2026",
        "Faktura 2088, 2026-10-30",
        "Invoice No. 88 of 30 October 2026",
        "Invoice 0088 - 30 October 2026",
        "Rechnung 2026-88 / 30.10.2026",
    ],
)
def test_number_and_date_may_share_a_line(title: str) -> None:
    assert dates("Example Ltd", title)[0] == "2026-10-30"


@pytest.mark.parametrize(
    "title",
    [
        "Invoice 0088 for delivery of 30 October 2026",
        "Credit note 88 of invoice 4 of 30 October 2026",
        "Gutschrift Nr. 88 zu Rechnung Nr. 4 vom 30.10.2026",
        "Rechnung 2026-88 / Lieferschein 30.10.2026",
        "Fattura n. 88 su DDT 44 del 30/10/2026",
        "Rechnung Nr. 88 zu LS 44 vom 30.10.2026",
    ],
)
def test_the_day_of_something_else_may_share_the_line_too(title: str) -> None:
    assert dates("Example Ltd", title)[0] == "None"


def test_the_day_without_a_discount_may_stand_in_a_line_of_its_own() -> None:
    early = "Zahlbar bis 10.10.2026 mit 3,00 % Skonto"
    for late in ("oder bis 30.10.2026 rein netto.", "bis zum 30.10.2026 ohne Abzug", "bis 30.10.2026 netto"):
        assert dates("Rechnung 17", "Rechnungsdatum: 30.09.2026", early, late)[1] == "2026-10-30"
    for other in (
        "geliefert bis 30.10.2026",
        "Wartung vom 01.10.2026 bis 30.10.2026, netto 1.000,00 EUR",
        "Angebotspreise gültig bis 30.10.2026 (netto)",
        "Garantie bis 30.10.2026 ohne Abzug",
        "bis 30.10.2026: netto 500,00 EUR",
    ):
        assert dates("Rechnung 17", "Rechnungsdatum: 30.09.2026", early, other)[1] == "None"


def test_a_day_behind_the_number_is_the_invoices() -> None:
    assert dates("Northlight", "Bill reference", "NLE-33017764-09 (2 October 2026)")[0] == "2026-10-02"
    assert dates("Northlight", "Bill reference", "NLE-33017764-09 (paid 2 October 2026)")[0] == "None"
    bars = "Fakturanr.: 10934 | Dato: 18-05-2026 | Kundenr.: 555"
    assert dates("Køleteknik", bars)[0] == "2026-05-18"
    assert dates("Køleteknik", bars.replace("Fakturanr", "Ordrenr"))[0] == "None"
    assert dates("Køleteknik", "Fakturanr.: 10934 | Ordre 4 | Dato: 18-05-2026")[0] == "None"


def test_a_title_with_a_number_in_its_word_says_the_language_too() -> None:
    assert dates("Drank B.V.", "Factuurnummer 77", "Factuurdatum 01-03-2026", "Totaal € 12,00")[0] == "2026-03-01"


@pytest.mark.parametrize(
    "title",
    [
        "Invoice BJ-20441, DN 5512 of 14 October 2026",
        "Invoice BJ-20441 – WO 3312 dated 14 October 2026",
        "Fattura n. 118/2026 rif. OdA 44 del 14/10/2026",
        "Factura 2026/0118, obra de 14/10/2026",
        "Rechnung 2026-4471 Kurs vom 14.10.2026",
        "Rechnung 2026-4471, KW 42, 14.10.2026",
        "Faktura 10118 kurs den 14 oktober 2026",
        "Faktura FV/118/2026, kurs z dnia 14.10.2026",
        "Invoice BJ-20441 for trip of 14 October 2026",
        # What stands behind the day says of what it is.
        "Invoice BJ-20441 - 14 October 2026 call-out",
        "Facture F2026-0118 – 14 octobre 2026 dépannage",
        "Rechnung 2026-4471 von Muster GmbH für Lieferung vom 14.10.2026",
    ],
)
def test_nothing_but_its_number_stands_between_a_title_and_its_day(title: str) -> None:
    assert dates("Example Ltd", title)[0] == "None"
    assert dates("Example Ltd", title, "Date: 3 November 2026")[0] == "2026-11-03"


@pytest.mark.parametrize(
    "other",
    [
        "Bezug: Rechnungsnr. 2026-4400 (14.10.2026)",
        "Vorherige Rechnungsnr.: 2026-4400 | Datum: 14.10.2026",
        "Relates to invoice no. 20440 | Date: 14/10/2026",
        "Rechnung Nr. 2026-4400 vom 14.10.2026",
        "Rechnung vom 14.10.2026",
    ],
)
def test_the_day_behind_another_invoices_number_is_that_ones(other: str) -> None:
    assert dates("Gutschrift Nr. GS-118", other)[0] == "None"
    assert dates("Gutschrift Nr. GS-118 vom 03.11.2026", other)[0] == "2026-11-03"


def test_of_a_day_in_brackets_and_another_one_nobody_can_tell_which_is_the_invoices() -> None:
    assert dates("Invoice number: BJ-20441 (3 December 2026)", "Date: 3 November 2026")[0] == "None"
    assert dates("Invoice number: BJ-20441 (3 November 2026)", "Date: 3 November 2026")[0] == "2026-11-03"


@pytest.mark.parametrize(
    ("row", "issued"),
    [
        ("Studio Anna Kowal                          Wrocław, 15.11.2026", "2026-11-15"),
        ("Studio Anna Kowal                          Wrocław, 15-11-2026", "2026-11-15"),
        ("Studio Anna Kowal                          Poznań, dnia 15.11.2026 r.", "2026-11-15"),
        ("Tømrer Krogh                               Roskilde, den 15. november 2026", "2026-11-15"),
        ("Zakład Duda                                Gdańsk, dn. 15.11.2026 r.", "2026-11-15"),
        # No town of the page, nor a word for a day.
        ("Studio Anna Kowal                          Targi, 15.11.2026", "None"),
        # A label and its value.
        (
            "Ceramika\nul. Nowa 3\nNIP: 8992345002\nKoncert                              Wrocław, dnia 15.11.2026",
            "None",
        ),
        ("Miejsce i data dostawy                     Wrocław, 15.11.2026", "None"),
        ("Dostawa:  Wrocław, 15.11.2026", "None"),
        ("Dostawa                          Wrocław, 15.11.2026               900,00", "None"),
    ],
)
def test_a_town_and_a_day_at_the_right_edge_of_the_head_say_when_an_invoice_was_written(row: str, issued: str) -> None:
    assert (
        dates(*row.split("\n"), "ul. Ruska 46a", "50-079 Wrocław", "Faktura nr 27/11/2026", "Razem   900,00 zł")[0]
        == issued
    )


def test_a_day_in_polish_may_end_with_the_word_for_its_year() -> None:
    assert dates("Poznań, dnia 30.09.2026 r.", "Faktura nr 27/11/2026", "Razem   900,00 zł")[0] == "2026-09-30"
    assert dates("Poznań, 30.09.2026 roku", "Faktura nr 27/11/2026", "Razem   900,00 zł")[0] == "2026-09-30"


def test_a_day_straight_behind_the_number_is_the_invoices() -> None:
    assert dates("FAKTURA", "Fakturanr 50418 Datum 2026-11-11", "Kundnr 118")[0] == "2026-11-11"
    assert dates("FAKTURA", "Fakturanr 50418 Ordernr 7 Datum 2026-11-11", "Kundnr 118")[0] == "None"
