"""Whose tax number and account it is, where the customer's stand beside them."""

from ingestion.domain.transcript import Transcript
from ingestion.extract.layout_rules import read_invoice


def vat_id(*rows: str) -> str | None:
    return read_invoice(Transcript.from_rows(rows))[0].vat_id


def test_of_two_columns_the_one_below_the_seller_counts_however_far_below() -> None:
    rows = ["DODAVATEL                 ODBERATEL", "Jana                      Pekarna", "", ""]
    rows = [row.replace("ODBERATEL", "Odběratel") for row in rows]
    assert vat_id(*rows, "DIČ CZ01626663            DIČ CZ39301401") == "CZ01626663"


def test_of_two_blocks_without_a_heading_the_one_below_the_suppliers_name_counts() -> None:
    supplier = ["Suministros Hosteleros Levante, S.L.", "Calle Mayor 21", "CIF B21114673"]
    title = "FACTURA                                           Hotel Playa Azul, S.A."
    assert vat_id(*supplier, "", title, f"{'':50}CIF A08015497") == "B21114673"


def test_a_letter_says_whom_it_is_for() -> None:
    customer = ["Spett.le", "Meccanica Torri S.r.l.", "P.IVA 58657800338"]
    assert vat_id("Studio Rinaldi", "P.IVA 37894770314", "", *customer) == "37894770314"


def test_a_polish_account_is_written_without_its_country() -> None:
    rows = ["Faktura nr 7/2026", "Nr konta: 61 1090 1014 0000 0712 1981 2874"]
    assert read_invoice(Transcript.from_rows(rows))[0].iban == "PL61109010140000071219812874"
    rows[1] = rows[1].replace("2874", "2875")
    assert read_invoice(Transcript.from_rows(rows))[0].iban is None
