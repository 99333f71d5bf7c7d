"""`mailroom doctor`: checks what a site stands on, one line for each thing, with the next step where one fails."""

import asyncio
from collections.abc import Sequence
from typing import Annotated

import typer

from mailroom_cli.check_report import CheckResult, Outcome, describe_counts, to_json
from mailroom_cli.outside_checks import check_clock, check_providers, check_webhook
from mailroom_cli.site_checks import check_blobs, check_database, check_kafka, check_settings, check_token_keys
from mailroom_cli.terminal import print_line, print_text

EXAMPLES = """Examples:

  mailroom doctor

  mailroom doctor --only kafka --only postgres

  mailroom doctor --json | jq '.[] | select(.outcome == "failed")'

  docker compose run --rm topics doctor
"""

CHECKS = {
    "settings": check_settings,
    "kafka": check_kafka,
    "postgres": check_database,
    "tokens": check_token_keys,
    "blobs": check_blobs,
    "providers": check_providers,
    "webhook": check_webhook,
    "clock": check_clock,
}


def diagnose_site(
    only: Annotated[
        list[str] | None, typer.Option("--only", help=f"One of {', '.join(CHECKS)}; may be given often.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Check settings, Kafka, Postgres, blobs, token keys, providers, the webhook from outside and the clock.

    Reads the settings of the environment, as the services do; what has no settings here is skipped and says so. Writes
    one small blob and deletes it, and nothing else. Exit code 0 when nothing failed, 1 otherwise.
    """
    if unknown := [name for name in only or [] if name not in CHECKS]:
        raise typer.BadParameter(f"there is no check {unknown[0]}: {', '.join(CHECKS)}")
    results = asyncio.run(_run_checks(only or list(CHECKS)))
    if as_json:
        print_line(to_json(results))
    else:
        for result in results:
            print_text(result.as_line())
        print_line(describe_counts(results))
    if any(result.outcome is Outcome.FAILED for result in results):
        raise typer.Exit(1)


async def _run_checks(names: Sequence[str]) -> list[CheckResult]:
    """All at once: each waits for another server."""
    found = await asyncio.gather(*(CHECKS[name]() for name in names))
    return [result for results in found for result in results]
