"""E-invoices in UBL, written as XRechnung has them."""

from dataclasses import dataclass

_SCHEMA = "urn:oasis:names:specification:ubl:schema:xsd"


@dataclass(frozen=True)
class UBL:
    """`kind` is Invoice or CreditNote. The same invoice as `generated_invoices.CII`."""

    kind: str = "Invoice"
    number: str = "RE-1"
    iban: str = "DE88200800000970375700"
    gross: str = "119.00"
    price: str = "50.00"
    price_base: str | None = None
    second_tax: tuple[str, str] | None = None

    def xml(self) -> bytes:
        is_invoice = self.kind == "Invoice"
        due = "<cbc:{0}>2026-04-30</cbc:{0}>"
        quantity = "Invoiced" if is_invoice else "Credited"
        base = f"<cbc:BaseQuantity>{self.price_base}</cbc:BaseQuantity>" if self.price_base else ""
        return f"""<{self.kind} xmlns="{_SCHEMA}:{self.kind}-2" xmlns:cbc="{_SCHEMA}:CommonBasicComponents-2"
            xmlns:cac="{_SCHEMA}:CommonAggregateComponents-2">
          <cbc:CustomizationID>urn:cen.eu:en16931:2017</cbc:CustomizationID>
          <cbc:ID>{self.number}</cbc:ID><cbc:IssueDate>2026-04-01</cbc:IssueDate>
          {due.format("DueDate") if is_invoice else ""}
          <cbc:{self.kind}TypeCode>{"380" if is_invoice else "381"}</cbc:{self.kind}TypeCode>
          <cbc:DocumentCurrencyCode>EUR</cbc:DocumentCurrencyCode>
          <cac:AccountingSupplierParty><cac:Party>
            <cac:PartyName><cbc:Name>Muster</cbc:Name></cac:PartyName>
            <cac:PartyTaxScheme><cbc:CompanyID>22/815</cbc:CompanyID><cac:TaxScheme><cbc:ID>FC</cbc:ID></cac:TaxScheme>
            </cac:PartyTaxScheme>
            <cac:PartyTaxScheme><cbc:CompanyID>DE 136695976</cbc:CompanyID>
              <cac:TaxScheme><cbc:ID>VAT</cbc:ID></cac:TaxScheme></cac:PartyTaxScheme>
            <cac:PartyLegalEntity><cbc:RegistrationName>Muster GmbH</cbc:RegistrationName></cac:PartyLegalEntity>
          </cac:Party></cac:AccountingSupplierParty>
          <cac:AccountingCustomerParty><cac:Party><cac:PartyName><cbc:Name>Kunde AG</cbc:Name></cac:PartyName>
          </cac:Party></cac:AccountingCustomerParty>
          <cac:PaymentMeans>{"" if is_invoice else due.format("PaymentDueDate")}
            <cac:PayeeFinancialAccount><cbc:ID>{self.iban}</cbc:ID></cac:PayeeFinancialAccount></cac:PaymentMeans>
          {self._build_tax(*self.second_tax) if self.second_tax else ""}{self._build_tax("EUR", "19.00")}
          <cac:LegalMonetaryTotal><cbc:LineExtensionAmount>100.00</cbc:LineExtensionAmount>
            <cbc:TaxExclusiveAmount>100.00</cbc:TaxExclusiveAmount>
            <cbc:TaxInclusiveAmount>{self.gross}</cbc:TaxInclusiveAmount>
            <cbc:PayableAmount>{self.gross}</cbc:PayableAmount></cac:LegalMonetaryTotal>
          <cac:{self.kind}Line><cbc:{quantity}Quantity>0</cbc:{quantity}Quantity>
            <cbc:LineExtensionAmount>0.00</cbc:LineExtensionAmount>
            <cac:Item><cbc:Name>--- Services ---</cbc:Name></cac:Item></cac:{self.kind}Line>
          <cac:{self.kind}Line><cbc:{quantity}Quantity>2</cbc:{quantity}Quantity>
            <cbc:LineExtensionAmount>100.00</cbc:LineExtensionAmount>
            <cac:Item><cbc:Name>Beratung</cbc:Name>
              <cac:ClassifiedTaxCategory><cbc:Percent>19</cbc:Percent></cac:ClassifiedTaxCategory></cac:Item>
            <cac:Price><cbc:PriceAmount>{self.price}</cbc:PriceAmount>{base}</cac:Price></cac:{self.kind}Line>
        </{self.kind}>""".encode()

    def _build_tax(self, currency: str, amount: str) -> str:
        return f'<cac:TaxTotal><cbc:TaxAmount currencyID="{currency}">{amount}</cbc:TaxAmount></cac:TaxTotal>'
