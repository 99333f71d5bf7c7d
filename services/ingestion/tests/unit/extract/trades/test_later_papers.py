"""A paper on trades that had notes of their own makes no second trade of them."""

import pytest
from note_texts import DUTCH, ENGLISH, FRENCH, GERMAN, ITALIAN, PORTUGUESE, SPANISH, read

TABLE = """
Account number: 40218833
Trade date  Side  Security  ISIN  Quantity  Price (GBP)  Amount (GBP)
03/11/2026  Buy  Vodafone Group  GB00BH4HKS39  1,000  0.7200  720.00
13/11/2026  Sell  BP PLC  GB0007980591  200  4.1000  820.00
"""


@pytest.mark.parametrize(
    "title",
    [
        "Annual costs and charges report",
        "Ex-post-Kosteninformation 2026",
        "Costs and charges statement 2026",
        "Kosteninformation für das Jahr 2026",
        "Relevé annuel des frais",
        "Informe anual de costes y gastos",
        "Rendiconto annuale costi e oneri",
        "Jaarlijks kostenoverzicht",
        "Relatório anual de custos e encargos",
        "Årlig kostnadsredovisning",
        "Årlig omkostningsoversigt",
        "Roczna informacja o kosztach i opłatach",
        "Roční přehled nákladů a poplatků",
        "Best execution report",
        "Bericht zur Ausführungsqualität",
        "Rapport de meilleure exécution",
        "Informe de mejor ejecución",
        "Rapport beste orderuitvoering",
        "Relatório de melhor execução",
    ],
)
def test_what_trades_cost_in_a_year_or_how_well_they_were_made_is_no_trade(title: str) -> None:
    assert not read(title + TABLE).has_trades


@pytest.mark.parametrize(
    "title", ["Your costs and charges", "Kostentransparenz", "MiFID II disclosure", "Annual review"]
)
def test_a_list_below_a_title_that_speaks_of_costs_or_of_a_review_is_doubted(title: str) -> None:
    assert read(title + TABLE).doubts == ("earlier",)
    assert read(f"Transactions\n{title}{TABLE}").doubts == ()


@pytest.mark.parametrize("title", ["Transaction statement", "Umsatzübersicht 2026", "Relevé de compte"])
def test_a_statement_that_says_its_costs_below_has_its_trades(title: str) -> None:
    reading = read(f"{title}{TABLE}Ex-post costs and charges 2026")
    assert (len(reading.trades), reading.doubts) == (2, ())


def test_a_field_that_names_best_execution_is_no_title_of_a_report() -> None:
    assert read(f"Order handling    Best execution\n{ENGLISH.strip()}").doubts == ()
    assert read(f"MiFID best execution\n{ENGLISH.strip()}").doubts == ("earlier",)


def test_what_begins_as_a_report_and_has_all_of_one_settled_trade_is_not_skipped() -> None:
    note = f"Kosteninformation 2026 siehe Anlage\n{GERMAN.strip()}".replace("Wertpapierabrechnung", "Ihre Anlage")
    note = note.replace("Kauf am 15.01.2026 um 08:13:35", "Kauf\nHandelstag 15.01.2026").replace("Valuta", "Am")
    reading = read(note)
    assert (reading.has_trades, reading.doubts) == (True, ("earlier",))


def test_what_a_note_says_of_costs_below_its_title_is_no_report() -> None:
    assert read(f"{GERMAN.strip()}\nEx-post-Kosteninformation").doubts == ()
    assert read(f"Ex-post-Kosteninformation\n{GERMAN.strip()}").doubts == ("earlier",)


@pytest.mark.parametrize(
    ("note", "line"),
    [
        (ENGLISH, "Response to your query about the trade below"),
        (ENGLISH, "Reminder: payment for your contract note is overdue"),
        (GERMAN, "Ihre Anfrage vom 20.01.2026"),
        (GERMAN, "Zahlungserinnerung"),
        (FRENCH, "Réponse à votre courrier"),
        (SPANISH, "Respuesta a su consulta"),
        (ITALIAN, "Risposta alla Sua richiesta"),
        (DUTCH, "Antwoord op uw vraag"),
        (PORTUGUESE, "Resposta ao seu pedido"),
        (ENGLISH, "Subject: RE: your contract note"),
        (ENGLISH, "-----Original Message-----"),
        (GERMAN, "Am 20.01.2026 um 10:22 schrieb Kontor Direktbank:"),
        (FRENCH, "Le 20/01/2026 Banque Rivoli a écrit :"),
    ],
)
def test_a_letter_or_a_mail_that_speaks_of_a_note_is_not_the_note(note: str, line: str) -> None:
    assert "earlier" in read(f"{line}\n{note.strip()}").doubts


def test_quoted_lines_are_of_another_paper() -> None:
    quoted = "\n".join(f"> {line}" for line in ENGLISH.strip().splitlines())
    assert "earlier" in read(quoted).doubts


@pytest.mark.parametrize(
    ("note", "line"), [(ENGLISH, "Contract note (duplicate)"), (GERMAN, "Zweitschrift"), (FRENCH, "Duplicata")]
)
def test_a_copy_of_a_note_has_its_trade_which_the_ledger_knows_again(note: str, line: str) -> None:
    assert read(f"{line}\n{note.strip()}").doubts == ()
