"""Reads what a provider says of a mail: any type, any length, any character may stand in any member of its JSON.

Everything is cut here, where it is mapped, so that no rule ever meets a text that is long enough to take its time.
"""

from collections.abc import Mapping
from typing import Any

from mailroom_common.providers.json_answers import replace_unstorable

MAX_TEXT_CHARACTERS = 1000  # a header may be megabytes; a Kafka record may not
MAX_ID_BYTES = 1000  # two of them are a primary key, of which Postgres takes 2,704
MAX_LIST_ITEMS = 100
MAX_PARTS = 500  # of a mail: each is judged, is a row and may cost a call, and 25 MB hold a hundred thousand
# Of an HTML body only what it shows is looked for: a picture that is named further on is taken for an attached one.
MAX_HTML_CHARACTERS = 2_000_000
_KEPT_OF_END = 100  # of a file name that is too long: rules look at its extension
_MAX_SIZE_BYTES = 2**53


def clean_text(text: str | None) -> str | None:
    """A text that can be stored: Postgres takes no NUL and UTF-8 no half of a surrogate pair, and both are sent."""
    return None if text is None else replace_unstorable(text[:MAX_TEXT_CHARACTERS])


def read_text(value: object) -> str | None:
    """None where the provider left it out, or wrote something other than a text."""
    return clean_text(value) if isinstance(value, str) else None


def read_texts(value: object) -> tuple[str, ...]:
    texts = value[:MAX_LIST_ITEMS] if isinstance(value, list) else ()
    return tuple(text for text in map(read_text, texts) if text is not None)


def read_filename(value: object) -> str | None:
    """Its beginning and its end; None where there is none, or an empty one."""
    if not isinstance(value, str) or not value:
        return None
    if len(value) > MAX_TEXT_CHARACTERS:
        value = value[: MAX_TEXT_CHARACTERS - _KEPT_OF_END] + value[-_KEPT_OF_END:]
    return replace_unstorable(value)


def read_id(value: object) -> str | None:
    """None where there is no id, or nothing that could be one: an id cannot be cut."""
    text = replace_unstorable(value[: MAX_ID_BYTES + 1]) if isinstance(value, str) else ""
    return text if text and len(text.encode()) <= MAX_ID_BYTES else None


def read_size(value: object) -> int | None:
    """A number of bytes, also as a string of digits; None where it is unknown."""
    text = str(value) if isinstance(value, int | str) and not isinstance(value, bool) else ""
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(_MAX_SIZE_BYTES))):
        return None
    return min(int(text), _MAX_SIZE_BYTES)


def read_flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


def read_object(payload: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Empty where there is none. Any: a provider's payload."""
    value = payload.get(name)
    return value if isinstance(value, Mapping) else {}
