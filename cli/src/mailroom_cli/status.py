"""`mailroom status`: is it working?"""

from typing import Annotated

import typer

from mailroom_cli.site_api import open_site_api
from mailroom_cli.source_views import ROW_HEAD, build_health_json, build_row, look_at_source, print_columns, print_json
from mailroom_cli.terminal import print_line

EXIT_TROUBLE = 1
EXAMPLES = "Examples:\n\n  mailroom status\n\n  mailroom status --json | jq '.[] | select(.is_working | not)'"


def show_status(
    as_json: Annotated[
        bool, typer.Option("--json", help="Each doc source with all it was judged by, as JSON.")
    ] = False,
) -> None:
    """Is it working? Each mailbox with what is wrong with it. Exit code 1 when a mailbox does not work.

    `mailroom sources show SOURCE` says more of one. A time of a last sync is told at most once a minute. A worker that
    is away shows here after 20 minutes, and at once in `mailroom topics lag`.
    """
    with open_site_api() as api:
        sources = api.list_items("/doc-sources")
        looks = [(source, *look_at_source(api, source)) for source in sources]
        url = api.url
    if as_json:
        print_json([build_health_json(source, health, facts) for source, health, facts in looks])
    elif looks:
        print_columns(ROW_HEAD, [build_row(source, health.summary) for source, health, _ in looks])
    else:
        print_line(
            f"{url} answers; no mailbox is connected yet: `mailroom sources connect outlook` connects the first."
        )
    troubled = [source for source, health, _ in looks if not health.is_working]
    if troubled:
        print_line(f"{len(troubled)} of {len(looks)} mailboxes do not work", err=True)
        raise typer.Exit(EXIT_TROUBLE)
