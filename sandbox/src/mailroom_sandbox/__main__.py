"""`mailroom-sandbox`: all of Mailroom on one machine."""

import asyncio
import sys

import typer
from rich.console import Console

from mailroom_common.errors import Fatal
from mailroom_sandbox import environment, site
from mailroom_sandbox.endpoints import Endpoints
from mailroom_sandbox.stack import lock
from mailroom_sandbox.stack.home import home

app = typer.Typer(no_args_is_help=True, add_completion=False, help=__doc__, pretty_exceptions_enable=False)


@app.callback()
def _sandbox() -> None:
    """All of Mailroom on one machine."""


@app.command()
def up() -> None:
    """Kafka, Postgres, the services and the front, on the settings of the environment or `.env`; until Ctrl-C."""
    console = Console()
    with lock.hold(home().lock):
        plan = site.plan(home(), environment.given())
        sys.exit(asyncio.run(site.run(plan, console, lambda endpoints: _stay(console, endpoints))))


async def _stay(console: Console, endpoints: Endpoints) -> int:
    console.print(
        f"Mailroom is up: {endpoints.public} (addresses and key in {home().endpoints}); Ctrl-C stops it", soft_wrap=True
    )
    await asyncio.Event().wait()
    return 0


def main() -> None:
    try:
        app()
    except Fatal as fatal:
        Console(stderr=True).print(f"[red]{type(fatal).__name__}[/]: {fatal}", highlight=False)
        sys.exit(1)


if __name__ == "__main__":
    main()
