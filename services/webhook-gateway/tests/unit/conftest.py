"""The webhook routes over fakes: a directory whose newer records have to be asked for, and a Kafka that can be away."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from mailroom_common.errors import Unavailable
from mailroom_common.events import Access, ClientState, DocSource, DocSourceState, Event, Profile
from mailroom_common.kafka.producer import OutgoingEvent
from webhook_gateway.adapters.pubsub_proof import PubSubProof
from webhook_gateway.api.http import Dispatcher
from webhook_gateway.api.webhooks import Webhooks
from webhook_gateway.handlers.catch_up import CatchUps
from webhook_gateway.handlers.receive_gmail import ReceiveGmail
from webhook_gateway.handlers.receive_graph import ReceiveGraph
from webhook_gateway.ports import ProvesPushes
from webhook_gateway.settings import networks_in

NOW = datetime(2026, 11, 28, 12, 0, tzinfo=UTC)
SUBSCRIPTION = "projects/acme/subscriptions/gmail"


def a_source(doc_source_id: str = "ds-1", **changes: Any) -> DocSource:
    usual: dict[str, Any] = {
        "event_id": "e",
        "occurred_at": NOW,
        "tenant_id": "acme",
        "doc_source_id": doc_source_id,
        "version": 1,
        "provider": "outlook",
        "profile": Profile.INVOICE,
        "access": Access.DELEGATED,
        "state": DocSourceState.ACTIVE,
        "client_states": [a_hash(f"{doc_source_id}:secret")],
        "subscription_id": "sub-1",
    }
    return DocSource(**{**usual, **changes})


def a_hash(client_state: str, valid_until: datetime = NOW + timedelta(days=2)) -> ClientState:
    return ClientState(sha256=sha256(client_state.encode()).hexdigest(), valid_until=valid_until)


def a_change(client_state: str | None = "ds-1:secret", **changes: Any) -> dict[str, Any]:
    usual = {
        "subscriptionId": "sub-1",
        "clientState": client_state,
        "changeType": "created",
        "resource": "Users/u/Messages/AAMk",
        "resourceData": {"@odata.type": "#Microsoft.Graph.Message", "@odata.etag": 'W/"1"', "id": "AAMk"},
        "tenantId": "t",
    }
    return {**usual, **changes}


def a_lifecycle_item(kind: str, client_state: str = "ds-1:secret") -> dict[str, Any]:
    return {"subscriptionId": "sub-1", "clientState": client_state, "lifecycleEvent": kind, "tenantId": "t"}


@dataclass
class FakeSources:
    """`to_come` is written to the topic and not read yet: a catch-up reads it."""

    known: dict[str, DocSource] = field(default_factory=dict)
    to_come: list[DocSource] = field(default_factory=list)
    can_catch_up: bool = True
    catch_ups: int = 0
    most_at_once: int = 0
    waiting: int = 0
    gate: asyncio.Event | None = None

    def put(self, *sources: DocSource) -> None:
        self.known.update({source.doc_source_id: source for source in sources})

    def get_source(self, doc_source_id: str) -> DocSource | None:
        return self.known.get(doc_source_id)

    def find_by_address(self, provider: str, address: str) -> tuple[DocSource, ...]:
        return tuple(
            source
            for source in self.known.values()
            if source.provider is provider and address.casefold() in {source.address, *source.aliases}
        )

    def check_readiness(self) -> str | None:
        return None

    async def catch_up(self, timeout_s: float) -> bool:
        self.catch_ups += 1
        self.waiting += 1
        self.most_at_once = max(self.most_at_once, self.waiting)
        try:
            if self.gate is not None:
                await self.gate.wait()
        finally:
            self.waiting -= 1
        if self.can_catch_up:
            self.put(*self.to_come)
            self.to_come.clear()
        return self.can_catch_up


@dataclass
class FakeKafka:
    is_away: bool = False
    written: list[tuple[str, str, Event]] = field(default_factory=list)
    time_left_s: list[float] = field(default_factory=list)

    async def send_events(self, records: Sequence[OutgoingEvent], *, timeout_s: float) -> None:
        self.time_left_s.append(timeout_s)
        if self.is_away:
            raise Unavailable("Kafka did not acknowledge")
        self.written += [(record.topic.name, record.key, record.event) for record in records]

    def events(self, topic: str) -> list[Any]:  # Any: tests look into events of the kind that they expect
        return [event for name, _, event in self.written if name == topic]


@dataclass
class Gateway:
    """One gateway with its fakes; `http` speaks to it as a provider would."""

    sources: FakeSources
    kafka: FakeKafka
    http: httpx.AsyncClient
    not_ready: str | None = None


Build = Callable[..., Gateway]


@pytest.fixture
def build() -> Build:
    def build(
        *,
        proof: ProvesPushes | None = None,
        subscription: str | None = None,
        trusted_proxies: str = "",
        most_catch_ups: int = 50,
        max_body_bytes: int = 10_000,
        peer: str = "203.0.113.9",
    ) -> Gateway:
        sources, kafka = FakeSources(), FakeKafka()
        catch_ups = CatchUps(sources, within_s=1.0, most=most_catch_ups)
        webhooks = Webhooks(
            ReceiveGraph(sources, kafka, catch_ups, clock=lambda: NOW),
            ReceiveGmail(sources, kafka, catch_ups, clock=lambda: NOW),
            proof or PubSubProof(static_token="tok", signed=None),
            is_ready=lambda: made.not_ready,
            subscription=subscription,
            trusted_proxies=networks_in(trusted_proxies),
            max_body_bytes=max_body_bytes,
            answer_within_s=2.2,
        )
        app = Dispatcher(webhooks.endpoints(), FastAPI(openapi_url=None))
        transport = httpx.ASGITransport(app, client=(peer, 1234))
        made = Gateway(sources, kafka, httpx.AsyncClient(transport=transport, base_url="https://gateway.test"))
        return made

    return build


@pytest.fixture
def gateway(build: Build) -> Gateway:
    gateway = build()
    gateway.sources.put(a_source())
    return gateway


@pytest.fixture
def make() -> "Make":
    return Make()


class Make:
    """What tests build pushes and sources of."""

    now = NOW
    subscription = SUBSCRIPTION
    source = staticmethod(a_source)
    hash = staticmethod(a_hash)
    change = staticmethod(a_change)
    lifecycle_item = staticmethod(a_lifecycle_item)
