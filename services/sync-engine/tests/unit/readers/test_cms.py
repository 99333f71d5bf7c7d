import base64
import contextlib

import pytest
from container_files import ENVELOPED, PDF, make_cms, make_file, make_mail
from hypothesis import given, settings
from hypothesis import strategies as st

from sync_engine.domain.parts import SkipReason
from sync_engine.readers.cms import open_smime
from sync_engine.readers.contained import ContainerProblem, NoContainer, UnreadableContainer

MAIL = make_mail(make_file(PDF, "facture.pdf"))


def read_all(content: bytes, name: str | None = "smime.p7m") -> list[tuple[str | None, bytes]]:
    return [(file.filename, file.read(100_000)) for file in open_smime(content, name).files]


@pytest.mark.parametrize("is_open", [False, True])
def test_a_signed_mail_is_taken_out_whatever_its_lengths_look_like(is_open: bool) -> None:
    assert read_all(make_cms(MAIL, is_open=is_open)) == [("facture.pdf", PDF)]


def test_a_signed_file_keeps_its_name_without_the_signature() -> None:
    assert read_all(make_cms(PDF), "Fattura.pdf.P7M") == [("Fattura.pdf", PDF)]


@pytest.mark.parametrize(
    "armoured",
    [
        b"-----BEGIN PKCS7-----\n" + base64.encodebytes(make_cms(MAIL)) + b"-----END PKCS7-----\n",
        base64.encodebytes(make_cms(MAIL)),
    ],
)
def test_armour_is_taken_off(armoured: bytes) -> None:
    assert read_all(armoured) == [("facture.pdf", PDF)]


def test_a_mail_signed_beside_its_text_is_opened_with_and_without_its_headers() -> None:
    headers, _, body = MAIL.partition(b"\r\n\r\n")
    assert headers
    assert read_all(MAIL) == read_all(body) == [("facture.pdf", PDF)]


def test_an_encrypted_mail_says_so() -> None:
    with pytest.raises(UnreadableContainer) as refused:
        read_all(make_cms(PDF, ENVELOPED))
    assert refused.value.problem is ContainerProblem.ENCRYPTED


def test_a_signature_of_something_elsewhere_is_a_signature() -> None:
    with pytest.raises(NoContainer) as found:
        read_all(make_cms(None))
    assert found.value.skip_reason is SkipReason.SIGNATURE


@pytest.mark.parametrize("content", [make_cms(MAIL)[:100], b"neither a mail nor a signature"])
def test_other_bytes_are_refused(content: bytes) -> None:
    with pytest.raises(UnreadableContainer) as refused:
        read_all(content)
    assert refused.value.problem is ContainerProblem.BROKEN


@settings(max_examples=40)
@given(st.binary(max_size=300))
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    for start in (b"", make_cms(b"")[:15]):
        with contextlib.suppress(UnreadableContainer, NoContainer):
            read_all(start + content)


@settings(max_examples=40)
@given(st.integers(0, 1000), st.integers(0, 255))
def test_any_changed_byte_is_read_or_refused(at: int, value: int) -> None:
    content = bytearray(make_cms(MAIL, is_open=True))
    content[at % len(content)] = value
    with contextlib.suppress(UnreadableContainer, NoContainer):
        read_all(bytes(content))
