"""Which parts are stored, and the reason of each that is not: the rules of the samples' index, as small cases."""

from dataclasses import replace

import pytest

from mailroom_common.providers.types import OMITTED_PARTS, Part, PartKind
from sync_engine.domain.content import HEAD_BYTES, ContainerKind, detect_content_kind
from sync_engine.domain.parts import (
    MAX_CONTAINER_BYTES,
    MAX_PART_BYTES,
    SkipReason,
    find_container_kind,
    find_shown_ids,
    may_be_document,
    needs_html_body,
    skip_reason_by_content,
    skip_reason_by_name,
)

PDF, PNG, JPEG, TIFF = b"%PDF-1.4", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff\xe0", b"II*\x00"
GIF, TEXT, HTML = b"GIF89a", b"hello", b"<html>"
ZIP, TNEF = b"PK\x03\x04" + b"\x00" * 30, b"\x78\x9f\x3e\x22"
CMS = b"\x30\x82\x10\x00\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02"
CMS_OF_OPEN_LENGTH = b"\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
OCTETS = "application/octet-stream"
DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"


def part(
    filename: str | None,
    content_type: str | None,
    *,
    disposition: str | None = "attachment",
    content_id: str | None = None,
    is_inline: bool | None = None,
    kind: PartKind = PartKind.FILE,
    size_bytes: int | None = None,
) -> Part:
    return Part(
        part_path="1",
        kind=kind,
        filename=filename,
        content_type=content_type,
        size_bytes=size_bytes,
        is_inline=disposition == "inline" if is_inline is None else is_inline,
        content_id=content_id,
        disposition=disposition,
    )


def judge(subject: Part, content: bytes, html: str = "") -> SkipReason | None:
    """Both looks, as a run takes them."""
    return skip_reason_by_name(subject) or skip_reason_by_content(
        subject, detect_content_kind(content[:HEAD_BYTES]), shown_ids=find_shown_ids(html)
    )


@pytest.mark.parametrize(
    ("subject", "content"),
    [
        pytest.param(part("invoice.pdf", "application/pdf"), PDF, id="pdf"),
        pytest.param(
            part("facture.pdf", "application/pdf", disposition="inline"), PDF, id="inline pdf, as Apple sends it"
        ),
        pytest.param(part("RECHNUNG.PDF", OCTETS), PDF, id="pdf declared as octets"),
        pytest.param(part("scan0001.dat", OCTETS), PDF, id="pdf called dat"),
        pytest.param(part(None, "application/pdf"), PDF, id="pdf without a name"),
        pytest.param(part("invoice.pdf", "application/pdf", content_id="x@y"), PDF, id="pdf with a content id"),
        pytest.param(part("data.txt", OCTETS), PDF, id="pdf called txt, where the type does not agree"),
        pytest.param(part("data.bin", "text/plain"), PDF, id="pdf declared text, where the name does not agree"),
        pytest.param(part("cut.pdf", "application/pdf"), PDF[:9], id="pdf cut short: damage is for ingestion to say"),
        pytest.param(part("photo.jpg", "image/jpeg"), JPEG, id="jpeg"),
        pytest.param(part("scan.tif", "image/tiff"), TIFF, id="tiff"),
        pytest.param(part("favicon.jpg", "image/jpeg"), PNG, id="png called jpg"),
        pytest.param(part("favicon.jpg", "image/jpeg", disposition=None), PNG, id="picture without a disposition"),
        pytest.param(part("wibble.JPG", "image/jpeg", content_id="a@b"), JPEG, id="attached picture with a content id"),
    ],
)
def test_documents_are_collected(subject: Part, content: bytes) -> None:
    assert judge(subject, content) is None


@pytest.mark.parametrize(
    ("subject", "content", "reason"),
    [
        pytest.param(part("invoice.pdf", "application/pdf"), TEXT, SkipReason.NOT_A_DOCUMENT, id="text called pdf"),
        pytest.param(
            part("test.pdf", "application/pdf", disposition="inline"), TEXT, SkipReason.NOT_A_DOCUMENT, id="and inline"
        ),
        pytest.param(
            part("test.txt", "text/plain", disposition="inline"), TEXT, SkipReason.NOT_A_DOCUMENT, id="inline text"
        ),
        pytest.param(part("test.csv", "text/plain"), TEXT, SkipReason.NOT_A_DOCUMENT, id="csv"),
        pytest.param(part("test.html", "text/html"), HTML, SkipReason.NOT_A_DOCUMENT, id="html"),
        pytest.param(
            part("a.zip", "application/x-zip-compressed"), HTML, SkipReason.NOT_A_DOCUMENT, id="html called zip"
        ),
        pytest.param(part("some.doc", "application/msword"), HTML, SkipReason.NOT_A_DOCUMENT, id="office document"),
        pytest.param(part("rzkly.gif", "image/gif", disposition=None), GIF, SkipReason.NOT_A_DOCUMENT, id="gif"),
        pytest.param(part("clock.bmp", "application/riscos"), b"BM..", SkipReason.NOT_A_DOCUMENT, id="bmp"),
        pytest.param(
            part("LOGO.png", "application/octetstream"),
            b"abc",
            SkipReason.NOT_A_DOCUMENT,
            id="three letters called png",
        ),
        pytest.param(part("test.bin", OCTETS), ZIP[:16], SkipReason.NOT_A_DOCUMENT, id="too short for a zip"),
        pytest.param(
            part(None, "image/jpeg", disposition="inline", content_id="q@w"),
            TEXT,
            SkipReason.NOT_A_DOCUMENT,
            id="no picture at all",
        ),
        pytest.param(
            part("invoice.pdf", "application/applefile"),
            b"\x00\x05\x16\x07..",
            SkipReason.NOT_A_DOCUMENT,
            id="resource fork",
        ),
        pytest.param(part(None, "text/plain"), b"", SkipReason.EMPTY, id="nothing"),
        pytest.param(
            part("calendar.ics", "text/calendar", size_bytes=0),
            b"",
            SkipReason.EMPTY,
            id="calendar entry without bytes",
        ),
        pytest.param(part("invite.ics", "text/calendar"), TEXT, SkipReason.CALENDAR_OR_CARD, id="calendar entry"),
        pytest.param(part("billing.vcf", "text/vcard"), TEXT, SkipReason.CALENDAR_OR_CARD, id="visiting card"),
        pytest.param(
            part("invite.ics", OCTETS), TEXT, SkipReason.CALENDAR_OR_CARD, id="calendar entry by its name alone"
        ),
        pytest.param(
            part("smime.p7s", "application/pkcs7-signature"), b"\x30\x82", SkipReason.SIGNATURE, id="s/mime signature"
        ),
        pytest.param(
            part("signature.asc", "application/pgp-signature"), TEXT, SkipReason.SIGNATURE, id="pgp signature"
        ),
        pytest.param(part("x.sig", OCTETS), TEXT, SkipReason.SIGNATURE, id="signature by its name alone"),
        pytest.param(part(None, None, kind=PartKind.MESSAGE), b"", SkipReason.EMPTY, id="attached item without bytes"),
        pytest.param(
            part("a", None, kind=PartKind.MESSAGE),
            b"BEGIN:VCALENDAR\r\n",
            SkipReason.CALENDAR_OR_CARD,
            id="attached event",
        ),
        pytest.param(
            part("calendar.ics", "text/calendar", size_bytes=178),
            b"",
            SkipReason.EMPTY,
            id="calendar entry without bytes, as a provider counts it",
        ),
        pytest.param(part("Report.pdf", None, kind=PartKind.LINK), b"", SkipReason.CLOUD_LINK, id="cloud link"),
        pytest.param(OMITTED_PARTS, b"", SkipReason.TOO_MANY_PARTS, id="the parts past the first 500"),
        pytest.param(
            part("r.pdf", None, kind=PartKind.UNAVAILABLE), PDF, SkipReason.UNAVAILABLE, id="no way to its bytes"
        ),
    ],
)
def test_everything_else_is_left_with_its_reason(subject: Part, content: bytes, reason: SkipReason) -> None:
    assert judge(subject, content) is reason


@pytest.mark.parametrize(
    ("subject", "html", "reason"),
    [
        pytest.param(part("a.png", "image/png", disposition="inline"), "", SkipReason.INLINE_PICTURE, id="said inline"),
        pytest.param(
            part("a.png", "image/png", disposition="inline", content_id="x"),
            "cid:x",
            SkipReason.INLINE_PICTURE,
            id="and shown",
        ),
        pytest.param(
            part("logo.png", "image/png", disposition=None, is_inline=True, content_id="logo@s"),
            "",
            SkipReason.REFERENCED_BY_BODY,
            id="related part with a content id and no disposition",
        ),
        pytest.param(
            part("logo.png", "image/png", disposition=None, is_inline=True),
            "",
            SkipReason.INLINE_PICTURE,
            id="inline by the provider's word alone",
        ),
        pytest.param(
            part("logo.png", "image/png", content_id="<logo@s>"),
            '<img src="cid:logo@s">',
            SkipReason.REFERENCED_BY_BODY,
            id="attached, and shown by the body all the same",
        ),
        pytest.param(
            part("logo.png", "image/png", content_id="a b@s"),
            "<img src='CID:a%20b@S'>",
            SkipReason.REFERENCED_BY_BODY,
            id="escaped, and in other letters",
        ),
        pytest.param(
            part("photo.png", "image/png", content_id="photo@s"),
            '<img src="cid:photo@s2">',
            None,
            id="another one is shown",
        ),
    ],
)
def test_pictures_of_the_body_are_no_documents(subject: Part, html: str, reason: SkipReason | None) -> None:
    assert judge(subject, PNG, html) is reason


def test_a_pdf_is_collected_even_where_the_body_refers_to_it() -> None:
    inline = part("facture.pdf", "application/pdf", disposition="inline", content_id="f@s")
    assert judge(inline, PDF, '<object data="cid:f@s">') is None


def test_the_body_is_needed_only_for_a_content_id_that_may_be_a_pictures() -> None:
    assert needs_html_body(part("photo.png", "image/png", content_id="x"))
    assert needs_html_body(part("photo", OCTETS, content_id="x"))
    assert not needs_html_body(part("photo.png", "image/png"))
    assert not needs_html_body(part("invoice.pdf", "application/pdf", content_id="x"))
    assert not needs_html_body(part("logo.png", "image/png", disposition="inline", content_id="x"))


def test_what_is_clearly_too_large_is_not_even_opened() -> None:
    assert (
        skip_reason_by_name(part("film.pdf", "application/pdf", size_bytes=2 * MAX_PART_BYTES)) is SkipReason.TOO_LARGE
    )


def test_a_large_film_is_no_document_rather_than_one_that_somebody_misses() -> None:
    film = part("film.mp4", "video/mp4", size_bytes=4 * MAX_PART_BYTES)
    assert skip_reason_by_name(film) is SkipReason.NOT_A_DOCUMENT


def test_near_the_limit_only_counting_tells() -> None:
    assert skip_reason_by_name(part("big.pdf", "application/pdf", size_bytes=MAX_PART_BYTES + 1)) is None


@pytest.mark.parametrize(
    ("filename", "content_type"),
    [
        ("Rechnung.doc", "application/msword"),
        ("notes.txt", "text/plain"),
        ("film.mp4", "video/mp4"),
        ("invite", "text/calendar"),
        ("Facture.eml", "message/rfc822"),
        ("smime.p7m", "application/pkcs7-mime"),
        ("key.asc", "application/pgp-signature"),
        ("invoice.pdf", "multipart/mixed"),
    ],
)
def test_bytes_decide_whatever_name_and_type_say(filename: str, content_type: str) -> None:
    assert judge(part(filename, content_type), PDF) is None


@pytest.mark.parametrize(
    ("subject", "content", "kind"),
    [
        pytest.param(part("smime.p7m", "application/pkcs7-mime"), CMS, ContainerKind.SMIME, id="s/mime mail"),
        pytest.param(part("invoice.pdf.p7m", OCTETS), CMS, ContainerKind.SMIME, id="signed file"),
        pytest.param(part("a.bin", OCTETS), CMS_OF_OPEN_LENGTH, ContainerKind.SMIME, id="signed, by its bytes alone"),
        pytest.param(part("smime.p7m", "multipart/signed"), TEXT, ContainerKind.SMIME, id="as Exchange shows it"),
        pytest.param(part("smime.p7s", "application/pkcs7-signature"), CMS, None, id="detached signature"),
        pytest.param(part("winmail.dat", OCTETS), TNEF, ContainerKind.TNEF, id="winmail.dat"),
        pytest.param(part("invoices.zip", "application/zip"), ZIP, ContainerKind.ZIP, id="zip"),
        pytest.param(part("invoice.pdf", "application/pdf"), ZIP, ContainerKind.ZIP, id="zip called pdf"),
        pytest.param(part("terms.docx", OCTETS), ZIP, ContainerKind.ZIP, id="zip called docx where types disagree"),
        pytest.param(part("terms.docx", DOCX), ZIP, None, id="office file, which is a zip"),
        pytest.param(part("mail.msg", OCTETS), OLE, ContainerKind.MSG, id="mail that Outlook saved"),
        pytest.param(part("Rechnung.doc", "application/msword"), OLE, None, id="old office file"),
        pytest.param(part("Facture.eml", OCTETS), TEXT, ContainerKind.MESSAGE, id="forwarded mail by its name"),
        pytest.param(part("x", "message/rfc822"), TEXT, ContainerKind.MESSAGE, id="and by its type"),
        pytest.param(part(None, None, kind=PartKind.MESSAGE), TEXT, ContainerKind.MESSAGE, id="attached item"),
        pytest.param(part("Facture.eml", "message/rfc822"), PDF, None, id="pdf called a mail"),
        pytest.param(part("a.txt", "text/plain"), TEXT, None, id="text"),
    ],
)
def test_containers_are_told_by_their_bytes_first(subject: Part, content: bytes, kind: ContainerKind | None) -> None:
    assert skip_reason_by_name(subject) is None or kind is None
    assert find_container_kind(subject, detect_content_kind(content)) is kind


def test_a_container_may_be_twice_as_large_as_a_file() -> None:
    size_bytes = MAX_CONTAINER_BYTES
    assert skip_reason_by_name(part("a.eml", "message/rfc822", size_bytes=size_bytes)) is None
    assert skip_reason_by_name(part("a.eml", "message/rfc822", size_bytes=2 * size_bytes)) is SkipReason.TOO_LARGE
    assert skip_reason_by_name(part("a.pdf", "application/pdf", size_bytes=size_bytes)) is SkipReason.TOO_LARGE


NOISE = bytes(range(256))


@pytest.mark.parametrize(
    "subject",
    [
        pytest.param(part("invoice.pdf", "application/pdf"), id="pdf"),
        pytest.param(part("INVOICE.PDF", "application/x-pdf; name=a", disposition="inline"), id="and inline"),
        pytest.param(part("invoice.pdf", OCTETS), id="pdf whose type says nothing"),
        pytest.param(part("invoice.pdf", None, disposition=None), id="pdf in an archive"),
        pytest.param(part(None, "application/pdf"), id="pdf without a name"),
        pytest.param(part("receipt.jpg", "image/jpeg"), id="picture"),
        pytest.param(part("scan.tif", "image/tiff", disposition=None), id="picture without a disposition"),
    ],
)
@pytest.mark.parametrize("content", [b"", NOISE, NOISE * 20, b"junk\n" * 1500 + PDF, b"MZ\x90\x00"])
def test_what_is_said_to_be_a_document_and_has_no_bytes_of_one_is_damaged(subject: Part, content: bytes) -> None:
    assert judge(subject, content) is SkipReason.DAMAGED
    counted = replace(subject, size_bytes=len(content))
    assert judge(counted, content) is SkipReason.DAMAGED
    assert may_be_document(counted), "its mail is not rejected for want of a document"


@pytest.mark.parametrize(
    ("subject", "content", "reason"),
    [
        pytest.param(part("data.bin", OCTETS), NOISE, SkipReason.NOT_A_DOCUMENT, id="said to be nothing"),
        pytest.param(part("data.bin", OCTETS), b"", SkipReason.EMPTY, id="nothing, said to be nothing"),
        pytest.param(part("notes.txt", "application/pdf"), NOISE, SkipReason.NOT_A_DOCUMENT, id="the name disagrees"),
        pytest.param(part("invoice.pdf", "text/plain"), NOISE, SkipReason.NOT_A_DOCUMENT, id="the type disagrees"),
        pytest.param(part("invoice.pdf", OCTETS), GIF, SkipReason.NOT_A_DOCUMENT, id="another kind that is known"),
        pytest.param(part("invoice.pdf", OCTETS), b"\x00\x05\x16\x07..", SkipReason.NOT_A_DOCUMENT, id="resource fork"),
        pytest.param(
            part("logo.png", "image/png", content_id="x", disposition=None),
            NOISE,
            SkipReason.NOT_A_DOCUMENT,
            id="picture that a body may show",
        ),
        pytest.param(
            part("photo.jpg", "image/jpeg"), b"RIFF....WEBP", SkipReason.NOT_A_DOCUMENT, id="webp called jpeg"
        ),
    ],
)
def test_what_nobody_calls_a_document_or_what_is_another_kind_is_not_damaged(
    subject: Part, content: bytes, reason: SkipReason
) -> None:
    assert judge(subject, content) is reason


def test_an_attached_mail_is_one_whatever_its_first_bytes_look_like() -> None:
    forwarded = part("Facture.eml", "message/rfc822")
    assert find_container_kind(forwarded, detect_content_kind(b"x" * HEAD_BYTES)) is ContainerKind.MESSAGE
    invitation = part("invitation.eml", "text/calendar")
    assert find_container_kind(invitation, detect_content_kind(NOISE)) is None


def test_reasons_are_the_words_that_users_know() -> None:
    assert {str(reason) for reason in SkipReason} == {
        "not_a_document",
        "inline_picture",
        "referenced_by_body",
        "signature",
        "empty",
        "damaged",
        "calendar_or_card",
        "too_large",
        "too_many_parts",
        "cloud_link",
        "gone",
        "unavailable",
        "done_by_other_job",
    }


@pytest.mark.parametrize(
    ("subject", "reason"),
    [
        pytest.param(part("invoice.pdf", "application/pdf", size_bytes=0), SkipReason.DAMAGED, id="no bytes"),
        pytest.param(part("invite.ics", OCTETS), SkipReason.CALENDAR_OR_CARD, id="calendar entry by its name"),
        pytest.param(part("smime.p7s", OCTETS), SkipReason.SIGNATURE, id="signature by its name"),
        pytest.param(part("smime.p7m", OCTETS), None, id="S/MIME mail"),
        pytest.param(part("Rechnung.doc", "application/msword"), None, id="office document"),
        pytest.param(part("notes.txt", "text/plain"), None, id="text"),
        pytest.param(part("invite", "text/calendar"), None, id="calendar entry by its type alone"),
        pytest.param(
            part("logo.png", "image/png", disposition="inline"), SkipReason.INLINE_PICTURE, id="inline picture"
        ),
        pytest.param(part("a.pdf", "application/pdf", size_bytes=MAX_PART_BYTES * 21 // 20), None, id="near the limit"),
        pytest.param(
            part("a.pdf", "application/pdf", size_bytes=MAX_PART_BYTES * 21 // 20 + 1),
            SkipReason.TOO_LARGE,
            id="clearly beyond it",
        ),
    ],
)
def test_what_the_provider_says_decides_before_any_byte_is_fetched(subject: Part, reason: SkipReason | None) -> None:
    assert skip_reason_by_name(subject) is reason


@pytest.mark.parametrize(
    ("filename", "content_type", "is_needed"),
    [
        ("a.pdf", "application/pdf", False),
        ("a.pdf", OCTETS, True),
        ("a.bin", "application/pdf", True),
        ("a.png", "image/png", True),
    ],
)
def test_the_body_is_fetched_unless_name_and_type_agree_on_a_pdf(
    filename: str, content_type: str, is_needed: bool
) -> None:
    assert needs_html_body(part(filename, content_type, content_id="x@y")) is is_needed


def test_of_a_body_without_end_a_bounded_number_of_ids_is_kept_and_none_that_no_part_can_have() -> None:
    html = "".join(f"<img src='cid:{number}'>" for number in range(20_000))
    assert find_shown_ids(html) == {str(number) for number in range(10_000)}
    assert find_shown_ids(f"<img src='cid:{'x' * 2000}'><img src='cid:A%40B'>") == {"a@b"}
