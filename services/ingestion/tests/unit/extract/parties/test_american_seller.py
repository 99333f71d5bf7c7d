"""Whether an address says that the supplier is American, and so writes the month first."""

import pytest
from invoice_rows import AMERICAN_CUSTOMER, read_dates


@pytest.mark.parametrize("total", ["$12.00", "USD 12.00"])
@pytest.mark.parametrize(
    ("head", "issued"),
    [
        (["12 Bay Street, Boston, MA 02110"], "2026-03-04"),
        (["12 Bay Street   (617) 555-0100", "Boston, MA 02110   www.muster.com"], "2026-03-04"),
        (["San Francisco, California 94104, United States"], "2026-03-04"),
        (["Due date 03/24/2026"], "2026-03-04"),
        ([], "None"),
        (["Perth WA 6000"], "None"),
        (["Level 39, 1 Raffles Place, Singapore 048616"], "None"),
        (["Dubai, United Arab Emirates"], "None"),
        (["4 Quay St, Plymouth PL1 2AB"], "None"),
        (["12 Bay Street, Boston, MA 02110", "", "Our works: 4 Quay St, Plymouth PL1 2AB"], "None"),
        (["12 Bay Street, Boston, MA 02110", "Muster Pty"], "None"),
        (["12 Bay Street, Boston, MA 02110", "ar@muster.co.uk"], "None"),
        (["12 Bay Street, Boston, MA 02110", "+55 31 3222 1100"], "None"),
        (["12 Bay Street, Boston, MA 02110", "GSTIN 36AABCS1429B1ZX"], "None"),
        (["Customer ID 83213"], "None"),
    ],
)
def test_an_invoice_in_dollars_has_the_month_first_if_the_suppliers_address_is_american(
    head: list[str], issued: str, total: str
) -> None:
    rows = [
        "Muster Works Inc.",
        *head,
        "",
        "Bill To",
        *AMERICAN_CUSTOMER,
        "",
        "Invoice 17",
        "Invoice date   03/04/2026",
    ]
    assert read_dates(*rows, f"Total   {total}")[0] == issued


@pytest.mark.parametrize(
    ("address", "issued"), [("12 Bay Street, Boston, MA 02110", "None"), ("4 Quay St, Plymouth PL1 2AB", "2026-04-03")]
)
def test_who_asks_for_pounds_writes_the_day_first_unless_the_address_is_american(address: str, issued: str) -> None:
    rows = ["Muster Works Inc.", address, "", "Bill To", *AMERICAN_CUSTOMER, "", "Invoice 17"]
    assert read_dates(*rows, "Invoice date   03/04/2026", "Total   £12.00")[0] == issued


@pytest.mark.parametrize("heading", [["Bill To"], []])
def test_an_american_customer_of_an_invoice_in_dollars_says_nothing_of_the_order_of_its_dates(
    heading: list[str],
) -> None:
    rows = [
        "Muster Works",
        "Belo Horizonte",
        "",
        *heading,
        *AMERICAN_CUSTOMER,
        "",
        "Invoice 17",
        "Invoice date   03/04/2026",
    ]
    assert read_dates(*rows, "Total   $12.00")[0] == "None"


def test_an_address_beside_the_name_over_that_of_the_customer_is_the_suppliers_unless_it_is_his_banks() -> None:
    below = ["", "Bill To", *AMERICAN_CUSTOMER, "", "Invoice 17", "Invoice date   03/04/2026", "Total   $12.00"]
    assert (
        read_dates("Muster Works Inc.          12 Bay Street", " " * 27 + "Boston, MA 02110", *below)[0] == "2026-03-04"
    )
    assert read_dates("Muster Works Inc.          Citibank", " " * 27 + "Boston, MA 02110", *below)[0] == "None"


def test_a_date_as_a_customer_elsewhere_writes_it_settles_nothing_against_an_american_supplier() -> None:
    head = ["Muster Works Inc., 12 Bay Street, Boston, MA 02110", "", "Bill To", *AMERICAN_CUSTOMER, "", "Invoice 17"]
    rows = [*head, "Invoice date   03/04/2026", "Total   $12.00"]
    assert read_dates(*rows)[0] == "2026-03-04"
    assert read_dates(*rows, "PO of 28/10/2026")[0] == "None"
