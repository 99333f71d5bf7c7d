"""Whose dollars `$` are, where the page names a country with dollars of its own."""

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import read_invoice

AMERICAN = ("Muster Supply Inc.", "1 Main St", "Austin, TX 78701")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (["Redgum Electrical Pty Ltd", "ABN 51 824 753 556", "Total $ 110.00"], None),
        (["Unit 3, Singapore 408600", "Total $ 110.00"], None),
        (["Total NT$ 110.00"], None),
        (["Redgum Electrical Pty Ltd", "ABN 51 824 753 556", "Total USD 110.00"], "USD"),
        (["Redgum Electrical Pty Ltd", "ABN 51 824 753 556", "Total AUD 110.00", "Net $ 100.00"], "AUD"),
        (["Kelowna Steel Ltd.", "12 Bernard Ave", "Kelowna, BC V1Y 2A3", "Total $ 110.00"], None),
        (["Redgum Electrical", "accounts@redgum.com.au", "Total $ 110.00"], None),
        (
            [*AMERICAN, "www.mustersupply.com", "", "Bill To", "Nordic Inc", "Toronto, ON M5V 2T6", "Total $ 110.00"],
            "USD",
        ),
        (["Redgum Electrical, Sydney", "", "Bill To", *AMERICAN, "Total $ 110.00"], None),
        (["Redgum Electrical, Sydney", "", *AMERICAN, "Total $ 110.00"], None),
        (["Total $ 110.00"], "USD"),
    ],
)
def test_a_bare_dollar_beside_a_country_that_has_its_own_is_not_certainly_american(
    rows: list[str], expected: str | None
) -> None:
    assert read_invoice(Transcript.from_rows(rows)).invoice.currency == expected
