from datetime import date
from decimal import Decimal

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.amounts.payment_evidence import IssueDay
from ingestion.extract.amounts.totals import find_totals

ISSUED = IssueDay(date(2026, 11, 3), day_first=True)
TOTALS = "Net total   1,000.00\nVAT 20%   200.00\nTotal amount due   1,200.00\n"


def read_due(text: str) -> Decimal | None:
    return find_totals(Transcript.from_rows(text.splitlines()).lines, issued=ISSUED).due


@pytest.mark.parametrize(
    "words",
    [
        "Paid by card 3 November 2026",
        "Payment received - thank you",
        "Charged to card ending 4471",
        "Nothing to pay",
        "Betrag dankend erhalten",
        "Bitte nicht überweisen, Betrag wurde bezahlt.",
        "Facture acquittée",
        "Ne pas régler, facture déjà payée",
        "Niet betalen, is al betaald",
        "Factura ya pagada",
        "Fattura già saldata",
        "Pago com cartão",
        "Faktura opłacona",
        "Neplaťte, již uhrazeno",
        "Fakturaen er betalt",
        "Betald med Swish",
        "Betaald met pin 03-11-2026   1.200,00",
        "Status   BEZAHLT",
        "The amount was debited from your account on 3 November 2026.",
        "Der Betrag wurde am 03.11.2026 Ihrer Kreditkarte belastet.",
        "Le montant a été débité de votre carte le 03/11/2026.",
        "El importe se ha cargado en su tarjeta el 03/11/2026.",
        "L'importo è stato addebitato il 03/11/2026.",
        "Het bedrag is op 03-11-2026 afgeschreven via iDEAL.",
        "O montante foi debitado no seu cartão.",
        "Kwota została pobrana z karty.",
        "Částka byla stržena z karty.",
        "Beløbet er trukket på jeres kort.",
        "Beloppet har dragits från ert kort.",
    ],
)
def test_a_total_that_the_page_says_was_paid_is_not_due(words: str) -> None:
    assert read_due(TOTALS + words) is None


def test_a_stamp_says_so_above_the_total_as_well() -> None:
    assert read_due("VOLDAAN\n" + TOTALS) is None


@pytest.mark.parametrize(
    "words",
    [
        "Goods remain our property until paid in full.",
        "Invoices not paid within 30 days bear interest.",
        "Paid by 3 December 2026",
        "The amount will be debited from your account.",
        "Der Betrag wird von Ihrem Konto abgebucht.",
        "Der Betrag wurde am 03.12.2026 abgebucht.",
        "Le montant sera débité de votre compte.",
        "Het bedrag wordt afgeschreven van uw rekening.",
        "Charged to card ending 4471 on 3 December 2026",
        "Die Ware bleibt Eigentum, bis sie bezahlt ist.",
        "Facturen dienen voor 3 december betaald te zijn.",
        "Toute facture non payée porte intérêt.",
        "Beløbet bedes betalt senest 03.12.2026",
        "Zapłacono   0,00",
        "IVA pagata in dogana",
        "Payment terms: 30 days",
        "Paid last month   300.00 of another invoice",
    ],
)
def test_a_total_is_due_where_nothing_says_that_it_was_paid(words: str) -> None:
    assert read_due(TOTALS + words) == Decimal("1200.00")


def test_heads_of_columns_are_no_stamps() -> None:
    assert read_due("Invoice   Total   Paid\n" + TOTALS) == Decimal("1200.00")
