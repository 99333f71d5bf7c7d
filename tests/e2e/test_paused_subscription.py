"""A subscription that the provider removes while its source is paused: over the gateway's and the manager's handlers,
joined by what they write, with tables, topics and the provider in memory."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from connection_fakes import URLS, Clock, FakeConnections, FakeGrants, FakeLocks, FakeProvider, a_connection

from mailroom_common.events import DocSource, LifecycleEvent, Notification, Provider, SyncReason
from subscription_manager.domain.connection import Connection
from subscription_manager.handlers.act_on_lifecycle_event import ActOnLifecycleEvent
from subscription_manager.handlers.change_state import ChangeState
from subscription_manager.handlers.end_connection import EndConnection
from subscription_manager.handlers.keep_subscription import KeepSubscription
from subscription_manager.handlers.make_doc_source import Timings
from webhook_gateway.domain.pushes import GraphItem
from webhook_gateway.handlers.receive_graph_push import GraphPushReceiver
from webhook_gateway.ports import OutgoingEvent

ID = a_connection().id
TIMINGS = Timings(timedelta(minutes=15), timedelta(minutes=1), timedelta(hours=1), timedelta(minutes=10))


class Site:
    """One Outlook source. `notifications` is what sync-engine would be woken by."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.connections = FakeConnections(a_connection(), clock=self.clock)
        self.provider = FakeProvider(clock=self.clock)
        self.notifications: list[Notification] = []
        locks, grants, mail = FakeLocks(), FakeGrants(), {Provider.OUTLOOK: self.provider}
        end = EndConnection(self.connections, locks, mail, mail, grants, self.clock)  # type: ignore[arg-type]  # the fake has what is called
        self.keeper = KeepSubscription(self.connections, locks, mail, self, end, URLS, self.clock)  # type: ignore[arg-type]  # as above
        self.state = ChangeState(self.connections, grants, TIMINGS, self, self.clock)
        self.lifecycle = ActOnLifecycleEvent(self.connections, self, self.clock)
        self.gateway = GraphPushReceiver(self, self, self.clock)

    async def announce(self, connection: Connection) -> None:
        """Kafka is always there."""

    def set(self) -> None:
        """What is due is kept when the test says so."""

    def get_source(self, doc_source_id: str) -> DocSource | None:
        """`doc-sources`, read to its end."""
        told = [event for told, _, event in self.connections.told if told == doc_source_id]
        return told[-1] if told else None

    def find_by_address(self, provider: Provider, address: str) -> tuple[DocSource, ...]:
        return ()

    async def catch_up(self) -> None:
        """There is nothing that was not read yet."""

    async def write_events(self, events: Sequence[OutgoingEvent], *, timeout_s: float) -> None:
        for outgoing in events:
            if isinstance(outgoing.event, LifecycleEvent):
                await self.lifecycle.act(outgoing.event)
            elif isinstance(outgoing.event, Notification):
                self.notifications.append(outgoing.event)

    async def keep_what_is_due(self) -> None:
        for due in await self.connections.claim_attention(self.clock(), lease=timedelta(minutes=3), limit=10):
            await self.keeper.keep(due)

    async def push(self, *, lifecycle_event: str | None = None) -> None:
        """As the provider does, of the subscription that it holds or has just removed."""
        current = self.connections.only().subscription
        assert current is not None
        item = GraphItem(
            self.provider.client_states[current.subscription_id],
            current.subscription_id,
            lifecycle_event=lifecycle_event,
            change_type=None if lifecycle_event else "created",
        )
        received = await self.gateway.receive_push([item], remaining_s=lambda: 2.0)
        assert received.mismatched == 0

    def is_pushed(self, now: datetime) -> bool:
        """Whether our row's subscription is one that lives at the provider."""
        current = self.connections.only().subscription
        living = None if current is None else self.provider.living.get(current.subscription_id)
        return living is not None and living.expires_at > now


async def test_subscription_that_is_removed_while_its_source_is_paused_lives_again_when_it_is_resumed() -> None:
    site = Site()
    await site.keep_what_is_due()
    await site.state.pause("acme", ID)
    await site.push()
    assert site.notifications == []  # changes rest
    site.provider.living.clear()
    await site.push(lifecycle_event="subscriptionRemoved")
    site.clock.advance(timedelta(minutes=1))
    await site.keep_what_is_due()
    await site.state.resume("acme", ID)
    site.clock.advance(timedelta(minutes=1))
    await site.keep_what_is_due()

    assert site.is_pushed(site.clock())
    assert (ID, SyncReason.RESUME) in site.connections.asked
    await site.push()
    assert [one.doc_source_id for one in site.notifications] == [ID]
