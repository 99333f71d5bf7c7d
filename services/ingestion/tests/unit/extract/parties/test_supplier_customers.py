"""Pages whose supplier is a picture, or stands small in the foot, while the customer has all that a supplier has.

Each is drawn in eleven languages. Whoever reads only the words cannot tell that the customer is one; so he may not say
for certain that he is the supplier.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest

from ingestion.domain.transcript import Transcript
from ingestion.extract.parties.company_names import normalize_name
from ingestion.extract.parties.supplier import find_supplier


@dataclass(frozen=True, slots=True)
class Country:
    """`vat` is the customer's, and the only number of the page."""

    supplier: str
    address: tuple[str, str]
    customer: str
    customer_address: tuple[str, str]
    phone: str
    vat: str
    number: str
    total: str
    delivery: str
    guest: str
    sent: str
    seller: str

    def list_customer(self, *more: str) -> list[str]:
        return [self.customer, *self.customer_address, *more]

    def name_mail(self) -> str:
        return f"info@{normalize_name(self.customer)}.example"


COUNTRIES = (
    Country(
        "Malerbetrieb Kunz",
        ("Ring 3", "12345 Stadthausen"),
        "Beispiel AG",
        ("Weg 8", "54321 Kundenstadt"),
        "Tel. 030 1234567",
        "USt-IdNr. DE136695976",
        "Rechnung Nr. 2031",
        "Gesamtbetrag",
        "Lieferadresse:",
        "Gast:",
        "Per E-Mail versandt an",
        "Verkäufer:",
    ),
    Country(
        "Barrow Joinery",
        ("3 Mill Lane", "Leeds LS1 4DE"),
        "Redbourne Homes Ltd",
        ("8 High Street", "London E1 6EA"),
        "Tel. 0113 496 0000",
        "VAT GB 123 4567 82",
        "Invoice no. 2031",
        "Total",
        "Ship to:",
        "Guest:",
        "Sent by e-mail to",
        "Sold by:",
    ),
    Country(
        "Atelier Roussel",
        ("3 rue des Lilas", "44000 Nantes"),
        "Librairie du Port SARL",
        ("8 quai Nord", "13002 Marseille"),
        "Tél. 02 40 12 34 56",
        "TVA FR42371977356",
        "Facture n° 2031",
        "Total TTC",
        "Adresse de livraison :",
        "Hôte :",
        "Facture envoyée par e-mail à",
        "Vendeur :",
    ),
    Country(
        "Idraulica Rossi",
        ("Via Roma 3", "20100 Milano"),
        "Clienti Belli S.r.l.",
        ("Via Po 8", "10100 Torino"),
        "Tel. 02 1234567",
        "P.IVA 58657800338",
        "Fattura n. 2031",
        "Totale fattura",
        "Indirizzo di consegna:",
        "Ospite:",
        "Inviata via e-mail a",
        "Venduto da:",
    ),
    Country(
        "Dakwerken Wit",
        ("Kerkstraat 3", "1234 AB Stad"),
        "Klant Wonen B.V.",
        ("Plein 8", "4321 BA Dorp"),
        "Tel. 020 1234567",
        "Btw NL119295349B01",
        "Factuur nr. 2031",
        "Totaal te betalen",
        "Afleveradres:",
        "Gast:",
        "Per e-mail verzonden aan",
        "Verkoper:",
    ),
    Country(
        "Librería Sol",
        ("Calle Mayor 3", "28001 Madrid"),
        "Promociones Turia S.L.",
        ("Avda. del Puerto 8", "46023 Valencia"),
        "Tel. 911 234 567",
        "CIF B15435852",
        "Factura n.º 2031",
        "Total factura",
        "Dirección de entrega:",
        "Huésped:",
        "Enviada por correo a",
        "Vendedor:",
    ),
    Country(
        "Loja da Ana",
        ("Rua do Sol 3", "1000-001 Lisboa"),
        "Clínica Bento, Lda.",
        ("Largo 8", "4050-603 Porto"),
        "Tel. 211 234 567",
        "NIF 543893855",
        "Fatura n.º 2031",
        "Total da fatura",
        "Morada de entrega:",
        "Hóspede:",
        "Enviada por e-mail para",
        "Vendedor:",
    ),
    Country(
        "Zakład Nowak",
        ("ul. Polna 3", "00-001 Warszawa"),
        "Klient Dom Sp. z o.o.",
        ("ul. Leśna 8", "30-002 Kraków"),
        "tel. 22 123 45 67",
        "NIP 526-10-40-828",
        "Faktura nr 2031",
        "Razem brutto",
        "Adres dostawy:",
        "Gość:",
        "Wysłano e-mailem na",
        "Sprzedawca:",
    ),
    Country(
        "Truhlář Novák",
        ("Polní 3", "110 00 Praha"),
        "Odběr Domy s.r.o.",
        ("Lesní 8", "602 00 Brno"),
        "tel. 221 234 567",
        "DIČ CZ25123891",
        "Faktura č. 2031",
        "Celkem k úhradě",
        "Dodací adresa:",
        "Host:",
        "Odesláno e-mailem na",
        "Prodávající:",
    ),
    Country(
        "Hansen VVS",
        ("Havnegade 3", "8000 Aarhus"),
        "Kunde Bolig ApS",
        ("Skovvej 8", "2200 København N"),
        "Tlf. 86 12 34 56",
        "CVR-nr. 13585628",
        "Faktura nr. 2031",
        "I alt",
        "Leveringsadresse:",
        "Gæst:",
        "Sendt pr. e-mail til",
        "Sælger:",
    ),
    Country(
        "Bygg Lund",
        ("Vägen 3", "503 30 Borås"),
        "Kundhus AB",
        ("Skogen 8", "901 22 Umeå"),
        "Tel. 033 12 34 56",
        "Momsreg.nr SE556188840401",
        "Faktura nr 2031",
        "Att betala",
        "Leveransadress:",
        "Gäst:",
        "Skickad per e-post till",
        "Säljare:",
    ),
)
GAP = ["", ""]
ACCOUNT = "IBAN DE89 3704 0044 0532 0130 00"
OTHER = ("Petra Muster", "Anger 9", "12345 Stadt")


def set_beside(left: Sequence[str], right: Sequence[str]) -> list[str]:
    rows = max(len(left), len(right))
    padded = [[*side, *[""] * (rows - len(side))] for side in (left, right)]
    return [f"{one:<50}{other}" for one, other in zip(*padded, strict=True)]


# What stands over the invoice's title.
HEADS: dict[str, Callable[[Country], list[str]]] = {
    "a telephone": lambda land: land.list_customer(land.phone),
    "a telephone and the number": lambda land: land.list_customer(land.phone, land.vat),
    "a mail address and the number": lambda land: land.list_customer(land.name_mail(), land.vat),
    "the number and no address": lambda land: [land.customer, land.vat],
    "the number, a telephone and no address": lambda land: [land.customer, land.vat, land.phone],
    "another address to deliver to": lambda land: land.list_customer(land.vat, "", land.delivery, *OTHER),
    "a guest": lambda land: land.list_customer(land.vat, "", f"{land.guest} Petra Muster"),
    "his mail address, which the invoice was sent to": lambda land: land.list_customer(
        "", f"{land.sent} {land.name_mail()}"
    ),
    "who sold it": lambda land: land.list_customer("", f"{land.seller} Petra Muster"),
    "the supplier to his right": lambda land: set_beside(
        land.list_customer(land.phone, land.vat), [land.supplier, *land.address]
    ),
    "the supplier to his left": lambda land: set_beside(
        [land.supplier, *land.address], land.list_customer(land.phone, land.vat)
    ),
    "whose care he is in": lambda land: [
        land.customer,
        "c/o Verwaltung Holm GmbH",
        *land.customer_address,
        land.phone,
        land.vat,
    ],
}


@pytest.mark.parametrize("foot", ["nobody", "the supplier"])
@pytest.mark.parametrize("head", HEADS)
def test_a_customer_at_the_top_is_never_certainly_the_supplier(head: str, foot: str) -> None:
    for land in COUNTRIES:
        last = ACCOUNT if foot == "nobody" else " · ".join((land.supplier, *land.address, ACCOUNT))
        items = [f"Item {number}                                     1,00               10,00" for number in range(9)]
        rows = [*HEADS[head](land), *GAP, land.number, *GAP, *items, f"{land.total}   90,00", *GAP, last]
        supplier = find_supplier(Transcript.from_rows(rows).lines)
        is_right = supplier is None or normalize_name(supplier.name) == normalize_name(land.supplier)
        assert is_right or (supplier is not None and not supplier.is_certain), (land.customer, supplier)


def test_of_two_addresses_one_below_the_other_the_upper_one_is_not_the_suppliers_if_the_foot_is_another_ones() -> None:
    for land in COUNTRIES:
        head = land.list_customer(land.phone, land.vat, *GAP, *OTHER)
        foot = " · ".join((land.supplier, *land.address, ACCOUNT))
        rows = [*head, *GAP, land.number, *GAP, *["Item   1,00   10,00"] * 9, f"{land.total}   90,00", *GAP, foot]
        supplier = find_supplier(Transcript.from_rows(rows).lines)
        assert supplier is None or supplier.name == land.supplier or not supplier.is_certain


def test_the_same_page_with_the_supplier_over_the_customers_address_needs_no_person() -> None:
    for land in COUNTRIES:
        head = [land.supplier, *land.address, land.phone, land.vat, *GAP, *land.list_customer()]
        rows = [*head, *GAP, land.number, *GAP, *["Item   1,00   10,00"] * 9, f"{land.total}   90,00", *GAP, ACCOUNT]
        supplier = find_supplier(Transcript.from_rows(rows).lines)
        assert supplier is not None
        assert (supplier.name, supplier.is_certain) == (land.supplier, True)


@pytest.mark.parametrize("words", ["Remittance advice", "Zahlschein", "Bulletin de versement", "Acceptgiro"])
def test_a_slip_to_pay_with_names_the_customer_again_and_is_no_imprint(words: str) -> None:
    head = ["Beispiel AG", "Weg 8", "54321 Stadt", *GAP, "Invoice no. 2031", *GAP, *["Item   1,00   10,00"] * 20]
    slip = [f"Beispiel AG        {ACCOUNT}", "Weg 8        Ref. 2031"]
    for title, is_certain in ((words, False), ("", True)):
        supplier = find_supplier(Transcript.from_rows([*head, "", title, *slip]).lines)
        assert supplier is not None
        assert supplier.is_certain is is_certain


@pytest.mark.parametrize(
    "words",
    [
        "Self-billing invoice",
        "Gutschrift im Gutschriftsverfahren",
        "Autofacturation",
        "Autofattura",
        "Facturación por el destinatario",
        "Factuur uitgereikt door afnemer",
        "Autofaturação",
        "Samofakturowanie",
        "Vystaveno zákazníkem",
        "Självfakturering",
        "Selvfakturering",
    ],
)
def test_who_writes_the_invoice_to_himself_is_not_certainly_its_supplier(words: str) -> None:
    head = ["Beispiel AG", "Weg 8", "54321 Stadt", "USt-IdNr. DE136695976", *GAP, "Anna Kunz", "Ring 3", "12345 Stadt"]
    foot = ["Beispiel AG · HRB 12345 · USt-IdNr. DE136695976"]
    supplier = find_supplier(Transcript.from_rows([*head, "", words, "", *["Item   10,00"] * 20, "", *foot]).lines)
    assert supplier is not None
    assert not supplier.is_certain
