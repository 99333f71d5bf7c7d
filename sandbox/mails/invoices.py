"""The invoices inside the sample mails: invented suppliers, and what each document says."""

from dataclasses import dataclass
from decimal import Decimal

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class Party:
    name: str
    street: str
    postcode: str
    city: str
    country: str
    vat_id: str | None = None


@dataclass(frozen=True, slots=True)
class Line:
    description: str
    quantity: Decimal
    unit_price: Decimal

    @property
    def amount(self) -> Decimal:
        return (self.quantity * self.unit_price).quantize(CENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Invoice:
    """Dates are ISO; `language` picks the words, number style and date style of the page."""

    key: str
    language: str
    supplier: Party
    customer: Party
    number: str
    issued_on: str
    due_on: str
    currency: str
    lines: tuple[Line, ...]
    tax_rate: Decimal
    iban: str | None

    @property
    def net(self) -> Decimal:
        return sum((line.amount for line in self.lines), Decimal(0)).quantize(CENT)

    @property
    def tax(self) -> Decimal:
        return (self.net * self.tax_rate / 100).quantize(CENT)

    @property
    def gross(self) -> Decimal:
        return self.net + self.tax

    def expected(self) -> dict[str, str]:
        return {
            "supplier_name": self.supplier.name,
            "invoice_number": self.number,
            "issue_date": self.issued_on,
            "total_gross": str(self.gross),
            "currency": self.currency,
        }


def _line(description: str, quantity: str, unit_price: str) -> Line:
    return Line(description, Decimal(quantity), Decimal(unit_price))


CUSTOMER = Party("Mailroom Example GmbH", "Hafenstraße 12", "20457", "Hamburg", "DE", "DE123456788")

FRENCH = Invoice(
    key="french",
    language="fr",
    supplier=Party("Imprimerie Rivelaine SARL", "14 rue des Presses", "59800", "Lille", "FR", "FR40123456824"),
    customer=CUSTOMER,
    number="FA-2026-0117",
    issued_on="2026-09-14",
    due_on="2026-10-14",
    currency="EUR",
    lines=(
        _line("Brochure 16 pages, quadrichromie", "500", "1.84"),
        _line("Affiche A2, papier couché 170 g", "40", "6.25"),
        _line("Livraison Hambourg", "1", "78.00"),
    ),
    tax_rate=Decimal(20),
    iban="FR7630006000011234567890189",
)

GERMAN = Invoice(
    key="german",
    language="de",
    supplier=Party("Tischlerei Holm & Söhne GmbH", "Am Sägewerk 3", "24534", "Neumünster", "DE", "DE987654324"),
    customer=CUSTOMER,
    number="RE-20261002-88",
    issued_on="2026-10-02",
    due_on="2026-10-16",
    currency="EUR",
    lines=(
        _line("Empfangstresen Eiche, nach Aufmaß", "1", "2480.00"),
        _line("Regalböden, geölt", "12", "46.50"),
        _line("Montage, Stunden", "9.5", "62.00"),
    ),
    tax_rate=Decimal(19),
    iban="DE02120300000000202051",
)

ENGLISH = Invoice(
    key="english",
    language="en",
    supplier=Party("Northgate Office Supplies Ltd", "27 Canal Wharf", "LS11 5PS", "Leeds", "GB", "GB999999973"),
    customer=CUSTOMER,
    number="NOS-48213",
    issued_on="2026-10-19",
    due_on="2026-11-18",
    currency="GBP",
    lines=(
        _line("Copier paper A4, 80 gsm, box", "24", "18.90"),
        _line("Archive box, double wall", "60", "2.35"),
        _line("Toner cartridge, black", "4", "71.20"),
    ),
    tax_rate=Decimal(20),
    iban="GB33BUKB20201555555555",
)

DUTCH = Invoice(
    key="dutch",
    language="nl",
    supplier=Party("Van der Molen Techniek B.V.", "Industrieweg 41", "8013 PN", "Zwolle", "NL", "NL123456782B90"),
    customer=CUSTOMER,
    number="2026-3391",
    issued_on="2026-10-27",
    due_on="2026-11-26",
    currency="EUR",
    lines=(
        _line("Onderhoud luchtbehandeling, kwartaal 3", "1", "1150.00"),
        _line("Filterset F7", "6", "34.75"),
    ),
    tax_rate=Decimal(21),
    iban="NL02ABNA0123456789",
)

CONSULTANT = Invoice(
    key="consultant",
    language="en",
    supplier=Party("Harbor Light Consulting LLC", "88 Pier Street", "04101", "Portland ME", "US"),
    customer=CUSTOMER,
    number="HLC-1042",
    issued_on="2026-11-03",
    due_on="2026-12-03",
    currency="USD",
    lines=(_line("Workshop, two days", "2", "1600.00"), _line("Travel expenses", "1", "412.35")),
    tax_rate=Decimal(0),
    iban=None,
)

SCANNED = Invoice(
    key="scanned",
    language="en",
    supplier=Party("Copper Kettle Catering", "5 Mill Lane", "YO1 7HT", "York", "GB", "GB999999973"),
    customer=CUSTOMER,
    number="CK 0711",
    issued_on="2026-11-09",
    due_on="2026-11-23",
    currency="GBP",
    lines=(_line("Lunch buffet, per person", "22", "14.50"), _line("Coffee and cake", "22", "4.75")),
    tax_rate=Decimal(20),
    iban=None,
)
