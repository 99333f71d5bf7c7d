"""`mailroom subscriptions`: the push subscription of one mailbox, made or found from a command line."""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

import typer

from mailroom_cli.check_report import to_json_object
from mailroom_cli.site_api import JSON, SiteAPI, open_site_api
from mailroom_cli.terminal import print_text
from mailroom_common.errors import Rejected

app = typer.Typer(name="subscriptions", no_args_is_help=True, help="Push subscriptions at the providers.")

_EXAMPLES = """Examples:

  mailroom subscriptions bootstrap --mailbox ap@example.com --provider outlook --access application \\
      --provider-tenant contoso.onmicrosoft.com --profile contract_note

  mailroom subscriptions bootstrap --mailbox ap@example.com --provider gmail --json

Exit codes: 0 a subscription lives, found or made; 1 refused, and the sentence says why; 3 a person has to consent at
the address that is printed; 4 not made within --timeout, and the doc source goes on trying; 75 no answer; 78 a setting.
"""
_EXIT_CONSENT = 3
_EXIT_LATE = 4
# The subscription is made within a second of the consent; Kafka, a provider's handshake and a retry may come between.
_POLL_S = 1.0


class Bootstrapped(StrEnum):
    LIVE = "live"  # a subscription was there and lives
    CREATED = "created"  # there was none, and one was made
    CONSENT_REQUIRED = "consent_required"  # a person has to consent first, at `authorize_url`
    POLLED = "polled"  # mail is read, and no subscription was made in time


@dataclass(frozen=True, slots=True)
class BootstrapResult:
    outcome: Bootstrapped
    doc_source_id: str
    expires_at: str | None = None
    authorize_url: str | None = None
    reason: str | None = None


@app.callback()
def describe_group() -> None:
    """Push subscriptions at the providers."""


@app.command("bootstrap", epilog=_EXAMPLES)
def bootstrap_subscription(
    mailbox: Annotated[str, typer.Option("--mailbox", help="Address of the mailbox.")],
    provider: Annotated[str, typer.Option("--provider", help="outlook or gmail.")] = "outlook",
    profile: Annotated[str, typer.Option("--profile", help="invoice, contract_note or observation.")] = "invoice",
    access: Annotated[str, typer.Option("--access", help="delegated or application.")] = "delegated",
    provider_tenant: Annotated[
        str | None, typer.Option("--provider-tenant", help="Tenant at the provider, for application access.")
    ] = None,
    timeout_s: Annotated[float, typer.Option("--timeout", min=1, help="Seconds to wait for the subscription.")] = 60,
    as_json: Annotated[bool, typer.Option("--json", help="The result as JSON on stdout.")] = False,
) -> None:
    """Report the live subscription of a mailbox, or connect the mailbox so that one is made and kept alive.

    Safe to repeat: a mailbox that is connected is never connected twice. Settings: MAILROOM_API_URL (or
    MAILROOM_PUBLIC_URL) and MAILROOM_API_KEY, of an operator, for application access of an admin.
    """
    wanted = {"provider": provider, "profile": profile, "access": access, "address": mailbox}
    if provider_tenant is not None:
        wanted["provider_tenant"] = provider_tenant
    with open_site_api() as api:
        result = _bootstrap(api, wanted, timeout_s)
    print_text(to_json_object(asdict(result)) if as_json else _describe(result, mailbox))
    if result.outcome is Bootstrapped.CONSENT_REQUIRED:
        raise typer.Exit(_EXIT_CONSENT)
    if result.outcome is Bootstrapped.POLLED:
        raise typer.Exit(_EXIT_LATE)


def _bootstrap(api: SiteAPI, wanted: Mapping[str, str], timeout_s: float) -> BootstrapResult:
    source = find_source(api, wanted)
    if source is not None and is_live(source, datetime.now(UTC)):
        return BootstrapResult(Bootstrapped.LIVE, source["id"], source["subscription_expires_at"])
    if source is None:
        source = api.call("POST", "/doc-sources", body=dict(wanted))
    elif source["state"] == "pending" and wanted["access"] == "delegated":
        source = api.call("POST", f"/doc-sources/{source['id']}/authorize")
    if (url := source.get("authorize_url")) is not None:
        return BootstrapResult(Bootstrapped.CONSENT_REQUIRED, source["id"], authorize_url=url)
    return _wait_for_subscription(api, source["id"], timeout_s)


def find_source(api: SiteAPI, wanted: Mapping[str, str]) -> JSON | None:
    """The doc source of this mailbox, provider and profile.

    Raises:
        Rejected: it is being deleted.
    """
    for source in api.list_items("/doc-sources", {"address": wanted["address"]}):
        if all(source[name] == wanted[name] for name in ("provider", "profile")):
            if source["state"] == "deleting":
                raise Rejected(f"doc source {source['id']} of this mailbox is being deleted: try again once it is gone")
            return source
    return None


def is_live(source: Mapping[str, Any], now: datetime) -> bool:
    expires_at = source["subscription_expires_at"]
    return source["state"] == "active" and expires_at is not None and datetime.fromisoformat(expires_at) > now


def _wait_for_subscription(api: SiteAPI, doc_source_id: str, timeout_s: float) -> BootstrapResult:
    """Asks until it is there: the API has no call that waits, and subscription-manager makes it by itself."""
    deadline_s = time.monotonic() + timeout_s
    while True:
        source = api.call("GET", f"/doc-sources/{doc_source_id}")
        if is_live(source, datetime.now(UTC)):
            return BootstrapResult(Bootstrapped.CREATED, doc_source_id, source["subscription_expires_at"])
        if source["state"] == "paused":
            raise Rejected(f"doc source {doc_source_id} is paused: resume it first")
        if time.monotonic() > deadline_s:
            reason = source["connection_reason"] or source["connection_status"]
            return BootstrapResult(Bootstrapped.POLLED, doc_source_id, reason=reason)
        time.sleep(_POLL_S)


def _describe(result: BootstrapResult, mailbox: str) -> str:
    match result.outcome:
        case Bootstrapped.LIVE:
            return f"{mailbox} has a subscription until {result.expires_at} (doc source {result.doc_source_id})"
        case Bootstrapped.CREATED:
            return (
                f"a subscription was made for {mailbox}, until {result.expires_at} (doc source {result.doc_source_id})"
            )
        case Bootstrapped.CONSENT_REQUIRED:
            return f"open this address as {mailbox} and consent, then run this again:\n{result.authorize_url}"
        case Bootstrapped.POLLED:
            return (
                f"no subscription yet for {mailbox} (doc source {result.doc_source_id}, {result.reason}): its mail is "
                "read by the backstop meanwhile; `mailroom doctor --only webhook` shows whether providers can call"
            )
