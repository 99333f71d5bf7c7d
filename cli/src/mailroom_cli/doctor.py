"""`mailroom doctor`: checks what a site stands on, one line for each thing, with the next step where one fails."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

import typer

from mailroom_cli.check_report import CheckResult, Outcome, describe_counts, merge_processes, to_json
from mailroom_cli.outside_checks import check_clock, check_providers, check_webhook
from mailroom_cli.site_checks import (
    check_blobs,
    check_database,
    check_kafka,
    check_settings,
    check_token_keys,
    has_settings,
)
from mailroom_cli.site_processes import SiteProcess, find_site_processes
from mailroom_cli.terminal import print_line, print_text
from mailroom_common.secret_files import SUFFIX
from mailroom_common.settings import replace_environment

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

    Reads the settings of the environment, as the services do; what has no settings here is skipped and says so. Without
    any, those of each process of a site that `make up` keeps running here are checked, and each line names the
    processes. Writes one small blob and deletes it, and nothing else. Exit code 0 when nothing failed, 1 otherwise.
    """
    if unknown := [name for name in only or [] if name not in CHECKS]:
        raise typer.BadParameter(f"there is no check {unknown[0]}: {', '.join(CHECKS)}")
    results = asyncio.run(_diagnose(only or list(CHECKS)))
    if as_json:
        print_line(to_json(results))
    else:
        for result in results:
            print_text(result.as_line())
        print_line(describe_counts(results))
    if any(result.outcome is Outcome.FAILED for result in results):
        raise typer.Exit(1)


async def _diagnose(names: Sequence[str]) -> list[CheckResult]:
    processes = [] if has_settings() else find_site_processes()
    return await (_check_processes(names, processes) if processes else _run_checks(names))


async def _check_processes(names: Sequence[str], processes: Sequence[SiteProcess]) -> list[CheckResult]:
    """One after the other, since settings are read from the environment of the whole process."""
    results = []
    for process in processes:
        if process.environment is None:
            finding = "this user may not see its environment: run doctor as root, with MAILROOM_HOME"
            results.append(CheckResult("settings", process.name, Outcome.SKIPPED, finding))
            continue
        with replace_environment(process.environment):
            results += [replace(found, processes=(process.name,)) for found in await _run_checks(names)]
    given = {name for process in processes for name in process.environment or {}}
    return merge_processes([result for result in results if not _is_given_to_another(result, given)])


def _is_given_to_another(result: CheckResult, given: set[str]) -> bool:
    variable = result.unset_variable
    return variable is not None and (variable in given or variable + SUFFIX in given)


async def _run_checks(names: Sequence[str]) -> list[CheckResult]:
    """All at once: each waits for another server."""
    found = await asyncio.gather(*(CHECKS[name]() for name in names))
    return [result for results in found for result in results]
