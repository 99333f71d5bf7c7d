"""Which pieces of text a model reads at once: of much the same length, and not too much of them."""

from collections.abc import Iterator, Sequence

# Width to height of what the model was made on: a shorter piece gets paper behind it.
SHORTEST_PIECE = 320 / 48
# Of what is read as it is; a line of small print over a page has 85. What is longer is pressed together, since a batch
# takes memory by its longest piece.
LONGEST_PIECE = 100.0
# Paper behind each piece: where the picture ends with a letter, the model doubts that letter.
_PAPER = 0.5
_PIECES = 6
# Of all pieces of a batch together: with more, what the model holds leaves the cache, and costs a fifth more.
_LENGTH = 42.0


def measure_length(width: float, height: float) -> float:
    """Width to height of a piece, as it is read."""
    return min(LONGEST_PIECE, max(SHORTEST_PIECE, width / height + _PAPER))


def form_batches(lengths: Sequence[float]) -> Iterator[list[int]]:
    """The places of the pieces, the shortest first: each is read as long as the longest of its batch."""
    batch: list[int] = []
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        if len(batch) == _PIECES or (batch and (len(batch) + 1) * lengths[place] > _LENGTH):
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
