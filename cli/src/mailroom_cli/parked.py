"""`mailroom parked`: what could not be stored, and having it tried again, through sync-engine's API."""

from typing import Annotated

import typer

from mailroom_cli.options import AnswerAsJSON, OnlySource
from mailroom_cli.site_api import JSON, open_site_api
from mailroom_cli.source_views import find_source, print_columns, print_json
from mailroom_cli.terminal import print_line

app = typer.Typer(name="parked", no_args_is_help=True, help="Messages and parts that could not be stored.")

_MAX_LISTED = 200  # one page of the API


_LIST_EXAMPLES = """Examples:

  mailroom parked list

  mailroom parked list --source ap@company.example --json
"""
_RETRY_EXAMPLES = """Examples:

  mailroom parked retry --reason crashed

  mailroom parked retry --reason access_denied --source ap@company.example
"""


@app.command("list", epilog=_LIST_EXAMPLES)
def list_parked(source: OnlySource = None, as_json: AnswerAsJSON = False) -> None:
    """Show what is parked, newest first: why, since when, and when it is tried again."""
    with open_site_api() as api:
        query = {} if source is None else {"doc_source_id": str(find_source(api, source)["id"])}
        items = api.list_items("/parked-items", query, most=_MAX_LISTED)
    if as_json:
        print_json(items)
        return
    head = ["REASON", "TRIED", "NEXT", "DOC SOURCE", "MESSAGE", "PART"]
    print_columns(head, [_build_row(item) for item in items])


@app.command("retry", epilog=_RETRY_EXAMPLES)
def retry_parked(
    reason: Annotated[str, typer.Option(help="As `mailroom parked list` shows it.")],
    source: OnlySource = None,
    as_json: AnswerAsJSON = False,
) -> None:
    """Have everything that is parked for a reason tried again by the next run of each doc source."""
    with open_site_api() as api:
        body: JSON = {"reason": reason}
        body |= {} if source is None else {"doc_source_id": find_source(api, source)["id"]}
        answer = api.call("POST", "/parked-items/retry", body=body)
    if as_json:
        print_json(answer)
    else:
        print_line(
            f"{answer['messages']} messages and {answer['parts']} parts are due with the next run of their source"
        )


def _build_row(item: JSON) -> list[str]:
    names = ("reason", "attempts", "next_attempt_at", "doc_source_id", "message_id", "part_path")
    return ["" if item[name] is None else str(item[name]) for name in names]
