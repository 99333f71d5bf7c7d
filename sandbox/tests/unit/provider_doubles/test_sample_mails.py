"""The sample mails are what expected.json says, and what a mail and a document should be."""

import hashlib
import io
import json
import re
import sys
import zipfile
from email.utils import parsedate_to_datetime
from typing import Any

import facturx
import pypdfium2
import pytest
from lxml import etree

from mailroom_sandbox.provider_doubles import mime
from mailroom_sandbox.site.stack.home import find_checkout

MAILS = find_checkout() / "sandbox" / "mails"
WHOLE: dict[str, Any] = json.loads((MAILS / "expected.json").read_text())
DOCUMENTS: dict[str, Any] = WHOLE["documents"]
REASONS = {
    "not_a_document",
    "inline_picture",
    "referenced_by_body",
    "signature",
    "empty",
    "damaged",
    "calendar_or_card",
}


def files() -> dict[str, bytes]:
    """Every document by its hash, as it lies in the mails themselves."""
    found = {}
    for path in MAILS.glob("*.eml"):
        for leaf in mime.list_leaves(mime.parse_mail(path.read_bytes())):
            found[hashlib.sha256(leaf.content).hexdigest()] = leaf.content
    return found


def parts() -> list[dict[str, Any]]:
    return [part for mail in WHOLE["mails"].values() for part in mail["parts"]]


def test_every_mail_is_expected_and_every_expected_mail_is_there() -> None:
    assert {path.name for path in MAILS.glob("*.eml")} == WHOLE["mails"].keys()
    assert len(WHOLE["mails"]) >= 20
    assert sum(path.stat().st_size for path in MAILS.iterdir() if path.is_file()) < 2_000_000


def test_every_part_says_why_it_is_left_or_which_document_it_is() -> None:
    for part in parts():
        if part["take"]:
            assert part["sha256"] == DOCUMENTS[part["document"]]["sha256"]
        else:
            assert part["reason"] in REASONS
    assert {part["document"] for part in parts() if part["take"]} == DOCUMENTS.keys()


def test_outcome_follows_from_the_parts() -> None:
    for mail in WHOLE["mails"].values():
        assert mail["outcome"] == ("process" if any(part["take"] for part in mail["parts"]) else "skip")


@pytest.mark.parametrize("path", sorted(MAILS.glob("*.eml")), ids=lambda path: path.name)
def test_mails_look_like_mails(path: Any) -> None:
    root = mime.parse_mail(path.read_bytes())
    assert parsedate_to_datetime(root.read_header("date") or "").year == 2026
    assert re.fullmatch(r"<[^@>]+@[a-z.-]+\.example>", root.read_header("message-id") or "")
    for address in re.findall(rb"[\w.-]+@([\w.-]+)", b"\n".join(path.read_bytes().splitlines()[:12])):
        assert address.rstrip(b">").endswith(b".example")
    assert b"\r\n" in path.read_bytes()


@pytest.mark.parametrize("name", sorted(name for name, one in DOCUMENTS.items() if one.get("invoice_number")))
def test_invoice_says_on_its_page_what_is_expected(name: str) -> None:
    document = DOCUMENTS[name]
    page = pypdfium2.PdfDocument(files()[document["sha256"]])[0].get_textpage().get_text_range()
    assert document["supplier_name"] in page
    assert document["invoice_number"] in page
    digits = re.sub(r"\D", "", document["total_gross"])
    assert digits in re.sub(r"[.,\s]", "", page)
    assert document["currency"] in page


@pytest.mark.parametrize("name", sorted(name for name, one in DOCUMENTS.items() if one.get("embedded_xml")))
def test_einvoice_says_the_same_in_its_data(name: str) -> None:
    document = DOCUMENTS[name]
    _, xml = facturx.get_xml_from_pdf(files()[document["sha256"]], check_xsd=True)
    tree = etree.fromstring(xml)
    spaces = {prefix: uri for prefix, uri in tree.nsmap.items() if prefix}

    def text(path: str) -> str:
        found = tree.find(path, spaces)
        assert found is not None
        return str(found.text)

    assert text(".//ram:SellerTradeParty/ram:Name") == document["supplier_name"]
    assert text("rsm:ExchangedDocument/ram:ID") == document["invoice_number"]
    assert text(".//ram:GrandTotalAmount") == document["total_gross"]
    assert text(".//ram:InvoiceCurrencyCode") == document["currency"]
    issued = text("rsm:ExchangedDocument/ram:IssueDateTime/udt:DateTimeString")
    assert issued == document["issue_date"].replace("-", "")


def test_locked_document_opens_with_its_password_only() -> None:
    content = files()[DOCUMENTS["locked"]["sha256"]]
    with pytest.raises(pypdfium2.PdfiumError):
        pypdfium2.PdfDocument(content)
    assert len(pypdfium2.PdfDocument(content, password="mailroom")) == 1


def test_zip_holds_what_is_expected() -> None:
    leaf = mime.list_leaves(mime.parse_mail((MAILS / "zip.eml").read_bytes()))[1]
    with zipfile.ZipFile(io.BytesIO(leaf.content)) as archive:
        inside = {name: hashlib.sha256(archive.read(name)).hexdigest() for name in archive.namelist()}
    for one in WHOLE["mails"]["zip.eml"]["parts"]:
        if one["take"]:
            assert inside[one.get("raw_filename", one["filename"])] == one["sha256"]


def test_generator_makes_the_committed_mails_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(find_checkout()))
    from sandbox.mails import make_mails

    try:
        made = make_mails.make()
    finally:
        for module in [name for name in sys.modules if name.startswith("sandbox.mails")]:
            del sys.modules[module]
    # Pictures and compressed streams may differ from machine to machine by their libraries; what is told may not.
    assert made.keys() == {path.name for path in MAILS.glob("*.eml")} | {"expected.json", "../one-more.eml"}
    again = json.loads(made["expected.json"])
    for name, document in DOCUMENTS.items():
        told = {key: value for key, value in document.items() if key not in ("sha256", "size_bytes")}
        assert told.items() <= again["documents"][name].items()
    assert {name: mail["shape"] for name, mail in again["mails"].items()} == {
        name: mail["shape"] for name, mail in WHOLE["mails"].items()
    }
