"""Whether what was not read of a long document may be another invoice.

Of more than 60 pages the middle is only looked over, and of what is read the rules take the first 1,500 lines. An
invoice with hundreds of pages of calls behind it is ordinary; so is a batch of invoices in one file. They are told
apart by what stands at the top of a page: an invoice's title without this invoice's number.
"""

import re
from collections.abc import Iterator, Sequence

from ingestion.domain.transcript import Transcript
from ingestion.extract import labels
from ingestion.extract.layout_rules import limit_lines

_LINES_OF_HEAD = 30
_MAX_LINE = 200  # letters
_LEAST_LETTERS = 20  # of a page that says anything; what says nothing is a picture, or empty


def may_hold_another_invoice(transcript: Transcript, number: str | None) -> bool:
    """`number` is that of the invoice that was read; without one nothing tells another one apart."""
    return number is not None and any(_may_begin_invoice(head, number) for head in _list_heads(transcript))


def _list_heads(transcript: Transcript) -> Iterator[Sequence[str]]:
    """The first lines of each page that no rule has seen."""
    for text in transcript.looked_over.values():
        yield [line[:_MAX_LINE] for line in text.split("\n")[:_LINES_OF_HEAD]]
    seen = limit_lines(transcript)
    if not seen or len(seen) == len(transcript.lines):
        return
    heads: dict[int, list[str]] = {}
    for line in transcript.lines:
        if line.page > seen[-1].page and len(head := heads.setdefault(line.page, [])) < _LINES_OF_HEAD:
            head += [cell.text[:_MAX_LINE] for cell in line.cells]
    yield from heads.values()


def _may_begin_invoice(head: Sequence[str], number: str) -> bool:
    text = _fold(" ".join(head))
    if len(text) < _LEAST_LETTERS:
        return True
    return any(labels.HEADLINE.match(line) for line in head) and _fold(number) not in text


def _fold(text: str) -> str:
    return re.sub(r"\W", "", text).casefold()
