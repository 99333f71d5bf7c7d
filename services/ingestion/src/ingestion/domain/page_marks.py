"""What somebody did to a page once it was written: what it says is not what it means any more."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

PAGE_MARKS = "page_marks"
"""The key of an extraction under which a person is shown them."""

MAX_MARKS = 20  # of a kind, of a document
MAX_MARK_LETTERS = 60


@dataclass(frozen=True, slots=True)
class Stamp:
    """Words that stand across the lines of a page, or were pinned to it. `is_large`: nobody overlooks them."""

    text: str
    is_large: bool


@dataclass(frozen=True, slots=True)
class PageMarks:
    """`struck_out` are the words through which a line goes; neither they nor `stamps` are in a line of a transcript.
    `is_crossed_out` says that a line goes across a page. `comments` are those with numbers that a reader of the file
    added, which are lines of it too."""

    struck_out: tuple[str, ...] = ()
    stamps: tuple[Stamp, ...] = ()
    is_crossed_out: bool = False
    comments: tuple[str, ...] = ()

    def __add__(self, other: "PageMarks") -> "PageMarks":
        is_crossed_out = self.is_crossed_out or other.is_crossed_out
        joined = (*self.struck_out, *other.struck_out), (*self.stamps, *other.stamps)
        return PageMarks(*joined, is_crossed_out, (*self.comments, *other.comments)).limit()

    def limit(self) -> Self:
        """The first of them, and of each the beginning: a person looks at the page. One stamp may stand on it often."""
        stamps = dict.fromkeys(Stamp(stamp.text[:MAX_MARK_LETTERS], stamp.is_large) for stamp in self.stamps)
        words = tuple(word[:MAX_MARK_LETTERS] for word in self.struck_out[:MAX_MARKS])
        comments = tuple(comment[:MAX_MARK_LETTERS] for comment in self.comments[:MAX_MARKS])
        return type(self)(words, tuple(stamps)[:MAX_MARKS], self.is_crossed_out, comments)

    def to_json(self) -> dict[str, Any]:
        return {
            "struck_out": list(self.struck_out),
            "stamps": [[stamp.text, stamp.is_large] for stamp in self.stamps],
            "is_crossed_out": self.is_crossed_out,
            "comments": list(self.comments),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        stamps = (Stamp(str(text), bool(is_large)) for text, is_large in value["stamps"])
        words, comments = (tuple(map(str, value[name])) for name in ("struck_out", "comments"))
        return cls(words, tuple(stamps), bool(value["is_crossed_out"]), comments).limit()


NO_MARKS = PageMarks()
