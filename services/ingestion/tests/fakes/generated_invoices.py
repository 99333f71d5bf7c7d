"""Invoices drawn in the tests: PDFs with a text layer, CII XML in every generation, and both in one file."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from typing import Any

from facturx import generate_from_binary
from reportlab.lib.pagesizes import A4
from reportlab.pdfgen.canvas import Canvas

_WIDTH, _HEIGHT = A4

Row = Sequence[tuple[float, str]]
"""Texts of one line with their left edges in points."""


def draw(rows: Iterable[tuple[float, Row]], *, shuffled: bool = False, encrypted: str | None = None) -> bytes:
    """A page of rows, each `(points from the top, texts)`. `shuffled` writes it in another order than it is read."""
    file = BytesIO()
    canvas = Canvas(file, pagesize=A4, encrypt=encrypted, invariant=True)
    placed = [(left, _HEIGHT - top, text) for top, row in rows for left, text in row]
    for left, height, text in reversed(placed) if shuffled else placed:
        canvas.setFont("Helvetica", 10)
        canvas.drawString(left, height, text)
    canvas.showPage()
    canvas.save()
    return file.getvalue()


def text_page(text: str) -> bytes:
    """A page of plain lines; two blanks or more begin a new column, at the place where they stand."""
    rows: list[tuple[float, Row]] = []
    for number, line in enumerate(text.strip("\n").splitlines()):
        cells, at = [], 0
        for part in line.split("  "):
            if stripped := part.strip():
                at = line.index(stripped, at)
                cells.append((40 + at * 6.0, stripped))
                at += len(stripped)
        rows.append((50 + number * 15.0, cells))
    return draw(rows)


CONTRACT_NOTE = """
Wertpapierabrechnung Kauf
ISIN  DE0008404005
Stück  10
Kurs  20,50 EUR
Schlusstag  01.04.2026
Kurswert  205,00 EUR
Provision  4,95 EUR
Ausmachender Betrag  209,95 EUR
"""


MUSTER_FIELDS: Mapping[str, Any] = {
    "supplier_name": "Muster GmbH",
    "invoice_number": "RE-1",
    "issue_date": "2026-04-01",
    "due_date": "2026-04-30",
    "currency": "EUR",
    "total_gross": "119.00",
    "total_net": "100.00",
    "total_tax": "19.00",
    "vat_id": "DE136695976",
    "iban": "DE88200800000970375700",
    "line_amounts": "net",
    "amount_due": "119.00",
}
"""What both kinds of XML say by default, but for their lines."""


@dataclass(frozen=True)
class CII:
    """An e-invoice of the current generation; `lines` are (name, quantity, price, amount, tax rate)."""

    number: str = "RE-1"
    issued: str = "20260401"
    due: str | None = "20260430"
    seller: str = "Muster GmbH"
    vat_id: str = "DE136695976"
    iban: str | None = "DE88200800000970375700"
    net: str = "100.00"
    tax: str = "19.00"
    gross: str = "119.00"
    payable: str = "119.00"
    type_code: str = "380"
    currency: str = "EUR"
    guideline: str = "urn:cen.eu:en16931:2017"
    lines: Sequence[tuple[str, str, str, str, str]] = field(default=(("Beratung", "1", "100.00", "100.00", "19"),))

    def xml(self, prolog: str = "") -> bytes:
        settlement = "".join(
            (
                f"<ram:InvoiceCurrencyCode>{self.currency}</ram:InvoiceCurrencyCode>",
                f"""<ram:SpecifiedTradeSettlementPaymentMeans><ram:TypeCode>58</ram:TypeCode>
                <ram:PayeePartyCreditorFinancialAccount><ram:IBANID>{self.iban}</ram:IBANID>
                </ram:PayeePartyCreditorFinancialAccount></ram:SpecifiedTradeSettlementPaymentMeans>"""
                if self.iban
                else "",
                f"""<ram:SpecifiedTradePaymentTerms><ram:DueDateDateTime><udt:DateTimeString format="102">{self.due}
                </udt:DateTimeString></ram:DueDateDateTime></ram:SpecifiedTradePaymentTerms>"""
                if self.due
                else "",
                f"""<ram:SpecifiedTradeSettlementHeaderMonetarySummation>
                <ram:LineTotalAmount>{self.net}</ram:LineTotalAmount>
                <ram:TaxBasisTotalAmount>{self.net}</ram:TaxBasisTotalAmount>
                <ram:TaxTotalAmount currencyID="CHF">999.99</ram:TaxTotalAmount>
                <ram:TaxTotalAmount currencyID="{self.currency}">{self.tax}</ram:TaxTotalAmount>
                <ram:GrandTotalAmount>{self.gross}</ram:GrandTotalAmount>
                <ram:DuePayableAmount>{self.payable}</ram:DuePayableAmount>
                </ram:SpecifiedTradeSettlementHeaderMonetarySummation>""",
            )
        )
        return f"""{prolog}<rsm:CrossIndustryInvoice
          xmlns:rsm="urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100"
          xmlns:ram="urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100"
          xmlns:udt="urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100">
        <rsm:ExchangedDocumentContext><ram:GuidelineSpecifiedDocumentContextParameter>
          <ram:ID>{self.guideline}</ram:ID></ram:GuidelineSpecifiedDocumentContextParameter></rsm:ExchangedDocumentContext>
        <rsm:ExchangedDocument><ram:ID>{self.number}</ram:ID><ram:TypeCode>{self.type_code}</ram:TypeCode>
          <ram:IssueDateTime><udt:DateTimeString format="102">{self.issued}</udt:DateTimeString></ram:IssueDateTime>
        </rsm:ExchangedDocument>
        <rsm:SupplyChainTradeTransaction>
          {"".join(_line(*line) for line in self.lines)}
          <ram:ApplicableHeaderTradeAgreement>
            <ram:SellerTradeParty><ram:Name>{self.seller}</ram:Name>
              <ram:SpecifiedTaxRegistration><ram:ID schemeID="FC">22/815</ram:ID></ram:SpecifiedTaxRegistration>
              <ram:SpecifiedTaxRegistration><ram:ID schemeID="VA">{self.vat_id}</ram:ID></ram:SpecifiedTaxRegistration>
            </ram:SellerTradeParty>
            <ram:BuyerTradeParty><ram:Name>Kunde AG</ram:Name></ram:BuyerTradeParty>
          </ram:ApplicableHeaderTradeAgreement>
          <ram:ApplicableHeaderTradeDelivery/>
          <ram:ApplicableHeaderTradeSettlement>{settlement}</ram:ApplicableHeaderTradeSettlement>
        </rsm:SupplyChainTradeTransaction></rsm:CrossIndustryInvoice>""".encode()

    def page(self) -> bytes:
        """A page that says what the XML says."""
        return text_page(
            f"""
{self.seller}
Rechnung Nr. {self.number}
Datum  {_dotted(self.issued)}
Zahlbar bis  {_dotted(self.due) if self.due else "-"}
Nettobetrag  {_comma(self.net)} EUR
MwSt  {_comma(self.tax)} EUR
Gesamtbetrag  {_comma(self.gross)} EUR
{f"IBAN {self.iban}" if self.iban else ""}
"""
        )

    def pdf(self, page: bytes | None = None) -> bytes:
        made: bytes = generate_from_binary(
            page or self.page(), self.xml(), check_xsd=False, check_schematron=False, flavor="factur-x", level="en16931"
        )
        return made


def _line(name: str, quantity: str, price: str, amount: str, rate: str) -> str:
    return f"""<ram:IncludedSupplyChainTradeLineItem>
      <ram:SpecifiedTradeProduct><ram:Name>{name}</ram:Name></ram:SpecifiedTradeProduct>
      <ram:SpecifiedLineTradeAgreement><ram:NetPriceProductTradePrice><ram:ChargeAmount>{price}</ram:ChargeAmount>
      </ram:NetPriceProductTradePrice></ram:SpecifiedLineTradeAgreement>
      <ram:SpecifiedLineTradeDelivery><ram:BilledQuantity unitCode="C62">{quantity}</ram:BilledQuantity>
      </ram:SpecifiedLineTradeDelivery>
      <ram:SpecifiedLineTradeSettlement><ram:ApplicableTradeTax>
        <ram:RateApplicablePercent>{rate}</ram:RateApplicablePercent></ram:ApplicableTradeTax>
      <ram:SpecifiedTradeSettlementLineMonetarySummation><ram:LineTotalAmount>{amount}</ram:LineTotalAmount>
      </ram:SpecifiedTradeSettlementLineMonetarySummation></ram:SpecifiedLineTradeSettlement>
    </ram:IncludedSupplyChainTradeLineItem>"""


def _dotted(date: str) -> str:
    return f"{date[6:]}.{date[4:6]}.{date[:4]}"


def _comma(amount: str) -> str:
    whole, _, cents = amount.partition(".")
    return f"{int(whole):,}".replace(",", ".") + f",{cents}"
