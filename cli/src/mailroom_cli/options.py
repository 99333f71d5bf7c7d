"""Options that several commands have, with one meaning and one spelling."""

import asyncio
import json
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

import typer

from mailroom_cli.record_ranges import parse_moment
from mailroom_cli.terminal import print_line

T = TypeVar("T")


def _parse_moment(text: str) -> datetime:
    try:
        return parse_moment(text, datetime.now(UTC))
    except ValueError:
        raise typer.BadParameter("a time as 2026-11-28T09:00:00Z, or how long ago: 90s, 15m, 2h, 3d, 1w") from None


MOMENT: dict[str, Any] = {"parser": _parse_moment, "metavar": "TIME"}

Since = Annotated[
    datetime | None,
    typer.Option("--since", help="From then on: 2026-11-28T09:00Z, or 2h for two hours ago.", **MOMENT),
]
Until = Annotated[datetime | None, typer.Option("--until", help="Before this time.", **MOMENT)]
Tenant = Annotated[str | None, typer.Option("--tenant", help="Only of this tenant.")]
DocSources = Annotated[list[str], typer.Option("--doc-source", help="Only of this doc source; may be given often.")]
Partition = Annotated[int | None, typer.Option("--partition", min=0, help="Only this partition.")]
FromOffset = Annotated[int | None, typer.Option("--from-offset", min=0, help="From this offset of --partition on.")]
ToOffset = Annotated[int | None, typer.Option("--to-offset", min=0, help="Before this offset of --partition.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Count what it would do, and do nothing.")]
AsJSON = Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")]
AnswerAsJSON = Annotated[bool, typer.Option("--json", help="The answer of the API as JSON.")]
OnlySource = Annotated[
    str | None, typer.Option("--source", help="Id, the beginning of one, or the mailbox's address; all otherwise.")
]
Rate = Annotated[float, typer.Option("--rate", min=0, help="At most so many a second; 0 for no limit.")]


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def print_json_line(value: object) -> None:
    print_line(json.dumps(value, default=str, ensure_ascii=False))
