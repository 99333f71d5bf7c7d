"""Exports and documents as the commands write them: to a file that is whole or not there, or to standard output."""

import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path

from mailroom_common.errors import Rejected


class FileKind(StrEnum):
    CSV = "csv"  # for spreadsheets
    JSONL = "jsonl"  # for programs: an item a line, as the API shows it


def refuse_terminal(output: Path | None) -> None:
    """
    Raises:
        Rejected: it would be shown, and what a sender wrote is not for a terminal to obey.
    """
    if output is None and sys.stdout.isatty():
        raise Rejected("what it writes is for a file: give --output, or redirect it")


def write_export(chunks: Iterable[bytes], output: Path | None) -> None:
    """
    Raises:
        Rejected: the file cannot be written.
    """
    if output is None:
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.flush()
        return
    if output.exists() and not output.is_file():
        raise Rejected(f"{output} is no file")
    # Written beside it: where the site or the disk fails half-way, nobody takes the half for all of it.
    partial = output.with_name(f"{output.name}.partial")
    try:
        with partial.open("wb") as file:
            for chunk in chunks:
                file.write(chunk)
        partial.replace(output)
    except OSError as error:
        raise Rejected(f"{output} cannot be written: {error.strerror or error}") from error
    finally:
        partial.unlink(missing_ok=True)
