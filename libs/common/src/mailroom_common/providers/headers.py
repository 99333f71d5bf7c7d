"""Internet headers that filters need, and how their values are decoded."""

from collections.abc import Iterable, Mapping
from email.errors import MessageError
from email.header import decode_header, make_header
from email.utils import parseaddr

from mailroom_common.providers.charsets import find_codec
from mailroom_common.providers.untrusted_text import clean_text

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


# Decoding words and taking addresses apart cost quadratic time: of this much, a few milliseconds. Into the first fit
# MAX_TEXT_CHARACTERS, whatever they are encoded as.
MAX_RAW_CHARACTERS = 8000
_MAX_FROM_CHARACTERS = 2000
_MAX_ADDRESS_CHARACTERS = 320  # RFC 5321: 64 before the at sign, 255 after it


def select_filter_headers(headers: Iterable[object]) -> dict[str, str]:
    """From the providers' lists of `{name, value}`; the first of equal names counts."""
    kept: dict[str, str] = {}
    for header in headers:
        if not isinstance(header, Mapping):
            continue
        name = str(header.get("name", "")).lower()
        if name in FILTER_HEADERS and name not in kept:
            kept[name] = decode_words(str(header.get("value") or ""))
    return kept


def decode_words(value: str) -> str:
    """A header's text with its encoded words read, where some are left; its first MAX_TEXT_CHARACTERS."""
    value = value[:MAX_RAW_CHARACTERS]
    return clean_text(_decode_words(value) if "=?" in value else value) or ""


def _decode_words(value: str) -> str:
    try:
        words = decode_header(value)
        if any(charset is not None and find_codec(charset) is None for _, charset in words):
            return value
        return str(make_header(words))
    except (MessageError, LookupError, ValueError):
        # Half an encoded word, or bytes that are not in their charset.
        return value


def parse_address(value: str) -> tuple[str | None, str | None]:
    """(address, name) of a From header. Encoded words are read after the split: a name may decode to a comma."""
    if len(value) > _MAX_FROM_CHARACTERS:
        # Of a name without end only the address behind it is kept: rules look at that.
        value = value[-_MAX_ADDRESS_CHARACTERS:]
        value = value[max(value.rfind("<"), 0) :]
    try:
        name, address = parseaddr(value)
    except RecursionError:  # comments within comments, some thousands deep: nobody's address
        return None, None
    return (clean_text(address) if "@" in address else None), (decode_words(name) or None)
