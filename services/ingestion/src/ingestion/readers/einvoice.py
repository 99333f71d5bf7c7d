"""Electronic invoices inside PDFs: Factur-X and ZUGFeRD, from the draft of 2013 to EN 16931 (UN/CEFACT CII).

The XML is the invoice, exactly; nothing is guessed here, and nothing is cut: what is longer than any invoice is
refused. The three generations differ in the names of their containers (`ApplicableHeaderTradeSettlement`,
`ApplicableSupplyChainTradeSettlement`) and in namespaces (the draft has none), so elements are found by local name.

Source: ZUGFeRD 1.0 and 2.3 specifications, which also give the names of the files.
"""

import re
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import Any

from lxml import etree
from lxml.etree import _Element as Element

from ingestion.domain.invoice import Invoice, InvoiceLine, LineAmounts
from ingestion.domain.reasons import ReviewReason
from ingestion.readers.xml_elements import (
    find_all,
    find_child,
    find_children,
    find_first,
    get_local_name,
    get_text,
    list_child_elements,
    parse_number,
    parse_xml,
    read_decimal,
    read_text,
    strip_text,
)
from mailroom_common.parser import UnreadableFile

_ROOTS = {"CrossIndustryInvoice", "CrossIndustryDocument", "Invoice"}
_MAX_LINES = 5000
_ROUNDED = Decimal("0.01")
_MAX_TEXT = 2000  # characters of a name, a number, a description
_FILE_NAMES = frozenset({"factur-x.xml", "zugferd-invoice.xml", "xrechnung.xml"})
_FIRST_ELEMENT = re.compile(rb"<(?:[\w.\-\x80-\xff]{1,50}:)?CrossIndustry(?:Invoice|Document)\b")
_BEGINNING_OF_XML = re.compile(rb"(?:\xef\xbb\xbf|\xff\xfe|\xfe\xff)?[\s\0]*<|\xff\xfe|\xfe\xff")
_UBL = "urn:oasis:names:specification:ubl"  # `ubl` reads it
_UBL_INVOICE = re.compile(rb"urn:oasis:names:specification:ubl:schema:xsd:(?:Invoice|CreditNote)-2\b")


def is_xml(content: bytes) -> bool:
    return _BEGINNING_OF_XML.match(content) is not None


def claims_to_be_invoice(name: str, content: bytes | None) -> bool:
    """Whether a file that could not be read was meant to be read: by its name, whatever it holds (None: more than is
    read), or by an element in it, however far behind a comment."""
    if name.strip().lower() in _FILE_NAMES:
        return True
    # Of two or four bytes a letter the others are zero.
    letters = (content or b"").replace(b"\0", b"")
    return any(pattern.search(letters) for pattern in (_FIRST_ELEMENT, _UBL_INVOICE))


def parse_invoice_xml(xml: bytes) -> dict[str, Any] | None:
    """Read CII XML: `invoice`, `type_code`, `document_type`, `lines_add_up`, `profile` and `buyer_name`.

    None for XML that is no such invoice, or that carries a DTD.

    Raises:
        UnreadableFile: `extraction_too_large` when it has more lines or longer texts than a result can tell.
    """
    root = parse_xml(xml)
    if root is None or get_local_name(root) not in _ROOTS or _UBL in (etree.QName(root).namespace or ""):
        return None
    document = find_child(root, "ExchangedDocument", "HeaderExchangedDocument")
    trade = find_child(root, "SupplyChainTradeTransaction", "SpecifiedSupplyChainTradeTransaction")
    if document is None or trade is None:
        return None
    type_code = read_text(document, "TypeCode")
    invoice = _read_invoice(document, trade)
    agreement = _find_trade_part(trade, "Agreement")
    context = find_child(root, "ExchangedDocumentContext", "SpecifiedExchangedDocumentContext")
    read = {
        "invoice": invoice.to_json(),
        "type_code": type_code,
        "document_type": invoice.determine_document_type(type_code),
        "lines_add_up": _lines_add_up(invoice, trade),
        "profile": read_text(context, "GuidelineSpecifiedDocumentContextParameter/ID"),
        "buyer_name": _clean_party_name(read_text(agreement, "BuyerTradeParty/Name")),
    }
    check_size(read)
    return read


def check_size(read: dict[str, Any]) -> None:
    """An invoice without some of its lines, or with half a number, would be another invoice.

    Raises:
        UnreadableFile: `extraction_too_large`
    """
    lines = read["invoice"]["lines"]
    values = [*read.values(), *read["invoice"].values(), *(text for line in lines for text in line.values())]
    if len(lines) > _MAX_LINES or any(isinstance(value, str) and len(value) > _MAX_TEXT for value in values):
        raise UnreadableFile(ReviewReason.EXTRACTION_TOO_LARGE)


def _read_invoice(document: Element, trade: Element) -> Invoice:
    agreement, settlement = _find_trade_part(trade, "Agreement"), _find_trade_part(trade, "Settlement")
    totals = _find_totals(settlement)
    currency = read_text(settlement, "InvoiceCurrencyCode") or None
    line_total, net = read_decimal(totals, "LineTotalAmount"), read_decimal(totals, "TaxBasisTotalAmount")
    lines = tuple(
        line for item in find_children(trade, "IncludedSupplyChainTradeLineItem") if (line := _read_line(item))
    )
    return Invoice(
        supplier_name=_clean_party_name(read_text(agreement, "SellerTradeParty/Name")),
        invoice_number=read_text(document, "ID") or None,
        issue_date=_read_date(find_child(document, "IssueDateTime")),
        due_date=_find_net_due_date(settlement),
        currency=currency,
        total_gross=read_decimal(totals, "GrandTotalAmount"),
        total_net=net if net is not None else line_total,
        total_tax=_read_total_tax(totals, currency),
        vat_id=_read_vat_id(agreement),
        iban=_read_iban(settlement),
        lines=lines,
        line_amounts=_determine_line_amounts(lines, line_total),
        amount_due=read_decimal(totals, "DuePayableAmount"),
    )


def _find_totals(settlement: Element | None) -> Element | None:
    return find_child(
        settlement, "SpecifiedTradeSettlementHeaderMonetarySummation", "SpecifiedTradeSettlementMonetarySummation"
    )


def _lines_add_up(invoice: Invoice, trade: Element) -> bool | None:
    """Whether the lines make their own total, before what is taken off the whole; None where one of them is unknown."""
    total = read_decimal(_find_totals(_find_trade_part(trade, "Settlement")), "LineTotalAmount")
    if invoice.line_amounts == "gross":
        return add_up(map(_compute_amount_without_tax, invoice.lines), total)
    return add_up([line.amount for line in invoice.lines if line.amount is not None], total)


def add_up(amounts: Iterable[Decimal], total: Decimal | None) -> bool | None:
    """Whether they make the total, each rounded to a cent; None where there are none."""
    written = [*amounts]
    if not written or total is None:
        return None
    return abs(sum(written, Decimal(0)) - total) <= _ROUNDED * (len(written) + 1)


def _read_line(item: Element) -> InvoiceLine | None:
    """One position; None for a mere note, which has neither product nor amount."""
    settlement = _find_trade_part(item, "Settlement")
    amount = read_decimal(
        find_child(
            settlement, "SpecifiedTradeSettlementLineMonetarySummation", "SpecifiedTradeSettlementMonetarySummation"
        ),
        "LineTotalAmount",
    )
    description = read_text(item, "SpecifiedTradeProduct/Name")
    if amount is None or not description:
        return None
    price = find_first(_find_trade_part(item, "Agreement"), "NetPriceProductTradePrice")
    tax = find_child(settlement, "ApplicableTradeTax")
    return InvoiceLine(
        description=" ".join(description.split()),
        quantity=read_decimal(_find_trade_part(item, "Delivery"), "BilledQuantity"),
        unit_price=_read_unit_price(price),
        amount=amount,
        tax_rate=read_decimal(tax, "RateApplicablePercent") or read_decimal(tax, "ApplicablePercent"),
    )


def _read_unit_price(price: Element | None) -> Decimal | None:
    charge = read_decimal(price, "ChargeAmount")
    basis = read_decimal(price, "BasisQuantity")
    # A price per 100 pieces is given with a basis of 100.
    return charge if charge is None or not basis else round(charge / basis, 10)


def _determine_line_amounts(lines: tuple[InvoiceLine, ...], line_total: Decimal | None) -> LineAmounts:
    """`LineTotalAmount` is without tax by the standard; some write their lines with tax, and then the sums differ."""
    if not lines or line_total is None:
        return "net"
    written = sum((line.amount or Decimal(0) for line in lines), Decimal(0))
    untaxed = sum((_compute_amount_without_tax(line) for line in lines), Decimal(0))
    return "gross" if abs(untaxed - line_total) < abs(written - line_total) else "net"


def _compute_amount_without_tax(line: InvoiceLine) -> Decimal:
    return (line.amount or Decimal(0)) / (1 + (line.tax_rate or Decimal(0)) / 100)


def _read_total_tax(totals: Element | None, currency: str | None) -> Decimal | None:
    """There may be a second tax total in the currency of the tax office."""
    amounts = list(find_children(totals, "TaxTotalAmount"))
    ours = [amount for amount in amounts if amount.get("currencyID") in (currency, None)] or amounts
    return parse_number(get_text(ours[0])) if ours else None


def _read_vat_id(agreement: Element | None) -> str | None:
    for registration in find_all(agreement, "SellerTradeParty/SpecifiedTaxRegistration/ID"):
        if registration.get("schemeID") == "VA" and (value := strip_text(get_text(registration))):
            return re.sub(r"[\s.-]", "", value)
    return None


def _read_iban(settlement: Element | None) -> str | None:
    for account in find_all(
        settlement, "SpecifiedTradeSettlementPaymentMeans/PayeePartyCreditorFinancialAccount/IBANID"
    ):
        if value := re.sub(r"\s", "", get_text(account)):
            return value
    return None


# Blanks may stand in each of its pieces: of a long line it would try every way to part them.
_NUMBER_LINE = re.compile(r"[\w.\- ]{2,20}?[:\s]+[\d ]+")
_LONGEST_NUMBER_LINE = 100


def _clean_party_name(written: str | None) -> str | None:
    """The name alone: small profiles put numbers of the party (`GLN 433…`, `Lief-Nr: 5…`) on lines of the name."""
    lines = [line.strip() for line in (written or "").splitlines() if line.strip()]
    named = [line for line in lines if len(line) > _LONGEST_NUMBER_LINE or not _NUMBER_LINE.fullmatch(line)]
    return " ".join(" ".join(named or lines).split()) or None


def _find_net_due_date(settlement: Element | None) -> date | None:
    """When all of it is due: terms with a discount have an earlier date, by which less is."""
    dates: dict[bool, list[date]] = {True: [], False: []}
    for terms in find_children(settlement, "SpecifiedTradePaymentTerms"):
        has_discount = find_child(terms, "ApplicableTradePaymentDiscountTerms") is not None
        if found := _read_date(find_child(terms, "DueDateDateTime")):
            dates[has_discount].append(found)
    return max(dates[False] or dates[True], default=None)


def _read_date(element: Element | None) -> date | None:
    """Format 102 is `YYYYMMDD`, in the element or in one inside it; drafts and old files write ISO."""
    if element is None:
        return None
    for written in (element.text, *(inner.text for inner in element.iterdescendants("{*}*"))):
        if match := re.match(r"\s*(\d{4})-?(\d{2})-?(\d{2})", written or ""):
            try:
                return date(*map(int, match.groups()))
            except ValueError:
                return None
    return None


def _find_trade_part(parent: Element | None, ending: str) -> Element | None:
    """The container of agreement, delivery or settlement, whatever its generation calls it."""
    for child in list_child_elements(parent):
        if get_local_name(child).endswith(f"Trade{ending}"):
            return child
    return None
