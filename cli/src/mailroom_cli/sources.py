"""`mailroom sources`: connect mailboxes and see to them, through the services' APIs."""

import time
from datetime import UTC, datetime
from typing import Annotated

import typer

from mailroom_cli.options import AnswerAsJSON
from mailroom_cli.site_api import JSON, SiteAPI, open_site_api
from mailroom_cli.source_views import (
    ROW_HEAD,
    build_health_json,
    build_row,
    describe_filter,
    find_source,
    look_at_source,
    print_columns,
    print_json,
    print_source,
)
from mailroom_cli.terminal import escape_line, print_line, print_text
from mailroom_common.events import Access, Profile

app = typer.Typer(name="sources", no_args_is_help=True, help="Doc sources: the mailboxes that are connected.")

_POLL_S = 2.0
EXIT_NOT_CONNECTED = 1

Source = Annotated[str, typer.Argument(metavar="SOURCE", help="Id, the beginning of one, or the mailbox's address.")]
Folders = Annotated[
    list[str] | None, typer.Option("--folder", help="Only this folder or label, by name or path; may be given often.")
]

_CONNECT_EXAMPLES = """Examples:

  mailroom sources connect outlook --address ap@company.example

  mailroom sources connect gmail --folder Invoices --start-at 2026-11-01 --no-wait

  mailroom sources connect outlook --application --address desk@company.example --provider-tenant GUID
"""


_FILTER_EXAMPLES = """Examples:

  mailroom sources filter ap@company.example --deny news.acme.example --deny noreply@shop.example

  mailroom sources filter ap@company.example --strictness strict
"""


@app.command("connect", epilog=_CONNECT_EXAMPLES)
def connect_source(
    provider: Annotated[str, typer.Argument(help="outlook or gmail")],
    address: Annotated[str | None, typer.Option(help="The mailbox; only this one may consent then.")] = None,
    profile: Annotated[Profile, typer.Option(help="What it is read for.")] = Profile.INVOICE,
    folder: Folders = None,
    start_at: Annotated[
        datetime | None,
        typer.Option(help="Take mail received from then on, UTC; now otherwise. Earlier needs an admin's key."),
    ] = None,
    application: Annotated[bool, typer.Option("--application", help="By the application's own access.")] = False,
    provider_tenant: Annotated[
        str | None, typer.Option(help="Entra tenant: for --application, and where the address is no sign-in name.")
    ] = None,
    wait_s: Annotated[float, typer.Option("--wait", help="Seconds to wait for the consent.")] = 600,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Print the link and end.")] = False,
    as_json: AnswerAsJSON = False,
) -> None:
    """Connect a mailbox: prints the link that its owner opens, and waits until the owner has consented."""
    access = Access.APPLICATION if application else Access.DELEGATED
    body: JSON = {"provider": provider, "profile": profile.value, "access": access.value, "folders": folder or []}
    body |= {} if address is None else {"address": address}
    body |= {} if provider_tenant is None else {"provider_tenant": provider_tenant}
    body |= {} if start_at is None else {"start_at": _as_utc(start_at).isoformat()}
    with open_site_api() as api:
        source = api.call("POST", "/doc-sources", body=body)
        _follow_consent(api, source, wait_s=0 if no_wait else wait_s, as_json=as_json)


@app.command("authorize", epilog="Example:\n\n  mailroom sources authorize ap@company.example")
def authorize_source(
    source: Source,
    wait_s: Annotated[float, typer.Option("--wait", help="Seconds to wait for the consent.")] = 600,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Print the link and end.")] = False,
    as_json: AnswerAsJSON = False,
) -> None:
    """A new link: for a consent that was refused or expired, or whose grant the provider no longer takes."""
    with open_site_api() as api:
        found = find_source(api, source)
        answer = api.call("POST", f"/doc-sources/{found['id']}/authorize")
        _follow_consent(api, answer, wait_s=0 if no_wait else wait_s, as_json=as_json)


@app.command("correct", epilog="Example:\n\n  mailroom sources correct 0b8f0f4e --folder Inbox/Invoices")
def correct_source(
    source: Source,
    address: Annotated[str | None, typer.Option(help="The mailbox that may consent.")] = None,
    folder: Folders = None,
    as_json: AnswerAsJSON = False,
) -> None:
    """Correct the address or the folders of one that is still pending; `authorize` then makes a new link."""
    body: JSON = ({} if address is None else {"address": address}) | ({} if folder is None else {"folders": folder})
    with open_site_api() as api:
        found = find_source(api, source)
        _print_change(api.call("PATCH", f"/doc-sources/{found['id']}", body=body), "corrected", as_json=as_json)


@app.command("filter", epilog=_FILTER_EXAMPLES)
def change_filter(
    source: Source,
    allow: Annotated[list[str] | None, typer.Option(help="Always taken: address or domain; replaces the list.")] = None,
    deny: Annotated[list[str] | None, typer.Option(help="Never taken: address or domain; replaces the list.")] = None,
    strictness: Annotated[str | None, typer.Option(help="lenient or strict")] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Begin with no lists, and lenient.")] = False,
    as_json: AnswerAsJSON = False,
) -> None:
    """Which mail is looked into from now on; without options, what holds now."""
    given: JSON = {"sender_allow": allow, "sender_deny": deny, "strictness": strictness}
    changed = {name: value for name, value in given.items() if value is not None}
    with open_site_api() as api:
        found = find_source(api, source)
        if changed or clear:
            rules = ({} if clear else found["filter"]) | changed
            found = api.call("PATCH", f"/doc-sources/{found['id']}", body={"filter": rules})
    if as_json:
        print_json(found)
    else:
        print_line(describe_filter(found["filter"]))


@app.command("list", epilog="Examples:\n\n  mailroom sources list\n\n  mailroom sources list --json")
def list_sources(as_json: AnswerAsJSON = False) -> None:
    """All doc sources of the tenant."""
    with open_site_api() as api:
        sources = api.list_items("/doc-sources")
    if as_json:
        print_json(sources)
    elif sources:
        print_columns(ROW_HEAD, [build_row(source, source["connection_reason"] or "") for source in sources])
    else:
        print_line("No mailbox is connected yet: `mailroom sources connect outlook` connects the first one.")


@app.command("show", epilog="Example:\n\n  mailroom sources show ap@company.example")
def show_source(source: Source, as_json: AnswerAsJSON = False) -> None:
    """Why is this mailbox behind? Its fields, what is wrong, its last runs, its parked mails and the next attempt."""
    with open_site_api() as api:
        found = find_source(api, source)
        health, facts = look_at_source(api, found)
    if as_json:
        print_json(build_health_json(found, health, facts))
    else:
        print_source(found, health, facts)


@app.command("pause", epilog="Example:\n\n  mailroom sources pause ap@company.example")
def pause_source(source: Source, as_json: AnswerAsJSON = False) -> None:
    """Stop syncing and keep the connection."""
    _post_change(source, "pause", "paused", as_json=as_json)


@app.command("resume", epilog="Example:\n\n  mailroom sources resume ap@company.example")
def resume_source(source: Source, as_json: AnswerAsJSON = False) -> None:
    """Sync again; what came meanwhile is caught up."""
    _post_change(source, "resume", "resumed", as_json=as_json)


@app.command("sync", epilog="Example:\n\n  mailroom sources sync ap@company.example")
def request_sync(source: Source, as_json: AnswerAsJSON = False) -> None:
    """Ask for a sync of everything now, parked mails included."""
    _post_change(source, "sync", "about to be synced", as_json=as_json)


@app.command("delete", epilog="Example:\n\n  mailroom sources delete ap@company.example --yes")
def delete_source(
    source: Source,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: AnswerAsJSON = False,
) -> None:
    """End the connection, also at the provider. Documents stay. Needs a key with the role admin."""
    with open_site_api() as api:
        found = find_source(api, source)
        if not yes:
            typer.confirm(f"End the connection of {found['address'] or found['id']}?", abort=True, err=True)
        _print_change(api.call("DELETE", f"/doc-sources/{found['id']}"), "being deleted", as_json=as_json)


def _post_change(source: str, verb: str, done: str, *, as_json: bool) -> None:
    with open_site_api() as api:
        found = find_source(api, source)
        _print_change(api.call("POST", f"/doc-sources/{found['id']}/{verb}"), done, as_json=as_json)


def _print_change(source: JSON, done: str, *, as_json: bool) -> None:
    if as_json:
        print_json(source)
    else:
        print_line(f"{source['address'] or source['id']} is {done}")


def _follow_consent(api: SiteAPI, source: JSON, *, wait_s: float, as_json: bool) -> None:
    """The link, then each change of the reason, until it is connected; exit code 1 when that does not come."""
    link = source.get("authorize_url")
    if as_json and (wait_s <= 0 or link is None):
        print_json(source)
        return
    if link is not None:
        owner = escape_line(source["address"] or "the mailbox")
        print_text(f"Open this link as the owner of {owner}:\n\n  {escape_line(link)}\n", err=as_json)
    connected = source if link is None else _wait_for_consent(api, source, wait_s)
    if connected is None:
        print_line(f"Not connected yet; `mailroom sources show {source['id']}` says how it is.", err=True)
        if wait_s > 0:
            raise typer.Exit(EXIT_NOT_CONNECTED)
        return
    if as_json:
        print_json(connected)
    else:
        print_line(f"{connected['address']} is connected: mail received from {connected['start_at']} on is read.")


def _wait_for_consent(api: SiteAPI, source: JSON, wait_s: float) -> JSON | None:
    """The doc source once it is connected; None when time is over. A reconnect shows by its new state only."""
    deadline = time.monotonic() + wait_s
    reason = source["connection_reason"]
    while time.monotonic() < deadline:
        time.sleep(_POLL_S)
        now = api.call("GET", f"/doc-sources/{source['id']}")
        # One that the provider does not let us watch is connected all the same: its mail comes with the backstop.
        if now["state"] != "pending" and now["connection_status"] in ("active", "subscription_expired"):
            return now
        if now["connection_reason"] != reason:
            reason = now["connection_reason"]
            why = f": {now['current_error']}" if now["current_error"] else ""
            print_line(f"{reason}{why}; `mailroom sources authorize {source['id']}` makes a new link", err=True)
    return None


def _as_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=moment.tzinfo or UTC)
