"""The name of a security, and what stands beside it that is none of it."""

import pytest
from note_texts import ENGLISH, GERMAN, read_only

NAMELESS = GERMAN.replace("Bezeichnung WKN ISIN\nALLIANZ SE NA O.N. 840400 DE0008404005\n", "{}\n")


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        (
            "Titel                        Ort der Ausführung\nNESTLE N  ISIN: CH0038863350  SIX Swiss Exchange",
            "NESTLE N",
        ),
        (
            "Stock      Sedol    Venue    Settlement\nTesco plc  BLGZ986  London   19.01.2026\nISIN GB00BLGZ9862",
            "Tesco plc",
        ),
        (
            "Stock Code  Stock Name        Listing\n00700       TENCENT HOLDINGS  DE0008404005",
            "TENCENT HOLDINGS",
        ),
        ("Fondo\nCARMIGNAC PATRIMOINE A EUR ACC  ISIN  FR0010135103", "CARMIGNAC PATRIMOINE A EUR ACC"),
        ("Título  EDP - ENERGIAS\nCódigo ISIN  PTEDP0AM0009", "EDP - ENERGIAS"),
        ("Titolo  ENEL SPA\nCodice ISIN  IT0003128367", "ENEL SPA"),
        ("Instrument  PKO BP SA (PKO)\nKod ISIN  PLPKO0000016", "PKO BP SA (PKO)"),
        ("Security  Venue of execution\nISIN DE0008404005", None),
    ],
)
def test_a_name_stands_behind_its_label_or_in_its_column_and_no_other_head_is_one(lines: str, name: str | None) -> None:
    assert read_only(NAMELESS.format(lines))["security_name"] == name


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ("LVMH MOET HENNESSY  Code ISIN : FR0000121014", "LVMH MOET HENNESSY"),
        ("Stück 10  MICROSOFT CORP.  US5949181045  (870747)", "MICROSOFT CORP."),
        ("10  Namenaktien Johnson & Johnson\nValor 943981 / ISIN US4781601046", "Namenaktien Johnson & Johnson"),
        ("10  ROLLS-ROYCE HOLDINGS PLC\nORD SHS 20P\nSEDOL B63H849  ISIN GB00B63H8491", "ROLLS-ROYCE HOLDINGS PLC"),
        ("10 Namenaktien Johnson & Johnson\nISIN US4781601046", "Namenaktien Johnson & Johnson"),
        ("STK  10  iShs Core MSCI World  EUR 20,50", "iShs Core MSCI World"),
        ("10  20,50 EUR  -205,00 EUR\nISIN US4781601046", None),
        ("10 Lindenallee\n48145 Münster", None),
    ],
)
def test_a_name_stands_in_front_of_the_isin_or_beside_the_quantity(lines: str, name: str | None) -> None:
    assert read_only(NAMELESS.format(lines))["security_name"] == name


def test_the_name_in_the_row_of_another_security_is_not_taken() -> None:
    lines = "Stock  FIRST FUND XS1234567894\nDividend COCA COLA CO US1912161007\nISIN: DE0008404005"
    found = read_only(NAMELESS.format(lines.replace("Stock  FIRST FUND XS1234567894", "Depot")))
    assert (found["isin"], found["security_name"]) == ("DE0008404005", None)


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("VANGUARD ALL-WORLD (DIST)", "VANGUARD ALL-WORLD (DIST)"),
        ("ALLIANZ SE (", "ALLIANZ SE"),
        ("ALLIANZ SE)", "ALLIANZ SE"),
        ("ALLIANZ SE 840400", "ALLIANZ SE"),
    ],
)
def test_a_name_keeps_its_brackets_and_has_no_number_of_the_security(written: str, name: str) -> None:
    assert read_only(ENGLISH.replace("Allianz SE", written))["security_name"] == name


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ("Instrument  Equity\nISIN  DE0008404005", None),
        ("Wertpapier  Aktie\nISIN  DE0008404005", None),
        ("Gattung  Inhaberaktien o.N.\nBezeichnung  Siemens AG\nISIN  DE0008404005", "Siemens AG"),
        ("Værdipapir  Aktier\nISIN  DE0008404005", None),
        ("Nazwa  Akcje zwykłe\nISIN  DE0008404005", None),
        ("Título  Ações ordinárias\nISIN  DE0008404005", None),
        ("Strumento  Azione ordinaria\nISIN  DE0008404005", None),
        ("Company  BHP Group Limited\nSecurity  ORDINARY FULLY PAID\nISIN  DE0008404005", "BHP Group Limited"),
        ("Instrument  Bond fund\nISIN  DE0008404005", None),
        ("Fonds  Global Bond Fund\nISIN  DE0008404005", "Global Bond Fund"),
    ],
)
def test_a_kind_of_security_is_no_name(lines: str, name: str | None) -> None:
    assert read_only(NAMELESS.format(lines))["security_name"] == name


@pytest.mark.parametrize(
    ("lines", "name"),
    [
        ("Execution venue London, ISIN DE0008404005", None),
        ("Stock  London Stock Exchange (SETS)\nISIN  DE0008404005", None),
        ("Název  Burza cenných papírů Praha\nISIN  DE0008404005", None),
        ("Instrument  Euronext Paris\nISIN  DE0008404005", None),
        ("Instrument  Deutsche Börse AG\nISIN  DE0008404005", "Deutsche Börse AG"),
        ("Instrument  Euronext NV\nISIN  DE0008404005", "Euronext NV"),
    ],
)
def test_a_venue_is_no_name_but_the_company_that_runs_one_is(lines: str, name: str | None) -> None:
    assert read_only(NAMELESS.format(lines))["security_name"] == name


def test_the_part_that_the_bank_took_is_no_name() -> None:
    assert (
        read_only(NAMELESS.format("Bought 10 shares as agent at EUR 20.50\nISIN DE0008404005"))["security_name"] is None
    )


@pytest.mark.parametrize("foot", ["", "\nHarbour Brokers Ltd is authorised and regulated by the FCA"])
def test_the_bank_is_no_name(foot: str) -> None:
    text = NAMELESS.format("ISIN DE0008404005\nSecurity  Harbour Brokers Ltd").strip()
    text = text + foot if foot else f"Harbour Brokers Ltd\n{text}"
    assert read_only(text)["security_name"] is None


def test_names_that_contradict_each_other_leave_it_empty() -> None:
    both = "Security  Alpha Mining PLC\nISIN DE0008404005\nInstrument  {}"
    assert read_only(NAMELESS.format(both.format("Omega Shipping AG")))["security_name"] is None
    assert read_only(NAMELESS.format(both.format("Alpha Mining")))["security_name"] == "Alpha Mining PLC"


def test_many_heads_in_a_cell_are_told_from_a_name_at_once() -> None:
    """With a pattern for several words within one for many this took hours."""
    lines = "Security: " + "Place de " * 40 + "EUR 12.50\nISIN DE0008404005"
    assert read_only(NAMELESS.format(lines))["security_name"] is None


def test_a_label_of_many_words_for_a_place_is_looked_at_in_a_moment() -> None:
    """A word that is one of a head, and two of them together, would be tried in each way: minutes."""
    assert read_only(NAMELESS.format(f"Security: {'Place de ' * 40}x"))["settled_amount"] == "209.95"


WITH_ACCOUNT = """
Contract note
You have PURCHASED
{line}
ISIN: DE0008404005
Execution date/time: 15 Jan 2026 08:13:35
Number of units: 10
Price: €20.50
Consideration: €205.00
Total amount payable: €205.00
"""


@pytest.mark.parametrize(
    "line",
    [
        *("Designation: A/C MR1  Joint holder: Mr P Finch", "Designation: <Pension A/C>", "Security: Held in nominee"),
        *("Account designation: Junior ISA", "Investment name: Self-Invested Personal Pension (SIPP)"),
        *("Wertpapier: Gemeinschaftskonto Muster", "Titre : compte joint", "Valor: cuenta de valores"),
        *("Titolo: conto deposito", "Fonds: effectenrekening Jansen", "Título: conta conjunta"),
        *("Papier wartościowy: rachunek IKE", "Cenný papír: účet klienta", "Værdipapir: Aktiesparekonto"),
        *("Instrument: Depot 4471", "Värdepapper: Investeringssparkonto"),
    ],
)
def test_an_account_is_no_name_of_a_security(line: str) -> None:
    assert read_only(WITH_ACCOUNT.format(line=line))["security_name"] is None


@pytest.mark.parametrize(
    "name",
    [
        *("Alpine Pension Growth Fund", "Nordic Pension Index ETF", "Home Depot Inc", "HOME DEPOT", "Isabella Mining"),
        *("Contour Brands", "Deutsche Konto SE", "Pension Insurance Corporation plc", "Siemens Inhaberaktien"),
    ],
)
def test_a_security_that_is_called_like_an_account_keeps_its_name(name: str) -> None:
    assert read_only(WITH_ACCOUNT.format(line=f"Investment name: {name}"))["security_name"] == name
