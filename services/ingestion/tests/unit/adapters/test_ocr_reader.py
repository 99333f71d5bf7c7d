"""OCR where it really runs: in a confined process that was forked with the models loaded."""

from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from reading_quality.drawn_receipts import draw_receipt

from ingestion.adapters.ocr_reader import _decode_lines
from ingestion.app.ocr import build_ocr_reader, open_ocr_pool
from ingestion.domain.reasons import ReviewReason
from ingestion.domain.transcript import TIFF, Transcript
from ingestion.settings import OCRSettings

SETTINGS = OCRSettings(ocr_processes=1)
# It lies on its head, askew.
RECEIPT = draw_receipt(1)


async def test_pages_of_a_scan_are_read_whichever_way_they_lie(tmp_path: Path) -> None:
    blank = Image.new("L", (300, 400), 255)
    picture = BytesIO()
    blank.save(picture, "TIFF", save_all=True, append_images=[Image.open(BytesIO(RECEIPT.picture))])
    file = tmp_path / "scan.tiff"
    file.write_bytes(picture.getvalue())
    open_pool = partial(open_ocr_pool, SETTINGS, private_paths=[], allow_unconfined=False)
    async with build_ocr_reader(SETTINGS, open_pool) as reader:
        read = await reader.read_pictures(file, Transcript(TIFF, 2, pictured_pages=(0, 1)))
    (total,) = [line for line in read.lines if line.text.startswith("Gesamtbetrag")]
    assert (total.page, total.cells[-1].text.replace(",", ".").removesuffix(" €")) == (1, RECEIPT.truth["total_gross"])
    assert all(0.5 < cell.confidence < 1 for line in read.lines for cell in line.cells)
    # What is on the first page nobody knows: it may be empty.
    assert read.unread == (ReviewReason.IMAGE_NEEDS_OCR,)


@pytest.mark.parametrize(
    "answer",
    [
        [[7, 1.0, 1.0, [["Total", 0, 1, 0.9]]]],
        [[0, 1.0, 1.0, [["Total", 0, 1, 7]]]],
        [[0, 1.0, 1.0, [[5, 0, 1, 0.9]]]],
        [[0, 1.0, 1.0, [["Total", 0]]]],
    ],
    ids=["a page that was not asked for", "more than certain", "no text", "no place"],
)
def test_an_answer_that_our_reader_does_not_give_is_refused(answer: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        _decode_lines(answer, frozenset({0}))
