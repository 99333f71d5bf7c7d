"""What speaks of another country than the United States, and is not the customer's."""

import pytest
from invoice_rows import AMERICAN_CUSTOMER, read_dates


def test_the_customers_country_does_not_turn_the_dates_of_an_american_supplier_round() -> None:
    customer = ["Harbour Joinery", "14 Canal Road", "Leeds LS2 7BR", "United Kingdom"]
    rows = ["Muster Works Inc., 12 Bay Street, Boston, MA 02110", "", "Bill To", *customer, "", "Invoice 17"]
    assert read_dates(*rows, "Invoice date   03/04/2026", "Total   $12.00")[0] == "2026-03-04"
    assert read_dates(*rows, "Works in Leeds, England", "Invoice date   03/04/2026", "Total   $12.00")[0] == "None"


@pytest.mark.parametrize(
    ("place", "issued"),
    [
        ("Muster Works Inc, Boston, MA 02110", "2026-02-09"),
        ("Muster Works Inc, Boston MA 02110, sales tax 6%", None),
        ("Muster Inc, Boston MA", None),  # Morocco is MA too,
        ("Muster Ltd, Dublin, Ireland", None),  # which writes in dollars to customers in America
        ("VAT GB123456782", None),
        ("IBAN DE89370400440532013000", None),
    ],
)
def test_dollars_tell_the_order_of_day_and_month_only_of_an_american_supplier(place: str, issued: str | None) -> None:
    rows = (
        place,
        "www.musterworks.com",
        "",
        "Bill To",
        *AMERICAN_CUSTOMER,
        "",
        "Invoice 7",
        "Invoice date: 02/09/2026",
    )
    assert read_dates(*rows, "Total $12.00")[0] == str(issued)
