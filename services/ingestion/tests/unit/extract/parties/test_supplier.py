from collections.abc import Sequence
from dataclasses import replace

import pytest

from ingestion.domain.transcript import TextLine, Transcript
from ingestion.extract.parties.company_names import normalize_name
from ingestion.extract.parties.customer_cells import is_buyer_cell
from ingestion.extract.parties.supplier import find_supplier
from ingestion.extract.parties.supplier_signs import Sign


def page(text: str) -> tuple[TextLine, ...]:
    return Transcript.from_rows(text.strip("\n").splitlines()).lines


def find_supplier_name(lines: Sequence[TextLine]) -> str | None:
    supplier = find_supplier(lines)
    return None if supplier is None else supplier.name


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        ("northwind.example", "Northwind"),  # a domain of its own names the supplier
        ("gmail.com", None),
        ("gmx.net", None),  # whatever country the domain of a mail provider is of
        ("outlook.de", None),
    ],
)
def test_a_mail_domain_names_the_supplier_unless_anybody_can_have_an_address_there(
    domain: str, expected: str | None
) -> None:
    name = "Northwind" if expected else domain.partition(".")[0].title()
    assert find_supplier_name(page(f"{name}\nInvoice 7\nTotal 10.00\nContact@{domain}")) == expected


@pytest.mark.parametrize(
    ("text", "is_certain"),
    [
        ("Muster GmbH\nInvoice 7\nTotal 10.00", False),  # it may as well be the customer
        ("Muster GmbH\nInvoice 7\nTotal 10.00\n\nVAT DE136695976", False),  # the number may be another's
        ("Muster GmbH\nVAT DE136695976\nInvoice 7\nTotal 10.00", False),  # a customer has one too
        ("Muster GmbH\nVAT DE136695976\nInvoice 7\nCustomer: Kunde AG\nTotal 10.00", True),
        ("Muster GmbH\nInvoice 7\nBill to\nKunde AG\nTotal 10.00", True),
        ("Muster GmbH\nInvoice 7\nTotal 10.00\n\nmail@muster.example", True),
        ("Muster GmbH\nmail@muster.example\n\nInvoice 7\nTotal 10.00", False),
        ("Muster GmbH\nInvoice 7\nTotal 10.00\nAccount holder: Muster GmbH, Example Bank", True),
        ("Invoice 7\nMuster GmbH · 10115 Berlin\nAnna Kunz\nRing 3\nTotal 10.00", True),
        ("Studio Kunz\nVAT DE136695976\nInvoice 7\nTotal 10.00", False),
        ("Studio Kunz\nVAT DE136695976\nInvoice 7\nCustomer: Kunde AG\nTotal 10.00", True),
        ("Dakwerken Kunz\nInvoice 7\nTotal 10.00\nIBAN NL08RABO0311223344 t.n.v. Dakwerken Kunz", True),
        ("Muster GmbH\nRing 3\nRechnung 7\nBrot  10,00\nGesamt  10,00\nEC-Karte  10,00", True),
        ("Muster GmbH\nRing 3\nRechnung 7\nKarte zum Brot  10,00\nGesamt  10,00", False),
        ("Muster GmbH\nInvoice 7\nCustomer: Kunde AG\nTotal 10.00", True),
        ("Muster GmbH\nInvoice 7\nTotal 10.00\nThank you for your order", False),
        ("Invoice 7\nSeller: Anna Kunz\nTotal 10.00", True),
        ("Invoice 7\nFrom: Anna Kunz\nTotal 10.00", False),  # a ticket has stations there
        ("Anna Kunz\nakunz@gmail.com\nInvoice 7\nTotal 10.00", False),  # or whom one may ask
    ],
)
def test_one_sign_alone_makes_no_certain_supplier(text: str, is_certain: bool) -> None:
    supplier = find_supplier(page(text))
    assert supplier is not None
    assert supplier.is_certain is is_certain


def test_a_sender_line_may_be_cut_into_cells_by_its_marks() -> None:
    supplier = find_supplier(page("Invoice 7\nMuster GmbH  ●  Ecke 12  ●  12345 Stadthausen\nAnna Kunz\nRing 3"))
    assert supplier is not None
    assert Sign.SENDER_LINE in supplier.signs


def test_a_company_heads_its_column_down_to_its_numbers_whatever_gaps_are_between() -> None:
    rows = ["Muster B.V.", "Plein 3", "", "", "www.lumen.example", "", "", "KvK 24330087", "Factuur 7"]
    supplier = find_supplier(page("\n".join(rows)))
    assert supplier is not None
    assert supplier.is_certain


def test_an_address_in_the_same_line_is_no_part_of_the_name() -> None:
    text = "Invoice 7\nTotal 10.00\nMuster Partnership LLP, 3 Mill Lane, Leeds LS1 4DE. VAT GB 123 4567 82"
    assert find_supplier_name(page(text)) == "Muster Partnership LLP"


def test_the_owner_of_a_business_is_not_its_name() -> None:
    assert find_supplier_name(page("Rechnung 7\nInh. Anna Kunz e.K. · USt-IdNr. DE136695976")) is None


def test_a_company_by_its_legal_form_is_found_and_the_buyer_is_not() -> None:
    rows = ["Bill to", "Kunde AG", *(f"Position {number}" for number in range(9)), "Muster GmbH"]
    assert find_supplier_name(page("\n".join(rows))) == "Muster GmbH"


def test_two_names_with_equal_reasons_are_no_supplier() -> None:
    assert find_supplier_name(page("Muster GmbH\nBeispiel GmbH\nInvoice 7")) is None


def test_a_name_behind_a_seller_label_is_the_supplier() -> None:
    assert find_supplier_name(page("Invoice 7\nSeller: Anna Kunz\nTotal 10.00")) == "Anna Kunz"


def test_a_cell_below_a_buyer_heading_is_the_buyers_until_a_seller_heading() -> None:
    lines = page("Bill to\nKunde AG\nSeller\nMuster GmbH")
    assert [is_buyer_cell(lines, index, 0) for index in range(4)] == [True, True, False, False]


def test_the_legal_form_makes_no_other_name() -> None:
    assert normalize_name("Muster GmbH") == normalize_name("MUSTER") == "muster"


@pytest.mark.parametrize(
    "foot",
    [
        "Kwekerijweg 8, 2691 KP Voorbeeld · KvK 27118855",
        "C/ Real 45, 2º B, 15003 Ejemplo",
    ],
)
def test_a_line_that_begins_with_a_street_names_no_sender(foot: str) -> None:
    rows = ["Muster B.V.", "Factuur 7", *(f"Positie {number}" for number in range(9)), foot]
    assert find_supplier_name(page("\n".join(rows))) == "Muster B.V."


def test_a_sender_may_end_with_a_number_where_its_street_follows() -> None:
    rows = ["Rechnung 7", "Studio 54, Hauptstr. 1, 10115 Berlin", "Anna Kunz", "Ring 3"]
    assert find_supplier_name(page("\n".join(rows))) == "Studio 54"


def test_a_long_polish_company_is_known_by_its_legal_form_in_capitals_too() -> None:
    rows = ["Faktura 7", "Sprzedawca  Nabywca", "Hurtownia Elektryczna Przykład Duży Sp. z o.o.  Jan Wzorowy"]
    assert find_supplier_name(page("\n".join(rows))) == "Hurtownia Elektryczna Przykład Duży Sp. z o.o."


def test_the_name_with_its_legal_form_is_taken_where_both_are_printed() -> None:
    assert find_supplier_name(page("Muster Papier\nInvoice 7\nMuster Papier GmbH")) == "Muster Papier GmbH"


def test_a_brand_in_a_letter_head_is_the_company_whose_name_begins_so() -> None:
    text = "Invoice                 Lumenboard\n\nLumenboard Software Limited\n12 Dame Court\nwww.lumenboard.example"
    assert find_supplier_name(page(text)) == "Lumenboard Software Limited"


def test_a_name_that_goes_on_in_the_next_line_is_read_whole() -> None:
    assert (
        find_supplier_name(page("Southern Roast Coffee\nPty Ltd\n3/18 Foundry Road")) == "Southern Roast Coffee Pty Ltd"
    )


def test_a_name_ends_with_its_legal_form_where_the_capital_follows() -> None:
    text = "Facture 7\nTotal 10,00\nPapeterie du Port SAS au capital de 20 000 € - RCS Marseille - TVA FR08418840211"
    assert find_supplier_name(page(text)) == "Papeterie du Port SAS"


def test_who_heads_a_block_with_a_tax_number_is_a_business_and_its_street_is_not() -> None:
    block = ["Lucia Ferrer", "Diseño e ilustración", "Calle de Mallorca", "NIF: 46876707Q"]
    assert find_supplier_name(page("\n".join(["FACTURA", "", "", *block]))) == "Lucia Ferrer"


def test_the_large_type_of_a_letter_head_names_the_supplier_if_it_is_not_the_only_sign() -> None:
    foot = "Bakkerij De Korenmaat  Molenstraat"
    letter = ["Molenstraat", "", "", "Zorgcentrum De Linde", "Lindelaan", "Factuur"]

    def find_with_large_type(first: str, *rest: str) -> str | None:
        lines = list(page("\n".join([first, *rest])))
        assert find_supplier_name(lines) is None
        lines[0] = replace(lines[0], height=lines[0].height * 1.6)
        return find_supplier_name(lines)

    assert find_with_large_type("Bakkerij De Korenmaat", *letter, foot) == "Bakkerij De Korenmaat"
    for stamp in ("Original", "Kopie", "Thank You", "Honorarnote"):
        assert find_with_large_type(stamp, *letter) is None


def test_a_person_is_a_business_by_an_address_or_a_register_in_its_block() -> None:
    block = ["Camille Roussel", "Auteure", "Allée des Lilas", "44000 Nantes"]
    assert find_supplier_name(page("\n".join(["Facture 7", "", "", *block]))) is None
    assert find_supplier_name(page("\n".join([*block, "camille@plume-roussel.example"]))) == "Camille Roussel"
    assert find_supplier_name(page("\n".join(["Facture 7", "", "", *block, "SIRET : 829 246 479 00018"]))) == block[0]


def test_the_company_in_a_foot_with_a_tax_number_is_ahead_of_the_one_that_is_written_to() -> None:
    letter = ["Kreditfaktura", "", "Vinö Gårdshotell AB", "Vinö 12", "", *["Lakan  20  189,00"] * 12]
    foot = ["Linneförrådet AB        Telefon 033        Org.nr 556734-3784", "Vägen 3        Borås        F-skatt"]
    assert find_supplier_name(page("\n".join([*letter, *foot]))) == "Linneförrådet AB"


def test_a_form_names_the_customer_below_the_customers_heading() -> None:
    seller = ["PRESTADOR DO SERVIÇO", "Nome      Tiago Andrade", "NIF       597536180", ""]
    buyer = ["ADQUIRENTE DO SERVIÇO", "Nome      Clínica Bento, Lda.", "NIF       543893855"]
    assert find_supplier_name(page("\n".join([*seller, *buyer]))) == "Tiago Andrade"


def test_who_is_written_to_is_the_customer() -> None:
    text = "M. Kowalczyk Plastering\nVAT No. 724 0919 01\n\nTo:\nRedbourne Homes Ltd\nAccounts"
    assert find_supplier_name(page(text)) == "M. Kowalczyk Plastering"


def test_a_legal_form_alone_is_no_name() -> None:
    rows = ["SARL ELECTRO DISTRIB", "ZI Les Paluds", "", "Facture 7", *["Pompe   10,00"] * 8, "", ""]
    foot = "SARL au capital de 40 000 € - N° TVA FR08418840211"
    assert find_supplier_name(page("\n".join([*rows, foot]))) == "SARL ELECTRO DISTRIB"


def test_a_long_name_is_one_if_its_words_have_capitals() -> None:
    text = "{}\nKerkstraat\nBtw-id NL620267575B01\n\n\n\nVerlag Nordstern\nSpeicherstadt"
    assert find_supplier_name(page(text.format("Sanne de Wit Tekst & Vertaling"))) == "Sanne de Wit Tekst & Vertaling"
    assert find_supplier_name(page(text.format("Sanne de Wit writes and translates"))) is None


def test_an_address_with_the_first_name_is_that_persons_too() -> None:
    text = "Facture\n\n\n\nSanne de Wit\nKerkstraat\n{}\n\n\n\nVerlag Nordstern\nSpeicherstadt"
    assert find_supplier_name(page(text.format("sanne@tekst.example"))) == "Sanne de Wit"
    assert find_supplier_name(page(text.format("office@gmail.com"))) is None


def test_a_street_over_its_town_is_no_name_whatever_stands_below() -> None:
    text = "Factuur\n\n\nLangestraat 88\n3811 AK Amersfoort\nbtw NL119295349B01"
    assert find_supplier_name(page(text)) is None
    assert find_supplier_name(page(text.replace("Langestraat 88", "Drukkerij Langestraat"))) == "Drukkerij Langestraat"


def test_the_supplier_in_the_other_column_is_not_billed_to() -> None:
    rows = ["Billed to                                         Tallyfox Technologies Ltd", "Acme Studio Ltd"]
    assert find_supplier_name(page("\n".join([*rows, "3 Canal Street"]))) == "Tallyfox Technologies Ltd"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        ("Cais & Mar – Reparações Navais, Lda.", "Cais & Mar – Reparações Navais, Lda."),
        ("Rechnung – Muster GmbH", "Muster GmbH"),
        ("Muster GmbH – Ring 3 – 12345 Stadt", "Muster GmbH"),
        ("Autohaus – ein Unternehmen der Muster GmbH", "Autohaus"),
    ],
)
def test_a_dash_may_be_in_a_name(head: str, expected: str | None) -> None:
    assert find_supplier_name(page(f"{head}\nVAT DE136695976\nInvoice 7\nTotal 10.00")) == expected


@pytest.mark.parametrize("customer", [[], ["Beispiel AG", "Weg 8", "54321 Stadt"]])
@pytest.mark.parametrize("lines_above", [0, 10])
@pytest.mark.parametrize("own", [["Ring 3"], ["Ring 3", "Tel. 030 1234567"], ["Ring 3", "info@muster.example"], []])
def test_a_companys_own_number_is_believed_in_a_letter_head_over_another_address(
    own: list[str], lines_above: int, customer: list[str]
) -> None:
    """Where the supplier is a picture, the customer is the only company of the page, and has the only tax number. He
    may have a telephone as well, or no address."""
    rows = [
        *(["Page 1 of 1"] if lines_above else []),
        *[""] * lines_above,
        *("Muster GmbH", "VAT DE136695976", *own, "", ""),
        *(*customer, *[""] * 5, "Invoice 7", *["Item  1.00"] * 9),
    ]
    supplier = find_supplier(page("\n".join(rows)))
    assert supplier is not None
    assert supplier.is_certain is (bool(customer) and not lines_above)


def test_a_companys_own_number_is_believed_where_its_name_is_larger_than_the_rest() -> None:
    """Nobody prints whom he writes to in larger type."""
    rows = ["Muster GmbH", "Ring 3", "VAT DE136695976", *[""] * 5, "Invoice 7", *["Item  1.00"] * 9]
    name, *others = page("\n".join(rows))
    for height, is_certain in ((name.height, False), (name.height * 1.6, True)):
        supplier = find_supplier([replace(name, height=height), *others])
        assert supplier is not None
        assert supplier.is_certain is is_certain


@pytest.mark.parametrize(
    ("label", "is_certain"),
    [
        ("Factuur aan\nBeispiel AG", True),
        ("Rechnung an: Beispiel AG", True),
        ("Facturer à\nBeispiel AG", True),
        ("Fattura a:\nBeispiel AG", True),
        ("Faktureras till\nBeispiel AG", True),
        ("Rechnung an der Kasse bezahlt", False),
        ("Kunde: Beispiel AG", True),
        ("Zahlbar durch: Beispiel AG", True),
        ("Ihr Ansprechpartner: Anna Kunz", False),
        ("Ihr Zeichen: Kunz", False),
        ("Your contact: Anna Kunz", False),
    ],
)
def test_only_a_customer_is_another_customer(label: str, is_certain: bool) -> None:
    """`Your contact` is the seller's; below it the company at the top may be the customer."""
    supplier = find_supplier(page(f"Muster GmbH\nRing 3\n\nInvoice 7\n{label}\nTotal 10.00"))
    assert supplier is not None
    assert supplier.is_certain is is_certain


@pytest.mark.parametrize(
    "guest", ["Gast: Muster GmbH", "Gast   Muster GmbH", "Guest:\nMuster GmbH", "Ospite: Muster GmbH"]
)
def test_a_guest_is_not_the_restaurant(guest: str) -> None:
    supplier = find_supplier(page(f"Gasthaus Krone\n{guest}\nRechnung 7\nBrot  10,00\nGesamt  10,00\nEC-Karte  10,00"))
    assert supplier is None or supplier.name != "Muster GmbH"


def test_a_street_in_head_and_foot_is_no_supplier_nor_is_what_was_sold_twice() -> None:
    rows = ["Ring 3", "Tel. 030 1234567", "", "Brot  10,00", *["Salz  10,00"] * 9, "", "Brot  10,00"]
    foot = ["Muster GmbH   Ring 3   USt-IdNr. DE136695976"]
    supplier = find_supplier(page("\n".join([*rows, *foot])))
    assert supplier is not None
    assert (supplier.name, supplier.is_certain) == ("Muster GmbH", False)


@pytest.mark.parametrize(
    ("others", "is_certain"),
    [
        ("Zahlung an die Sparkasse", True),
        ("Kontoinhaber: Fidelia GmbH", False),  # who is paid is not who writes
        ("Kontoinhaber: Muster GmbH", True),
        ("Zahlungsempfänger: Fidelia Factoring GmbH", True),  # whoever bought the debt says nothing
    ],
)
def test_a_letter_head_and_the_holder_of_the_account_agree(others: str, is_certain: bool) -> None:
    supplier = find_supplier(page(f"Muster GmbH\nRing 3\n\nKunde:\nBeispiel AG\n\nInvoice 7\nTotal 10.00\n{others}"))
    assert supplier is not None
    assert (supplier.name, supplier.is_certain) == ("Muster GmbH", is_certain)


def test_a_sender_is_looked_for_in_a_cell_of_blanks_in_one_go() -> None:
    assert find_supplier_name(page("Invoice 7\nx" + "\u00a0" * 100_000 + "x")) is None


@pytest.mark.parametrize(
    "sentence",
    [
        "Issued by Lumen B.V. on behalf of Muster Ltd",
        "Factuur opgesteld namens Zeezicht Vastgoed B.V.",
        "Fattura emessa per conto di Immobiliare Lago S.p.A.",
        "Factura expedida por cuenta de Inmuebles Norte S.A.",
        "Fakturan är utställd för Fastigheter Väst AB:s räkning",
        "Leistungserbringer: Sonnenhof Immobilien GmbH",
        "Supplied by Rosewood Property Holdings Ltd",
        "Diese Rechnung wird im Namen und für Rechnung der Muster GmbH ausgestellt",
        "Facture établie au nom et pour le compte de Muster SARL",
        "Emessa in nome e per conto di Muster S.r.l.",
    ],
)
def test_who_writes_an_invoice_for_another_one_is_not_certainly_its_supplier(sentence: str) -> None:
    text = "Lumen B.V.\nVAT NL119295349B01\n\nCustomer: Beispiel AG\nInvoice 7\n{}\nTotal 10.00"
    plain, for_another = find_supplier(page(text.format(""))), find_supplier(page(text.format(sentence)))
    assert plain is not None
    assert plain.is_certain
    assert for_another is None or not for_another.is_certain
