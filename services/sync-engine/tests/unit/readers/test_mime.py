"""Names and contents of the parts of a mail, in every form that mails have them in."""

import base64

import pytest
from container_files import PDF, make_file, make_forward, make_mail, make_part
from hypothesis import given, settings
from hypothesis import strategies as st

from sync_engine.domain.content import ContainerKind
from sync_engine.readers.contained import ContainedFile
from sync_engine.readers.mime import open_message


def read_files(mail: bytes) -> list[ContainedFile]:
    return list(open_message(mail).files)


def read_name(*headers: str) -> str | None:
    (file,) = read_files(make_mail(make_part(PDF, *headers)))
    return file.filename


@pytest.mark.parametrize(
    ("headers", "name"),
    [
        pytest.param(["Content-Disposition: attachment; filename=a.pdf"], "a.pdf", id="plain"),
        pytest.param(
            ["Content-Disposition: attachment; filename*0*=utf-8''A%20;\r\n filename*1*=n%C2%B0%2010; filename*2=.pdf"],
            "A n° 10.pdf",
            id="RFC 2231 in pieces",
        ),
        pytest.param(
            ['Content-Disposition: attachment; filename="=?utf-8?Q?f=C3=BCr_M=C3=A4rz.pdf?="'],
            "für März.pdf",
            id="RFC 2047 inside a parameter",
        ),
        pytest.param(
            ['Content-Disposition: attachment; filename="=?utf-8?b?ZsO8ciA=?=\r\n =?utf-8?b?TcOkcnoucGRm?="'],
            "für März.pdf",
            id="two encoded words over two lines",
        ),
        pytest.param(["Content-Disposition: attachment; filename=ciële.pdf"], "ciële.pdf", id="raw UTF-8"),
        pytest.param(["Content-Disposition: attachment; filename=ci\udceble.pdf"], "ciële.pdf", id="raw Windows-1252"),
        pytest.param(["Content-Disposition: attachment; filename=a b c.pdf"], "a b c.pdf", id="blanks, not quoted"),
        pytest.param(
            ["Content-Disposition: attachment; filename=old.pdf; filename*=utf-8''n%C3%A9w.pdf"],
            "néw.pdf",
            id="the extended form counts",
        ),
        pytest.param(
            ["Content-Type: application/pdf; name=type.pdf", "Content-Disposition: attachment; filename=file.pdf"],
            "file.pdf",
            id="the disposition counts",
        ),
        pytest.param(["Content-Type: application/pdf; name=type.pdf"], "type.pdf", id="the type's, without another"),
        pytest.param(["Content-Type: application/pdf"], None, id="none"),
        pytest.param(
            ["Content-Disposition: attachment; filename*=punycode''a-b.pdf"], "a-b.pdf", id="no charset of mails"
        ),
        pytest.param(["Content-Disposition: attachment; filename*0=a; filename*0=b"], None, id="broken pieces"),
    ],
)
def test_names_are_read_in_every_form(headers: list[str], name: str | None) -> None:
    found = read_name(*headers)
    assert found == name or (name is None and found in (None, "a", "ab"))


def test_positions_are_those_of_the_tree_of_parts() -> None:
    inner = make_part(
        b"--i\r\n\r\nText\r\n--i\r\nContent-Type: image/png\r\n\r\nx\r\n--i--",
        "Content-Type: multipart/mixed; boundary=i",
    )
    files = read_files(make_mail(inner, make_file(PDF, "a.pdf")))
    assert [(file.position, file.filename) for file in files] == [("1.1", None), ("2", "a.pdf")]


def test_a_mail_that_is_one_file_has_a_position_too() -> None:
    (file,) = read_files(make_file(PDF, "a.pdf"))
    assert (file.position, file.read(10_000)) == ("0", PDF)


def test_bytes_come_as_they_were_attached() -> None:
    content = bytes(range(256)) * 3
    encoded = base64.encodebytes(content)
    part = b'Content-Disposition: attachment; filename="a"\r\nContent-Transfer-Encoding: base64\r\n\r\n' + encoded
    plain, coded = read_files(make_mail(make_file(b"\x00\r\n\n\xff", "b"), part))
    assert plain.read(100) == b"\x00\r\n\n\xff"
    assert coded.read(10_000) == content
    assert coded.read(3) == content[:3]


def test_an_attached_mail_is_called_by_its_subject() -> None:
    (nested,) = read_files(make_mail(make_forward(make_mail(make_file(PDF, "a.pdf"), subject="=?utf-8?q?R=C3=BC?="))))
    assert (nested.filename, nested.is_message, nested.nested_kind) == ("Rü", True, ContainerKind.MESSAGE)
    assert nested.open_nested is not None
    assert [file.filename for file in nested.open_nested().files] == ["a.pdf"]


def test_an_attached_mail_in_base64_is_decoded_though_no_standard_allows_it() -> None:
    inner = base64.encodebytes(make_mail(make_file(PDF, "a.pdf")))
    part = b"Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n\r\n" + inner
    (nested,) = read_files(make_mail(part))
    assert nested.open_nested is None
    assert [file.filename for file in read_files(nested.read(100_000))] == ["a.pdf"]


@pytest.mark.parametrize(
    "header",
    [
        "Content-Type: text/plain",
        "Content-Type: text/calendar",
        "Content-Type: message/delivery-status",
        "Content-Type: message/external-body; name=elsewhere.pdf",
        "Content-Type: text/plain>",
    ],
)
def test_what_is_shown_or_lies_elsewhere_is_no_file(header: str) -> None:
    assert read_files(make_mail(make_part(b"text", header))) == []


def test_blank_lines_and_a_byte_order_mark_before_the_headers_are_passed_over() -> None:
    mail = make_mail(make_file(PDF, "a.pdf"))
    for start in (b"\r\n\r\n", b"\xef\xbb\xbf", b"From a@b Mon Jan 1 00:00:00 2026\r\n"):
        assert [file.filename for file in read_files(start + mail)] == ["a.pdf"]


def test_the_body_is_there_for_pictures_that_it_shows() -> None:
    mail = make_mail(make_part("<img src='cid:ä'>".encode("latin-1"), "Content-Type: text/html; charset=iso-8859-1"))
    assert "cid:ä" in open_message(mail).html


@settings(max_examples=40)
@given(st.binary(max_size=500))
def test_any_bytes_are_a_mail(content: bytes) -> None:
    for file in read_files(content):
        file.read(10)


@settings(max_examples=40)
@given(
    st.lists(
        st.sampled_from(
            [
                b"Content-Type:",
                b"message/rfc822",
                b"multipart/mixed;boundary=b",
                b"\r\n",
                b"--b",
                b"--",
                b"Content-Disposition:",
                b"attachment",
                b";filename*0*=",
                b"=?utf-8?q?=ff?=",
                b"''%ff",
                b"\xff",
                b" ",
            ]
        ),
        max_size=60,
    )
)
def test_odd_orders_of_what_mails_are_made_of_are_a_mail(pieces: list[bytes]) -> None:
    for file in read_files(b"".join(pieces)):
        file.read(10)
