"""Puts a page and its data together as a Factur-X / ZUGFeRD PDF (Cross Industry Invoice inside)."""

from datetime import datetime, tzinfo
from decimal import Decimal
from unittest import mock
from xml.sax.saxutils import escape

import facturx
from sandbox.mails.invoices import CENT, Invoice, Party
from sandbox.mails.pages import invoice_pdf

GUIDELINES = {
    "en16931": "urn:cen.eu:en16931:2017",
    "basic": "urn:cen.eu:en16931:2017#compliant#urn:factur-x.eu:1p0:basic",
}
_SPACES = (
    'xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"'
    ' xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"'
    ' xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100"'
)


class _OneMoment(datetime):
    """A clock that stands: the library stamps files with the time, and ours must come out the same each time."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "_OneMoment":
        return cls(2026, 11, 1, 9, 0, tzinfo=tz)


def einvoice_pdf(invoice: Invoice, level: str) -> bytes:
    with mock.patch("facturx.facturx.datetime", _OneMoment):
        made = facturx.generate_from_binary(
            invoice_pdf(invoice),
            invoice_xml(invoice, level).encode(),
            flavor="factur-x",
            level=level,
            check_xsd=True,
            lang=invoice.language,
            pdf_metadata={
                "author": invoice.supplier.name,
                "title": f"{invoice.supplier.name}: {invoice.number}",
                "subject": f"Factur-X {invoice.number}",
                "keywords": "Factur-X, sample",
            },
        )
    return bytes(made)


def invoice_xml(invoice: Invoice, level: str) -> str:
    lines = "".join(_line(invoice, number, level) for number in range(1, len(invoice.lines) + 1))
    iban = (
        "<ram:SpecifiedTradeSettlementPaymentMeans><ram:TypeCode>58</ram:TypeCode><ram:PayeePartyCreditorFinancialAccount>"
        f"<ram:IBANID>{invoice.iban}</ram:IBANID></ram:PayeePartyCreditorFinancialAccount>"
        "</ram:SpecifiedTradeSettlementPaymentMeans>"
        if invoice.iban
        else ""
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<rsm:CrossIndustryInvoice {_SPACES}>
<rsm:ExchangedDocumentContext><ram:GuidelineSpecifiedDocumentContextParameter><ram:ID>{GUIDELINES[level]}</ram:ID>\
</ram:GuidelineSpecifiedDocumentContextParameter></rsm:ExchangedDocumentContext>
<rsm:ExchangedDocument><ram:ID>{invoice.number}</ram:ID><ram:TypeCode>380</ram:TypeCode>\
<ram:IssueDateTime>{_day(invoice.issued_on)}</ram:IssueDateTime></rsm:ExchangedDocument>
<rsm:SupplyChainTradeTransaction>{lines}
<ram:ApplicableHeaderTradeAgreement>{_party("SellerTradeParty", invoice.supplier)}\
{_party("BuyerTradeParty", invoice.customer)}</ram:ApplicableHeaderTradeAgreement>
<ram:ApplicableHeaderTradeDelivery><ram:ActualDeliverySupplyChainEvent><ram:OccurrenceDateTime>\
{_day(invoice.issued_on)}</ram:OccurrenceDateTime></ram:ActualDeliverySupplyChainEvent>\
</ram:ApplicableHeaderTradeDelivery>
<ram:ApplicableHeaderTradeSettlement><ram:InvoiceCurrencyCode>{invoice.currency}</ram:InvoiceCurrencyCode>{iban}
<ram:ApplicableTradeTax><ram:CalculatedAmount>{invoice.tax}</ram:CalculatedAmount><ram:TypeCode>VAT</ram:TypeCode>\
<ram:BasisAmount>{invoice.net}</ram:BasisAmount><ram:CategoryCode>S</ram:CategoryCode>\
<ram:RateApplicablePercent>{invoice.tax_rate}</ram:RateApplicablePercent></ram:ApplicableTradeTax>
<ram:SpecifiedTradePaymentTerms><ram:DueDateDateTime>{_day(invoice.due_on)}</ram:DueDateDateTime>\
</ram:SpecifiedTradePaymentTerms>
<ram:SpecifiedTradeSettlementHeaderMonetarySummation><ram:LineTotalAmount>{invoice.net}</ram:LineTotalAmount>\
<ram:TaxBasisTotalAmount>{invoice.net}</ram:TaxBasisTotalAmount>\
<ram:TaxTotalAmount currencyID="{invoice.currency}">{invoice.tax}</ram:TaxTotalAmount>\
<ram:GrandTotalAmount>{invoice.gross}</ram:GrandTotalAmount><ram:DuePayableAmount>{invoice.gross}\
</ram:DuePayableAmount></ram:SpecifiedTradeSettlementHeaderMonetarySummation>
</ram:ApplicableHeaderTradeSettlement></rsm:SupplyChainTradeTransaction></rsm:CrossIndustryInvoice>
"""


def _line(invoice: Invoice, number: int, level: str) -> str:
    line = invoice.lines[number - 1]
    price = Decimal(line.unit_price).quantize(CENT)
    gross = (
        f"<ram:GrossPriceProductTradePrice><ram:ChargeAmount>{price}</ram:ChargeAmount></ram:GrossPriceProductTradePrice>"
        if level == "en16931"
        else ""
    )
    return (
        "\n<ram:IncludedSupplyChainTradeLineItem><ram:AssociatedDocumentLineDocument>"
        f"<ram:LineID>{number}</ram:LineID></ram:AssociatedDocumentLineDocument><ram:SpecifiedTradeProduct>"
        f"<ram:Name>{escape(line.description)}</ram:Name></ram:SpecifiedTradeProduct>"
        f"<ram:SpecifiedLineTradeAgreement>{gross}<ram:NetPriceProductTradePrice>"
        f"<ram:ChargeAmount>{price}</ram:ChargeAmount></ram:NetPriceProductTradePrice>"
        "</ram:SpecifiedLineTradeAgreement><ram:SpecifiedLineTradeDelivery>"
        f'<ram:BilledQuantity unitCode="C62">{line.quantity}</ram:BilledQuantity></ram:SpecifiedLineTradeDelivery>'
        "<ram:SpecifiedLineTradeSettlement><ram:ApplicableTradeTax><ram:TypeCode>VAT</ram:TypeCode>"
        f"<ram:CategoryCode>S</ram:CategoryCode><ram:RateApplicablePercent>{invoice.tax_rate}"
        "</ram:RateApplicablePercent></ram:ApplicableTradeTax><ram:SpecifiedTradeSettlementLineMonetarySummation>"
        f"<ram:LineTotalAmount>{line.amount}</ram:LineTotalAmount>"
        "</ram:SpecifiedTradeSettlementLineMonetarySummation></ram:SpecifiedLineTradeSettlement>"
        "</ram:IncludedSupplyChainTradeLineItem>"
    )


def _party(role: str, party: Party) -> str:
    tax = (
        f'<ram:SpecifiedTaxRegistration><ram:ID schemeID="VA">{party.vat_id}</ram:ID></ram:SpecifiedTaxRegistration>'
        if party.vat_id
        else ""
    )
    return (
        f"<ram:{role}><ram:Name>{escape(party.name)}</ram:Name><ram:PostalTradeAddress>"
        f"<ram:PostcodeCode>{party.postcode}</ram:PostcodeCode><ram:LineOne>{escape(party.street)}</ram:LineOne>"
        f"<ram:CityName>{escape(party.city)}</ram:CityName><ram:CountryID>{party.country}</ram:CountryID>"
        f"</ram:PostalTradeAddress>{tax}</ram:{role}>"
    )


def _day(day: str) -> str:
    return f'<udt:DateTimeString format="102">{day.replace("-", "")}</udt:DateTimeString>'
