"""The head of a page, where a document says what it is."""

from collections.abc import Sequence

from ingestion.domain.transcript import TextLine

_LEAST_LINES_OF_HEAD = 12  # of a short page: who sends it, and to whom, stand in front of a title


def limit_to_head(page: Sequence[TextLine]) -> Sequence[TextLine]:
    """The first third of a page."""
    return page[: max(_LEAST_LINES_OF_HEAD, len(page) // 3)]
