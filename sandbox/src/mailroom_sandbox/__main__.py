"""`mailroom-sandbox`: all of Mailroom on one machine."""

import asyncio
import contextlib
import os
import shutil
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import httpx
import typer
from rich.console import Console

from mailroom_common.errors import Fatal, MailroomError
from mailroom_common.events import Profile
from mailroom_sandbox.provider_doubles.cli import Provider, add_commands
from mailroom_sandbox.provider_doubles.client import ControlError
from mailroom_sandbox.site import lifecycle, sandbox_providers
from mailroom_sandbox.site.demo import demo_command
from mailroom_sandbox.site.demo.connect_command import connect_sandbox_mailbox
from mailroom_sandbox.site.demo.demo import Demo
from mailroom_sandbox.site.demo.mails import SAMPLES, find_mails
from mailroom_sandbox.site.endpoints import Endpoints
from mailroom_sandbox.site.given_settings import read_given_settings
from mailroom_sandbox.site.log_view import LogFilter, follow_logs
from mailroom_sandbox.site.privileges import drop_root
from mailroom_sandbox.site.settings_check import check_settings
from mailroom_sandbox.site.site_summary import describe_site
from mailroom_sandbox.site.stack import lock
from mailroom_sandbox.site.stack.home import find_home

_STOP_S = 30


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


Secure = Annotated[
    bool, typer.Option("--secure", help="Kafka asks for TLS and passwords, and allows each process what it needs.")
]

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__, pretty_exceptions_enable=False)
add_commands(app)
app.command("demo", epilog=demo_command.EXAMPLES)(demo_command.run_demo)


@app.command()
def run(
    once: Annotated[bool, typer.Option(help="End when every expected document has arrived: 0, else 1.")] = False,
    mails: Annotated[Path | None, typer.Option(help="Deliver the .eml files below this folder instead.")] = None,
    secure: Secure = False,
) -> None:
    """Everything: two mailboxes connected, mails delivered, documents shown as they appear. `make run`.

    Examples:

        mailroom-sandbox run --once

        mailroom-sandbox run --once --secure

        mailroom-sandbox run --mails ~/mails
    """
    console = _open_console()
    drop_root(find_home(), console, needed=[mails.expanduser().resolve()] if mails else [])
    with lock.hold_lock(find_home().lock):
        plan = _sandbox_plan(is_secure=secure)
        found = find_mails(mails.expanduser().resolve() if mails else SAMPLES)
        control = sandbox_providers.control_url(plan)
        demo = Demo(plan, control, console, found, of_the_repository=mails is None, once=once)
        sys.exit(_serve_site(plan, console, demo))


@app.command()
def up(
    without_providers: Annotated[
        bool, typer.Option("--without-providers", help="On the providers of the environment or .env. `make up`.")
    ] = False,
    secure: Secure = False,
) -> None:
    """Kafka, Postgres, the services, the reverse proxy and the provider doubles, until Ctrl-C.

    Examples:

        mailroom-sandbox up

        mailroom-sandbox up --without-providers

        mailroom-sandbox up --secure
    """
    console = _open_console()
    drop_root(find_home(), console)
    with lock.hold_lock(find_home().lock):
        plan = _plan_without_providers(is_secure=secure) if without_providers else _sandbox_plan(is_secure=secure)
        sys.exit(_serve_site(plan, console, lambda endpoints: _wait_for_interrupt(console, plan, endpoints)))


@app.command()
def connect(
    provider: Annotated[Provider, typer.Argument(help="Whose mailbox.")],
    address: Annotated[str, typer.Argument(help="e.g. sales@outlook.test; it is made where it is new.")],
    profile: Annotated[Profile, typer.Option(help="What it is read for.")] = Profile.INVOICE,
) -> None:
    """Make a mailbox at the sandbox's providers and connect it to the site that runs, as its owner would.

    Example: mailroom-sandbox connect outlook sales@outlook.test
    """
    typer.echo(f"{address} is connected: doc source {connect_sandbox_mailbox(find_home(), provider, address, profile)}")


@app.command()
def logs(
    name: Annotated[str | None, typer.Argument(help="One process, as subscription_manager; all otherwise.")] = None,
    level: Annotated[LogLevel, typer.Option(help="Hide what is below this level.")] = LogLevel.DEBUG,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="Lines of each file to begin with.")] = 20,
    no_follow: Annotated[bool, typer.Option("--no-follow", help="End with the last line.")] = False,
) -> None:
    """The logs of a site in columns, as they are written. `make logs`.

    Examples:

        mailroom-sandbox logs --level warning

        mailroom-sandbox logs sync_engine_worker -n 200 --no-follow
    """
    folder = find_home().logs
    if not folder.is_dir() or (name is not None and not (folder / f"{name}.log").is_file()):
        known = ", ".join(sorted(path.stem for path in folder.glob("*.log"))) or "no logs yet"
        raise Fatal(f"{folder} has no log of {name or 'a site'}: there are {known}")
    console = _open_console()
    with contextlib.suppress(KeyboardInterrupt):
        for text in follow_logs(folder, LogFilter(level.value, name), last_lines=lines, follow=not no_follow):
            console.print(text, soft_wrap=True)


@app.command()
def down() -> None:
    """Stop what runs on this state, and wait until it has stopped."""
    holder = lock.find_holder(find_home().lock)
    if holder is None:
        raise Fatal(f"nothing runs on {find_home().path}")
    os.kill(holder, signal.SIGTERM)
    deadline = time.monotonic() + _STOP_S
    while lock.find_holder(find_home().lock) == holder:
        if time.monotonic() > deadline:
            raise Fatal(f"process {holder} is still there after {_STOP_S} s")
        time.sleep(0.1)


@app.command()
def clean() -> None:
    """Forget the state: mailboxes, documents, topics, tables, ports, keys."""
    with lock.hold_lock(find_home().lock):
        for path in find_home().path.iterdir():
            if path == find_home().lock:
                continue
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _open_console() -> Console:
    """What goes into a file or a pipe is not cut to a terminal's width."""
    return Console() if sys.stdout.isatty() else Console(width=140)


def _plan_without_providers(*, is_secure: bool) -> lifecycle.SitePlan:
    given = read_given_settings()
    plan = lifecycle.plan_site(find_home(), given.values, is_secure=is_secure)
    check_settings(given, lifecycle.compose_planned_environment(plan), plan.ports)
    return plan


def _sandbox_plan(*, is_secure: bool) -> lifecycle.SitePlan:
    given = read_given_settings()
    if passed_over := sandbox_providers.list_passed_over(given.values):
        print(f"Not used by the sandbox, which has its own: {', '.join(passed_over)}", file=sys.stderr)
    plan = sandbox_providers.with_sandbox_providers(
        lifecycle.plan_site(find_home(), given.values, more_ports=sandbox_providers.PORT_NAMES, is_secure=is_secure)
    )
    check_settings(given, lifecycle.compose_planned_environment(plan), plan.ports)
    return plan


def _serve_site(plan: lifecycle.SitePlan, console: Console, job: Callable[[Endpoints], Awaitable[int]]) -> int:
    announcement = sandbox_providers.announce_control_url(plan) if plan.companion else contextlib.nullcontext()
    with announcement:
        return asyncio.run(lifecycle.run_site(plan, console, job))


async def _wait_for_interrupt(console: Console, plan: lifecycle.SitePlan, endpoints: Endpoints) -> int:
    for name, text in describe_site(plan, endpoints):
        console.print(f"[bold]{name:12}[/]{text}", soft_wrap=True, highlight=False)
    await asyncio.Event().wait()
    return 0


def main() -> None:
    try:
        app()
    except (MailroomError, ControlError, httpx.HTTPError) as error:
        Console(stderr=True).print(f"[red]{error or type(error).__name__}[/]", highlight=False, soft_wrap=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
