"""Which cells of a page belong together: the lines of a block stand close below each other, at one edge."""

from collections.abc import Iterator, Sequence

from ingestion.domain.transcript import TextCell, TextLine

BLOCK_GAP = 1.8  # of a line's height: more between two lines parts their blocks
_BLOCK_LINES = 6
_SAME_LEFT, _SAME_RIGHT = 12.0, 3.0  # points


def list_block(page: Sequence[TextLine], index: int, cell: TextCell, step: int) -> Iterator[tuple[int, TextCell]]:
    """The cells below a cell (or above it, with `step` -1) that no gap parts from it, at its left or right edge."""
    near, left = page[index], _BLOCK_LINES
    for at in range(index + step, index + 2 * step * _BLOCK_LINES, step):
        # Lines of a column beside may stand between them.
        if not 0 <= at < len(page) or page[at].page != near.page or not left:
            return
        line = page[at]
        found = next((other for other in line.cells if _is_in_column(other, cell)), None)
        if abs(line.top - near.top) > BLOCK_GAP * max(line.height, near.height):
            return
        if found is not None:
            near, left = line, left - 1
            yield at, found


def overlap_across(one: TextCell, other: TextCell) -> bool:
    """Whether one stands over the other, at least in part, if they are in different lines."""
    return min(one.right, other.right) - max(one.left, other.left) > 0


def _is_in_column(other: TextCell, cell: TextCell) -> bool:
    return abs(other.left - cell.left) < _SAME_LEFT or abs(other.right - cell.right) < _SAME_RIGHT


def find_cell(line: TextLine, name: str) -> TextCell | None:
    """The one that a name was read in."""
    return next((cell for cell in line.cells if name in cell.text), None)
