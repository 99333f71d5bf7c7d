"""Whether money is asked for or given back."""

from dataclasses import replace

import pytest

from ingestion.domain.invoice import CORRECTED_INVOICE, CREDIT_NOTE, INVOICE
from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import read_invoice
from ingestion.extract.titles.invoice_kind import InvoiceKind


def kind(*rows: str) -> InvoiceKind:
    return read_invoice(Transcript.from_rows(rows)).kind


@pytest.mark.parametrize(
    ("title", "sentence"),
    [
        ("Rechnung", "Gutschrift aus 2025 bitte bei der Überweisung abziehen"),
        ("Rechnung", "Gutschrift 90 liegt bei"),
        ("Invoice", "Credit note policy: see overleaf"),
        ("Invoice", "A corrected invoice will follow if details are wrong"),
        ("Facture", "Avoir sur votre compte : 0,00 €"),
        ("Factura", "Nota de crédito 90: aplicada"),
        ("Fattura", "Nota di credito 90 già emessa"),
        ("Factuur", "Creditnota 90 is verrekend"),
        ("Faktura", "Faktura korygująca zostanie wysłana po zwrocie palet"),
        ("Faktura", "Kreditnota sendes ved returnering"),
        ("Faktura", "Kreditfaktura: nej"),
    ],
)
def test_a_sentence_on_what_is_given_back_makes_no_credit_note(title: str, sentence: str) -> None:
    for rows in ((title, sentence), (sentence, title)):
        assert kind("Example GmbH", *rows, "Total  10.00 EUR") == InvoiceKind(INVOICE)


@pytest.mark.parametrize(
    "title",
    [
        "Gutschrift",
        "Rechnungsgutschrift",
        "Gutschrift zur Rechnung 4711 vom 03.05.2026",
        "Credit note no. CN-118",
        "Avoir n° AV-118",
        "Factura de abono",
        "Nota di accredito n. 118",
        "Creditfactuur",
        "Kreditfaktura",
        "CREDIT-NOTE",
        "Kredit nota",
        "Credit nota",
        "Kredietnota",
    ],
)
def test_a_credit_note_is_one_by_its_title_also_beside_the_number_of_its_invoice(title: str) -> None:
    assert kind("Example", title, "Rechnungsnummer: 4711", "Total  10.00 EUR") == InvoiceKind(CREDIT_NOTE)


@pytest.mark.parametrize(
    "rows",
    [
        ("Invoice", "Credit note no. CN-90"),
        ("Rechnung/Gutschrift",),
        ("Rechnung (keine Gutschrift)",),
        ("Invoice and credit note",),
        ("Stornorechnung",),
        ("Rechnung", "STORNO der Rechnung 2026-4400"),
        ("Refund",),
        ("Opravný daňový doklad č. 7",),
    ],
)
def test_where_titles_say_both_or_that_something_is_undone_a_person_says_whether_it_is_paid(
    rows: tuple[str, ...],
) -> None:
    assert kind("Example", *rows, "Total  10.00 EUR") == InvoiceKind(INVOICE, is_certain=False)
    # Its amounts say it.
    assert kind("Example", "Stornorechnung", "Total  -10.00 EUR") == InvoiceKind(CORRECTED_INVOICE)


@pytest.mark.parametrize(
    ("title", "label"),
    [
        ("Credit Invoice", "Invoice no."),
        ("Credit adjustment note", "Invoice no."),
        ("Invoice reversal", "Invoice no."),
        ("Rechnungsstorno", "Rechnungsnummer"),
        ("Wertgutschrift", "Rechnungsnummer"),
        ("Warenrückgabe - Gutschrift", "Rechnungsnummer"),
        ("GUTSCHRIFTSANZEIGE", "Rechnungsnummer"),
        ("Rückvergütung", "Rechnungsnummer"),
        ("Note d'avoir", "Facture n°"),
        ("Facture d'annulation", "Facture n°"),
        ("Nota de abono", "Factura nº"),
        ("Devolución", "Factura nº"),
        ("Nota credito", "Fattura n."),
        ("Nota di variazione in diminuzione", "Fattura n."),
        ("Credit factuur", "Factuurnummer"),
        ("Correctiefactuur", "Factuurnummer"),
        ("Tegoedbon", "Factuurnummer"),
        ("Korekta faktury", "Faktura VAT nr"),
        ("Faktura VAT korekta", "Faktura VAT nr"),
        ("Opravný doklad", "Číslo faktury"),
        ("Krediteringsfaktura", "Fakturanr."),
        ("Kredit", "Fakturanummer"),
        ("Customer refund", "Invoice no."),
        ("Reversed invoice", "Invoice no."),
        ("Cancelled invoice", "Invoice no."),
        ("Adjustment note", "Invoice no."),
        ("Correction invoice", "Invoice no."),
        ("Rückerstattung", "Rechnungsnummer"),
        ("Warenrückgabe", "Rechnungsnummer"),
        ("Korrekturbeleg", "Rechnungsnummer"),
        ("Facture de remboursement", "Facture n°"),
        ("Nota rectificativa", "Factura nº"),
        ("Anulación parcial", "Factura nº"),
        ("Accredito", "Fattura n."),
        ("Annullamento parziale", "Fattura n."),
        ("Rimborso", "Fattura n."),
        ("Creditering", "Factuurnummer"),
        ("Gedeeltelijke annulering", "Factuurnummer"),
        ("Anulação parcial", "Fatura n.º"),
        ("Devolução", "Fatura n.º"),
        ("Estorno", "Fatura n.º"),
        ("Dokument korygujący", "Faktura VAT nr"),
        ("Anulowana faktura", "Faktura VAT nr"),
        ("Dobropisy", "Číslo faktury"),
        ("Annulleret faktura", "Fakturanr."),
        ("Makulerad faktura", "Fakturanummer"),
    ],
)
def test_a_title_with_a_word_for_what_is_given_back_is_no_invoices_for_certain(title: str, label: str) -> None:
    rows = ("Example", title, f"{label}: 118", "Total  10.00 EUR")
    assert not kind(*rows).is_certain or kind(*rows).document_type == CREDIT_NOTE


@pytest.mark.parametrize(
    "line", ["Kreditornummer: 70118", "Kreditkartenzahlung", "Credit terms: 30 days", "Credit card", "Kreditinstitut"]
)
def test_a_word_for_a_lender_or_a_card_gives_nothing_back(line: str) -> None:
    for title in ("Rechnung", "Rechnung Nr. 118", "Kreditkartenrechnung"):
        assert kind("Example", title, line, "Rechnungsnummer: 118", "Total  10.00 EUR") == InvoiceKind(INVOICE)


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("Credit note: CN-22", "Invoice"),
        ("Gutschrift Nr. GS-22 vom 01.10.2026", "Rechnung"),
        ("Avoir : 0,00 €", "Facture"),
        ("Nota di credito n. 22/2026", "Fattura"),
        ("Korygująca: -", "Faktura"),
    ],
)
def test_a_credit_note_over_a_title_is_the_paper_only_if_it_is_as_large_as_the_title(line: str, title: str) -> None:
    transcript = Transcript.from_rows(["Example", line, title, "Total  10.00 EUR"])
    company, small, large, total = transcript.lines
    smaller = replace(transcript, lines=(company, small, replace(large, height=1.3 * large.height), total))
    assert read_invoice(smaller).kind == InvoiceKind(INVOICE, is_certain=False)
    larger = replace(transcript, lines=(company, replace(small, height=1.3 * small.height), large, total))
    assert read_invoice(larger).kind.is_certain
    assert read_invoice(larger).kind.document_type != INVOICE


@pytest.mark.parametrize(
    "boxes",
    [
        "[ ] Credit note  [x] Invoice",
        "[x] Credit note  [ ] Invoice",
        "[ ] Invoice [x] Credit note",
        "☐ Gutschrift  ☒ Rechnung",
        "☐ Factura  ☒ Factura rectificativa",
        "☒ Avoir",
        "Credit note  Invoice",
    ],
)
def test_boxes_for_what_a_form_may_be_are_for_a_person(boxes: str) -> None:
    assert kind("Example", boxes, "Total  10.00 EUR") == InvoiceKind(INVOICE, is_certain=False)


@pytest.mark.parametrize(
    "sentence",
    [
        "Credit note CN-22 has been deducted.",
        "Avoir AV-22 déduit.",
        "Nota di credito 22 detratta",
        "Faktura korygująca FK/22 rozliczona.",
        "Factura rectificativa 22 descontada",
    ],
)
def test_without_a_title_a_sentence_on_a_credit_note_is_for_a_person(sentence: str) -> None:
    assert kind("Example", sentence, "Total  10.00 EUR") == InvoiceKind(INVOICE, is_certain=False)


def kind_by_headline(headline: str, *rows: str) -> InvoiceKind:
    """Of a page whose second line is drawn larger than the others."""
    transcript = Transcript.from_rows(
        ["Example Ltd", headline, "Invoice no.: 118", *rows, "Net  8.00", "Total  10.00 EUR"]
    )
    first, second, *others = transcript.lines
    return read_invoice(replace(transcript, lines=(first, replace(second, height=1.4 * second.height), *others))).kind


@pytest.mark.parametrize(
    "headline", ["Vergütung", "RFA 2026", "Premio fine anno", "Bonus roczny", "CN", "Recibo de abono", "Order summary"]
)
def test_a_headline_without_a_word_for_what_asks_for_money_is_for_a_person(headline: str) -> None:
    assert not kind_by_headline(headline).is_certain


@pytest.mark.parametrize(
    "headline",
    [
        "Honorarnote",
        "Fee note",
        "Rechnung Oktober",
        "Tax invoice / Receipt",
        "Nota",
        "Räkning",
        "October 2026",
        "Example",
        "Sommerfeld Verlag GmbH",
        "120.00 EUR",
        "Rechnung Projekt Alpha",
        "Muster GmbH",
    ],
)
def test_what_asks_for_money_a_name_a_month_and_an_amount_are_no_unknown_headline(headline: str) -> None:
    assert kind_by_headline(headline) == InvoiceKind(INVOICE)


@pytest.mark.parametrize(
    "title",
    [
        "Draft invoice",
        "Rechnungsentwurf",
        "Musterrechnung",
        "Rechnung (Muster)",
        "Projet de facture",
        "Facture annulée",
        "Faktura (kladde)",
        "Overdue invoice",
        "Offene Rechnung",
        "Fattura scaduta",
        "Neuhrazená faktura",
        "Payment receipt",
        "Receipt for payment",
        "Second copy invoice - already paid",
        "Minusrechnung",
        "Retourfactuur",
        "Returfaktura",
        "Invoice type: Credit",
        "Customer credit",
    ],
)
def test_a_title_of_an_invoice_that_is_none_yet_or_was_asked_for_before_is_for_a_person(title: str) -> None:
    assert kind("Example", title, "Total  10.00 EUR") == InvoiceKind(INVOICE, is_certain=False)


@pytest.mark.parametrize(
    "sentence",
    [
        "DRAFT - not for payment",
        "This is not a VAT invoice. A VAT invoice follows.",
        "We credit your account as follows for returned goods:",
        "Dies ist keine Rechnung",
        "Wir schreiben Ihnen für die Retoure gut:",
        "Der Betrag wird Ihrem Konto gutgeschrieben.",
        "Nous portons à votre crédit :",
        "Tipo documento: TD04 nota di credito",
        "This invoice has been cancelled and replaced by 2026-0455.",
        "Diese Rechnung wurde storniert.",
        "Cette facture a été annulée et remplacée par 2026-0455.",
        "Deze factuur is vervallen.",
        "Ta faktura została anulowana.",
        "Denna faktura har makulerats.",
        "The amount will be credited to your account.",
        "Der Betrag wird Ihrem Kundenkonto gutgeschrieben.",
        "Het bedrag wordt op uw rekening bijgeschreven.",
        "Částka bude připsána na Váš účet.",
        "This document is for information only.",
        "Documento informativo, la fattura segue per posta.",
        "This is a preview of your next invoice.",
        "Test invoice - please disregard.",
    ],
)
def test_a_sentence_by_which_a_paper_asks_for_nothing_is_for_a_person(sentence: str) -> None:
    assert not kind("Example", "Invoice", sentence, "Total  10.00 EUR").is_certain


@pytest.mark.parametrize(
    "sentence",
    [
        "Sie erhalten künftig keine Rechnung per Post",
        "Deposits will be refunded on return",
        "No payment is required, we collect it",
        "This invoice replaces our invoice 2026-0398, which is void.",
        "Diese Rechnung ersetzt die Rechnung 2026-0398.",
        "Cette facture est payable sous 30 jours.",
        "A preview of your next invoice is in your account.",
    ],
)
def test_what_an_ordinary_invoice_says_beside_it_leaves_it_one(sentence: str) -> None:
    assert kind("Example", "Invoice", sentence, "Total  10.00 EUR") == InvoiceKind(INVOICE)
