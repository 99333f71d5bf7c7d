"""What the commands print. Other people's text stays text: a terminal obeys what is written to it.

A mail's subject, a supplier's name or the header of a record may hold sequences that clear the screen, set what is
pasted next, or turn the direction of a line.
"""

import re

import typer

# Half surrogates stand for the bytes of a file's name that is no UTF-8; no terminal can be written one.
_CONTROLS = "\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
_IN_TEXT = re.compile(f"[{_CONTROLS}]")
_IN_LINE = re.compile(f"[\n{_CONTROLS}]")


def print_line(line: str = "", *, err: bool = False) -> None:
    typer.echo(escape_line(line), err=err)


def print_text(text: str, *, err: bool = False) -> None:
    """Of several lines, each of which is `escape_line`'s or our own."""
    typer.echo(escape_text(text), err=err)


def escape_line(text: str) -> str:
    """As JSON escapes: in JSON the result means the same as before."""
    return _IN_LINE.sub(_escape, text)


def escape_text(text: str) -> str:
    return _IN_TEXT.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
