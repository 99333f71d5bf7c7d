"""Cursors of lists: opaque, and refused where they are none of ours."""

import pytest

from ingestion.api.cursors import build_list_page, decode_cursor, encode_cursor
from mailroom_common.web import HTTPProblem


@pytest.mark.parametrize("position", [None, 0, 1, 2**63 - 1])
def test_a_position_comes_back_from_its_cursor(position: int | None) -> None:
    assert decode_cursor(encode_cursor(position)) == position


@pytest.mark.parametrize("cursor", ["", "x", "!!", "LTE", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OTk"])
def test_what_is_no_position_is_refused_with_how_to_go_on(cursor: str) -> None:
    with pytest.raises(HTTPProblem) as refusal:
        decode_cursor(cursor)
    assert (refusal.value.status, "next_cursor" in (refusal.value.detail or "")) == (422, True)


def test_a_position_of_two_columns_needs_more_bits() -> None:
    cursor = encode_cursor((7 << 63) + 5)
    assert decode_cursor(cursor, bits=127) == (7 << 63) + 5
    with pytest.raises(HTTPProblem):
        decode_cursor(cursor)


def test_only_the_last_page_has_no_cursor() -> None:
    assert build_list_page([{"id": "a"}], 5).next_cursor == encode_cursor(5)
    assert build_list_page([{"id": "a"}], None).next_cursor is None
