"""An invoice as Mailroom knows it: the fields of `extraction` (design 7.2), of which any may be unknown."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any, Literal, Self

from ingestion.domain.numbers import format_amount, format_date, format_number, parse_date, parse_decimal

LineAmounts = Literal["net", "gross"]

INVOICE = "invoice"
CREDIT_NOTE = "credit_note"
CORRECTED_INVOICE = "corrected_invoice"
DOCUMENT_TYPES = frozenset({INVOICE, CREDIT_NOTE, CORRECTED_INVOICE})

# Of UNTDID 1001, as EN 16931 lets them stand in an e-invoice.
CREDIT_NOTE_TYPES = frozenset({"81", "83", "261", "262", "296", "308", "381", "396", "420", "458", "532"})
_INVOICE_TYPES = (
    "71 80 82 84 102 130 202 203 204 211 218 219 295 326 331 380 382 383 384 385 386 387 388 389 390 393 394 395"
    " 456 457 527 553 575 623 633 751 780 817 870 875 876 877 935"
)
# Not 325: a pro-forma invoice asks for nothing yet.
PAYABLE_TYPES = CREDIT_NOTE_TYPES | frozenset(_INVOICE_TYPES.split())
SELF_BILLED_TYPES = frozenset({"261", "389", "527"})


# What the page calls its total, net and tax where its own amounts speak against the total: shown beside the fields, for
# a person, and none of them.
PAGE_TOTALS = "page_totals"
TOTAL_FIELDS = ("total_gross", "total_net", "total_tax")


@dataclass(frozen=True, slots=True, kw_only=True)
class InvoiceLine:
    description: str | None = None
    quantity: Decimal | None = None
    unit_price: Decimal | None = None
    amount: Decimal | None = None
    tax_rate: Decimal | None = None

    def to_json(self) -> dict[str, str | None]:
        return {
            "description": self.description,
            "quantity": format_number(self.quantity),
            "unit_price": format_number(self.unit_price),
            "amount": format_amount(self.amount),
            "tax_rate": format_number(self.tax_rate),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(
            description=value["description"],
            quantity=parse_decimal(value["quantity"]),
            unit_price=parse_decimal(value["unit_price"]),
            amount=parse_decimal(value["amount"]),
            tax_rate=parse_decimal(value["tax_rate"]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """`line_amounts` says whether the amounts of `lines` are without tax (`net`) or with it (`gross`)."""

    supplier_name: str | None = None
    invoice_number: str | None = None
    issue_date: date | None = None
    due_date: date | None = None
    currency: str | None = None
    total_gross: Decimal | None = None
    total_net: Decimal | None = None
    total_tax: Decimal | None = None
    vat_id: str | None = None
    iban: str | None = None
    lines: tuple[InvoiceLine, ...] = ()
    line_amounts: LineAmounts = "net"
    amount_due: Decimal | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "supplier_name": self.supplier_name,
            "invoice_number": self.invoice_number,
            "issue_date": format_date(self.issue_date),
            "due_date": format_date(self.due_date),
            "currency": self.currency,
            "total_gross": format_amount(self.total_gross),
            "total_net": format_amount(self.total_net),
            "total_tax": format_amount(self.total_tax),
            "vat_id": self.vat_id,
            "iban": self.iban,
            "lines": [line.to_json() for line in self.lines],
            "line_amounts": self.line_amounts,
            "amount_due": format_amount(self.amount_due),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The inverse of `to_json`: how an invoice comes back from the parser process."""
        return cls(
            supplier_name=value["supplier_name"],
            invoice_number=value["invoice_number"],
            issue_date=parse_date(value["issue_date"]),
            due_date=parse_date(value["due_date"]),
            currency=value["currency"],
            total_gross=parse_decimal(value["total_gross"]),
            total_net=parse_decimal(value["total_net"]),
            total_tax=parse_decimal(value["total_tax"]),
            vat_id=value["vat_id"],
            iban=value["iban"],
            lines=tuple(InvoiceLine.from_json(line) for line in value["lines"]),
            line_amounts=value["line_amounts"],
            amount_due=parse_decimal(value["amount_due"]),
        )

    def determine_document_type(self, type_code: str | None = None) -> str:
        """Invoice, credit note or correction. A negative total may have any type code, so both are looked at."""
        if type_code in CREDIT_NOTE_TYPES:
            return CREDIT_NOTE
        if type_code == "384" or (self.total_gross is not None and self.total_gross < 0):
            return CORRECTED_INVOICE
        return INVOICE

    def totals_add_up(self) -> bool | None:
        """Whether net and tax make the gross total, to a cent or two of rounding; None when one is unknown."""
        if self.total_gross is None or self.total_net is None or self.total_tax is None:
            return None
        return abs(self.total_net + self.total_tax - self.total_gross) <= Decimal("0.02")
