from io import BytesIO

import pytest
from PIL import Image

from ingestion.readers.image import count_image_pages
from mailroom_common.parser import UnreadableFile

TYPES = {"PNG": "image/png", "JPEG": "image/jpeg", "TIFF": "image/tiff"}


def draw_picture(kind: str, *, pages: int = 1) -> bytes:
    file = BytesIO()
    images = [Image.new("L", (80, 120), 255) for _ in range(pages)]
    more = {"save_all": True, "append_images": images[1:]} if pages > 1 else {}
    images[0].save(file, kind, **more)
    return file.getvalue()


@pytest.mark.parametrize("kind", TYPES)
def test_a_picture_has_one_page(kind: str) -> None:
    assert count_image_pages(BytesIO(draw_picture(kind)), TYPES[kind]) == 1


def test_a_fax_has_as_many_pages_as_were_sent() -> None:
    assert count_image_pages(BytesIO(draw_picture("TIFF", pages=3)), "image/tiff") == 3


def test_the_small_copy_that_a_telephone_puts_behind_its_photograph_is_no_page() -> None:
    file = BytesIO()
    photograph = Image.new("L", (80, 120), 255)
    photograph.save(file, "MPO", save_all=True, append_images=[photograph.resize((8, 12))])
    assert count_image_pages(file, "image/jpeg") == 1


def test_a_picture_of_another_format_than_its_first_bytes_say_is_not_tried() -> None:
    with pytest.raises(UnreadableFile):
        count_image_pages(BytesIO(draw_picture("PNG")), "image/tiff")


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
def test_a_damaged_picture_is_unreadable(kind: str) -> None:
    with pytest.raises(UnreadableFile) as refused:
        count_image_pages(BytesIO(draw_picture(kind)[:60]), TYPES[kind])
    assert refused.value.reason == "unreadable"


@pytest.mark.parametrize("size", [(64, 64), (1, 1), (700, 12)], ids=["icon", "counting pixel", "rule"])
def test_a_picture_without_room_for_words_is_no_document(size: tuple[int, int]) -> None:
    file = BytesIO()
    Image.new("L", size).save(file, "PNG")
    with pytest.raises(UnreadableFile) as refused:
        count_image_pages(file, "image/png")
    assert refused.value.reason == "not_a_document"


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
def test_a_picture_larger_than_any_page_is_not_decoded() -> None:
    file = BytesIO()
    Image.new("1", (10_001, 10_000)).save(file, "PNG")
    with pytest.raises(UnreadableFile):
        count_image_pages(file, "image/png")
