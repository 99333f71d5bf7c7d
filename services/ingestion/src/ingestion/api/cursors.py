"""Cursors of lists: the position where the next page begins, opaque to the caller."""

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from mailroom_common.web import HTTPProblem, ListPage


def build_list_page(items: Sequence[dict[str, Any]], following: int | None) -> ListPage[dict[str, Any]]:
    """`following` is the position where the next page begins; None: this is the last one."""
    return ListPage(items=list(items), next_cursor=encode_cursor(following))


def encode_cursor(position: int | None) -> str | None:
    return None if position is None else base64.urlsafe_b64encode(str(position).encode()).decode().rstrip("=")


def decode_cursor(cursor: str | None, *, bits: int = 63) -> int | None:
    """
    Raises:
        HTTPProblem: 422, for what is no position of `bits` bits.
    """
    if cursor is None:
        return None
    try:
        position = int(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error):
        position = -1
    if not 0 <= position < 2**bits:
        raise HTTPProblem(
            422,
            "The cursor is not one of ours",
            "Leave it out for the first page, and pass `next_cursor` of each page unchanged for the next one.",
        )
    return position
