"""Whose invoice a page is, with others in its head and its foot, in eleven languages."""

from dataclasses import replace

import pytest
from supplier_pages import SupplierPage, read_supplier_pages

from ingestion.extract.parties.company_names import normalize_name
from ingestion.extract.parties.supplier import find_supplier


def find_certain_name(page: SupplierPage) -> str | None:
    supplier = find_supplier(page.draw().lines)
    return normalize_name(supplier.name) if supplier is not None and supplier.is_certain else None


@pytest.mark.parametrize("page", read_supplier_pages("stranger"), ids=lambda page: page.name)
def test_somebody_else_on_the_page_is_never_certainly_the_supplier(page: SupplierPage) -> None:
    assert find_certain_name(page) in (None, normalize_name(page.supplier))


@pytest.mark.parametrize("page", read_supplier_pages("ordinary"), ids=lambda page: page.name)
def test_an_ordinary_page_needs_no_person_whoever_else_is_named_on_it(page: SupplierPage) -> None:
    assert find_certain_name(page) == normalize_name(page.supplier)


HEADS = (
    "",
    "www.malerkunz.example   Tel. 030 1234567",
    "Malerbetrieb Kunz",
    "Wir malen alles\nMalerbetrieb Kunz\nRing 3",
)
CUSTOMERS = ("Beispiel AG\nWeg 8\n12345 Stadt\n\nIhr Ansprechpartner: Anna Kunz", "Kunde: Beispiel AG")


@pytest.mark.parametrize("page", read_supplier_pages("stranger"), ids=lambda page: page.name)
def test_whoever_stands_in_the_foot_alone_is_not_certain_whatever_the_head_is(page: SupplierPage) -> None:
    """Where it is a picture too: a foot says as much of a partner as of the supplier."""
    for head in HEADS:
        for customer in CUSTOMERS:
            changed = replace(page, head=head + "\n" * 9, customer=customer)
            assert find_certain_name(changed) in (None, "malerbetriebkunz")


def test_a_strangers_foot_below_an_ordinary_page_makes_nobody_else_its_supplier() -> None:
    strangers = read_supplier_pages("stranger")
    for number, page in enumerate(read_supplier_pages("ordinary")):
        for stranger in strangers[number % 4 :: 4]:
            changed = replace(page, foot=f"{page.foot}\n{stranger.foot}".strip())
            assert find_certain_name(changed) in (None, normalize_name(page.supplier))
