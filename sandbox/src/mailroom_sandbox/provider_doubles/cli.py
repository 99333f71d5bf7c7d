"""`mailroom-sandbox mailbox|send|move|delete|calls|fault`: the control API from a shell."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, TypeVar

import httpx
import typer
from rich.console import Console
from rich.table import Table

from mailroom_sandbox.provider_doubles.client import ControlClient, ControlError

CONTROL_FILE = "providers-control"  # holds the control URL while the sandbox runs; in .mailroom/run/
CONTROL_VARIABLE = "MAILROOM_SANDBOX_CONTROL"

Control = Annotated[
    str | None,
    typer.Option(
        "--control", envvar=CONTROL_VARIABLE, help="Address of the control API, if not the running sandbox's."
    ),
]


class Provider(StrEnum):
    """As the control API names them."""

    OUTLOOK = "outlook"
    GMAIL = "gmail"


Address = Annotated[str, typer.Argument(help="The mailbox.")]
MessageId = Annotated[str, typer.Argument(metavar="MESSAGE", help="Its id, as `send` printed it.")]

app = typer.Typer(no_args_is_help=True)
mailbox_app = typer.Typer(no_args_is_help=True, help="Mailboxes of the sandbox's providers.")
fault_app = typer.Typer(no_args_is_help=True, help="Make the providers misbehave.")

T = TypeVar("T")


@mailbox_app.command("create")
def find_or_create_mailbox(
    provider: Annotated[Provider, typer.Argument(help="Whose mailbox.")],
    address: Annotated[str, typer.Argument(help="e.g. accounts@company.example")],
    name: Annotated[str | None, typer.Option(help="Display name of its user.")] = None,
    control: Control = None,
) -> None:
    """Make a mailbox; one that exists stays as it is.

    Example: mailroom-sandbox mailbox create outlook accounts@company.example
    """
    _run_request(control, lambda client: client.find_or_create_mailbox(provider, address, name))
    typer.echo(f"{provider} {address}")


@mailbox_app.command("list")
def list_mailboxes(control: Control = None) -> None:
    """Show the mailboxes.

    Example: mailroom-sandbox mailbox list
    """
    for row in _run_request(control, lambda client: client.list_mailboxes()):
        typer.echo(f"{row['provider']:8} {row['address']}")


def send_mails(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", exists=True, help=".eml files or folders of them.")],
    to: Annotated[str, typer.Option("--to", help="The mailbox that they arrive in.")],
    folder: Annotated[str | None, typer.Option(help="Well-known name or path; the inbox otherwise.")] = None,
    create_folder: Annotated[bool, typer.Option("--create-folder", help="Make that folder if it is new.")] = False,
    received_at: Annotated[datetime | None, typer.Option(help="When they came, UTC; now otherwise.")] = None,
    times: Annotated[int, typer.Option(min=1, help="Deliver each so often.")] = 1,
    control: Control = None,
) -> None:
    """Deliver mails and print their ids.

    Examples:

        mailroom-sandbox send invoice.eml --to accounts@company.example

        mailroom-sandbox send sandbox/mails --to accounts@company.example --folder "Inbox/Invoices" --create-folder
    """
    mails = sorted({found for file in files for found in (file.rglob("*.eml") if file.is_dir() else [file])})
    if not mails:
        typer.echo(f"no .eml file in {', '.join(str(file) for file in files)}", err=True)
        raise typer.Exit(1)

    async def deliver_mails(client: ControlClient) -> None:
        for mail in mails:
            for message_id in await client.deliver_mail(
                mail.read_bytes(),
                to,
                folder=folder,
                received_at=received_at,
                times=times,
                create_folder=create_folder,
            ):
                typer.echo(f"{message_id}  {mail.name}")

    _run_request(control, deliver_mails)


def move_message(
    address: Address,
    message: MessageId,
    folder: Annotated[str, typer.Argument(help="Well-known name or path, e.g. deleteditems or Inbox/Done.")],
    control: Control = None,
) -> None:
    """Move a message to another folder (on Gmail: change its labels).

    Example: mailroom-sandbox move accounts@company.example AAkALg... Inbox/Done
    """
    typer.echo(_run_request(control, lambda client: client.move_message(address, message, folder)))


def delete_message(address: Address, message: MessageId, control: Control = None) -> None:
    """Remove a message for good.

    Example: mailroom-sandbox delete accounts@company.example AAkALg...
    """
    _run_request(control, lambda client: client.delete_message(address, message))


def show_calls(
    mailbox: Annotated[str | None, typer.Option(help="Only those for one mailbox.")] = None,
    provider: Annotated[str | None, typer.Option(help="outlook or gmail")] = None,
    reset: Annotated[bool, typer.Option("--reset", help="Forget them afterwards.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a line.")] = False,
    control: Control = None,
) -> None:
    """Show the calls that Mailroom made to the providers.

    Example: mailroom-sandbox calls --mailbox accounts@company.example
    """

    async def read_calls(client: ControlClient) -> list[dict[str, Any]]:
        made = await client.list_calls(mailbox, provider)
        if reset:
            await client.forget_calls()
        return made

    made = _run_request(control, read_calls)
    if as_json:
        for row in made:
            typer.echo(json.dumps(row))
        return
    table = Table("provider", "mailbox", "method", "status", "ms", "path")
    for row in made:
        cells = (row["provider"], row["mailbox"] or "", row["method"], row["status"], row["duration_ms"], row["path"])
        table.add_row(*(str(cell) for cell in cells))
    Console().print(table)


@fault_app.command("set")
def set_fault(
    name: Annotated[str, typer.Argument(help="One of `fault list`.")],
    parameters: Annotated[list[str] | None, typer.Argument(metavar="[NAME=VALUE]...")] = None,
    mailbox: Annotated[str | None, typer.Option(help="Only for this mailbox.")] = None,
    control: Control = None,
) -> None:
    """Switch a fault on.

    Examples:

        mailroom-sandbox fault set unavailable status=429 retry_after=2.5 times=3

        mailroom-sandbox fault set notifications mode=off --mailbox accounts@company.example
    """
    fields = dict(_parse_parameter(text) for text in parameters or [])
    _run_request(control, lambda client: client.set_fault(name, mailbox=mailbox, **fields))


@fault_app.command("clear")
def clear_fault(
    name: Annotated[str | None, typer.Argument(help="All faults otherwise.")] = None,
    mailbox: Annotated[str | None, typer.Option(help="Only for this mailbox.")] = None,
    control: Control = None,
) -> None:
    """Switch a fault, or all of them, off.

    Example: mailroom-sandbox fault clear unavailable
    """
    typer.echo(f"{_run_request(control, lambda client: client.clear_faults(name, mailbox=mailbox))} cleared")


@fault_app.command("list")
def list_faults(control: Control = None) -> None:
    """Show what is switched on, and every switch with its parameters.

    Example: mailroom-sandbox fault list
    """
    answer = _run_request(control, lambda client: client.list_faults())
    for row in answer["items"]:
        typer.echo(f"on: {json.dumps(row)}")
    for name, known in answer["known"].items():
        typer.echo(f"{name}: {known['help']}")
        for parameter, schema in known["schema"]["properties"].items():
            typer.echo(f"    {parameter} (default {json.dumps(schema.get('default'))}) {schema.get('description', '')}")


def add_commands(to: typer.Typer) -> None:
    """Puts these commands at the top level of `mailroom-sandbox`."""
    to.add_typer(mailbox_app, name="mailbox")
    to.add_typer(fault_app, name="fault")
    to.command("send")(send_mails)
    to.command("move")(move_message)
    to.command("delete")(delete_message)
    to.command("calls")(show_calls)


add_commands(app)


def _run_request(control: str | None, ask: Callable[[ControlClient], Awaitable[T]]) -> T:
    async def send_request() -> T:
        async with ControlClient(control or _find_running_sandbox()) as client:
            return await ask(client)

    try:
        return asyncio.run(send_request())
    except (ControlError, httpx.HTTPError) as error:
        typer.echo(f"{error or type(error).__name__}{_advise(str(error))}", err=True)
        raise typer.Exit(1) from error


def _advise(error: str) -> str:
    if error.startswith("no mailbox"):
        return "; `mailroom-sandbox mailbox list` shows those that there are, `mailbox create` makes one"
    return "; --create-folder makes it" if " has no folder " in error else ""


def _find_running_sandbox() -> str:
    """The address that a running sandbox of this checkout has written down."""
    file = Path(os.environ.get("MAILROOM_HOME", ".mailroom")) / "run" / CONTROL_FILE
    if not file.is_file():
        raise ControlError(f"no sandbox is running here ({file} is missing): start one, or name one with --control")
    return file.read_text().strip()


def _parse_parameter(text: str) -> tuple[str, object]:
    """`times=3` is a number, `mode=off` a word; a word in quotation marks is always one."""
    name, equals, value = text.partition("=")
    if not equals:
        raise typer.BadParameter(f"{text}: write NAME=VALUE")
    if name == "retry_after":
        return name, None if value == "null" else value
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value
