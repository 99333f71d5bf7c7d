"""Exports of the API, of any length, to a file or to a pipe."""

import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from mailroom_cli.site_api import SiteAPI
from mailroom_common.errors import Rejected


class ExportFormat(StrEnum):
    CSV = "csv"  # for spreadsheets
    JSONL = "jsonl"  # for programs: an item a line, with all that it has


Format = Annotated[ExportFormat, typer.Option("--format")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="A file; standard output otherwise.")]


def write_export(api: SiteAPI, path: str, query: Mapping[str, str], output: Path | None) -> None:
    """
    Raises:
        Rejected: standard output is a terminal, which would obey control characters of a sender.
    """
    if output is None and sys.stdout.isatty():
        raise Rejected("an export is for a file: give --output, or redirect it")
    chunks = api.stream_content(path, query)
    if output is None:
        for chunk in chunks:
            sys.stdout.buffer.write(chunk)
        sys.stdout.flush()
        return
    with output.open("wb") as file:
        for chunk in chunks:
            file.write(chunk)
