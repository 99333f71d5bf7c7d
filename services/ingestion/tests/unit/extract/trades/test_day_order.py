"""In which order a note in dollars writes day and month."""

import pytest
from note_texts import ENGLISH, FRENCH, read, read_only

from ingestion.domain.transcript import Transcript
from ingestion.extract.trades.day_order import determine_day_first

ON_ONE_DAY = (
    ENGLISH.replace("€", "US$").replace("15 Jan 2026 08:13:35", "02/09/2026").replace("19/01/2026", "02/09/2026")
)


@pytest.mark.parametrize(
    ("line", "trade_date"),
    [
        ("Boston, MA 02110", None),  # of a client, whom the window of a letter shows
        ("Boston, MA 02110\nMember FINRA/SIPC", "2026-02-09"),
        ("12 Bay Street, Los Angeles, California 90026-1234, USA\nMember SIPC", "2026-02-09"),
        ("Muster Brokerage\n12 Bay Street\nBoston, MA 02110", "2026-02-09"),
        ("Muster Brokerage\nAnna Muster\n12 Bay Street\nBoston, MA 02110", None),
        ("Client: Anna Muster\n12 Bay Street\nBoston, MA 02110\nMember FINRA/SIPC", None),
        ("Boston, MA 02110\nExecuted through Harbour LLC, member FINRA/SIPC", None),
        ("Muster Brokers LLP, Leeds LS1 4DE\nBoston, MA 02110\nMember FINRA/SIPC", None),
        ("desk@muster.ca\nBoston, MA 02110\nMember FINRA/SIPC", None),
        ("Tel. +44 20 7946 0000\nBoston, MA 02110\nMember FINRA/SIPC", None),
        ("LOS ANGELES CA 90026\nMember SIPC.", "2026-02-09"),
        ("LOS ANGELES CA 90026", None),
        ("Client ID 83213", None),
        ("ORDER ID 83213\nMember SIPC.", None),
        ("Client, ID 83213", None),
        ("Berlin, DE 10117", None),  # no zip code of Delaware
        ("Milano, MI 20121", None),
        ("Cleared by Harbour Clearing LLC, Chatham, NJ 07928", None),
        ("Dubai\nBoston, MA 02110", None),
        ("Mumbai, September 2, 2026", "2026-09-02"),  # one reading of the date, in words
        ("Member of FINRA and SIPC", None),
        ("Executed through Harbour LLC, member FINRA/SIPC", None),
        ("Accounts are not protected by SIPC", None),
        ("Market: New York, NY", None),
        ("United States of America", None),
        ("Country: United States", None),
        ("Printed on February 10, 2026", "2026-02-09"),
        ("Printed on 02/13/2026", "2026-02-09"),
        ("Printed on 13/09/2026", "2026-09-02"),
        ("Dates: DD/MM/YYYY", "2026-09-02"),
        ("Dates: mm/dd/yyyy", "2026-02-09"),
        ("Traded on Monday 02/09/2026", "2026-02-09"),
        ("Traded on Wed, 02/09/2026", "2026-09-02"),
        ("", None),
        ("All amounts in US$", None),
        ("SEC fee 0.00", None),  # is passed on by brokers of other countries as well
        ("Market: New York Stock Exchange", None),
        ("Market: United States", None),
        ("CUSIP 037833100", None),
        ("Toronto, Ontario", None),
        ("ABN 12 345 678 901", None),
        ("London. Authorised by the Financial Conduct Authority", None),  # which sells American shares as well
        ("Dublin. Regulated by the Central Bank of Ireland", None),
        ("London. Member of FINRA", None),
        ("Account currency EUR", None),
    ],
)
def test_dollars_do_not_tell_the_order_of_day_and_month_what_else_the_note_says_may(
    line: str, trade_date: str | None
) -> None:
    assert read_only(f"{ON_ONE_DAY}\n{line}").get("trade_date") == trade_date


@pytest.mark.parametrize(
    "line",
    [
        "Toronto, November 3, 2026",
        "Montréal, 10 Feb 2026 10:15:00",
        "Dealt on 10 Feb 2026, London",
        "Terms effective February 9, 2025",
        "Bond 5.25% 15/08/2031",
        "Shares (ex-div 22/03/2026)",
        "London\nOption AAPL 02/20/2026 C200",  # written as its exchange does
        "Printed on 13/09/2026\nBoston, MA 02110",  # one sign against another
    ],
)
def test_beside_a_date_that_is_not_read_another_one_is_not_certain(line: str) -> None:
    assert read(f"{ON_ONE_DAY}\n{line}").confidence < 0.9


def test_a_language_of_europe_writes_the_day_first_in_dollars_too() -> None:
    text = FRENCH.replace("EUR", "$").replace("15/01/2026", "02/09/2026").replace("19/01/2026", "04/09/2026")
    assert read_only(text)["trade_date"] == "2026-09-02"


@pytest.mark.parametrize(
    ("traded", "settled", "line", "trade_date"),
    [
        ("01/05/2026", "01/06/2026", "", None),  # 1 May and 1 June, as new issues are, or two days of January
        ("02/03/2026", "02/04/2026", "", None),
        ("03/04/2026", "03/06/2026", "", None),
        ("02/04/2026", "06/04/2026", "", "2026-04-02"),  # by the other order more than a quarter of a year
        ("02/05/2026", "02/06/2026", "", "2026-02-05"),  # 2 May is a Saturday
        ("02/09/2026", "04/09/2026", "London", "2026-09-02"),
        ("03/04/2026", "03/06/2026", "London", None),  # what London writes is against it
        ("03/04/2026", "05/04/2026", "", None),  # nothing is settled on a Sunday
        ("04/01/2026", "05/01/2026", "", None),  # either may be: 1 April and 1 May, 4 and 5 January, a Sunday
        ("02/09/2026", "10/09/2026", "", None),
    ],
)
def test_where_one_order_alone_settles_the_trade_within_days_it_is_that_one(
    traded: str, settled: str, line: str, trade_date: str | None
) -> None:
    text = ENGLISH.replace("€", "US$").replace("15 Jan 2026 08:13:35", traded).replace("19/01/2026", settled)
    found = read(f"{text}\n{line}")
    assert found.trades[0].trade.to_json().get("trade_date") == trade_date
    assert (found.confidence >= 0.9) is (trade_date is not None)


def test_a_canadian_statement_that_writes_months_in_words_lists_no_trade_after_its_end() -> None:
    text = ENGLISH.replace("€", "C$").replace("15 Jan 2026 08:13:35", "04-10-2026").replace("19/01/2026", "04-11-2026")
    assert read_only(f"{text}\nToronto, April 30, 2026").get("trade_date") == "2026-04-10"
    assert read(f"{text}\nToronto, October 30, 2026").confidence < 0.9


@pytest.mark.parametrize(
    ("line", "currency"),
    [
        ("", None),
        ("Boston, MA 02110", None),
        ("Boston, MA 02110\nMember FINRA/SIPC", "USD"),
        ("Sydney NSW 2000, Australia", None),
        ("Hong Kong", None),
        ("Sydney. All amounts in US$", "USD"),
        ("Sydney. All amounts in AUD", "AUD"),
        ("Boston, MA 02110\nMember FINRA/SIPC\nTraded in Hong Kong", "USD"),
        ("Boston, MA 02110\nTraded in Hong Kong", None),
    ],
)
def test_a_dollar_of_a_country_that_has_its_own_is_not_certainly_that_of_america(
    line: str, currency: str | None
) -> None:
    assert read_only(f"{ENGLISH.replace('€', '$')}\n{line}").get("currency") == currency


@pytest.mark.parametrize(
    ("line", "currency"),
    [
        ("", "USD"),
        ("Toronto", None),
        ("Kelowna, BC V1Y 2A3", None),
        ("www.muster.com.au", None),
        ("muster.nz", None),
        ("Client: Anna Muster\nBoston, MA 02110\nToronto", None),
        ("Printed 20/01/2026", None),
    ],
)
def test_a_dollar_beside_a_date_as_only_america_writes_it_is_its_own(line: str, currency: str | None) -> None:
    text = ENGLISH.replace("€", "$").replace("19/01/2026", "01/19/2026")
    assert read_only(f"{text}\n{line}").get("currency") == currency


def test_brackets_in_front_of_a_date_are_looked_at_in_a_moment() -> None:
    """A pattern for what is open would try each bracket with each letter: minutes for a line of 12,000."""
    assert read(f"{ON_ONE_DAY}\n{'(' * 150}{'a' * 140}) 01/02/2026").trades


def test_words_of_danish_polish_and_czech_notes_say_that_the_day_stands_first() -> None:
    for word in ("Køb", "Kupno", "Nákup"):
        page = Transcript.from_rows([word, "03-11-2026", "05-11-2026"]).lines
        assert determine_day_first(page) is True
