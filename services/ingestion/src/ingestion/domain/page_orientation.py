"""How the picture of a page was turned before its lines were read: it gives their places on the page that is shown."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, isfinite, pi, sin
from typing import Any, Self

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class PageOrientation:
    """It was turned by so many quarters, against the clock, and then its lines were levelled: they had this `slope`
    (radians, downwards to the right). `width` and `height` are those of the turned picture, in points."""

    quarter_turns: int
    slope: float
    width: float
    height: float

    def place_box(self, left: float, top: float, right: float, bottom: float) -> tuple[float, float, float, float]:
        """The left, top, right and bottom edge of what holds a box, on the page as it is shown."""
        corners = [self._place_point(x, y) for x in (left, right) for y in (top, bottom)]
        across, down = zip(*corners, strict=True)
        return min(across), min(down), max(across), max(down)

    def _place_point(self, x: float, y: float) -> Point:
        x, y = x * cos(self.slope) - y * sin(self.slope), x * sin(self.slope) + y * cos(self.slope)
        width, height = self.width, self.height
        for _ in range(self.quarter_turns):
            x, y = height - y, x
            width, height = height, width
        return x, y

    def to_list(self) -> list[int | float]:
        return [self.quarter_turns, self.slope, self.width, self.height]

    @classmethod
    def from_list(cls, values: Sequence[Any]) -> Self:
        """
        Raises:
            ValueError, TypeError: `to_list` makes no such list.
        """
        turns, *measures = values
        slope, width, height = map(float, measures)
        if type(turns) is not int or not 0 <= turns <= 3:
            raise ValueError("there is no such turn")
        if not all(map(isfinite, (slope, width, height))) or abs(slope) > pi or min(width, height) < 0:
            raise ValueError("there is no such page")
        return cls(turns, slope, width, height)
