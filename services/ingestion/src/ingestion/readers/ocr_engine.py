"""Letters on a picture, by the models that the package rapidocr brings (PP-OCRv6, on onnxruntime).

Imported by the fork server of the OCR processes only: the models are loaded here, once, and each process that is forked
has them. That is safe because nothing here starts a thread: a fork copies one, and would leave the others' locks held.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

# Before they are imported: OpenBLAS and OpenMP would start a thread for each core, onnxruntime one for its telemetry.
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1", ORT_DISABLE_TELEMETRY="1")

import cv2
import numpy as np
from PIL import Image
from rapidocr import RapidOCR

from ingestion.readers.ocr_batches import SHORTEST_PIECE, form_batches, measure_length
from ingestion.readers.ocr_text import Quad, ReadText, build_read_text

# A page of A4 at 155 dpi: letters of 6 points are 13 pixels high there, and memory and time grow with the area.
MAX_SIDE_PIXELS = 1800
_MAX_TEXTS = 600  # of one picture
_DIRECTION_SAMPLES = 6
_SAMPLE_LENGTH = SHORTEST_PIECE  # width to height of the part of a piece that tells which way up it stands
_TALL = 1.5  # height to width, from which on a piece of text runs up or down the picture

_PAPER_PIXELS = 51  # around a pixel: wider than the stroke of any letter
_GRAIN = 10  # grey levels

Pixels = Any  # numpy's arrays of bytes: rows, columns, three colours

cv2.setNumThreads(1)
_MODELS = files("rapidocr") / "models"
# Paths are given, since without them rapidocr fetches what it does not find.
# Any: what a call of it answers depends on what it is asked for.
_ENGINE: Any = RapidOCR(
    params={
        "Global.log_level": "critical",
        "Global.max_side_len": MAX_SIDE_PIXELS,
        "Global.text_score": 0.0,
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        "Det.model_path": str(_MODELS / "PP-OCRv6_det_small.onnx"),
        "Cls.model_path": str(_MODELS / "ch_ppocr_mobile_v2.0_cls_mobile.onnx"),
        "Rec.model_path": str(_MODELS / "PP-OCRv6_rec_small.onnx"),
    }
)


@dataclass(frozen=True, slots=True)
class ReadPicture:
    """`is_cut`: there is more text on it than was read. `is_blank`: it is paper, and nothing else. `quarter_turns`
    against the clock laid it upright."""

    texts: list[ReadText]
    is_cut: bool = False
    is_blank: bool = False
    quarter_turns: int = 0


def read_picture(picture: Image.Image, alphabet: frozenset[str], is_spent: Callable[[], bool]) -> ReadPicture:
    """Every piece of text on a picture in three colours, which is turned upright for it, until `is_spent` says so.

    Letters that are not in `alphabet` are read as the likeliest one that is.
    """
    pixels = np.array(picture)
    quads = _find_texts(pixels)
    if not quads:
        return ReadPicture([], is_blank=_is_blank(pixels))
    quarter_turns = 0
    if _runs_upwards(quads):
        quarter_turns = 1
        pixels = np.ascontiguousarray(np.rot90(pixels))
        # Text that runs upwards is found less well than the same text laid level.
        quads = _find_texts(pixels)
    if _is_upside_down(pixels, quads, alphabet):
        quarter_turns += 2
        pixels = np.ascontiguousarray(np.rot90(pixels, 2))
        quads = [_turn_over(quad, pixels) for quad in quads]
    kept = quads[:_MAX_TEXTS]
    read = _recognize([_cut_out(pixels, quad) for quad in kept], alphabet, is_spent)
    texts = [build_read_text(quad, letters) for quad, letters in zip(kept, read, strict=True) if letters]
    is_cut = len(kept) < len(quads) or any(letters is None for letters in read)
    return ReadPicture(texts, is_cut, quarter_turns=quarter_turns)


def _find_texts(pixels: Pixels) -> list[Quad]:
    """The four corners of each piece of text, from its upper left one on."""
    boxes = _ENGINE(pixels, use_det=True, use_cls=False, use_rec=False).boxes
    return [] if boxes is None else [tuple((float(x), float(y)) for x, y in box) for box in boxes]


def _is_blank(pixels: Pixels) -> bool:
    """Whether nothing differs from the paper around it by more than a scanner's grain, a faded letter included."""
    grey = cv2.cvtColor(pixels, cv2.COLOR_RGB2GRAY)
    grey = cv2.GaussianBlur(grey, (0, 0), 1.0)
    paper = cv2.medianBlur(grey, _PAPER_PIXELS)
    return bool(cv2.absdiff(grey, paper).max() <= _GRAIN)


def _runs_upwards(quads: Sequence[Quad]) -> bool:
    """Whether most of the text, by its length, runs up or down the picture: the page lies on its side."""
    tall = sum(height for width, height in map(_measure, quads) if height > _TALL * width)
    wide = sum(width for width, height in map(_measure, quads) if height <= _TALL * width)
    return tall > wide


def _turn_over(quad: Quad, pixels: Pixels) -> Quad:
    """Where a piece of text stands once its picture was turned on its head: the lower right corner comes first."""
    height, width = pixels.shape[:2]
    upper_left, upper_right, lower_right, lower_left = ((width - x, height - y) for x, y in quad)
    return lower_right, lower_left, upper_left, upper_right


def _is_upside_down(pixels: Pixels, quads: Sequence[Quad], alphabet: frozenset[str]) -> bool:
    """The longest pieces are read both ways, a part of each: letters that stand on their heads are hardly any."""
    longest = sorted(quads, key=lambda quad: -_measure(quad)[0])[:_DIRECTION_SAMPLES]
    crops = [_cut_out(pixels, quad) for quad in longest]
    crops = [crop[:, : max(round(crop.shape[0] * _SAMPLE_LENGTH), 1)] for crop in crops]
    turned = [np.ascontiguousarray(np.rot90(crop, 2)) for crop in crops]
    return _sum_certainty(turned, alphabet) > _sum_certainty(crops, alphabet)


def _sum_certainty(crops: Sequence[Pixels], alphabet: frozenset[str]) -> float:
    read = _recognize(crops, alphabet)
    return sum(sum(certainty for _, certainty in letters) / len(letters) for letters in read if letters)


def _measure(quad: Quad) -> tuple[float, float]:
    (x0, y0), (x1, y1), _, (x3, y3) = quad
    return float(np.hypot(x1 - x0, y1 - y0)), float(np.hypot(x3 - x0, y3 - y0))


def _cut_out(pixels: Pixels, quad: Quad) -> Pixels:
    """The piece of text, level and without its perspective."""
    width, height = (max(round(side), 1) for side in _measure(quad))
    corners = np.array([(0, 0), (width, 0), (width, height), (0, height)], dtype=np.float32)
    straighten = cv2.getPerspectiveTransform(np.array(quad, dtype=np.float32), corners)
    return cv2.warpPerspective(
        pixels, straighten, (width, height), borderMode=cv2.BORDER_REPLICATE, flags=cv2.INTER_CUBIC
    )


Letters = list[tuple[str, float]]


def _recognize(
    crops: Sequence[Pixels], alphabet: frozenset[str], is_spent: Callable[[], bool] = lambda: False
) -> list[Letters | None]:
    """The letters of each piece with their certainties, from 0 to 1. None: not read, since `is_spent`."""
    read: list[Letters | None] = [None for _ in crops]
    for batch in form_batches([_measure_length(crop) for crop in crops]):
        if is_spent():
            break
        for index, letters in zip(batch, _recognize_batch([crops[index] for index in batch], alphabet), strict=True):
            read[index] = letters
    return read


def _measure_length(crop: Pixels) -> float:
    return measure_length(crop.shape[1], crop.shape[0])


def _recognize_batch(crops: Sequence[Pixels], alphabet: frozenset[str]) -> Iterator[Letters]:
    recognizer = _ENGINE.text_rec
    longest = max(map(_measure_length, crops))
    batch = np.stack([recognizer.resize_norm_img(crop, longest) for crop in crops])
    places, letters = _find_letters(alphabet)
    for steps in recognizer.session(batch):
        scores = steps[:, places]
        best = scores.argmax(axis=1)
        kept = [at for at in range(len(best)) if best[at] and (at == 0 or best[at] != best[at - 1])]
        yield [(letters[best[at]], float(scores[at, best[at]])) for at in kept]


@cache
def _find_letters(alphabet: frozenset[str]) -> tuple[Any, list[str]]:
    """The places of the letters of an alphabet among those of the model, and these letters. The first is the model's
    sign for no letter. Models of many alphabets read a blurred `%` as a sign of another one."""
    characters: list[str] = _ENGINE.text_rec.postprocess_op.character
    found = [(index, letter) for index, letter in enumerate(characters) if not index or letter in alphabet]
    return np.array([index for index, _ in found]), [letter for _, letter in found]


def _load_models() -> None:
    """Each model is loaded by its first use, which must be before the fork."""
    blank = np.full((96, 96, 3), 255, dtype=np.uint8)
    cv2.putText(blank, "A1", (20, 60), cv2.FONT_HERSHEY_SIMPLEX, 1, (0, 0, 0), 2)
    _ENGINE(blank, use_det=True, use_cls=False, use_rec=True)


_load_models()
# Whoever waits for a digital document would wait for seconds of OCR otherwise.
os.nice(10)
