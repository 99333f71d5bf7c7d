"""Where on its pages a document has the values that were read, and the page images on which a UI shows them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Self

MAX_BOXES = 400
_MAX_FIELD_CHARACTERS = 100

MAX_SIDE_PIXELS = 1700  # an A4 page at two pixels a point
MAX_IMAGE_BYTES = 4_000_000
DRAWING_VERSION = "2"
"""Of how pages are drawn: raised where the same page gives another image."""


@dataclass(frozen=True, slots=True)
class EvidenceBox:
    """A place that has the value of a field. `page` counts from 0; the rest is in points, from the top left corner of
    the page as it is shown. `field` is a name of `extraction`, or `trades[0].isin`."""

    field: str
    page: int
    x: float
    y: float
    width: float
    height: float

    def to_json(self) -> dict[str, Any]:
        """As the API shows it, where pages count from 1."""
        places = {name: round(getattr(self, name), 1) for name in ("x", "y", "width", "height")}
        return {"field": self.field, "page": self.page + 1, **places}

    def to_list(self) -> list[str | int | float]:
        return [self.field, self.page, self.x, self.y, self.width, self.height]

    @classmethod
    def from_list(cls, values: Any) -> Self:
        """
        Raises:
            ValueError, TypeError: `to_list` makes no such list.
        """
        name, page, *places = values
        x, y, width, height = map(float, places)
        if not isinstance(name, str) or len(name) > _MAX_FIELD_CHARACTERS or not isinstance(page, int) or page < 0:
            raise ValueError("there is no such field, or page")
        if not all(map(isfinite, (x, y, width, height))):
            raise ValueError("there is no such place")
        return cls(name, page, x, y, width, height)


@dataclass(frozen=True, slots=True)
class PageImage:
    """A PNG. Boxes of `evidence` fit on it times `pixels_per_point`."""

    png: bytes = field(repr=False)
    pixels_per_point: float


def build_evidence_view(boxes: list[Mapping[str, Any]], pages_not_read: list[int]) -> dict[str, Any]:
    return {"unit": "pt", "origin": "top_left", "boxes": boxes, "pages_not_read": pages_not_read}
