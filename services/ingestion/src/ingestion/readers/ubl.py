"""Electronic invoices in UBL 2.1 (`Invoice`, `CreditNote`), as XRechnung and Peppol have them, attached to a PDF.

The same invoice as that of `einvoice`, in other elements: nothing is guessed here either.

Source: OASIS UBL 2.1; EN 16931 syntax binding to UBL (CEN/TS 16931-3-2), which gives the elements of each field.
"""

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

from lxml import etree
from lxml.etree import _Element as Element

from ingestion.domain.invoice import Invoice, InvoiceLine
from ingestion.readers.einvoice import add_up, check_size
from ingestion.readers.xml_elements import (
    find_all,
    find_child,
    find_children,
    find_first,
    get_local_name,
    get_text,
    parse_number,
    parse_xml,
    read_decimal,
    read_text,
)

_NAMESPACE = re.compile(r"urn:oasis:names:specification:ubl:schema:xsd:(?:Invoice|CreditNote)-2")
_CREDIT_NOTE = "381"


def parse_ubl_xml(xml: bytes) -> dict[str, Any] | None:
    """Read UBL: the same as `einvoice.parse_invoice_xml` of CII. None for XML that is no such invoice, or has a DTD.

    Raises:
        UnreadableFile: `extraction_too_large` when it has more lines or longer texts than a result can tell.
    """
    root = parse_xml(xml)
    if root is None or not _NAMESPACE.fullmatch(etree.QName(root).namespace or ""):
        return None
    is_credit_note = get_local_name(root) == "CreditNote"
    type_code = read_text(root, "CreditNoteTypeCode" if is_credit_note else "InvoiceTypeCode")
    type_code = type_code or (_CREDIT_NOTE if is_credit_note else None)
    invoice = _read_invoice(root)
    read = {
        "invoice": invoice.to_json(),
        "type_code": type_code,
        "document_type": invoice.determine_document_type(type_code),
        "lines_add_up": add_up(
            [line.amount for line in invoice.lines if line.amount is not None],
            read_decimal(find_child(root, "LegalMonetaryTotal"), "LineExtensionAmount"),
        ),
        "profile": read_text(root, "CustomizationID"),
        "buyer_name": _read_party_name(find_first(root, "AccountingCustomerParty/Party")),
    }
    check_size(read)
    return read


def _read_invoice(root: Element) -> Invoice:
    seller = find_first(root, "AccountingSupplierParty/Party")
    totals = find_child(root, "LegalMonetaryTotal")
    currency = read_text(root, "DocumentCurrencyCode")
    return Invoice(
        supplier_name=_read_party_name(seller),
        invoice_number=read_text(root, "ID"),
        issue_date=_read_date(root, "IssueDate"),
        due_date=_read_date(root, "DueDate") or _read_date(root, "PaymentMeans/PaymentDueDate"),
        currency=currency,
        total_gross=read_decimal(totals, "TaxInclusiveAmount"),
        total_net=read_decimal(totals, "TaxExclusiveAmount"),
        total_tax=_read_total_tax(root, currency),
        vat_id=_read_vat_id(seller),
        iban=_read_iban(root),
        lines=tuple(line for item in _list_lines(root) if (line := _read_line(item))),
        line_amounts="net",
        amount_due=read_decimal(totals, "PayableAmount"),
    )


def _list_lines(root: Element) -> Iterator[Element]:
    yield from find_children(root, "InvoiceLine")
    yield from find_children(root, "CreditNoteLine")


def _read_line(item: Element) -> InvoiceLine | None:
    """One position; None for a heading, which some programs write as a line of nothing."""
    amount = read_decimal(item, "LineExtensionAmount")
    description = read_text(item, "Item/Name") or read_text(item, "Item/Description")
    quantity = read_decimal(item, "InvoicedQuantity")
    quantity = read_decimal(item, "CreditedQuantity") if quantity is None else quantity
    if amount is None or not description or (quantity == 0 and amount == 0):
        return None
    return InvoiceLine(
        description=" ".join(description.split()),
        quantity=quantity,
        unit_price=_read_unit_price(find_child(item, "Price"), quantity, amount),
        amount=amount,
        tax_rate=read_decimal(find_first(item, "Item/ClassifiedTaxCategory"), "Percent"),
    )


def _read_unit_price(price: Element | None, quantity: Decimal | None, amount: Decimal) -> Decimal | None:
    written, base = read_decimal(price, "PriceAmount"), read_decimal(price, "BaseQuantity")
    # A price per 100 pieces is given with a base of 100. Some programs write the quantity there, of a price for one.
    if written is None or not base or (quantity is not None and written * quantity == amount):
        return written
    return round(written / base, 10)


def _read_party_name(party: Element | None) -> str | None:
    """The registered name; the trading name where there is no other."""
    name = read_text(party, "PartyLegalEntity/RegistrationName") or read_text(party, "PartyName/Name")
    return " ".join(name.split()) if name else None


def _read_vat_id(seller: Element | None) -> str | None:
    for scheme in find_all(seller, "PartyTaxScheme"):
        if read_text(scheme, "TaxScheme/ID") == "VAT" and (value := read_text(scheme, "CompanyID")):
            return re.sub(r"[\s.-]", "", value)
    return None


def _read_iban(root: Element) -> str | None:
    for account in find_all(root, "PaymentMeans/PayeeFinancialAccount/ID"):
        if value := re.sub(r"\s", "", get_text(account)):
            return value
    return None


def _read_total_tax(root: Element, currency: str | None) -> Decimal | None:
    """There may be a second tax total in the currency of the tax office."""
    amounts = find_all(root, "TaxTotal/TaxAmount")
    ours = [amount for amount in amounts if amount.get("currencyID") in (currency, None)] or amounts
    return parse_number(get_text(ours[0])) if ours else None


def _read_date(root: Element, path: str) -> date | None:
    try:
        return date.fromisoformat((read_text(root, path) or "")[:10])
    except ValueError:
        return None
