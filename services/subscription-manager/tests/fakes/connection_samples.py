"""Connections, subscriptions and troubles as tests name them, a clock, and addresses that all of them share."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from mailroom_common.events import Access, Profile
from mailroom_common.providers.types import Subscription
from subscription_manager.app import PROVIDERS
from subscription_manager.domain.connection import (
    Connection,
    ConnectionState,
    ConnectionStatus,
    CurrentSubscription,
    Trouble,
    TroubleReason,
)
from subscription_manager.domain.subscription_schedule import build_webhook_urls
from subscription_manager.handlers.create_doc_source import ConnectionDurations

PUBLIC_URL = "https://mailroom.example"
URLS = build_webhook_urls(PUBLIC_URL, "outlook")
NOW = datetime(2026, 11, 28, 12, tzinfo=UTC)
ID = "11111111-1111-4111-8111-111111111111"
OTHER_ID = "22222222-2222-4222-8222-222222222222"

OUTLOOK, GMAIL = (package.traits for package in PROVIDERS)
TRAITS = {traits.name: traits for traits in (OUTLOOK, GMAIL)}

DURATIONS = ConnectionDurations(
    backstop_interval=timedelta(minutes=15),
    start_margin=timedelta(minutes=1),
    ticket_lifetime=timedelta(hours=1),
    flow_lifetime=timedelta(minutes=10),
)


def make_connection(**changed: object) -> Connection:
    """An active Outlook doc source without a subscription."""
    connection = Connection(
        id=ID,
        tenant_id="acme",
        provider="outlook",
        profile=Profile.INVOICE,
        access=Access.DELEGATED,
        state=ConnectionState.ACTIVE,
        created_at=NOW - timedelta(days=1),
        address="ada@contoso.example",
        provider_user_id="user-1",
        grant_generation=1,
        next_check_at=NOW,
        next_backstop_at=NOW + timedelta(minutes=10),
    )
    return replace(connection, **changed)  # type: ignore[arg-type]  # a test names fields freely


def make_trouble(status: ConnectionStatus, reason: TroubleReason, error: str = "x", **changed: object) -> Trouble:
    trouble = Trouble(status=status, reason=reason, error=error, since=NOW)
    return replace(trouble, **changed)  # type: ignore[arg-type]  # a test names fields freely


TOKEN_TROUBLE = make_trouble(ConnectionStatus.TOKEN_REFRESH_FAILED, TroubleReason.TOKEN_REFUSED)


def make_subscription(**changed: object) -> CurrentSubscription:
    """One that was created half a day ago and lives for six days more."""
    subscription = CurrentSubscription(
        subscription_id="sub-old",
        resource="me/messages",
        expires_at=NOW + timedelta(days=6),
        created_or_renewed_at=NOW - timedelta(hours=12),
        notification_url=URLS.notification,
        lifecycle_url=URLS.lifecycle,
        client_state_sha256="old",
    )
    return replace(subscription, **changed)  # type: ignore[arg-type]  # a test names fields freely


def make_provider_subscription(current: CurrentSubscription, owner: str | None = ID) -> Subscription:
    """As the provider holds it; `owner` is the doc source that its client state names."""
    return Subscription(
        current.subscription_id,
        current.resource,
        current.expires_at,
        current.notification_url,
        current.lifecycle_url,
        doc_source_id=owner,
    )


class Clock:
    def __init__(self, now: datetime = NOW) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, by: timedelta) -> None:
        self.now += by


class WakeCounter:
    """A `WakeSignal` that counts."""

    def __init__(self) -> None:
        self.count = 0

    def set(self) -> None:
        self.count += 1
