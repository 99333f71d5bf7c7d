from pathlib import Path
from typing import Any

import pytest
from generated_invoices import CII, MUSTER_FIELDS

from ingestion.readers import einvoice
from mailroom_common.parser import UnreadableFile

DRAFT = b"""<rsm:Invoice xmlns:rsm="urn:un:unece:uncefact:data:standard:CBFBUY:5">
  <rsm:HeaderExchangedDocument><ID>D-7</ID><TypeCode>380</TypeCode>
    <IssueDateTime format="102">20140522</IssueDateTime></rsm:HeaderExchangedDocument>
  <rsm:SpecifiedSupplyChainTradeTransaction>
    <ApplicableSupplyChainTradeAgreement><SellerTradeParty><Name>Bei Spiel GmbH</Name></SellerTradeParty>
    </ApplicableSupplyChainTradeAgreement>
    <ApplicableSupplyChainTradeSettlement><InvoiceCurrencyCode>EUR</InvoiceCurrencyCode>
      <SpecifiedTradePaymentTerms><DueDateDateTime format="102">20140612</DueDateDateTime></SpecifiedTradePaymentTerms>
      <SpecifiedTradeSettlementMonetarySummation><LineTotalAmount>160.00</LineTotalAmount>
        <TaxBasisTotalAmount>160.00</TaxBasisTotalAmount><TaxTotalAmount currencyID="EUR">11.20</TaxTotalAmount>
        <GrandTotalAmount>171.20</GrandTotalAmount></SpecifiedTradeSettlementMonetarySummation>
    </ApplicableSupplyChainTradeSettlement>
    <IncludedSupplyChainTradeLineItem>
      <SpecifiedSupplyChainTradeAgreement><NetPriceProductTradePrice><ChargeAmount>160.00</ChargeAmount>
        </NetPriceProductTradePrice></SpecifiedSupplyChainTradeAgreement>
      <SpecifiedSupplyChainTradeDelivery><BilledQuantity>1.0000</BilledQuantity></SpecifiedSupplyChainTradeDelivery>
      <SpecifiedSupplyChainTradeSettlement><ApplicableTradeTax><ApplicablePercent>7.000000</ApplicablePercent>
        </ApplicableTradeTax><SpecifiedTradeSettlementMonetarySummation><LineTotalAmount>171.20</LineTotalAmount>
        </SpecifiedTradeSettlementMonetarySummation></SpecifiedSupplyChainTradeSettlement>
      <SpecifiedTradeProduct><Name>Gestaltung
        je Stunde</Name></SpecifiedTradeProduct>
    </IncludedSupplyChainTradeLineItem>
  </rsm:SpecifiedSupplyChainTradeTransaction></rsm:Invoice>"""


def fields(xml: bytes) -> dict[str, Any]:
    read = einvoice.parse_invoice_xml(xml)
    assert read is not None
    return {**read, **read["invoice"]}


def test_every_field_is_read_as_it_stands() -> None:
    read = fields(CII(payable="19.00").xml())
    assert read["profile"] == "urn:cen.eu:en16931:2017"
    assert read["document_type"] == "invoice"
    line = {"description": "Beratung", "quantity": "1", "unit_price": "100", "amount": "100.00", "tax_rate": "19"}
    assert read["invoice"] == {**MUSTER_FIELDS, "lines": [line], "amount_due": "19.00"}


def test_the_draft_of_the_format_has_no_namespaces_and_dates_of_its_own() -> None:
    read = fields(DRAFT)
    assert (read["invoice_number"], read["issue_date"], read["due_date"]) == ("D-7", "2014-05-22", "2014-06-12")
    assert read["lines"][0] == {
        "description": "Gestaltung je Stunde",
        "quantity": "1",
        "unit_price": "160",
        "amount": "171.20",
        "tax_rate": "7",
    }


def test_lines_with_tax_are_distinguished_from_lines_without() -> None:
    assert fields(DRAFT)["line_amounts"] == "gross"
    assert fields(CII().xml())["line_amounts"] == "net"


def test_a_small_profile_leaves_unknown_what_it_does_not_say() -> None:
    read = fields(CII(due=None, iban=None, lines=()).xml())
    assert (read["due_date"], read["iban"], read["lines"]) == (None, None, [])


@pytest.mark.parametrize(
    ("type_code", "gross", "kind"),
    [
        ("380", "119.00", "invoice"),
        ("381", "119.00", "credit_note"),
        ("261", "119.00", "credit_note"),
        ("384", "119.00", "corrected_invoice"),
        ("380", "-8.79", "corrected_invoice"),
    ],
)
def test_the_kind_follows_from_type_code_and_sign(type_code: str, gross: str, kind: str) -> None:
    assert fields(CII(type_code=type_code, gross=gross).xml())["document_type"] == kind


def test_numbers_of_the_party_in_its_name_are_no_part_of_it() -> None:
    read = fields(CII(seller="GLN 4333741000005\nLief-Nr: 549910\nMUSTERLIEFERANT GMBH").xml())
    assert read["supplier_name"] == "MUSTERLIEFERANT GMBH"


def test_a_price_for_a_hundred_pieces_is_a_price_for_one() -> None:
    xml = CII().xml().replace(b"</ram:ChargeAmount>", b"</ram:ChargeAmount><ram:BasisQuantity>100</ram:BasisQuantity>")
    assert fields(xml)["lines"][0]["unit_price"] == "1"


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "1e400", "1.19e2", "1_19.00", "١١٩.00", "9" * 5000, "many", ""])
def test_what_is_no_amount_stays_unknown(amount: str) -> None:
    assert fields(CII(gross=amount).xml())["total_gross"] is None


@pytest.mark.parametrize("within", ["<?cut here?>", "<!-- here -->", "<cut/>"])
def test_a_value_is_all_that_stands_in_its_element(within: str) -> None:
    """Half of an account is another one, and stands on the page of the whole one too."""
    read = fields(CII(iban=f"DE88200800000{within}970375700", gross=f"119{within}.00", number=f"RE{within}-1").xml())
    assert (read["iban"], read["total_gross"]) == ("DE88200800000970375700", "119.00")
    assert read["invoice_number"] == "RE-1"


@pytest.mark.parametrize(
    ("lines", "add_up"),
    [
        ([("Beratung", "1", "100.00", "100.00", "19")], True),
        ([("Beratung", "1", "33.33", "33.33", "19")] * 3, True),
        ([("Beratung", "1", "119.00", "119.00", "19")], True),  # with its tax, as some write them
        ([("Beratung", "7", "1000.00", "7000.00", "19")], False),
        ([], None),
    ],
)
def test_lines_make_their_total_or_are_not_those_of_the_invoice(
    lines: list[tuple[str, str, str, str, str]], add_up: bool | None
) -> None:
    assert fields(CII(lines=lines).xml())["lines_add_up"] is add_up


def test_a_day_that_does_not_exist_stays_unknown() -> None:
    assert fields(CII(issued="20260231").xml())["issue_date"] is None


def test_a_byte_order_mark_before_the_xml_is_no_obstacle() -> None:
    assert fields(b"\xef\xbb\xbf" + CII().xml('<?xml version="1.0" encoding="UTF-8"?>'))["invoice_number"] == "RE-1"


LINE = ("Beratung", "1", "100.00", "100.00", "19")


@pytest.mark.parametrize(
    "invoice",
    [
        CII(lines=[LINE] * 5001),
        CII(number="7" * 1_100_000),
        CII(seller="x" * 2001),
        CII(lines=[("x" * 2001, *LINE[1:])]),
    ],
    ids=["lines", "number", "seller", "description"],
)
def test_more_than_any_invoice_says_is_refused_with_a_reason_and_never_cut(invoice: CII) -> None:
    with pytest.raises(UnreadableFile) as refused:
        einvoice.parse_invoice_xml(invoice.xml())
    assert refused.value.reason == "extraction_too_large"


def test_a_long_invoice_keeps_each_of_its_lines() -> None:
    assert len(fields(CII(lines=[LINE] * 5000).xml())["lines"]) == 5000


def test_xml_with_a_dtd_is_refused_and_reads_no_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("canary")
    xml = CII(number="&leak;").xml(f'<!DOCTYPE x [<!ENTITY leak SYSTEM "file://{secret}">]>')
    assert einvoice.parse_invoice_xml(xml) is None


def test_entities_that_multiply_are_refused() -> None:
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "lol"}">' for n in range(10))
    assert einvoice.parse_invoice_xml(CII(number="&e9;").xml(f"<!DOCTYPE x [{entities}]>")) is None


@pytest.mark.parametrize("xml", [b"", b"<a/>", b"<Invoice", CII().xml()[:400]])
def test_other_xml_is_no_e_invoice(xml: bytes) -> None:
    assert einvoice.parse_invoice_xml(xml) is None


def test_a_ubl_invoice_is_not_read_as_cii() -> None:
    assert (
        einvoice.parse_invoice_xml(
            b'<Invoice xmlns="urn:oasis:names:specification:ubl:schema:xsd:Invoice-2"><ID>1</ID></Invoice>'
        )
        is None
    )


@pytest.mark.parametrize(
    ("name", "xml", "claims"),
    [
        ("factur-x.xml", b"<broken", True),
        ("Anything.xml", b"<?xml version='1.0'?><rsm:CrossIndustryInvoice broken", True),
        ("ZUGFeRD-invoice.xml", b"", True),
        ("factur-x.xml", None, True),
        ("more.xml", None, False),
        ("more.xml", b"<!--" + b"x" * 10_000 + b"--><r-1.s:CrossIndustryInvoice broken", True),
        ("more.xml", "<rsm:CrossIndustryInvoice broken".encode("utf-16-be"), True),
        ("more.xml", b"<more xmlns='urn:CrossIndustryInvoice'/>", False),
    ],
)
def test_xml_that_was_meant_to_be_an_invoice_is_known_by_name_or_first_element(
    name: str, xml: bytes | None, claims: bool
) -> None:
    assert einvoice.claims_to_be_invoice(name, xml) is claims


@pytest.mark.parametrize(
    ("content", "xml"),
    [
        (b"\xef\xbb\xbf <a/>", True),
        (b"\xff\xfe<\0", True),
        (b"\0<\0a", True),
        (b" " * 300 + b"<a/>", True),
        (b"%PDF-1.7", False),
        (b"", False),
    ],
)
def test_xml_is_known_by_its_beginning(content: bytes, xml: bool) -> None:
    assert einvoice.is_xml(content) is xml


def test_the_net_due_date_is_taken_and_not_that_of_a_discount() -> None:
    terms = b"""<ram:SpecifiedTradePaymentTerms><ram:DueDateDateTime><udt:DateTimeString format="102">20260410
      </udt:DateTimeString></ram:DueDateDateTime><ram:ApplicableTradePaymentDiscountTerms>
      <ram:CalculationPercent>2.00</ram:CalculationPercent></ram:ApplicableTradePaymentDiscountTerms>
      </ram:SpecifiedTradePaymentTerms>"""
    net = b"<ram:SpecifiedTradePaymentTerms>"
    for xml in (CII().xml().replace(net, terms + net), CII().xml().replace(net, net, 1)):
        read = einvoice.parse_invoice_xml(xml)
        assert read is not None
        assert read["invoice"]["due_date"] == "2026-04-30"


def test_a_name_with_a_line_break_is_kept_whole() -> None:
    read = einvoice.parse_invoice_xml(CII(seller="Muster\n  Bau GmbH\nGLN 4304171000002").xml())
    assert read is not None
    assert read["invoice"]["supplier_name"] == "Muster Bau GmbH"
