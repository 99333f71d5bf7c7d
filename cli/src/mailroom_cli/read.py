"""`mailroom read`: what the readers make of files on this machine, without any stack."""

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from mailroom_cli.options import AsJSON
from mailroom_cli.terminal import escape_line, print_text
from mailroom_common.errors import Fatal
from mailroom_common.events import Profile

EXAMPLES = """Examples:

  mailroom read invoice.pdf

  mailroom read *.pdf --json | jq -r '[.file, .status, .extraction.total_gross] | @tsv'

  mailroom read scan.pdf --text
"""


class ReadersMissing(Fatal):
    """The readers are in ingestion's package, which this installation of the command does not have."""


def read_files(
    files: Annotated[list[Path], typer.Argument(help="PDF, PNG, JPEG or TIFF; what it is, its bytes say.")],
    profile: Annotated[Profile, typer.Option(help="What documents are read for.")] = Profile.INVOICE,
    model: Annotated[
        str | None,
        typer.Option(metavar="TENANT", help="Ask the language model, too, as MAILROOM_LLM_USE says for this tenant."),
    ] = None,
    text: Annotated[bool, typer.Option("--text", help="Show the lines of text that were read, too.")] = False,
    as_json: AsJSON = False,
) -> None:
    """Read files as the worker does: status and reason, the fields that were found, how sure the readers are.

    Nothing is stored, and nothing is sent unless --model is given: then the text of a document that MAILROOM_LLM_USE
    names goes to the language model of MAILROOM_LLM_…, within its limits of a document and a day. Each file is opened
    in a confined process, as in the worker, with the limits of MAILROOM_PARSER_…. With --json each file is a line of
    its own. Exit code 0 when each file was read, whatever was found in it; 1 when one could not be opened; 78 when
    this machine does not confine the process.
    """
    with _start_reader(files, profile, model, text) as reader:
        for line in _list_answers(reader):
            print_text(line if as_json else describe_reading(json.loads(line)))
    if reader.returncode:
        raise typer.Exit(reader.returncode)


def _start_reader(files: Sequence[Path], profile: Profile, model: str | None, text: bool) -> "subprocess.Popen[str]":
    # A service is met as a process, and the command is of use without it.
    if find_spec("ingestion") is None:
        raise ReadersMissing("mailroom read needs the package mailroom-ingestion: it has the readers")
    options = ["--profile", profile.value, *(["--model", model] if model else []), *(["--text"] if text else [])]
    return subprocess.Popen(
        [sys.executable, "-m", "ingestion", "read", *options, "--", *map(str, files)],
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )


def _list_answers(reader: "subprocess.Popen[str]") -> Iterator[str]:
    return (line.rstrip("\n") for line in reader.stdout or ())


def describe_reading(reading: dict[str, Any]) -> str:
    """A file's outcome in one line, and its fields under it."""
    if "error" in reading:
        return escape_line(f"{reading['file']}: not read: {reading['error']}")
    lines = [f"{reading['file']}: {_describe_outcome(reading)}"]
    lines += [f"  {name:<16}{value}" for name, value in _list_fields(reading["extraction"] or {})]
    lines += [f"  page {line['page']:>3}  {line['text']}" for line in reading.get("lines", ())]
    return "\n".join(map(escape_line, lines))


def _describe_outcome(reading: dict[str, Any]) -> str:
    reason = f" / {reading['reason']}" if reading["reason"] else ""
    facts = [reading["document_type"], reading["reader"]]
    facts += [f"confidence {reading['confidence']}"] if reading["confidence"] is not None else []
    facts += [f"{reading['pages']} page(s)"] if "pages" in reading else []
    facts += [f"{reading['seconds']} s"]
    return f"{reading['status']}{reason} ({', '.join(fact for fact in facts if fact)})"


def _list_fields(extraction: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, value in extraction.items():
        if name == "lines":
            for line in value:
                yield "line", "  ".join(str(part) for part in line.values() if part is not None)
        elif name == "trades":
            for trade in value:
                yield "trade", "  ".join(f"{key} {part}" for key, part in trade.items() if part not in (None, False))
        elif value is not None:
            yield name, str(value)
