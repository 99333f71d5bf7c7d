"""Gmail's search against one message of 15 January 2026, 12:00 UTC, unread in the inbox."""

import sqlite3
from datetime import UTC, datetime

import pytest

from mailroom_sandbox.provider_doubles.google.query import asks_for_anywhere, matches_query
from mailroom_sandbox.provider_doubles.wire import Refused, to_ms

RECEIVED = datetime(2026, 1, 15, 12, tzinfo=UTC)
NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)
SOURCE = (
    b"From: Billing <billing@acme.example>\r\nSubject: Invoice 7\r\nMessage-ID: <m-7@acme.example>\r\n\r\nHello\r\n"
)


@pytest.fixture
def row() -> sqlite3.Row:
    database = sqlite3.connect(":memory:")
    database.row_factory = sqlite3.Row
    found: sqlite3.Row = database.execute(
        "select ? as internal_ms, ? as labels", (to_ms(RECEIVED), '["INBOX","UNREAD"]')
    ).fetchone()
    return found


@pytest.mark.parametrize(
    ("query", "is_match"),
    [
        ("", True),
        ("after:2026/01/15", True),
        ("after:2026/01/16", False),
        ("before:2026/01/16 after:2026/01/14", True),
        (f"after:{int(RECEIVED.timestamp()) + 1}", False),
        ("newer_than:6d", True),
        ("newer_than:4d", False),
        ("older_than:4d", True),
        ("in:inbox", True),
        ("label:sent", False),
        ("in:anywhere", True),
        ("is:unread", True),
        ("-is:unread", False),
        ("has:attachment", False),
        ("rfc822msgid:m-7@acme.example", True),
        ("subject:invoice from:acme", True),
        ('"invoice 7"', True),
        ("receipt", False),
    ],
)
def test_words_of_the_search(row: sqlite3.Row, query: str, is_match: bool) -> None:
    assert matches_query(query, row, lambda: SOURCE, NOW) is is_match


def test_day_begins_at_midnight_in_california(row: sqlite3.Row) -> None:
    # 12:00 UTC on the 15th is 04:00 there: the day has begun, and had not at 07:00 UTC.
    assert matches_query("after:2026/01/15", row, lambda: SOURCE, NOW)
    assert not matches_query(f"before:{to_ms(datetime(2026, 1, 15, 8, tzinfo=UTC)) // 1000}", row, lambda: SOURCE, NOW)


@pytest.mark.parametrize("query", ["after:yesterday", "after:2026/13/40", "newer_than:soon"])
def test_wrong_dates_and_spans_are_refused(row: sqlite3.Row, query: str) -> None:
    with pytest.raises(Refused):
        matches_query(query, row, lambda: SOURCE, NOW)


def test_search_of_hidden_places_is_known() -> None:
    assert asks_for_anywhere("subject:x in:Trash")
    assert not asks_for_anywhere("in:inbox")
