"""A page of a document as a picture, and how large one may be."""

from dataclasses import dataclass, field

MAX_SIDE_PIXELS = 1700  # an A4 page at two pixels a point
MAX_PICTURE_BYTES = 4_000_000
# Of the drawing: another one makes another picture of the same page.
DRAWING = "1"


@dataclass(frozen=True, slots=True)
class DrawnPage:
    """A PNG. Boxes of `evidence` fit on it times `pixels_per_point`."""

    png: bytes = field(repr=False)
    pixels_per_point: float
