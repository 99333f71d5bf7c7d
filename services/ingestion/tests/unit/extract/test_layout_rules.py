"""Invoices as suppliers of five countries draw them; every name, number and account is made up."""

from dataclasses import replace
from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest
from generated_invoices import text_page

from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import is_invoice, limit_lines, read_invoice
from ingestion.readers import pdf_text

ENGLISH = """
Northwind Paper Ltd                            INVOICE
12 Mill Lane, Leeds                            Invoice Number: NP-2026-118
                                               Invoice Date: 04/03/2026
Bill to:                                       Due Date: 28/03/2026
Fabrikam Limited
1 High Street

Description                 Quantity    Unit price     Amount
Copy paper A4               10          4.50           45.00
Envelopes C5                2           12.50          25.00

                            Subtotal                   £70.00
                            VAT 20%                    £14.00
                            Total                      £84.00

VAT number: GB 123 4567 82
"""
AMERICAN = """
Contoso Cloud, Inc.
# INV-77812
Invoice Date:               04/05/2026
Due Date:                   04/25/2026
Bill To:
Fabrikam LLC
Amount Due                  $1,250.00
"""
GERMAN = """
Werkstatt Beispiel GmbH
Musterweg 3, 12345 Musterstadt

Rechnungsempfänger
Kunde AG

Rechnung Nr. 2026-0042 vom 12.05.2026
Bezeichnung                 Menge       Einzelpreis    Betrag
Wartung der Anlage          3           80,00          240,00
Anfahrt pauschal            1           60,00          60,00
Nettobetrag                                            300,00 €
zzgl. 19% MwSt                                         57,00 €
Gesamtbetrag                                           357,00 €
Zahlbar bis 26.05.2026
USt-IdNr: DE136695976     IBAN: DE88 2008 0000 0970 3757 00
"""
FRENCH = """
Moulin Exemple SARL
TVA : FR11999999998
Facture n° F2026-310
Date de facture             02/06/2026
Date d'échéance             17/06/2026
Client
Boutique SA
Total HT                    100,00 €
Total TVA                   20,00 €
Total TTC                   120,00 €
"""
DUTCH = """
Voorbeeld B.V.
BTW NL810433941B01
Factuurnummer: 20260077
Factuurdatum: 29 maart 2026
Vervaldatum: 12 april 2026
Factuuradres
Klant N.V.
Subtotaal                   € 1.000,00
BTW 21%                     € 210,00
Totaal te betalen           € 1.210,00
"""
POLISH = """
Faktura nr: FV 12/2026
Data wystawienia: 2026-02-03
Termin zapłaty: 2026-02-17
Sprzedawca: Papiernia Wzorowa sp. z o.o.
NIP: 774-00-01-454
Nabywca: Odbiorca Testowy
NIP: 526-104-08-28
Razem netto                 100,00 PLN
Kwota VAT                   23,00 PLN
Do zapłaty                  123,00 PLN
"""


def page(text: str) -> Transcript:
    """Drawn and read back, but where the standard font has no letters for it."""
    if text is POLISH:
        return Transcript.from_rows(text.splitlines())
    read = pdf_text.read_pdf_text(BytesIO(text_page(text)))
    return Transcript("application/pdf", read.pages, tuple(read.lines))


def fields(text: str) -> dict[str, Any]:
    return read_invoice(page(text)).invoice.to_json()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            ENGLISH,
            {
                "supplier_name": "Northwind Paper Ltd",
                "invoice_number": "NP-2026-118",
                "issue_date": "2026-03-04",
                "due_date": "2026-03-28",
                "currency": "GBP",
                "total_gross": "84.00",
                "total_net": "70.00",
                "total_tax": "14.00",
                "vat_id": "GB123456782",
                "iban": None,
            },
        ),
        (
            AMERICAN,
            {
                "supplier_name": "Contoso Cloud, Inc.",
                "issue_date": "2026-04-05",
                "due_date": "2026-04-25",
                "currency": "USD",
                "total_gross": "1250.00",
                "total_net": None,
                "amount_due": "1250.00",
            },
        ),
        (
            GERMAN,
            {
                "supplier_name": "Werkstatt Beispiel GmbH",
                "invoice_number": "2026-0042",
                "issue_date": "2026-05-12",
                "due_date": "2026-05-26",
                "currency": "EUR",
                "total_gross": "357.00",
                "total_net": "300.00",
                "total_tax": "57.00",
                "vat_id": "DE136695976",
                "iban": "DE88200800000970375700",
            },
        ),
        (
            FRENCH,
            {
                "supplier_name": "Moulin Exemple SARL",
                "invoice_number": "F2026-310",
                "issue_date": "2026-06-02",
                "due_date": "2026-06-17",
                "total_gross": "120.00",
                "total_net": "100.00",
                "total_tax": "20.00",
                "vat_id": "FR11999999998",
            },
        ),
        (
            DUTCH,
            {
                "supplier_name": "Voorbeeld B.V.",
                "invoice_number": "20260077",
                "issue_date": "2026-03-29",
                "due_date": "2026-04-12",
                "total_gross": "1210.00",
                "total_net": "1000.00",
                "total_tax": "210.00",
                "vat_id": "NL810433941B01",
            },
        ),
        (
            POLISH,
            {
                "supplier_name": "Papiernia Wzorowa sp. z o.o.",
                "invoice_number": "FV 12/2026",
                "issue_date": "2026-02-03",
                "due_date": "2026-02-17",
                "currency": "PLN",
                "total_gross": "123.00",
                "total_net": "100.00",
                "total_tax": "23.00",
                "vat_id": "7740001454",
            },
        ),
    ],
    ids=["english", "american", "german", "french", "dutch", "polish"],
)
def test_the_fields_of_an_invoice_are_read_off_its_page(text: str, expected: dict[str, Any]) -> None:
    read = fields(text)
    assert {name: read[name] for name in expected} == expected


@pytest.mark.parametrize(("text", "count"), [(ENGLISH, 2), (GERMAN, 2)])
def test_positions_count_when_they_make_a_total(text: str, count: int) -> None:
    read = fields(text)
    assert len(read["lines"]) == count
    assert read["line_amounts"] == "net"
    assert read["lines"][0]["quantity"] is not None
    assert read["lines"][0]["unit_price"] is not None


def test_positions_that_make_no_total_are_not_believed() -> None:
    assert fields(ENGLISH.replace("25.00", "26.00"))["lines"] == []


def test_two_totals_without_a_sum_to_choose_by_leave_it_unknown() -> None:
    text = "Rechnung Nr. 1 vom 01.02.2026\nGesamtbetrag   100,00 €\nRechnungsbetrag   140,00 €"
    assert fields(text)["total_gross"] is None


def test_the_order_of_day_and_month_stays_unknown_when_nothing_tells_it() -> None:
    assert fields("Invoice no. 12345\nInvoice date  04/05/2026\nTotal  100.00 €")["issue_date"] is None


def test_a_due_date_before_the_invoice_is_another_date() -> None:
    text = "Invoice no. 12345\nInvoice date  2026-05-04\nDue date  2025-05-04\nTotal  $100.00"
    assert fields(text)["due_date"] is None


def test_the_customers_numbers_are_not_the_suppliers() -> None:
    text = GERMAN.replace("USt-IdNr: DE136695976", "Ihre USt-IdNr: DE136695976")
    assert fields(text)["vat_id"] is None


def test_the_company_in_the_window_of_the_envelope_is_the_customer() -> None:
    text = """
Malerbetrieb Kunz, Hauptstr. 1, 10115 Berlin
Firma
Testkunde AG
20095 Hamburg
Rechnung Nr. RE-1023 vom 14.07.2026
Gesamtsumme   489,09 EUR
"""
    assert fields(text)["supplier_name"] == "Malerbetrieb Kunz"


def test_a_business_without_a_legal_form_is_known_by_its_vat_number() -> None:
    text = "INVOICE\nSmith & Sons Plumbing\nVAT Reg No: GB999999973\nInvoice No: 1045\nTo: Mr Jones\nTOTAL  £138.60"
    assert fields(text)["supplier_name"] == "Smith & Sons Plumbing"


def test_a_number_that_looks_like_a_date_is_taken_from_its_label_only() -> None:
    assert fields("Faktura VAT nr 15/03/2026\nData wystawienia: 16.03.2026")["invoice_number"] == "15/03/2026"
    assert fields("Invoice 15/03/2026\nTotal  10.00 EUR")["invoice_number"] is None


def test_two_companies_of_equal_standing_leave_the_supplier_unknown() -> None:
    assert fields("Alpha GmbH\nBeta GmbH\nRechnung Nr. 77 vom 01.02.2026\nSumme  10,00 €")["supplier_name"] is None


@pytest.mark.parametrize(
    ("headline", "kind"),
    [
        ("Rechnung Nr. 1", "invoice"),
        ("Gutschrift Nr. 1", "credit_note"),
        ("Credit note no. 1", "credit_note"),
        ("Rechnungskorrektur Nr. 1", "corrected_invoice"),
    ],
)
def test_the_headline_tells_the_kind(headline: str, kind: str) -> None:
    assert read_invoice(page(f"{headline}\nTotal  10.00 EUR")).kind.document_type == kind


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ENGLISH, True),
        (POLISH, True),
        ("Lieferschein\nArtikel   Menge\nPapier   3", False),
        ("Minutes of the meeting\nNothing was decided.", False),
        ("Angebot\nGesamtbetrag   100,00 €", False),
        ("Wertpapierabrechnung\nKauf 10 Stück", False),
    ],
)
def test_pages_that_cannot_be_an_invoice_are_no_invoice_and_doubtful_ones_are(text: str, expected: bool) -> None:
    assert is_invoice(page(text)) is expected


def test_rules_look_at_a_bounded_part_of_a_page_of_any_length() -> None:
    hostile = Transcript.from_rows(["Total " * 2000 + "1.1" * 2000] * 3000)
    looked_at = limit_lines(hostile)
    assert len(looked_at) == 1500
    assert max(len(line.text) for line in looked_at) <= 300


@pytest.mark.parametrize(("lines", "total"), [(1400, Decimal("300.00")), (1500, None)])
def test_what_stands_beyond_the_bound_is_not_read(lines: int, total: Decimal | None) -> None:
    rows = ["Northwind Ltd", "Invoice 77", *["w"] * lines, "Total: EUR 300.00"]
    assert read_invoice(Transcript.from_rows(rows)).invoice.total_gross == total


@pytest.mark.parametrize("total", ["Total: GBP 300.00", "Total 300.00", "Total: 300.00 GBP", "TOTAL £300.00"])
def test_a_total_is_read_with_its_currency_before_behind_or_nowhere(total: str) -> None:
    invoice = read_invoice(Transcript.from_rows(["Northwind Ltd", "Invoice 77", "Price in GBP", total])).invoice
    assert (invoice.total_gross, invoice.currency) == (Decimal("300.00"), "GBP")


@pytest.mark.parametrize("word", ["Total VAT", "Totale IVA", "Total tax"])
def test_the_total_of_a_tax_is_not_the_total(word: str) -> None:
    invoice = read_invoice(
        Transcript.from_rows(["Northwind Ltd", "Invoice 77", f"{word}  14.00", "Total  84.00"])
    ).invoice
    assert invoice.total_gross == Decimal("84.00")


@pytest.mark.parametrize(
    "word",
    [
        *("Számla", "LASKU", "Τιμολόγιο", "Račun", "Faktúra", "Sąskaita", "Rēķins", "Arve", "Factură"),
        *("Фактура", "Рахунок", "Счёт", "Счет", "請求書", "发票", "發票", "Reikningur"),
    ],
)
def test_an_invoice_in_a_language_that_nothing_reads_is_not_thrown_away(word: str) -> None:
    assert is_invoice(Transcript.from_rows([word, "one line more"]))


def test_a_buyer_named_in_one_line_takes_nothing_below_it() -> None:
    rows = ["Customer: Northern Client", "", "IBAN: DE88 2008 0000 0970 3757 00"]
    assert read_invoice(Transcript.from_rows(rows)).invoice.iban == "DE88200800000970375700"
    assert read_invoice(Transcript.from_rows([rows[0], rows[2]])).invoice.iban is None


def test_terms_in_front_of_an_invoice_are_not_where_it_begins() -> None:
    terms = [replace(line, page=page) for page in range(4) for line in Transcript.from_rows(["Terms"] * 5).lines]
    invoice = [replace(line, page=4) for line in Transcript.from_rows(["Invoice no. 7", "Total  84.00"]).lines]
    found = limit_lines(Transcript("application/pdf", 5, (*terms, *invoice)))
    assert {line.page for line in found} == {4}


def test_a_note_on_securities_is_no_invoice_whatever_words_it_has() -> None:
    note = ["Wertpapierabrechnung Kauf", "ISIN US0378331005", "Kurswert  1.000,00 EUR", "Endbetrag  1.010,00 EUR"]
    assert not is_invoice(Transcript.from_rows(note))
    assert is_invoice(Transcript.from_rows([*note, "Rechnungsnummer: 77"]))
    assert is_invoice(Transcript.from_rows(["Rechnung 77", "Artikel US0378331006", "Depot", "Endbetrag  10,00 EUR"]))


@pytest.mark.parametrize(
    "title",
    ["Fee note 2026-41", "Monthly statement", "Honorarnote", "Note d'honoraires n° 2026-41", "Relevé d'honoraires"],
)
def test_who_adds_tax_for_advice_on_securities_and_names_none_is_no_bank(title: str) -> None:
    rows = [
        title,
        "Advice on shares sold  300.00",
        "Purchase of shares, stock transfer form  200.00",
        "Commission on shares purchased",
        "Previous balance 0.00",
        "Subtotal  500.00",
        "VAT 20 %  100.00",
        "Total  600.00",
    ]
    assert is_invoice(Transcript.from_rows([*rows, "VAT number GB123456782"]))
    assert not is_invoice(Transcript.from_rows([*rows, "VAT number GB123456782", "ISIN US0378331005"]))


def test_a_bank_that_adds_tax_to_its_fee_without_its_tax_number_is_a_bank() -> None:
    rows = [
        "Account statement",
        "Previous balance 10.00",
        "VAT 20 %  1.00",
        "Total  600.00",
        "Shares",
        "sold",
        "bought",
    ]
    assert not is_invoice(Transcript.from_rows(rows))


@pytest.mark.parametrize(
    "label",
    ["Bonnummer", "Kassabon nr.", "Ticket nº", "Kvitto nr", "Reçu n°", "Quittung Nr.", "Scontrino n.", "Ticket n"],
)
def test_the_number_of_a_till_receipt_is_its_number(label: str) -> None:
    assert fields(f"Corner shop\n{label} 34-51525\nTotal  10.00 EUR")["invoice_number"] == "34-51525"


def test_a_picture_that_names_the_number_of_an_invoice_may_be_one_whatever_else_was_misread() -> None:
    digital = Transcript.from_rows(["Havnens Værktøj ApS", "Fakturanr. 56-77532", "1 ait  77,24 DKK"])
    lines = [
        replace(line, cells=tuple(replace(cell, confidence=0.98) for cell in line.cells)) for line in digital.lines
    ]
    assert is_invoice(replace(digital, lines=tuple(lines)))
    assert not is_invoice(digital)


@pytest.mark.parametrize("label", ["I alt", "l alt", "1 alt"])
def test_a_lone_letter_that_was_misread_still_makes_a_total(label: str) -> None:
    assert fields(f"Fakturanr. 56-77532\n{label}  77,24 DKK")["total_gross"] == "77.24"


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ("Zahlbar bis 22.05.2026 mit 2 % Skonto (7,14 €) = 349,86 €, bis 11.06.2026 ohne Abzug.", "2026-06-11"),
        ("Zahlbar bis 22.05.2026 abzüglich 2 % Skonto", None),
        ("Zahlbar bis 11.06.2026, bei Zahlung bis 22.05.2026 2 % Skonto", "2026-06-11"),
        ("Zahlbar innert 30 Tagen, spätestens 11.06.2026, auf unser Konto", "2026-06-11"),
        ("Zahlbar bis 26.05.2026 (Lieferung vom 11.06.2026)", "2026-05-26"),
    ],
)
def test_the_day_for_a_cash_discount_is_not_the_due_date(terms: str, expected: str | None) -> None:
    assert fields(GERMAN.replace("Zahlbar bis 26.05.2026", terms))["due_date"] == expected


def test_a_number_may_stand_below_or_beside_a_bare_label_if_a_title_says_of_what() -> None:
    text = FRENCH.replace(
        "Facture n° F2026-310", "FACTURE\nNuméro      Échéance      Réf. devis\nFA-0312     31/05/2026    DV-0098"
    )
    assert fields(text)["invoice_number"] == "FA-0312"
    assert fields(text.replace("FACTURE\n", "Document\n"))["invoice_number"] is None


def test_an_italian_document_is_of_the_day_below_del() -> None:
    text = (
        "Muster S.r.l.\n"
        "Documento   Numero    del           Vs. ordine\n"
        "FATTURA     187/E     22/04/2026    OA 2026/331\n"
        "Imponibile 100,00 EUR\n"
        "IVA 22% 22,00\n"
        "Totale documento 122,00"
    )
    found = fields(text)
    assert (found["invoice_number"], found["issue_date"]) == ("187/E", "2026-04-22")


def test_a_receipt_is_of_the_day_on_which_it_was_paid() -> None:
    text = (
        "Receipt\n"
        "Invoice number   7F3A-0014\n"
        "Date paid   August 3, 2026\n"
        "Northwind, Inc.\n"
        "Total $10.00\n"
        "Amount paid $10.00"
    )
    assert fields(text)["issue_date"] == "2026-08-03"


@pytest.mark.parametrize("written", ["Chur, 30. September 2026", "Musterstadt, den 30.09.2026"])
def test_a_letter_is_dated_behind_its_town(written: str) -> None:
    text = (
        f"Muster AG\n"
        f"{written}\n"
        f"Honorarrechnung R-26-0458\n"
        f"Zwischentotal  100.00 CHF\n"
        f"MWST 8.1 %  8.10\n"
        f"Total zu unseren Gunsten  108.10"
    )
    found = fields(text)
    assert (found["issue_date"], found["total_gross"], found["total_net"]) == ("2026-09-30", "108.10", "100.00")


def test_a_vat_number_may_stand_below_its_label() -> None:
    text = ENGLISH.replace(
        "VAT number: GB 123 4567 82",
        "Address            VAT number          Phone\n12 Mill Lane       GB 123 4567 82      0113 4960112",
    )
    assert fields(text)["vat_id"] == "GB123456782"


def test_whoever_has_a_tax_number_and_adds_tax_may_send_an_invoice_whatever_it_is_called() -> None:
    rows = ["AcquaPura S.p.A. - Partita IVA 37894770314", "Avviso di pagamento acqua", "IVA   45,82"]
    assert is_invoice(Transcript.from_rows(rows))
    assert not is_invoice(Transcript.from_rows([rows[0].partition(" - ")[0], *rows[1:]]))
    assert not is_invoice(Transcript.from_rows(rows[:2]))


@pytest.mark.parametrize(
    "rows",
    [
        ["Fattura n. 15 del 10/04/2026", "Proforma n. 12 del 01/04/2026", "Totale  122,00 EUR"],
        ["Inkasso Nord GmbH", "Rechnung", "Rechnungsnummer 2026-17", "Gesamtbetrag  119,00 EUR"],
        [
            "VAT INVOICE",
            "Number INV-015",
            "Reminder fees of 5.00 apply after 30 days",
            "VAT 20%  20.00",
            "Total  120.00",
        ],
        ["Ihre Rechnung vom 03.05.2026", "Nummer 2026-015", "Angebot 2026-14", "Gesamtbetrag  119,00 EUR"],
        ["Uw factuur", "Nummer 2026-015", "Offerte 2026-7", "Totaal  121,00 EUR"],
        ["STATEMENT", "Water supply to 31 March 2026", "Balance brought forward  £0.00", "Total due  £75.00"],
    ],
)
def test_an_invoice_that_refers_to_another_paper_is_not_thrown_away(rows: list[str]) -> None:
    assert is_invoice(Transcript.from_rows(rows))


@pytest.mark.parametrize(
    "rows",
    [
        ["PAYMENT REMINDER", "Invoice 2026-17 of 3 March 2026", "Amount overdue  £120.00"],
        ["Proforma n. 12 del 01/04/2026", "Totale  122,00 EUR"],
    ],
)
def test_a_paper_of_another_kind_is_no_invoice_though_it_names_one(rows: list[str]) -> None:
    assert not is_invoice(Transcript.from_rows(rows))


@pytest.mark.parametrize(
    ("rows", "gross"),
    [
        (["Total gross weight: 1,250.50 kg", "Total EUR 3,400.00"], "3400.00"),
        (["Guthaben zu Ihren Gunsten  35,00", "Summe  119,00"], None),
        (["Total credited  £20.00", "Total  £60.00"], None),
    ],
)
def test_a_part_of_the_sum_that_has_a_label_of_its_own_is_not_the_total(rows: list[str], gross: str | None) -> None:
    invoice = read_invoice(Transcript.from_rows(["Invoice No. 2026-17", *rows])).invoice
    assert invoice.total_gross == (None if gross is None else Decimal(gross))


def test_a_number_of_tax_is_called_uid_and_a_shop_may_sell_for_another() -> None:
    rows = [
        "Winkelplein",
        "Factuur",
        "Factuurnummer FTW-38471",
        "Verkocht door",
        "Fietsdelen Twente B.V.",
        "7513 EC Enschede",
    ]
    assert read_invoice(Transcript.from_rows(rows)).invoice.supplier_name == "Fietsdelen Twente B.V."
    rows = ["Rechnung 17", "Tischlerei Hofer GmbH, UID ATU63847109"]
    assert read_invoice(Transcript.from_rows(rows)).invoice.vat_id == "ATU63847109"


@pytest.mark.parametrize(
    "title",
    [
        "Delivery note / Invoice",
        "Order confirmation and invoice",
        "Lieferschein / Rechnung",
        "Devis 44 accepté valant facture",
        "Albarán-factura",
        "Documento di trasporto - fattura",
        "Pakbon/factuur",
        "Guia de remessa / Fatura",
        "Zamówienie i faktura",
        "Følgeseddel / Faktura",
    ],
)
def test_a_paper_that_is_an_invoice_as_well_is_one(title: str) -> None:
    assert is_invoice(page(f"Example Ltd\n{title}\nNumber: 7\nTotal  10.00"))


@pytest.mark.parametrize(
    "sentence",
    [
        "Please pay £800.00 by 3 December 2026.",
        "Für meine Arbeiten berechne ich Ihnen 800,00 Euro.",
        "Merci de régler 800,00 € sous 30 jours.",
        "Vänligen betala 800,00 kr.",
        "Bedes venligst betalt: 800,00 kr.",
    ],
)
def test_a_letter_that_asks_for_money_is_not_thrown_away(sentence: str) -> None:
    assert is_invoice(page(f"Anna Whitlock\nWebsite copy, October\n{sentence}"))
    assert not is_invoice(page("Anna Whitlock\nWebsite copy, October, as discussed"))


@pytest.mark.parametrize(
    "sentence",
    ["Abrechnung nach § 14 Abs. 2 UStG", "Self-billing invoice", "Blitzblank ist eine Marke der Muster GmbH"],
)
def test_whose_invoice_another_one_writes_is_uncertain(sentence: str) -> None:
    rows = "Muster Handel GmbH\nRing 3, 50667 Köln, Tel. 0221 123, muster-handel.de\nRechnung Nr. 7\nGesamt 119,00 EUR"
    foot = "Muster Handel GmbH · USt-IdNr. DE136695976 · www.muster-handel.de"
    assert read_invoice(page(f"{rows}\n{foot}")).has_certain_supplier
    assert not read_invoice(page(f"{rows}\n{sentence}\n{foot}")).has_certain_supplier
