"""A gateway in memory for the unit tests: its routes and handlers over a fake directory and a fake Kafka."""

import asyncio
import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import httpx
from fastapi import FastAPI

from mailroom_common.errors import Unavailable
from mailroom_common.events import Access, ClientState, DocSource, DocSourceState, Event, Profile
from mailroom_common.topics import DOC_SOURCES, LIFECYCLE_EVENTS, NOTIFICATIONS, SCHEMAS
from mailroom_common.tracing import get_or_create_traceparent
from webhook_gateway.adapters.doc_source_lookup import BoundedDocSourceLookup
from webhook_gateway.adapters.pubsub_authenticator import PubSubAuthenticator
from webhook_gateway.api.http import Dispatcher
from webhook_gateway.api.webhooks import WebhookRoutes
from webhook_gateway.handlers.receive_gmail_push import GmailPushReceiver
from webhook_gateway.handlers.receive_graph_push import GraphPushReceiver
from webhook_gateway.ports import OutgoingEvent, PushAuthenticator
from webhook_gateway.settings import parse_networks

GATEWAY_TOPICS = (DOC_SOURCES, LIFECYCLE_EVENTS, NOTIFICATIONS, SCHEMAS)
NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
SUBSCRIPTION = "projects/acme/subscriptions/gmail"
GMAIL_ADDRESS = "billing@example.com"


def make_source(doc_source_id: str = "ds-1", **changes: Any) -> DocSource:
    defaults: dict[str, Any] = {
        "event_id": "e",
        "occurred_at": NOW,
        "tenant_id": "acme",
        "doc_source_id": doc_source_id,
        "version": 1,
        "provider": "outlook",
        "profile": Profile.INVOICE,
        "access": Access.DELEGATED,
        "state": DocSourceState.ACTIVE,
        "client_states": [make_client_state(f"{doc_source_id}:secret")],
        "subscription_id": "sub-1",
    }
    return DocSource(**{**defaults, **changes})


def make_gmail_source(doc_source_id: str = "ds-1", **changes: Any) -> DocSource:
    defaults: dict[str, Any] = {"provider": "gmail", "address": GMAIL_ADDRESS, "client_states": []}
    return make_source(doc_source_id, **{**defaults, **changes})


def make_client_state(client_state: str, valid_until: datetime = NOW + timedelta(days=2)) -> ClientState:
    return ClientState(sha256=sha256(client_state.encode()).hexdigest(), valid_until=valid_until)


def make_change(client_state: object = "ds-1:secret", **changes: Any) -> dict[str, Any]:
    defaults = {
        "subscriptionId": "sub-1",
        "clientState": client_state,
        "changeType": "created",
        "resource": "Users/u/Messages/AAMk",
        "resourceData": {"@odata.type": "#Microsoft.Graph.Message", "@odata.etag": 'W/"1"', "id": "AAMk"},
        "tenantId": "t",
    }
    return {**defaults, **changes}


def make_lifecycle_item(lifecycle_event: str, client_state: str = "ds-1:secret") -> dict[str, Any]:
    return {"subscriptionId": "sub-1", "clientState": client_state, "lifecycleEvent": lifecycle_event, "tenantId": "t"}


def make_gmail_push(
    address: str = GMAIL_ADDRESS,
    history_id: object = 9876543210,
    subscription: str | None = None,
    *,
    is_url_safe: bool = False,
) -> dict[str, Any]:
    """The wrapped form."""
    text = json.dumps({"emailAddress": address, "historyId": history_id}).encode()
    data = (base64.urlsafe_b64encode(text).rstrip(b"=") if is_url_safe else base64.b64encode(text)).decode()
    message = {"data": data, "messageId": "1", "message_id": "1", "publishTime": "2026-11-28T12:00:00Z"}
    return {"message": message} | ({} if subscription is None else {"subscription": subscription})


@dataclass
class FakeSourceDirectory:
    """`unread` is in the topic and not read yet: a catch-up reads it."""

    sources: dict[str, DocSource] = field(default_factory=dict)
    unread: list[DocSource] = field(default_factory=list)
    can_catch_up: bool = True
    catch_up_timeouts_s: list[float] = field(default_factory=list)  # of each call
    waiting: int = 0
    max_waiting: int = 0
    catch_up_released: asyncio.Event | None = None  # what a catch-up waits for

    def add_sources(self, *sources: DocSource) -> None:
        self.sources.update({source.doc_source_id: source for source in sources})

    def get_source(self, doc_source_id: str) -> DocSource | None:
        return self.sources.get(doc_source_id)

    def find_by_address(self, provider: str, address: str) -> tuple[DocSource, ...]:
        return tuple(
            source
            for source in self.sources.values()
            if source.provider == provider and address.casefold() in {source.address, *source.aliases}
        )

    async def catch_up(self, timeout_s: float) -> bool:
        self.catch_up_timeouts_s.append(timeout_s)
        self.waiting += 1
        self.max_waiting = max(self.max_waiting, self.waiting)
        try:
            if self.catch_up_released is not None:
                await self.catch_up_released.wait()
        finally:
            self.waiting -= 1
        if self.can_catch_up:
            self.add_sources(*self.unread)
            self.unread.clear()
        return self.can_catch_up


@dataclass
class FakeEventWriter:
    """`acknowledged`, when set, is what Kafka waits for before it acknowledges a write."""

    is_unavailable: bool = False
    acknowledged: asyncio.Event | None = None
    write_started: asyncio.Event = field(default_factory=asyncio.Event)
    traceparents: list[str] = field(default_factory=list)  # the current one of each write
    written: list[OutgoingEvent] = field(default_factory=list)
    timeouts_s: list[float] = field(default_factory=list)

    async def write_events(self, events: Sequence[OutgoingEvent], *, timeout_s: float) -> None:
        self.timeouts_s.append(timeout_s)
        self.traceparents.append(get_or_create_traceparent())
        self.write_started.set()
        if self.acknowledged is not None:
            await self.acknowledged.wait()
        if self.is_unavailable:
            raise Unavailable("Kafka did not acknowledge")
        self.written += events

    def get_events(self, topic: str) -> list[Any]:  # Any: tests look into events of the kind that they expect
        return [one.event for one in self.written if one.topic.name == topic]

    def get_keys(self) -> list[tuple[str, str]]:
        """Topic and key of each record."""
        return [(one.topic.name, one.key) for one in self.written]

    def get_single_event(self) -> tuple[str, str, Event]:
        [only] = self.written
        return only.topic.name, only.key, only.event


@dataclass
class GatewayHarness:
    """One gateway with its fakes; `http` speaks to it as a provider would."""

    directory: FakeSourceDirectory
    writer: FakeEventWriter
    http: httpx.AsyncClient
    not_ready_reason: str | None = None

    async def post_items(self, *items: object, path: str = "/webhooks/outlook", **options: Any) -> httpx.Response:
        return await self.http.post(path, json={"value": list(items)}, **options)

    async def post_gmail(self, body: object, **options: Any) -> httpx.Response:
        return await self.http.post("/webhooks/gmail", json=body, **{"params": {"token": "tok"}, **options})


def build_gateway(
    *sources: DocSource,
    authenticator: PushAuthenticator | None = None,
    subscription: str | None = None,
    trusted_proxies: str = "",
    max_catch_ups: int = 50,
    max_body_bytes: int = 10_000,
    peer: str = "203.0.113.9",
) -> GatewayHarness:
    directory, writer = FakeSourceDirectory(), FakeEventWriter()
    directory.add_sources(*sources)
    lookup = BoundedDocSourceLookup(directory, catch_up_timeout_s=1.0, max_catch_ups=max_catch_ups)
    routes = WebhookRoutes(
        GraphPushReceiver(lookup, writer, clock=lambda: NOW),
        GmailPushReceiver(lookup, writer, clock=lambda: NOW),
        authenticator or PubSubAuthenticator(static_token="tok", token_verifier=None),
        check_readiness=lambda: harness.not_ready_reason,
        subscription=subscription,
        trusted_proxies=parse_networks(trusted_proxies),
        max_body_bytes=max_body_bytes,
        push_timeout_s=2.2,
    )
    app = Dispatcher(routes.build_endpoints(), FastAPI(openapi_url=None))
    transport = httpx.ASGITransport(app, client=(peer, 1234))
    harness = GatewayHarness(directory, writer, httpx.AsyncClient(transport=transport, base_url="https://gateway.test"))
    return harness
