"""What bytes are, whatever they are called."""

from base64 import b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sync_engine.domain.content import HEAD_BYTES, ContainerKind, ContentKind, detect_content_kind, find_stored_type

_ZIP_OF_A_PDF = b"PK\x03\x04" + b"\x00" * 22 + b"\x0b\x00\x00\x00" + b"invoice.pdf" + b"%PDF-1.4\n..."


@pytest.mark.parametrize(
    ("head", "content"),
    [
        pytest.param(b"", ContentKind.EMPTY, id="nothing"),
        pytest.param(b"%PDF-1.7\n", ContentKind.PDF, id="pdf"),
        pytest.param(b"\r\n" * 500 + b"%PDF-1.4", ContentKind.PDF, id="pdf header within the first kilobyte"),
        pytest.param(b" " * 1024 + b"%PDF-1.4", ContentKind.UNKNOWN, id="pdf header beyond the first kilobyte"),
        pytest.param(b"please send a %PDF- file", ContentKind.OTHER, id="text that only speaks of one"),
        pytest.param(_ZIP_OF_A_PDF, ContentKind.ZIP, id="zip whose first kilobyte holds a pdf header"),
        pytest.param(b"\x78\x9f\x3e\x22" + b"%PDF-1.4", ContentKind.TNEF, id="tnef whose first kilobyte holds one"),
        pytest.param(b"PK\x05\x06" + b"\x00" * 18, ContentKind.ZIP, id="empty zip"),
        pytest.param(b"PK\x03\x04" + b"\x00" * 12, ContentKind.OTHER, id="too short for a zip"),
        pytest.param(b"PK\x03\x04" + b"\x00" * 26 + b"[Content_Types].xml", ContentKind.OTHER, id="office document"),
        pytest.param(
            b"PK\x03\x04" + b"\x00" * 26 + b"mimetypeapplication/vnd.oasis", ContentKind.OTHER, id="open document"
        ),
        pytest.param(
            b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"%PDF-1.4", ContentKind.OLE, id="doc or msg with a pdf inside"
        ),
        pytest.param(b"\x00\x05\x16\x07" + b"%PDF-1.4", ContentKind.OTHER, id="resource fork of a pdf"),
        pytest.param(b"\x89PNG\r\n\x1a\n....", ContentKind.PNG, id="png"),
        pytest.param(b"PNG", ContentKind.OTHER, id="three letters called png"),
        pytest.param(b"\xff\xd8\xff\xe0..", ContentKind.JPEG, id="jpeg"),
        pytest.param(b"II*\x00....", ContentKind.TIFF, id="little-endian tiff"),
        pytest.param(b"MM\x00*....", ContentKind.TIFF, id="big-endian tiff"),
        pytest.param(b"MM\x00+....", ContentKind.TIFF, id="big tiff"),
        pytest.param(b"GIF89a", ContentKind.OTHER, id="gif"),
        pytest.param(b"BM....", ContentKind.OTHER, id="bmp"),
        pytest.param(b"<html>", ContentKind.OTHER, id="html"),
        pytest.param(b"BEGIN:VCALENDAR", ContentKind.CALENDAR_OR_CARD, id="calendar entry"),
        pytest.param(b"\xef\xbb\xbfbegin:vcard\r\n", ContentKind.CALENDAR_OR_CARD, id="visiting card"),
        pytest.param(
            b"\x30\x82\x10\x00\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x02%PDF-1.4", ContentKind.CMS, id="signed pdf"
        ),
        pytest.param(b"\x30\x80\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07\x03", ContentKind.CMS, id="encrypted mail"),
        pytest.param(b"\x30\x82\x10\x00\x02\x01\x00", ContentKind.UNKNOWN, id="a key"),
        pytest.param(b"RIFF\x10\x00\x00\x00WEBPVP8 ", ContentKind.OTHER, id="webp"),
        pytest.param(b"\x00\x00\x00\x18ftypheic", ContentKind.OTHER, id="heic"),
        pytest.param("Grüße, die Rechnung folgt.\n".encode(), ContentKind.OTHER, id="text"),
        pytest.param("Grüße".encode("latin-1"), ContentKind.UNKNOWN, id="letters of another encoding"),
        pytest.param(b"junk\n" * 1500, ContentKind.UNKNOWN, id="text that goes on"),
        pytest.param(b64encode(b"%PDF-1.4" + bytes(60)), ContentKind.UNKNOWN, id="pdf that is still encoded"),
        pytest.param(b"MZ\x90\x00\x03", ContentKind.UNKNOWN, id="program"),
    ],
)
def test_the_first_bytes_decide(head: bytes, content: ContentKind) -> None:
    assert detect_content_kind(head) is content


@given(st.binary(max_size=HEAD_BYTES))
def test_any_bytes_are_something(head: bytes) -> None:
    assert (detect_content_kind(head) is ContentKind.EMPTY) is (head == b"")


def test_what_is_collected_has_a_type_and_an_ending_of_its_own() -> None:
    documents = map(find_stored_type, (ContentKind.PDF, ContentKind.PNG, ContentKind.JPEG, ContentKind.TIFF))
    assert [(stored.media_type, stored.file_extension) for stored in documents] == [
        ("application/pdf", "pdf"),
        ("image/png", "png"),
        ("image/jpeg", "jpg"),
        ("image/tiff", "tif"),
    ]
    assert {find_stored_type(kind).file_extension for kind in ContainerKind} == {"eml", "zip", "dat", "p7m", "msg"}
