"""Python sources of the packages as syntax trees, with the comments that belong to a node."""

import ast
import io
import tokenize
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

SOURCE_FOLDERS = ("libs/*/src", "services/*/src", "cli/src")
_NOT_PROSE = ("noqa", "type:", "pragma:")


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the page, and what in it has no meaning."""

    text: str
    gaps: list[str]


class Source:
    """A module: its dotted name, its tree, and its comments by line, each read when it is asked for first."""

    def __init__(self, file: Path, package_root: Path) -> None:
        parts = file.relative_to(package_root).with_suffix("").parts
        self.module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self._file = file

    @cached_property
    def text(self) -> str:
        return self._file.read_text()

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def _lines(self) -> list[str]:
        return self.text.splitlines()

    @cached_property
    def _comments(self) -> dict[int, str]:
        return {
            token.start[0]: token.string.lstrip("# ").strip()
            for token in tokenize.generate_tokens(io.StringIO(self.text).readline)
            if token.type == tokenize.COMMENT
        }

    def comment_above(self, line: int) -> str:
        """The unbroken block of comment lines that ends directly above `line`, as one sentence."""
        block: list[str] = []
        while line > 1 and self._lines[line - 2].lstrip().startswith("#"):
            line -= 1
            block.insert(0, self._comments[line])
        return _join_prose(block)

    def comment_beside(self, node: ast.stmt) -> str:
        """The comment at the end of the statement's line, else the block above it."""
        beside = self._comments.get(node.end_lineno or node.lineno) or self._comments.get(node.lineno, "")
        # A remark for a tool may stand before the sentence: `# type: ignore[x]  # untyped library`.
        return _join_prose([part.strip() for part in beside.split("  # ")]) or self.comment_above(node.lineno)


def _join_prose(parts: Sequence[str]) -> str:
    return " ".join(part for part in parts if part and not part.startswith(_NOT_PROSE))


def read_sources(root: Path, folders: Sequence[str] = SOURCE_FOLDERS) -> Iterator[Source]:
    for pattern in folders:
        for package_root in sorted(root.glob(pattern)):
            for file in sorted(package_root.rglob("*.py")):
                yield Source(file, package_root)


def format_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; a bar within a cell would end it."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells) + "\n"
