"""A total that no net and tax make: it counts where nothing else on the page speaks of another one."""

from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.amounts.totals import InvoiceTotals, find_totals
from ingestion.extract.amounts.unconfirmed_total import list_deductions

POSITIONS = ["Malerarbeiten   714,00", "Material   476,00"]
NET_AND_TAX = ["Nettobetrag   1.000,00", "MwSt 19 %   190,00"]


def read(*rows: str) -> InvoiceTotals:
    return find_totals(Transcript.from_rows(rows).lines)


def test_a_total_counts_beside_positions_discounts_and_the_carriage() -> None:
    assert read(*POSITIONS, "Gesamtbetrag   1.190,00").gross == Decimal("1190.00")
    assert read(*POSITIONS, "Rabatt   -90,00", "Gesamtbetrag   1.100,00").gross == Decimal("1100.00")
    assert read(*POSITIONS, "Versandkosten   10,00", "Gesamtbetrag   1.200,00").gross == Decimal("1200.00")


@pytest.mark.parametrize("row", ["Sockelbetrag   -59,50", "Sockelbetrag   59,50", "Sockelbetrag: -59,50 €"])
def test_what_an_unknown_word_takes_off_leaves_no_total(row: str) -> None:
    found = read(*POSITIONS, row, "Gesamtbetrag   1.130,50")
    assert (found.gross, found.doubtful) == (None, Decimal("1130.50"))


def test_the_only_net_and_tax_of_a_page_are_shown_beside_a_total_that_they_do_not_make() -> None:
    found = read("Netto   100,00", "MwSt 20 %   20,00", "Gesamtbetrag   125,00")
    assert (found.gross, found.net, found.tax) == (None, None, None)
    assert (found.doubtful, found.doubtful_net, found.doubtful_tax) == (Decimal(125), Decimal(100), Decimal(20))


@pytest.mark.parametrize("end", ["1.130,50", "1.249,50"])
def test_a_total_that_its_own_net_and_tax_do_not_make_is_none(end: str) -> None:
    difference = "-59,50" if end < "1.2" else "59,50"
    found = read(*NET_AND_TAX, f"Sockelbetrag   {difference}", f"Gesamtbetrag   {end}")
    assert found.gross is None
    assert found.doubtful is not None


def test_a_total_below_a_larger_amount_may_be_what_is_left_of_it() -> None:
    assert read("Auftrag   11.900,00", "Gesamtbetrag   1.190,00").gross is None
    assert read("Auftrag: 11.900,00 €", "Gesamtbetrag   1.190,00").gross is None
    assert read("Stammkapital: 25.000,00 €", "Gesamtbetrag   1.190,00").gross == Decimal("1190.00")


def test_what_is_handed_over_at_a_till_may_be_more_than_the_total() -> None:
    assert read("Total   29.00", "Cash   50.00", "Change   -21.00").gross == Decimal("29.00")
    assert read("Total   29.00", "Cash   50.00").gross is None


@pytest.mark.parametrize(
    ("word", "net", "tax", "end"),
    [
        # What a customer keeps until the work has proved good, or for the tax office ...
        ("CIS deduction 20%", "Subtotal", "VAT 20%", "Total"),
        ("Sicherheitseinbehalt 5 %", "Nettobetrag", "MwSt 20 %", "Zahlbetrag"),
        ("Retenue de garantie 5 %", "Total HT", "TVA 20 %", "Net à payer"),
        ("Garantía retenida 5%", "Base imponible", "IVA 20%", "Importe a pagar"),
        ("Ritenuta a garanzia", "Imponibile", "IVA 20%", "Netto a pagare"),
        ("Garantie-inhouding", "Subtotaal", "BTW 20%", "Te betalen"),
        ("Retenção IRS 25%", "Valor líquido", "IVA 20%", "Valor a pagar"),
        ("Kaucja gwarancyjna", "Razem netto", "Kwota VAT", "Do zapłaty"),
        ("Pozastávka 5 %", "Celkem bez DPH", "DPH 20 %", "K úhradě"),
        ("Tilbageholdt garanti", "Subtotal", "Moms 20%", "At betale"),
        ("Innehållen garanti", "Summa exkl. moms", "Moms 20%", "Att betala"),
        # ... a voucher or a credit from before, and what was paid in advance.
        ("Geschenkgutschein", "Nettobetrag", "MwSt 20 %", "Zahlbetrag"),
        ("Chèque cadeau", "Total HT", "TVA 20 %", "Net à payer"),
        ("Přeplatek", "Celkem bez DPH", "DPH 20 %", "K úhradě"),
        ("Caparra", "Imponibile", "IVA 20%", "Netto a pagare"),
        ("Handpenning", "Summa exkl. moms", "Moms 20%", "Att betala"),
    ],
)
def test_what_is_known_to_be_taken_off_leaves_the_total_of_net_and_tax(word: str, net: str, tax: str, end: str) -> None:
    rows = [f"{net}   1000,00", f"{tax}   200,00"]
    for sign in ("-", ""):
        found = read(*rows, f"{word}   {sign}60,00", f"{end}   1140,00")
        # Whether an advance was paid only its minus says.
        due = None if word in ("Caparra", "Handpenning") and not sign else Decimal(1140)
        assert found == InvoiceTotals(Decimal(1200), Decimal(1000), Decimal(200), due)
        assert read(f"{word}   {sign}60,00", f"{end}   1140,00").gross is None


@pytest.mark.parametrize(
    ("word", "net", "tax", "end"),
    [
        ("Previous balance", "Subtotal", "VAT 20%", "Amount due"),
        ("Mahngebühr", "Nettobetrag", "MwSt 20 %", "Zahlbetrag"),
        ("Solde antérieur", "Total HT", "TVA 20 %", "Net à payer"),
        ("Propina", "Base imponible", "IVA 20%", "Total"),
        ("Odsetki za zwłokę", "Razem netto", "Kwota VAT", "Do zapłaty"),
        ("Rykkergebyr", "Subtotal", "Moms 20%", "At betale"),
    ],
)
def test_what_is_asked_for_beside_an_invoice_is_none_of_its_total(word: str, net: str, tax: str, end: str) -> None:
    rows = [f"{net}   1000,00", f"{tax}   200,00"]
    found = read(*rows, f"{word}   40,00", f"{end}   1240,00")
    assert found == InvoiceTotals(Decimal(1200), Decimal(1000), Decimal(200), Decimal(1240))
    assert read(f"{word}   40,00", f"{end}   1240,00").gross is None


def test_carriage_that_is_asked_for_below_the_total_leaves_none() -> None:
    rows = [*NET_AND_TAX, "Rechnungsbetrag   1.190,00", "Versandkosten   {}", "Noch zu zahlen   {}"]
    page = "\n".join(rows)
    assert read(*page.format("50,00", "1.240,00").splitlines()).gross is None
    assert read(*page.format("0,00", "1.190,00").splitlines()).gross == Decimal("1190.00")


def test_what_is_due_from_who_pays_early_is_not_what_is_due() -> None:
    rows = [*NET_AND_TAX, "Rechnungsbetrag   1.190,00", "2 % Skonto bei Zahlung in 10 Tagen   23,80"]
    assert read(*rows, "Zahlbetrag   1.166,20") == InvoiceTotals(Decimal(1190), Decimal(1000), Decimal(190))


def test_of_the_deductions_that_a_page_may_name_a_bounded_number_is_taken_off_each_total() -> None:
    page = Transcript.from_rows([f"Sockelbetrag   -{number},10" for number in range(1500)]).lines
    assert len(list_deductions(page)) == 40


@pytest.mark.parametrize(
    "sentence",
    [
        "Tax at 20%   200.00",
        "zuzüglich 19 % USt   190,00 EUR",
        "Hinzu kommen 190,00 EUR Umsatzsteuer (19 %), zusammen 1.190,00 EUR.",
        "Auf das Entgelt entfallen 190,00 EUR USt.",
        "TVA 20 %   200,00 €",
        "VAT of 200.00 is not included.",
        "Includes VAT of 200.00, so please pay 1,200.00",
        "Alle Preise zzgl. MwSt.",
        "Todos los precios más IVA",
    ],
)
def test_a_total_beside_tax_that_it_is_not_said_to_contain_is_doubtful(sentence: str) -> None:
    assert read("Beratung   400.00", "Reise   600.00", "Total   1000.00", sentence).doubtful == Decimal(1000)


@pytest.mark.parametrize(
    "sentence", ["Prices include VAT of 12.00.", "Im Betrag sind 159,66 EUR MwSt. enthalten.", "dont TVA 20 %   166,67"]
)
def test_a_total_that_is_said_to_contain_the_tax_counts(sentence: str) -> None:
    assert read("Beratung   400.00", "Reise   600.00", "Total   1000.00", sentence).gross == Decimal(1000)


def test_a_total_below_its_tax_counts() -> None:
    assert read("VAT   14.00", "Total   84.00").gross == Decimal("84.00")
    assert read("VAT   13.00", "Total   84.00").gross is None


@pytest.mark.parametrize(
    "rows",
    [
        ("Offene Posten   60,00", "Neue Leistungen   119,00", "Zahlbetrag   179,00"),
        ("Openstaand vorige factuur   60,00", "Deze factuur   119,00", "Totaal te betalen   179,00"),
        ("Saldo em dívida anterior   60,00", "Valor desta fatura   119,00", "Total a pagar   179,00"),
        ("Tidigare obetalt   60,00", "Denna faktura   119,00", "Att betala   179,00"),
        ("Carried over   60.00", "This invoice   119.00", "Total due   179.00"),
    ],
)
def test_what_is_owed_from_before_and_what_is_new_make_no_total_of_this_invoice(rows: tuple[str, ...]) -> None:
    assert read(*rows).gross is None
    assert read(rows[0].replace("60", "-60"), rows[1], rows[2].replace("179", "59")).gross is None
