"""What is left to pay, as labels in eleven languages or the deductions themselves say."""

from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.totals import find_totals

WHOLE = "Net total   1 000.00\nVAT   200.00\nGross total   1 200.00\n"


def due(text: str) -> Decimal | None:
    return find_totals(Transcript.from_rows(text.splitlines()).lines).due


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
    ],
)
def test_what_is_left_to_pay_has_many_names(label: str) -> None:
    assert due(f"{WHOLE}{label}   700.00") == Decimal("700.00")


@pytest.mark.parametrize(
    "label",
    [
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
def test_what_may_be_left_of_something_else_is_due_where_a_deduction_leads_to_it(label: str) -> None:
    assert due(f"{WHOLE}Returned   -500.00\n{label}   700.00") == Decimal("700.00")
    assert due(f"{WHOLE}{label}   700.00") is None


@pytest.mark.parametrize(
    "plan",
    [
        "Anzahlung 30 % bei Auftrag   360.00\nRestbetrag bei Lieferung   840.00",
        "Deposit required on order   360.00\nBalance due on completion   840.00",
        "Acompte 30 % à la commande   360.00\nSolde à régler à la livraison   840.00",
        "Deposit 30 %   360.00\nUnheard of   840.00",
    ],
)
def test_a_plan_of_payments_does_not_say_what_was_paid(plan: str) -> None:
    assert due(f"{WHOLE}{plan}") is None


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
