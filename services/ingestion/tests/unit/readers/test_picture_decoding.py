import zlib
from io import BytesIO

import pypdfium2
import pytest
from PIL import Image
from pypdf import PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, NameObject, NumberObject, StreamObject

from ingestion.readers import picture_decoding
from ingestion.readers.page_images import draw_pdf_pages
from ingestion.readers.picture_decoding import draws_all_pictures


def encode(kind: str) -> bytes:
    file = BytesIO()
    Image.effect_noise((200, 300), 90).save(file, kind)
    return file.getvalue()


JPEG2000 = encode("JPEG2000")


def draw_picture(
    content: bytes, filter_name: str, width: int = 200, height: int = 300, *, in_form: bool = False
) -> bytes:
    writer = PdfWriter()
    page = writer.add_blank_page(595, 842)
    values = {"/Width": width, "/Height": height, "/BitsPerComponent": 8}
    picture = add_stream(writer, "/Image", content, {name: NumberObject(value) for name, value in values.items()})
    picture.update(
        {NameObject("/Filter"): NameObject(filter_name), NameObject("/ColorSpace"): NameObject("/DeviceGray")}
    )
    resources = DictionaryObject(
        {NameObject("/XObject"): DictionaryObject({NameObject("/P"): picture.indirect_reference})}
    )
    operators = b"q 595 0 0 842 0 0 cm /P Do Q"
    if in_form:
        box = ArrayObject(map(NumberObject, (0, 0, 595, 842)))
        form = add_stream(writer, "/Form", operators, {"/BBox": box, "/Resources": resources})
        resources = DictionaryObject(
            {NameObject("/XObject"): DictionaryObject({NameObject("/P"): form.indirect_reference})}
        )
        operators = b"/P Do"
    page[NameObject("/Resources")] = resources
    contents = StreamObject()
    contents.set_data(operators)
    page[NameObject("/Contents")] = writer._add_object(contents)
    writer.write(file := BytesIO())
    return file.getvalue()


def add_stream(writer: PdfWriter, subtype: str, content: bytes, values: dict[str, object]) -> StreamObject:
    stream = StreamObject()
    stream.set_data(content)
    stream[NameObject("/Subtype")] = NameObject(subtype)
    stream.update({NameObject(name): value for name, value in values.items()})
    writer._add_object(stream)
    return stream


def is_drawn(pdf: bytes) -> bool:
    return draws_all_pictures(pypdfium2.PdfDocument(pdf)[0])


@pytest.mark.parametrize("in_form", [False, True])
def test_a_picture_that_can_be_decoded_is_drawn(in_form: bool) -> None:
    assert is_drawn(draw_picture(JPEG2000, "/JPXDecode", in_form=in_form))
    assert is_drawn(draw_picture(encode("JPEG"), "/DCTDecode", in_form=in_form))


@pytest.mark.parametrize(
    "pdf",
    [
        draw_picture(JPEG2000[:-5000], "/JPXDecode"),
        draw_picture(JPEG2000[:-5000], "/JPXDecode", in_form=True),
        draw_picture(JPEG2000, "/OtherDecode"),
        draw_picture(b"no" * 1000, "/JPXDecode"),
        draw_picture(zlib.compress(bytes(1000)), "/FlateDecode", 60_000, 60_000),
    ],
    ids=["cut", "cut in a form", "unknown", "damaged", "too large"],
)
def test_a_page_with_a_picture_that_cannot_is_not_read_as_empty_paper(pdf: bytes) -> None:
    """Skipped as no invoice it would be, beside a covering letter."""
    assert not is_drawn(pdf)
    assert [picture for _, picture, _ in draw_pdf_pages(BytesIO(pdf), [0], 800, None)] == [None]


def test_a_small_mark_that_cannot_be_drawn_is_not_missed() -> None:
    assert is_drawn(draw_picture(b"nothing", "/OtherDecode", 60, 60))


def test_more_pictures_than_a_page_has_are_not_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_decoding, "_MAX_PICTURES", 0)
    assert not is_drawn(draw_picture(JPEG2000, "/JPXDecode"))
