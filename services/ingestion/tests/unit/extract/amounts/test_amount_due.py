"""What is left to pay, as labels in eleven languages or the deductions themselves say."""

from datetime import date
from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.amounts.payment_evidence import IssueDay
from ingestion.extract.amounts.totals import find_totals

WHOLE = "Net total   1 000.00\nVAT   200.00\nGross total   1 200.00\n"


def due(text: str) -> Decimal | None:
    return find_totals(
        Transcript.from_rows(text.splitlines()).lines, issued=IssueDay(date(2026, 11, 3), day_first=True)
    ).due


@pytest.mark.parametrize(
    "label",
    [
        "Balance to pay",
        "Balance payable",
        "Amount outstanding",
        "Still to be paid",
        "Restforderung",
        "Restzahlung",
        "Verbleibender Betrag",
        "Offene Forderung",
        "Nachzahlung",
        "Solde restant dû",
        "Reste à verser",
        "Saldo a pagar",
        "Pendiente de pago",
        "Saldo da versare",
        "Resta da pagare",
        "Resto a pagar",
        "Pozostaje do zapłaty",
        "Zbývá uhradit",
        "Restbeløb",
        "Rest at betale",
        "Kvar att betala",
        "Remaining balance",
        "Noch offen",
        "Importe pendiente",
        "Importo residuo",
        "Resterend bedrag",
        "Restant",
        "Valor em falta",
        "Pozostała kwota",
        "Doplatek",
        "Återstår",
        "Outstanding",
        "Solde",
    ],
)
def test_what_is_left_to_pay_has_many_names_and_is_due_where_a_deduction_leads_to_it(label: str) -> None:
    assert due(f"{WHOLE}Returned   -500.00\n{label}   700.00") == Decimal("700.00")
    assert due(f"{WHOLE}{label}   700.00") is None


@pytest.mark.parametrize(
    "plan",
    [
        "Anzahlung 30 % bei Auftrag   360.00\nRestbetrag bei Lieferung   840.00",
        "Deposit required on order   360.00\nBalance due on completion   840.00",
        "Acompte 30 % à la commande   360.00\nSolde à régler à la livraison   840.00",
        "Deposit 30 %   360.00\nUnheard of   840.00",
        "Deposit due by 10 Nov 2026   360.00\nBalance by 10 Dec 2026   840.00",
        "Deposit 10 Nov 2026   -360.00\nBalance due   840.00",
        "Zahlungsplan\nAnzahlung bis 15.11.2026   360.00\nRest bis 15.12.2026   840.00",
        "Acompte à verser avant le 10/11/2026   360.00\nSolde   840.00",
        "Anticipo   360.00\nResto a pagar   840.00",
        "Acconto da versare entro il 10/11/2026   360.00\nSaldo da versare entro il 10/12/2026   840.00",
        "Nieuw voorschot per maand   360.00\nNog te betalen   840.00",
        "Próximo adiantamento pago em janeiro   -360.00\nValor a pagar   840.00",
        "Zaliczka płatna do 10.11.2026   360.00\nPozostała kwota   840.00",
        "Záloha na příští dodávku   360.00\nZbývá uhradit   840.00",
        "Depositum for nøgle   360.00\nRest at betale   840.00",
        "Förskott betalas vid ankomst   360.00\nKvar att betala   840.00",
        "Anzahlung wird im Dezember bezahlt   360.00\nRestzahlung vor Anreise   840.00",
    ],
)
def test_a_plan_of_payments_does_not_say_what_was_paid(plan: str) -> None:
    assert due(f"{WHOLE}{plan}") is None
    assert due(f"{WHOLE.replace('Gross total', 'Position')}{plan}") is None


@pytest.mark.parametrize(
    ("deposit", "is_paid"),
    [
        ("Deposit 14 October 2026", True),
        ("Deposit 3 November 2026", True),
        ("Deposit 4 November 2026", False),
        ("Deposit by 14 October 2026", False),
        ("Deposit", False),
        ("Deposit received", True),
        ("Deposit not received", False),
        ("Retention", True),
        ("Gift voucher", True),
    ],
)
def test_what_a_row_takes_off_counts_where_it_says_that_it_was_paid(deposit: str, is_paid: bool) -> None:
    assert due(f"{WHOLE}{deposit}   360.00\nBalance due   840.00") == (Decimal("840.00") if is_paid else None)


@pytest.mark.parametrize(
    ("heading", "expected"),
    [("Less payments received:", "840.00"), ("Abzüglich erhaltener Zahlungen", "840.00"), ("Payment plan", None)],
)
def test_a_heading_may_say_that_the_rows_below_it_were_paid(heading: str, expected: str | None) -> None:
    rows = f"{heading}\nDeposit A   120.00\nDeposit B   240.00\nBalance due   840.00"
    assert due(f"{WHOLE}{rows}") == (None if expected is None else Decimal(expected))


def test_equal_payments_are_each_taken_off() -> None:
    assert due(f"{WHOLE}Returned   -200.00\nReturned   -200.00\nBalance due   800.00") == Decimal("800.00")


@pytest.mark.parametrize(
    "other",
    [
        "Restzahlung vor Anreise   800.00",
        "Balance to pay on arrival   800.00",
        "Nog te voldoen bij aankomst   800.00",
        "Next amount payable 1 December 2026   99.00",
        "Restschuld nach dieser Rate   8 400.00",
        "Slotbetaling einde looptijd   5 000.00",
        "Montant restant dû sur le marché   14 000.00",
        "Saldo da pagare sul contratto   9 000.00",
        "Zbývá uhradit ze smlouvy o dílo   9 000.00",
        "Te betalen binnen 8 dagen   1 176.00",
        "Importo da pagare entro 10 giorni   1 176.00",
        "Att betala inom 10 dagar   1 176.00",
        "Å betale innen 10 dager   1 176.00",
        "Amount payable within 14 days   1 176.00",
        "Do zapłaty do 10.11.2026   1 176.00",
        "Previous amount outstanding   0.00",
        "Restsaldo Vorperiode   0.00",
        "Solde de votre compte au 31/10/2026   0.00",
        "Pozostało z poprzednich faktur   0.00",
        "Outstanding back orders   0.00",
    ],
)
def test_a_name_alone_does_not_say_what_is_due_of_this_invoice_now(other: str) -> None:
    assert due(f"{WHOLE}{other}") is None


@pytest.mark.parametrize(
    ("paid", "expected"),
    [
        ("PAID", "0.00"),
        ("Paid in full, thank you", "0.00"),
        ("Paid by card", "0.00"),
        ("Zapłacono", "0.00"),
        ("Paid   1 200.00", "0.00"),
        ("Paid   1 100.00", None),
        ("To be paid by direct debit", None),
    ],
)
def test_nothing_is_due_where_the_page_says_that_all_was_paid(paid: str, expected: str | None) -> None:
    assert due(f"{WHOLE}{paid}\nBalance due   0.00") == (None if expected is None else Decimal(expected))


@pytest.mark.parametrize(
    "taken", ["1. Abschlagszahlung   -500.00", "Acconto versato   500.00", "Deposit received   -300.00\nPaid   -200.00"]
)
def test_deductions_below_the_total_lead_to_what_is_left_whatever_it_is_called(taken: str) -> None:
    assert due(f"{WHOLE}{taken}\nUnheard of   700.00") == Decimal("700.00")
    assert due(f"{WHOLE}{taken}\nUnheard of   710.00") is None


def test_a_total_that_is_called_due_is_not_what_is_left_of_it() -> None:
    rows = "Net total   1 000.00\nVAT   200.00\nAmount due   1 200.00\nLess deposit   -500.00\n"
    assert due(f"{rows}So there is left   700.00") == Decimal("700.00")


@pytest.mark.parametrize("taken", ["Skonto 2 %   -24.00", "2 % in 10 days   -24.00", "Discount   -24.00"])
def test_what_only_who_pays_early_may_take_off_leaves_the_total_due(taken: str) -> None:
    assert due(f"{WHOLE}{taken}\nUnheard of   1 176.00") is None
    assert due(f"{WHOLE}Deposit   -500.00\n{taken}\nUnheard of   676.00") is None


@pytest.mark.parametrize(
    "before", ["Solde de votre facture précédente   21.99", "Previous balance due   21.99", "Forrige saldo   21.99"]
)
def test_what_was_due_before_is_not_due_of_this_invoice(before: str) -> None:
    paid = "Vielen Dank   -21.99"
    assert due(f"{before}\n{paid}\nPosition   21.99\n{WHOLE}") is None


def test_what_is_owed_from_before_is_due_beside_the_total() -> None:
    rows = "Total excluding VAT   476.69\nVAT @ 9%   42.90\nTotal for this period   519.59\n"
    rows += "Balance from last bill   191.70\nPayment received   -100.00\nTotal amount due   611.29"
    found = find_totals(Transcript.from_rows(rows.splitlines()).lines)
    assert (found.gross, found.due) == (Decimal("519.59"), Decimal("611.29"))


@pytest.mark.parametrize(
    "sentence",
    [
        "Zahlbar bis 10.10.2026 mit 3,00 % Skonto = 36.00 EUR, zu zahlen 1 164.00",
        "Mit 3 % Skonto zahlbar:\nZahlbetrag   1 164.00",
        "Amount due with 3% discount within 7 days   1 164.00",
        "Escompte 3 % sous 8 jours\nNet à payer   1 164.00",
        "Con sconto 3 % entro 10 giorni\nTotale da pagare   1 164.00",
        "Descuento 3 % a 10 días\nTotal a pagar   1 164.00",
        "3 % korting binnen 8 dagen\nTe betalen   1 164.00",
        "Desconto 3 % a 8 dias\nTotal a pagar   1 164.00",
        "Skonto 3 %\nDo zapłaty   1 164.00",
        "Skonto 3 % do 10 dnů\nK úhradě   1 164.00",
        "Kontantrabat 3 %\nAt betale   1 164.00",
        "Kassarabatt 3 %\nAtt betala   1 164.00",
    ],
)
def test_what_who_pays_early_has_to_pay_is_not_due(sentence: str) -> None:
    assert due(f"{WHOLE}{sentence}") is None


@pytest.mark.parametrize("taken", ["Retention 3 %", "Retained 3 % until 10 May 2027", "Treuerabatt 3 %"])
def test_a_few_percent_that_are_taken_off_for_good_are_no_discount_for_early_payment(taken: str) -> None:
    assert due(f"{WHOLE}{taken}   -36.00\nAmount due   1 164.00") == Decimal("1164.00")


def test_a_rest_that_nobody_calls_due_ends_the_amounts() -> None:
    rows = f"{WHOLE}Paid by post   -300.00\nSo there is left   900.00"
    assert due(rows) == Decimal("900.00")
    assert due(f"{rows}\nGoods   25.00") is None


def test_what_is_taken_off_a_rounded_total_leaves_what_is_due() -> None:
    heads = "Exkl. moms    Moms 25 %    Öresavr.    Totalt SEK    RUT-avdrag    ATT BETALA"
    assert due(f"{heads}\n6 690,00      1 672,50     0,50        8 363,00      -3 981,00     4 382,00") == Decimal(4382)
    heads = "Exkl. moms    Moms 25 %    Öresavr.    Totalt SEK    Övrigt        ATT BETALA"
    assert due(f"{heads}\n6 690,00      1 672,50     0,50        8 363,00      3 000,00      4 382,00") is None
