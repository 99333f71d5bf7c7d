"""Companies on a page that may be whose invoice it is, in place of the name that is ahead."""

import pytest
from invoice_rows import write_rows

from ingestion.extract.parties.other_companies import is_addressed_below_another
from ingestion.extract.parties.supplier import find_supplier

CUSTOMER = "Broadfield Estates Ltd\n8 Station Parade\nHarrogate HG1 1TT"
BODY = f"\n{CUSTOMER}\n\nInvoice 7\nBill to\n{CUSTOMER}\n\nDoors  1,000.00\nTotal  1,200.00\n\n\n"
HEAD = "Muster Power Ltd\n1 Park Lane, Leeds LS1 1AA\nVAT no. GB123456789\n"


def is_certain(text: str) -> bool:
    supplier = find_supplier(write_rows(text))
    return supplier is not None and supplier.is_certain


def test_the_companies_of_a_group_in_one_line_of_a_head_leave_open_whose_invoice_it_is() -> None:
    assert is_certain(HEAD + BODY + "Muster Power Ltd · VAT no. GB123456789")
    group = HEAD.replace("Muster Power Ltd", "Muster Power Ltd · Muster Water Ltd")
    assert not is_certain(group + BODY + "Muster Power Ltd · VAT no. GB123456789")
    beside = HEAD.replace("Muster Power Ltd", "Muster Power Ltd          Broadfield Estates Ltd")
    assert is_certain(beside + BODY + "Muster Power Ltd · VAT no. GB123456789")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Your contract is with Muster Water Ltd.", False),
        ("Ihr Vertragspartner ist die Muster Wasser GmbH.", False),
        ("Your contract is with Muster Power Ltd.", True),
        ("Acting as agent for: Rosewood Holdings Ltd", False),
    ],
)
def test_with_whom_the_contract_is_or_for_whom_an_agent_writes_goes_before_the_head(line: str, expected: bool) -> None:
    assert is_certain(HEAD + BODY + f"{line}\n\n\n\nMuster Power Ltd · VAT no. GB123456789") is expected


@pytest.mark.parametrize(
    ("foot", "expected"),
    [
        ("Part of the Marlow Group. Marlow Services Ltd, VAT no. GB123456789", False),
        ("Registered in England as Marlow Services Ltd, company no. 1234567", False),
        ("Marlow Services Ltd trading as Clean & Shine, VAT no. GB123456789", False),
        ("Clean & Shine Services Ltd, VAT no. GB123456789", True),
        ("Bank: Lakeland Trust Ltd · VAT no. GB123456789", True),
        ("Insured by Safehands Insurance Ltd, policy 4471", True),
    ],
)
def test_a_company_with_its_numbers_in_the_foot_may_be_the_one_behind_a_trade_name(foot: str, expected: bool) -> None:
    head = "Clean & Shine\n9 Brook Street, Derby DE1 1AA\nVAT no. GB123456789\n"
    assert is_certain(head + BODY + foot) is expected


@pytest.mark.parametrize(
    ("foot", "expected"),
    [
        (f"{'Marlow Services Ltd':40}Company no. 05123456\n{'2 Hill Road':40}VAT no. GB123456789", False),
        ("Marlow Services Ltd, 2 Hill Road, Derby DE1 2AA\nVAT no. GB123456789", False),
        ("Marlow Services Ltd\nVAT no. GB123456789", False),
        (f"{'Clean & Shine':40}Marlow Services Ltd\n{'2 Hill Road':40}VAT no. GB123456789", True),
        ("Partner of Marlow Services Ltd\nVAT no. GB123456789", True),
        ("Lakeland Trust Bank Ltd\nVAT no. GB123456789", True),
    ],
)
def test_a_company_near_the_numbers_of_a_foot_may_be_the_one_behind_a_name_that_the_foot_has_not(
    foot: str, expected: bool
) -> None:
    head = "Clean & Shine\n9 Brook Street, Derby DE1 1AA\nVAT no. GB123456789\n"
    assert is_certain(f"{head}{BODY}\n\n{foot}") is expected


def test_a_foot_at_the_customers_edge_gives_him_no_number_of_another_company() -> None:
    head = "Garage du Pont\n12 rue des Lilas, 69003 Lyon\n\nÉditions Valmont SAS\n5 place Bellecour\n69002 Lyon\n"
    foot = "Garage du Pont, enseigne de Rhône Auto SARL · TVA FR40303265045"
    supplier = find_supplier(write_rows(f"{head}{'':40}Facture n° 7\n{'':40}Total  10,00\n\n{foot}"))
    assert supplier is None or not (supplier.is_certain and "Valmont" in supplier.name)


def test_whom_the_letter_is_written_to_below_another_company_is_no_certain_supplier_for_a_slip_in_the_foot() -> None:
    head = "Hartley & Moss Joinery Ltd\n14 Canal Road, Leeds · Tel 0113 496 0021\n\n\n"
    account = "Barclays · IBAN GB91 BARC 2003 9512 3456 78"
    slip = f"Broadfield Estates Ltd · 8 Station Parade · Harrogate HG1 1TT\nVAT no. GB123456789\n{account}\n"
    page = write_rows(f"{head}{CUSTOMER}\n\n\nInvoice 7\nDoors  1,000.00\nTotal  1,200.00\n\n\n\n\n\n{slip}")
    assert is_addressed_below_another(page, "Broadfield Estates Ltd")
    assert not is_addressed_below_another(page, "Hartley & Moss Joinery Ltd")
    supplier = find_supplier(page)
    assert supplier is not None
    assert (supplier.name, supplier.is_certain) == ("Broadfield Estates Ltd", False)
