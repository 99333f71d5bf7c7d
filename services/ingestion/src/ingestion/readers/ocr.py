"""The reader that an OCR process is asked for: the pages of a file that are pictures become lines of text."""

import time
from collections.abc import Mapping
from typing import Any, BinaryIO

from PIL import Image

from ingestion.domain.ocr_alphabet import build_alphabet
from ingestion.domain.page_orientation import PageOrientation
from ingestion.domain.transcript import TextLine
from ingestion.readers.document_pictures import draw_document_pages
from ingestion.readers.ocr_engine import MAX_SIDE_PIXELS, ReadPicture, read_picture
from ingestion.readers.ocr_text import build_text_lines, estimate_slope
from ingestion.readers.page_budget import PageBudget, measure_shares
from mailroom_common.parser import JSON


def read_pictured_pages(file: BinaryIO, arguments: Mapping[str, Any]) -> JSON:
    """Of `pages`, in their order, as many as `cpu_s` and `wall_s` allow: `read` are their numbers, `cut` those of which
    only a part was read, `blank` those with nothing on them, and `lines` and `orientations` are much as
    `Transcript.to_json` has them.

    Raises:
        UnreadableFile: `unreadable` when the file is damaged.
    """
    alphabet = build_alphabet(arguments["languages"])
    budget = PageBudget(measure_shares(arguments["cpu_s"], arguments["wall_s"], time.process_time, time.monotonic))
    read: list[int] = []
    cut: list[int] = []
    blank: list[int] = []
    lines: list[TextLine] = []
    orientations: list[list[Any]] = []
    pages = budget.spend_on(arguments["pages"])
    for number, picture, points in draw_document_pages(file, pages, MAX_SIDE_PIXELS, arguments.get("password")):
        read.append(number)
        if picture is None:
            continue
        found = read_picture(picture, alphabet, budget.is_page_spent)
        lines += build_text_lines(number, found.texts, points)
        orientations.append([number, *_find_orientation(found, picture, points).to_list()])
        cut += [number] if found.is_cut else []
        blank += [number] if found.is_blank else []
    return {
        "read": read,
        "cut": cut,
        "blank": blank,
        "lines": [_list_values(line) for line in lines],
        "orientations": orientations,
    }


def _find_orientation(found: ReadPicture, picture: Image.Image, points: float) -> PageOrientation:
    width, height = (side * points for side in picture.size)
    if found.quarter_turns % 2:
        width, height = height, width
    return PageOrientation(found.quarter_turns, estimate_slope(found.texts), width, height)


def _list_values(line: TextLine) -> list[Any]:
    cells = [[cell.text, cell.left, cell.right, list(cell.word_confidences)] for cell in line.cells]
    return [line.page, line.top, line.height, cells]
