"""OCR where it really runs: in a confined process that was forked with the models loaded."""

from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from reading_quality.drawn_receipts import draw_receipt

from ingestion.adapters.ocr_reader import _decode_pages
from ingestion.app.ocr import build_ocr_reader, open_ocr_pool
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import TIFF, Transcript
from ingestion.settings import OCRSettings

SETTINGS = OCRSettings(ocr_processes=1)
# It lies on its head, askew.
RECEIPT = draw_receipt(1)


async def test_pages_of_a_scan_are_read_whichever_way_they_lie(tmp_path: Path) -> None:
    blank = Image.new("L", (300, 400), 255)
    # On its side, and on its head once it was laid upright.
    turned = Image.open(BytesIO(RECEIPT.picture)).transpose(Image.Transpose.ROTATE_270)
    picture = BytesIO()
    blank.save(picture, "TIFF", save_all=True, append_images=[turned])
    file = tmp_path / "scan.tiff"
    file.write_bytes(picture.getvalue())
    open_pool = partial(open_ocr_pool, SETTINGS, private_paths=[], allow_unconfined=False)
    async with build_ocr_reader(SETTINGS, open_pool) as reader:
        parts = [part async for part in reader.read_pictures(file, Transcript(TIFF, 2, pictured_pages=(0, 1)))]
    read = parts[-1]
    (total,) = [line for line in read.lines if line.text.startswith("Gesamtbetrag")]
    assert (total.page, total.cells[-1].text.replace(",", ".").removesuffix(" €")) == (1, RECEIPT.truth["total_gross"])
    assert all(0.5 < cell.confidence < 1 for line in read.lines for cell in line.cells)
    assert read.orientations[1].quarter_turns == 3
    # The first page is empty.
    assert [part.unread for part in parts] == [(ReviewReason.PAGES_NOT_READ,), ()]


@pytest.mark.parametrize(
    "changed",
    [
        {"lines": [[7, 1.0, 1.0, [["Total", 0, 1, [0.9]]]]]},
        {"lines": [[0, 1.0, 1.0, [["Total", 0, 1, [7]]]]]},
        {"lines": [[0, 1.0, 1.0, [["Total", 0, 1, []]]]]},
        {"lines": [[0, 1.0, 1.0, [[5, 0, 1, [0.9]]]]]},
        {"lines": [[0, 1.0, 1.0, [["Total", 0]]]]},
        {"read": [7]},
        {"read": [0, 0]},
        {"blank": [7]},
        {"orientations": [[7, 0, 0.0, 1.0, 1.0]]},
        {"orientations": [[0, 9, 0.0, 1.0, 1.0]]},
    ],
    ids=[
        "a page that was not asked for",
        "more than certain",
        "a word of which nobody says how certain it is",
        "no text",
        "no place",
        "another page",
        "a page twice",
        "another page is empty",
        "another page was turned",
        "a turn that there is not",
    ],
)
def test_an_answer_that_our_reader_does_not_give_is_refused(changed: Any) -> None:
    usual = {
        "read": [0],
        "cut": [],
        "blank": [],
        "lines": [[0, 1.0, 1.0, [["Total", 0, 1, [0.9]]]]],
        "orientations": [],
    }
    assert _decode_pages(usual, frozenset({0})).lines
    with pytest.raises((ValueError, TypeError, AttributeError)):
        _decode_pages({**usual, **changed}, frozenset({0}))
