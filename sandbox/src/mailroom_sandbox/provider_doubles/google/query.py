"""The words of Gmail's search that a client uses: `after:`, `before:`, `newer_than:`, `label:`, plain words."""

import re
import shlex
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from mailroom_sandbox.provider_doubles import mime
from mailroom_sandbox.provider_doubles.google.accounts import split_labels
from mailroom_sandbox.provider_doubles.google.errors import bad_request
from mailroom_sandbox.provider_doubles.wire import to_ms

_UNITS = {"d": timedelta(days=1), "m": timedelta(days=30), "y": timedelta(days=365), "h": timedelta(hours=1)}


def matches_query(query: str, row: sqlite3.Row, source: Callable[[], bytes], now: datetime) -> bool:
    """`source` is asked for only where a word needs it."""
    return all(_word_matches(word, row, source, now) for word in _split_words(query))


def asks_for_anywhere(query: str) -> bool:
    return any(word.lower() in ("in:anywhere", "in:trash", "in:spam") for word in _split_words(query))


def _split_words(query: str) -> list[str]:
    try:
        return shlex.split(query)
    except ValueError:
        return query.split()


def _word_matches(word: str, row: sqlite3.Row, source: Callable[[], bytes], now: datetime) -> bool:
    if word.startswith("-"):
        return not _word_matches(word[1:], row, source, now)
    name, _, value = word.partition(":")
    labels = split_labels(row["labels"])
    match name.lower():
        case "after" | "newer":
            return bool(row["internal_ms"] >= _parse_moment_ms(value))
        case "before" | "older":
            return bool(row["internal_ms"] < _parse_moment_ms(value))
        case "newer_than":
            return bool(row["internal_ms"] >= to_ms(now - _parse_span(value)))
        case "older_than":
            return bool(row["internal_ms"] < to_ms(now - _parse_span(value)))
        case "in" | "label":
            return value.lower() == "anywhere" or value.upper() in labels
        case "is":
            return {"unread": "UNREAD" in labels, "read": "UNREAD" not in labels}.get(value.lower(), False)
        case "has":
            return value.lower() == "attachment" and any(
                leaf.filename for leaf in mime.list_leaves(mime.parse_mail(source()))
            )
        case "rfc822msgid":
            return (mime.parse_mail(source()).read_header("message-id") or "").strip().strip("<>") == value.strip("<>")
        case "subject" | "from" | "to":
            return value.lower() in (mime.parse_mail(source()).read_header(name.lower()) or "").lower()
        case _:
            return word.lower() in (mime.parse_mail(source()).read_header("subject") or "").lower()


def _parse_moment_ms(value: str) -> int:
    """Seconds since 1970, or a day that begins at midnight in California."""
    if value.isdigit():
        return int(value) * 1000
    if found := re.fullmatch(r"(\d{4})[/-](\d{1,2})[/-](\d{1,2})", value):
        year, month, day = (int(piece) for piece in found.groups())
        try:
            return to_ms(datetime(year, month, day, tzinfo=_load_pacific_time()).astimezone(UTC))
        except ValueError as error:
            raise bad_request("Invalid date in the search.") from error
    raise bad_request("Invalid date in the search.")


def _parse_span(value: str) -> timedelta:
    found = re.fullmatch(r"(\d+)([dmyh])", value.lower())
    if not found:
        raise bad_request("Invalid span in the search.")
    return int(found[1]) * _UNITS[found[2]]


@cache
def _load_pacific_time() -> tzinfo:
    """Without summer time where the machine has no table of time zones."""
    try:
        return ZoneInfo("America/Los_Angeles")
    except ZoneInfoNotFoundError:
        return timezone(timedelta(hours=-8))
