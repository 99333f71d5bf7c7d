"""`mailroom messages`: what became of mails, and why one was not filed, through sync-engine's API."""

from collections.abc import Iterator
from typing import Annotated

import typer

from mailroom_cli.options import AnswerAsJSON, OnlySource
from mailroom_cli.site_api import JSON, SiteAPI, open_site_api
from mailroom_cli.source_views import find_source, print_columns, print_json
from mailroom_cli.terminal import print_line

app = typer.Typer(name="messages", no_args_is_help=True, help="What became of mails, and why they were not filed.")

_PAGE_ITEMS = "200"
_UNFILED = ("not_filed", "needs_review", "failed", "parked")
OUTCOMES = (*_UNFILED, "filed", "duplicate", "waiting", "observed", "removed")  # of the API

_LIST_EXAMPLES = """Examples:

  mailroom messages list

  mailroom messages list --outcome needs_review --reason too_large

  mailroom messages list --source ap@company.example --outcome not_filed --newest 5000
"""


@app.command("list", epilog=_LIST_EXAMPLES)
def list_messages(
    source: OnlySource = None,
    outcome: Annotated[
        str | None, typer.Option(help="Only this one, as filed; otherwise not_filed, needs_review, failed and parked.")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="Only those that have this reason, as too_large.")] = None,
    newest: Annotated[int, typer.Option(min=1, max=100_000, help="How many mails to look through.")] = 1000,
    as_json: AnswerAsJSON = False,
) -> None:
    """Show which of the newest mails were not filed, why, and which files are the reason; what was seen last first."""
    if outcome is not None and outcome not in OUTCOMES:
        raise typer.BadParameter(f"{outcome} is none of {', '.join(OUTCOMES)}", param_hint="--outcome")
    outcomes = _UNFILED if outcome is None else (outcome,)
    with open_site_api() as api:
        query = {} if source is None else {"doc_source_id": str(find_source(api, source)["id"])}
        found, count, reasons = [], 0, set[str]()
        for message in _list_newest(api, query, newest):
            count += 1
            if message["outcome"] not in outcomes:
                continue
            reasons.update(_list_reasons(message))
            if reason is None or reason in _list_reasons(message):
                found.append(message)
    if as_json:
        print_json(found)
        return
    if found:
        print_columns(["OUTCOME", "REASON", "RECEIVED", "FROM", "SUBJECT", "FILES", "MESSAGE"], map(_build_row, found))
    print_line(f"{len(found)} of the newest {count} mails")
    if reason is not None and not found:
        print_line(f"Their reasons are {', '.join(sorted(reasons))}" if reasons else "None of them has a reason")


def _list_newest(api: SiteAPI, query: dict[str, str], newest: int) -> Iterator[JSON]:
    parameters, left = {"limit": _PAGE_ITEMS, **query}, newest
    while left > 0:
        page = api.call("GET", "/messages", query=parameters)
        yield from page["items"][:left]
        left -= len(page["items"])
        if not page["next_cursor"]:
            return
        parameters["cursor"] = page["next_cursor"]


def _list_reasons(message: JSON) -> list[str]:
    return [reason for reason in (message["reason"] or "").split(", ") if reason]


def _build_row(message: JSON) -> list[str]:
    cells = {**message, "files": _name_files(message)}
    names = ("outcome", "reason", "received_at", "from", "subject", "files", "message_id")
    return ["-" if cells[name] is None else str(cells[name]) for name in names]


def _name_files(message: JSON) -> str | None:
    """The files that are the reason, each behind its own where the mail has several."""
    parts = message.get("part_reasons") or []
    is_one = len({part["reason"] for part in parts}) < 2
    names = [_name_part(part) if is_one else f"{part['reason']}: {_name_part(part)}" for part in parts]
    return ", ".join(names) or None


def _name_part(part: JSON) -> str:
    return str(part["filename"] or f"part {part['part_path']}")
