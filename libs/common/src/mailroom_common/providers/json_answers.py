"""Reads a provider's JSON answer: an odd character in somebody's mail costs that character, never the whole answer."""

import codecs
import json
import re

import orjson

# Half of a surrogate pair cannot be written as UTF-8, which Avro, JSON and Postgres want; Postgres takes no NUL either.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def parse_json(body: bytes) -> object:
    """Each string in it can be stored: what is half a surrogate pair, no UTF-8 or a NUL, is U+FFFD there.

    Raises:
        ValueError: it is no JSON. The error has nothing of the body, which may hold tokens.
    """
    body = body.removeprefix(codecs.BOM_UTF8)
    try:
        try:
            value = orjson.loads(body)
        except orjson.JSONDecodeError:
            return _replace_in_strings(_parse_leniently(body))
        return _replace_in_strings(value) if b"\\u0000" in body else value
    except (ValueError, RecursionError):
        # `from None`: the decoder's error carries the document. No mail nests deep enough for the other one.
        raise ValueError("no JSON") from None


def replace_unstorable(text: str) -> str:
    return _UNSTORABLE.sub("\ufffd", text)


def _parse_leniently(body: bytes) -> object:
    """By the standard library, which takes control characters and half surrogates; in no JSON at all it fails too."""
    # NaN and the infinities are a number that nobody can read.
    return json.loads(body.decode("utf-8", "replace"), strict=False, parse_constant=lambda _name: None)


def _replace_in_strings(value: object) -> object:
    if isinstance(value, str):
        return replace_unstorable(value)
    if isinstance(value, list):
        return [_replace_in_strings(item) for item in value]
    if isinstance(value, dict):
        return {replace_unstorable(key): _replace_in_strings(item) for key, item in value.items()}
    return value
