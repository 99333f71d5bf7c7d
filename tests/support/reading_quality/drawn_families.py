"""Invoices of our own making in eleven languages: what the samples lack, and layouts that no rule was made on.

A family is a language with one of two sets of words and one of four layouts. Those of the second set, in the third and
fourth layout, are left out: only their sums are looked at while rules are made, never their pages. All names, numbers
and accounts are made up.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

Amounts = tuple[Decimal, Decimal, Decimal]


@dataclass(frozen=True, slots=True)
class Words:
    """What an invoice calls its parts."""

    title: str
    number: str
    issued: str
    due: str
    net: str
    tax: str
    gross: str
    vat_id: str
    buyer: str
    item: str
    amount: str


@dataclass(frozen=True, slots=True)
class Country:
    """`style` is how 1234.5 is written; `day` how a date is, with `d`, `m` and `Y`."""

    language: str
    words: tuple[Words, Words]
    supplier: str
    vat_id: str | None
    currency: str
    symbol: str
    style: str
    day: str
    rate: int
    iban: str | None = None


@dataclass(frozen=True, slots=True)
class DrawnInvoice:
    family: str
    is_left_out: bool
    text: str
    truth: Mapping[str, Any]


def draw_families() -> Iterator[DrawnInvoice]:
    for number, country in enumerate(COUNTRIES):
        for which, words in enumerate(country.words):
            for layout in LAYOUTS[2 * which : 2 * which + 2]:
                for copy in range(2):
                    yield _draw_invoice(country, words, layout, 1 + number * 4 + copy, is_left_out=which == 1)


def _draw_invoice(
    country: Country, words: Words, layout: Callable[["Facts"], str], seed: int, *, is_left_out: bool
) -> DrawnInvoice:
    net = Decimal(100 + seed * 137) + Decimal(seed * 7 % 100) / 100
    tax = (net * country.rate / 100).quantize(Decimal("0.01"))
    issued, due = date(2026, 1 + seed % 9, 13 + seed % 15), date(2026, 2 + seed % 9, 14 + seed % 13)
    facts = Facts(
        country, words, f"{country.language.upper()}-2026/{4100 + seed * 3}", issued, due, (net, tax, net + tax)
    )
    truth = {
        "document_type": "invoice",
        "supplier_name": country.supplier,
        "invoice_number": facts.number,
        "issue_date": issued.isoformat(),
        "due_date": due.isoformat(),
        "currency": country.currency,
        "total_net": f"{net:.2f}",
        "total_tax": f"{tax:.2f}",
        "total_gross": f"{net + tax:.2f}",
        "vat_id": country.vat_id,
        "iban": country.iban,
    }
    family = f"{country.language}-{layout.__name__.removeprefix('_lay_out_')}"
    return DrawnInvoice(family, is_left_out, layout(facts), truth)


@dataclass(frozen=True, slots=True)
class Facts:
    country: Country
    words: Words
    number: str
    issued: date
    due: date
    amounts: Amounts

    def write(self, amount: Decimal) -> str:
        """1234.50 as the country writes it: `1.234,50`, `1 234,50`, `1'234.50`, `1,234.50`."""
        group, point = self.country.style[1], self.country.style[5]
        return f"{amount:,.2f}".replace(",", "\0").replace(".", point).replace("\0", group)

    def day(self, day: date) -> str:
        written = self.country.day.replace("d", f"{day.day:02d}").replace("m", f"{day.month:02d}")
        return written.replace("Y", str(day.year))

    @property
    def foot(self) -> str:
        vat_id = f"{self.words.vat_id}: {self.country.vat_id}" if self.country.vat_id else ""
        iban = f"IBAN: {self.country.iban}" if self.country.iban else ""
        return f"{self.country.supplier}   {vat_id}   {iban}"


def _lay_out_beside(facts: Facts) -> str:
    words, (net, tax, gross) = facts.words, facts.amounts
    symbol = facts.country.symbol
    return f"""
{facts.country.supplier}
Example Street 4, 12345 Sampletown

{words.buyer}:
Northern Client
High Road 9

{words.title}
{words.number}:              {facts.number}
{words.issued}:              {facts.day(facts.issued)}
{words.due}:              {facts.day(facts.due)}

{words.item}                                      {words.amount}
Alpha 200                                         {facts.write(net)}

{words.net}                                       {facts.write(net)} {symbol}
{words.tax} {facts.country.rate} %                        {facts.write(tax)} {symbol}
{words.gross}                                     {facts.write(gross)} {symbol}

{facts.foot}
"""


def _lay_out_in_one_line(facts: Facts) -> str:
    words, (net, tax, gross) = facts.words, facts.amounts
    code = facts.country.currency
    return f"""
                                        {facts.country.supplier}
                                        Example Street 4
{words.title} {facts.number}

{words.issued} {facts.day(facts.issued)}    {words.due} {facts.day(facts.due)}
{words.buyer}: Northern Client

Alpha 200          {facts.write(net)}
{words.net}: {code} {facts.write(net)}
{words.tax} ({facts.country.rate}%): {code} {facts.write(tax)}
{words.gross}: {code} {facts.write(gross)}

{facts.foot}
"""


def _lay_out_above(facts: Facts) -> str:
    words, (net, tax, gross) = facts.words, facts.amounts
    cells = [words.number, words.issued, words.due]
    below = [facts.number, facts.day(facts.issued), facts.day(facts.due)]
    totals = [words.net, words.tax, words.gross]
    under = [facts.write(amount) for amount in (net, tax, gross)]
    return f"""
{facts.country.supplier}
{words.title}

{_join(cells)}
{_join(below)}

{words.buyer}
Northern Client

{words.item}                    {words.amount}
Alpha 200                       {facts.write(net)}

{_join(totals)}
{_join(under)}

{facts.country.currency}
{facts.foot}
"""


def _lay_out_with_leaders(facts: Facts) -> str:
    words, (net, tax, gross) = facts.words, facts.amounts
    return f"""
{facts.foot}

{words.buyer}                                {words.number}
Northern Client                              {facts.number}
High Road 9                                  {words.issued}
                                             {facts.day(facts.issued)}
                                             {words.due}
                                             {facts.day(facts.due)}
{words.title}

Alpha 200 ........................ {facts.write(net)}
{words.net} ...................... {facts.write(net)}
{words.tax} {facts.country.rate} % ...................... {facts.write(tax)}
{words.gross} {facts.country.currency} .................. {facts.write(gross)}
"""


LAYOUTS: tuple[Callable[[Facts], str], ...] = (
    _lay_out_beside,
    _lay_out_in_one_line,
    _lay_out_above,
    _lay_out_with_leaders,
)


def _join(cells: list[str]) -> str:
    return "".join(cell.ljust(28) for cell in cells).rstrip()


COUNTRIES = (
    Country(
        "en",
        (
            Words(
                "INVOICE",
                "Invoice number",
                "Invoice date",
                "Due date",
                "Subtotal",
                "VAT",
                "Total",
                "VAT number",
                "Bill to",
                "Description",
                "Amount",
            ),
            Words(
                "Tax invoice",
                "Invoice No.",
                "Date of issue",
                "Payment due",
                "Net amount",
                "VAT",
                "Total amount due",
                "VAT reg. no.",
                "Customer",
                "Item",
                "Total",
            ),
        ),
        "Harbour Tools Ltd",
        "GB123456782",
        "GBP",
        "£",
        "1,234.50",
        "d/m/Y",
        20,
    ),
    Country(
        "de",
        (
            Words(
                "Rechnung",
                "Rechnungsnummer",
                "Rechnungsdatum",
                "Fällig am",
                "Nettobetrag",
                "MwSt.",
                "Gesamtbetrag",
                "USt-IdNr.",
                "Kunde",
                "Bezeichnung",
                "Betrag",
            ),
            Words(
                "Rechnung",
                "Beleg-Nr.",
                "Datum",
                "Zahlbar bis",
                "Summe netto",
                "USt.",
                "Rechnungsbetrag",
                "USt-ID",
                "Rechnungsempfänger",
                "Leistung",
                "Summe",
            ),
        ),
        "Hafenbau Beispiel GmbH",
        "DE136695976",
        "EUR",
        "€",
        "1.234,50",
        "d.m.Y",
        19,
        "DE88200800000970375700",
    ),
    Country(
        "fr",
        (
            Words(
                "FACTURE",
                "Facture n°",
                "Date de facture",
                "Date d'échéance",
                "Total HT",
                "TVA",
                "Total TTC",
                "N° TVA",
                "Client",
                "Désignation",
                "Montant",
            ),
            Words(
                "Facture",
                "Numéro de facture",
                "Date d'émission",
                "Échéance",
                "Montant HT",
                "Montant TVA",
                "Net à payer",
                "TVA intracommunautaire",
                "Destinataire",
                "Libellé",
                "Prix",
            ),
        ),
        "Atelier Exemple SARL",
        "FR83404833048",
        "EUR",
        "€",
        "1 234,50",
        "d/m/Y",
        20,
        "FR1420041010050500013M02606",
    ),
    Country(
        "es",
        (
            Words(
                "FACTURA",
                "Factura nº",
                "Fecha de factura",
                "Fecha de vencimiento",
                "Base imponible",
                "IVA",
                "Total factura",
                "NIF",
                "Cliente",
                "Descripción",
                "Importe",
            ),
            Words(
                "Factura",
                "Número de factura",
                "Fecha de emisión",
                "Vencimiento",
                "Subtotal",
                "Cuota IVA",
                "Total a pagar",
                "CIF",
                "Facturar a",
                "Concepto",
                "Total",
            ),
        ),
        "Talleres Ejemplo S.L.",
        "ESB58378431",
        "EUR",
        "€",
        "1.234,50",
        "d/m/Y",
        21,
        "ES9121000418450200051332",
    ),
    Country(
        "it",
        (
            Words(
                "FATTURA",
                "Fattura n.",
                "Data fattura",
                "Scadenza",
                "Imponibile",
                "IVA",
                "Totale fattura",
                "P. IVA",
                "Cliente",
                "Descrizione",
                "Importo",
            ),
            Words(
                "Fattura",
                "Numero fattura",
                "Data di emissione",
                "Data di scadenza",
                "Totale imponibile",
                "Totale IVA",
                "Totale da pagare",
                "Partita IVA",
                "Destinatario",
                "Articolo",
                "Totale",
            ),
        ),
        "Officina Esempio S.r.l.",
        "IT00743110157",
        "EUR",
        "€",
        "1.234,50",
        "d/m/Y",
        22,
        "IT60X0542811101000000123456",
    ),
    Country(
        "nl",
        (
            Words(
                "FACTUUR",
                "Factuurnummer",
                "Factuurdatum",
                "Vervaldatum",
                "Subtotaal",
                "BTW",
                "Totaal",
                "BTW-nummer",
                "Klant",
                "Omschrijving",
                "Bedrag",
            ),
            Words(
                "Factuur",
                "Factuur nr.",
                "Datum",
                "Te betalen voor",
                "Totaal excl. btw",
                "Btw",
                "Totaal incl. btw",
                "Btw-nr.",
                "Factuuradres",
                "Artikel",
                "Prijs",
            ),
        ),
        "Werkplaats Voorbeeld B.V.",
        "NL004495445B01",
        "EUR",
        "€",
        "1.234,50",
        "d-m-Y",
        21,
        "NL91ABNA0417164300",
    ),
    Country(
        "pt",
        (
            Words(
                "FATURA",
                "Fatura n.º",
                "Data da fatura",
                "Data de vencimento",
                "Subtotal",
                "IVA",
                "Total",
                "NIF",
                "Cliente",
                "Descrição",
                "Valor",
            ),
            Words(
                "Fatura",
                "Número da fatura",
                "Data de emissão",
                "Vencimento",
                "Total sem IVA",
                "Total IVA",
                "Total a pagar",
                "Contribuinte",
                "Faturar a",
                "Artigo",
                "Total",
            ),
        ),
        "Oficina Exemplo Lda",
        "PT501964843",
        "EUR",
        "€",
        "1.234,50",
        "d/m/Y",
        23,
        "PT50000201231234567890154",
    ),
    Country(
        "pl",
        (
            Words(
                "Faktura VAT",
                "Faktura nr",
                "Data wystawienia",
                "Termin płatności",
                "Razem netto",
                "VAT",
                "Do zapłaty",
                "NIP",
                "Nabywca",
                "Nazwa",
                "Wartość",
            ),
            Words(
                "Faktura",
                "Numer faktury",
                "Data faktury",
                "Płatne do",
                "Wartość netto",
                "Kwota VAT",
                "Wartość brutto",
                "NIP",
                "Odbiorca",
                "Opis",
                "Kwota",
            ),
        ),
        "Warsztat Przykład sp. z o.o.",
        "PL8567346215",
        "PLN",
        "zł",
        "1 234,50",
        "d.m.Y",
        23,
        "PL61109010140000071219812874",
    ),
    Country(
        "cs",
        (
            Words(
                "FAKTURA",
                "Faktura č.",
                "Datum vystavení",
                "Datum splatnosti",
                "Základ daně",
                "DPH",
                "Celkem k úhradě",
                "DIČ",
                "Odběratel",
                "Popis",
                "Částka",
            ),
            Words(
                "Faktura - daňový doklad",
                "Číslo faktury",
                "Vystaveno dne",
                "Splatnost",
                "Celkem bez DPH",
                "DPH",
                "Celkem s DPH",
                "DIČ",
                "Zákazník",
                "Název",
                "Cena",
            ),
        ),
        "Dílna Příklad s.r.o.",
        "CZ25123891",
        "CZK",
        "Kč",
        "1 234,50",
        "d.m.Y",
        21,
        "CZ6508000000192000145399",
    ),
    Country(
        "da",
        (
            Words(
                "FAKTURA",
                "Fakturanummer",
                "Fakturadato",
                "Forfaldsdato",
                "Subtotal",
                "Moms",
                "Total",
                "CVR-nr.",
                "Kunde",
                "Beskrivelse",
                "Beløb",
            ),
            Words(
                "Faktura",
                "Faktura nr.",
                "Dato",
                "Betalingsfrist",
                "Netto",
                "Moms",
                "I alt",
                "Momsnr.",
                "Køber",
                "Vare",
                "Pris",
            ),
        ),
        "Værksted Eksempel ApS",
        "DK13585628",
        "DKK",
        "kr.",
        "1.234,50",
        "d.m.Y",
        25,
        "DK5000400440116243",
    ),
    Country(
        "sv",
        (
            Words(
                "FAKTURA",
                "Fakturanummer",
                "Fakturadatum",
                "Förfallodatum",
                "Netto",
                "Moms",
                "Att betala",
                "Momsreg.nr",
                "Kund",
                "Beskrivning",
                "Belopp",
            ),
            Words(
                "Faktura",
                "Faktura nr",
                "Datum",
                "Förfallodag",
                "Summa exkl. moms",
                "Moms",
                "Summa inkl. moms",
                "VAT-nr",
                "Köpare",
                "Artikel",
                "Pris",
            ),
        ),
        "Verkstad Exempel AB",
        "SE556188840401",
        "SEK",
        "kr",
        "1 234,50",
        "Y-m-d",
        25,
        "SE4550000000058398257466",
    ),
)
