"""The same mail has the same parts on both providers."""

from pathlib import Path

import pytest

from mailroom_common.providers.types import Part, PartKind
from mailroom_gmail.mapping import build_parts as build_gmail_parts
from mailroom_outlook.mapping import build_parts as build_outlook_parts
from mailroom_sandbox.provider_doubles import mime
from mailroom_sandbox.provider_doubles.google.payload import build_payload
from mailroom_sandbox.provider_doubles.microsoft.attachments import build_attachment_json, build_attachments

MAILS = sorted((Path(__file__).parents[3] / "sandbox" / "mails").glob("*.eml"))
_DECLARED_CONTAINER = (
    b"Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nText\r\n"
    b"--b\r\nContent-Type: multipart/mixed; name=r.pdf\r\nContent-Disposition: attachment; filename=r.pdf\r\n"
    b"Content-Transfer-Encoding: base64\r\n\r\nJVBERi0xLjc=\r\n"
    b"--b\r\nContent-Type: text/csv\r\n\r\n1;2\r\n"
    b"--b\r\nContent-Type: message/external-body; name=draft.txt\r\n\r\nContent-Type: text/plain\r\n\r\n--b--\r\n"
)


def describe(part: Part) -> tuple[object, ...]:
    """An attached mail may be called by its file name or by its subject."""
    return part.kind, None if part.kind is PartKind.MESSAGE else part.filename, part.is_inline


def list_parts_on_both(source: bytes) -> tuple[list[tuple[object, ...]], list[tuple[object, ...]]]:
    root = mime.parse_mail(source)
    outlook = build_outlook_parts(build_attachment_json(attachment) for attachment in build_attachments(root, "m", 0))
    gmail = build_gmail_parts(build_payload(root, lambda part: f"attachment-{part.part_id}"))
    return [describe(part) for part in outlook], [describe(part) for part in gmail]


@pytest.mark.parametrize("mail", MAILS, ids=lambda mail: mail.stem)
def test_every_mail_has_the_same_parts_on_both(mail: Path) -> None:
    outlook, gmail = list_parts_on_both(mail.read_bytes())
    assert outlook == gmail


def test_a_file_declared_as_a_container_is_shown_on_both_and_one_that_lies_elsewhere_on_neither() -> None:
    outlook, gmail = list_parts_on_both(_DECLARED_CONTAINER)
    assert outlook == gmail
    assert [name for _, name, _ in gmail] == ["r.pdf", None]
