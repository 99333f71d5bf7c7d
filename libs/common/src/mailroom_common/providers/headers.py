"""Internet headers that filters need, and how their values are decoded."""

from collections.abc import Iterable, Mapping
from email.errors import MessageError
from email.header import decode_header, make_header
from email.utils import parseaddr
from typing import Any

# They tell newsletters, automatic mail, bounces and invitations. No other header is stored: it is personal data.
FILTER_HEADERS = frozenset(
    {
        "auto-submitted",
        "content-class",
        "content-type",
        "feedback-id",
        "list-id",
        "list-post",
        "list-unsubscribe",
        "precedence",
        "return-path",
        "x-auto-response-suppress",
        "x-failed-recipients",
    }
)


def select_filter_headers(headers: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """From the providers' lists of `{name, value}`; the first of equal names counts. Any: a provider's payload."""
    kept: dict[str, str] = {}
    for header in headers:
        name = str(header.get("name", "")).lower()
        if name in FILTER_HEADERS:
            kept.setdefault(name, decode_words(str(header.get("value") or "")))
    return kept


def decode_words(value: str) -> str:
    """A header's text with its encoded words read, where some are left."""
    if "=?" not in value:
        return value
    try:
        return str(make_header(decode_header(value)))
    except (MessageError, LookupError, ValueError):
        # Half an encoded word, a charset that is unknown or whose name is no ASCII, or bytes that are not in it.
        return value


def parse_address(value: str) -> tuple[str | None, str | None]:
    """(address, name) of a From header. Encoded words are read after the split: a name may decode to a comma."""
    try:
        name, address = parseaddr(value)
    except RecursionError:  # comments within comments, some thousands deep: nobody's address
        return None, None
    return (address if "@" in address else None), (decode_words(name) or None)
