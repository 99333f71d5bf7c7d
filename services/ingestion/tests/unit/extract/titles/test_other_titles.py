"""What asks for money that an invoice asks for already is neither completed nor shown to anybody."""

from dataclasses import replace

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import is_invoice, read_invoice

TABLE = ["Rechnung Nr.   Rechnungsdatum   Betrag", "2026-10443   17.02.2026   2.198,44 €"]
TOTALS = ["Net   100.00 €", "VAT 20%   20.00 €", "Total   120.00 €"]


@pytest.mark.parametrize(
    "title",
    [
        "2. Mahnung – Kundennummer 70118",
        "Zahlungserinnerung",
        "Letzte Mahnung vom 07.04.2026",
        "Payment reminder",
        "Second reminder",
        "Lettre de relance",
        "2e rappel",
        "Sollecito di pagamento",
        "Wezwanie do zapłaty",
        "PRZEDSĄDOWE WEZWANIE DO ZAPŁATY",
        "Letzte außergerichtliche Mahnung",
        "Mise en demeure",
        "Inkassokrav",
        "Rykkerskrivelse nr. 2",
    ],
)
def test_what_a_reminder_asks_for_is_no_total_of_an_invoice(title: str) -> None:
    reminder = Transcript.from_rows(["Muster GmbH", title, *TABLE, "Mahngebühr   5,00 €", "Gesamtbetrag   2.203,44 €"])
    assert not is_invoice(reminder)
    assert read_invoice(reminder).invoice.total_gross is None


def test_what_a_delay_costs_is_asked_for_by_no_invoice() -> None:
    rows = ["Kowal Sp. z o.o.", "Faktura nr   Kwota", "FV 77/03/2026   4 920,00 zł", "Odsetki ustawowe   88,12 zł"]
    total = "Razem do zapłaty: 5 008,12 zł"
    assert read_invoice(Transcript.from_rows(["Kowal", "Pismo", "", *rows[2:], total])).invoice.total_gross is None
    assert read_invoice(Transcript.from_rows(["Faktura nr 7/2026", *rows[2:], total])).invoice.amount_due is not None


def test_a_row_of_a_statement_names_an_invoice_and_is_no_title() -> None:
    rows = ["Data   Documento   Scadenza   Dare   Saldo", "10/04/2026   Fattura 311   31/05/2026   1.220,00   1.220,00"]
    assert not is_invoice(Transcript.from_rows(["Colorificio S.r.l.", "ESTRATTO CONTO CLIENTE al 30/06/2026", *rows]))


@pytest.mark.parametrize(
    "subject",
    ["Objet : relance facture impayée n° F-26-0419", "Betreff: Mahnung zur Rechnung 7", "Re: overdue invoice INV-7"],
)
def test_a_letter_that_reminds_is_no_invoice(subject: str) -> None:
    letter = ["Serrurerie Martin SARL", subject, "la facture n° F-26-0419 du 2 avril 2026 d'un montant de 684,00 €"]
    assert not is_invoice(Transcript.from_rows(letter))


def test_what_a_customer_tells_that_it_paid_is_no_invoice_and_a_slip_below_one_is_no_title() -> None:
    table = ["Invoice no   Invoice date   Our ref   Amount paid", "0061   14/05/2026   PI-11907   2,111.40"]
    assert not is_invoice(Transcript.from_rows(["Redbourne Homes Ltd", "REMITTANCE ADVICE", *table]))
    assert is_invoice(Transcript.from_rows(["Example Ltd", "Invoice number: 7", "PAYMENT ADVICE", *TOTALS]))


@pytest.mark.parametrize("words", ["Reminder: please quote our number", "Mahnung"])
def test_an_invoice_may_speak_of_reminders(words: str) -> None:
    rows = ["Muster GmbH", "Rechnung Nr. 2026-10443", words, "Gesamtbetrag   2.203,44 €"]
    assert str(read_invoice(Transcript.from_rows(rows)).invoice.total_gross) == "2203.44"
    rows = ["Muster GmbH", words.replace("Mahnung", "Mahnungen: keine"), "Gesamtbetrag   2.203,44 €", "Rechnung 7"]
    assert str(read_invoice(Transcript.from_rows(rows)).invoice.total_gross) == "2203.44"


def test_a_reminder_with_the_invoice_behind_it_is_for_a_person() -> None:
    reminder = Transcript.from_rows(["Muster GmbH", "Mahnung", "Gesamtbetrag   120,00 €"])
    copy = Transcript.from_rows(["Muster GmbH", "Rechnung Nr. 2026-10443", "Gesamtbetrag   120,00 €"])
    both = replace(reminder, lines=(*reminder.lines, *(replace(line, page=1) for line in copy.lines)))
    assert is_invoice(both)
    assert read_invoice(both).invoice.total_gross is None


@pytest.mark.parametrize(
    "title",
    ["FATTURA PROFORMA n. 12/2026", "Proforma-Rechnung", "Pro forma invoice No. 12", "Faktura pro forma nr 3/2026"],
)
def test_a_pro_forma_invoice_is_none(title: str) -> None:
    transcript = Transcript.from_rows(["Example Ltd", title, "Invoice No: PF-12", *TOTALS])
    assert not is_invoice(transcript)
    assert read_invoice(transcript).invoice.total_gross is None


def test_an_invoice_may_name_the_pro_forma_invoice_before_it() -> None:
    transcript = Transcript.from_rows(["Example Ltd", "Proforma invoice PF-12 was paid", "Invoice", *TOTALS])
    assert is_invoice(transcript)
    assert str(read_invoice(transcript).invoice.total_gross) == "120.00"


def test_a_statement_of_what_is_open_is_no_invoice_and_a_bill_that_is_called_one_may_be() -> None:
    head = ["Example Ltd", "STATEMENT", "Date   Type   Reference   Debit   Credit   Balance"]
    rows = ["31/05/2026   Brought forward   1,120.40", "04/06/2026   Invoice   INV 20931   640.00   1,760.40"]
    total = "Total Due   £1,760.40"
    assert not is_invoice(Transcript.from_rows([*head, *rows, total]))
    assert is_invoice(Transcript.from_rows([*head, "Clinic visit   640.00", total]))


@pytest.mark.parametrize(
    "title",
    [
        "Orderbekräftelse",
        "Potvrzení objednávky",
        "Conferma d'ordine n. 7",
        "Presupuesto",
        "Orçamento 12/2026",
        "Ordrebekræftelse",
        "Nabídka č. 8",
        "Albarán",
        "Kostenvoranschlag",
        "Offene-Posten-Liste per 30.06.2026",
    ],
)
def test_an_offer_an_order_and_a_delivery_are_no_invoice_in_any_language(title: str) -> None:
    assert not is_invoice(Transcript.from_rows(["Example AB", title, *TOTALS]))


def test_who_is_named_as_the_one_to_send_an_invoice_to_has_none_yet() -> None:
    rows = ["Hansen GmbH", "Bestellung Nr. 45-88120", "{}   kreditoren@hansen.example", *TOTALS]
    assert not is_invoice(Transcript.from_rows([row.format("Rechnung an:") for row in rows]))
    assert is_invoice(Transcript.from_rows([row.format("Rechnung") for row in rows]))


@pytest.mark.parametrize(
    "position", ["1. Reminder service plan renewal   120.00 €", "1. Reminder service plan renewal"]
)
def test_a_position_that_is_called_reminder_makes_no_reminder(position: str) -> None:
    assert is_invoice(Transcript.from_rows(["Muster GmbH", position, "Invoice no. 17", *TOTALS]))


def test_an_answer_to_a_reminder_is_none() -> None:
    rows = ["Muster GmbH", "Betreff: Ihre Mahnung vom 3. Mai", "Rechnung Nr. 17", *TOTALS]
    assert is_invoice(Transcript.from_rows(rows))
    assert not is_invoice(Transcript.from_rows([rows[0], "Betreff: Mahnung vom 3. Mai", *rows[3:]]))


def test_a_title_over_two_lines_is_that_of_a_proforma() -> None:
    rows = ["Muster GmbH", "Rechnung", "Proforma", "Rechnung Nr. 17", *TOTALS]
    assert read_invoice(Transcript.from_rows(rows)).invoice.total_gross is None


def test_the_address_for_invoices_is_no_title_of_one() -> None:
    rows = ["Muster GmbH", "Invoice address", "Kunde AG", "Payment reminder", "Your invoice 17", *TOTALS]
    assert read_invoice(Transcript.from_rows(rows)).invoice.total_gross is None


def test_a_lawyers_notice_is_no_bill() -> None:
    rows = ["Avv. Rossi", "{}Parcella n. 17", *TOTALS]
    totals = [
        read_invoice(Transcript.from_rows([row.format(word) for row in rows])).invoice for word in ("", "Avviso di ")
    ]
    assert [invoice.total_gross is None for invoice in totals] == [False, True]
    assert totals[0].invoice_number == "17"


@pytest.mark.parametrize(
    "sentence",
    [
        "Rappel de votre commande W-2210",
        "Friendly reminder to all our customers about the holidays",
        "Herinnering aan uw afspraak van 12 mei",
        "Recordatorio de pago con tarjeta en tienda",
        "Zahlungserinnerung per SMS in unserer App",
        "Påminnelse om våra öppettider",
    ],
)
def test_what_only_begins_as_a_reminder_does_may_stand_over_an_invoice(sentence: str) -> None:
    rows = ["Example Works", sentence, "Invoice no. 17", "Painting   120.00", "Total   120.00 €"]
    assert is_invoice(Transcript.from_rows(rows))
    # Nor does it make an invoice of what names none.
    assert not is_invoice(Transcript.from_rows(["Example Works", sentence, "Welcome"]))


def test_a_pro_forma_invoice_that_was_paid_stands_over_the_invoice_itself() -> None:
    rows = ["Muster GmbH", "Proforma-Rechnung Nr. 12 vom 3. Mai bezahlt", "Rechnung Nr. 117", *TOTALS]
    assert is_invoice(Transcript.from_rows(rows))
    assert str(read_invoice(Transcript.from_rows(rows)).invoice.total_gross) == "120.00"
    # Where it is not said what it is to the invoice, a person sees to it.
    rows[1] = "Proforma-Rechnung Nr. 12"
    assert is_invoice(Transcript.from_rows(rows))
    assert read_invoice(Transcript.from_rows(rows)).invoice.total_gross is None
    assert not is_invoice(Transcript.from_rows([row for row in rows if row != "Rechnung Nr. 117"]))


@pytest.mark.parametrize(
    "rows",
    [
        ("Taxi Kern", "Fahrpreis   23,80 EUR", "incl. 7 % MwSt."),
        (
            "Sehr geehrte Frau Krause,",
            "für die Übersetzung 800,00 Euro.",
            "Umsatzsteuer gemäß § 19 UStG nicht berechnet.",
        ),
    ],
)
def test_a_ticket_or_a_letter_that_says_how_its_amount_is_taxed_is_not_thrown_away(rows: tuple[str, ...]) -> None:
    assert is_invoice(Transcript.from_rows(rows))
    assert not is_invoice(Transcript.from_rows(rows[:-1]))
