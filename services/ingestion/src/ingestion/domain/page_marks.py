"""What somebody did to a page once it was written: what it says is not what it means any more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

PAGE_MARKS = "page_marks"
"""The key of an extraction under which a person is shown them."""

MAX_MARKS = 20  # of a document
_MAX_LETTERS = 60


@dataclass(frozen=True, slots=True)
class PageMarks:
    """`struck_out` are the words through which a line goes; they are in no line of a transcript."""

    struck_out: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.struck_out)

    def __add__(self, other: "PageMarks") -> "PageMarks":
        return PageMarks((*self.struck_out, *other.struck_out)).limit()

    def limit(self) -> Self:
        """The first of them, and of each the beginning: a person looks at the page."""
        return type(self)(tuple(word[:_MAX_LETTERS] for word in self.struck_out[:MAX_MARKS]))

    def to_json(self) -> dict[str, Any]:
        return {"struck_out": list(self.struck_out)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(tuple(map(str, value["struck_out"]))).limit()


NO_MARKS = PageMarks()
