from decimal import Decimal
from unittest.mock import patch

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.amounts.amount_due import choose_due
from ingestion.extract.amounts.totals import InvoiceTotals, _add_sums_of_pairs, _list_amounts_with_rates, find_totals
from ingestion.extract.amounts.unconfirmed_total import list_deductions


def read(text: str) -> InvoiceTotals:
    return find_totals(Transcript.from_rows(text.strip("\n").splitlines()).lines)


def totals(gross: str | None, net: str | None = None, tax: str | None = None, due: str | None = None) -> InvoiceTotals:
    return InvoiceTotals(*(None if amount is None else Decimal(amount) for amount in (gross, net, tax, due)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # behind the label, to its right, and to its right with a sign of its own between
        ("Nettobetrag: 100,00 €\nMwSt: 19,00 €\nGesamtbetrag: 119,00 €", totals("119.00", "100.00", "19.00")),
        ("Subtotal   $100.00\nTax   $8.00\nTotal   $108.00", totals("108.00", "100.00", "8.00")),
        ("Subtotal   100.00   EUR\nVAT   20.00   EUR\nTotal   EUR   120.00", totals("120.00", "100.00", "20.00")),
        # a label that has a percentage and a base of its own
        ("Subtotal   $262.90\nTax 15% on $ 112.90   $16.94\nTotal   $279.84", totals("279.84", "262.90", "16.94")),
        # columns: the bottom row is the total
        (
            """
Netto        MwSt-Betrag     Gesamtbetrag
100,00       19,00           119,00
50,00        3,50            53,50
150,00       22,50           172,50
""",
            totals("172.50", "150.00", "22.50"),
        ),
        # a row that adds up, named once
        ("Razem   257,59   59,24   316,83\nNależność ogółem: 316,83 PLN", totals("316.83", "257.59", "59.24")),
        # two rates that nobody added up
        (
            "Net total   100.00\nVAT 7%   3.50\nVAT 19%   9.50\nTotal   113.00",
            totals("113.00", "100.00", "13.00"),
        ),
        # the currency in a cell of its own, and a discount that is called as an advance is
        (
            "Summe ohne USt.   403,55\nAbschlag   -21,55\nSteuerbetrag in   EUR   76,67\nBruttosumme   480,22",
            totals("480.22", "403.55", "76.67"),
        ),
        ("Rabatt   -21,55\nBruttosumme   480,22", totals("480.22")),
        # no tax
        ("Tax   $0.00\nTotal   $4.11", totals("4.11", "4.11", "0.00")),
        # a total alone, a total said twice among others, and totals that contradict each other
        ("Total   $4.11", totals("4.11")),
        ("Total   $4.00\nTotal   $9.00\nPaid by card   $9.00", totals("9.00")),
        ("Total   $4.00\nTotal   $9.00", totals(None)),
        # what is due after a payment in advance
        (
            "Net total   100.00\nTax Total   20.00\nTotal   120.00\nPaid   50.00\nBalance due   70.00",
            totals("120.00", "100.00", "20.00", "70.00"),
        ),
        # a credit note with a minus
        ("Total HT   -218,48 €\nTotal taxes   -14,99 €\nTotal TTC   -233,47 €", totals("-233.47", "-218.48", "-14.99")),
        # numbers that are no money
        ("Total   3 pages\nTax ID   123", totals(None)),
    ],
)
def test_totals_are_read_at_their_labels_and_accepted_when_they_add_up(text: str, expected: InvoiceTotals) -> None:
    assert read(text) == expected


def test_a_net_that_is_not_named_is_found_by_the_sum() -> None:
    assert read("Goods   100.00\nVAT 20%   20.00\nTotal   120.00") == totals("120.00", "100.00", "20.00")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # Of what is written the customer pays a part to the tax office ...
        (
            "Base imponible   1.500,00 €\nIVA 21%   315,00 €\nRetención IRPF 15%   -225,00 €\nTOTAL   1.590,00 €",
            totals("1815.00", "1500.00", "315.00", "1590.00"),
        ),
        (
            """
Imponibile   2.600,00
IVA 22%   572,00
Totale fattura   3.172,00
Ritenuta   - 500,00
Netto a pagare   2.672,00
""",
            totals("3172.00", "2600.00", "572.00", "2672.00"),
        ),
        # ... or some coins to nobody ...
        (
            "Netto   7 782,55\nMoms kr   1 945,64\nÖresavrundning   -0,19\nAtt betala   SEK 9 728,00",
            totals("9728.19", "7782.55", "1945.64", "9728.00"),
        ),
        # ... the carriage comes on top, a discount is taken off ...
        (
            "Total Net Amount   385.95\nCarriage Net   12.50\nTotal Tax Amount   74.69\nInvoice Total   473.14",
            totals("473.14", "398.45", "74.69"),
        ),
        (
            "Subtotal   200.00\nDiscount   -20.00\nVAT 20%   36.00\nInvoice total   216.00",
            totals("216.00", "180.00", "36.00"),
        ),
        # ... and parts were paid before.
        (
            """
Nettosumme   20.000,00
19 % MwSt.   3.800,00
Gesamtsumme   23.800,00
1. Abschlag vom 16.01.2026   -5.950,00
2. Abschlag vom 02.03.2026   -9.520,00
Restbetrag   8.330,00
Im Restbetrag enthalten: MwSt. 1.330,00
""",
            totals("23800.00", "20000.00", "3800.00", "8330.00"),
        ),
    ],
)
def test_what_is_paid_may_be_another_sum_than_net_and_tax(text: str, expected: InvoiceTotals) -> None:
    assert read(text) == expected


@pytest.mark.parametrize("deduction", ["IRPF 15%   -225,00", "Less deposit   -225.00", "Acompte versé   -225,00"])
def test_a_total_alone_beside_a_deduction_may_be_what_is_left_of_it(deduction: str) -> None:
    assert read(f"{deduction}\nTotal   1590.00").gross is None
    assert read(f"{deduction}\nTotal   1590.00\nAmount due   1365.00").gross == Decimal("1590.00")


def test_what_a_customer_handed_over_is_no_deduction() -> None:
    assert read("Total   29.00\nPaid   50.00\nChange   21.00").gross == Decimal("29.00")


def test_a_row_that_says_that_it_sums_up_needs_no_other_total() -> None:
    rows = "Razem   3 000,00   23%   690,00   3 690,00\nRazem   -300,00   23%   -69,00   -369,00"
    assert read(rows) == totals("-369.00", "-300.00", "-69.00")
    assert read(rows.replace("Razem", "Mebel")).gross is None


def test_a_row_that_sums_up_is_ahead_of_columns_that_end_above_it() -> None:
    head = "Lp        Wartość netto        VAT kwota        Wartość brutto"
    rows = [
        "1         1 280,00             294,40           1 574,40",
        "2         150,00               34,50            184,50",
    ]
    table = [head, *rows, "", "", "", "RAZEM     1 430,00             328,90           1 758,90"]
    assert read("\n".join([*table, "Do zapłaty: 1 758,90 EUR"])) == totals("1758.90", "1430.00", "328.90", "1758.90")


def test_a_sum_that_makes_another_printed_amount_with_the_tax_is_the_net_total() -> None:
    assert read("Summa   -3 780,00\nMoms 25%   -945,00\nTillgodo   -4 725,00") == totals(
        "-4725.00", "-3780.00", "-945.00"
    )


def test_a_number_in_a_sentence_that_speaks_of_the_total_is_no_total() -> None:
    sentence = "Der Rechnungsbetrag wird am 15.05.2026 von Ihrem Konto **** 4711 abgebucht."
    assert read(f"Zu zahlender Betrag   46,49 €\n{sentence}") == totals("46.49")


def test_the_tax_that_a_total_contains_leaves_the_net_if_its_rate_is_a_usual_one() -> None:
    assert read("Totalt   618,00 kr\nvarav moms   123,60 kr") == totals("618.00", "494.40", "123.60")
    assert read("Totalt   618,00 kr\nvarav moms   99,99 kr") == totals("618.00")


def test_the_taxes_of_many_rates_are_added_up() -> None:
    taxes = "IVA 4%   24,80€\nREC. EQUIV. 0,5%   3,10€\nIVA 10%   14,00€\nREC. EQUIV. 1,4%   1,96€"
    assert read(f"BASE IMPONIBLE   760,00€\n{taxes}\nTOTAL   803,86€") == totals("803.86", "760.00", "43.86")


def test_a_summary_of_several_rates_may_have_no_row_that_adds_them_up() -> None:
    table = "TVA        HT           TVA          TTC\n10 %       218,18       21,82        240,00"
    table += "\n0 %        4,40         0,00         4,40"
    assert read(f"{table}\nTotal TTC   244,40 €") == totals("244.40", "222.58", "21.82")


@pytest.mark.parametrize(
    "label", ["Gutschriftbetrag EUR", "TOTAL (IVA incl.)", "TOTALE BOLLETTA", "TOTAL DOCUMENTO", "Zu zahlender Betrag"]
)
def test_the_total_has_many_names(label: str) -> None:
    assert read(f"{label}   701,15") == totals("701.15")


def test_a_final_total_below_a_column_is_not_of_it() -> None:
    table = "Základ           DPH\n10 000,00        2 100,00\nK úhradě       12 100,00 Kč"
    assert read(table) == totals("12100.00", "10000.00", "2100.00", "12100.00")


def test_what_is_given_back_has_the_sign_of_its_total() -> None:
    text = "Total HT   -112,00\nTVA   -22,40\nTotal TTC   -134,40\nReste à payer   134,40"
    assert read(text) == totals("-134.40", "-112.00", "-22.40", "-134.40")


def test_amounts_in_another_currency_are_no_totals() -> None:
    rows = ["Net total   2 000.00 EUR", "VAT total   540.00 EUR", "Gross total   2 540.00 EUR"]
    rows += ["Net total in HUF   790 400.00", "VAT total in HUF   213 408.00", "Gross total in HUF   1 003 808.00"]
    page = Transcript.from_rows(rows).lines
    assert find_totals(page, "EUR") == totals("2540.00", "2000.00", "540.00")


def test_the_sums_of_two_taxes_are_those_of_a_bounded_number_of_them() -> None:
    """Of the thousands that a page may name, each with each, memory had no room."""
    assert len(_add_sums_of_pairs([Decimal(number) for number in range(2000)])) == 12 + 12 * 11 // 2 + 1


RATES = """
Sazba   Základ   DPH   Celkem
12 %   17 200,00   2 064,00   19 264,00
21 %   900,00   189,00   1 089,00
Celkem k úhradě   {total} Kč
"""


def test_the_rows_of_rates_are_added_up_where_they_make_the_total() -> None:
    assert read(RATES.format(total="20 353,00")) == totals("20353.00", "18100.00", "2253.00", "20353.00")


def test_the_row_of_one_rate_is_no_total_where_the_page_has_a_larger_one() -> None:
    found = read(RATES.format(total="21 000,00"))
    assert (found.gross, found.due) in {(Decimal(21000), Decimal(21000)), (None, Decimal(21000))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Netto 2 860,00\nW tym VAT 23%: 340,40, VAT 5%: 69,00, razem VAT: 409,40\nDo zapłaty 3 269,40", "409.40"),
        ("Jahresbeitrag 412,60\nVersicherungsteuer 16,34 %   67,42\nGesamtbetrag   480,02", "67.42"),
    ],
)
def test_what_a_tax_is_called(text: str, expected: str) -> None:
    assert read(text).tax == Decimal(expected)


def test_what_is_paid_back_is_a_total() -> None:
    text = "Base imponible   -286,30 €\nIVA 21 %   -60,12 €\nTOTAL A ABONAR   -346,42 €"
    assert read(text) == totals("-346.42", "-286.30", "-60.12")


def test_a_column_of_rounding_may_be_cut_short() -> None:
    text = "Exkl. moms   Moms 25 %   Öresavr.   Att betala\n6 427,50     1 606,88    -0,38      8 034,00"
    assert read(text) == totals("8034.38", "6427.50", "1606.88", "8034.00")


@pytest.mark.parametrize(
    "head",
    [
        "Öresavr.",
        "Öresavrundning",
        "Øreafrunding",
        "Rundung",
        "Rundungsdifferenz",
        "Arrondi",
        "Arrotondamento",
        "Afronding",
        "Zaokrouhlení",
        "Zaokrąglenie",
        "Redondeo",
    ],
)
def test_what_a_total_is_rounded_by_is_no_tax(head: str) -> None:
    text = f"Netto        Moms         Totalt       {head:<20} ATT BETALA"
    text += "\n67 274,15    16 818,54    84 092,69    0,31                 84 093,00"
    assert read(text) == totals("84092.69", "67274.15", "16818.54", "84093.00")


def test_a_rounded_total_stands_below_the_sums_of_its_rows() -> None:
    rows = "Součet položek   7 051,00   1 480,71   8 531,71\nZaokrouhlení   0,29\nCELKEM K ÚHRADĚ   8 532,00"
    assert read(rows) == totals("8531.71", "7051.00", "1480.71", "8532.00")
    assert read(rows.replace("0,29", "0,30")).gross != Decimal("8531.71")


def test_totals_of_switzerland_say_without_and_with_tax() -> None:
    rows = "Total exkl. MWST   2'856.75\nMWST 2.6 % von 2'148.00   55.85\nMWST 8.1 % von 708.75   57.41"
    assert read(f"{rows}\nRundung   -0.01\nTotal CHF inkl. MWST   2'970.00").net == Decimal("2856.75")
    assert read("Total DKK inkl. moms   125,00\nSubtotal   100,00\nMoms   25,00") == totals("125.00", "100.00", "25.00")


@pytest.mark.parametrize(
    "sentence",
    [
        "Als Kleinunternehmerin berechne ich keine Umsatzsteuer.",
        "Umsatzsteuerfrei gemäß § 19 Abs. 1 UStG",
        "I am not registered for VAT.",
        "TVA non applicable, art. 293 B du CGI",
        "Operazione in regime forfettario, L. 190/2014",
        "Steuerschuldnerschaft des Leistungsempfängers",
        "Reverse charge, article 196",
        "BTW verlegd",
        "Operación con inversión del sujeto pasivo",
        "Omvendt betalingspligt",
    ],
)
def test_who_owes_no_tax_has_a_net_total_that_is_the_gross_one(sentence: str) -> None:
    assert read(f"Total   280.00\n{sentence}") == totals("280.00", "280.00", "0.00")
    for denied in ("VAT 20%", "Prices include VAT", "Total TTC   280.00", "Net amount   233.33"):
        assert read(f"Total   280.00\n{sentence}\n{denied}").tax != 0
    assert read("Total   280.00") == totals("280.00")


@pytest.mark.parametrize(
    "rows",
    [
        # The page speaks of a tax elsewhere, whatever the word before it.
        ("Im Betrag sind 190,00 EUR Umsatzsteuer enthalten.", "Steuerschuldnerschaft des Leistungsempfängers"),
        ("Alle Preise verstehen sich inklusive der gesetzlichen Mehrwertsteuer.", "Reverse charge"),
        ("All our prices contain VAT.", "Reverse charge"),
        ("Impuestos incluidos en el precio.", "Inversión del sujeto pasivo"),
        ("Moms ingår i priset. Omvänd skattskyldighet tillämpas.",),
        ("VAT at 20% is in the price.", "Reverse charge"),
        ("IVA normale compresa", "Inversione contabile"),
        ("Prezzi comprensivi di IVA", "Inversione contabile"),
        ("Reverse charge, article 196 of the directive", "Prices with VAT"),
        ("VAT not shown separately", "Reverse charge"),
        # It is denied.
        ("Reverse charge: no",),
        ("Btw verlegd: n.v.t.",),
        ("Odwrotne obciążenie: nie",),
        ("Reverse charge: -",),
        ("☐ Reverse charge",),
        ("Omvänd skattskyldighet tillämpas ej.",),
        ("Wir sind kein Kleinunternehmer.",),
        # It is said of other cases.
        ("Omvendt betalingspligt gælder kun ved salg til udlandet.",),
        ("Kunden im EU-Ausland: Steuerschuldnerschaft des Leistungsempfängers",),
        ("Bei Leistungen ins EU-Ausland gilt die Steuerschuldnerschaft des Leistungsempfängers.",),
        ("Für Kleinunternehmer gemäß § 19 UStG: 10 Stunden im Monat",),
        ("Autoliquidation pour les clients de l'Union européenne",),
    ],
)
def test_words_about_no_tax_say_nothing_where_the_page_denies_them(rows: tuple[str, ...]) -> None:
    found = read("\n".join(("Total   280.00", *rows)))
    assert (found.gross or found.doubtful, found.net, found.tax) == (Decimal("280.00"), None, None)


def test_an_amount_of_tax_denies_words_about_no_tax_and_leaves_the_total_doubtful() -> None:
    found = read("Total   280.00\nMoms   56,00\nI am not registered for VAT.")
    assert found == InvoiceTotals(doubtful=Decimal(280), doubtful_tax=Decimal(56))


@pytest.mark.parametrize(
    "rows",
    [
        ("USt-IdNr. DE266182271", "Steuernummer 12/345/67890", "Kleinunternehmer gemäß § 19 UStG"),
        ("VAT no. GB123456789   VAT: FR32123456789", "Reverse charge – VAT to be accounted for by the customer."),
        ("Faktura VAT nr 17", "VAT 0 %", "Odwrotne obciążenie"),
        ("Totaal excl. btw   280.00", "Btw verlegd"),
        ("Gemäß § 19 Abs. 1 UStG wird in dieser Rechnung keine", "Umsatzsteuer berechnet."),
        ("Momsreg.nr SE556012579001   Godkänd för F-skatt", "Omvänd skattskyldighet"),
    ],
)
def test_numbers_at_the_tax_office_and_the_rest_of_the_sentence_are_no_tax(rows: tuple[str, ...]) -> None:
    assert read("\n".join(("Total   280.00", *rows))) == totals("280.00", "280.00", "0.00")


def test_the_tax_may_stand_in_words_beside_what_it_is_of() -> None:
    assert read("Subtotal   400,00\nMomsgrundlag 400,00 – moms 25 % 100,00\nTotal   500,00") == totals(
        "500.00", "400.00", "100.00"
    )
    assert read("Subtotal   400,00\nFragt, uden moms 33 % 90,00\nTotal   490,00").tax is None


def test_a_line_of_many_amounts_and_rates_pairs_only_the_first_ones() -> None:
    assert len(list(_list_amounts_with_rates(" ".join(f"moms {n},00 {n % 90 + 1}%" for n in range(1, 400))))) == 72


def test_a_row_that_repeats_the_only_rate_is_no_part_payment() -> None:
    table = "A 23%     339,47     78,08     417,55\nRAZEM     339,47     78,08     417,55"
    rest = "DO ZAPŁATY: 417,55 PLN\nZAPŁACONO KARTĄ: 417,55\nPOZOSTAJE DO ZAPŁATY: 0,00"
    assert read(f"{table}\n{rest}") == totals("417.55", "339.47", "78.08", "0.00")


def test_a_total_may_say_that_it_includes_the_tax() -> None:
    assert read("Order total   £219.95\nIncludes VAT at 20%   £36.66") == totals("219.95", "183.29", "36.66")
    columns = "Aliquota   Imponibile   Imposta\n10%        550,00       55,00\n22%        40,00        8,80"
    assert read(f"{columns}\n\n\nTOTALE FATTURA € 653,80") == totals("653.80", "590.00", "63.80")


@pytest.mark.parametrize(
    "untaxed",
    [
        "Spese esenti ex art. 15 D.P.R. 633/72",
        "Suplidos",
        "Débours",
        "Durchlaufende Posten",
        "Pfand, steuerfrei",
        "Disbursements, VAT exempt",
        "Onbelaste verschotten",
    ],
)
def test_what_was_laid_out_for_the_customer_is_of_the_net_total_and_bears_no_tax(untaxed: str) -> None:
    rows = f"Imponibile   2 870,40\nIVA 22%   631,49\n{untaxed}   43,00\nTotale fattura   3 544,89"
    assert read(rows) == totals("3544.89", "2913.40", "631.49")


@pytest.mark.parametrize(
    "label",
    [
        "Rechnungstotal CHF inkl. MWST",
        "Total CHF inkl. MWST",
        "Summe EUR inkl. Abgaben",
        "Total charges this period, including VAT",
        "Montant total",
        "Total de la facture",
    ],
)
def test_the_total_may_have_words_in_its_name(label: str) -> None:
    rows = "Net total   175.77\nVAT   8.79\n"
    assert read(f"{rows}{label}   184.56") == totals("184.56", "175.77", "8.79")
    assert read(f"{label}   184.56").gross == Decimal("184.56")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Netto   5 160,00\nMva 25 %   1 290,00\nÅ betale NOK   6 450,00", ("6450.00", "6450.00")),
        ("Sum eks. mva   5 160,00\nMva 25 %   1 290,00\nSum inkl. mva NOK   6 450,00", ("6450.00", None)),
        ("Netto   5 160,40\nMva 25 %   1 290,10\nØreavrunding   0,50\nÅ betale   6 451,00", ("6450.50", "6451.00")),
        ("Netto   -5 160,00\nMva 25 %   -1 290,00\nSum til gode NOK   -6 450,00", ("-6450.00", None)),
    ],
)
def test_norway_calls_its_totals_so(text: str, expected: tuple[str, str | None]) -> None:
    found = read(text)
    assert (found.gross, found.due) == tuple(None if amount is None else Decimal(amount) for amount in expected)
    assert found.tax is not None


def test_several_payments_together_may_leave_what_is_due() -> None:
    rows = "Total £60.00\nIncluding VAT at 20%   £10.00\nPaid by gift card   £20.00\nPaid by Visa   £40.00"
    assert read(f"{rows}\nBalance due   £0.00") == totals("60.00", "50.00", "10.00", "0.00")
    assert read(f"{rows}\nBalance due   £5.00").gross is None


@pytest.mark.parametrize(
    "label",
    [
        "Order total",
        "Receipt total (all guests)",
        "Total this period",
        "Total value of your project including any tax",
        "Gesamthonorar",
        "Gesamtvergütung",
        "Gesamtentgelt",
        "Gesamtsumme Auftrag",
        "Montant total du marché",
        "Montant total (HT)",
        "Montant total net HT",
        "Importe total del contrato",
        "Totale complessivo lavori",
        "Totaalbedrag opdracht",
        "Valor total do contrato",
        "Razem ogółem wg umowy",
        "Celková částka smlouvy",
        "Totalbelopp avtal",
    ],
)
def test_what_may_be_the_sum_of_more_or_without_tax_is_no_total_by_its_name_alone(label: str) -> None:
    assert read(f"{label}   5 000.00\nI am not registered for VAT.").gross is None
    if "HT" not in label and "marché" not in label:
        rows = f"Net total   4 000.00\nVAT   1 000.00\n{label}   5 000.00"
        assert read(rows) == totals("5000.00", "4000.00", "1000.00")


@pytest.mark.parametrize("name", ["Montant total", "Montant total €", "Montant total TTC"])
def test_a_total_may_be_followed_by_its_currency_or_tax(name: str) -> None:
    assert read(f"{name}   5 000,00").gross == Decimal(5000)


def test_words_about_no_tax_are_held_against_what_speaks_of_tax_up_to_a_bounded_number_of_sentences() -> None:
    """Of a page that says nothing else each would be held against each."""
    sentences = [f"Lieferung {number} Reverse charge" for number in range(101)]
    assert read("\n".join(["Total   280.00", *sentences[:100]])) == totals("280.00", "280.00", "0.00")
    assert read("\n".join(["Total   280.00", *sentences])).tax is None
    assert read("\n".join(["Total   280.00", *sentences[:1] * 200])) == totals("280.00", "280.00", "0.00")


def test_each_row_is_read_once_for_what_it_takes_off() -> None:
    rows = [f"Voucher {number}   -{number}.10" for number in range(1, 60)]
    page = Transcript.from_rows(["Total   1 200.00", *rows, "Amount due   1 000.00"]).lines
    with patch("ingestion.extract.amounts.amount_due.list_deductions", wraps=list_deductions) as listed:
        choose_due(page, [Decimal(1000)], Decimal(1200))
    assert listed.call_count == len(page) + 1


def test_many_amounts_that_are_called_due_are_looked_at_in_a_bounded_number() -> None:
    rows = [f"Amount due   {number}.01" for number in range(1, 200)]
    page = Transcript.from_rows(["Net   1 000.00", "VAT   200.00", "Total   1 200.00", *rows]).lines
    with patch("ingestion.extract.amounts.amount_due._is_for_others", return_value=False) as judged:
        find_totals(page)
    assert judged.call_count == 12


def test_a_surcharge_of_retailers_is_a_part_of_the_tax_beside_a_total_below() -> None:
    rows = ["Base imponible   % IVA   Cuota IVA   % RE   Cuota RE", "199,25          21      41,84       5,2    10,36"]
    found = find_totals(Transcript.from_rows([*rows, "", "TOTAL FACTURA   251,45 €"]).lines)
    assert (found.gross, found.net, found.tax) == (Decimal("251.45"), Decimal("199.25"), Decimal("52.20"))


def test_totals_may_be_shortened_with_a_full_stop() -> None:
    rows = ["Tot. imponibile   € 1.382,00", "Tot. Iva   € 304,04", "Tot. documento   € 1.686,04"]
    found = find_totals(Transcript.from_rows(rows).lines)
    assert (found.gross, found.net, found.tax) == (Decimal("1686.04"), Decimal("1382.00"), Decimal("304.04"))


def test_the_head_of_the_positions_takes_no_total_from_one_that_contains_its_tax() -> None:
    rows = [
        "Vare        Antal   Pris    I alt",
        "Garn        6       45,00   270,00",
        "Fragt       1       39,00   39,00",
    ]
    found = find_totals(Transcript.from_rows([*rows, "Total inkl. moms   309,00", "Heraf moms 25%   61,80"]).lines)
    assert (found.gross, found.net, found.tax) == (Decimal("309.00"), Decimal("247.20"), Decimal("61.80"))


def test_instalments_that_make_the_total_take_nothing_off_it() -> None:
    rows = ["Reisepreis gesamt   2.708,00", "Anzahlung fällig bis 16.11.2026: 541,60 EUR"]
    whole = [*rows, "Restzahlung fällig bis 09.01.2027: 2.166,40 EUR"]
    assert find_totals(Transcript.from_rows(whole).lines).gross == Decimal("2708.00")
    assert find_totals(Transcript.from_rows([*rows, "Rest   2.066,40"]).lines).gross is None


def test_a_receipt_of_an_insurer_has_its_total() -> None:
    rows = ["Prima neta   1.120,00 €", "Impuesto sobre las primas de seguro 8 %   89,60 €", "Consorcio   28,40 €"]
    found = find_totals(Transcript.from_rows([*rows, "Total recibo   1.238,00 €"]).lines)
    assert (found.gross, found.net, found.tax) == (Decimal("1238.00"), None, None)


def test_a_total_may_name_its_currency_behind_a_preposition() -> None:
    rows = ["Nettobeløb   2.315,00", "Moms (25,00 %)   578,75", "Total i DKK   2.893,75"]
    found = find_totals(Transcript.from_rows(rows).lines, "DKK")
    assert (found.gross, found.net, found.tax) == (Decimal("2893.75"), Decimal("2315.00"), Decimal("578.75"))
