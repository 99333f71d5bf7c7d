"""A file of orders: read as it comes, and refused with the line and the column."""

from collections.abc import Mapping
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.domain.order_csv import MAX_ERRORS, MAX_LINE_CHARACTERS, MAX_ROWS, LineError, OrderCSVReader

HEADER = "external_id,direction,quantity,isin,ordered_on"
FILE = f'\ufeff{HEADER}\r\n1,buy,10,DE0008404005,2026-04-01\r\n\r\n"2, or é",sell,3,,2026-04-02'.encode()


def parse(row: Mapping[str, str | None]) -> str | list[tuple[str | None, str]]:
    return [("quantity", "is no number")] if row["quantity"] == "x" else f"{row['external_id']}|{row['isin']}"


def read(*chunks: bytes) -> OrderCSVReader[str]:
    reader = OrderCSVReader[str](parse)
    for chunk in chunks:
        reader.feed_bytes(chunk)
    reader.feed_bytes(b"", is_last=True)
    return reader


@given(st.lists(st.integers(0, len(FILE)), max_size=6))
def test_it_makes_no_difference_how_a_file_comes(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(FILE)]
    reader = read(*(FILE[start:end] for start, end in pairwise(edges)))
    assert (reader.orders, reader.errors) == (["1|DE0008404005", "2, or é|None"], [])


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", (1, None, "header")),
        ("external_id,direction,quantity\n", (1, "ordered_on", "missing")),
        (f"{HEADER},price\n", (1, "price", "no such column")),
        (f"{HEADER},isin\n", (1, "isin", "twice")),
        (f"{HEADER}\n1,buy,10,X,2026-04-01\n1,buy,10,X,2026-04-01\n", (3, "external_id", "line 2 has the same")),
        (f"{HEADER}\n\n1,buy,x,X,2026-04-01\n", (3, "quantity", "is no number")),
        (f"{HEADER}\n1,buy\n", (2, None, "it has 2 values, and the header 5")),
        (f'{HEADER}\n"1,buy,10,X,2026-04-01\n', (2, None, "quotation mark")),
        (f"{HEADER}\n{'1' * (MAX_LINE_CHARACTERS + 1)}\n", (2, None, "characters at most")),
    ],
)
def test_what_is_no_order_is_named_by_line_and_column(text: str, error: tuple[int, str | None, str]) -> None:
    (found,) = read(text.encode()).errors
    assert (found.line, found.column) == error[:2]
    assert error[2] in found.message


def test_a_semicolon_parts_values_where_the_header_has_it() -> None:
    assert read(f"{HEADER.replace(',', ';')}\n1;buy;10;X;2026-04-01".encode()).orders == ["1|X"]


def test_no_more_is_held_than_a_line() -> None:
    reader = OrderCSVReader[str](parse)
    reader.feed_bytes(b"x" * (MAX_LINE_CHARACTERS + 1))
    assert reader.is_beyond_limit
    assert reader.errors == [LineError(1, None, f"a line has {MAX_LINE_CHARACTERS} characters at most")]


def test_no_more_orders_are_held_than_a_file_may_have() -> None:
    lines = "".join(f"{number},buy,10,X,2026-04-01\n" for number in range(MAX_ROWS + 1))
    reader = read(f"{HEADER}\n{lines}".encode())
    assert len(reader.orders) == MAX_ROWS
    assert [(error.line, error.column) for error in reader.errors] == [(MAX_ROWS + 2, None)]


def test_what_is_wrong_in_every_line_is_said_of_the_first_ones() -> None:
    reader = read(f"{HEADER}\n".encode() + b"1,buy,x,X,2026-04-01\n" * 1000)
    assert len(reader.errors) == MAX_ERRORS


def test_what_is_no_text_is_refused() -> None:
    assert "UTF-8" in read(HEADER.encode() + b"\n\xff\xfe\n").errors[0].message
