"""Whether a page may be of the supplier that the XML of its e-invoice names.

A supplier's accounts are known by its name: whoever has its page, and another name in the XML, is somebody new, whose
account would be believed.
"""

from collections.abc import Iterator, Sequence

from ingestion.domain.invoice import Invoice
from ingestion.domain.search_words import fold_words
from ingestion.domain.transcript import TextLine
from ingestion.extract import labels
from ingestion.extract.parties.company_names import parse_name
from ingestion.extract.parties.customer_cells import is_buyer_cell
from ingestion.extract.parties.tax_ids import drop_country, find_tax_ids

_SHORTEST_TAX_ID = 7


def may_name_supplier(invoice: Invoice, printed_name: str | None, page: Sequence[TextLine]) -> bool:
    """Layouts that hide the name are no contradiction, a page that names somebody else is one: unless it has the
    supplier's whole name too, and the VAT id of the XML.

    A name that is a little longer or shorter is another one: its accounts are not known.
    """
    ours = _fold_name(invoice.supplier_name or "")
    if printed_name is None or not fold_words(invoice.supplier_name or ""):
        return True
    if not ours or ours == _fold_name(printed_name):
        return bool(ours)
    is_known_by_number = invoice.vat_id is not None and prints_tax_id(invoice.vat_id, page)
    return is_known_by_number and any(ours == _fold_name(name) for name in _list_names(page))


def prints_tax_id(tax_id: str, page: Sequence[TextLine]) -> bool:
    """Whether it stands anywhere on the page, with its country or without it."""
    number = drop_country(tax_id)
    is_long = len(number) >= _SHORTEST_TAX_ID  # `1` stands on every page
    return is_long and any(number in drop_country(line.text) for line in page)


def list_tax_ids(page: Sequence[TextLine]) -> Iterator[str]:
    return (tax_id for line in page for tax_id in find_tax_ids(line.text))


def _fold_name(name: str) -> str:
    """Without the legal form, which a foot may have and a head not; in one piece, since a page may part it otherwise:
    `Klick & Mehr`, `Klick&Mehr`."""
    return "".join(fold_words(labels.COMPANY.sub(" ", name)))


def _list_names(page: Sequence[TextLine]) -> Iterator[str]:
    """What may be a name, and is not the customer's."""
    for index, line in enumerate(page):
        for number, cell in enumerate(line.cells):
            name = parse_name(cell.text)
            if name is not None and not is_buyer_cell(page, index, number):
                yield name
