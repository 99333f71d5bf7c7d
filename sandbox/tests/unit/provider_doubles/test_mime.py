"""A mail taken apart as the providers do it: every shape of the sample mails, and what no mail should look like."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mailroom_sandbox.provider_doubles import mime
from mailroom_sandbox.provider_doubles.google.payload import build_payload, find_part
from mailroom_sandbox.provider_doubles.microsoft.attachments import (
    build_attachment_json,
    build_attachments,
    has_attachments,
)
from mailroom_sandbox.site.stack.home import find_checkout

MAILS = find_checkout() / "sandbox" / "mails"
EXPECTED: dict[str, Any] = json.loads((MAILS / "expected.json").read_text())["mails"]
# Of the others a provider shows the container, and what is expected are the files in it.
WITHOUT_CONTAINERS = sorted(name for name, mail in EXPECTED.items() if not any("via" in part for part in mail["parts"]))
# Mail, the name that Graph gives its one file, and whether that is an attached mail.
CONTAINERS = [
    ("forwarded.eml", "Facture", True),
    ("forwarded-four-deep.eml", "Fwd: Fwd: Fwd: Facture", True),
    ("smime-opaque.eml", "smime.p7m", False),
    ("winmail.eml", "winmail.dat", False),
    ("zip.eml", "invoices.zip", False),
]


def last_piece(name: str | None) -> str | None:
    return name.replace("\\", "/").rpartition("/")[2] if name else None


def wanted(one: dict[str, Any]) -> tuple[str | None, str | None]:
    return one.get("raw_filename", one["filename"]), one.get("sha256")


@pytest.mark.parametrize(("mail", "name", "is_item"), CONTAINERS)
def test_a_container_is_shown_as_one_attachment(mail: str, name: str, is_item: bool) -> None:
    root = mime.parse_mail((MAILS / mail).read_bytes())
    (attachment,) = build_attachments(root, "x" * 80, 0)
    assert (build_attachment_json(attachment)["name"], attachment.is_item) == (name, is_item)
    tree = flat(build_payload(root, lambda part: f"id-of-{part.part_id}"))
    assert [part["partId"] for part in tree if part["body"].get("attachmentId")] == [attachment.part.part_id]


def test_an_attached_mail_without_an_id_is_shown_by_its_parts_alone() -> None:
    root = mime.parse_mail((MAILS / "forwarded.eml").read_bytes())
    tree = flat(build_payload(root, lambda part: f"id-of-{part.part_id}", hides_nested=True))
    (nested,) = [part for part in tree if part["mimeType"] == "message/rfc822"]
    assert nested["body"] == {"size": 0}
    assert nested["parts"]


@pytest.mark.parametrize("name", WITHOUT_CONTAINERS)
def test_graph_attachments_are_the_parts_of_the_mail(name: str) -> None:
    root = mime.parse_mail((MAILS / name).read_bytes())
    attachments = build_attachments(root, "x" * 80, 0)
    expected = EXPECTED[name]["parts"]
    assert len(attachments) == len(expected)
    for attachment, one in zip(attachments, expected, strict=True):
        filename, sha256 = wanted(one)
        assert attachment.part.filename == filename
        assert sha256 is None or hashlib.sha256(attachment.part.content).hexdigest() == sha256
        assert build_attachment_json(attachment)["name"] == filename
    assert has_attachments(root) == any(not attachment.is_inline for attachment in attachments)


@pytest.mark.parametrize("name", WITHOUT_CONTAINERS)
def test_gmail_tree_holds_the_same_parts(name: str) -> None:
    root = mime.parse_mail((MAILS / name).read_bytes())
    payload = build_payload(root, lambda part: f"id-of-{part.part_id}")
    assert payload["partId"] == ""
    outer = [part for part in flat(payload) if part["mimeType"] != "multipart/mixed"]
    names = [part["filename"] for part in outer if part["filename"]]
    assert [last_piece(one) for one in names] == [one["filename"] for one in EXPECTED[name]["parts"] if one["filename"]]
    for part in flat(payload):
        found = find_part(root, part["partId"])
        assert found is not None
        assert part["body"]["size"] == len(found.content)


def flat(part: Any) -> list[Any]:
    """The tree without the inside of nested messages."""
    inner = [] if part["mimeType"] == "message/rfc822" else part.get("parts", [])
    return [part, *(one for child in inner for one in flat(child))]


@pytest.mark.parametrize(
    ("name", "inline"),
    [
        ("inline-pdf", [True]),
        ("logo-and-invoice", [True, False]),
        ("inline-picture", [True, False]),
        ("invoice-with-content-id", [False]),
        ("newsletter", [True]),
    ],
)
def test_inline_is_what_says_so_or_is_related_with_a_content_id(name: str, inline: list[bool]) -> None:
    root = mime.parse_mail((MAILS / f"{name}.eml").read_bytes())
    assert [attachment.is_inline for attachment in build_attachments(root, "x" * 80, 0)] == inline


def test_part_ids_follow_the_tree_into_nested_messages() -> None:
    root = mime.parse_mail((MAILS / "forwarded.eml").read_bytes())
    message = root.parts[1]
    assert (message.part_id, message.content_type) == ("1", "message/rfc822")
    (inner,) = message.parts
    assert [part.part_id for part in inner.parts] == ["1.0.0", "1.0.1"]
    assert message.content.startswith(b"From: Someone <someone@partner.example>\r\n")
    assert mime.parse_mail(message.content).read_header("subject") == "Facture"


def test_boundary_that_should_have_been_quoted_is_found_all_the_same() -> None:
    source = (
        b"MIME-Version: 1.0\r\nContent-Type: multipart/alternative;\r\n boundary=----=_Part_1.2\r\n\r\n"
        b"------=_Part_1.2\r\nContent-Type: image/jpeg; name=a.jpg\r\n\r\nX\r\n------=_Part_1.2--\r\n"
    )
    assert [leaf.filename for leaf in mime.list_leaves(mime.parse_mail(source))] == ["a.jpg"]


@pytest.mark.parametrize(
    ("disposition", "name"),
    [
        ("attachment; filename=This is a test.txt", "This is a test.txt"),
        ("attachment; filename=ci\u00eble.txt", "ci\u00eble.txt"),
        ('attachment; filename=""', None),
        ("attachment; filename*=utf-8''a%20b.pdf; filename=other.pdf", "a b.pdf"),
        ("attachment; filename*0*=iso-8859-1''Pr%FC; filename*1=fung.pdf", "Prüfung.pdf"),
        ("attachment; filename==?utf-8?q?Pr=C3=BCfung.pdf?=", "Prüfung.pdf"),
    ],
)
def test_names_in_every_spelling(disposition: str, name: str | None) -> None:
    source = f"Content-Type: application/pdf\r\nContent-Disposition: {disposition}\r\n\r\nX".encode()
    assert mime.parse_mail(source).filename == name


def test_container_that_cannot_be_taken_apart_is_text() -> None:
    root = mime.parse_mail(b"Content-Type: multipart/mixed\r\nSubject: x\r\n\r\nNo boundary.")
    assert build_attachments(root, "", 0) == ()
    assert mime.is_body(root)


def test_external_body_and_report_are_no_attachments() -> None:
    head = b"Content-Type: message/external-body; access-type=anon-ftp"
    source = head + b"\r\n\r\nContent-Type: text/plain\r\n\r\n"
    assert build_attachments(mime.parse_mail(source), "", 0) == ()


def test_unknown_charset_falls_back_to_something_readable() -> None:
    source = b"Content-Type: text/plain; charset=klingon\r\n\r\nGr\xc3\xbc\xc3\x9fe"
    body = mime.body_part(mime.parse_mail(source), "text/plain")
    assert body is not None
    assert body.text() == "Grüße"


@given(source=st.binary(max_size=400))
@settings(max_examples=300, deadline=None)
def test_nothing_that_arrives_is_too_strange(source: bytes) -> None:
    everything_shown(source)


@given(
    cuts=st.lists(st.integers(0, 3000), min_size=2, max_size=2),
    name=st.sampled_from(sorted(EXPECTED)),
    noise=st.binary(max_size=20),
)
@settings(max_examples=150, deadline=None)
def test_damaged_mails_are_still_mails(cuts: list[int], name: str, noise: bytes) -> None:
    source = (MAILS / name).read_bytes()
    low, high = sorted(cuts)
    everything_shown(source[:low] + noise + source[high:])


def everything_shown(source: bytes) -> None:
    root = mime.parse_mail(source)
    shown = [build_attachment_json(attachment) for attachment in build_attachments(root, "x" * 80, 0)]
    tree = build_payload(root, lambda part: part.part_id)
    # Whatever is in it must be possible to send as JSON.
    assert json.loads(json.dumps([shown, tree])) == json.loads(json.dumps([shown, tree], ensure_ascii=False).encode())
    assert mime.list_people(root, "from") is not None
    assert mime.read_sent_time(root) is None or mime.read_sent_time(root)
